/* Memory for one request: many allocations, released together.
 *
 * An arena has a byte budget. Past the budget, or when the heap is exhausted, allocations return NULL.
 * Failure is sticky: arena_failed() stays true, and every allocation fails, until arena_clear().
 * arena_clear() keeps one chunk of up to 64 KiB, so that a busy connection does not use the heap for each
 * request. One arena belongs to one thread. */
#pragma once

#include <stdarg.h>

#include "base/base.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    size_t used; /* bytes handed out */
    size_t held; /* bytes of its chunks */
    size_t budget; /* bytes that can be handed out */
    bool failed;
    bool is_starved; /* failed for lack of memory, with budget left */
};

void arena_init(struct arena *a, size_t budget);
void arena_clear(struct arena *a); /* frees all allocations; the arena can be used again */
void arena_done(struct arena *a); /* frees everything */

void *arena_alloc(struct arena *a, size_t size) must_check; /* aligned for any type, not cleared */
void *arena_zalloc(struct arena *a, size_t size) must_check; /* cleared */
void *arena_dup(struct arena *a, const void *p, size_t size) must_check;
/* NUL-terminated texts. arena_strndup copies at most n bytes and stops at a NUL. */
char *arena_strdup(struct arena *a, const char *s) must_check;
char *arena_strndup(struct arena *a, const char *s, size_t n) must_check;
char *arena_printf(struct arena *a, const char *fmt, ...) must_check printf_like(2, 3);
static inline bool arena_failed(const struct arena *a) {
    return a->failed;
}
/* Failed with budget left: the request was not too large, and a later attempt can succeed. */
static inline bool arena_starved(const struct arena *a) {
    return a->is_starved;
}
/* Clears the failure. For a caller that has handled it while other users of the same arena continue. */
static inline void arena_forgive(struct arena *a) {
    a->failed = a->is_starved = false;
}

#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc_array((a), sizeof(type), (n)))
void *arena_zalloc_array(struct arena *a, size_t size,
                         size_t n) must_check; /* fails when the product overflows */
