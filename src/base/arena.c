/* A stack of chunks. Allocations come from the newest chunk.
 *
 * The usual allocation only moves an offset. When the chunk is full, the heap provides a new one, twice as
 * large up to a limit. Passing the budget, an exhausted heap or an armed fault fails: this and every later
 * allocation returns NULL until arena_clear(). Under AddressSanitizer unused bytes are poisoned, so that it
 * reports overruns and pointers used after arena_clear(). */
#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/mem.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define ARENA_ALIGN alignof(max_align_t)
#define ARENA_CHUNK_MIN ((size_t)4 * 1024) /* most requests fit in one */
#define ARENA_CHUNK_MAX ((size_t)256 * 1024) /* growth stops here, to waste little at the end */
#define SHORT_TEXT_MAX 128
#define ARENA_RESERVE_MAX ((size_t)64 * 1024) /* what arena_clear() keeps */

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    alignas(max_align_t) uint8_t data[];
};

void arena_init(struct arena *a, size_t budget) {
    *a = (struct arena){.budget = budget};
}

static void arena_free_chunk(struct arena_chunk *c) {
    ASAN_UNPOISON_MEMORY_REGION(c->data, c->size);
    mem_free(c);
}

void arena_clear(struct arena *a) {
    struct arena_chunk *kept = NULL;
    while (a->chunks) {
        struct arena_chunk *c = a->chunks;
        a->chunks = c->next;
        if (!kept && c->size <= ARENA_RESERVE_MAX)
            kept = c;
        else
            arena_free_chunk(c);
    }
    if (kept) {
        kept->next = NULL;
        kept->used = 0;
        ASAN_POISON_MEMORY_REGION(kept->data, kept->size);
    }
    *a = (struct arena){.chunks = kept, .budget = a->budget, .held = kept ? sizeof(*kept) + kept->size : 0};
}

void arena_done(struct arena *a) {
    while (a->chunks) {
        struct arena_chunk *c = a->chunks;
        a->chunks = c->next;
        arena_free_chunk(c);
    }
    *a = (struct arena){0};
}

static size_t arena_round_up(size_t size) {
    return (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
}

/* A chunk is never larger than the rest of the budget, unless the allocation itself needs that. */
static size_t arena_next_chunk_size(const struct arena *a, size_t need) {
    size_t grown = a->chunks ? a->chunks->size * 2 : ARENA_CHUNK_MIN;
    size_t usual = MIN(MAX(grown, ARENA_CHUNK_MIN), ARENA_CHUNK_MAX);
    size_t useful = MIN(usual, a->budget - a->used);
    return MAX(arena_round_up(useful), need);
}

static struct arena_chunk *arena_add_chunk(struct arena *a, size_t need) {
    size_t size = arena_next_chunk_size(a, need);
    struct arena_chunk *c = mem_alloc(sizeof(*c) + size);
    if (!c)
        return NULL;
    c->size = size;
    c->used = 0;
    c->next = a->chunks;
    a->chunks = c;
    a->held += sizeof(*c) + size;
    ASAN_POISON_MEMORY_REGION(c->data, c->size);
    return c;
}

enum arena_failure { ARENA_OVER_BUDGET, ARENA_STARVED };

static void *arena_fail(struct arena *a, enum arena_failure failure) {
    a->failed = true;
    a->is_starved = failure == ARENA_STARVED;
    return NULL;
}

void *arena_alloc(struct arena *a, size_t size) {
    if (a->failed)
        return NULL;
    size_t left = a->budget - a->used;
    if (size > left || size > SIZE_MAX / 2)
        return arena_fail(a, ARENA_OVER_BUDGET);
    if (fault_take_alloc())
        return arena_fail(a, ARENA_STARVED);
    size_t need = arena_round_up(MAX(size, 1));
    struct arena_chunk *c = a->chunks;
    if (!c || c->size - c->used < need)
        c = arena_add_chunk(a, need);
    if (!c)
        return arena_fail(a, ARENA_STARVED);
    void *p = c->data + c->used;
    c->used += need;
    a->used += MIN(need, left);
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

void *arena_zalloc(struct arena *a, size_t size) {
    void *p = arena_alloc(a, size);
    if (p)
        memset(p, 0, size);
    return p;
}

void *arena_zalloc_array(struct arena *a, size_t size, size_t n) {
    size_t total;
    if (__builtin_mul_overflow(size, n, &total))
        return arena_fail(a, ARENA_OVER_BUDGET);
    return arena_zalloc(a, total);
}

void *arena_dup(struct arena *a, const void *p, size_t size) {
    void *copy = arena_alloc(a, size);
    if (copy && size)
        memcpy(copy, p, size);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s) {
    return arena_dup(a, s, strlen(s) + 1);
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
    size_t len = n ? strnlen(s, n) : 0;
    char *copy = arena_alloc(a, len + 1);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

/* Most texts are short: format on the stack, then copy. A longer text is formatted twice. */
char *arena_printf(struct arena *a, const char *fmt, ...) {
    char guess[SHORT_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(guess, sizeof(guess), fmt, args);
    va_end(args);
    if (len < 0)
        return arena_fail(a, ARENA_OVER_BUDGET);
    char *text = arena_alloc(a, (size_t)len + 1);
    if (!text)
        return NULL;
    if ((size_t)len < sizeof(guess))
        return memcpy(text, guess, (size_t)len + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}
