/* What schedules did, as lines of the log, once it is on disk.
 *
 * A step leaves rows of the ledger and news of the schedule (core/step/step.h). Those that will be logged are kept
 * in the group of the step, in its arena, and written when the group is durable. A line for which there is no
 * memory is left out: nobody decides by it.
 *
 * Lines that no setting asked for are bounded, since after a long stop of the server each of many schedules
 * may have missed its time: some of each kind in a second, then one that says how many were left out. */
#include "engine/runtime/engine_int.h"
#include "rondo.pb-c.h"
#include "wire/guard.h"

#define LINE_INTERVAL_US USEC_PER_SEC

struct schedule_line {
    struct schedule_line *next;
    enum log_event event;
    const char *namespace_name; /* texts and bytes are in the arena of the group */
    const char *schedule_id;
    struct str entry; /* of a row: Rondo__LedgerEntry, packed */
    struct ledger_row row;
    struct schedule_news news; /* of the schedule, when there is no row */
};

static bool line_is_routine(enum log_event event) {
    return event == LOG_schedule_fired || event == LOG_schedule_waiting || event == LOG_schedule_skipped;
}

static enum log_event event_of_row(const struct ledger_row *row) {
    switch ((Rondo__LedgerFate)row->fate) {
    case LEDGER_FATE_STARTED:
        return LOG_schedule_fired;
    case LEDGER_FATE_WAITING:
        return row->is_retry ? LOG_schedule_start_failed : LOG_schedule_waiting;
    case LEDGER_FATE_START_FAILED:
    case LEDGER_FATE_ALREADY_RUN:
        return LOG_schedule_start_failed;
    case LEDGER_FATE_CATCHUP_MISSED:
    case LEDGER_FATE_BUFFER_FULL:
        return LOG_schedule_missed;
    case LEDGER_FATE_UNSPECIFIED:
    case LEDGER_FATE_OVERLAP_SKIPPED:
    case LEDGER_FATE_PAUSED:
    case LEDGER_FATE_EXCLUDED:
    case LEDGER_FATE_EXHAUSTED:
    case LEDGER_FATE_REPLACED:
    case LEDGER_FATE_UPDATED:
    case LEDGER_FATE_CANCELED:
    case LEDGER_FATE_ENDED:
    case _RONDO__LEDGER_FATE_IS_INT_SIZE:
        break;
    }
    return LOG_schedule_skipped;
}

static enum log_event event_of_turn(enum schedule_turn turn) {
    switch (turn) {
    case SCHEDULE_TURN_PAUSED:
        return LOG_schedule_paused;
    case SCHEDULE_TURN_EXHAUSTED:
        return LOG_schedule_exhausted;
    case SCHEDULE_TURN_UNREADABLE:
        return LOG_schedule_unreadable;
    case SCHEDULE_TURN_ENDED:
        return LOG_schedule_ended;
    case SCHEDULE_TURN_DELETED:
        break;
    }
    return LOG_schedule_deleted;
}

/* keeping */

/* NULL: no such line is wanted, or there is no memory for it. */
static struct schedule_line *line_add(struct engine *e, const struct run *run, enum log_event event) {
    struct group *g = e->open;
    struct arena *a = &g->batch.arena;
    if (!log_shows(e->log, event))
        return NULL;
    struct schedule_line *l = arena_new(a, struct schedule_line);
    char *space = arena_strdup(a, run->space->st->name);
    char *id = arena_strdup(a, run->body->st->schedule->schedule_id);
    if (!l || !space || !id) {
        arena_forgive(a);
        return NULL;
    }
    l->event = event;
    l->namespace_name = space;
    l->schedule_id = id;
    *g->lines_end = l;
    g->lines_end = &l->next;
    return l;
}

void schedule_log_row(struct engine *e, const struct run *run, const struct ledger_row *row,
                      struct str entry) {
    struct schedule_line *l = row->new_times ? line_add(e, run, event_of_row(row)) : NULL;
    if (!l)
        return;
    l->row = *row;
    l->entry = entry;
}

static const char *text_kept(struct arena *a, const char *text) {
    const char *copy = arena_strdup(a, text);
    if (!copy)
        arena_forgive(a);
    return copy ? copy : "";
}

void schedule_log_news(struct engine *e, const struct run *run, const struct step *s) {
    for (size_t i = 0; i < s->news_count; i++) {
        const struct schedule_news *n = &s->news[i];
        struct schedule_line *l = line_add(e, run, event_of_turn(n->turn));
        struct arena *a = &e->open->batch.arena;
        if (l)
            l->news = (struct schedule_news){n->turn, text_kept(a, n->reason), text_kept(a, n->workflow_id),
                                             text_kept(a, n->run_id)};
    }
}

/* writing */

static const char *origin_name(Rondo__LedgerOrigin origin) {
    switch (origin) {
    case LEDGER_ORIGIN_TRIGGER:
        return "trigger";
    case LEDGER_ORIGIN_BACKFILL:
        return "backfill";
    case LEDGER_ORIGIN_UNSPECIFIED:
    case LEDGER_ORIGIN_SPEC:
    case _RONDO__LEDGER_ORIGIN_IS_INT_SIZE:
        break;
    }
    return "spec";
}

static void write_row_line(struct engine *e, const struct schedule_line *l) {
    const struct ledger_row *row = &l->row;
    ProtobufCMessage *m;
    arena_clear(&e->scratch);
    if (wire_decode(&rondo__ledger_entry__descriptor, l->entry, &e->scratch, &m, NULL) < 0)
        return;
    const Rondo__LedgerEntry *entry = (const Rondo__LedgerEntry *)m;
    int64_t last_s = row->last_nominal_s ? row->last_nominal_s : row->nominal_s;
    struct log_field space = log_str("namespace", l->namespace_name),
                     id = log_str("schedule_id", l->schedule_id),
                     time = log_time("nominal_time", last_s * USEC_PER_SEC),
                     workflow = log_str("workflow_id", entry->workflow_id),
                     run = log_str("run_id", entry->run_id),
                     origin = log_str("origin", origin_name(entry->origin)),
                     reason = log_str("reason", entry->reason);
    if (l->event == LOG_schedule_fired)
        log_emit(e->log, l->event, space, id, time, workflow, run, origin,
                 log_int("lateness_us", row->lateness_us == CLOCK_NEVER ? 0 : row->lateness_us));
    else if (l->event == LOG_schedule_start_failed)
        log_emit(e->log, l->event, space, id, time, workflow, origin, reason,
                 log_str("next", row->is_retry ? "tried again" : "given up"));
    else
        log_emit(e->log, l->event, space, id, time, log_int("count", row->new_times), workflow, origin,
                 reason);
}

static void write_news_line(struct engine *e, const struct schedule_line *l) {
    const struct schedule_news *n = &l->news;
    struct log_field space = log_str("namespace", l->namespace_name),
                     id = log_str("schedule_id", l->schedule_id);
    if (n->turn == SCHEDULE_TURN_DELETED)
        log_emit(e->log, l->event, space, id);
    else if (n->turn == SCHEDULE_TURN_PAUSED)
        log_emit(e->log, l->event, space, id, log_str("workflow_id", n->workflow_id),
                 log_str("run_id", n->run_id), log_str("reason", n->reason));
    else
        log_emit(e->log, l->event, space, id, log_str("reason", n->reason));
}

/* Whether the line may be written; else it is counted. */
static bool take_turn(struct engine *e, enum log_event event) {
    struct line_quota *q = &e->line_quota;
    if (line_is_routine(event))
        return true;
    schedule_log_rest(e);
    if (q->counts[event - LOG_schedule_fired] >= ENGINE_SCHEDULE_LINES) {
        q->left_out++;
        return false;
    }
    q->counts[event - LOG_schedule_fired]++;
    return true;
}

void schedule_log_rest(struct engine *e) {
    struct line_quota *q = &e->line_quota;
    if (e->now.mono.us < q->until_us)
        return;
    if (q->left_out)
        log_emit(e->log, LOG_schedule_lines_left_out, log_int("count", q->left_out));
    *q = (struct line_quota){.until_us = usec_add(e->now.mono.us, LINE_INTERVAL_US)};
}

void schedule_log_write(struct engine *e, struct group *g) {
    for (const struct schedule_line *l = g->lines; l; l = l->next) {
        if (!take_turn(e, l->event))
            continue;
        if (l->entry.p)
            write_row_line(e, l);
        else
            write_news_line(e, l);
    }
    g->lines = NULL;
    g->lines_end = &g->lines;
}
