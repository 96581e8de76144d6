/* Sends the calls of an errand, two at a time when the fault says so, and again while nobody knows whether
 * they arrived. An errand ends when all its calls have ended and one had a definite answer, or when it has no
 * tries left. */
#include "errand.h"

#include <inttypes.h>
#include <stdio.h>

#include "bad_request.h"
#include "base/mem.h"
#include "control.h"
#include "names.h"
#include "override.h"
#include "program.h"
#include "request.h"
#include "rpc.h"
#include "worker.h"

#define ERRAND_TIMEOUT_US (10 * USEC_PER_SEC)

static void errand_send(struct errand *e, size_t place);

static void errand_again(struct world *w, struct happening *h) {
    struct errand *e = container_of(h, struct errand, again);
    bool can_repeat = e->request != NULL;
    size_t count = can_repeat && world_fault(w, FAULT_request_twice) ? ERRAND_CALLS_MAX : 1;
    for (size_t i = 0; i < count; i++)
        errand_send(e, i);
}

struct errand *errand_new(struct world *w, enum errand_kind kind, unsigned tries) {
    struct errand *e = mem_zalloc(sizeof(*e));
    ensure(e);
    *e = (struct errand){.w = w, .kind = kind, .tries_left = tries};
    e->again.run = errand_again;
    return e;
}

void errand_begin(struct errand *e) {
    world_at(e->w, &e->again, 0);
}

static void errand_free(struct errand *e) {
    world_not(e->w, &e->again);
    list_remove(&e->link);
    mem_free(e);
}

void errand_drop(struct errand *e) {
    for (size_t i = 0; i < ERRAND_CALLS_MAX; i++)
        rpc_drop(e->calls[i]);
    errand_free(e);
}

/* The client has a worker beside it, which takes the first task that came with the answer; now and then not.
 */
static void errand_pass_on(struct errand *e, const Ws__StartWorkflowExecutionResponse *m) {
    char space[MODEL_ID_MAX];
    if (!m->eager_workflow_task || m->eager_workflow_task->task_token.len == 0 || rng_chance(&e->w->rng, 5))
        return;
    snprintf(space, sizeof(space), "%.*s", (int)strcspn(e->workflow_id, "/"), e->workflow_id);
    workers_give_first_task(e->w, space, m->eager_workflow_task);
}

/* Whether it is known what the call has made. Of two operations in one call the first may have succeeded. */
static bool is_heard(const struct rpc *r) {
    bool is_half = r->kind == RPC_execute_multi && r->outcome != RPC_OK && r->err.code != ERR_ALREADY_STARTED;
    return r->outcome != RPC_UNKNOWN && !is_half;
}

static void errand_ended(struct rpc *r) {
    struct errand *e = r->owner;
    bool is_busy = false;
    for (size_t i = 0; i < ERRAND_CALLS_MAX; i++) {
        if (e->calls[i] == r)
            e->calls[i] = NULL;
        is_busy |= e->calls[i] != NULL;
    }
    e->is_settled |= r->outcome != RPC_UNKNOWN;
    if (e->request && is_heard(r))
        e->request->unheard_calls--;
    if (r->kind == RPC_start_workflow && r->outcome == RPC_OK)
        errand_pass_on(e, (const void *)r->response);
    if (is_busy)
        return;
    if (!e->is_settled && e->tries_left-- > 0) {
        world_at(e->w, &e->again, world_delay(e->w, USEC_PER_MS, 2 * USEC_PER_SEC));
        return;
    }
    if (e->done)
        e->done(e);
    errand_free(e);
}

/* Some are tried again when they fail, some run by the clock until their time is over. */
static void errand_choose_chain(Ws__StartWorkflowExecutionRequest *q, struct rng *r, struct arena *a,
                                bool is_simple) {
    if (rng_chance(r, 4))
        q->retry_policy = make_run_retry(a, r);
    if (!rng_chance(r, 12) || is_simple)
        return;
    q->cron_schedule = rng_chance(r, 2) ? make_text(a, "* * * * *")
                                        : make_text(a, "@every %" PRIu64 "s", 5 + rng_below(r, 40));
    q->workflow_execution_timeout = make_duration(a, (30 + (int64_t)rng_below(r, 240)) * USEC_PER_SEC);
}

static const Ws__StartWorkflowExecutionRequest *errand_start(struct errand *e, struct arena *a) {
    struct request_model *request = e->request;
    Ws__StartWorkflowExecutionRequest *q =
        MAKE(a, Ws__StartWorkflowExecutionRequest, ws__start_workflow_execution_request__init);
    struct rng r; /* repeats must be the same request */
    rng_init(&r, request->program);
    q->namespace_ = make_namespace(a, request->workflow_id);
    q->workflow_id = make_workflow_id(a, request->workflow_id);
    q->workflow_type = MAKE(a, Common__WorkflowType, common__workflow_type__init);
    q->workflow_type->name = make_text(a, "program");
    q->task_queue = make_queue(a, WORKER_QUEUE, NULL);
    q->input = make_padded_payloads(a, make_text(a, "%s %016" PRIx64 " lap=0", request->id, request->program),
                                    request->padding);
    q->identity = make_text(a, "client");
    q->request_id = make_text(a, "%s", request->id);
    q->workflow_id_reuse_policy = (E__WorkflowIdReusePolicy)request->reuse_policy;
    q->workflow_id_conflict_policy = (E__WorkflowIdConflictPolicy)request->conflict_policy;
    bool is_simple = request->rider != NULL; /* an update cannot go with a delay */
    errand_choose_chain(q, &r, a, is_simple);
    if (rng_chance(&r, 8))
        q->workflow_run_timeout = make_duration(a, (20 + (int64_t)rng_below(&r, 600)) * USEC_PER_SEC);
    if (rng_chance(&r, 8) && !q->workflow_execution_timeout)
        q->workflow_execution_timeout = make_duration(a, (20 + (int64_t)rng_below(&r, 600)) * USEC_PER_SEC);
    if (rng_chance(&r, 10) && !q->cron_schedule[0] && !is_simple)
        q->workflow_start_delay = make_duration(a, (int64_t)rng_below(&r, 20 * USEC_PER_SEC));
    q->request_eager_execution = request->is_eager;
    if (request->has_callback) {
        Common__Callback *c = MAKE(a, Common__Callback, common__callback__init);
        c->variant_case = COMMON__CALLBACK__VARIANT_NEXUS;
        c->nexus = MAKE(a, Common__Callback__Nexus, common__callback__nexus__init);
        c->nexus->url = make_text(a, "http://localhost/%s", request->id);
        q->completion_callbacks = arena_array(a, Common__Callback *, 1);
        ensure(q->completion_callbacks);
        q->completion_callbacks[q->n_completion_callbacks++] = c;
    }
    if (rng_chance(&r, 3))
        q->workflow_task_timeout = make_duration(a, (1 + (int64_t)rng_below(&r, 15)) * USEC_PER_SEC);
    return q;
}

static const void *errand_signal(struct errand *e, struct arena *a) {
    Ws__SignalWorkflowExecutionRequest *q =
        MAKE(a, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->run ? e->run->run_id : NULL);
    q->signal_name = make_text(a, "%s", e->signal_name);
    q->input = make_padded_payloads(a, e->request->id, e->request->padding);
    q->identity = make_text(a, "client");
    q->request_id = make_text(a, "%s", e->request->id);
    return q;
}

static const void *errand_cancel(struct errand *e, struct arena *a) {
    Ws__RequestCancelWorkflowExecutionRequest *q = MAKE(a, Ws__RequestCancelWorkflowExecutionRequest,
                                                        ws__request_cancel_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->by_chain ? NULL : e->run->run_id);
    if (e->by_chain)
        q->first_execution_run_id = make_text(a, "%s", e->run->run_id);
    q->identity = make_text(a, "client");
    return q;
}

static const void *errand_terminate(struct errand *e, struct arena *a) {
    Ws__TerminateWorkflowExecutionRequest *q =
        MAKE(a, Ws__TerminateWorkflowExecutionRequest, ws__terminate_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->by_chain ? NULL : e->run->run_id);
    if (e->by_chain)
        q->first_execution_run_id = make_text(a, "%s", e->run->run_id);
    q->reason = make_text(a, "a client asked for it");
    return q;
}

static const void *errand_delete(struct errand *e, struct arena *a) {
    Ws__DeleteWorkflowExecutionRequest *q =
        MAKE(a, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->run->run_id);
    return q;
}

static const void *errand_query(struct errand *e, struct arena *a) {
    Ws__QueryWorkflowRequest *q = MAKE(a, Ws__QueryWorkflowRequest, ws__query_workflow_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->query = MAKE(a, Query__WorkflowQuery, query__workflow_query__init);
    q->query->query_type = make_text(a, "%s", e->query_fails ? PROGRAM_UNKNOWN_QUERY : "state");
    if (e->only_open)
        q->query_reject_condition = QUERY_REJECT_CONDITION_NOT_OPEN;
    return q;
}

static const Ws__UpdateWorkflowExecutionRequest *errand_update(struct errand *e, struct request_model *update,
                                                               struct arena *a) {
    Ws__UpdateWorkflowExecutionRequest *q =
        MAKE(a, Ws__UpdateWorkflowExecutionRequest, ws__update_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->run ? e->run->run_id : NULL);
    q->wait_policy = MAKE(a, Update__WaitPolicy, update__wait_policy__init);
    q->wait_policy->lifecycle_stage = update->wants_completion
                                          ? UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
                                          : UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED;
    q->request = MAKE(a, Update__Request, update__request__init);
    q->request->meta = MAKE(a, Update__Meta, update__meta__init);
    q->request->meta->update_id = make_text(a, "%s", update->id);
    q->request->input = MAKE(a, Update__Input, update__input__init);
    q->request->input->name = make_text(a, "change");
    return q;
}

static const void *errand_signal_with_start(struct errand *e, struct arena *a) {
    const Ws__StartWorkflowExecutionRequest *start = errand_start(e, a);
    Ws__SignalWithStartWorkflowExecutionRequest *q =
        MAKE(a, Ws__SignalWithStartWorkflowExecutionRequest,
             ws__signal_with_start_workflow_execution_request__init);
    q->namespace_ = start->namespace_;
    q->workflow_id = start->workflow_id;
    q->workflow_type = start->workflow_type;
    q->task_queue = start->task_queue;
    q->input = start->input;
    q->identity = start->identity;
    q->request_id = start->request_id;
    q->workflow_id_reuse_policy = start->workflow_id_reuse_policy;
    q->workflow_id_conflict_policy = start->workflow_id_conflict_policy;
    q->retry_policy = start->retry_policy;
    q->workflow_run_timeout = start->workflow_run_timeout;
    q->workflow_task_timeout = start->workflow_task_timeout;
    q->signal_name = make_text(a, "poke");
    q->signal_input = make_payloads(a, e->request->rider->id);
    return q;
}

static const void *errand_update_with_start(struct errand *e, struct arena *a) {
    Ws__ExecuteMultiOperationRequest *q =
        MAKE(a, Ws__ExecuteMultiOperationRequest, ws__execute_multi_operation_request__init);
    Ws__ExecuteMultiOperationRequest__Operation *start = MAKE(
        a, Ws__ExecuteMultiOperationRequest__Operation, ws__execute_multi_operation_request__operation__init);
    Ws__ExecuteMultiOperationRequest__Operation *update = MAKE(
        a, Ws__ExecuteMultiOperationRequest__Operation, ws__execute_multi_operation_request__operation__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->operations = arena_array(a, Ws__ExecuteMultiOperationRequest__Operation *, 2);
    ensure(q->operations);
    q->operations[q->n_operations++] = start;
    q->operations[q->n_operations++] = update;
    start->operation_case = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_START_WORKFLOW;
    start->start_workflow = (Ws__StartWorkflowExecutionRequest *)(uintptr_t)errand_start(e, a);
    update->operation_case = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_UPDATE_WORKFLOW;
    update->update_workflow =
        (Ws__UpdateWorkflowExecutionRequest *)(uintptr_t)errand_update(e, e->request->rider, a);
    return q;
}

/* The reason names the request, so that the run that was ended for it can be told. */
static const void *errand_reset(struct errand *e, struct arena *a) {
    Ws__ResetWorkflowExecutionRequest *q =
        MAKE(a, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->reason = make_text(a, "%s", e->request->id);
    q->request_id = make_text(a, "%s", e->request->id);
    q->workflow_task_finish_event_id = e->request->reset_event_id;
    q->reset_reapply_type = RESET_REAPPLY_TYPE_ALL_ELIGIBLE;
    if (e->request->drops_signals) {
        q->reset_reapply_exclude_types = arena_array(a, E__ResetReapplyExcludeType, 1);
        ensure(q->reset_reapply_exclude_types);
        q->reset_reapply_exclude_types[q->n_reset_reapply_exclude_types++] =
            RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL;
    }
    return q;
}

static void errand_send(struct errand *e, size_t place) {
    static const enum rpc_kind kinds[] = {
        [ERRAND_START] = RPC_start_workflow,
        [ERRAND_SIGNAL] = RPC_signal_workflow,
        [ERRAND_CANCEL] = RPC_request_cancel,
        [ERRAND_TERMINATE] = RPC_terminate_workflow,
        [ERRAND_QUERY] = RPC_query_workflow,
        [ERRAND_RESET] = RPC_reset_workflow,
        [ERRAND_BAD] = RPC_complete_activity,
        [ERRAND_DELETE] = RPC_delete_workflow,
        [ERRAND_UPDATE] = RPC_update_workflow,
        [ERRAND_SIGNAL_WITH_START] = RPC_signal_with_start,
        [ERRAND_UPDATE_WITH_START] = RPC_execute_multi,
        [ERRAND_CONTROL] = RPC_pause_activity,
        [ERRAND_OVERRIDE] = RPC_update_workflow_options,
    };
    struct rpc *r = rpc_new(e->w, kinds[e->kind], e, errand_ended);
    r->subject = (struct rpc_subject){.run = e->run,
                                      .request = e->request,
                                      .workflow_id = e->workflow_id,
                                      .activity = e->activity,
                                      .by_chain = e->by_chain,
                                      .is_bad = e->kind == ERRAND_BAD || e->query_fails};
    e->calls[place] = r;
    if (e->request)
        e->request->unheard_calls++;
    const void *request = NULL;
    switch (e->kind) {
    case ERRAND_START:
        request = errand_start(e, &r->arena);
        break;
    case ERRAND_SIGNAL:
        request = errand_signal(e, &r->arena);
        break;
    case ERRAND_CANCEL:
        request = errand_cancel(e, &r->arena);
        break;
    case ERRAND_TERMINATE:
        request = errand_terminate(e, &r->arena);
        break;
    case ERRAND_QUERY:
        request = errand_query(e, &r->arena);
        break;
    case ERRAND_RESET:
        request = errand_reset(e, &r->arena);
        break;
    case ERRAND_DELETE:
        request = errand_delete(e, &r->arena);
        break;
    case ERRAND_UPDATE:
        request = errand_update(e, e->request, &r->arena);
        break;
    case ERRAND_SIGNAL_WITH_START:
        request = errand_signal_with_start(e, &r->arena);
        break;
    case ERRAND_UPDATE_WITH_START:
        request = errand_update_with_start(e, &r->arena);
        break;
    case ERRAND_CONTROL:
        request = control_request(e, &r->arena, &r->kind);
        break;
    case ERRAND_OVERRIDE:
        request = override_request(e, &r->arena);
        break;
    case ERRAND_BAD:
        request = bad_request(e->w, &r->arena, &r->kind);
        break;
    }
    bool may_omit_deadline = e->kind == ERRAND_QUERY || e->kind == ERRAND_UPDATE;
    rpc_send(r, request, may_omit_deadline && rng_chance(&e->w->rng, 3) ? CLOCK_NEVER : ERRAND_TIMEOUT_US);
}
