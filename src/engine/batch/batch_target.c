/* One target of a batch job: finding it, and asking of it what a client would ask.
 *
 * The request goes through the same function of the engine as a client's, so the rules are the same. A target
 * that is not there, or is closed already, is done. Its request id is made from the job and the run, so that
 * a request that is made again after a crash is known again. */
#include "base/mem.h"
#include "engine/batch/batch.h"
#include "engine/runtime/copy.h"
#include "engine/schedule/schedule.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define SCAN_EVENTS 256

struct batch_target {
    struct call call;
    struct arena arena;
    struct batch_errand errand;
    const char *namespace_name;
    Common__WorkflowExecution execution; /* with its run id, once it is found */
    const char *run_id; /* the same, also when a reset goes back to another run of its chain */
    char *request_id;
    /* A reset: how far the search for its event has come. */
    char *scan_run_id;
    int64_t scan_from;
    int64_t scheduled_id; /* the first task that was scheduled in it */
    int64_t found_id; /* in the run found_run_id */
    char *found_run_id;
    char *before_run_id; /* the run before it in the chain; NULL: not known yet */
};

/* the end */

static void target_free(struct batch_target *t) {
    arena_done(&t->arena);
    mem_free(t);
}

static bool is_gone(const struct err *e) {
    return e->code == ERR_NOT_FOUND || e->code == ERR_CLOSED;
}

static void target_report_outcome(struct batch_target *t, enum batch_outcome outcome, const struct err *e) {
    void *owner = take(&t->errand.owner);
    if (owner)
        t->errand.settled(owner, outcome, e);
}

static bool is_reset(const struct batch_target *t) {
    return t->errand.req->operation_case == WS__START_BATCH_OPERATION_REQUEST__OPERATION_RESET_OPERATION;
}

static void on_settled(struct call *c, const struct err *e) {
    struct batch_target *t = container_of(c, struct batch_target, call);
    if (e && e->code == ERR_CLOSED && is_reset(t))
        target_report_outcome(t, BATCH_PASSED, NULL);
    else if (!e || is_gone(e))
        target_report_outcome(t, BATCH_COMPLETE, NULL);
    else
        target_report_outcome(t, BATCH_FAILURE, e);
}

static void on_target_reply(struct call *c, const ProtobufCMessage *m unused_arg, struct str tail unused_arg) {
    target_free(container_of(c, struct batch_target, call));
}

static void on_target_fail(struct call *c, const struct err *e) {
    struct batch_target *t = container_of(c, struct batch_target, call);
    target_report_outcome(t, BATCH_FAILURE, e); /* nobody does, when not even an op could be made of it */
    target_free(t);
}

static const struct call_ops target_ops = {on_target_reply, on_target_fail, on_settled};

void batch_target_abandon(struct batch_target *t) {
    t->errand.owner = NULL;
}

static void pass_by(struct op *op, struct batch_target *t) {
    target_report_outcome(t, BATCH_PASSED, NULL);
    op_reply(op, NULL, (struct str){NULL, 0});
}

/* what is asked of it */

/* A target that closed since the query found it comes again among the closed runs. It must not be reset
 * twice. */
static void target_call(struct engine *e, struct batch_target *t, rpc_fn *rpc, const ProtobufCMessage *req) {
    if (rpc == rpc_reset_workflow && t->errand.was_open)
        reset_while_open(e, &t->call, (const Ws__ResetWorkflowExecutionRequest *)req, t->run_id);
    else
        engine_call(e, &t->call, rpc, req);
}

#define ASK(name, rpc, Message)                                                                              \
    static void ask_##name(struct op *op, struct batch_target *t) {                                          \
        Ws__##Message *r = arena_new(&t->arena, Ws__##Message);                                              \
        int rc = r ? fill_##name(r, t) : ERR_NO_MEMORY;                                                      \
        if (rc < 0 || arena_failed(&t->arena)) {                                                             \
            (void)op_out_of_memory(op);                                                                      \
            op_fail(op);                                                                                     \
            return;                                                                                          \
        }                                                                                                    \
        struct engine *e = op->e;                                                                            \
        op_finish(op);                                                                                       \
        target_call(e, t, rpc, &r->base);                                                                    \
    }

static int fill_termination(Ws__TerminateWorkflowExecutionRequest *r, struct batch_target *t) {
    const Batch__BatchOperationTermination *o = t->errand.req->termination_operation;
    ws__terminate_workflow_execution_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    r->reason = t->errand.req->reason;
    r->details = o->details;
    r->identity = o->identity;
    return 0;
}
ASK(termination, rpc_terminate_workflow, TerminateWorkflowExecutionRequest)

static int fill_cancellation(Ws__RequestCancelWorkflowExecutionRequest *r, struct batch_target *t) {
    ws__request_cancel_workflow_execution_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    r->identity = t->errand.req->cancellation_operation->identity;
    r->request_id = t->request_id;
    r->reason = t->errand.req->reason;
    return 0;
}
ASK(cancellation, rpc_request_cancel, RequestCancelWorkflowExecutionRequest)

static int fill_signal(Ws__SignalWorkflowExecutionRequest *r, struct batch_target *t) {
    const Batch__BatchOperationSignal *o = t->errand.req->signal_operation;
    ws__signal_workflow_execution_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    r->signal_name = o->signal;
    r->input = o->input;
    r->header = o->header;
    r->identity = o->identity;
    r->request_id = t->request_id;
    return 0;
}
ASK(signal, rpc_signal_workflow, SignalWorkflowExecutionRequest)

static int fill_deletion(Ws__DeleteWorkflowExecutionRequest *r, struct batch_target *t) {
    ws__delete_workflow_execution_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    return 0;
}
ASK(deletion, rpc_delete_workflow, DeleteWorkflowExecutionRequest)

static int fill_update_workflow_options(Ws__UpdateWorkflowExecutionOptionsRequest *r,
                                        struct batch_target *t) {
    const Batch__BatchOperationUpdateWorkflowExecutionOptions *o =
        t->errand.req->update_workflow_options_operation;
    ws__update_workflow_execution_options_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    r->workflow_execution_options = o->workflow_execution_options;
    r->update_mask = o->update_mask;
    r->identity = o->identity;
    return 0;
}
ASK(update_workflow_options, rpc_update_workflow_options, UpdateWorkflowExecutionOptionsRequest)

static int fill_unpause_activities(Ws__UnpauseActivityRequest *r, struct batch_target *t) {
    const Batch__BatchOperationUnpauseActivities *o = t->errand.req->unpause_activities_operation;
    ws__unpause_activity_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->execution = &t->execution;
    r->identity = o->identity;
    r->reset_attempts = o->reset_attempts;
    r->reset_heartbeat = o->reset_heartbeat;
    r->jitter = o->jitter;
    if (o->activity_case == BATCH__BATCH_OPERATION_UNPAUSE_ACTIVITIES__ACTIVITY_TYPE) {
        r->activity_case = WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_TYPE;
        r->type = o->type;
    } else {
        r->activity_case = WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_UNPAUSE_ALL;
        r->unpause_all = true;
    }
    return 0;
}
ASK(unpause_activities, rpc_unpause_activity, UnpauseActivityRequest)

static int fill_reset_activities(Ws__ResetActivityRequest *r, struct batch_target *t) {
    const Batch__BatchOperationResetActivities *o = t->errand.req->reset_activities_operation;
    ws__reset_activity_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->execution = &t->execution;
    r->identity = o->identity;
    r->reset_heartbeat = o->reset_heartbeat;
    r->keep_paused = o->keep_paused;
    r->jitter = o->jitter;
    r->restore_original_options = o->restore_original_options;
    if (o->activity_case == BATCH__BATCH_OPERATION_RESET_ACTIVITIES__ACTIVITY_TYPE) {
        r->activity_case = WS__RESET_ACTIVITY_REQUEST__ACTIVITY_TYPE;
        r->type = o->type;
    } else {
        r->activity_case = WS__RESET_ACTIVITY_REQUEST__ACTIVITY_MATCH_ALL;
        r->match_all = true;
    }
    return 0;
}
ASK(reset_activities, rpc_reset_activity, ResetActivityRequest)

static int fill_update_activity_options(Ws__UpdateActivityOptionsRequest *r, struct batch_target *t) {
    const Batch__BatchOperationUpdateActivityOptions *o = t->errand.req->update_activity_options_operation;
    ws__update_activity_options_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->execution = &t->execution;
    r->identity = o->identity;
    r->activity_options = o->activity_options;
    r->update_mask = o->update_mask;
    r->restore_original = o->restore_original;
    if (o->activity_case == BATCH__BATCH_OPERATION_UPDATE_ACTIVITY_OPTIONS__ACTIVITY_TYPE) {
        r->activity_case = WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_TYPE;
        r->type = o->type;
    } else {
        r->activity_case = WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_MATCH_ALL;
        r->match_all = true;
    }
    return 0;
}
ASK(update_activity_options, rpc_update_activity_options, UpdateActivityOptionsRequest)

/* schedules: execution.workflow_id is the schedule's id */

static int fill_patch(Ws__PatchScheduleRequest *r, struct batch_target *t, const char *identity) {
    ws__patch_schedule_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->schedule_id = t->execution.workflow_id;
    r->identity = (char *)(uintptr_t)identity;
    r->request_id = t->request_id;
    r->patch = pb_arena_new(&schedule__schedule_patch__descriptor, &t->arena);
    return r->patch ? 0 : ERR_NO_MEMORY;
}

static int fill_pause_schedules(Ws__PatchScheduleRequest *r, struct batch_target *t) {
    const Rondo__BatchOperationPauseSchedules *o = t->errand.req->pause_schedules_operation;
    int rc = fill_patch(r, t, o->identity);
    if (rc == 0)
        r->patch->pause = cstr_is_empty(o->note) ? t->errand.req->reason : o->note;
    return rc;
}
ASK(pause_schedules, rpc_patch_schedule, PatchScheduleRequest)

static int fill_unpause_schedules(Ws__PatchScheduleRequest *r, struct batch_target *t) {
    const Rondo__BatchOperationUnpauseSchedules *o = t->errand.req->unpause_schedules_operation;
    int rc = fill_patch(r, t, o->identity);
    if (rc == 0)
        r->patch->unpause = cstr_is_empty(o->note) ? t->errand.req->reason : o->note;
    return rc;
}
ASK(unpause_schedules, rpc_patch_schedule, PatchScheduleRequest)

static int fill_delete_schedules(Ws__DeleteScheduleRequest *r, struct batch_target *t) {
    ws__delete_schedule_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->schedule_id = t->execution.workflow_id;
    r->identity = t->errand.req->delete_schedules_operation->identity;
    return 0;
}
ASK(delete_schedules, rpc_delete_schedule, DeleteScheduleRequest)

/* A reset: the event where the task ended to which the run goes back. */

enum reset_to { RESET_TO_FIRST, RESET_TO_LAST, RESET_TO_EVENT, RESET_TO_BUILD };

static enum reset_to reset_to(const Batch__BatchOperationReset *o) {
    if (!o->options)
        return o->reset_type == RESET_TYPE_FIRST_WORKFLOW_TASK ? RESET_TO_FIRST : RESET_TO_LAST;
    switch (o->options->target_case) {
    case COMMON__RESET_OPTIONS__TARGET_FIRST_WORKFLOW_TASK:
        return RESET_TO_FIRST;
    case COMMON__RESET_OPTIONS__TARGET_WORKFLOW_TASK_ID:
        return RESET_TO_EVENT;
    case COMMON__RESET_OPTIONS__TARGET_BUILD_ID:
        return RESET_TO_BUILD;
    default:
        return RESET_TO_LAST;
    }
}

static bool is_of_build(const History__WorkflowTaskCompletedEventAttributes *a, const char *build_id) {
    return (a->worker_version && cstr_eq(a->worker_version->build_id, build_id)) ||
           (a->deployment_version && cstr_eq(a->deployment_version->build_id, build_id)) ||
           cstr_eq(a->binary_checksum, build_id);
}

/* Whether this event is what is looked for. */
static bool look_at(struct batch_target *t, const History__HistoryEvent *ev, const char *build_id) {
    if (ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_STARTED && !t->before_run_id)
        t->before_run_id = arena_strdup(
            &t->arena, ev->workflow_execution_started_event_attributes->continued_execution_run_id);
    if (ev->event_type == EVENT_TYPE_WORKFLOW_TASK_SCHEDULED && !t->scheduled_id)
        t->scheduled_id = ev->event_id;
    return ev->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED &&
           (!build_id || is_of_build(ev->workflow_task_completed_event_attributes, build_id));
}

/* Events are decoded one after the other into a scratch of their own: histories are long. */
static int scan_page(struct batch_target *t, struct str bytes, const char *build_id, int64_t *ret_found) {
    struct arena scratch;
    struct wire_field f;
    bool ok = true;
    arena_init(&scratch, ENGINE_BATCH_TARGET_BYTES);
    int rc = 0;
    while (rc == 0 && !*ret_found && wire_next_field(&bytes, &f, &ok)) {
        arena_clear(&scratch);
        History__HistoryEvent *ev;
        rc = event_unpack(&scratch, f.content, &ev);
        if (rc == 0 && look_at(t, ev, build_id))
            *ret_found = ev->event_id;
    }
    arena_done(&scratch);
    if (rc == 0 && arena_failed(&t->arena))
        rc = ERR_NO_MEMORY; /* or it would seem to be the first run of its chain */
    return rc;
}

/* The first completed task, of this build if one is named; 0 when there is none. */
static int scan_run(struct op *op, struct batch_target *t, const char *build_id, int64_t *ret_found) {
    const State__Execution *st = op->run->body->st;
    *ret_found = 0;
    while (t->scan_from < st->next_event_id && !*ret_found) {
        struct events_want want = {.from = t->scan_from,
                                   .until = st->next_event_id,
                                   .events_max = SCAN_EVENTS,
                                   .bytes_max = ENGINE_HISTORY_PAGE_BYTES};
        struct str bytes;
        int64_t next;
        int rc = op_need_events(op, &want, &bytes, &next);
        if (rc < 0)
            return rc;
        rc = scan_page(t, bytes, build_id, ret_found);
        if (rc < 0)
            return err_std(&op->err, rc);
        t->scan_from = next;
    }
    return 0;
}

static int no_task(struct op *op) {
    return err_set(&op->err, ERR_INVALID, "unable to find any scheduled or completed task");
}

static int find_first(struct op *op, struct batch_target *t) {
    int rc = scan_run(op, t, NULL, &t->found_id);
    if (rc == 0 && !t->found_id)
        t->found_id = t->scheduled_id ? t->scheduled_id + 1 : 0;
    return rc == 0 && !t->found_id ? no_task(op) : rc;
}

static int find_last(struct op *op, struct batch_target *t) {
    t->found_id = op->run->body->st->last_started_event_id;
    if (!t->found_id)
        return find_first(op, t);
    t->found_id++; /* nothing comes between the start of a task and its end */
    return 0;
}

/* Goes back along the chain: the build may have come into use in an earlier run. */
static int target_find_build(struct op *op, struct batch_target *t, struct space *space,
                      const Common__ResetOptions *o) {
    for (;;) {
        struct uuid run_id;
        int64_t found;
        int rc =
            uuid_parse(str_of(t->scan_run_id), &run_id) < 0 ? ERR_NOT_FOUND : op_need_run(op, space, run_id);
        if (rc == 0)
            rc = scan_run(op, t, o->build_id, &found);
        if (rc < 0 && rc != ERR_NOT_FOUND)
            return rc;
        if (rc == 0 && found) {
            t->found_id = found;
            t->found_run_id = t->scan_run_id;
        }
        if (rc == ERR_NOT_FOUND || o->current_run_only || cstr_is_empty(t->before_run_id))
            break;
        t->scan_run_id = take(&t->before_run_id);
        t->scan_from = 1;
    }
    if (!t->found_id)
        return err_set(&op->err, ERR_INVALID, "Can't find reset point for %s", o->build_id);
    t->execution.run_id = t->found_run_id;
    return 0;
}

static int find_event(struct op *op, struct batch_target *t, struct space *space) {
    const Batch__BatchOperationReset *o = t->errand.req->reset_operation;
    switch (reset_to(o)) {
    case RESET_TO_FIRST:
        return find_first(op, t);
    case RESET_TO_LAST:
        return find_last(op, t);
    case RESET_TO_BUILD:
        return target_find_build(op, t, space, o->options);
    case RESET_TO_EVENT:
        break;
    }
    t->found_id = o->options->workflow_task_id;
    return 0;
}

static int fill_reset(Ws__ResetWorkflowExecutionRequest *r, struct batch_target *t) {
    const Batch__BatchOperationReset *o = t->errand.req->reset_operation;
    ws__reset_workflow_execution_request__init(r);
    r->namespace_ = (char *)(uintptr_t)t->namespace_name;
    r->workflow_execution = &t->execution;
    r->reason = t->errand.req->reason;
    r->workflow_task_finish_event_id = t->found_id;
    r->request_id = t->request_id;
    r->reset_reapply_type = o->options ? o->options->reset_reapply_type : o->reset_reapply_type;
    if (o->options) {
        r->n_reset_reapply_exclude_types = o->options->n_reset_reapply_exclude_types;
        r->reset_reapply_exclude_types = o->options->reset_reapply_exclude_types;
    }
    r->n_post_reset_operations = o->n_post_reset_operations;
    r->post_reset_operations = o->post_reset_operations;
    r->identity = o->identity;
    return 0;
}

ASK(reset, rpc_reset_workflow, ResetWorkflowExecutionRequest)

/* finding it */

static int need_target(struct op *op, struct batch_target *t, struct space *space) {
    const struct batch_errand *er = &t->errand;
    if (!er->is_listed)
        return op_need_run(op, space, er->run_id);
    if (batch_is_about_schedules(er->req))
        return op_need_schedule(op, space, er->execution.workflow_id);
    return op_need_execution(op, space, &er->execution, NULL);
}

static int name_target(struct op *op, struct batch_target *t, const struct space *space) {
    const State__Execution *st = op->run->body->st;
    t->namespace_name = arena_strdup(&t->arena, space->st->name); /* which it may lose on the way */
    common__workflow_execution__init(&t->execution);
    t->execution.workflow_id =
        arena_strdup(&t->arena, st->schedule ? st->schedule->schedule_id : st->workflow_id);
    t->execution.run_id = arena_strdup(&t->arena, st->run_id);
    t->request_id = batch_request_id(t->errand.job->body->st, st->run_id, &t->arena);
    t->run_id = t->scan_run_id = t->execution.run_id;
    t->scan_from = 1;
    return arena_failed(&t->arena) ? op_out_of_memory(op) : 0;
}

static void target_request(struct op *op, struct batch_target *t) {
    switch ((int)t->errand.req->operation_case) {
#define BATCH(NAME, member, TYPE, subject, scope)                                                            \
    case WS__START_BATCH_OPERATION_REQUEST__OPERATION_##NAME##_OPERATION:                                    \
        ask_##member(op, t);                                                                                 \
        return;
#include "core/batch/batch.def"
#undef BATCH
    default:
        ensure(false); /* such a job is not begun */
    }
}

static void go_target(struct op *op) {
    struct batch_target *t = container_of(op->call, struct batch_target, call);
    struct space *space = space_by_id(op->e, t->errand.namespace_id);
    int rc = space ? 0 : err_set(&op->err, ERR_NOT_FOUND, "namespace not found");
    if (rc == 0 && !t->request_id) {
        rc = need_target(op, t, space);
        if (rc == 0 && is_reset(t) && !t->errand.is_listed &&
            batch_is_own_reset(t->errand.job->body->st, op->run->body->st)) {
            pass_by(op, t);
            return;
        }
        if (rc == 0)
            rc = name_target(op, t, space);
    }
    if (rc == 0 && is_reset(t))
        rc = find_event(op, t, space);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail(op);
    else
        target_request(op, t);
}

struct batch_target *batch_target_begin(const struct batch_errand *errand) {
    struct batch_target *t = mem_zalloc(sizeof(*t));
    if (!t)
        return NULL;
    arena_init(&t->arena, ENGINE_BATCH_TARGET_BYTES);
    t->call = (struct call){.ops = &target_ops, .arena = &t->arena, .deadline = {CLOCK_NEVER}};
    t->errand = *errand;
    struct op *op = op_new(errand->e, &t->call, t, go_target);
    if (op)
        go_target(op);
    return t; /* perhaps gone; good only for whoever was not told that it is settled */
}
