/* A run in the words of the API, built from its state. */
#include "engine/workflow/execution_info.h"

#include "core/version/versioning.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/response.h"

static Common__WorkflowExecution *execution_of(struct arena *a, char *workflow_id, char *run_id) {
    Common__WorkflowExecution *ex = arena_new(a, Common__WorkflowExecution);
    if (!ex)
        return NULL;
    common__workflow_execution__init(ex);
    ex->workflow_id = workflow_id;
    ex->run_id = run_id;
    return ex;
}

/* Clients read into these without asking whether they are there. */
static void *itself_or_empty(struct arena *a, void *m, const ProtobufCMessageDescriptor *d) {
    if (m)
        return m;
    ProtobufCMessage *empty = arena_alloc(a, d->sizeof_message);
    if (empty)
        protobuf_c_message_init(d, empty);
    return empty;
}

/* Older clients read the deprecated fields of an override. */
static Workflow__VersioningOverride *shown_override(struct arena *a, const Workflow__VersioningOverride *o) {
    Workflow__VersioningOverride *copy = o ? message_copy(a, &o->base) : NULL;
    if (!copy)
        return NULL;
    if (copy->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED) {
        copy->behavior = VERSIONING_BEHAVIOR_PINNED;
        copy->pinned_version = version_text(a, versioning_override_target(o), VERSION_OLD_DELIMITER, "");
    } else if (copy->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_AUTO_UPGRADE) {
        copy->behavior = VERSIONING_BEHAVIOR_AUTO_UPGRADE;
    }
    return copy;
}

static Workflow__DeploymentVersionTransition *shown_move(struct arena *a, const State__Versioning *v) {
    Workflow__DeploymentVersionTransition *t =
        v->is_moving ? arena_new(a, Workflow__DeploymentVersionTransition) : NULL;
    if (!t)
        return NULL;
    workflow__deployment_version_transition__init(t);
    t->version = version_text(a, version_of(v->moving_to), VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
    t->deployment_version = version_message(a, version_of(v->moving_to));
    return t;
}

static Workflow__WorkflowExecutionVersioningInfo *versioning_info(struct arena *a,
                                                                  const State__Versioning *v) {
    Workflow__WorkflowExecutionVersioningInfo *i =
        v ? arena_new(a, Workflow__WorkflowExecutionVersioningInfo) : NULL;
    if (!i)
        return NULL;
    workflow__workflow_execution_versioning_info__init(i);
    i->behavior = (E__VersioningBehavior)v->behavior;
    i->version = version_text(a, version_of(v->version), VERSION_OLD_DELIMITER, "");
    i->deployment_version = version_message(a, version_of(v->version));
    i->versioning_override = shown_override(a, v->override);
    i->version_transition = shown_move(a, v);
    i->revision_number = v->revision;
    i->continue_as_new_initial_versioning_behavior = (E__ContinueAsNewVersioningBehavior)v->initial_behavior;
    return i;
}

Workflow__WorkflowExecutionInfo *execution_info(struct arena *a, const State__Execution *st) {
    Workflow__WorkflowExecutionInfo *i = arena_new(a, Workflow__WorkflowExecutionInfo);
    Common__WorkflowType *type = arena_new(a, Common__WorkflowType);
    if (!i || !type)
        return NULL;
    workflow__workflow_execution_info__init(i);
    common__workflow_type__init(type);
    type->name = st->workflow_type;
    i->execution = execution_of(a, st->workflow_id, st->run_id);
    i->root_execution = execution_of(a, st->root_workflow_id, st->root_run_id);
    if (st->parent) {
        i->parent_namespace_id = st->parent->namespace_id;
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
    i->memo = itself_or_empty(a, st->memo, &common__memo__descriptor);
    i->search_attributes = itself_or_empty(a, st->search_attributes, &common__search_attributes__descriptor);
    i->task_queue = st->task_queue;
    i->first_run_id = st->first_run_id;
    i->priority = st->priority;
    i->most_recent_worker_version_stamp = st->worker_version;
    i->worker_deployment_name = st->worker_deployment_name;
    i->versioning_info = versioning_info(a, st->versioning);
    if (st->close_us)
        i->execution_duration = response_duration(a, st->close_us - st->execution_us);
    return i;
}
