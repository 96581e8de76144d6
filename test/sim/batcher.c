/* A job is one call after the other, each repeated until its outcome is known. Targets are named one by one,
 * or by a query. Signals and overrides may go to every workflow that clients start, resets to all runs of one
 * workflow id; ending all that there is would leave nothing to look at. */
#include "batcher_int.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "history_rules.h"
#include "names.h"
#include "request.h"
#include "rpc.h"

#define RECENT_RUNS 60
#define CALL_TIMEOUT_US (10 * USEC_PER_SEC)
#define THINK_US (6 * USEC_PER_SEC)
#define LOOK_US (2 * USEC_PER_SEC)
#define QUERY "WorkflowId STARTS_WITH 'w'"
#define RESETS_MAX 4 /* of one job: each makes a run more */

/* choices */

bool batcher_knows(const struct batcher *b, const struct run_model *run) {
    size_t n = strlen(b->space);
    return strncmp(run->workflow_id, b->space, n) == 0 && run->workflow_id[n] == '/' &&
           run->workflow_id[n + 1] == 'w';
}

static void choose_targets(struct batcher *b, struct job *job) {
    struct model *m = &b->w->model;
    size_t wanted = 1 + (size_t)rng_below(&b->w->rng, job->kind == JOB_RESET ? RESETS_MAX : TARGETS_MAX);
    for (size_t tries = 0; tries < 4 * wanted && job->target_count < wanted && m->run_count > 0; tries++) {
        size_t back = (size_t)rng_below(&b->w->rng, MIN(m->run_count, RECENT_RUNS));
        struct run_model *run = m->in_order[m->run_count - 1 - back];
        bool is_new = batcher_knows(b, run);
        for (size_t i = 0; i < job->target_count; i++)
            is_new &= job->targets[i] != run;
        if (is_new)
            job->targets[job->target_count++] = run;
    }
}

/* Resets by a query go to all runs of one workflow id, if these are few. */
static bool choose_resets(struct batcher *b, struct job *job) {
    struct rng *r = &b->w->rng;
    job->to_first = rng_chance(r, 2);
    job->drops_signals = rng_chance(r, 4);
    job->by_query = rng_chance(r, 2);
    choose_targets(b, job);
    if (job->target_count == 0)
        return false;
    if (job->by_query) {
        struct run_model *run = job->targets[0];
        memcpy(job->workflow_id, run->workflow_id, sizeof(job->workflow_id));
        job->target_count = 0;
        for (run = map_get(&b->w->model.latest, str_of(job->workflow_id)); run; run = run->older) {
            if (job->target_count == 2 * RESETS_MAX)
                return false;
            job->targets[job->target_count++] = run;
        }
    }
    for (size_t i = 0; i < job->target_count; i++)
        batch_reset_of(b->w, job, job->targets[i]);
    job->target_count = job->by_query ? 0 : job->target_count;
    return true;
}

static enum job_kind draw_kind(struct batcher *b) {
    static const enum job_kind kinds[] = {JOB_SIGNAL,    JOB_SIGNAL, JOB_SIGNAL, JOB_SIGNAL, JOB_CANCEL,
                                          JOB_TERMINATE, JOB_DELETE, JOB_RESET,  JOB_RESET};
    if (rollout_covers(b->w, b->space) && rng_chance(&b->w->rng, 4))
        return JOB_OVERRIDE;
    return kinds[rng_below(&b->w->rng, ARRAY_LEN(kinds))];
}

static bool choose_all_targets(struct batcher *b, struct job *job) {
    if (job->kind == JOB_RESET)
        return choose_resets(b, job);
    job->by_query = (job->kind == JOB_SIGNAL || job->kind == JOB_OVERRIDE) && rng_chance(&b->w->rng, 3);
    if (!job->by_query)
        choose_targets(b, job);
    return job->by_query || job->target_count > 0;
}

static void job_free(struct job *job) {
    mem_free(job->holders);
    mem_free(job->resets);
    mem_free(job);
}

static bool batcher_choose(struct batcher *b) {
    static const float rates[] = {0, 0, 20, 2};
    struct rng *r = &b->w->rng;
    struct job *job = mem_zalloc(sizeof(*job));
    ensure(job);
    job->kind = draw_kind(b);
    job->override = override_draw(rng_u64(r));
    job->rate = rates[rng_below(r, ARRAY_LEN(rates))];
    job->wants_stop =
        job->kind != JOB_DELETE && rng_chance(r, 4); /* who waits for a deletion waits for its end */
    job->space = b->space;
    snprintf(job->id, sizeof(job->id), "batch-%" PRIu64, b->w->next_id++);
    if (!choose_all_targets(b, job)) {
        job_free(job);
        return false;
    }
    for (size_t i = 0; job->kind == JOB_DELETE && i < job->target_count; i++)
        model_expect_deletion(job->targets[i], b->w->now.wall.us);
    job->next = b->jobs;
    b->jobs = b->job = job;
    b->task = TASK_START;
    return true;
}

/* requests */

static Batch__BatchOperationReset *make_reset(const struct job *job, struct arena *a) {
    Batch__BatchOperationReset *o = MAKE(a, Batch__BatchOperationReset, batch__batch_operation_reset__init);
    o->options = MAKE(a, Common__ResetOptions, common__reset_options__init);
    Google__Protobuf__Empty *nothing = MAKE(a, Google__Protobuf__Empty, google__protobuf__empty__init);
    if (job->to_first) {
        o->options->target_case = COMMON__RESET_OPTIONS__TARGET_FIRST_WORKFLOW_TASK;
        o->options->first_workflow_task = nothing;
    } else {
        o->options->target_case = COMMON__RESET_OPTIONS__TARGET_LAST_WORKFLOW_TASK;
        o->options->last_workflow_task = nothing;
    }
    o->options->reset_reapply_type = RESET_REAPPLY_TYPE_ALL_ELIGIBLE;
    if (job->drops_signals) {
        o->options->reset_reapply_exclude_types = arena_array(a, E__ResetReapplyExcludeType, 1);
        ensure(o->options->reset_reapply_exclude_types);
        o->options->reset_reapply_exclude_types[o->options->n_reset_reapply_exclude_types++] =
            RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL;
    }
    return o;
}

static Batch__BatchOperationUpdateWorkflowExecutionOptions *make_options(const struct job *job,
                                                                         struct arena *a) {
    Batch__BatchOperationUpdateWorkflowExecutionOptions *o =
        MAKE(a, Batch__BatchOperationUpdateWorkflowExecutionOptions,
             batch__batch_operation_update_workflow_execution_options__init);
    o->identity = make_text(a, "%s", job->id);
    o->workflow_execution_options = override_options(a, &job->override, job->id);
    o->update_mask = override_mask(a);
    return o;
}

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
    case JOB_RESET:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_RESET_OPERATION;
        q->reset_operation = make_reset(job, a);
        break;
    case JOB_OVERRIDE:
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_UPDATE_WORKFLOW_OPTIONS_OPERATION;
        q->update_workflow_options_operation = make_options(job, a);
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
    if (job->by_query && job->kind == JOB_RESET)
        q->visibility_query = make_text(a, "WorkflowId = '%s'", make_workflow_id(a, job->workflow_id));
    else if (job->by_query)
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
    /* What has had no task cannot be reset, and a version that no worker has said it is, nothing is pinned
     * to. */
    bool may_refuse = job->kind == JOB_RESET || job->kind == JOB_OVERRIDE;
    if (m->failure_operation_count > 0 && !may_refuse)
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
    job->failures = m->failure_operation_count;
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
        if (!rng_chance(&w->rng, 3)) /* not in every world */
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
            job_free(job);
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
