/* The account of the memory that the process holds for peers.
 *
 * The happy path only adds and subtracts. When the sum passes the hard bound, budget_enforce() looks through
 * all holders for the largest. That is slow, and rare: an eviction frees at least the average. Allocators
 * keep freed memory for later. While much is held, memory goes back to the system as it is freed, and
 * budget_trim() gives back the rest once the sum has fallen far below its peak. */
#include "net/budget.h"

#include "base/mem.h"
#include "net/limits.h"

void budget_init(struct budget *b) {
    *b = (struct budget){0};
    list_init(&b->holders);
}

bool budget_is_over(const struct budget *b) {
    return b->held > LIMIT_PEER_BYTES_MAX;
}

struct candidate {
    struct holder *holder;
    size_t bytes;
};

static void candidate_take(struct candidate *c, struct holder *h, size_t bytes) {
    if (!c->holder || bytes > c->bytes)
        *c = (struct candidate){h, bytes};
}

/* A peer that does not read is to blame before one that has just sent a large request. */
static struct holder *budget_largest(const struct budget *b, size_t *ret_leaving) {
    struct candidate holds = {NULL, 0}, leaves_unread = {NULL, 0};
    *ret_leaving = 0;
    list_for(&b->holders, n) {
        struct holder *h = container_of(n, struct holder, link);
        if (h->is_leaving) {
            *ret_leaving += h->held;
            continue;
        }
        candidate_take(&holds, h, h->held);
        candidate_take(&leaves_unread, h, h->unread(h));
    }
    return leaves_unread.bytes >= LIMIT_PEER_SHARE_MIN ? leaves_unread.holder : holds.holder;
}

void budget_enforce(struct budget *b) {
    if (b->is_enforcing)
        return;
    b->is_enforcing = true;
    while (budget_is_over(b)) {
        size_t leaving;
        struct holder *h = budget_largest(b, &leaving);
        if (!h || b->held - leaving <= LIMIT_PEER_BYTES_MAX)
            break;
        h->is_leaving = true;
        b->connections_closed++;
        h->evict(h);
    }
    b->is_enforcing = false;
}

static void budget_set_haste(struct budget *b, bool is_hasty) {
    b->is_hasty = is_hasty;
    mem_set_haste(is_hasty);
}

bool budget_trim(struct budget *b) {
    if (b->peak - b->held >= LIMIT_TRIM_BYTES) {
        b->peak = b->held;
        mem_trim();
        return true; /* until a sweep finds nothing more */
    }
    if (b->is_hasty && b->held < LIMIT_TRIM_BYTES)
        budget_set_haste(b, false);
    return false;
}

void holder_join(struct holder *h, struct budget *b, size_t bytes) {
    h->budget = b;
    list_append(&b->holders, &h->link);
    b->holder_count++;
    holder_change(h, 0, bytes);
}

void holder_leave(struct holder *h) {
    struct budget *b = h->budget;
    holder_change(h, h->held, 0);
    list_remove(&h->link);
    b->holder_count--;
}

void holder_change(struct holder *h, size_t from, size_t to) {
    struct budget *b = h->budget;
    ensure(h->held >= from && b->held >= from);
    h->held = h->held - from + to;
    b->held = b->held - from + to;
    b->peak = MAX(b->peak, b->held);
    if (!b->is_hasty && b->held > LIMIT_HASTE_BYTES)
        budget_set_haste(b, true);
}

bool holder_is_welcome(const struct holder *h) {
    const struct budget *b = h->budget;
    size_t share = LIMIT_PEER_BYTES_SOFT / MAX(b->holder_count, (size_t)1);
    return b->held < LIMIT_PEER_BYTES_SOFT || h->held < MAX(share, (size_t)LIMIT_PEER_SHARE_MIN);
}
