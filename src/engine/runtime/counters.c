/* Counters are kept where things happen; what can be seen by looking is looked up when someone asks. */
#include "engine/counters.h"

#include "engine/runtime/engine_int.h"

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

/* A queue and those of its versions, as one. */
struct family {
    size_t task_count;
    int64_t age_us;
    bool is_unpolled;
};

static void family_add(const struct engine *e, const struct queue *q, struct family *f) {
    if (!q->task_count)
        return;
    f->task_count += q->task_count;
    f->age_us = MAX(f->age_us, queue_age_us(e, q));
    f->is_unpolled |= !queue_has_visitor(e, q);
}

/* Where the next of those that are shown goes: behind the others, or in place of the youngest, if that is
 * younger.
 */
static struct queue_age *age_slot(struct engine_counters *c, int64_t age_us) {
    if (c->age_count < ENGINE_METRIC_QUEUES)
        return &c->ages[c->age_count++];
    struct queue_age *youngest = &c->ages[0];
    for (size_t i = 1; i < ENGINE_METRIC_QUEUES; i++)
        if (c->ages[i].age_us < youngest->age_us)
            youngest = &c->ages[i];
    return youngest->age_us < age_us ? youngest : NULL;
}

/* A sticky queue belongs to one worker, and its name says nothing to anybody else. */
static void count_family(const struct engine *e, const struct queue *base, struct engine_counters *c) {
    struct family f = {0};
    family_add(e, base, &f);
    list_for(&base->versions, n) family_add(e, container_of(n, struct queue, version_link), &f);
    if (!f.task_count)
        return;
    c->oldest_task_us[base->is_activity] = MAX(c->oldest_task_us[base->is_activity], f.age_us);
    if (base->is_sticky)
        return;
    c->unpolled_queues[base->is_activity] += f.is_unpolled;
    bool can_be_shown = strlen(base->name) <= ENGINE_METRIC_NAME_BYTES;
    struct queue_age *slot = can_be_shown ? age_slot(c, f.age_us) : NULL;
    if (slot)
        *slot = (struct queue_age){base->space->st->name, base->name, base->is_activity, f.age_us};
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
        if (q->base == q)
            count_family(e, q, ret);
    }
    tallies_show(e, ret);
    store_measure(e->store, &ret->disk);
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
