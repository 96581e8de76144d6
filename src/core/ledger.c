/* The ledger: one row for every time that was considered, with what became of it.
 *
 * Rows leave the step as packed bytes (step.h). The row of a start is written again, under its old id,
 * whenever its fate changes; everything that it says stands in the start. Times to which nothing happened
 * share a row when they come in numbers. Nobody decides anything by the ledger. */
#include "core/schedule_int.h"

#define DAY_US (INT64_C(86400) * USEC_PER_SEC)

int64_t ledger_next_id(State__Schedule *sch) {
    return ++sch->next_ledger_id;
}

/* Most rows of a step are new, and their ids only go up or only go down: those are not looked for. */
static struct ledger_row *find_row(struct step *s, int64_t id) {
    bool is_between = s->ledger_count && s->ledger_low_id <= id && id <= s->ledger_high_id;
    for (size_t i = s->ledger_count; is_between && i-- > 0;)
        if (s->ledger[i].id == id)
            return &s->ledger[i];
    return NULL;
}

static struct ledger_row *new_row(struct step *s, int64_t id) {
    if (s->ledger_count == s->ledger_cap) {
        size_t cap = s->ledger_cap ? s->ledger_cap * 2 : 4;
        struct ledger_row *bigger = arena_array(s->arena, struct ledger_row, cap);
        if (!bigger) {
            s->failed = true;
            return NULL;
        }
        if (s->ledger_count)
            memcpy(bigger, s->ledger, s->ledger_count * sizeof(*bigger));
        s->ledger = bigger;
        s->ledger_cap = cap;
    }
    s->ledger_low_id = s->ledger_count ? MIN(s->ledger_low_id, id) : id;
    s->ledger_high_id = s->ledger_count ? MAX(s->ledger_high_id, id) : id;
    return &s->ledger[s->ledger_count++];
}

/* What a trigger came to stays with its request, for whoever asks again. */
static void tell_request(struct step *s, int64_t ledger_id, struct str bytes) {
    State__Schedule *sch = s->st->schedule;
    for (size_t i = 0; i < sch->n_requests; i++) {
        State__ScheduleRequest *r = sch->requests[i];
        if (r->ledger_id == ledger_id)
            pb_set_bytes(&r->ledger_entry, bytes, &s->failed);
    }
}

/* NULL without memory. */
static struct ledger_row *put(struct step *s, int64_t nominal_s, const Rondo__LedgerEntry *e) {
    size_t size = rondo__ledger_entry__get_packed_size(e);
    uint8_t *packed = arena_alloc(s->arena, size);
    struct ledger_row *row = find_row(s, e->id);
    if (!row)
        row = new_row(s, e->id);
    if (!packed || !row) {
        s->failed = true;
        return NULL;
    }
    rondo__ledger_entry__pack(e, packed);
    *row = (struct ledger_row){.id = e->id,
                               .nominal_s = nominal_s,
                               .fate = (int32_t)e->fate,
                               .bytes = str_bytes(packed, size),
                               .last_nominal_s = e->last_nominal_time ? e->last_nominal_time->seconds : 0,
                               .new_times = e->count,
                               .lateness_us = CLOCK_NEVER};
    tell_request(s, e->id, row->bytes);
    return row;
}

static Rondo__LedgerOrigin origin_of(const State__Start *start) {
    if (!start->is_manual)
        return LEDGER_ORIGIN_SPEC;
    return start->backfill_id ? LEDGER_ORIGIN_BACKFILL : LEDGER_ORIGIN_TRIGGER;
}

/* The row of a run is written when it starts and again when it closes; only the first time is news. */
static void note_start(struct ledger_row *row, const State__Start *start, struct wall now) {
    if (start->start_us != now.us)
        row->new_times = 0;
    else if (!start->is_manual)
        row->lateness_us = start->start_us - start->actual_us;
}

void ledger_start(struct step *s, const State__Start *start, Rondo__LedgerFate fate, const char *reason) {
    Google__Protobuf__Timestamp nominal = pb_timestamp(start->nominal_s * USEC_PER_SEC),
                                scheduled = pb_timestamp(start->actual_us),
                                considered = pb_timestamp(start->considered_us),
                                began = pb_timestamp(start->start_us), closed = pb_timestamp(start->close_us);
    Google__Protobuf__Duration lateness = pb_duration(start->start_us - start->actual_us);
    Rondo__LedgerEntry e = RONDO__LEDGER_ENTRY__INIT;
    e.id = start->ledger_id;
    e.nominal_time = &nominal;
    e.scheduled_time = &scheduled;
    e.fate = fate;
    e.reason = (char *)(uintptr_t)(reason ? reason : "");
    e.origin = origin_of(start);
    e.backfill_id = start->backfill_id;
    e.overlap_policy = (E__ScheduleOverlapPolicy)start->overlap_policy;
    e.considered_time = &considered;
    e.workflow_id = start->workflow_id;
    e.run_id = start->run_id;
    if (start->start_us) {
        e.start_time = &began;
        e.lateness = &lateness;
        e.status =
            start->close_us ? (E__WorkflowExecutionStatus)start->status : WORKFLOW_EXECUTION_STATUS_RUNNING;
    }
    e.close_time = start->close_us ? &closed : NULL;
    e.count = 1;
    struct ledger_row *row = put(s, start->nominal_s, &e);
    if (row && start->start_us)
        note_start(row, start, s->now);
}

static void write_idle(struct step *s, const struct ledger_idle *idle, struct cal_time at, int64_t count) {
    Google__Protobuf__Timestamp nominal = pb_timestamp(at.nominal_s * USEC_PER_SEC),
                                scheduled = pb_timestamp(at.actual_us), considered = pb_timestamp(s->now.us),
                                last = pb_timestamp(idle->last_nominal_s * USEC_PER_SEC);
    Rondo__LedgerEntry e = RONDO__LEDGER_ENTRY__INIT;
    e.id = ledger_next_id(s->st->schedule);
    e.nominal_time = &nominal;
    e.scheduled_time = &scheduled;
    e.fate = idle->fate;
    e.reason = (char *)(uintptr_t)idle->reason;
    e.origin = LEDGER_ORIGIN_SPEC;
    e.overlap_policy = schedule_policy(s->st->schedule);
    e.considered_time = &considered;
    e.count = count;
    e.last_nominal_time = count > 1 ? &last : NULL;
    (void)put(s, at.nominal_s, &e); /* without memory the step has failed */
}

void ledger_idle_flush(struct step *s, struct ledger_idle *idle) {
    if (idle->count > LIMIT_LEDGER_FEW)
        write_idle(s, idle, idle->few[0], idle->count);
    for (int64_t i = 0; i < idle->count && idle->count <= LIMIT_LEDGER_FEW; i++)
        write_idle(s, idle, idle->few[i], 1);
    idle->count = 0;
}

void ledger_idle_add(struct step *s, struct ledger_idle *idle, Rondo__LedgerFate fate, const char *reason,
                     struct cal_time at) {
    if (idle->count && (idle->fate != fate || !streq(idle->reason, reason)))
        ledger_idle_flush(s, idle);
    idle->fate = fate;
    idle->reason = reason;
    if (idle->count < LIMIT_LEDGER_FEW)
        idle->few[idle->count] = at;
    idle->last_nominal_s = at.nominal_s;
    idle->count++;
}

/* By count whenever some have gathered, by age once a day. */
void ledger_sweep(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    int64_t first = sch->next_ledger_id - step_limit(s, SETTABLE_LEDGER_ROWS) + 1;
    if (first - MAX(sch->first_ledger_id, 1) >= LIMIT_LEDGER_SLACK)
        s->ledger_first_id = sch->first_ledger_id = first;
    if (!s->ledger_count || s->now.us - sch->ledger_swept_us < DAY_US)
        return;
    if (sch->ledger_swept_us)
        s->ledger_before_us =
            s->now.us - MIN(step_limit(s, SETTABLE_LEDGER_DAYS), LIMIT_DURATION_DAYS) * DAY_US;
    sch->ledger_swept_us = s->now.us;
}
