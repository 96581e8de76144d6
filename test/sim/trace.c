/* Every line goes into the hash; --trace prints it too. A line that is too long is cut, the same way each
 * time. */
#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "world.h"

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t fnv(uint64_t hash, const void *p, size_t n) {
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ b[i]) * FNV_PRIME;
    return hash;
}

void trace_init(struct trace *t, bool print) {
    *t = (struct trace){.hash = FNV_BASIS, .print = print};
}

void trace_bytes(struct trace *t, const void *p, size_t n) {
    t->hash = fnv(t->hash, p, n);
}

uint64_t trace_hash_of(const void *p, size_t n) {
    return fnv(FNV_BASIS, p, n);
}

void trace_note(struct world *w, const char *fmt, ...) {
    char line[600];
    int used = snprintf(line, sizeof(line), "%" PRId64 ".%06" PRId64 " ", w->now.mono.us / USEC_PER_SEC,
                        w->now.mono.us % USEC_PER_SEC);
    ensure(used > 0);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line + used, sizeof(line) - (size_t)used, fmt, args);
    va_end(args);
    ensure(n >= 0);
    size_t len = MIN((size_t)used + (size_t)n, sizeof(line) - 1);
    trace_bytes(&w->trace, line, len);
    if (w->trace.print)
        printf("%s\n", line);
}
