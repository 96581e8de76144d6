/* Tasks are counted in buckets of five seconds, of which the last seven are kept: the half minute before now
 * and what has passed of the bucket that is being filled. A pace that is younger is measured over its age.
 * Without memory nothing is counted, and the rates are 0. */
#include "engine/match/pace.h"

#include "base/clock.h"
#include "base/mem.h"

#define BUCKETS 7
#define BUCKET_US (5 * USEC_PER_SEC)
#define SPAN_US ((BUCKETS - 1) * BUCKET_US)

struct pace {
    int64_t begin_us; /* monotonic; when the first task came */
    int64_t bucket_us; /* when the bucket `at` began */
    size_t at;
    uint32_t added[BUCKETS];
    uint32_t taken[BUCKETS];
};

static void pace_turn(struct pace *p, int64_t now_us) {
    int64_t passed = (now_us - p->bucket_us) / BUCKET_US;
    for (int64_t i = 0; i < MIN(passed, BUCKETS); i++) {
        p->at = (p->at + 1) % BUCKETS;
        p->added[p->at] = p->taken[p->at] = 0;
    }
    p->bucket_us += passed * BUCKET_US;
}

static struct pace *pace_now(struct pace **p, int64_t now_us) {
    if (!*p && (*p = mem_zalloc(sizeof(**p))))
        (*p)->begin_us = (*p)->bucket_us = now_us;
    if (*p)
        pace_turn(*p, now_us);
    return *p;
}

void pace_count_added(struct pace **p, int64_t now_us) {
    struct pace *now = pace_now(p, now_us);
    if (now)
        now->added[now->at]++;
}

void pace_count_taken(struct pace **p, int64_t now_us) {
    struct pace *now = pace_now(p, now_us);
    if (now)
        now->taken[now->at]++;
}

static double pace_rate(struct pace *p, const uint32_t *counts, int64_t now_us) {
    double sum = 0;
    pace_turn(p, now_us);
    int64_t over_us = MIN(now_us - p->bucket_us + SPAN_US, now_us - p->begin_us);
    for (size_t i = 0; i < BUCKETS; i++)
        sum += counts[i];
    return over_us > 0 ? sum * (double)USEC_PER_SEC / (double)over_us : 0;
}

double pace_add_rate(struct pace *p, int64_t now_us) {
    return p ? pace_rate(p, p->added, now_us) : 0;
}

double pace_take_rate(struct pace *p, int64_t now_us) {
    return p ? pace_rate(p, p->taken, now_us) : 0;
}
