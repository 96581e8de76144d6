/* How far one word is from another, to find what was meant by one that is not known. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define NEAR_WORD_MAX 64

/* How many letters must be put in, taken out or replaced to get from one to the other, whatever their case
 * when `is_caseless`. NEAR_WORD_MAX when one of them is longer than that. */
size_t near_distance(struct str a, struct str b, bool is_caseless);
