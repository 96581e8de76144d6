/* Numbers between their text and their types. The text is that of a JSON number; where it comes from a
 * string, it must be one all the same. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define NUMBER_TEXT_MAX 40

/* The whole number that the text says; "1e3" and "5.0" are whole. ERR_INVALID when it is not a number, not
 * whole, or more than 64 bits hold. */
int number_whole(struct str text, bool *ret_is_negative, uint64_t *ret_magnitude) must_check;
/* ERR_INVALID when it is not a number or not finite. */
int number_real(struct str text, double *ret) must_check;
/* The shortest decimal that reads back as the same value. Finite values only. */
void number_format_double(double v, char text[NUMBER_TEXT_MAX]);
void number_format_float(float v, char text[NUMBER_TEXT_MAX]);
