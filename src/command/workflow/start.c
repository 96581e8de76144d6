/* `workflow start`, and the start in `workflow execute`.
 *
 * A workflow that runs already is no failure: the command uses that run, as Temporal's CLI does, unless
 * --fail-existing is given. The server refuses such a start, and the details of its status name the run. */
#include "command/connection.h"
#include "command/workflow/workflow.h"
#include "errordetails.pb-c.h"
#include "google/protobuf/any.pb-c.h"
#include "rpc.pb-c.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

/* The id of the running run; NULL when the details do not have it. */
static const char *start_existing_run(struct command *c, struct str details) {
    ProtobufCMessage *status, *failure;
    struct err e;
    if (!details.n || wire_decode(&rpc__status__descriptor, details, &c->arena, &status, &e) < 0)
        return NULL;
    const Rpc__Status *s = (const void *)status;
    for (size_t i = 0; i < s->n_details; i++) {
        const Google__Protobuf__Any *any = s->details[i];
        const char *slash = strrchr(any->type_url, '/');
        if (!slash ||
            !cstr_eq(slash + 1, "temporal.api.errordetails.v1.WorkflowExecutionAlreadyStartedFailure") ||
            wire_decode(&detail__workflow_execution_already_started_failure__descriptor,
                        str_bytes(any->value.data, any->value.len), &c->arena, &failure, &e) < 0)
            continue;
        const char *run_id = ((const Detail__WorkflowExecutionAlreadyStartedFailure *)failure)->run_id;
        return cstr_is_empty(run_id) ? NULL : run_id;
    }
    return NULL;
}

enum command_exit start_workflow(struct command *c, ProtobufCMessage **ret) {
    struct str details = {NULL, 0};
    bool fails = opt_named_flag(c->args, "fail-existing");
    struct connection_ask ask = {.method = CALL_StartWorkflowExecution,
                                 .request = c->request,
                                 .expected = fails ? GRPC_OK : GRPC_ALREADY_EXISTS,
                                 .ret_details = &details};
    enum command_exit code = connection_call(c, &ask, &c->arena, ret);
    if (code != COMMAND_DONE || *ret)
        return code;
    const char *run_id = start_existing_run(c, details);
    if (!run_id) {
        command_print_error("a workflow with this id is running, and the server does not report its run id");
        return COMMAND_REFUSED;
    }
    Ws__StartWorkflowExecutionResponse *r = arena_alloc(&c->arena, sizeof(*r));
    if (!r) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    ws__start_workflow_execution_response__init(r);
    r->run_id = (char *)(uintptr_t)run_id; /* never written */
    *ret = &r->base;
    return COMMAND_DONE;
}

enum command_exit workflow_start_run(struct command *c, struct buf *out) {
    ProtobufCMessage *m;
    enum command_exit code = start_workflow(c, &m);
    if (code != COMMAND_DONE)
        return code;
    return view_page(c, m, out) < 0 ? COMMAND_REFUSED : COMMAND_DONE;
}
