/* Declarations that the files of core/schedule share. No file outside this directory includes it.
 *
 * A start is waiting (PENDING, DEFERRED), live (STARTING, STARTED) or kept for describe (COMPLETED). All
 * starts are in sch->starts, by ascending id. Functions with a `struct step` set s->failed when memory runs
 * out; the caller of the step then discards the state. */
#pragma once

#include "core/message/letter.h"
#include "core/run/run.h"
#include "core/schedule/schedule.h"

/* the spec (schedule_spec.c) */

/* The times of a schedule, compiled. `real` are those at which it acts. */
struct times {
    struct cal *real;
    struct cal *raw; /* with the excluded ones; NULL: nothing is excluded */
    struct cal *without_holidays; /* real, without the holiday calendars; NULL: there are none */
    const char *holiday_reason; /* for the ledger */
    struct str seed;
};
/* For a cleanup attribute: a struct that is zero is fine. */
void times_done(struct times *t);
/* ERR_INVALID when the spec cannot be read any more, e.g. since its time zone is gone; ERR_NO_MEMORY. */
int times_new(const State__Execution *st, const State__Namespace *space, const struct cal_zones *zones,
              struct arena *arena, struct times *ret, struct err *err) must_check;
static inline const struct cal *times_all(const struct times *t) {
    return t->raw ? t->raw : t->real;
}
/* Why it is excluded; NULL when it is not. */
const char *times_exclusion(const struct times *t, int64_t nominal_s);
/* The work of one times_exclusion(), in the units of cal_next_counted(). */
uint64_t times_judge_work(const struct times *t);
/* The last time with lo_us < nominal <= hi_us; false when there is none. */
bool times_last(const struct times *t, int64_t lo_us, int64_t hi_us, struct cal_time *ret);

/* What H means in it follows from the schedule's id alone, so that it can be told without a server. */
int spec_canonise(struct arena *arena, const char *schedule_id, const struct cal_zones *zones,
                  Schedule__ScheduleSpec *spec, struct err *err) must_check;
/* Of jitter. */
struct str spec_seed(const char *namespace_id, const char *schedule_id, struct arena *arena);

/* overlap policies (overlap.c), pure */

enum overlap_verdict { OVERLAP_START, OVERLAP_WAIT, OVERLAP_SKIP, OVERLAP_REPLACED };

struct overlap_entry {
    E__ScheduleOverlapPolicy policy; /* resolved */
    enum overlap_verdict verdict; /* set */
};
struct overlap_demand {
    bool cancels; /* cancel the running actions */
    bool terminates; /* terminate them; wins over cancels */
};
/* Whether starts of this policy stop the running actions. The only list of these policies. */
bool overlap_is_pushing(E__ScheduleOverlapPolicy policy);
/* Sets the verdict of each entry; the entries are in the order of their starts. `running` is the number of
 * blocking starts (start_count), `max` the number of places; 0 counts as 1. */
struct overlap_demand overlap_decide(struct overlap_entry *entries, size_t n, size_t running, size_t max);

/* starts (start_list.c) */

static inline bool start_is_waiting(const State__Start *start) {
    return start->phase == PHASE_PENDING || start->phase == PHASE_DEFERRED;
}
static inline bool start_is_live(const State__Start *start) {
    return start->phase == PHASE_STARTING || start->phase == PHASE_STARTED;
}
/* The start was sent before and failed. It keeps its place until the next attempt. */
static inline bool start_is_retrying(const State__Start *start) {
    return start->phase == PHASE_PENDING && start->attempt > 0;
}
static inline bool start_overlaps(const State__Start *start) {
    return start->overlap_policy == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
}

struct start_count {
    size_t waiting;
    size_t waiting_manual;
    size_t waiting_free; /* may overlap: they wait only for room in the outbox */
    size_t starting;
    size_t live;
    size_t blocking; /* live or retrying, and not ALLOW_ALL */
};
struct start_count start_count(const State__Schedule *sch);

struct start_wish {
    struct cal_time at;
    E__ScheduleOverlapPolicy policy; /* unspecified: the schedule's */
    bool is_manual;
    int64_t backfill_id;
};
/* A new one at the end, PENDING; NULL without memory. Its ledger row is not written yet. */
State__Start *start_add(struct step *s, const struct start_wish *wish);
State__Start *start_find(const State__Schedule *sch, int64_t id);
void start_forget(State__Schedule *sch, const State__Start *start);
/* The starts with smaller ids get the ids of their rows, so that those keep the order of the times. */
void start_number_before(State__Schedule *sch, int64_t id);
/* Writes the ledger row of the start, then removes and frees the start. */
void start_drop(struct step *s, State__Start *start, Rondo__LedgerFate fate, const char *reason);
/* Sends LETTER_START_ACTION; the start becomes STARTING. It must be waiting. */
void start_launch(struct step *s, State__Start *start);
E__ScheduleOverlapPolicy schedule_policy(const State__Schedule *sch);

/* Whether policies, action and extras fit together (schedule_rules.c). */
int schedule_check_whole(const char *schedule_id, const Schedule__Schedule *schedule,
                         struct err *err) must_check;

/* workflow ids (action_id.c) */
char *action_id(const State__Schedule *sch, int64_t nominal_s, struct arena *arena);
int action_id_validate(const char *format, const char *id, const char *schedule_id,
                       struct err *err) must_check;

/* the ledger (ledger.c) */

/* Consecutive times of the spec that come to nothing for one reason: they join one row. */
struct ledger_idle {
    Rondo__LedgerFate fate;
    const char *reason; /* lives until the flush */
    int64_t count;
    struct cal_time first;
    int64_t last_nominal_s;
    const char *workflow_id; /* that the first would have had; NULL: none is known */
};
void ledger_idle_add(struct step *s, struct ledger_idle *idle, Rondo__LedgerFate fate, const char *reason,
                     struct cal_time at);
void ledger_idle_flush(struct step *s, struct ledger_idle *idle);
/* The id of the start's row, if it has none yet. */
void ledger_number(State__Schedule *sch, State__Start *start);
/* The row of a start, written or written over; NULL without memory. It stays until the next one is written.
 */
struct ledger_row *ledger_start(struct step *s, State__Start *start, Rondo__LedgerFate fate,
                                const char *reason);
/* The start comes to nothing. One that has no row yet may join the row of the times before it. */
void ledger_drop(struct step *s, State__Start *start, Rondo__LedgerFate fate, const char *reason);
/* The next idle time opens a new row. */
void ledger_close_tail(State__Schedule *sch);
void ledger_sweep(struct step *s);

/* the parts */

/* Considers what is due by now, up to a limit; *ret_more when that was reached. */
int generator_run(struct step *s, bool *ret_more) must_check;
/* The same for a change that must not come in between: everything, also what could be looked at later. */
int generator_drain(struct step *s, bool *ret_more) must_check;
/* What is due when the schedule ends: rows that say so. */
int generator_end(struct step *s, const char *reason) must_check;
/* Reads the holiday calendars again and recomputes the future times. */
int generator_refresh(struct step *s) must_check;
/* A spec that was valid once cannot be read: it is tried again, and what is due then is made up for. */
void generator_give_up(struct step *s, const struct err *why);
/* Starts that may all run at once wait for their letters, not in line: more of them come when those are out.
 */
bool generator_is_flooded(const State__Schedule *sch, const struct start_count *count);
/* What was known of the times to come does not hold any more. */
void generator_reset(State__Schedule *sch);
int backfill_run(struct step *s) must_check; /* as far as the buffer has room */
bool backfill_can_go_on(const State__Schedule *sch);
int backfill_add(struct step *s, const Schedule__BackfillRequest *req) must_check;
size_t backfill_waiting(const State__Schedule *sch, int64_t backfill_id);
void backfill_finish(State__Schedule *sch);
void invoker_run(struct step *s);

/* pause and limits, read off the schedule (schedule.c) */

bool schedule_is_exhausted(const State__Schedule *sch);
int64_t schedule_pause_until_us(const State__Schedule *sch); /* CLOCK_NEVER: no end is known */
int64_t schedule_catchup_us(const State__Schedule *sch);
void schedule_touch(State__Schedule *sch); /* moves the conflict token */

#define SCHEDULE_TOKEN_BYTES 8
void schedule_token_bytes(const State__Schedule *sch, uint8_t ret[SCHEDULE_TOKEN_BYTES]);
