/* The edit distance of Levenshtein, with one row of the matrix at a time. */
#include "base/near.h"

static char letter_of(char c, bool is_caseless) {
    return is_caseless && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t near_distance(struct str a, struct str b, bool is_caseless) {
    size_t row[NEAR_WORD_MAX + 1];
    if (a.n > NEAR_WORD_MAX || b.n > NEAR_WORD_MAX)
        return NEAR_WORD_MAX;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool is_other = letter_of(a.p[i - 1], is_caseless) != letter_of(b.p[j - 1], is_caseless);
            size_t replaced = diagonal + is_other;
            size_t shifted = MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = MIN(replaced, shifted);
        }
    }
    return row[b.n];
}
