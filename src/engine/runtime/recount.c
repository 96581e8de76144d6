/* The tallies of the namespaces at the start: the store is asked how many open runs and schedules there are.
 *
 * This is done before the first run is read, while nothing changes, one namespace after the other. */
#include "base/mem.h"
#include "core/search/filter.h"
#include "core/search/filter_value.h"
#include "core/schedule/schedule.h"
#include "engine/runtime/engine_int.h"

#define ARENA_BYTES (64 << 10)

enum question { ASK_RUNNING, ASK_HALTED, ASK_SCHEDULES, ASK_PAUSED, ASK_FAILED, QUESTIONS };

struct recount {
    struct engine *e;
    struct arena arena;
    const struct predicate *questions[QUESTIONS];
    struct space *space; /* that is asked about */
    size_t at; /* the next one */
    int question; /* the next one */
    int64_t answers[QUESTIONS];
    struct read read;
    bool is_in_read; /* inside store_read, which may answer before it returns */
    bool wants_read; /* the next begins when it has returned */
    void (*done)(struct engine *e, int rc);
};

void recount_free(struct engine *e) {
    if (e->recount)
        arena_done(&e->recount->arena);
    mem_free(take(&e->recount));
}

/* As lists ask for it, so that an index answers it alone. */
static const struct predicate *test_status(struct arena *a, E__WorkflowExecutionStatus status) {
    struct value name = value_text(str_of(status_name(status)));
    const struct predicate *is_divided = filter_test(a, PREDICATE_PRESENT, "TemporalNamespaceDivision", NULL);
    return filter_and(a, filter_test(a, PREDICATE_EQUAL, "ExecutionStatus", &name),
                      filter_not(a, is_divided));
}

static int build_questions(struct recount *r) {
    struct arena *a = &r->arena;
    struct value division = value_text(STR(SCHEDULE_DIVISION)), yes = value_int(1);
    const struct predicate *is_schedule =
                               filter_test(a, PREDICATE_EQUAL, "TemporalNamespaceDivision", &division),
                           *is_open = filter_not(a, filter_test(a, PREDICATE_PRESENT, "CloseTime", NULL)),
                           *is_paused = filter_test(a, PREDICATE_EQUAL, "TemporalSchedulePaused", &yes),
                           *is_failed = filter_test(a, PREDICATE_EQUAL, "SchedulePausedByFailure", &yes);
    r->questions[ASK_RUNNING] = test_status(a, WORKFLOW_EXECUTION_STATUS_RUNNING);
    r->questions[ASK_HALTED] = test_status(a, WORKFLOW_EXECUTION_STATUS_PAUSED);
    r->questions[ASK_SCHEDULES] = filter_and(a, is_schedule, is_open);
    r->questions[ASK_PAUSED] = filter_and(a, filter_and(a, is_paused, is_schedule), is_open);
    r->questions[ASK_FAILED] = filter_and(a, is_failed, is_schedule);
    return arena_failed(a) ? ERR_NO_MEMORY : 0;
}

static void take_answers(const struct recount *r) {
    int64_t *t = r->space->tallies;
    const int64_t *n = r->answers;
    t[TALLY_RUN] = n[ASK_RUNNING] + n[ASK_HALTED];
    t[TALLY_SCHEDULE_ACTIVE] = n[ASK_SCHEDULES] - n[ASK_PAUSED];
    t[TALLY_SCHEDULE_PAUSED] = n[ASK_PAUSED] - n[ASK_FAILED];
    t[TALLY_SCHEDULE_FAILED] = n[ASK_FAILED];
}

static void recount_end(struct engine *e, int rc) {
    void (*done)(struct engine *, int) = e->recount->done;
    recount_free(e);
    done(e, rc);
}

/* The next question; false: there is none. Without schedules none of them is paused. */
static bool next_question(struct recount *r) {
    bool is_last = r->question == QUESTIONS || (r->question > ASK_SCHEDULES && !r->answers[ASK_SCHEDULES]);
    if (r->space && is_last)
        take_answers(r);
    if (!r->space || is_last) {
        r->space = map_next(&r->e->spaces, &r->at);
        r->question = 0;
        memset(r->answers, 0, sizeof(r->answers));
    }
    return r->space;
}

static void recount_go_on(struct recount *r);

static void recount_row(struct read *read, const struct row *row) {
    struct recount *r = read->owner;
    r->answers[r->question] = row->count;
}

static void recount_done(struct read *read, int rc) {
    struct recount *r = read->owner;
    if (rc < 0) {
        recount_end(r->e, rc);
        return;
    }
    r->question++;
    if (r->is_in_read)
        r->wants_read = true;
    else
        recount_go_on(r);
}

static void recount_ask(struct recount *r) {
    struct engine *e = r->e;
    r->wants_read = false;
    r->is_in_read = true;
    r->read = (struct read){.kind = READ_VISIBILITY_COUNT,
                            .namespace_id = r->space->id,
                            .where = r->questions[r->question],
                            .is_on_loop = true,
                            .row = recount_row,
                            .done = recount_done,
                            .owner = r};
    store_read(e->store, &r->read);
    if (e->recount)
        r->is_in_read = false;
}

/* One after the other, not one inside the other: there may be thousands. */
static void recount_go_on(struct recount *r) {
    struct engine *e = r->e;
    do {
        if (e->cfg.should_stop && e->cfg.should_stop(e->cfg.stop_ctx))
            recount_end(e, ERR_CANCELLED);
        else if (next_question(r))
            recount_ask(r);
        else
            recount_end(e, 0);
    } while (e->recount && r->wants_read);
}

int recount_begin(struct engine *e, void (*done)(struct engine *e, int rc)) {
    struct recount *r = mem_zalloc(sizeof(*r));
    if (!r)
        return ERR_NO_MEMORY;
    r->e = e;
    r->done = done;
    arena_init(&r->arena, ARENA_BYTES);
    e->recount = r;
    int rc = build_questions(r);
    if (rc < 0)
        recount_free(e);
    else
        recount_go_on(r);
    return rc;
}
