/* The generator: turns the times since the high-water mark into starts, or into rows that say why not.
 *
 * The mark is the last actual time that was considered, and moves only when one is. A time whose nominal
 * second has passed while its jitter has not is therefore still ahead of the mark, whatever else happens
 * meanwhile; and when the clock goes back, what is behind the mark stays done.
 *
 * Excluded times are walked too, so that the ledger can say so. They wake nobody: they are looked at with the
 * next time that acts, or an hour later. Those behind the last action are looked at once a day, after the
 * first, which says at its time that no actions remain. */
#include "base/mem.h"
#include "core/schedule/schedule_int.h"

struct walk {
    struct step *s;
    const struct times *times;
    struct ledger_idle idle;
    struct start_count count;
    size_t candidates; /* that became starts */
    size_t steps;
    uint64_t work; /* of its searches */
    bool is_all_excluded; /* by what held until now */
    const char
        *end_reason; /* the schedule ends: nothing is begun any more, for this reason; NULL: it goes on */
};

void generator_reset(State__Schedule *sch) {
    sch->n_future_us = 0;
    sch->generate_us = 1;
    start_number_before(sch, INT64_MAX);
    ledger_close_tail(sch);
}

static bool is_paused_at(const State__Schedule *sch, int64_t actual_us) {
    return sch->schedule->state->paused && actual_us < schedule_pause_until_us(sch);
}

/* A server that runs may still have slept: a machine was suspended, a process stopped. */
static bool was_inactive(const struct step *s, int64_t actual_us) {
    return actual_us < s->ctx.active_us || s->now.us - actual_us > LIMIT_SCHEDULE_ACTIVE_S * USEC_PER_SEC;
}

static bool is_late(const struct step *s, int64_t actual_us, const char **ret_reason) {
    const State__Schedule *sch = s->st->schedule;
    const Rondo__ScheduleExtras *extras = sch->schedule->extras;
    if (extras && extras->only_while_active && was_inactive(s, actual_us)) {
        *ret_reason = "the server was not active at that time";
        return true;
    }
    *ret_reason = "it was later than the catch-up window";
    return s->now.us - actual_us > schedule_catchup_us(sch);
}

static State__Start *oldest_pushing(const State__Schedule *sch) {
    for (size_t i = 0; i < sch->n_starts; i++) {
        State__Start *start = sch->starts[i];
        if (start_is_waiting(start) && !start->is_manual &&
            overlap_is_pushing((E__ScheduleOverlapPolicy)start->overlap_policy))
            return start;
    }
    return NULL;
}

/* Whether the buffer has room for one more start. A pushing policy drops its oldest start to make room. */
static bool has_room(struct walk *w) {
    struct step *s = w->s;
    State__Schedule *sch = s->st->schedule;
    if (w->count.waiting < LIMIT_SCHEDULE_BUFFER)
        return true;
    if (!overlap_is_pushing(schedule_policy(sch))) /* starts of the other policies leave the buffer at once */
        return schedule_policy(sch) != SCHEDULE_OVERLAP_POLICY_BUFFER_ALL;
    State__Start *oldest = oldest_pushing(sch);
    if (!oldest)
        return false;
    start_drop(s, oldest, LEDGER_FATE_REPLACED, "a newer action took its place");
    w->count.waiting--;
    return true;
}

static void generator_buffer_start(struct walk *w, struct cal_time at) {
    struct step *s = w->s;
    State__Schedule *sch = s->st->schedule;
    struct start_wish wish = {.at = at};
    ledger_idle_flush(s, &w->idle);
    bool is_full = !has_room(w);
    State__Start *start = start_add(s, &wish);
    w->candidates++;
    if (!start)
        return;
    if (is_full) {
        sch->buffer_dropped++;
        start_drop(s, start, LEDGER_FATE_BUFFER_FULL, "too many starts were waiting");
    } else {
        w->count.waiting++;
        w->count.waiting_free += start_overlaps(start);
    }
}

static void generator_consider_time(struct walk *w, struct cal_time at) {
    struct step *s = w->s;
    State__Schedule *sch = s->st->schedule;
    const char *reason = w->is_all_excluded ? "a holiday calendar excluded it at that time"
                                            : times_exclusion(w->times, at.nominal_s);
    if (reason) {
        ledger_idle_add(s, &w->idle, LEDGER_FATE_EXCLUDED, reason, at);
    } else if (schedule_is_exhausted(sch)) {
        ledger_idle_add(s, &w->idle, LEDGER_FATE_EXHAUSTED, "no remaining actions", at);
        sch->is_exhaustion_noted = true;
    } else if (is_paused_at(sch, at.actual_us)) {
        ledger_idle_add(s, &w->idle, LEDGER_FATE_PAUSED, "the schedule was paused", at);
    } else if (is_late(s, at.actual_us, &reason)) {
        sch->missed_catchup_window++;
        ledger_idle_add(s, &w->idle, LEDGER_FATE_CATCHUP_MISSED, reason, at);
    } else if (w->end_reason) {
        ledger_idle_add(s, &w->idle, LEDGER_FATE_ENDED, w->end_reason, at);
    } else {
        generator_buffer_start(w, at);
    }
    sch->high_water_us = at.actual_us;
}

bool generator_is_flooded(const State__Schedule *sch, const struct start_count *count) {
    return count->waiting_free >= LIMIT_SCHEDULE_STARTING &&
           schedule_policy(sch) == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
}

static bool generator_must_wait(const struct walk *w) {
    return !w->end_reason && generator_is_flooded(w->s->st->schedule, &w->count);
}

/* False when a limit was reached before everything that is due was considered. */
static bool generator_walk_times(struct walk *w) {
    struct step *s = w->s;
    State__Schedule *sch = s->st->schedule;
    for (size_t passed = 0; !s->failed; passed++) {
        struct cal_time at;
        if (passed && w->work >= w->steps * LIMIT_SCHEDULE_WORK)
            return false;
        if (cal_next_counted(times_all(w->times), w->times->seed, sch->high_water_us, &at, &w->work) !=
                CAL_FOUND ||
            at.actual_us > s->now.us)
            return true;
        if (w->candidates >= w->steps * LIMIT_SCHEDULE_CANDIDATES ||
            passed >= w->steps * LIMIT_SCHEDULE_WALK || generator_must_wait(w))
            return false;
        generator_consider_time(w, at);
        w->work += times_judge_work(w->times);
    }
    return true;
}

static void add_future(struct step *s, int64_t at_us) {
    State__Schedule *sch = s->st->schedule;
    int64_t *bigger = mem_resize(sch->future_us, (sch->n_future_us + 1) * sizeof(*bigger));
    if (!bigger) {
        s->failed = true;
        return;
    }
    sch->future_us = bigger;
    sch->future_us[sch->n_future_us++] = at_us;
}

static void forget_past(State__Schedule *sch) {
    size_t past = 0;
    while (past < sch->n_future_us && sch->future_us[past] <= sch->high_water_us)
        past++;
    sch->n_future_us -= past;
    if (past && sch->n_future_us)
        memmove(sch->future_us, sch->future_us + past, sch->n_future_us * sizeof(*sch->future_us));
}

/* Whether the times that were found before still hold: the rules of a zone may have changed since. */
static bool is_future_known(const State__Schedule *sch, const struct times *t) {
    struct cal_time at;
    return sch->n_future_us && cal_next(t->real, t->seed, sch->high_water_us, &at) == CAL_FOUND &&
           at.actual_us == sch->future_us[0];
}

/* The times to come, for readers; those behind the mark make room for later ones. */
static void look_ahead(struct step *s, const struct times *t) {
    State__Schedule *sch = s->st->schedule;
    forget_past(sch);
    if (!is_future_known(sch, t))
        sch->n_future_us = 0;
    for (uint64_t work = 0;
         sch->n_future_us < LIMIT_SCHEDULE_FUTURE && work < LIMIT_SCHEDULE_WORK && !s->failed;) {
        struct cal_time at;
        int64_t after_us = sch->n_future_us ? sch->future_us[sch->n_future_us - 1] : sch->high_water_us;
        if (cal_next_counted(t->real, t->seed, after_us, &at, &work) != CAL_FOUND)
            return;
        add_future(s, at.actual_us);
    }
}

/* Whether another version of the zones may move its times. */
static bool is_in_foreign_zone(const State__Schedule *sch, const struct times *t) {
    return cal_zone(t->real) && !sch->schedule->spec->timezone_data.len;
}

/* When to look again. */
static int64_t next_look(struct step *s, const struct times *t) {
    const State__Schedule *sch = s->st->schedule;
    int64_t look_us = sch->n_future_us ? sch->future_us[0] : CLOCK_NEVER;
    int64_t tomorrow_us = usec_add(s->now.us, LIMIT_SCHEDULE_REST_S * USEC_PER_SEC);
    int64_t rested_us =
        sch->is_exhaustion_noted ? tomorrow_us : usec_add(s->now.us, LIMIT_SCHEDULE_RECHECK_S * USEC_PER_SEC);
    struct cal_time at;
    if (sch->n_future_us && is_in_foreign_zone(sch, t))
        look_us = MIN(look_us, tomorrow_us);
    if (sch->is_exhaustion_noted)
        look_us = MAX(look_us, rested_us);
    if (t->raw && cal_next(t->raw, t->seed, sch->high_water_us, &at) == CAL_FOUND)
        look_us = MIN(look_us, MAX(at.actual_us, rested_us));
    return look_us == CLOCK_NEVER ? 0 : look_us;
}

void generator_give_up(struct step *s, const struct err *why) {
    State__Schedule *sch = s->st->schedule;
    pb_set_string(&sch->invalid_error, why->text, &s->failed);
    step_news(s, SCHEDULE_TURN_UNREADABLE, arena_strdup(s->arena, why->text), NULL, NULL);
    sch->n_future_us = 0;
    sch->generate_us = usec_add(s->now.us, LIMIT_SCHEDULE_RECHECK_S * USEC_PER_SEC);
}

static int generator_generate_starts(struct step *s, struct walk *w, bool *ret_more) {
    State__Schedule *sch = s->st->schedule;
    cleanup(times_done) struct times times = {0};
    struct err why = {0};
    int rc = times_new(s->st, s->ctx.space, s->ctx.zones, s->arena, &times, &why);
    if (rc == ERR_NO_MEMORY)
        return err_std(s->err, rc);
    if (rc < 0) {
        generator_give_up(s, &why);
        return 0;
    }
    pb_set_string(&sch->invalid_error, "", &s->failed);
    w->s = s;
    w->times = &times;
    w->count = start_count(sch);
    *ret_more = !generator_walk_times(w);
    ledger_idle_flush(s, &w->idle);
    look_ahead(s, &times);
    sch->generate_us = *ret_more ? s->now.us : next_look(s, &times);
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

int generator_run(struct step *s, bool *ret_more) {
    const State__Schedule *sch = s->st->schedule;
    struct walk w = {.steps = 1};
    *ret_more = false;
    return sch->generate_us && sch->generate_us <= s->now.us ? generator_generate_starts(s, &w, ret_more) : 0;
}

int generator_drain(struct step *s, bool *ret_more) {
    struct walk w = {.steps = LIMIT_SCHEDULE_DRAIN};
    *ret_more = false;
    return s->st->schedule->generate_us ? generator_generate_starts(s, &w, ret_more) : 0;
}

int generator_end(struct step *s, const char *reason) {
    struct walk w = {.steps = LIMIT_SCHEDULE_DRAIN, .end_reason = reason};
    bool has_more;
    return s->st->schedule->generate_us ? generator_generate_starts(s, &w, &has_more) : 0;
}

int generator_refresh(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    /* It wanted to look later, so what came since it looked was excluded then, and stays so. */
    struct walk w = {.steps = LIMIT_SCHEDULE_DRAIN,
                     .is_all_excluded = sch->generate_us > s->now.us && !sch->is_exhaustion_noted &&
                                        cstr_is_empty(sch->invalid_error)};
    bool has_more;
    if (!sch->generate_us)
        return 0;
    generator_reset(sch);
    return generator_generate_starts(s, &w, &has_more);
}
