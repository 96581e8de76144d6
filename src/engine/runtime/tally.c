/* How many runs and schedules there are in which state, and how runs ended, for those who watch.
 *
 * A run is counted when its change is put into a batch: from then on it becomes durable, or the process ends.
 * What a body was counted as stands in it, so a run that was loaded again is not counted again. At the start
 * the store is asked (recount.c).
 *
 * Names that users chose are labels here, so their number is bounded: the first namespaces, and the first
 * workflow types in them, have a name of their own; all others share the name "other". */
#include "base/mem.h"
#include "engine/runtime/engine_int.h"

#define OTHER "other"

static_assert(WORKFLOW_EXECUTION_STATUS_PAUSED + 1 == COUNTED_STATUSES, "each status is counted");
static_assert(TASK_FAILURE_TIMEOUT + 1 == COUNTED_TASK_FAILURES, "each kind of failure is counted");

enum tally_kind tally_of(const State__Execution *st) {
    if (!run_is_open(st) || st->batch)
        return TALLY_NONE;
    if (!st->schedule)
        return TALLY_RUN;
    const Schedule__ScheduleState *state = st->schedule->schedule->state;
    if (!state || !state->paused)
        return TALLY_SCHEDULE_ACTIVE;
    return st->schedule->is_paused_by_failure ? TALLY_SCHEDULE_FAILED : TALLY_SCHEDULE_PAUSED;
}

/* names */

static bool can_be_label(const char *name) {
    return strlen(name) <= ENGINE_METRIC_NAME_BYTES && !cstr_eq(name, OTHER);
}

void tally_name_space(struct engine *e, struct space *space) {
    space->has_label = e->labelled_spaces < ENGINE_METRIC_SPACES && can_be_label(space->st->name);
    e->labelled_spaces += space->has_label;
}

void tally_forget_space(struct engine *e, const struct space *space) {
    e->labelled_spaces -= space->has_label;
}

static const char *space_label(const struct space *space) {
    return space->has_label && !space->st->is_being_removed ? space->st->name : OTHER;
}

/* The key is both names as C strings. */
static struct type_counter *type_new(struct engine *e, struct str key) {
    struct type_counter *t = mem_zalloc(sizeof(*t) + key.n + 1);
    if (!t)
        return NULL;
    char *text = (char *)(t + 1);
    memcpy(text, key.p, key.n);
    t->namespace_name = text;
    t->workflow_type = text + strlen(text) + 1;
    if (map_put(&e->types, str_bytes(text, key.n), t) < 0) {
        mem_free(t);
        return NULL;
    }
    return t;
}

/* NULL without memory. */
static struct type_counter *type_find(struct engine *e, const char *space, const char *type, size_t max) {
    char key[2 * (ENGINE_METRIC_NAME_BYTES + 1)];
    size_t space_n = strlen(space) + 1, type_n = strlen(type);
    memcpy(key, space, space_n);
    memcpy(key + space_n, type, type_n);
    struct str k = str_bytes(key, space_n + type_n);
    struct type_counter *t = map_get(&e->types, k);
    return t || map_count(&e->types) >= max ? t : type_new(e, k);
}

static struct type_counter *tally_type_of(struct engine *e, const struct run *run) {
    const char *space = space_label(run->space), *type = run->body->st->workflow_type;
    struct type_counter *t = NULL;
    if (type && can_be_label(type))
        t = type_find(e, space, type, ENGINE_METRIC_TYPES);
    return t ? t : type_find(e, space, OTHER, SIZE_MAX);
}

void tallies_free(struct engine *e) {
    struct type_counter *t;
    for (size_t i = 0; (t = map_next(&e->types, &i));)
        mem_free(t);
    map_done(&e->types);
}

/* counting */

void tally_loaded(struct run *run) {
    run->body->tally = tally_of(run->body->st);
    run->body->is_end_counted = !run_is_open(run->body->st);
}

static void count_end(struct engine *e, const struct run *run) {
    const State__Execution *st = run->body->st;
    struct type_counter *t = st->schedule || st->batch ? NULL : tally_type_of(e, run);
    if (t && st->status >= 0 && st->status < COUNTED_STATUSES)
        t->closed[st->status]++;
}

void tally_seal(struct engine *e, struct run *run) {
    struct body *b = run->body;
    enum tally_kind now = run->is_removed ? TALLY_NONE : tally_of(b->st);
    run->space->tallies[b->tally]--;
    run->space->tallies[now]++;
    b->tally = now;
    if (b->is_end_counted || run_is_open(b->st))
        return;
    b->is_end_counted = true;
    count_end(e, run);
}

void tally_task_failure(struct engine *e, const struct run *run, enum task_failure how) {
    struct type_counter *t = tally_type_of(e, run);
    if (t)
        t->task_failures[how]++;
}

/* showing */

static struct space_counts *counts_of(struct engine_counters *c, const char *name) {
    for (size_t i = 0; i < c->space_count; i++)
        if (cstr_eq(c->spaces[i].name, name))
            return &c->spaces[i];
    ensure(c->space_count < ARRAY_LEN(c->spaces));
    struct space_counts *fresh = &c->spaces[c->space_count++];
    *fresh = (struct space_counts){.name = name};
    return fresh;
}

void tallies_show(const struct engine *e, struct engine_counters *ret) {
    const struct space *s;
    struct space_counts *rest = NULL;
    for (size_t i = 0; (s = map_next(&e->spaces, &i));) {
        const char *label = space_label(s);
        struct space_counts *counts = cstr_eq(label, OTHER) && rest ? rest : counts_of(ret, label);
        if (cstr_eq(label, OTHER))
            rest = counts;
        for (size_t k = 0; k < TALLY_COUNT; k++)
            counts->tallies[k] += s->tallies[k];
    }
    ret->types = &e->types;
}
