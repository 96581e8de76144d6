/* A job is one call after the other, each repeated until its outcome is known. Targets are named one by one,
 * or by a query that finds every workflow which clients start. Only cancelling and signalling may go by a
 * query: ending all that there is would leave nothing to look at. */
#include "batcher.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "history_rules.h"
#include "names.h"
#include "request.h"
#include "rpc.h"

#define BATCHER_COUNT MODEL_SPACES
#define TARGETS_MAX 12
#define RECENT_RUNS 60
#define CALL_TIMEOUT_US (10 * USEC_PER_SEC)
#define THINK_US (10 * USEC_PER_SEC)
#define LOOK_US (2 * USEC_PER_SEC)
#define QUERY "WorkflowId STARTS_WITH 'w'"

enum job_kind { JOB_SIGNAL, JOB_CANCEL, JOB_TERMINATE, JOB_DELETE };
enum job_task { TASK_START, TASK_LOOK, TASK_STOP };

struct job {
    struct job *next;
    char id[MODEL_ID_MAX];
    const char *space;
    enum job_kind kind;
    float rate;
    bool by_query;
    bool wants_stop; /* somebody will stop it */
    struct run_model *targets[TARGETS_MAX]; /* unless by_query */
    size_t target_count;
    int64_t sent_wall_us;
    int64_t ended_wall_us; /* when somebody heard of it; 0: it goes on */
    int64_t stopped_wall_us; /* when the stop was acknowledged; 0: it was not */
    int64_t done; /* targets, as it last said */
    E__BatchOperationState state;
    struct run_model **holders; /* runs that have its signal */
    size_t holder_count;
    size_t holder_cap;
    size_t late_count; /* signals that came after the stop */
};

struct batcher {
    struct world *w;
    const char *space;
    struct happening act;
    struct rpc *rpc;
    struct job *job; /* NULL: none is under way */
    struct job *jobs; /* all, the last first */
    enum job_task task;
    bool is_resting;
};

/* choices */

static bool is_target(const struct batcher *b, const struct run_model *run) {
    size_t n = strlen(b->space);
    return strncmp(run->workflow_id, b->space, n) == 0 && run->workflow_id[n] == '/' &&
           run->workflow_id[n + 1] == 'w';
}

static void choose_targets(struct batcher *b, struct job *job) {
    struct model *m = &b->w->model;
    size_t wanted = 1 + (size_t)rng_below(&b->w->rng, TARGETS_MAX);
    for (size_t tries = 0; tries < 4 * wanted && job->target_count < wanted && m->run_count > 0; tries++) {
        size_t back = (size_t)rng_below(&b->w->rng, MIN(m->run_count, RECENT_RUNS));
        struct run_model *run = m->in_order[m->run_count - 1 - back];
        bool is_new = is_target(b, run);
        for (size_t i = 0; i < job->target_count; i++)
            is_new &= job->targets[i] != run;
        if (is_new)
            job->targets[job->target_count++] = run;
    }
}

static bool batcher_choose(struct batcher *b) {
    static const enum job_kind kinds[] = {JOB_SIGNAL, JOB_SIGNAL,    JOB_SIGNAL, JOB_SIGNAL,
                                          JOB_CANCEL, JOB_TERMINATE, JOB_DELETE};
    static const float rates[] = {0, 0, 20, 2};
    struct rng *r = &b->w->rng;
    struct job *job = mem_zalloc(sizeof(*job));
    ensure(job);
    job->kind = kinds[rng_below(r, ARRAY_LEN(kinds))];
    job->rate = rates[rng_below(r, ARRAY_LEN(rates))];
    job->by_query = job->kind == JOB_SIGNAL && rng_chance(r, 3);
    job->wants_stop =
        job->kind != JOB_DELETE && rng_chance(r, 4); /* who waits for a deletion waits for its end */
    job->space = b->space;
    if (!job->by_query)
        choose_targets(b, job);
    if (!job->by_query && job->target_count == 0) {
        mem_free(job);
        return false;
    }
    snprintf(job->id, sizeof(job->id), "batch-%" PRIu64, b->w->next_id++);
    for (size_t i = 0; job->kind == JOB_DELETE && i < job->target_count; i++)
        model_expect_deletion(job->targets[i], b->w->now.wall.us);
    job->next = b->jobs;
    b->jobs = b->job = job;
    b->task = TASK_START;
    return true;
}

/* requests */

static void set_operation(Ws__StartBatchOperationRequest *q, const struct job *job, struct arena *a) {
    switch (job->kind) {
    case JOB_SIGNAL:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_SIGNAL_OPERATION;
        q->signal_operation = MAKE(a, Batch__BatchOperationSignal, batch__batch_operation_signal__init);
        q->signal_operation->signal = make_text(a, "poke");
        q->signal_operation->input = make_payloads(a, job->id);
        break;
    case JOB_CANCEL:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_CANCELLATION_OPERATION;
        q->cancellation_operation =
            MAKE(a, Batch__BatchOperationCancellation, batch__batch_operation_cancellation__init);
        break;
    case JOB_TERMINATE:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_TERMINATION_OPERATION;
        q->termination_operation =
            MAKE(a, Batch__BatchOperationTermination, batch__batch_operation_termination__init);
        break;
    case JOB_DELETE:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_DELETION_OPERATION;
        q->deletion_operation = MAKE(a, Batch__BatchOperationDeletion, batch__batch_operation_deletion__init);
        break;
    }
}

static const void *start_request(const struct job *job, struct arena *a) {
    Ws__StartBatchOperationRequest *q =
        MAKE(a, Ws__StartBatchOperationRequest, ws__start_batch_operation_request__init);
    q->namespace_ = make_text(a, "%s", job->space);
    q->job_id = make_text(a, "%s", job->id);
    q->reason = make_text(a, "%s", job->id);
    q->max_operations_per_second = job->rate;
    if (job->by_query)
        q->visibility_query = make_text(a, "%s", QUERY);
    q->target_executions = arena_array(a, Common__Execution *, job->target_count);
    for (size_t i = 0; i < job->target_count; i++) {
        Common__Execution *x = MAKE(a, Common__Execution, common__execution__init);
        x->type = EXECUTION_TYPE_WORKFLOW;
        x->business_id = make_workflow_id(a, job->targets[i]->workflow_id);
        x->run_id = make_text(a, "%s", job->targets[i]->run_id);
        q->target_executions[q->n_target_executions++] = x;
    }
    set_operation(q, job, a);
    return q;
}

static const void *batcher_request(const struct batcher *b, struct arena *a, enum rpc_kind *ret_kind) {
    const struct job *job = b->job;
    if (b->task == TASK_START) {
        *ret_kind = RPC_start_batch;
        return start_request(job, a);
    }
    if (b->task == TASK_STOP) {
        Ws__StopBatchOperationRequest *q =
            MAKE(a, Ws__StopBatchOperationRequest, ws__stop_batch_operation_request__init);
        *ret_kind = RPC_stop_batch;
        q->namespace_ = make_text(a, "%s", job->space);
        q->job_id = make_text(a, "%s", job->id);
        q->reason = make_text(a, "enough");
        return q;
    }
    Ws__DescribeBatchOperationRequest *q =
        MAKE(a, Ws__DescribeBatchOperationRequest, ws__describe_batch_operation_request__init);
    *ret_kind = RPC_describe_batch;
    q->namespace_ = make_text(a, "%s", job->space);
    q->job_id = make_text(a, "%s", job->id);
    return q;
}

/* answers */

static void check_counts(struct world *w, const struct job *job,
                         const Ws__DescribeBatchOperationResponse *m) {
    int64_t done = m->complete_operation_count + m->failure_operation_count;
    if (done < job->done)
        world_fail(w, "batch_kept", "job=%s had done %" PRId64 ", now %" PRId64, job->id, job->done, done);
    if (m->failure_operation_count > 0)
        world_fail(w, "batch_counts", "job=%s says that %" PRId64 " targets refused", job->id,
                   m->failure_operation_count);
    bool is_whole = m->state == BATCH_OPERATION_STATE_COMPLETED && !job->by_query;
    if (is_whole && (done != (int64_t)job->target_count || m->total_operation_count != done))
        world_fail(w, "batch_counts", "job=%s has done %" PRId64 " of %zu, its total is %" PRId64, job->id,
                   done, job->target_count, m->total_operation_count);
}

/* Deleted is deleted when the job says so. */
static void job_over(struct batcher *b, struct job *job) {
    job->ended_wall_us = b->w->now.wall.us;
    b->w->tally.batches++;
    for (size_t i = 0; job->kind == JOB_DELETE && i < job->target_count; i++)
        if (!job->targets[i]->delete_acked_us)
            job->targets[i]->delete_acked_us = b->w->now.mono.us;
    b->job = NULL;
}

static void saw_job(struct batcher *b, const Ws__DescribeBatchOperationResponse *m) {
    struct job *job = b->job;
    check_counts(b->w, job, m);
    job->done = m->complete_operation_count + m->failure_operation_count;
    job->state = m->state;
    if (job->stopped_wall_us && m->state == BATCH_OPERATION_STATE_RUNNING)
        world_fail(b->w, "batch_kept", "job=%s was stopped, but goes on", job->id);
    if (m->state != BATCH_OPERATION_STATE_RUNNING)
        job_over(b, job);
    else if (job->wants_stop && !b->w->is_calm && rng_chance(&b->w->rng, 2))
        b->task = TASK_STOP;
}

static void batcher_ended(struct rpc *r) {
    struct batcher *b = r->owner;
    struct job *job = b->job;
    b->rpc = NULL;
    bool is_there = r->outcome == RPC_FAILED && b->task == TASK_START && r->err.code == ERR_ALREADY_STARTED;
    bool is_over = r->outcome == RPC_FAILED && b->task == TASK_STOP && r->err.code == ERR_CLOSED;
    bool is_passing = r->err.code == ERR_BUSY || (b->task == TASK_START && r->err.code == ERR_FULL);
    if (r->outcome == RPC_FAILED && !is_there && !is_over && !is_passing)
        world_fail(b->w, "batch_kept", "job=%s %s: %s: %s", job->id, rpc_name(r->kind), err_name(r->err.code),
                   r->err.text);
    if (r->outcome == RPC_OK && b->task == TASK_STOP)
        job->stopped_wall_us = b->w->now.wall.us;
    if (r->outcome == RPC_OK && b->task == TASK_LOOK)
        saw_job(b, (const void *)r->response);
    else if (r->outcome == RPC_OK || is_there || is_over)
        b->task = TASK_LOOK;
    world_at(b->w, &b->act, b->job ? world_delay(b->w, 0, LOOK_US) : world_leisure(b->w, THINK_US));
}

static void batcher_act(struct world *w, struct happening *h) {
    struct batcher *b = container_of(h, struct batcher, act);
    if (!b->job && b->is_resting)
        return;
    if (!b->job && !batcher_choose(b)) {
        world_at(w, h, USEC_PER_SEC + world_leisure(w, THINK_US));
        return;
    }
    if (b->task == TASK_START && !b->job->sent_wall_us)
        b->job->sent_wall_us = w->now.wall.us;
    struct rpc *r = b->rpc = rpc_new(w, RPC_describe_batch, b, batcher_ended);
    const void *request = batcher_request(b, &r->arena, &r->kind);
    rpc_send(r, request, CALL_TIMEOUT_US);
}

/* what the histories say */

bool batchers_note_signal(struct world *w, struct run_model *run, const char *id,
                          const History__HistoryEvent *e) {
    if (strncmp(id, "batch-", 6) != 0)
        return false;
    struct job *job = NULL;
    for (unsigned i = 0; i < BATCHER_COUNT && !job; i++)
        for (job = w->batchers[i].jobs; job && !streq(job->id, id);)
            job = job->next;
    if (!job || job->kind != JOB_SIGNAL) {
        world_fail(w, "batch_once", "run=%s holds signal '%s', which nobody sent", run->run_id, id);
        return true;
    }
    if (run->is_copy)
        return true; /* a reset takes signals along, and the job may come to the copy, too */
    for (size_t i = 0; i < job->holder_count; i++)
        if (job->holders[i] == run)
            world_fail(w, "batch_once", "run=%s event=%" PRId64 " repeats the signal of job=%s", run->run_id,
                       e->event_id, id);
    job->holders = model_grow(job->holders, job->holder_count, &job->holder_cap, sizeof(struct run_model *));
    job->holders[job->holder_count++] = run;
    job->late_count += job->stopped_wall_us && event_wall_us(e) > job->stopped_wall_us;
    return true;
}

static bool has_signal(const struct job *job, const struct run_model *run) {
    for (size_t i = 0; i < job->holder_count; i++)
        if (job->holders[i] == run)
            return true;
    return false;
}

/* A run that was there when the job began, and still open when it was over, is one that it came to. */
static void check_target(struct world *w, const struct job *job, const struct run_model *run) {
    bool was_there = run->event_count > 0 && run->start_wall_us < job->sent_wall_us &&
                     (!run->close_type || run->close_wall_us > job->ended_wall_us);
    if (!was_there || run->is_deleted || run->is_copy)
        return;
    bool is_done = job->kind == JOB_SIGNAL   ? has_signal(job, run)
                   : job->kind == JOB_CANCEL ? run->cancel_recorded
                                             : false; /* it would be closed, or gone */
    if (!is_done)
        world_fail(w, "batch_whole", "job=%s has left out run=%s workflow=%s", job->id, run->run_id,
                   run->workflow_id);
}

static void check_job(struct world *w, const struct batcher *b, const struct job *job) {
    if (job->late_count > 1) /* one may have been under way */
        world_fail(w, "batch_stopped", "job=%s did %zu targets after it was stopped", job->id,
                   job->late_count);
    if (job->state != BATCH_OPERATION_STATE_COMPLETED)
        return;
    for (size_t i = 0; i < job->target_count; i++)
        check_target(w, job, job->targets[i]);
    for (size_t i = 0; job->by_query && i < w->model.run_count; i++)
        if (is_target(b, w->model.in_order[i]))
            check_target(w, job, w->model.in_order[i]);
}

void batchers_check_all(struct world *w) {
    if (world_clock_jumped(w))
        return;
    for (unsigned i = 0; i < BATCHER_COUNT; i++)
        for (const struct job *job = w->batchers[i].jobs; job; job = job->next)
            check_job(w, &w->batchers[i], job);
}

/* their lives */

struct batcher *batchers_new(struct world *w) {
    static const char *const spaces[BATCHER_COUNT] = {"default", "other"};
    struct batcher *batchers = mem_zalloc(BATCHER_COUNT * sizeof(*batchers));
    ensure(batchers);
    for (unsigned i = 0; i < BATCHER_COUNT; i++) {
        struct batcher *b = &batchers[i];
        b->w = w;
        b->space = spaces[i];
        b->act.run = batcher_act;
        if (rng_chance(&w->rng, 2)) /* not in every world */
            world_at(w, &b->act, world_delay(w, 0, THINK_US));
    }
    return batchers;
}

void batchers_free(struct world *w) {
    for (unsigned i = 0; i < BATCHER_COUNT; i++) {
        struct batcher *b = &w->batchers[i];
        rpc_drop(b->rpc);
        world_not(w, &b->act);
        for (struct job *job; (job = b->jobs);) {
            b->jobs = job->next;
            mem_free(job->holders);
            mem_free(job);
        }
    }
    mem_free(w->batchers);
}

void batchers_rest(struct world *w) {
    for (unsigned i = 0; i < BATCHER_COUNT; i++)
        w->batchers[i].is_resting = true;
}

bool batchers_are_done(const struct world *w) {
    for (unsigned i = 0; i < BATCHER_COUNT; i++)
        if (w->batchers[i].job || w->batchers[i].rpc)
            return false;
    return true;
}
