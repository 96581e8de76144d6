/* The memory that the process holds for all peers, in bytes, and which connection is closed when it is too
 * much.
 *
 * Each connection is a holder. It reports what it holds: a cost of its own, its requests, their bodies, the
 * answers that its peer has not read. The sum has two bounds (PEER_BYTES_SOFT and PEER_BYTES_MAX in
 * net/limits.def). Above the soft bound a holder with more than an equal share is not welcome: it gets no new
 * streams. Above the hard bound the holder with the most unread answers loses its connection, or, when none
 * leaves much unread, the holder with the most. A client that holds little is refused nothing. Everything
 * runs on the loop thread. */
#pragma once

#include "base/list.h"

struct budget {
    size_t held;
    size_t peak; /* the highest sum since memory was last given back to the system */
    size_t holder_count;
    struct list holders;
    bool is_enforcing;
    bool is_hasty; /* pages go back to the system as they are freed */
    uint64_t streams_refused;
    uint64_t responses_dropped;
    uint64_t connections_closed;
};

struct holder {
    struct list link;
    struct budget *budget;
    size_t held;
    bool is_leaving; /* was told to go; its bytes come back soon */
    /* Ends the connection. It may leave before this returns, or a little later. */
    void (*evict)(struct holder *h);
    /* Bytes of answers that its peer has not taken. */
    size_t (*unread)(struct holder *h);
};

void budget_init(struct budget *b);
/* Evicts until the sum is within the hard bound. Not to be called while a holder is being worked on. */
void budget_enforce(struct budget *b);
bool budget_is_over(const struct budget *b);
/* After much was released: gives free memory back to the system. True when there is more to give back later.
 */
bool budget_trim(struct budget *b);

void holder_join(struct holder *h, struct budget *b, size_t bytes); /* evict and unread are set */
void holder_leave(struct holder *h); /* gives back all that it holds */
void holder_change(struct holder *h, size_t from, size_t to);
bool holder_is_welcome(const struct holder *h);
