/* The ledger against the model: each nominal time once, none left out, the policy kept, nothing forgotten. */
#include "ledger_model.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/step/limits.h"
#include "core/step/pb.h"
#include "family.h"
#include "names.h"
#include "program.h"
#include "world.h"

#define ACTIVE_US                                                                                            \
    (10 * USEC_PER_SEC) /* how late an action may be that is done only while the server is up                \
                         */
#define LEDGER_DAYS INT64_C(90) /* that rows are kept */
#define TROUBLE_US (150 * USEC_PER_SEC) /* when the server was down meanwhile, or its disk stood still */
#define LATE_US (3 * USEC_PER_SEC) /* when nothing disturbs the server */

/* eras */

void ledger_begin_era(struct ledger_model *l, const struct spec_model *spec, int64_t sent_us) {
    ensure(l->era_count < ERAS_MAX);
    l->eras[l->era_count++] = (struct era_model){.spec = *spec, .sent_us = sent_us, .acked_us = INT64_MAX};
}

void ledger_era_acked(struct ledger_model *l, int64_t acked_us) {
    struct era_model *e = &l->eras[l->era_count - 1];
    e->acked_us = l->era_count > 1 ? acked_us : 0;
}

const char *ledger_bare_id(const struct ledger_model *l) {
    return strchr(l->schedule_id, '/') + 1;
}

void ledger_begin_holidays(struct ledger_model *l, const struct holidays_model *h, int64_t sent_us) {
    ensure(l->holiday_count < HOLIDAY_ERAS_MAX);
    l->holidays[l->holiday_count++] =
        (struct holiday_era){.holidays = *h, .sent_us = sent_us, .acked_us = sent_us ? INT64_MAX : 0};
}

void ledger_begin_pause(struct ledger_model *l, int64_t from_us, int64_t to_us) {
    ensure(l->pause_count < PAUSES_MAX);
    l->pauses[l->pause_count++] = (struct pause_model){from_us, to_us};
}

void ledger_end_pauses(struct ledger_model *l, int64_t at_us) {
    for (size_t i = 0; i < l->pause_count; i++)
        l->pauses[i].to_us = MIN(l->pauses[i].to_us, at_us);
}

/* From when on every schedule has heard of it. */
static int64_t settled_us(const struct world *w, const struct holiday_era *e) {
    if (!e->sent_us || e->acked_us == INT64_MAX)
        return e->acked_us;
    return e->acked_us + (world_was_troubled(w, e->sent_us, e->acked_us + LATE_US) ? TROUBLE_US : LATE_US);
}

/* The holidays by which a row was surely judged: they held when the time came, and when it was looked at. */
static const struct holiday_era *sure_holidays(const struct world *w, const struct ledger_model *l,
                                               const struct row_model *r) {
    int64_t first_us = MIN(r->considered_us, r->nominal_s * USEC_PER_SEC);
    int64_t last_us = MAX(r->considered_us, r->last_s * USEC_PER_SEC);
    for (size_t i = 0; i < l->holiday_count; i++) {
        bool is_last = i + 1 == l->holiday_count;
        if (first_us > settled_us(w, &l->holidays[i]) && (is_last || last_us < l->holidays[i + 1].sent_us))
            return &l->holidays[i];
    }
    return NULL;
}

static const struct era_model *sure_era_at(const struct ledger_model *l, int64_t at_us) {
    for (size_t i = 0; i < l->era_count; i++) {
        bool is_last = i + 1 == l->era_count;
        if (at_us > l->eras[i].acked_us && (is_last || at_us < l->eras[i + 1].sent_us))
            return &l->eras[i];
    }
    return NULL;
}

static const struct era_model *sure_era(const struct ledger_model *l, const struct row_model *r) {
    return sure_era_at(l, r->considered_us);
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

/* A fate that is decided stays what it is. Later times may join a row of times that came to nothing. */
static void check_fate_kept(struct world *w, const struct ledger_model *l, int64_t id,
                            const struct row_model *old, const struct row_model *new) {
    bool has_grown = old->fate == new->fate && !new->run_id[0] &&
                     new->origin == LEDGER_ORIGIN_SPEC &&new->last_s > old->last_s &&new->count > old->count;
    bool is_same = old->nominal_s == new->nominal_s && old->origin == new->origin &&
                   ((old->last_s == new->last_s && old->count == new->count) || has_grown);
    bool may_change = old->fate == LEDGER_FATE_WAITING;
    if (!is_same || (!may_change && old->fate != new->fate) ||
        (old->run_id[0] && !cstr_eq(old->run_id, new->run_id)))
        world_fail(w, "fate_kept", "%s row %" PRId64 " was %d of %" PRId64 ", now %d of %" PRId64,
                   l->schedule_id, id, old->fate, old->nominal_s, new->fate, new->nominal_s);
}

/* The row's own times agree with the jitter and the window that were asked for. */
static void check_row_times(struct world *w, const struct ledger_model *l, const Rondo__LedgerEntry *e) {
    int64_t nominal_us = pb_timestamp_us(e->nominal_time), scheduled_us = pb_timestamp_us(e->scheduled_time),
            late_us = pb_timestamp_us(e->considered_time) - scheduled_us,
            window_us = l->only_while_active ? MIN(l->catchup_us, ACTIVE_US) : l->catchup_us;
    if (e->origin != LEDGER_ORIGIN_SPEC)
        return;
    if (scheduled_us < nominal_us || scheduled_us > nominal_us + l->jitter_us ||
        (late_us < 0 && e->fate != LEDGER_FATE_UPDATED))
        world_fail(w, "jitter", "%s row %" PRId64 " nominal=%" PRId64 " scheduled=%" PRId64 " late=%" PRId64,
                   l->schedule_id, e->id, nominal_us, scheduled_us, late_us);
    /* One that came before this process began is not made up for, if only those that run count: also while it
     * still reads its disk, when what it has read may act already. But an update may move the moment of one
     * that was still to come to where nobody was. */
    bool was_away = l->only_while_active && !world_clock_jumped(w) &&
                    world_was_reborn(w, scheduled_us, scheduled_us + late_us);
    bool may_be_away = l->only_while_active && world_clock_jumped(w);
    bool may_be_moved = !sure_era_at(l, scheduled_us + late_us);
    if (e->fate == LEDGER_FATE_CATCHUP_MISSED && late_us <= window_us && !was_away && !may_be_away)
        world_fail(w, "catchup_window", "%s row %" PRId64 " is missed, but late by %" PRId64 " only",
                   l->schedule_id, e->id, late_us);
    if (e->fate == LEDGER_FATE_STARTED && (late_us > window_us || (was_away && !may_be_moved)))
        world_fail(w, "catchup_window", "%s row %" PRId64 " is started, but late by %" PRId64 ", away=%d",
                   l->schedule_id, e->id, late_us, was_away);
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
        .scheduled_us = pb_timestamp_us(e->scheduled_time),
        .start_us = e->start_time ? pb_timestamp_us(e->start_time) : 0,
        .fate = (int)e->fate,
        .origin = (int)e->origin,
        .policy = (int)e->overlap_policy,
        .is_running = e->fate == LEDGER_FATE_STARTED && e->status == WORKFLOW_EXECUTION_STATUS_RUNNING,
    };
    now.has_waited = strstr(e->reason, "while it waited") != NULL;
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

/* The times that share a row are all excluded, or none of them is. */
static void check_exclusion_within(struct world *w, const struct ledger_model *l, int64_t id,
                                   const struct holiday_era *h) {
    const struct row_model *r = &l->rows[id - 1];
    const struct spec_model *spec = &sure_era(l, r)->spec;
    const struct holidays_model none = {0};
    if (r->count == 1 || (!h && spec->holidays))
        return;
    int64_t real = spec_count_real(spec, h ? &h->holidays : &none, r->nominal_s, r->last_s);
    if (real != (r->fate == LEDGER_FATE_EXCLUDED ? 0 : r->count))
        world_fail(w, "exclusion",
                   "%s row %" PRId64 " of %" PRId64 " times has fate %d, %" PRId64 " are not excluded",
                   l->schedule_id, id, r->count, r->fate, real);
}

/* A time is excluded if the spec says so, or a holiday calendar that it names, and not otherwise. */
static void check_exclusion(struct world *w, const struct ledger_model *l, int64_t id) {
    const struct row_model *r = &l->rows[id - 1];
    const struct era_model *era = sure_era(l, r);
    if (!era || r->fate == LEDGER_FATE_UPDATED)
        return;
    const struct holiday_era *h = sure_holidays(w, l, r);
    bool is_out = spec_excludes(&era->spec, r->nominal_s);
    bool is_holiday = h && spec_is_holiday(&era->spec, &h->holidays, r->nominal_s);
    bool is_known = h || !era->spec.holidays || is_out;
    if (is_known && (is_out || is_holiday) != (r->fate == LEDGER_FATE_EXCLUDED))
        world_fail(w, "exclusion", "%s row %" PRId64 " of %" PRId64 " has fate %d, excluded=%d holiday=%d",
                   l->schedule_id, id, r->nominal_s, r->fate, is_out, is_holiday);
    check_exclusion_within(w, l, id, h);
}

/* A schedule that nobody has paused acts; one whose pause has ended does, too. */
static void check_pause_ends(struct world *w, const struct ledger_model *l, int64_t id) {
    const struct row_model *r = &l->rows[id - 1];
    if (!l->is_strict || world_clock_jumped(w) || r->fate != LEDGER_FATE_PAUSED)
        return;
    for (size_t i = 0; i < l->pause_count; i++) {
        const struct pause_model *p = &l->pauses[i];
        bool was_paused = (r->considered_us >= p->from_us && r->considered_us <= p->to_us) ||
                          (r->scheduled_us >= p->from_us && r->scheduled_us <= p->to_us);
        /* What waited when it was paused is dropped then, long after it was considered. */
        if (was_paused || (r->has_waited && r->considered_us <= p->to_us))
            return;
    }
    world_fail(w, "pause_ends",
               "%s row %" PRId64 " considered at %" PRId64 " is PAUSED, but nobody paused it", l->schedule_id,
               id, r->considered_us);
}

/* A backfill takes the times of its range, and nothing once it was cancelled. */
static void check_backfill_row(struct world *w, const struct ledger_model *l, int64_t id) {
    const struct row_model *r = &l->rows[id - 1];
    bool is_asked = r->backfill_id >= 1 && r->backfill_id <= (int64_t)l->backfill_count;
    const struct backfill_model *b = is_asked ? &l->backfills[r->backfill_id - 1] : NULL;
    bool has_time = false;
    for (size_t i = 0; i < l->era_count; i++)
        has_time |=
            spec_has(&l->eras[i].spec, r->nominal_s) && !spec_excludes(&l->eras[i].spec, r->nominal_s);
    if (!b || r->nominal_s < b->from_s || r->nominal_s > b->to_s || !has_time)
        world_fail(w, "backfill_range", "%s row %" PRId64 " has %" PRId64 ", backfill %" PRId64,
                   l->schedule_id, id, r->nominal_s, r->backfill_id);
    if (!b)
        return;
    if (r->fate == LEDGER_FATE_CANCELED && !b->is_cancelled)
        world_fail(w, "backfill_cancelled", "%s row %" PRId64 " of backfill %" PRId64 " is cancelled",
                   l->schedule_id, id, r->backfill_id);
    bool is_sure = b->cancel_acked_us && !world_clock_jumped(w) &&
                   !world_was_troubled(w, b->cancel_acked_us - LATE_US, r->start_us);
    if (is_sure && r->fate == LEDGER_FATE_STARTED && r->start_us > b->cancel_acked_us + LATE_US)
        world_fail(w, "backfill_cancelled",
                   "%s row %" PRId64 " began after backfill %" PRId64 " was cancelled", l->schedule_id, id,
                   r->backfill_id);
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
    int64_t running = 0, taken = 0, triggers = 0;
    bool is_paused = l->pause_acked_us && !world_clock_jumped(w);
    for (size_t i = 0; i < l->row_count; i++) {
        const struct row_model *r = &l->rows[i];
        running += r->is_running && r->policy != SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
        triggers += r->is_known && r->origin == LEDGER_ORIGIN_TRIGGER;
        bool is_automatic = r->is_known && r->origin == LEDGER_ORIGIN_SPEC;
        taken += is_automatic && (r->fate == LEDGER_FATE_STARTED || r->fate == LEDGER_FATE_START_FAILED);
        /* The last time of a row was not considered before it came. */
        int64_t considered_us = MAX(r->considered_us, r->count > 1 ? r->last_s * USEC_PER_SEC : 0);
        if (is_automatic && is_paused && considered_us > l->pause_acked_us && r->fate != LEDGER_FATE_PAUSED &&
            r->fate != LEDGER_FATE_EXHAUSTED && r->fate != LEDGER_FATE_EXCLUDED)
            world_fail(w, "pause_kept", "%s row %zu has fate %d, the schedule is paused", l->schedule_id,
                       i + 1, r->fate);
    }
    if (triggers > l->trigger_count)
        world_fail(w, "trigger_once", "%s has %" PRId64 " rows for %" PRId64 " triggers", l->schedule_id,
                   triggers, l->trigger_count);
    if (running > l->max_running)
        world_fail(w, "overlap_policy", "%s has %" PRId64 " runs at a time", l->schedule_id, running);
    if (l->action_limit && taken > l->action_limit)
        world_fail(w, "action_limit", "%s took %" PRId64 " of %" PRId64 " actions", l->schedule_id, taken,
                   l->action_limit);
}

void ledger_see(struct world *w, struct ledger_model *l, const Rondo__ListScheduleLedgerResponse *m,
                int64_t sent_wall_us) {
    size_t known = 0, seen_again = 0;
    /* Not by their number: a start that is under way has its number already, and its row later. */
    int64_t newest_id = m->n_entries ? m->entries[0]->id : 0;
    l->was_trimmed |= m->next_page_token.len > 0 || newest_id >= LIMIT_LEDGER_ROWS ||
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
            check_exclusion(w, l, id);
            check_pause_ends(w, l, id);
            prev_id = id;
        } else if (r->is_known && r->origin == LEDGER_ORIGIN_BACKFILL) {
            check_backfill_once(w, l, id);
            check_backfill_row(w, l, id);
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
        digest =
            (digest * UINT64_C(31) + (uint64_t)l->rows[i].fate) * UINT64_C(31) + (uint64_t)l->rows[i].count;
    return digest;
}

/* the end */

static void check_counters(struct world *w, const struct ledger_model *l,
                           const Schedule__ScheduleInfo *info) {
    int64_t started = 0, missed = 0, skipped = 0, failed = 0;
    for (size_t i = 0; i < l->row_count; i++) {
        const struct row_model *r = &l->rows[i];
        started += r->fate == LEDGER_FATE_STARTED;
        skipped += r->fate == LEDGER_FATE_OVERLAP_SKIPPED ? r->count : 0;
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

/* A backfill has a row for each time of its range that is not excluded, and that jitter does not move past its
 * end. */
static void check_backfills_whole(struct world *w, const struct ledger_model *l) {
    for (size_t n = 0; n < l->backfill_count; n++) {
        const struct backfill_model *b = &l->backfills[n];
        int64_t rows = 0;
        if (b->is_cancelled || b->era + 1 != l->era_count || b->holiday_era + 1 != l->holiday_count)
            continue;
        for (size_t i = 0; i < l->row_count; i++)
            rows += l->rows[i].origin == LEDGER_ORIGIN_BACKFILL && l->rows[i].backfill_id == (int64_t)n + 1;
        const struct spec_model *spec = &l->eras[b->era].spec;
        const struct holidays_model *holidays = &l->holidays[b->holiday_era].holidays;
        int64_t jitter_s = (l->jitter_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
        int64_t times = spec_count_real(spec, holidays, b->from_s, b->to_s);
        int64_t unmoved = jitter_s ? spec_count_real(spec, holidays, b->from_s, b->to_s - jitter_s) : times;
        if (rows > times || rows < unmoved)
            world_fail(w, "backfill_whole",
                       "%s backfill %zu of %" PRId64 "..%" PRId64 " has %" PRId64 " rows for %" PRId64
                       " times",
                       l->schedule_id, n + 1, b->from_s, b->to_s, rows, times);
    }
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
    /* What is excluded is looked at an hour later. */
    const struct holiday_era *h = &l->holidays[l->holiday_count - 1];
    bool is_settled = !last->holidays || settled_us(w, h) < w->now.wall.us;
    last_s = MAX(last_s, settled_us(w, h) / USEC_PER_SEC);
    if (!is_exhausted && is_settled && spec_count_real(last, &h->holidays, last_s + 1, due_s) > 0)
        world_fail(w, "no_time_lost", "%s has no row after %" PRId64 ", it is %" PRId64, l->schedule_id,
                   last_s, due_s);
    if (!l->was_trimmed) {
        check_counters(w, l, info);
        check_backfills_whole(w, l);
    }
}

static bool has_run(const struct ledger_model *l, const char *run_id) {
    for (size_t i = 0; i < l->row_count; i++)
        if (cstr_eq(l->rows[i].run_id, run_id))
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
        bool is_action = strncmp(run->workflow_id, l->schedule_id, n) == 0 &&
                         (run->workflow_id[n] == '-' || run->workflow_id[n] == '\0') &&
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
