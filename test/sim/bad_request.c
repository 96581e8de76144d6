/* G10: a namespace's runs and tasks cannot be reached through another. G11: a wrong id or token is refused.
 */
#include "bad_request.h"

#include "activity_slot.h"
#include "request.h"
#include "worker.h"

static const char *other_namespace(const char *namespace_name) {
    return cstr_eq(namespace_name, "default") ? "other" : "default";
}

/* Bytes that have the shape of a token, for a task that never was. */
static ProtobufCBinaryData invented_token(struct arena *a) {
    static const char shape[] = "\x0a\x24"
                                "00000000-0000-4000-8000-000000000000"
                                "\x12\x04none\x1a\x24"
                                "00000000-0000-4000-8000-000000000001"
                                "\x20\x05\x28\x01";
    ProtobufCBinaryData token = {.len = sizeof(shape) - 1, .data = arena_dup(a, shape, sizeof(shape) - 1)};
    ensure(token.data);
    return token;
}

/* The answer to a task that another namespace's worker holds, or to one that does not exist. */
static const void *bad_completion(struct world *w, struct arena *a) {
    const struct worker *worker = &w->workers[rng_below(&w->rng, w->profile.worker_count)];
    struct activity_slot *slot = &worker->activity_slots[rng_below(&w->rng, worker->activity_slot_count)];
    Ws__RespondActivityTaskCompletedRequest *q =
        MAKE(a, Ws__RespondActivityTaskCompletedRequest, ws__respond_activity_task_completed_request__init);
    q->namespace_ = make_text(a, "%s", other_namespace(worker->namespace_name));
    q->task_token = slot->token_len > 0
                        ? make_bytes(a, (ProtobufCBinaryData){.len = slot->token_len, .data = slot->token})
                        : invented_token(a);
    return q;
}

/* A run, asked for in the other namespace. */
static Common__WorkflowExecution *run_elsewhere(struct world *w, struct arena *a, char **ret_namespace) {
    const struct run_model *run = w->model.in_order[rng_below(&w->rng, w->model.run_count)];
    *ret_namespace = make_text(a, "%s", other_namespace(make_namespace(a, run->workflow_id)));
    return make_execution(a, run->workflow_id, run->run_id);
}

static const void *bad_describe(struct world *w, struct arena *a) {
    Ws__DescribeWorkflowExecutionRequest *q =
        MAKE(a, Ws__DescribeWorkflowExecutionRequest, ws__describe_workflow_execution_request__init);
    q->execution = run_elsewhere(w, a, &q->namespace_);
    return q;
}

static const void *bad_history(struct world *w, struct arena *a) {
    Ws__GetWorkflowExecutionHistoryRequest *q =
        MAKE(a, Ws__GetWorkflowExecutionHistoryRequest, ws__get_workflow_execution_history_request__init);
    q->execution = run_elsewhere(w, a, &q->namespace_);
    return q;
}

static const void *bad_terminate(struct world *w, struct arena *a) {
    Ws__TerminateWorkflowExecutionRequest *q =
        MAKE(a, Ws__TerminateWorkflowExecutionRequest, ws__terminate_workflow_execution_request__init);
    q->workflow_execution = run_elsewhere(w, a, &q->namespace_);
    return q;
}

static const void *bad_delete(struct world *w, struct arena *a) {
    Ws__DeleteWorkflowExecutionRequest *q =
        MAKE(a, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    q->workflow_execution = run_elsewhere(w, a, &q->namespace_);
    return q;
}

static const void *bad_signal(struct world *w, struct arena *a) {
    Ws__SignalWorkflowExecutionRequest *q =
        MAKE(a, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    bool is_garbled = rng_chance(&w->rng, 2);
    q->namespace_ = make_text(a, "default");
    q->workflow_execution = make_execution(a, "default/nobody", is_garbled ? "not-a-run" : NULL);
    q->signal_name = make_text(a, "poke");
    return q;
}

const void *bad_request(struct world *w, struct arena *a, enum rpc_kind *ret_kind) {
    static const struct {
        enum rpc_kind kind;
        const void *(*make)(struct world *w, struct arena *a);
    } kinds[] = {
        {RPC_complete_activity, bad_completion}, {RPC_describe_workflow, bad_describe},
        {RPC_signal_workflow, bad_signal},       {RPC_get_history, bad_history},
        {RPC_terminate_workflow, bad_terminate}, {RPC_delete_workflow, bad_delete},
    };
    size_t i = (size_t)rng_below(&w->rng, ARRAY_LEN(kinds));
    *ret_kind = kinds[i].kind;
    return kinds[i].make(w, a);
}
