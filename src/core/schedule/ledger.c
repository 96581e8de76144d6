/* The ledger: the fate of every considered time.
 *
 * Rows leave the step as packed bytes (step.h). The row of a start is written again, under its old id,
 * whenever its fate changes; everything that it says stands in the start. Consecutive times of the spec that
 * came to nothing for the same reason share a row: its first time, its last time, and a count. The state
 * keeps that row (ledger_tail) as long as the next time may join it: until a time has another fate, or the
 * schedule changes. A row gets its id when it is first written, or when its start goes out as a letter, so
 * ids count rows. No decision depends on the ledger. */
#include "core/schedule/schedule_int.h"
#include "wire/guard.h"

#define DAY_US (INT64_C(86400) * USEC_PER_SEC)

void ledger_close_tail(State__Schedule *sch) {
    bool failed = false;
    pb_set_bytes(&sch->ledger_tail, (struct str){0}, &failed); /* frees, and cannot fail */
}

void ledger_number(State__Schedule *sch, State__Start *start) {
    if (start->ledger_id)
        return;
    start->ledger_id = ++sch->next_ledger_id;
    if (!start->is_manual)
        ledger_close_tail(sch);
}

/* Most rows of a step are new and their ids only ascend or only descend, so the range check avoids a search. */
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

/* Keeps the row of a trigger with its request, so that a repeated request gets the same answer. */
static void tell_request(struct step *s, int64_t ledger_id, struct str bytes) {
    State__Schedule *sch = s->st->schedule;
    for (size_t i = 0; i < sch->n_requests; i++) {
        State__ScheduleRequest *r = sch->requests[i];
        if (r->ledger_id == ledger_id)
            pb_set_bytes(&r->ledger_entry, bytes, &s->failed);
    }
}

/* Packs the entry into its row, new or old. NULL without memory. */
static struct ledger_row *ledger_put_row(struct step *s, int64_t nominal_s, const Rondo__LedgerEntry *e) {
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

struct ledger_row *ledger_start(struct step *s, State__Start *start, Rondo__LedgerFate fate,
                                const char *reason) {
    ledger_number(s->st->schedule, start);
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
    struct ledger_row *row = ledger_put_row(s, start->nominal_s, &e);
    if (row)
        row->is_open = fate == LEDGER_FATE_WAITING || (fate == LEDGER_FATE_STARTED && !start->close_us);
    if (row && start->start_us)
        note_start(row, start, s->now);
    return row;
}

/* times that share a row */

/* The row that these times may join. NULL when there is none, or without memory. */
static Rondo__LedgerEntry *find_tail(struct step *s, const struct ledger_idle *idle) {
    const State__Schedule *sch = s->st->schedule;
    ProtobufCMessage *m;
    if (!sch->ledger_tail.len)
        return NULL;
    if (wire_decode(&rondo__ledger_entry__descriptor, pb_bytes(&sch->ledger_tail), s->arena, &m, NULL) < 0) {
        s->failed = true;
        return NULL;
    }
    Rondo__LedgerEntry *e = (Rondo__LedgerEntry *)m;
    bool is_same = e->fate == idle->fate && cstr_eq(e->reason, idle->reason) &&
                   e->overlap_policy == schedule_policy(sch) && e->id >= sch->first_ledger_id;
    return is_same ? e : NULL;
}

static void write_tail(struct step *s, const Rondo__LedgerEntry *e, int64_t new_times) {
    const struct ledger_row *old = find_row(s, e->id);
    int64_t counted = old ? old->new_times : 0;
    struct ledger_row *row = ledger_put_row(s, e->nominal_time->seconds, e);
    if (!row)
        return;
    row->new_times = counted + new_times;
    pb_set_bytes(&s->st->schedule->ledger_tail, row->bytes, &s->failed);
}

static void write_idle(struct step *s, const struct ledger_idle *idle) {
    Google__Protobuf__Timestamp nominal = pb_timestamp(idle->first.nominal_s * USEC_PER_SEC),
                                scheduled = pb_timestamp(idle->first.actual_us),
                                considered = pb_timestamp(s->now.us),
                                last = pb_timestamp(idle->last_nominal_s * USEC_PER_SEC);
    char no_id[] = "";
    Rondo__LedgerEntry fresh = RONDO__LEDGER_ENTRY__INIT, *e = find_tail(s, idle);
    if (e) {
        e->workflow_id = no_id; /* each time would have had its own */
    } else {
        e = &fresh;
        e->id = ++s->st->schedule->next_ledger_id;
        e->nominal_time = &nominal;
        e->scheduled_time = &scheduled;
        e->fate = idle->fate;
        e->reason = (char *)(uintptr_t)idle->reason;
        e->origin = LEDGER_ORIGIN_SPEC;
        e->overlap_policy = schedule_policy(s->st->schedule);
        e->considered_time = &considered;
        e->workflow_id = (char *)(uintptr_t)(idle->workflow_id ? idle->workflow_id : "");
    }
    e->count += idle->count;
    e->last_nominal_time = e->count > 1 ? &last : NULL;
    write_tail(s, e, idle->count);
}

void ledger_idle_flush(struct step *s, struct ledger_idle *idle) {
    if (idle->count && !s->failed) {
        start_number_before(s->st->schedule, INT64_MAX);
        write_idle(s, idle);
    }
    idle->count = 0;
}

void ledger_idle_add(struct step *s, struct ledger_idle *idle, Rondo__LedgerFate fate, const char *reason,
                     struct cal_time at) {
    if (idle->count && (idle->fate != fate || !cstr_eq(idle->reason, reason)))
        ledger_idle_flush(s, idle);
    idle->fate = fate;
    idle->reason = reason;
    if (!idle->count)
        idle->first = at;
    idle->last_nominal_s = at.nominal_s;
    idle->count++;
}

void ledger_drop(struct step *s, State__Start *start, Rondo__LedgerFate fate, const char *reason) {
    if (start->ledger_id || start->overlap_policy != (int32_t)schedule_policy(s->st->schedule)) {
        ledger_start(s, start, fate, reason);
        return;
    }
    struct ledger_idle idle = {.fate = fate,
                               .reason = reason,
                               .count = 1,
                               .first = {.nominal_s = start->nominal_s, .actual_us = start->actual_us},
                               .last_nominal_s = start->nominal_s,
                               .workflow_id = start->workflow_id};
    start_number_before(s->st->schedule, start->id);
    write_idle(s, &idle);
}

/* A row that is about to be removed takes no more times. */
static void close_old_tail(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    ProtobufCMessage *m;
    if (!sch->ledger_tail.len)
        return;
    if (wire_decode(&rondo__ledger_entry__descriptor, pb_bytes(&sch->ledger_tail), s->arena, &m, NULL) < 0) {
        s->failed = true;
        return;
    }
    const Rondo__LedgerEntry *e = (const Rondo__LedgerEntry *)m;
    const Google__Protobuf__Timestamp *last = e->last_nominal_time ? e->last_nominal_time : e->nominal_time;
    if (pb_timestamp_us(last) < s->ledger_before_us)
        ledger_close_tail(sch);
}

/* By count whenever some have gathered, by age once a day. Rows of open actions stay (store.h). */
void ledger_sweep(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    int64_t first = sch->next_ledger_id - step_limit(s, SETTABLE_LEDGER_ROWS) + 1;
    if (first - MAX(sch->first_ledger_id, 1) >= LIMIT_LEDGER_SLACK)
        s->ledger_first_id = sch->first_ledger_id = first;
    if (!s->ledger_count || s->now.us - sch->ledger_swept_us < DAY_US)
        return;
    if (sch->ledger_swept_us) {
        s->ledger_before_us =
            s->now.us - MIN(step_limit(s, SETTABLE_LEDGER_DAYS), LIMIT_DURATION_DAYS) * DAY_US;
        close_old_tail(s);
    }
    sch->ledger_swept_us = s->now.us;
}
