/* All values are kept and sorted when asked: a million of them cost 8 MB and no accuracy. */
#include "samples.h"

#include <stdlib.h>

#include "base/mem.h"

void samples_add(struct samples *s, int64_t us) {
    if (s->count == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 4096;
        s->us = mem_resize(s->us, s->cap * sizeof(*s->us));
        ensure(s->us);
    }
    s->us[s->count++] = us;
    s->is_sorted = false;
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t samples_at(struct samples *s, double q) {
    if (s->count == 0)
        return 0;
    if (!s->is_sorted)
        qsort(s->us, s->count, sizeof(*s->us), compare);
    s->is_sorted = true;
    size_t i = (size_t)(q * (double)s->count);
    return s->us[MIN(i, s->count - 1)];
}

void samples_done(struct samples *s) {
    mem_free(s->us);
    *s = (struct samples){0};
}
