/* A batch job does what the keeper would do itself: it pauses, resumes or deletes the keeper's schedule,
 * which it finds by its name in a list or by a query. The schedule is the only one of its namespace, so a job
 * that goes by a query has one target, too. What was done then is judged as if the keeper had done it. */
#include <inttypes.h>

#include "base/err.h"
#include "keeper_int.h"
#include "names.h"
#include "request.h"

#define LOOK_US USEC_PER_SEC

bool keeper_job_can(const struct keeper *k) {
    return k->task == KEEP_PAUSE || k->task == KEEP_UNPAUSE || k->task == KEEP_DELETE;
}

static void set_operation(const struct keeper *k, Ws__StartBatchOperationRequest *q, struct arena *a) {
    if (k->task == KEEP_PAUSE) {
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_PAUSE_SCHEDULES_OPERATION;
        q->pause_schedules_operation =
            MAKE(a, Rondo__BatchOperationPauseSchedules, rondo__batch_operation_pause_schedules__init);
    } else if (k->task == KEEP_UNPAUSE) {
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_UNPAUSE_SCHEDULES_OPERATION;
        q->unpause_schedules_operation =
            MAKE(a, Rondo__BatchOperationUnpauseSchedules, rondo__batch_operation_unpause_schedules__init);
    } else {
        q->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_DELETE_SCHEDULES_OPERATION;
        q->delete_schedules_operation =
            MAKE(a, Rondo__BatchOperationDeleteSchedules, rondo__batch_operation_delete_schedules__init);
    }
}

/* A query is about what began before the job, which a clock that was put back makes doubtful. */
static void set_target(const struct keeper *k, Ws__StartBatchOperationRequest *q, struct arena *a) {
    if (k->draw % 2 && !profile_jumps(&k->w->profile)) {
        q->visibility_query = k->draw % 4 == 1 ? make_text(a, "ScheduleId STARTS_WITH 's'")
                                               : make_text(a, "ScheduleId = '%s'", ledger_bare_id(k->l));
        return;
    }
    Common__Execution *x = MAKE(a, Common__Execution, common__execution__init);
    x->type = EXECUTION_TYPE_SCHEDULE;
    x->business_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->target_executions = arena_array(a, Common__Execution *, 1);
    ensure(q->target_executions);
    q->target_executions[q->n_target_executions++] = x;
}

const void *keeper_job_request(const struct keeper *k, struct arena *a, enum rpc_kind *ret_kind) {
    if (k->job == JOB_LOOKS) {
        Ws__DescribeBatchOperationRequest *q =
            MAKE(a, Ws__DescribeBatchOperationRequest, ws__describe_batch_operation_request__init);
        *ret_kind = RPC_describe_batch;
        q->namespace_ = make_namespace(a, k->l->schedule_id);
        q->job_id = make_text(a, "%s", k->request_id);
        return q;
    }
    Ws__StartBatchOperationRequest *q =
        MAKE(a, Ws__StartBatchOperationRequest, ws__start_batch_operation_request__init);
    *ret_kind = RPC_start_batch;
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->job_id = make_text(a, "%s", k->request_id);
    q->reason = make_text(a, "a keeper asked for it");
    set_operation(k, q, a);
    set_target(k, q, a);
    return q;
}

/* It has one target, and that is there. */
static void check_job_whole(struct keeper *k, const Ws__DescribeBatchOperationResponse *m) {
    if (m->state != BATCH_OPERATION_STATE_COMPLETED || m->complete_operation_count != 1 ||
        m->failure_operation_count != 0)
        world_fail(k->w, "batch_whole",
                   "job=%s of %s is in state %d, %" PRId64 " targets done, %" PRId64 " failed", k->request_id,
                   k->l->schedule_id, (int)m->state, m->complete_operation_count, m->failure_operation_count);
    k->w->tally.batches++;
}

bool keeper_job_goes_on(struct keeper *k, const struct rpc *r) {
    bool is_there = r->outcome == RPC_FAILED && k->job == JOB_BEGINS && r->err.code == ERR_ALREADY_STARTED;
    bool is_passing = r->err.code == ERR_BUSY || (k->job == JOB_BEGINS && r->err.code == ERR_FULL);
    if (r->outcome == RPC_FAILED && !is_there && !is_passing)
        world_fail(k->w, "batch_kept", "job=%s %s: %s: %s", k->request_id, rpc_name(r->kind),
                   err_name(r->err.code), r->err.text);
    if (k->job == JOB_LOOKS && r->outcome == RPC_OK) {
        const Ws__DescribeBatchOperationResponse *m = (const void *)r->response;
        if (m->state != BATCH_OPERATION_STATE_RUNNING) {
            check_job_whole(k, m);
            k->job = JOB_NONE;
            return false;
        }
    } else if (r->outcome == RPC_OK || is_there) {
        k->job = JOB_LOOKS;
    }
    world_at(k->w, &k->act, world_delay(k->w, USEC_PER_MS, LOOK_US));
    return true;
}
