/* What lists show of a run: written in the commit that changes it, so that a list is never behind.
 *
 * Lengths and sizes of histories are shown once a run is closed, so most steps
 * of an open run change nothing here; the digest of what was written last
 * tells. After a body was dropped and loaded again the digest is not known
 * (but for schedules, which may be loaded for each action), and the row is
 * written once more than needed. Failure to allocate ends the
 * process, as everywhere while a group is sealed. */
#include "core/batch/batch.h"
#include "core/search/filter_value.h"
#include "core/schedule/schedule.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/execution_info.h"
#include "wire/pack.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
#define BUILT_IN_MAX 20
#define MOVING_MAX 3

/* Attributes of one run, being gathered. Everything they point to is in the batch. */
struct gathering {
    struct arena *arena;
    const State__Namespace *ns;
    struct attribute *list;
    size_t count;
};

/* Eight bytes at a time: this is done for every commit of every run. Never 0. */
static uint64_t digest_add(uint64_t h, struct str bytes) {
    h ^= bytes.n;
    for (size_t i = 0; i < bytes.n; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes.p + i, MIN(bytes.n - i, sizeof(word)));
        h = (h ^ word) * FNV_PRIME;
        h ^= h >> 29;
    }
    return h ? h : 1;
}

static void visibility_add_value(struct gathering *g, const char *name, struct value v) {
    struct value *copy = arena_dup(g->arena, &v, sizeof(v));
    ensure(copy);
    g->list[g->count++] = (struct attribute){str_of(name), copy, 1};
}

static void visibility_add_text(struct gathering *g, const char *name, const char *text) {
    if (cstr_is_empty(text))
        return;
    char *copy = arena_strdup(g->arena, text);
    ensure(copy);
    visibility_add_value(g, name, value_text(str_of(copy)));
}

static void add_us(struct gathering *g, const char *name, int64_t us) {
    visibility_add_value(g, name, value_int(us * NSEC_PER_USEC));
}

static void add_texts(struct gathering *g, const char *name, char *const *texts, size_t n) {
    struct value *values = n ? arena_array(g->arena, struct value, n) : NULL;
    for (size_t i = 0; i < n; i++) {
        char *copy = arena_strdup(g->arena, texts[i]);
        ensure(values && copy);
        values[i] = value_text(str_of(copy));
    }
    if (n)
        g->list[g->count++] = (struct attribute){str_of(name), values, n};
}

static void add_built_ins(struct gathering *g, const State__Execution *st) {
    visibility_add_text(g, "WorkflowId", st->workflow_id);
    visibility_add_text(g, "RunId", st->run_id);
    visibility_add_text(g, "WorkflowType", st->workflow_type);
    visibility_add_text(g, "TaskQueue", st->task_queue);
    visibility_add_text(g, "ExecutionStatus", status_name(st->status));
    visibility_add_text(g, "RootWorkflowId", st->root_workflow_id);
    visibility_add_text(g, "RootRunId", st->root_run_id);
    if (st->parent) {
        visibility_add_text(g, "ParentWorkflowId", st->parent->workflow_id);
        visibility_add_text(g, "ParentRunId", st->parent->run_id);
    }
    add_us(g, "StartTime", st->start_us);
    add_us(g, "ExecutionTime", st->execution_us);
    if (!st->close_us)
        return;
    add_us(g, "CloseTime", st->close_us);
    add_us(g, "ExecutionDuration", st->close_us - st->execution_us);
    visibility_add_value(g, "HistoryLength", value_int(st->next_event_id - 1));
    visibility_add_value(g, "HistorySizeBytes", value_int(st->history_bytes));
    visibility_add_value(g, "StateTransitionCount", value_int(st->transition_count));
}

static const char *action_type(const Schedule__Schedule *s) {
    const Workflow__NewWorkflowExecutionInfo *start = s->action ? s->action->start_workflow : NULL;
    return start && start->workflow_type ? start->workflow_type->name : "";
}

/* A schedule has names of its own, beside those of its namespace (core/schedule/schedule_attributes.def). */
static void add_schedule(struct gathering *g, const State__Execution *st) {
    const State__Schedule *sched = st->schedule;
    bool is_paused = sched->schedule->state && sched->schedule->state->paused;
    visibility_add_text(g, "TemporalNamespaceDivision", SCHEDULE_DIVISION);
    visibility_add_text(g, "ScheduleId", sched->schedule_id);
    visibility_add_text(g, "RunId", st->run_id);
    visibility_add_text(g, "WorkflowType", action_type(sched->schedule));
    visibility_add_value(g, "TemporalSchedulePaused", value_int(is_paused));
    if (tally_of(st) == TALLY_SCHEDULE_FAILED)
        visibility_add_value(g, "SchedulePausedByFailure", value_int(1));
    add_us(g, "StartTime", st->start_us);
    if (sched->idle_close_us)
        add_us(g, "ScheduleIdleCloseTime", sched->idle_close_us);
    if (sched->schedule->extras)
        add_texts(g, "ScheduleHolidayCalendars", sched->schedule->extras->holiday_calendars,
                  sched->schedule->extras->n_holiday_calendars);
    if (st->close_us)
        add_us(g, "CloseTime", st->close_us);
}

void visibility_seal_moving(struct group *g, const State__Execution *st, struct write *w) {
    struct gathering all = {.arena = &g->batch.arena};
    if (!st->schedule)
        return;
    int64_t next_us = schedule_next_us(st);
    all.list = arena_array(all.arena, struct attribute, MOVING_MAX);
    ensure(all.list);
    visibility_add_value(&all, "ScheduleRunningWorkflowCount", value_int(schedule_running_count(st)));
    visibility_add_value(&all, "ScheduleBufferedStartsCount", value_int(schedule_waiting_count(st)));
    if (next_us)
        add_us(&all, "ScheduleNextActionTime", next_us);
    w->attributes = all.list;
    w->attribute_count = all.count;
}

/* Nothing can be asked about a batch job but whether it is one. */
static void add_batch(struct gathering *g, const State__Execution *st) {
    visibility_add_text(g, "TemporalNamespaceDivision", BATCH_DIVISION);
    visibility_add_text(g, "RunId", st->run_id);
    add_us(g, "StartTime", st->start_us);
    if (st->close_us)
        add_us(g, "CloseTime", st->close_us);
}

static void visibility_add_own(struct gathering *g, const Common__SearchAttributes__IndexedFieldsEntry *f) {
    struct attribute *a = &g->list[g->count];
    E__IndexedValueType type = attribute_type(g->ns, f->key);
    if (type == INDEXED_VALUE_TYPE_UNSPECIFIED)
        return; /* removed from the namespace since */
    ensure(attribute_values(g->arena, type, f->value, a) == 0);
    if (a->count == 0)
        return;
    a->name = str_of(arena_strdup(g->arena, f->key));
    ensure(a->name.p);
    for (size_t i = 0; i < a->count; i++) {
        /* A number points nowhere; a text may still point into the state, which changes. */
        struct value *v = (struct value *)(uintptr_t)&a->values[i];
        if (v->kind == VALUE_TEXT && v->text.n)
            ensure((v->text.p = arena_dup(g->arena, v->text.p, v->text.n)));
    }
    g->count++;
}

static struct gathering visibility_gather(struct arena *a, const struct run *run) {
    const State__Execution *st = run->body->st;
    size_t own_count = st->search_attributes ? st->search_attributes->n_indexed_fields : 0;
    struct gathering all = {.arena = a, .ns = run->space->st};
    all.list = arena_array(all.arena, struct attribute, BUILT_IN_MAX + own_count);
    ensure(all.list);
    (st->schedule ? add_schedule : st->batch ? add_batch : add_built_ins)(&all, st);
    ensure(all.count <= BUILT_IN_MAX);
    for (size_t i = 0; i < own_count; i++)
        visibility_add_own(&all, st->search_attributes->indexed_fields[i]);
    return all;
}

/* What a list answers with. */
static const ProtobufCMessage *visibility_listed_info(struct arena *a, const struct body *body) {
    const State__Execution *st = body->st;
    if (st->batch)
        return (const ProtobufCMessage *)batch_info(st, a);
    Workflow__WorkflowExecutionInfo *i = execution_info(a, st);
    if (i && !st->close_us)
        i->history_length = i->history_size_bytes = i->state_transition_count = 0;
    return (const ProtobufCMessage *)i;
}

static void pack_listed(struct engine *e, const struct body *body, struct packer *p) {
    arena_clear(&e->scratch);
    const ProtobufCMessage *m = visibility_listed_info(&e->scratch, body);
    ensure(m && !arena_failed(&e->scratch));
    packer_init(p);
    (void)packer_message(p, m); /* the length is in p too */
    ensure(packer_ok(p));
}

static void write_row(struct group *g, const struct run *run, struct str info, const struct gathering *all) {
    const State__Execution *st = run->body->st;
    struct write *w = batch_add(&g->batch, WRITE_VISIBILITY);
    ensure(w);
    w->namespace_id = run->key.namespace_id;
    w->run_id = run->key.run_id;
    w->is_first = !run->body->is_written;
    w->start_us = st->start_us;
    w->close_us = st->close_us ? st->close_us : CLOCK_NEVER;
    w->body = str_bytes(arena_dup(&g->batch.arena, info.p, info.n), info.n);
    ensure(w->body.p || !info.n);
    w->attributes = all->list;
    w->attribute_count = all->count;
}

/* True: what lists show has changed, and will be written. */
static bool is_news(struct run *run, uint64_t digest) {
    if (run->body->listed_digest == digest || run->is_removed)
        return false;
    run->body->listed_digest = digest;
    return true;
}

/* schedules: a list answers with their state, and what can be asked about them rarely changes */

static uint64_t digest_add_value(uint64_t h, const struct value *v) {
    if (v->kind == VALUE_TEXT)
        return digest_add(h, v->text);
    const void *number = v->kind == VALUE_INT ? (const void *)&v->number : (const void *)&v->real;
    return digest_add(h, str_bytes(number, sizeof(uint64_t)));
}

static uint64_t digest_of(const struct gathering *all) {
    uint64_t h = FNV_OFFSET;
    for (size_t i = 0; i < all->count; i++) {
        h = digest_add(h, all->list[i].name);
        for (size_t k = 0; k < all->list[i].count; k++)
            h = digest_add_value(h, &all->list[i].values[k]);
    }
    return h;
}

void visibility_loaded(struct run *run) {
    struct arena *scratch = &run->e->scratch;
    if (!run->body->st->schedule)
        return;
    arena_clear(scratch);
    struct gathering all = visibility_gather(scratch, run);
    run->body->listed_digest = digest_of(&all);
}

static void seal_schedule(struct group *g, struct run *run) {
    struct gathering all = visibility_gather(&g->batch.arena, run);
    if (is_news(run, digest_of(&all)))
        write_row(g, run, (struct str){NULL, 0}, &all);
}

void visibility_seal(struct group *g, struct run *run) {
    if (run->body->st->schedule) {
        seal_schedule(g, run);
        return;
    }
    struct packer p uninitialized;
    pack_listed(g->e, run->body, &p);
    if (is_news(run, digest_add(FNV_OFFSET, packer_str(&p)))) {
        struct gathering all = visibility_gather(&g->batch.arena, run);
        write_row(g, run, packer_str(&p), &all);
    }
    packer_done(&p);
}
