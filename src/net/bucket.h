/* A token bucket: so many at once, so many more each second. */
#pragma once

#include "base/base.h"
#include "base/clock.h"

struct bucket {
    int64_t tokens;
    int64_t burst;
    int64_t per_sec;
    int64_t filled_us;
};

static inline void bucket_init(struct bucket *b, int64_t burst, int64_t per_sec, int64_t now_us) {
    *b = (struct bucket){burst, burst, per_sec, now_us};
}

static inline void bucket_refund(struct bucket *b, int64_t n) {
    b->tokens = MIN(b->tokens + n, b->burst);
}

/* False when there are not n left; then none is taken. */
static inline bool bucket_take(struct bucket *b, int64_t n, int64_t now_us) {
    int64_t gained = (now_us - b->filled_us) * b->per_sec / USEC_PER_SEC;
    b->filled_us += gained * USEC_PER_SEC / b->per_sec; /* the rest of a token is not lost */
    bucket_refund(b, gained);
    if (b->tokens < n)
        return false;
    b->tokens -= n;
    return true;
}
