/* The engine of one shard: load, step, commit, act.
 *
 * It has no clock, no socket and no thread: time comes in through
 * engine_advance(), bytes go to the store, answers to the calls. Everything
 * runs on the thread that owns the shard.
 *
 * The requests are validated here, by the rules in core; a handler in serve
 * only decodes and passes on. engine_call() (rpc.h) starts a call; the engine ends it exactly once, now or
 * later. */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "core/message/callback_request.h"
#include "core/step/limits.h"
#include "engine/call.h"
#include "engine/rpc.h"
#include "operatorservice.pb-c.h"
#include "rondo.pb-c.h"
#include "store/store.h"
#include "workflowservice.pb-c.h"

#define ENGINE_CLUSTER_NAME "active" /* of this server; there is no other */

struct engine;
struct cal_zones;

/* A completion on its way to whoever asked for it. */
struct callback_send {
    struct engine *engine;
    const struct callback_request *request; /* lives until the send is ended */
};

struct engine_config {
    struct store *store;
    struct log *log;
    uint64_t seed; /* for ids; from the operating system, or from the simulator */
    size_t resident_runs_max; /* runs kept in memory beyond those in use */
    size_t queue_tasks_max; /* tasks of one priority of a queue kept in memory; 0: the default */
    size_t parked_max; /* calls that may wait at a time; 0: the default */
    const char *const *namespaces; /* made at start when missing; NULL-terminated */
    int64_t retention_us; /* of namespaces made at start */
    const char *const
        *search_attributes; /* "Name=Type", added to these namespaces; NULL-terminated, or NULL */
    struct core_limits limits; /* what an operator set */
    int64_t long_poll_us; /* the longest wait for events or for an update; 0: the default */
    const struct cal_zones *zones; /* for cron schedules; NULL: only UTC is known */
    /* Sends a callback and ends it with engine_callback_sent(), now or later. NULL: none is ever sent. */
    void (*send_callback)(void *ctx, struct callback_send *send);
    void *callback_ctx;
    /* Whether to give up the start: asked now and then while it recovers. NULL: never. */
    bool (*should_stop)(void *ctx);
    void *stop_ctx;
    void (*on_fatal)(void *ctx, const char *text); /* the store answered a read with an error */
    void *fatal_ctx;
};

/* Reads what the store holds and rebuilds queues and timers. `ready` runs when calls may come
 * (maybe before this returns), or with ERR_CANCELLED when should_stop() ended it. */
int engine_new(const struct engine_config *cfg, struct now now,
               void (*ready)(void *ctx, int rc, const struct err *e), void *ctx,
               struct engine **ret) must_check;
/* Calls still open are failed with UNAVAILABLE. The store must be closed first, or have nothing of ours under
 * way. */
void engine_free(struct engine *e);

/* Tells the time, by which calls are worked on. What is due waits for engine_advance(). */
void engine_tell_time(struct engine *e, struct now now);
/* Tells the time, and fires what is due: ends polls whose time is up, acts on deadlines. */
void engine_advance(struct engine *e, struct now now);
/* The same for a caller whose input may lag behind: deadlines are judged up to `heard`, the time by which all
 * calls that had arrived have been started. A call that arrived in time wins over its deadline. */
void engine_advance_heard(struct engine *e, struct now now, struct now heard);
/* When engine_advance must be called next at the latest. */
int64_t engine_next_wake_us(const struct engine *e, struct now now); /* a delay; CLOCK_NEVER: not needed */
/* Hands the open batch to the store, if the store has none. Called at the end of a loop turn, so that many
 * requests share a sync; when a batch is durable the next one is handed over by itself. */
void engine_flush(struct engine *e);
bool engine_idle(const struct engine *e); /* nothing uncommitted */

/* The caller gave up (stream reset, deadline): the call ends without an answer. */
void engine_cancel(struct engine *e, struct call *c);
/* An answer that held a task could not be delivered: the task is offered again. */
void engine_task_lost(struct engine *e, struct str task_token);
/* What came of a callback: the status of the HTTP answer, or 0 and a text that says why there was none. Not
 * to be called after engine_free(). */
void engine_callback_sent(struct callback_send *send, int http_status, const char *text);
/* The server is stopping. Parked polls and waits for events are answered empty; queries, lists and waits for
 * updates fail with UNAVAILABLE, so that clients ask again elsewhere. New ones end likewise. */
void engine_drain(struct engine *e);
