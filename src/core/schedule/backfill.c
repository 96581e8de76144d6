/* Backfills: the times of a range that somebody asked for, taken now.
 *
 * Each has a mark of its own and goes on as starts drain: all of them together fill at most half of the
 * buffer, so the schedule itself always has room. A backfill is there until its last start has begun or was
 * dropped. */
#include "core/schedule/schedule_int.h"

size_t backfill_waiting(const State__Schedule *sch, int64_t backfill_id) {
    size_t n = 0;
    for (size_t i = 0; i < sch->n_starts; i++)
        n += sch->starts[i]->backfill_id == backfill_id &&
             (start_is_waiting(sch->starts[i]) || sch->starts[i]->phase == PHASE_STARTING);
    return n;
}

static bool is_generated(const State__Backfill *b) {
    return b->high_water_us >= b->end_us;
}

int backfill_add(struct step *s, const Schedule__BackfillRequest *req) {
    State__Schedule *sch = s->st->schedule;
    if (sch->n_backfills >= LIMIT_SCHEDULE_BACKFILLS)
        return err_set(s->err, ERR_PRECONDITION, "too many concurrent backfills: at most %d",
                       LIMIT_SCHEDULE_BACKFILLS);
    State__Backfill *b = pb_new(&state__backfill__descriptor, &s->failed);
    if (!b)
        return err_std(s->err, ERR_NO_MEMORY);
    b->id = ++sch->next_backfill_id;
    b->start_us = pb_timestamp_us(req->start_time);
    b->end_us = pb_timestamp_us(req->end_time);
    b->overlap_policy = (int32_t)(req->overlap_policy ? req->overlap_policy : schedule_policy(sch));
    b->high_water_us = b->start_us - 1; /* the start itself counts */
    pb_append_message(&sch->n_backfills, &sch->backfills, b, &s->failed);
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

/* Those that may all run at once need no more than the letters that can be on the way. */
static size_t backfill_share_room(const State__Backfill *b, size_t room, size_t left) {
    size_t most = b->overlap_policy == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL ? LIMIT_SCHEDULE_STARTING
                                                                         : LIMIT_SCHEDULE_BUFFER / 2;
    return MIN((room + left - 1) / left, most);
}

/* At most `room` of its times. A time that jitter moves past the end is not one of them. */
static void backfill_add_starts(struct step *s, const struct times *t, State__Backfill *b, size_t room) {
    for (uint64_t work = 0; room && work < LIMIT_SCHEDULE_WORK && !is_generated(b) && !s->failed; room--) {
        struct cal_time at;
        if (cal_next_counted(t->real, t->seed, b->high_water_us, &at, &work) != CAL_FOUND ||
            at.actual_us > b->end_us) {
            b->high_water_us = b->end_us;
            return;
        }
        struct start_wish wish = {.at = at,
                                  .policy = (E__ScheduleOverlapPolicy)b->overlap_policy,
                                  .is_manual = true,
                                  .backfill_id = b->id};
        start_add(s, &wish);
        b->considered++;
        /* The actual time, as the schedule's own mark. */
        b->high_water_us = at.actual_us;
    }
}

void backfill_finish(State__Schedule *sch) {
    for (size_t i = sch->n_backfills; i-- > 0;)
        if (is_generated(sch->backfills[i]) && !backfill_waiting(sch, sch->backfills[i]->id))
            pb_remove_message(&sch->n_backfills, sch->backfills, i);
}

static size_t backfill_count_unfinished(const State__Schedule *sch) {
    size_t n = 0;
    for (size_t i = 0; i < sch->n_backfills; i++)
        n += !is_generated(sch->backfills[i]);
    return n;
}

int backfill_run(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    cleanup(times_done) struct times times = {0};
    size_t waiting = start_count(sch).waiting_manual, left = backfill_count_unfinished(sch);
    size_t room = waiting < LIMIT_SCHEDULE_BUFFER / 2 ? LIMIT_SCHEDULE_BUFFER / 2 - waiting : 0;
    struct err why = {0};
    if (!left || !room)
        return 0;
    int rc = times_new(s->st, s->ctx.space, s->ctx.zones, s->arena, &times, &why);
    if (rc == ERR_NO_MEMORY)
        return err_std(s->err, rc);
    if (rc < 0) { /* goes on when the generator can read the spec again */
        generator_give_up(s, &why);
        return 0;
    }
    for (size_t i = 0; i < sch->n_backfills; i++) {
        if (is_generated(sch->backfills[i]))
            continue;
        size_t before = sch->n_starts;
        backfill_add_starts(s, &times, sch->backfills[i], backfill_share_room(sch->backfills[i], room, left));
        ensure(sch->n_starts - before <= room);
        room -= sch->n_starts - before;
        left--;
    }
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

bool backfill_can_go_on(const State__Schedule *sch) {
    return backfill_count_unfinished(sch) && cstr_is_empty(sch->invalid_error) &&
           start_count(sch).waiting_manual < LIMIT_SCHEDULE_BUFFER / 2;
}

int schedule_cancel_backfill(struct step *s, int64_t backfill_id) {
    State__Schedule *sch = s->st->schedule;
    size_t at = 0;
    while (at < sch->n_backfills && sch->backfills[at]->id != backfill_id)
        at++;
    if (at == sch->n_backfills)
        return err_set(s->err, ERR_NOT_FOUND, "the schedule has no backfill %lld under way",
                       (long long)backfill_id);
    pb_remove_message(&sch->n_backfills, sch->backfills, at);
    for (size_t i = sch->n_starts; i-- > 0;) {
        State__Start *start = sch->starts[i];
        if (start->backfill_id == backfill_id && start_is_waiting(start))
            start_drop(s, start, LEDGER_FATE_CANCELED, "its backfill was cancelled");
    }
    sch->active_us = s->now.us;
    return 0;
}
