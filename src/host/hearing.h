/* The time up to which all input has been read.
 *
 * A deadline may be judged only when all input that arrived before it has been read: after a stall or a long
 * turn, the sockets hold responses that came in time. One round reads all sockets once. A round that leaves
 * no input unread proves that all input from before the round was read. A peer that sends without pause
 * leaves input in every round, so the number of rounds is limited. At the limit, the time at which the first
 * of these rounds began counts: by then each socket was read often enough to empty a full one. */
#pragma once

#include "base/clock.h"

#define HEARING_ROUNDS 128 /* of 64 KiB each: more than the 6 MiB that a socket holds by default */
/* The limit of rounds holds only after this time: rounds are short while work waits for another thread. */
#define HEARING_LEAST_US (50 * USEC_PER_MS)
#define HEARING_MOST_US (1 * USEC_PER_SEC) /* the limit when each round is slow */
#define HEARING_BUSY_ROUNDS                                                                                  \
    8 /* enough for a new connection, its first frames, its first request and its turn */
#define HEARING_BUSY_US                                                                                      \
    (5 * USEC_PER_MS) /* enough for a request of 4 MiB: libevent reads HTTP/1.1 in steps of 16 KiB */
#define HEARING_GAP_US (50 * USEC_PER_MS) /* after such a pause, busy rounds count from zero */
#define HEARING_WIDE_ROUNDS 8 /* libevent handles 32 events in a round, then 64, up to 4096 */
#define HEARING_WIDE 32

struct hearing {
    struct now heard; /* all input that had arrived by then was read */
    struct now since; /* when the first of the current rounds began */
    struct mono last; /* when the last round began */
    int rounds; /* consecutive rounds that left input */
    int busy; /* of these, since the last pause */
};

enum hearing_input { HEARING_ALL_READ, HEARING_INPUT_LEFT };

/* Records the end of a round with so many events. HEARING_INPUT_LEFT: a callback left input unread. */
static inline void hearing_round(struct hearing *h, struct now began, int events, enum hearing_input input) {
    if (h->rounds++ == 0)
        h->since = began;
    bool is_gap = began.mono.us - h->last.us >= HEARING_GAP_US;
    h->busy = h->rounds == 1 || is_gap ? 1 : h->busy + 1;
    h->last = began.mono;
    int64_t us = began.mono.us - h->since.mono.us;
    bool is_over = us >= HEARING_MOST_US || (h->rounds >= HEARING_ROUNDS && us >= HEARING_LEAST_US);
    bool is_more = input == HEARING_INPUT_LEFT ||
                   (events > 0 && (h->busy <= HEARING_BUSY_ROUNDS || us < HEARING_BUSY_US)) ||
                   (events >= HEARING_WIDE && h->busy <= HEARING_WIDE_ROUNDS);
    if (is_more && !is_over)
        return;
    h->heard = is_more ? h->since : began;
    h->rounds = 0;
}
