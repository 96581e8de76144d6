/* Intents of a program as command messages, with options that follow from program and number alone. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/rng.h"
#include "names.h"
#include "program.h"
#include "request.h"
#include "worker.h"

static void activity_timeouts(Command__ScheduleActivityTaskCommandAttributes *at,
                              const struct activity_plan *plan, struct rng *r, struct arena *a) {
    at->start_to_close_timeout = make_duration(a, (5 + (int64_t)rng_below(r, 20)) * USEC_PER_SEC);
    if (rng_chance(r, 4))
        at->schedule_to_close_timeout = make_duration(a, (30 + (int64_t)rng_below(r, 300)) * USEC_PER_SEC);
    if (rng_chance(r, 6))
        at->schedule_to_start_timeout = make_duration(a, (5 + (int64_t)rng_below(r, 60)) * USEC_PER_SEC);
    if (plan->heartbeat_ms)
        at->heartbeat_timeout = make_duration(a, plan->heartbeat_ms * USEC_PER_MS);
}

static void command_schedule(const struct program *p, uint32_t number, struct arena *a, Command__Command *c) {
    struct rng r;
    rng_init(&r, p->seed + number);
    struct activity_plan plan = program_activity(p, number);
    Command__ScheduleActivityTaskCommandAttributes *at =
        MAKE(a, Command__ScheduleActivityTaskCommandAttributes,
             command__schedule_activity_task_command_attributes__init);
    at->activity_id = make_text(a, "a%" PRIu32, number);
    at->activity_type = MAKE(a, Common__ActivityType, common__activity_type__init);
    at->activity_type->name = make_text(a, "work");
    at->task_queue = make_queue(a, WORKER_QUEUE, NULL);
    at->input = make_payloads(a, make_text(a, "fails=%" PRIu32 " work=%" PRIu32 " heartbeat=%" PRIu32,
                                           plan.fails, plan.work_ms, plan.heartbeat_ms));
    at->request_eager_execution = number % 3 == 0;
    activity_timeouts(at, &plan, &r, a);
    if (rng_chance(&r, 2))
        at->retry_policy = make_retry(a, &r);
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    c->schedule_activity_task_command_attributes = at;
}

static void command_timer(const struct intent *intent, struct arena *a, Command__Command *c) {
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_TIMER_COMMAND_ATTRIBUTES;
    c->start_timer_command_attributes =
        MAKE(a, Command__StartTimerCommandAttributes, command__start_timer_command_attributes__init);
    c->start_timer_command_attributes->timer_id = make_text(a, "t%" PRIu32, intent->number);
    c->start_timer_command_attributes->start_to_fire_timeout =
        make_duration(a, intent->time_ms * USEC_PER_MS);
}

static void command_cancel(const struct intent *intent, struct arena *a, Command__Command *c) {
    if (intent->command_type == COMMAND_TYPE_CANCEL_TIMER) {
        c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_CANCEL_TIMER_COMMAND_ATTRIBUTES;
        c->cancel_timer_command_attributes =
            MAKE(a, Command__CancelTimerCommandAttributes, command__cancel_timer_command_attributes__init);
        c->cancel_timer_command_attributes->timer_id = make_text(a, "t%" PRIu32, intent->number);
        return;
    }
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_REQUEST_CANCEL_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    c->request_cancel_activity_task_command_attributes =
        MAKE(a, Command__RequestCancelActivityTaskCommandAttributes,
             command__request_cancel_activity_task_command_attributes__init);
    c->request_cancel_activity_task_command_attributes->scheduled_event_id = intent->event_id;
}

/* The same number always makes the same child. */
static void command_child(const struct program *p, const struct intent *intent, struct arena *a,
                          Command__Command *c) {
    static const E__WorkflowIdReusePolicy reuse[] = {
        WORKFLOW_ID_REUSE_POLICY_UNSPECIFIED, WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
        WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY, WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE};
    struct rng r;
    rng_init(&r, p->seed ^ (UINT64_C(0xc2b2ae3d27d4eb4f) * (intent->number + 1)));
    Command__StartChildWorkflowExecutionCommandAttributes *at =
        MAKE(a, Command__StartChildWorkflowExecutionCommandAttributes,
             command__start_child_workflow_execution_command_attributes__init);
    at->workflow_id = make_text(a, "%s.%" PRIu32, p->workflow_id, intent->number);
    at->workflow_type = MAKE(a, Common__WorkflowType, common__workflow_type__init);
    at->workflow_type->name = make_text(a, "program");
    at->task_queue = make_queue(a, WORKER_QUEUE, NULL);
    at->input = make_payloads(a, make_text(a, PROGRAM_CHILD " %016" PRIx64 " lap=0", rng_u64(&r)));
    at->parent_close_policy = (E__ParentClosePolicy)child_policy(intent->mode);
    at->workflow_id_reuse_policy = reuse[rng_below(&r, ARRAY_LEN(reuse))];
    if (rng_chance(&r, 4))
        at->retry_policy = make_run_retry(a, &r);
    if (rng_chance(&r, 6))
        at->workflow_run_timeout = make_duration(a, (10 + (int64_t)rng_below(&r, 200)) * USEC_PER_SEC);
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->start_child_workflow_execution_command_attributes = at;
}

/* A child, or a workflow of some client, which may exist or not. */
static Common__WorkflowExecution *external_target(const struct program *p, const struct intent *intent,
                                                  struct arena *a) {
    Common__WorkflowExecution *target = MAKE(a, Common__WorkflowExecution, common__workflow_execution__init);
    target->workflow_id = intent->about != UINT32_MAX
                              ? make_text(a, "%s.%" PRIu32, p->workflow_id, intent->about)
                              : make_text(a, "w%" PRIu32 "-%" PRIu32, intent->mode / 8 % 2, intent->mode % 8);
    return target;
}

static void command_signal(const struct program *p, const struct intent *intent, struct arena *a,
                           Command__Command *c) {
    Command__SignalExternalWorkflowExecutionCommandAttributes *at =
        MAKE(a, Command__SignalExternalWorkflowExecutionCommandAttributes,
             command__signal_external_workflow_execution_command_attributes__init);
    at->execution = external_target(p, intent, a);
    at->signal_name = make_text(a, "poke");
    at->input = make_payloads(a, make_text(a, "%s/%" PRIu32, p->run_id, intent->number));
    at->control = make_text(a, "x%" PRIu32, intent->number);
    at->child_workflow_only = intent->about != UINT32_MAX;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->signal_external_workflow_execution_command_attributes = at;
}

static void command_cancel_external(const struct program *p, const struct intent *intent, struct arena *a,
                                    Command__Command *c) {
    Command__RequestCancelExternalWorkflowExecutionCommandAttributes *at =
        MAKE(a, Command__RequestCancelExternalWorkflowExecutionCommandAttributes,
             command__request_cancel_external_workflow_execution_command_attributes__init);
    const Common__WorkflowExecution *target = external_target(p, intent, a);
    at->workflow_id = target->workflow_id;
    at->control = make_text(a, "x%" PRIu32, intent->number);
    at->child_workflow_only = intent->about != UINT32_MAX;
    c->attributes_case =
        COMMAND__COMMAND__ATTRIBUTES_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->request_cancel_external_workflow_execution_command_attributes = at;
}

static void command_continue(const struct program *p, struct arena *a, Command__Command *c) {
    Command__ContinueAsNewWorkflowExecutionCommandAttributes *at =
        MAKE(a, Command__ContinueAsNewWorkflowExecutionCommandAttributes,
             command__continue_as_new_workflow_execution_command_attributes__init);
    at->workflow_type = MAKE(a, Common__WorkflowType, common__workflow_type__init);
    at->workflow_type->name = make_text(a, "program");
    at->task_queue = make_queue(a, WORKER_QUEUE, NULL);
    at->input =
        make_payloads(a, make_text(a, "%s %016" PRIx64 " lap=%" PRIu32, p->request_id, p->seed, p->lap + 1));
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_CONTINUE_AS_NEW_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->continue_as_new_workflow_execution_command_attributes = at;
}

static void command_close(const struct program *p, const struct intent *intent, struct arena *a,
                          Command__Command *c) {
    Common__Payloads *result = make_payloads(a, make_text(a, "signals=%" PRIu32, p->signals));
    if (intent->command_type == COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION) {
        c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_COMPLETE_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
        c->complete_workflow_execution_command_attributes =
            MAKE(a, Command__CompleteWorkflowExecutionCommandAttributes,
                 command__complete_workflow_execution_command_attributes__init);
        c->complete_workflow_execution_command_attributes->result = result;
    } else if (intent->command_type == COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION) {
        c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_FAIL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
        c->fail_workflow_execution_command_attributes =
            MAKE(a, Command__FailWorkflowExecutionCommandAttributes,
                 command__fail_workflow_execution_command_attributes__init);
        c->fail_workflow_execution_command_attributes->failure =
            make_failure(a, "the program ends like this", false);
    } else {
        c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_CANCEL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
        c->cancel_workflow_execution_command_attributes =
            MAKE(a, Command__CancelWorkflowExecutionCommandAttributes,
                 command__cancel_workflow_execution_command_attributes__init);
        c->cancel_workflow_execution_command_attributes->details = result;
    }
}

Command__Command *program_command(const struct program *p, const struct intent *intent, struct arena *a) {
    Command__Command *c = MAKE(a, Command__Command, command__command__init);
    c->command_type = (E__CommandType)intent->command_type;
    switch (intent->command_type) {
    case COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK:
        command_schedule(p, intent->number, a, c);
        break;
    case COMMAND_TYPE_START_TIMER:
        command_timer(intent, a, c);
        break;
    case COMMAND_TYPE_CANCEL_TIMER:
    case COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK:
        command_cancel(intent, a, c);
        break;
    case COMMAND_TYPE_RECORD_MARKER:
        c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_RECORD_MARKER_COMMAND_ATTRIBUTES;
        c->record_marker_command_attributes =
            MAKE(a, Command__RecordMarkerCommandAttributes, command__record_marker_command_attributes__init);
        c->record_marker_command_attributes->marker_name = make_text(a, "here");
        break;
    case COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION:
        command_child(p, intent, a, c);
        break;
    case COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION:
        command_signal(p, intent, a, c);
        break;
    case COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION:
        command_cancel_external(p, intent, a, c);
        break;
    case COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
        command_continue(p, a, c);
        break;
    default:
        command_close(p, intent, a, c);
        break;
    }
    return c;
}
