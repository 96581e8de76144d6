/* Backlogs: tasks that wait in the store, because memory holds enough of their queue.
 *
 * Each priority of a queue is a lane. The tasks at its head are in memory; once there are
 * queue_tasks_max of them, the ones behind are written to the store as rows of that lane, numbered in
 * the order they came. When half of the head is gone the next rows are read in and removed from the
 * store. So a queue in memory costs no more with a million tasks than with a thousand.
 *
 * A row is a hint like the entry it stands for: what is lost with a crash is offered again by recovery,
 * and the rows of an earlier life are thrown away before the first of this one is written. A row is
 * written with the next group, so a read may come before it; the reader then waits for a commit.
 *
 * When routes change (routes.c) the rows are sifted: all are looked at, some at a time, and those that
 * belong to another queue now are moved there. */
#include "base/mem.h"
#include "engine/runtime/engine_int.h"

/* What a row holds. Only the process that wrote it reads it. */
struct row_body {
    struct uuid run_id;
    int64_t event_id;
    int64_t added_us;
    uint64_t fairness;
    double ramp_place;
    float weight;
    int32_t stamp;
    uint32_t unused;
    uint8_t kind;
    uint8_t is_bound;
    uint8_t is_routed;
    uint8_t wants_ramp;
};
_Static_assert(sizeof(struct row_body) == 64, "no bytes in between that nobody set");

struct backlog_lane {
    size_t count; /* of rows */
    int64_t first; /* the number of the oldest, or less; rows below it were read */
    int64_t next; /* the number of the next that is written */
    int64_t since_us; /* monotonic; about when the oldest began to wait */
};

struct backlog {
    struct engine *e;
    struct queue *queue; /* NULL: forgotten, but the store has not answered yet */
    struct list link; /* in engine.backlogs */
    struct list waiting; /* in engine.hungry: goes on after the next commit */
    int64_t id;
    struct backlog_lane lanes[QUEUE_PRIORITIES];
    struct read read;
    bool is_reading;
    bool is_in_read; /* inside store_read: whoever asked is still on the stack */
    bool is_sift; /* the read looks for rows of other queues */
    int lane; /* that is read */
    size_t found; /* rows of this read */
    int64_t last; /* the number of the last of them */
    struct list moved; /* struct task: they belong to other queues */
    int64_t gone_from; /* rows [gone_from, gone_end) of the lane are to be removed */
    int64_t gone_end;
    int sift_lane; /* the next that is sifted; QUEUE_PRIORITIES: none */
    int64_t sift_from;
    uint64_t sift_seq; /* the group with the last rows that may be misplaced */
    uint64_t sifted_seq; /* the group that removes those that were: before it a read would find them again */
    bool is_sift_stale; /* routes changed again during the read */
};

static int64_t lane_id(const struct backlog *b, int lane) {
    return b->id * QUEUE_PRIORITIES + lane;
}

size_t backlog_count(const struct queue *q, int lane) {
    return q->backlog ? q->backlog->lanes[lane].count : 0;
}

int64_t backlog_since_us(const struct queue *q, int lane) {
    return q->backlog->lanes[lane].since_us;
}

/* life */

static struct backlog *backlog_new(struct engine *e, struct queue *q) {
    struct backlog *b = mem_zalloc(sizeof(*b));
    ensure(b); /* as for an entry: without it the task would be forgotten */
    b->e = e;
    b->queue = q;
    b->id = ++e->last_backlog;
    b->sift_lane = QUEUE_PRIORITIES;
    list_init(&b->moved);
    list_append(&e->backlogs, &b->link);
    return q->backlog = b;
}

static void backlog_free(struct backlog *b) {
    for (struct list *n; (n = list_pop(&b->moved));)
        task_free(container_of(n, struct task, link));
    list_remove(&b->link);
    list_remove(&b->waiting);
    mem_free(b);
}

void backlogs_free(struct engine *e) {
    list_for_safe(&e->backlogs, n) backlog_free(container_of(n, struct backlog, link));
}

void backlog_drop(struct queue *q) {
    struct backlog *b = take(&q->backlog);
    if (!b)
        return;
    b->queue = NULL;
    if (!b->is_reading)
        backlog_free(b);
}

static void free_if_empty(struct backlog *b) {
    size_t count = 0;
    for (int p = 0; p < QUEUE_PRIORITIES; p++)
        count += b->lanes[p].count;
    if (!count && !b->is_reading && !list_linked(&b->waiting))
        backlog_drop(b->queue);
}

/* rows */

static struct write *backlog_write(struct backlog *b, enum write_kind kind, int lane, int64_t number) {
    struct group *g = group_open(b->e);
    struct write *w = g ? batch_add(&g->batch, kind) : NULL;
    ensure(w);
    w->namespace_id = b->queue->space->id;
    w->backlog = (struct backlog_place){lane_id(b, lane), number};
    g->bytes += sizeof(*w);
    return w;
}

static void remove_rows(struct backlog *b, int lane, int64_t from, int64_t end) {
    if (from < end)
        backlog_write(b, WRITE_BACKLOG_GONE, lane, from)->backlog_end = end;
}

void backlog_clear(struct queue *q) {
    for (int p = 0; q->backlog && p < QUEUE_PRIORITIES; p++)
        remove_rows(q->backlog, p, 0, q->backlog->lanes[p].next);
}

/* What an earlier life left is gone before the first row of this one can be read. */
static void begin_life(struct engine *e) {
    if (e->backlog_seq)
        return;
    struct group *g = group_open(e);
    ensure(g && batch_add(&g->batch, WRITE_BACKLOG_EMPTY));
    e->backlog_seq = g->seq;
}

void backlog_add(struct engine *e, struct queue *q, int lane, struct task *t) {
    begin_life(e);
    struct backlog *b = q->backlog ? q->backlog : backlog_new(e, q);
    struct backlog_lane *l = &b->lanes[lane];
    struct row_body body = {.run_id = t->run_id,
                            .event_id = t->event_id,
                            .added_us = t->added_us,
                            .fairness = t->fairness,
                            .ramp_place = t->ramp_place,
                            .weight = t->weight,
                            .stamp = t->stamp,
                            .kind = (uint8_t)t->kind,
                            .is_bound = t->is_bound,
                            .is_routed = t->is_routed,
                            .wants_ramp = t->wants_ramp};
    struct write *w = backlog_write(b, WRITE_BACKLOG, lane, l->next++);
    w->body = str_bytes(arena_dup(&e->open->batch.arena, &body, sizeof(body)), sizeof(body));
    ensure(w->body.p);
    if (!l->count++)
        l->since_us = t->added_us;
    task_free(t);
}

static struct task *task_of_row(const struct backlog *b, const struct row *row) {
    struct row_body body;
    struct task *t = mem_zalloc(sizeof(*t));
    ensure(t && row->body.n == sizeof(body));
    memcpy(&body, row->body.p, sizeof(body));
    t->kind = (enum task_kind)body.kind;
    t->space = b->queue->space;
    t->run_id = body.run_id;
    t->event_id = body.event_id;
    t->stamp = body.stamp;
    t->priority = b->lane + 1;
    t->added_us = body.added_us;
    t->is_bound = body.is_bound;
    t->is_routed = body.is_routed;
    t->wants_ramp = body.wants_ramp;
    t->ramp_place = body.ramp_place;
    t->fairness = body.fairness;
    t->weight = body.weight;
    return t;
}

/* reading */

/* Neighbours are removed together. */
static void take_out(struct backlog *b, int64_t number) {
    ensure(b->lanes[b->lane].count > 0); /* no row comes twice */
    b->lanes[b->lane].count--;
    if (b->gone_end != number) {
        remove_rows(b, b->lane, b->gone_from, b->gone_end);
        b->gone_from = number;
    }
    b->gone_end = number + 1;
}

static void row_moved(struct backlog *b, struct task *t) {
    b->queue->task_count--;
    b->queue->lanes[b->lane].routed_count -= t->is_routed;
    list_append(&b->moved, &t->link);
}

static void row_sifted(struct backlog *b, struct task *t) {
    if (route_fits(b->e, b->queue, t)) {
        task_free(t); /* the row stays where it is */
        return;
    }
    take_out(b, b->last);
    row_moved(b, t);
}

static void row_taken(struct backlog *b, struct task *t) {
    struct backlog_lane *l = &b->lanes[b->lane];
    ensure(l->count > 0);
    l->count--;
    l->first = b->gone_end = b->last + 1;
    l->since_us = t->added_us;
    if (route_fits(b->e, b->queue, t)) {
        queue_extend(b->queue, b->lane, t);
        return;
    }
    row_moved(b, t);
}

static void row_read(struct read *r, const struct row *row) {
    struct backlog *b = r->owner;
    if (!b->queue)
        return;
    b->found++;
    b->last = row->backlog.number;
    if (b->is_sift)
        row_sifted(b, task_of_row(b, row));
    else
        row_taken(b, task_of_row(b, row));
}

static void wait_for_commit(struct backlog *b) {
    if (!list_linked(&b->waiting))
        list_append(&b->e->hungry, &b->waiting);
}

static void sift_on(struct backlog *b) {
    if (b->gone_from < b->gone_end)
        b->sifted_seq = b->e->open->seq;
    if (b->is_sift_stale)
        return;
    bool is_lane_done = b->found < b->read.limit;
    b->sift_lane += is_lane_done;
    b->sift_from = is_lane_done ? 0 : b->last + 1;
}

static void read_done(struct read *r, int rc) {
    struct backlog *b = r->owner;
    struct engine *e = b->e;
    struct queue *q = b->queue;
    if (rc < 0) {
        engine_fail(e, "a task queue cannot be read from the store");
        return;
    }
    b->is_reading = false;
    if (!q) {
        backlog_free(b);
        return;
    }
    remove_rows(b, b->lane, b->gone_from, b->gone_end);
    if (b->is_sift)
        sift_on(b);
    /* What is moved is written again: not all of it at once. What is not there yet comes with a commit. */
    if (!list_empty(&b->moved) || (!b->is_sift && !b->found))
        wait_for_commit(b);
    for (struct list *n; (n = list_pop(&b->moved));)
        route_move(e, q, container_of(n, struct task, link));
    if (b->is_in_read)
        return;
    backlog_fill(e, q);
    queue_resume(e, q);
}

static void read_rows(struct backlog *b, int lane, int64_t from, size_t limit, bool is_sift) {
    b->lane = lane;
    b->is_sift = is_sift;
    b->is_sift_stale = false;
    b->found = 0;
    b->gone_from = b->gone_end = from;
    b->read = (struct read){.kind = READ_BACKLOG,
                            .namespace_id = b->queue->space->id,
                            .backlog = {lane_id(b, lane), from},
                            .limit = limit,
                            .row = row_read,
                            .done = read_done,
                            .owner = b};
    b->is_reading = true;
    b->is_in_read = true;
    store_read(b->e->store, &b->read);
    b->is_in_read = false;
}

/* The first lane whose head is short; otherwise what is left to sift. */
static bool read_next(struct backlog *b) {
    size_t most = b->e->queue_tasks_max;
    for (int p = 0; p < QUEUE_PRIORITIES; p++) {
        size_t head = b->queue->lanes[p].count;
        if (!b->lanes[p].count || head > most / 2)
            continue;
        read_rows(b, p, b->lanes[p].first, most - head, false);
        return true;
    }
    while (b->sift_lane < QUEUE_PRIORITIES && !b->lanes[b->sift_lane].count)
        b->sift_lane++;
    if (b->sift_lane == QUEUE_PRIORITIES)
        return false;
    if (b->e->durable_seq < b->sift_seq) {
        wait_for_commit(b);
        return false;
    }
    int64_t from = MAX(b->sift_from, b->lanes[b->sift_lane].first);
    read_rows(b, b->sift_lane, from, most, true);
    return true;
}

void backlog_fill(struct engine *e, struct queue *q) {
    struct backlog *b = q->backlog;
    if (!b || b->is_in_read)
        return;
    if (e->durable_seq < MAX(e->backlog_seq, b->sifted_seq))
        wait_for_commit(b);
    while (!b->is_reading && !list_linked(&b->waiting) && read_next(b))
        ;
    free_if_empty(b);
}

void backlog_sift(struct engine *e, struct queue *q) {
    struct backlog *b = q->backlog;
    if (!b)
        return;
    b->sift_lane = 0;
    b->sift_from = 0;
    b->sift_seq = e->next_seq - 1;
    b->is_sift_stale = true;
    backlog_fill(e, q);
}

void backlogs_resume(struct engine *e) {
    struct list all;
    list_init(&all);
    for (struct list *n; (n = list_pop(&e->hungry));)
        list_append(&all, n);
    for (struct list *n; (n = list_pop(&all));) {
        struct queue *q = container_of(n, struct backlog, waiting)->queue;
        backlog_fill(e, q);
        queue_resume(e, q);
    }
}
