/* Conversion between the text of a JSON number and numeric types. Text from a string must be a JSON number,
 * too. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define NUMBER_TEXT_MAX 40

/* A whole number; "1e3" and "5.0" are whole. ERR_INVALID for text that is not a number, not whole, or does
 * not fit into 64 bits. */
int number_whole(struct str text, bool *ret_is_negative, uint64_t *ret_magnitude) must_check;
/* ERR_INVALID for text that is not a number or not finite. */
int number_real(struct str text, double *ret) must_check;
/* The shortest decimal that parses to the same value. Finite values only. */
void number_format_double(double v, char text[NUMBER_TEXT_MAX]);
void number_format_float(float v, char text[NUMBER_TEXT_MAX]);
