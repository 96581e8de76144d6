/* A run in the words of the API, built from its state. */
#include "engine/execution_info.h"

#include "engine/copy.h"
#include "engine/response.h"

static Common__WorkflowExecution *execution_of(struct arena *a, const char *workflow_id, const char *run_id) {
    Common__WorkflowExecution *ex = arena_new(a, Common__WorkflowExecution);
    if (!ex)
        return NULL;
    common__workflow_execution__init(ex);
    ex->workflow_id = arena_strdup(a, workflow_id);
    ex->run_id = arena_strdup(a, run_id);
    return ex;
}

static void *copy_or_null(struct arena *a, const void *m) {
    return m ? message_copy(a, m) : NULL;
}

/* Clients read into these without asking whether they are there. */
static void *copy_or_empty(struct arena *a, const void *m, const ProtobufCMessageDescriptor *d) {
    if (m)
        return message_copy(a, m);
    ProtobufCMessage *empty = arena_alloc(a, d->sizeof_message);
    if (empty)
        protobuf_c_message_init(d, empty);
    return empty;
}

Workflow__WorkflowExecutionInfo *execution_info(struct arena *a, const State__Execution *st) {
    Workflow__WorkflowExecutionInfo *i = arena_new(a, Workflow__WorkflowExecutionInfo);
    Common__WorkflowType *type = arena_new(a, Common__WorkflowType);
    if (!i || !type)
        return NULL;
    workflow__workflow_execution_info__init(i);
    common__workflow_type__init(type);
    type->name = arena_strdup(a, st->workflow_type);
    i->execution = execution_of(a, st->workflow_id, st->run_id);
    i->root_execution = execution_of(a, st->root_workflow_id, st->root_run_id);
    if (st->parent) {
        i->parent_namespace_id = arena_strdup(a, st->parent->namespace_id);
        i->parent_execution = execution_of(a, st->parent->workflow_id, st->parent->run_id);
    }
    i->type = type;
    i->start_time = response_time(a, st->start_us);
    i->close_time = response_time(a, st->close_us);
    i->execution_time = response_time(a, st->execution_us);
    i->status = (E__WorkflowExecutionStatus)st->status;
    i->history_length = st->next_event_id - 1;
    i->history_size_bytes = st->history_bytes;
    i->state_transition_count = st->transition_count;
    i->memo = copy_or_empty(a, st->memo, &common__memo__descriptor);
    i->search_attributes = copy_or_empty(a, st->search_attributes, &common__search_attributes__descriptor);
    i->task_queue = arena_strdup(a, st->task_queue);
    i->first_run_id = arena_strdup(a, st->first_run_id);
    i->priority = copy_or_null(a, st->priority);
    if (st->close_us)
        i->execution_duration = response_duration(a, st->close_us - st->execution_us);
    return i;
}
