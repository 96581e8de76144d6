/* Counters are kept where things happen; what can be seen by looking is looked up when someone asks. */
#include "engine/counters.h"

#include "engine/engine_int.h"

static_assert(LEDGER_FATE_ENDED + 1 == COUNTED_FATES, "each fate of a ledger is counted");

void counters_init(struct engine_counters *c) {
    *c = (struct engine_counters){0};
    histogram_init(&c->commit_us, &scale_seconds);
    histogram_init(&c->commit_runs, &scale_count);
    histogram_init(&c->commit_bytes, &scale_bytes);
    histogram_init(&c->lateness_us, &scale_lateness);
}

void counters_group(struct engine_counters *c, const struct group *g) {
    size_t bytes = 0;
    for (const struct write *w = g->batch.first; w; w = w->next)
        bytes += w->body.n;
    c->last_commit_us = g->e->now.mono.us - g->handed_over_us;
    c->last_commit_runs = g->run_count;
    histogram_add(&c->commit_us, c->last_commit_us);
    histogram_add(&c->commit_runs, (int64_t)g->run_count);
    histogram_add(&c->commit_bytes, (int64_t)bytes);
}

void counters_ledger(struct engine_counters *c, const struct ledger_row *row) {
    ensure(row->fate >= 0 && row->fate < COUNTED_FATES);
    c->fates[row->fate] += (uint64_t)row->new_times;
    if (row->lateness_us != CLOCK_NEVER)
        histogram_add(&c->lateness_us, row->lateness_us);
}

static size_t list_length(const struct list *l) {
    size_t length = 0;
    list_for(l, n) length++;
    return length;
}

void engine_counters(const struct engine *e, struct engine_counters *ret) {
    const struct queue *q;
    *ret = e->counters;
    ret->bodies = e->body_count;
    ret->stubs = map_count(&e->runs) - e->body_count;
    for (size_t i = 0; (q = map_next(&e->queues, &i));) {
        ret->waiting_tasks[q->is_activity] += q->task_count;
        ret->parked_polls[q->is_activity] += list_length(&q->pollers);
        ret->queues[q->is_activity]++;
    }
}

/* How long until the first of them is due; CLOCK_NEVER: there is none. */
static int64_t heap_wait_us(const struct heap *h, int64_t now_us) {
    const struct heap_node *first = heap_top(h);
    return first ? MAX(first->key - now_us, 0) : CLOCK_NEVER;
}

void engine_look(const struct engine *e, struct now now, struct engine_state *ret) {
    int64_t schedule_us = heap_wait_us(&e->schedule_due, clocks_schedule_us(e, now.wall));
    *ret = (struct engine_state){
        .is_ready = e->is_ready,
        .recovered_runs = recovery_runs(e),
        .parked_calls = e->deadlines.count,
        .queries = map_count(&e->queries),
        .lists = list_length(&e->page_reads),
        .callbacks = list_length(&e->sends),
        .due_runs = e->due.count + e->schedule_due.count,
        .next_due_us = MIN(heap_wait_us(&e->due, now.wall.us), schedule_us),
        .last_commit_us = e->counters.last_commit_us,
        .last_commit_runs = e->counters.last_commit_runs,
    };
    if (e->open) {
        ret->open_runs = e->open->run_count;
        ret->open_bytes = e->open->bytes;
    }
    if (e->flight) {
        ret->flight_runs = e->flight->run_count;
        ret->flight_bytes = e->flight->bytes;
    }
}
