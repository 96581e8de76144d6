/* A hash map from byte keys to pointers.
 *
 * The map stores the key as a slice. The caller owns the key's bytes, usually as a part of the value, and
 * must keep them in place while the entry exists. The caller owns the values. Iteration is in order of
 * insertion, so that nothing depends on hash order. The hash is keyed with a seed: a client cannot choose
 * keys that collide. During iteration the entry just visited can be removed. Adding entries is not allowed
 * then, since it can move the others. */
#pragma once

#include "base/base.h"
#include "base/str.h"

struct map_entry {
    struct str key;
    void *value; /* NULL marks a removed entry */
    uint32_t hash;
};

struct map {
    struct map_entry *entries; /* in order of insertion, with holes */
    uint32_t *slots;
    size_t entry_count; /* with holes */
    size_t live_count;
    size_t slot_count; /* a power of two */
    size_t max;
    uint64_t seed;
};

void map_init(struct map *m, size_t max, uint64_t seed);
void map_done(struct map *m); /* does not free the values */
void *map_get(const struct map *m, struct str key); /* NULL when absent */
/* ERR_NO_MEMORY, or ERR_FULL at the maximum; the map is then unchanged. The key must not be present, and the
 * value must not be NULL. */
int map_put(struct map *m, struct str key, void *value) must_check;
void *map_remove(struct map *m, struct str key); /* returns the value, or NULL when absent */
static inline size_t map_count(const struct map *m) {
    return m->live_count;
}

/* for (size_t i = 0; (v = map_next(m, &i));) */
void *map_next(const struct map *m, size_t *i);
