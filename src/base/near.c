/* The edit distance of Levenshtein, computed with one row of the matrix. Cannot fail. */
#include "base/near.h"

static char near_fold_case(char c, enum near_case letters) {
    return letters == NEAR_CASE_FOLDED && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t near_distance(struct str a, struct str b, enum near_case letters) {
    size_t row[NEAR_WORD_MAX + 1];
    if (a.n > NEAR_WORD_MAX || b.n > NEAR_WORD_MAX)
        return NEAR_WORD_MAX;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            bool is_other = near_fold_case(a.p[i - 1], letters) != near_fold_case(b.p[j - 1], letters);
            size_t replaced = diagonal + is_other;
            size_t shifted = MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = MIN(replaced, shifted);
        }
    }
    return row[b.n];
}
