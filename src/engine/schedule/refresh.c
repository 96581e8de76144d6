/* Telling schedules that a holiday calendar has changed.
 *
 * A schedule looks at the calendars whenever it wakes up, so the change must reach it only when it would wake
 * up too late: a day that is no holiday any more may come first. One errand for each namespace takes one
 * changed calendar after the other and walks over the schedules that name it, which lists know, some in each
 * turn of the loop; those compute their times anew. Schedules without it are not even looked at.
 *
 * The walk begins when the change is on disk: then lists show every schedule that was made before it, and
 * those made later know it already. The namespace's state names the changes that not all schedules have taken
 * in, so a walk that a crash ended is begun again at the next start; to be told twice changes nothing. */
#include "core/search/attributes.h"
#include "core/search/filter.h"
#include "core/schedule/schedule.h"
#include "engine/runtime/question.h"
#include "engine/schedule/schedule.h"

struct walk {
    struct uuid namespace_id; /* the namespace itself may be removed on the way */
    const char *name; /* of the calendar; in the op's arena */
    int64_t change; /* what the schedules are told of */
    struct visibility_place after;
    bool has_after;

    struct answer answer;
    struct uuid runs[ENGINE_REFRESH_SCHEDULES];
    size_t count;
    size_t at;
};

/* a page of schedules */

static void refresh_read_row(struct op *op, const struct row *row) {
    struct walk *w = op->extra;
    w->runs[w->count++] = row->run_id;
    w->after = (struct visibility_place){row->close_us, row->start_us, row->run_id};
    w->has_after = true;
}

/* Open schedules with this calendar. NULL without memory. */
static const struct predicate *with_calendar(struct arena *a, const char *name) {
    char *copy = arena_strdup(a, name);
    struct value calendar = value_text(str_of(copy ? copy : "")),
                 division = value_text(STR(SCHEDULE_DIVISION));
    const struct predicate *is_schedule =
                               filter_test(a, PREDICATE_EQUAL, "TemporalNamespaceDivision", &division),
                           *is_closed = filter_test(a, PREDICATE_PRESENT, "CloseTime", NULL),
                           *is_named = filter_test(a, PREDICATE_EQUAL, "ScheduleHolidayCalendars", &calendar);
    const struct predicate *all =
        filter_and(a, filter_and(a, is_named, is_schedule), filter_not(a, is_closed));
    return arena_failed(a) ? NULL : all;
}

static int refresh_read_page(struct op *op, struct walk *w) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    w->count = w->at = 0;
    q->after = w->after;
    q->read = (struct read){.kind = READ_VISIBILITY,
                            .namespace_id = w->namespace_id,
                            .where = with_calendar(&q->arena, w->name),
                            .after = w->has_after ? &q->after : NULL,
                            .limit = ENGINE_REFRESH_SCHEDULES};
    if (!q->read.where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    return op_ask(op, q, &w->answer, refresh_read_row);
}

/* a schedule */

static bool names_calendar(const State__Execution *st, const char *name) {
    const Rondo__ScheduleExtras *extras =
        st->schedule && st->schedule->schedule ? st->schedule->schedule->extras : NULL;
    for (size_t i = 0; extras && i < extras->n_holiday_calendars; i++)
        if (cstr_eq(extras->holiday_calendars[i], name))
            return true;
    return false;
}

/* In an arena of its own: there are as many steps as schedules, and a long calendar takes room in each. */
static int refresh_one(struct op *op, const struct walk *w, struct space *space, struct uuid run_id) {
    struct arena arena cleanup(arena_done);
    struct step s;
    arena_init(&arena, ENGINE_ERRAND_BYTES);
    int rc = op_need_run(op, space, run_id);
    if (rc == ERR_NOT_FOUND)
        return 0; /* removed meanwhile */
    if (rc < 0 || !run_is_open(op->run->body->st) || !names_calendar(op->run->body->st, w->name))
        return rc;
    run_step_begin(op->e, op->run, &arena, &op->err, &s);
    return op_step_end(op, &s, schedule_refresh(&s), STEP_DURABLE);
}

/* the walk */

static void go_page(struct op *op);

static void refresh_walk_later(struct op *op, int64_t us) {
    op_pin(op, NULL);
    op_retry(op, us, go_page);
}

/* NULL: it is gone, or going with everything in it. */
static struct space *walk_space(struct op *op, const struct walk *w) {
    struct space *s = space_by_id(op->e, w->namespace_id);
    return s && !s->st->is_being_removed ? s : NULL;
}

static void refresh_walk_end(struct op *op, struct space *space) {
    space->is_refreshing = false;
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void walk_begin(struct op *op, struct walk *w, struct space *space) {
    const State__HolidayChange *change = space->st->holiday_changes[0];
    w->name = arena_strdup(op->call->arena, change->name);
    w->change = change->change;
    w->has_after = w->answer.is_here = false;
    if (!w->name) { /* the next change or start tells them */
        refresh_walk_end(op, space);
        return;
    }
    op_pin(op, NULL);
    op->wait_seq = space->group_seq;
    op_continue_durable(op, go_page);
}

/* All schedules have taken it in, unless it has changed again. */
static void walk_next(struct op *op, struct walk *w, struct space *space) {
    State__Namespace *st = space->st;
    if (st->holiday_changes[0]->change == w->change)
        pb_remove_message(&st->n_holiday_changes, st->holiday_changes, 0);
    /* Without memory to write that down, the next start tells them once more. */
    if (space_write(op->e, space) < 0 || !st->n_holiday_changes)
        refresh_walk_end(op, space);
    else
        walk_begin(op, w, space);
}

static void go_page(struct op *op) {
    struct walk *w = op->extra;
    int rc = w->answer.is_here ? 0 : refresh_read_page(op, w);
    if (rc == ERR_WAIT)
        return;
    struct space *space = walk_space(op, w);
    if (!space) {
        op_reply(op, NULL, (struct str){NULL, 0});
        return;
    }
    if (rc == 0 && w->answer.rc < 0) {
        engine_fail(op->e, "schedules cannot be read from the store");
        op_fail(op);
        return;
    }
    while (rc != ERR_NO_MEMORY && w->answer.is_here && w->at < w->count) {
        rc = refresh_one(op, w, space, w->runs[w->at]);
        if (rc == ERR_WAIT)
            return;
        if (rc != ERR_NO_MEMORY)
            w->at++;
        if (rc < 0)
            log_emit(op->e->log, LOG_due_failed, log_str("error", op->err.text));
    }
    if (rc == ERR_NO_MEMORY) {
        refresh_walk_later(op, ENGINE_TICK_RETRY_MS * USEC_PER_MS);
    } else if (w->count == ENGINE_REFRESH_SCHEDULES) {
        w->answer.is_here = false;
        refresh_walk_later(op, 1);
    } else {
        walk_next(op, w, space);
    }
}

static void go_begin_refresh(struct op *op) {
    struct space *const *space = op->req;
    struct walk *w = arena_new(op->call->arena, struct walk);
    if (!w) {
        (*space)->is_refreshing = false; /* the next change or start tells them */
        op_fail(op);
        return;
    }
    w->namespace_id = (*space)->id;
    op->extra = w;
    walk_begin(op, w, *space);
}

void schedules_refresh(struct engine *e, struct space *space) {
    if (space->is_refreshing)
        return; /* the walk sees that there is more */
    space->is_refreshing = true;
    errand_start(e, go_begin_refresh, &space, sizeof(space));
}

void schedules_refresh_all(struct engine *e) {
    struct space *s;
    for (size_t i = 0; (s = map_next(&e->spaces, &i));)
        if (s->st->n_holiday_changes)
            schedules_refresh(e, s);
}
