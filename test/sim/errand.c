/* Sends the calls of an errand, two at a time when the fault says so, and again while nobody knows whether
 * they arrived. An errand ends when all its calls have ended and one had a definite answer, or when it has no
 * tries left. */
#include "errand.h"

#include <inttypes.h>

#include "bad_request.h"
#include "base/mem.h"
#include "names.h"
#include "program.h"
#include "request.h"
#include "rpc.h"
#include "worker.h"

#define ERRAND_TIMEOUT_US (10 * USEC_PER_SEC)

static void errand_send(struct errand *e, size_t place);

static void errand_again(struct world *w, struct happening *h) {
    struct errand *e = container_of(h, struct errand, again);
    bool can_repeat = e->kind == ERRAND_START || e->kind == ERRAND_SIGNAL;
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

static void errand_ended(struct rpc *r) {
    struct errand *e = r->owner;
    bool is_busy = false;
    for (size_t i = 0; i < ERRAND_CALLS_MAX; i++) {
        if (e->calls[i] == r)
            e->calls[i] = NULL;
        is_busy |= e->calls[i] != NULL;
    }
    e->is_settled |= r->outcome != RPC_UNKNOWN;
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
static void errand_choose_chain(Ws__StartWorkflowExecutionRequest *q, struct rng *r, struct arena *a) {
    if (rng_chance(r, 4))
        q->retry_policy = make_run_retry(a, r);
    if (!rng_chance(r, 12))
        return;
    q->cron_schedule = rng_chance(r, 2) ? make_text(a, "* * * * *")
                                        : make_text(a, "@every %" PRIu64 "s", 5 + rng_below(r, 40));
    q->workflow_execution_timeout = make_duration(a, (30 + (int64_t)rng_below(r, 240)) * USEC_PER_SEC);
}

static const void *errand_start(struct errand *e, struct arena *a) {
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
    errand_choose_chain(q, &r, a);
    if (rng_chance(&r, 8))
        q->workflow_run_timeout = make_duration(a, (20 + (int64_t)rng_below(&r, 600)) * USEC_PER_SEC);
    if (rng_chance(&r, 8) && !q->workflow_execution_timeout)
        q->workflow_execution_timeout = make_duration(a, (20 + (int64_t)rng_below(&r, 600)) * USEC_PER_SEC);
    if (rng_chance(&r, 10) && !q->cron_schedule[0])
        q->workflow_start_delay = make_duration(a, (int64_t)rng_below(&r, 20 * USEC_PER_SEC));
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

static void errand_send(struct errand *e, size_t place) {
    static const enum rpc_kind kinds[] = {
        [ERRAND_START] = RPC_start_workflow,  [ERRAND_SIGNAL] = RPC_signal_workflow,
        [ERRAND_CANCEL] = RPC_request_cancel, [ERRAND_TERMINATE] = RPC_terminate_workflow,
        [ERRAND_QUERY] = RPC_query_workflow,  [ERRAND_BAD] = RPC_complete_activity,
    };
    struct rpc *r = rpc_new(e->w, kinds[e->kind], e, errand_ended);
    r->subject = (struct rpc_subject){.run = e->run,
                                      .request = e->request,
                                      .workflow_id = e->workflow_id,
                                      .by_chain = e->by_chain,
                                      .is_bad = e->kind == ERRAND_BAD || e->query_fails};
    e->calls[place] = r;
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
    case ERRAND_BAD:
        request = bad_request(e->w, &r->arena, &r->kind);
        break;
    }
    bool may_omit_deadline = e->kind == ERRAND_QUERY;
    rpc_send(r, request, may_omit_deadline && rng_chance(&e->w->rng, 3) ? CLOCK_NEVER : ERRAND_TIMEOUT_US);
}
