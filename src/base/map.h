/* A hash map from byte keys to pointers.
 *
 * The key's bytes belong to the value (or to whoever owns it) and must stay in
 * place while the entry exists. Iteration is in order of insertion, so that
 * nothing depends on hash order. The hash is keyed: a client cannot aim at one
 * bucket. Removing the entry just visited during iteration is allowed; putting
 * one in is not, as that may move the others. */
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
void map_done(struct map *m); /* the values are the caller's */
void *map_get(const struct map *m, struct str key);
/* 0, ERR_NO_MEMORY, or ERR_FULL at the maximum. The key must not be present; value not NULL. */
int map_put(struct map *m, struct str key, void *value) must_check;
void *map_remove(struct map *m, struct str key); /* the value, or NULL */
static inline size_t map_count(const struct map *m) { return m->live_count; }

/* for (size_t i = 0; (v = map_next(m, &i));) */
void *map_next(const struct map *m, size_t *i);
