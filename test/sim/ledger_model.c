/* The ledger against the model: each nominal time once, none left out, the policy kept, nothing forgotten. */
#include "ledger_model.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/limits.h"
#include "core/pb.h"
#include "family.h"
#include "names.h"
#include "program.h"
#include "world.h"

#define LEDGER_DAYS INT64_C(90) /* that rows are kept */
#define LATE_US (3 * USEC_PER_SEC) /* when nothing disturbs the server */

bool spec_has(const struct spec_model *spec, int64_t at_s) {
    int64_t second = at_s % 60;
    bool in_interval = spec->every_s && at_s % spec->every_s == spec->phase_s;
    bool in_calendar =
        spec->step_s && second >= spec->first_s && (second - spec->first_s) % spec->step_s == 0;
    return in_interval || in_calendar;
}

int64_t spec_count(const struct spec_model *spec, int64_t from_s, int64_t until_s) {
    int64_t count = 0;
    for (int64_t at_s = from_s; at_s <= until_s; at_s++)
        count += spec_has(spec, at_s);
    return count;
}

/* eras */

void ledger_begin_era(struct ledger_model *l, const struct spec_model *spec, int64_t sent_us) {
    ensure(l->era_count < ERAS_MAX);
    l->eras[l->era_count++] = (struct era_model){.spec = *spec, .sent_us = sent_us, .acked_us = INT64_MAX};
}

void ledger_era_acked(struct ledger_model *l, int64_t acked_us) {
    struct era_model *e = &l->eras[l->era_count - 1];
    e->acked_us = l->era_count > 1 ? acked_us : 0;
}

static const struct era_model *sure_era(const struct ledger_model *l, const struct row_model *r) {
    for (size_t i = 0; i < l->era_count; i++) {
        bool is_last = i + 1 == l->era_count;
        if (r->considered_us > l->eras[i].acked_us && (is_last || r->considered_us < l->eras[i + 1].sent_us))
            return &l->eras[i];
    }
    return NULL;
}

static bool is_time(const struct ledger_model *l, const struct row_model *r) {
    const struct era_model *sure = sure_era(l, r);
    for (size_t i = 0; i < l->era_count; i++)
        if ((!sure || sure == &l->eras[i]) && spec_has(&l->eras[i].spec, r->nominal_s) &&
            spec_count(&l->eras[i].spec, r->nominal_s, r->last_s) == r->count)
            return true;
    return false;
}

/* one row */

/* A fate that is decided stays what it is. */
static void check_fate_kept(struct world *w, const struct ledger_model *l, int64_t id,
                            const struct row_model *old, const struct row_model *new) {
    bool is_same =
        old->nominal_s == new->nominal_s && old->last_s == new->last_s && old->origin == new->origin;
    bool may_change = old->fate == LEDGER_FATE_WAITING;
    if (!is_same || (!may_change && old->fate != new->fate) ||
        (old->run_id[0] && !streq(old->run_id, new->run_id)))
        world_fail(w, "fate_kept", "%s row %" PRId64 " was %d of %" PRId64 ", now %d of %" PRId64,
                   l->schedule_id, id, old->fate, old->nominal_s, new->fate, new->nominal_s);
}

/* The row's own times agree with the jitter and the window that were asked for. */
static void check_row_times(struct world *w, const struct ledger_model *l, const Rondo__LedgerEntry *e) {
    int64_t nominal_us = pb_timestamp_us(e->nominal_time), scheduled_us = pb_timestamp_us(e->scheduled_time),
            late_us = pb_timestamp_us(e->considered_time) - scheduled_us;
    if (e->origin != LEDGER_ORIGIN_SPEC)
        return;
    if (scheduled_us < nominal_us || scheduled_us > nominal_us + l->jitter_us ||
        (late_us < 0 && e->fate != LEDGER_FATE_UPDATED))
        world_fail(w, "jitter", "%s row %" PRId64 " nominal=%" PRId64 " scheduled=%" PRId64 " late=%" PRId64,
                   l->schedule_id, e->id, nominal_us, scheduled_us, late_us);
    if ((e->fate == LEDGER_FATE_CATCHUP_MISSED) && late_us <= l->catchup_us)
        world_fail(w, "catchup_window", "%s row %" PRId64 " is missed, but late by %" PRId64 " only",
                   l->schedule_id, e->id, late_us);
    if (e->fate == LEDGER_FATE_STARTED && late_us > l->catchup_us)
        world_fail(w, "catchup_window", "%s row %" PRId64 " is started, but late by %" PRId64, l->schedule_id,
                   e->id, late_us);
}

/* What a row says was started, was started: from now on its run may not be missing. */
static void expect_run(struct world *w, const struct ledger_model *l, const Rondo__LedgerEntry *e) {
    char space[MODEL_ID_MAX];
    snprintf(space, sizeof(space), "%.*s", (int)strcspn(l->schedule_id, "/"), l->schedule_id);
    struct run_model *run = model_meet_in(&w->model, space, e->run_id, e->workflow_id);
    run->start_acked = true;
    run->audit_wanted = true;
}

static struct row_model *row_at(struct ledger_model *l, int64_t id) {
    while ((int64_t)l->row_count < id) {
        l->rows = model_grow(l->rows, l->row_count, &l->row_cap, sizeof(*l->rows));
        l->rows[l->row_count++] = (struct row_model){0};
    }
    return &l->rows[id - 1];
}

static void see_row(struct world *w, struct ledger_model *l, const Rondo__LedgerEntry *e) {
    struct row_model now = {
        .is_known = true,
        .nominal_s = e->nominal_time->seconds,
        .last_s = e->last_nominal_time ? e->last_nominal_time->seconds : e->nominal_time->seconds,
        .count = MAX(e->count, 1),
        .backfill_id = e->backfill_id,
        .considered_us = pb_timestamp_us(e->considered_time),
        .fate = (int)e->fate,
        .origin = (int)e->origin,
        .policy = (int)e->overlap_policy,
        .is_running = e->fate == LEDGER_FATE_STARTED && e->status == WORKFLOW_EXECUTION_STATUS_RUNNING,
    };
    snprintf(now.run_id, sizeof(now.run_id), "%s", e->run_id);
    struct row_model *row = row_at(l, e->id);
    if (row->is_known)
        check_fate_kept(w, l, e->id, row, &now);
    check_row_times(w, l, e);
    w->tally.actions += now.fate == LEDGER_FATE_STARTED && row->fate != LEDGER_FATE_STARTED;
    if (e->fate == LEDGER_FATE_STARTED)
        expect_run(w, l, e);
    *row = now;
}

/* all of them */

static bool is_hole_between(const struct ledger_model *l, int64_t id, int64_t next_id) {
    while (++id < next_id)
        if (!l->rows[id - 1].is_known)
            return true;
    return false;
}

/* Each nominal time once. What an update took back may come again with the next one. */
static void check_nominal_once(struct world *w, const struct ledger_model *l, int64_t id) {
    const struct row_model *r = &l->rows[id - 1];
    for (int64_t i = id - 1; i > 0; i--) {
        const struct row_model *old = &l->rows[i - 1];
        bool is_same = old->is_known && old->origin == LEDGER_ORIGIN_SPEC &&
                       old->fate != LEDGER_FATE_UPDATED && old->nominal_s <= r->last_s &&
                       old->last_s >= r->nominal_s;
        if (is_same)
            world_fail(w, "nominal_time_once", "%s has %" PRId64 " in row %" PRId64 " and in row %" PRId64,
                       l->schedule_id, r->nominal_s, i, id);
    }
}

/* While one spec holds they come in their order, and none is left out. */
static void check_no_time_lost(struct world *w, const struct ledger_model *l, int64_t prev_id, int64_t id) {
    const struct row_model *r = &l->rows[id - 1], *prev = prev_id ? &l->rows[prev_id - 1] : NULL;
    if (!is_time(l, r))
        world_fail(w, "nominal_time", "%s row %" PRId64 " has %" PRId64 "..%" PRId64 ", %" PRId64 " times",
                   l->schedule_id, id, r->nominal_s, r->last_s, r->count);
    const struct era_model *era = sure_era(l, r);
    if (!prev || !era || era != sure_era(l, prev))
        return;
    if (r->nominal_s <= prev->last_s)
        world_fail(w, "nominal_time_once", "%s row %" PRId64 " has %" PRId64 ", %" PRId64 " was before",
                   l->schedule_id, id, r->nominal_s, prev->last_s);
    if (!is_hole_between(l, prev_id, id) && spec_count(&era->spec, prev->last_s + 1, r->nominal_s - 1) > 0)
        world_fail(w, "no_time_lost", "%s has no row between %" PRId64 " and %" PRId64, l->schedule_id,
                   prev->last_s, r->nominal_s);
}

static void check_backfill_once(struct world *w, const struct ledger_model *l, int64_t id) {
    const struct row_model *r = &l->rows[id - 1];
    for (int64_t i = id - 1; i > 0; i--) {
        const struct row_model *prev = &l->rows[i - 1];
        if (!prev->is_known || prev->origin != LEDGER_ORIGIN_BACKFILL || prev->backfill_id != r->backfill_id)
            continue;
        if (prev->nominal_s >= r->nominal_s)
            world_fail(w, "backfill_once", "%s row %" PRId64 " has %" PRId64 " again", l->schedule_id, id,
                       r->nominal_s);
        return;
    }
}

static void check_policies(struct world *w, const struct ledger_model *l) {
    int64_t running = 0, taken = 0;
    bool is_paused = l->pause_acked_us && !world_clock_jumped(w);
    for (size_t i = 0; i < l->row_count; i++) {
        const struct row_model *r = &l->rows[i];
        running += r->is_running && r->policy != SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
        bool is_automatic = r->is_known && r->origin == LEDGER_ORIGIN_SPEC;
        taken += is_automatic && (r->fate == LEDGER_FATE_STARTED || r->fate == LEDGER_FATE_START_FAILED);
        if (is_automatic && is_paused && r->considered_us > l->pause_acked_us &&
            r->fate != LEDGER_FATE_PAUSED && r->fate != LEDGER_FATE_EXHAUSTED)
            world_fail(w, "pause_kept", "%s row %zu has fate %d, the schedule is paused", l->schedule_id,
                       i + 1, r->fate);
    }
    if (running > 1)
        world_fail(w, "overlap_policy", "%s has %" PRId64 " runs at a time", l->schedule_id, running);
    if (l->action_limit && taken > l->action_limit)
        world_fail(w, "action_limit", "%s took %" PRId64 " of %" PRId64 " actions", l->schedule_id, taken,
                   l->action_limit);
}

void ledger_see(struct world *w, struct ledger_model *l, const Rondo__ListScheduleLedgerResponse *m,
                int64_t sent_wall_us) {
    size_t known = 0, seen_again = 0;
    l->was_trimmed |= m->next_page_token.len > 0 || m->n_entries >= LIMIT_LEDGER_ROWS ||
                      world_clock_span_us(w) > LEDGER_DAYS * 24 * 3600 * USEC_PER_SEC;
    for (size_t i = 0; i < l->row_count; i++)
        known += l->rows[i].is_known;
    for (size_t i = 0; i < m->n_entries; i++)
        seen_again += m->entries[i]->id <= (int64_t)l->row_count && l->rows[m->entries[i]->id - 1].is_known;
    if (!l->was_trimmed && seen_again < known)
        world_fail(w, "row_kept", "%s showed %zu rows, and now only %zu of them", l->schedule_id, known,
                   seen_again);
    for (size_t i = 0; i < l->row_count; i++)
        l->rows[i].is_running = false; /* those that are not shown any more are not known to run */
    for (size_t i = m->n_entries; i-- > 0;)
        see_row(w, l, m->entries[i]);
    int64_t prev_id = 0;
    for (int64_t id = 1; id <= (int64_t)l->row_count; id++) {
        const struct row_model *r = &l->rows[id - 1];
        if (r->is_known && r->origin == LEDGER_ORIGIN_SPEC) {
            check_nominal_once(w, l, id);
            check_no_time_lost(w, l, prev_id, id);
            prev_id = id;
        } else if (r->is_known && r->origin == LEDGER_ORIGIN_BACKFILL) {
            check_backfill_once(w, l, id);
        }
    }
    check_policies(w, l);
    l->read_wall_us = sent_wall_us;
}

bool ledger_has_holes(const struct ledger_model *l) {
    for (size_t i = 0; i < l->row_count; i++)
        if (!l->rows[i].is_known)
            return !l->was_trimmed;
    return false;
}

uint64_t ledger_digest(const struct ledger_model *l) {
    uint64_t digest = l->row_count;
    for (size_t i = 0; i < l->row_count; i++)
        digest = digest * UINT64_C(31) + (uint64_t)l->rows[i].fate;
    return digest;
}

/* the end */

static void check_counters(struct world *w, const struct ledger_model *l,
                           const Schedule__ScheduleInfo *info) {
    int64_t started = 0, missed = 0, skipped = 0, failed = 0;
    for (size_t i = 0; i < l->row_count; i++) {
        const struct row_model *r = &l->rows[i];
        started += r->fate == LEDGER_FATE_STARTED;
        skipped += r->fate == LEDGER_FATE_OVERLAP_SKIPPED;
        failed += r->fate == LEDGER_FATE_START_FAILED;
        missed += r->fate == LEDGER_FATE_CATCHUP_MISSED ? r->count : 0;
    }
    if (started != info->action_count || missed != info->missed_catchup_window ||
        skipped != info->overlap_skipped || failed != info->start_failed)
        world_fail(w, "counters_agree",
                   "%s describes %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ", the ledger has %" PRId64
                   " %" PRId64 " %" PRId64 " %" PRId64 " (started, missed, skipped, failed)",
                   l->schedule_id, info->action_count, info->missed_catchup_window, info->overlap_skipped,
                   info->start_failed, started, missed, skipped, failed);
}

void ledger_check_final(struct world *w, const struct ledger_model *l, const Schedule__ScheduleInfo *info) {
    const struct spec_model *first = &l->eras[0].spec, *last = &l->eras[l->era_count - 1].spec;
    int64_t first_s = 0, last_s = pb_timestamp_us(info->create_time) / USEC_PER_SEC;
    bool is_exhausted = false;
    for (size_t i = 0; i < l->row_count; i++) {
        const struct row_model *r = &l->rows[i];
        if (!r->is_known || r->origin != LEDGER_ORIGIN_SPEC)
            continue;
        is_exhausted |= r->fate == LEDGER_FATE_EXHAUSTED;
        first_s = first_s ? first_s : r->nominal_s;
        last_s = MAX(last_s, r->last_s);
    }
    int64_t begin_s = pb_timestamp_us(info->create_time) / USEC_PER_SEC + 1;
    if (first_s && l->era_count == 1 && !l->was_trimmed && spec_count(first, begin_s, first_s - 1) > 0)
        world_fail(w, "no_time_lost", "%s was created at %" PRId64 ", but begins with %" PRId64,
                   l->schedule_id, begin_s, first_s);
    int64_t due_s = (w->now.wall.us - l->jitter_us - LATE_US) / USEC_PER_SEC;
    if (l->era_count > 1)
        last_s = MAX(last_s, l->eras[l->era_count - 1].acked_us / USEC_PER_SEC);
    if (!is_exhausted && spec_count(last, last_s + 1, due_s) > 0)
        world_fail(w, "no_time_lost", "%s has no row after %" PRId64 ", it is %" PRId64, l->schedule_id,
                   last_s, due_s);
    if (!l->was_trimmed)
        check_counters(w, l, info);
}

static bool has_run(const struct ledger_model *l, const char *run_id) {
    for (size_t i = 0; i < l->row_count; i++)
        if (streq(l->rows[i].run_id, run_id))
            return true;
    return false;
}

/* A row that says RUNNING was right about its chain when it was last read. */
static void check_action_end_told(struct world *w, const struct ledger_model *l) {
    for (size_t i = 0; i < l->row_count && l->is_final; i++) {
        const struct row_model *r = &l->rows[i];
        const struct run_model *run = r->is_running ? model_find(&w->model, r->run_id) : NULL;
        const struct run_model *last = run ? family_last_of_chain(run) : NULL;
        bool is_known = last && last->close_type && !last->ended_by_reset && !last->is_deleted;
        if (is_known && last->close_wall_us < l->read_wall_us - LATE_US)
            world_fail(w, "action_end_told",
                       "%s row %zu says that run=%s goes on, it closed %" PRId64 " us before", l->schedule_id,
                       i + 1, last->run_id, l->read_wall_us - last->close_wall_us);
    }
}

void ledger_check_runs(struct world *w, const struct ledger_model *l) {
    check_action_end_told(w, l);
    size_t n = strlen(l->schedule_id);
    for (size_t i = 0; i < w->model.run_count && !l->was_trimmed; i++) {
        const struct run_model *run = w->model.in_order[i];
        bool is_action = strncmp(run->workflow_id, l->schedule_id, n) == 0 && run->workflow_id[n] == '-' &&
                         program_depth(run->workflow_id) == 0;
        if (!is_action || run->before || run->is_copy || run->is_deleted || run->event_count == 0 ||
            has_run(l, run->run_id))
            continue;
        if (l->delete_acked_wall_us && run->start_wall_us > l->delete_acked_wall_us)
            world_fail(w, "deleted_starts_nothing", "%s was deleted, then started run=%s", l->schedule_id,
                       run->run_id);
        if (l->is_final && run->start_wall_us < l->read_wall_us)
            world_fail(w, "start_has_row", "%s started run=%s, but has no row for it", l->schedule_id,
                       run->run_id);
    }
}
