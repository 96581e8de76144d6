/* What happened, as text lines and as one running hash (FNV-1a, 64 bits).
 *
 * Two runs with the same hash saw the same calls, answers and times. */
#pragma once

#include "base/base.h"
#include "base/clock.h"

struct world;

struct trace {
    uint64_t hash;
    bool print;
};

void trace_init(struct trace *t, bool print);
void trace_note(struct world *w, const char *fmt, ...) printf_like(2, 3);
void trace_bytes(struct trace *t, const void *p, size_t n); /* hashed only */
uint64_t trace_hash_of(const void *p, size_t n);
