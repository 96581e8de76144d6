/* What a client knows of one schedule: what it asked for, and every row of the ledger that it has seen.
 *
 * The ledger is read in one page, so each read is one moment. */
#pragma once

#include "base/uuid.h"
#include "model.h"
#include "rondo.pb-c.h"
#include "spec_model.h"

#define ERAS_MAX 8
#define HOLIDAY_ERAS_MAX 24
#define PAUSES_MAX 64
#define BACKFILLS_MAX 64

/* Rows that were considered after acked and before the next era's sent are surely of this spec; those between
 * two eras may be of either. By the wall clock: where it jumps, a keeper has one era only. */
struct era_model {
    struct spec_model spec;
    int64_t sent_us;
    int64_t acked_us;
};

/* The same for the holiday calendars, which schedules hear of a little later. */
struct holiday_era {
    struct holidays_model holidays;
    int64_t sent_us;
    int64_t acked_us;
};

/* A time in which the schedule may have been paused. */
struct pause_model {
    int64_t from_us; /* asked for */
    int64_t to_us; /* ended for sure */
};

struct backfill_model {
    int64_t from_s;
    int64_t to_s;
    size_t era; /* that held when it was asked for */
    size_t holiday_era;
    bool is_cancelled; /* somebody asked for that */
    int64_t cancel_acked_us; /* 0: not */
};

struct row_model {
    bool is_known; /* a start whose letter is on the way has no row yet */
    int64_t nominal_s;
    int64_t last_s; /* of several in one row; the same as nominal_s otherwise */
    int64_t count;
    int64_t backfill_id;
    int64_t considered_us;
    int64_t scheduled_us; /* with jitter */
    int64_t start_us; /* of the run */
    int fate;
    int origin;
    int policy;
    bool is_running;
    bool has_waited; /* and was dropped then */
    char run_id[UUID_TEXT_LEN + 1];
};

struct ledger_model {
    char schedule_id[MODEL_ID_MAX]; /* "namespace/id" */
    struct era_model eras[ERAS_MAX];
    size_t era_count;
    int64_t jitter_us;
    int64_t catchup_us;
    int64_t action_limit; /* 0: none, or changed since */
    int64_t max_running; /* at least 1 */
    bool keeps_id; /* its runs all have the same workflow id */
    bool only_while_active; /* nothing is made up for */
    bool is_strict; /* it is paused only when somebody says so */
    struct holiday_era holidays[HOLIDAY_ERAS_MAX];
    size_t holiday_count;
    struct pause_model pauses[PAUSES_MAX];
    size_t pause_count;
    struct backfill_model backfills[BACKFILLS_MAX]; /* the one with id n at n - 1 */
    size_t backfill_count;
    int64_t trigger_count; /* different ones that were asked for */
    struct row_model *rows; /* row of id n at n - 1 */
    size_t row_count;
    size_t row_cap;
    int64_t pause_acked_us; /* by the wall clock; 0: it may act */
    bool was_trimmed;
    int64_t read_wall_us; /* when the last read was sent */
    bool is_final; /* the last read was after the last start */
    int64_t delete_acked_wall_us; /* 0: not deleted while the clock was right */
};

const char *ledger_bare_id(const struct ledger_model *l); /* without the namespace */

void ledger_begin_era(struct ledger_model *l, const struct spec_model *spec, int64_t sent_us);
void ledger_era_acked(struct ledger_model *l, int64_t acked_us);
void ledger_begin_holidays(struct ledger_model *l, const struct holidays_model *h, int64_t sent_us);
void ledger_begin_pause(struct ledger_model *l, int64_t from_us, int64_t to_us);
void ledger_end_pauses(struct ledger_model *l, int64_t at_us);
/* One whole read: checks it and learns from it. */
void ledger_see(struct world *w, struct ledger_model *l, const Rondo__ListScheduleLedgerResponse *m,
                int64_t sent_wall_us);
bool ledger_has_holes(const struct ledger_model *l);
uint64_t ledger_digest(const struct ledger_model *l);
/* The server is left alone, the schedule is paused, and no row is missing. */
void ledger_check_final(struct world *w, const struct ledger_model *l, const Schedule__ScheduleInfo *info);
/* When all histories are known: nothing was started that the ledger does not know. */
void ledger_check_runs(struct world *w, const struct ledger_model *l);
