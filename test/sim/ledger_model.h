/* What a client knows of one schedule: what it asked for, and every row of the ledger that it has seen.
 *
 * The model of the spec is a page of arithmetic that shares nothing with src/cal. The ledger is read in one
 * page, so each read is one moment. */
#pragma once

#include "base/uuid.h"
#include "model.h"
#include "rondo.pb-c.h"

#define ERAS_MAX 8

/* Times are seconds t with t % every_s == phase_s, and those whose second of the minute is first_s + n *
 * step_s.
 */
struct spec_model {
    int64_t every_s; /* 0: no interval */
    int64_t phase_s;
    int64_t first_s;
    int64_t step_s; /* 0: no calendar */
};

/* Rows that were considered after acked and before the next era's sent are surely of this spec; those between
 * two eras may be of either. By the wall clock: where it jumps, a keeper has one era only. */
struct era_model {
    struct spec_model spec;
    int64_t sent_us;
    int64_t acked_us;
};

struct row_model {
    bool is_known; /* a start whose letter is on the way has no row yet */
    int64_t nominal_s;
    int64_t last_s; /* of several in one row; the same as nominal_s otherwise */
    int64_t count;
    int64_t backfill_id;
    int64_t considered_us;
    int fate;
    int origin;
    int policy;
    bool is_running;
    char run_id[UUID_TEXT_LEN + 1];
};

struct ledger_model {
    char schedule_id[MODEL_ID_MAX]; /* "namespace/id" */
    struct era_model eras[ERAS_MAX];
    size_t era_count;
    int64_t jitter_us;
    int64_t catchup_us;
    int64_t action_limit; /* 0: none, or changed since */
    struct row_model *rows; /* row of id n at n - 1 */
    size_t row_count;
    size_t row_cap;
    int64_t pause_acked_us; /* by the wall clock; 0: it may act */
    bool was_trimmed;
    int64_t read_wall_us; /* when the last read was sent */
    bool is_final; /* the last read was after the last start */
    int64_t delete_acked_wall_us; /* 0: not deleted while the clock was right */
};

bool spec_has(const struct spec_model *spec, int64_t at_s);
/* Times in [from_s, until_s]. */
int64_t spec_count(const struct spec_model *spec, int64_t from_s, int64_t until_s);

void ledger_begin_era(struct ledger_model *l, const struct spec_model *spec, int64_t sent_us);
void ledger_era_acked(struct ledger_model *l, int64_t acked_us);
/* One whole read: checks it and learns from it. */
void ledger_see(struct world *w, struct ledger_model *l, const Rondo__ListScheduleLedgerResponse *m,
                int64_t sent_wall_us);
bool ledger_has_holes(const struct ledger_model *l);
uint64_t ledger_digest(const struct ledger_model *l);
/* The server is left alone, the schedule is paused, and no row is missing. */
void ledger_check_final(struct world *w, const struct ledger_model *l, const Schedule__ScheduleInfo *info);
/* When all histories are known: nothing was started that the ledger does not know. */
void ledger_check_runs(struct world *w, const struct ledger_model *l);
