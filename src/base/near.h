/* Edit distance of two words, to suggest the known word that a misspelled one probably means. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define NEAR_WORD_MAX 64

enum near_case { NEAR_CASE_EXACT, NEAR_CASE_FOLDED }; /* folded: A and a are the same letter */

/* The number of bytes that must be inserted, deleted or replaced to turn one word into the other.
 * NEAR_WORD_MAX when a word is longer than NEAR_WORD_MAX bytes. */
size_t near_distance(struct str a, struct str b, enum near_case letters);
