/* Memory for one request: allocate freely, release all at once.
 *
 * An arena has a byte budget. Past it, or when the heap is exhausted,
 * allocations return NULL and the arena remembers: arena_failed() stays true
 * until arena_clear(). Chunks are kept by arena_clear() up to a small reserve,
 * so a busy connection does not touch the heap for each request. */
#pragma once

#include <stdarg.h>

#include "base/base.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    size_t used; /* bytes handed out */
    size_t held; /* bytes of its chunks */
    size_t budget; /* bytes that may be handed out */
    bool failed;
    bool is_starved; /* and that was not for the budget */
};

void arena_init(struct arena *a, size_t budget);
void arena_clear(struct arena *a);
void arena_done(struct arena *a);

void *arena_alloc(struct arena *a, size_t size) must_check; /* aligned for any type, not cleared */
void *arena_zalloc(struct arena *a, size_t size) must_check; /* cleared */
void *arena_dup(struct arena *a, const void *p, size_t size) must_check;
char *arena_strdup(struct arena *a, const char *s) must_check;
char *arena_strndup(struct arena *a, const char *s, size_t n) must_check;
char *arena_printf(struct arena *a, const char *fmt, ...) must_check printf_like(2, 3);
static inline bool arena_failed(const struct arena *a) {
    return a->failed;
}
/* Failed although there was budget left: nobody asked for too much, and later it may be different. */
static inline bool arena_starved(const struct arena *a) {
    return a->is_starved;
}
/* After a failure that was noticed and undone: the arena goes on, for others who share it. */
static inline void arena_forgive(struct arena *a) {
    a->failed = a->is_starved = false;
}

#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc_array((a), sizeof(type), (n)))
void *arena_zalloc_array(struct arena *a, size_t size, size_t n) must_check; /* checks the product */
