/* What a keeper is made of. Only keeper.c, keeper_request.c and keeper_job.c include it. */
#pragma once

#include "keeper.h"
#include "ledger_model.h"
#include "rpc.h"
#include "schedule.pb-c.h"

#define KEEPER_COUNT 2
#define SCHEDULES_MAX 8 /* of one keeper, one after the other */

enum keeper_task {
    KEEP_CREATE,
    KEEP_DESCRIBE,
    KEEP_LIST,
    KEEP_UPDATE, /* another policy */
    KEEP_CHANGE, /* another spec */
    KEEP_PAUSE,
    KEEP_UNPAUSE,
    KEEP_PAUSE_UNTIL, /* a pause that ends by itself */
    KEEP_TRIGGER,
    KEEP_TRIGGER_NOW, /* with an answer that says what came of it */
    KEEP_TRIGGER_AGAIN, /* the last of those, once more */
    KEEP_BACKFILL,
    KEEP_LIST_BACKFILLS,
    KEEP_CANCEL_BACKFILL,
    KEEP_HOLIDAYS, /* a calendar becomes another */
    KEEP_LEDGER,
    KEEP_DELETE,
    KEEP_CONFIRM, /* that it is gone */
};

enum keeper_end {
    END_NOT,
    END_LOOK,
    END_PAUSE,
    END_FIRST_READ,
    END_DESCRIBE,
    END_SECOND_READ,
    END_DELETE,
    END_DONE
};

/* A task that is given to a batch job. */
enum keeper_job { JOB_NONE, JOB_BEGINS, JOB_LOOKS };

struct keeper {
    struct world *w;
    unsigned number;
    struct happening act;
    struct rpc *rpc;
    struct ledger_model *ledgers[SCHEDULES_MAX];
    size_t ledger_count;
    struct ledger_model *l; /* of the schedule that there is; NULL: there is none */
    enum keeper_task task;
    enum keeper_job job;
    uint64_t draw; /* what the task is made from, so that it can be sent again as it was */
    char request_id[32];
    struct spec_model spec;
    struct holidays_model holidays; /* of its namespace, which it has for itself */
    unsigned calendar; /* the one that is put */
    unsigned calendars_put;
    unsigned triggers_since; /* tasks since the last trigger that was answered */
    char trigger_id[32]; /* request id of the last trigger that was answered */
    uint64_t trigger_draw;
    int64_t trigger_row; /* and what came of it */
    char trigger_run[UUID_TEXT_LEN + 1];
    int64_t backfill_id; /* to be cancelled */
    int64_t lone_until_us; /* in the calm phase nobody touches the schedule until then */
    bool is_resting;
    enum keeper_end end;
    uint64_t digest; /* of the first of the two last reads */
    Schedule__ScheduleInfo info; /* between them, its counters only */
    Google__Protobuf__Timestamp create_time;
    unsigned tries;
};

/* A spec whose times are seconds apart, or hours where the clock leaps by days. */
struct spec_model draw_spec(struct rng *r, bool is_sparse, int64_t now_s);
/* The request of the keeper's task, the same each time. */
const void *keeper_request(struct keeper *k, struct arena *a, enum rpc_kind *ret_kind);

/* Whether a batch job can do the keeper's task. */
bool keeper_job_can(const struct keeper *k);
const void *keeper_job_request(const struct keeper *k, struct arena *a, enum rpc_kind *ret_kind);
/* An answer about the job came. False: the job is over, and so is the task. */
bool keeper_job_goes_on(struct keeper *k, const struct rpc *r);
