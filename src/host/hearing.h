/* Up to which time all input has been read.
 *
 * A deadline may be judged only when the input that had arrived before it has been read: after a stall, or a
 * long turn, the sockets hold answers that came in time. One round is one look at all sockets. A round after
 * which nothing is left proves that what had arrived when it began was read. A peer that sends without pause
 * leaves something every time, so patience is limited: then the time at which the first of these rounds began
 * counts. By then each socket was read as often as a socket that was full needs. */
#pragma once

#include "base/clock.h"

#define HEARING_ROUNDS 128 /* of 64 KiB: more than a socket holds by default, which is 6 MiB */
/* And not before: work that waits for another thread does not make rounds longer. */
#define HEARING_LEAST_US (50 * USEC_PER_MS)
#define HEARING_MOST_US (1 * USEC_PER_SEC) /* when each round is slow */
#define HEARING_BUSY_ROUNDS 8 /* a new connection, its first frames, its first request, and its turn */
#define HEARING_BUSY_US (5 * USEC_PER_MS) /* libevent reads HTTP/1.1 by 16 KiB: a request of 4 MiB */
#define HEARING_GAP_US (50 * USEC_PER_MS) /* then busy rounds are counted anew */
#define HEARING_WIDE_ROUNDS 8 /* libevent takes 32 events in a round, then twice as many, up to 4096 */
#define HEARING_WIDE 32

struct hearing {
    struct now heard; /* all input was read that had arrived by then */
    struct now since; /* when the first of these rounds began */
    struct mono last; /* when the last round began */
    int rounds; /* that left something, one after the other */
    int busy; /* those of them since the last gap */
};

/* A round ended. `events` is how many it had, `is_left` whether one of them left input unread. */
static inline void hearing_round(struct hearing *h, struct now began, int events, bool is_left) {
    if (h->rounds++ == 0)
        h->since = began;
    bool is_gap = began.mono.us - h->last.us >= HEARING_GAP_US;
    h->busy = h->rounds == 1 || is_gap ? 1 : h->busy + 1;
    h->last = began.mono;
    int64_t us = began.mono.us - h->since.mono.us;
    bool is_over = us >= HEARING_MOST_US || (h->rounds >= HEARING_ROUNDS && us >= HEARING_LEAST_US);
    bool is_more = is_left || (events > 0 && (h->busy <= HEARING_BUSY_ROUNDS || us < HEARING_BUSY_US)) ||
                   (events >= HEARING_WIDE && h->busy <= HEARING_WIDE_ROUNDS);
    if (is_more && !is_over)
        return;
    h->heard = is_more ? h->since : began;
    h->rounds = 0;
}
