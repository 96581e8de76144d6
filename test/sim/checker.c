/* Compares the server's answers with the model, and lets the model learn from them. */
#include "checker.h"

#include <inttypes.h>
#include <stdio.h>

#include "control.h"
#include "history.h"
#include "history_rules.h"
#include "names.h"
#include "override.h"
#include "reset.h"
#include "rpc.h"
#include "task_checker.h"
#include "update.h"

#define HISTORY_FIELD 1 /* of GetWorkflowExecutionHistoryResponse */

/* G2: a request id that is sent again gets the same run. */
static void check_same_run_for_request(struct world *w, struct request_model *request,
                                       struct run_model *run) {
    if (request->run && request->run != run && !model_may_be_forgotten(&w->model, request->run) &&
        !model_may_be_displaced(&w->model, request->run))
        world_fail(w, "same_run_for_request", "request=%s gave run=%s and run=%s", request->id,
                   request->run->run_id, run->run_id);
    request->is_repeated |= request->run && request->run != run;
    request->run = run;
    run->request = request;
}

/* G2: what the policies for workflow ids promise, as far as it shows at once: also where the clock jumps.
 * When everything is known, tenure.c says the rest. */
static void check_id_policy(struct world *w, const struct request_model *request,
                            const struct run_model *run) {
    const struct run_model *before = run->older;
    if (!before || before->after || before->ended_by_reset)
        return;
    if (before->number >= request->runs_met)
        return; /* the answer came late: that run may have followed this one */
    for (const struct run_model *older = before; older; older = older->older)
        if (older->is_deleted)
            return; /* it may have been the one that counts */
    if (model_may_have_unmet(&w->model, request))
        return; /* and so may that one */
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
        world_fail(w, "id_policy",
                   "request=%s made run=%s although run=%s exists and duplicates are rejected", request->id,
                   run->run_id, before->run_id);
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY &&
        before->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
        world_fail(w, "id_policy", "request=%s made run=%s although run=%s completed", request->id,
                   run->run_id, before->run_id);
}

/* What a start that was answered with OK binds the server to. */
static void start_acknowledged(struct rpc *r, const char *run_id, bool is_started) {
    struct world *w = r->w;
    struct request_model *request = r->subject.request;
    if (strlen(run_id) != UUID_TEXT_LEN) {
        world_fail(w, "start_names_run", "run id '%s'", run_id);
        return;
    }
    struct run_model *run = model_meet(&w->model, run_id, r->subject.workflow_id);
    if (!cstr_eq(run->workflow_id, r->subject.workflow_id)) {
        world_fail(w, "start_names_run", "run=%s belongs to another workflow id", run_id);
        return;
    }
    run->start_acked = true;
    run->audit_wanted = true;
    if (!is_started)
        return;
    check_same_run_for_request(w, request, run);
    if (request->is_acked)
        return;
    request->is_acked = true;
    w->tally.starts++;
    check_id_policy(w, request, run);
    /* The answer may come late: then runs that were met before may have followed this one. */
    for (struct run_model *older = run->older; older; older = older->older)
        older->superseded |= older->first_run_id[0] && !cstr_eq(older->first_run_id, run->run_id);
}

static void on_start(struct rpc *r) {
    const Ws__StartWorkflowExecutionResponse *m = (const void *)r->response;
    start_acknowledged(r, m->run_id, m->started);
}

/* G9: the signal is in the run that is named, or in one before it that had closed when it was sent again. */
static void on_signal_with_start(struct rpc *r) {
    const Ws__SignalWithStartWorkflowExecutionResponse *m = (const void *)r->response;
    struct request_model *signal = r->subject.request->rider;
    start_acknowledged(r, m->run_id, m->started);
    if (!signal->is_acked)
        r->w->tally.signals++;
    signal->is_acked = true;
    signal->acked_us = r->w->now.mono.us;
}

static void on_update_with_start(struct rpc *r) {
    const Ws__ExecuteMultiOperationRequest *q = r->request;
    const Ws__ExecuteMultiOperationResponse *m = (const void *)r->response;
    if (m->n_responses != 2 || !m->responses[0]->start_workflow || !m->responses[1]->update_workflow) {
        world_fail(r->w, "update_outcome", "update with start has %zu answers", m->n_responses);
        return;
    }
    start_acknowledged(r, m->responses[0]->start_workflow->run_id, m->responses[0]->start_workflow->started);
    update_on_answer(r->w, r->subject.request->rider, q->namespace_, m->responses[1]->update_workflow);
}

static void on_signal(struct rpc *r) {
    struct request_model *signal = r->subject.request;
    if (!signal->is_acked) {
        r->w->tally.signals++;
        if (signal->run)
            signal->run->signals_acked++;
    }
    signal->is_acked = true;
    signal->acked_us = r->w->now.mono.us;
}

/* G4: a recorded completion is never repeated, and only the current attempt may answer. */
static void check_activity_completed_once(struct rpc *r, struct activity_model *a) {
    if (!a->was_reset && (r->subject.attempt <= a->failed_attempt || r->subject.attempt < a->handed_attempt))
        world_fail(r->w, "stale_attempt_refused",
                   "run=%s activity=%" PRIu32 " attempt=%" PRId32 " answers, attempt %" PRId32
                   " was handed out, %" PRId32 " failed",
                   r->subject.run->run_id, r->subject.activity, r->subject.attempt, a->handed_attempt,
                   a->failed_attempt);
    if (a->completion_acked || a->cancel_acked)
        world_fail(r->w, "activity_completed_once", "run=%s activity=%" PRIu32 " is acknowledged again",
                   r->subject.run->run_id, r->subject.activity);
}

static void on_activity_answer(struct rpc *r) {
    struct activity_model *a = &r->subject.run->activities[r->subject.activity];
    check_activity_completed_once(r, a);
    if (r->kind == RPC_fail_activity) {
        a->failed_attempt = MAX(a->failed_attempt, r->subject.attempt);
        return;
    }
    r->w->tally.activities++;
    a->acked_us = r->w->now.mono.us;
    if (r->kind == RPC_cancel_activity) {
        a->cancel_acked = true;
        return;
    }
    a->completion_acked = true;
    memcpy(a->acked_result, r->subject.result, sizeof(a->acked_result));
}

static void on_task_failure(struct rpc *r) {
    struct run_model *run = r->subject.run;
    if (r->subject.attempt > 1)
        return; /* a retried task that fails leaves no event */
    run->failed_task_acked = MAX(run->failed_task_acked, r->subject.started_event_id);
    run->failed_task_acked_us = r->w->now.mono.us;
}

/* G8: what a describe says must be on disk, so later reads cannot show less. G5: closed stays closed. */
static void check_describe(struct rpc *r) {
    struct run_model *run = r->subject.run;
    const Ws__DescribeWorkflowExecutionResponse *m = (const void *)r->response;
    const Workflow__WorkflowExecutionInfo *info = m->workflow_execution_info;
    if (!info || !info->execution || !cstr_eq(info->execution->run_id, run->run_id)) {
        world_fail(r->w, "describe", "run=%s is answered with another run", run->run_id);
        return;
    }
    if (info->history_length < (int64_t)r->subject.known_events)
        world_fail(r->w, "describe", "run=%s has %" PRId64 " events, %zu were known", run->run_id,
                   info->history_length, r->subject.known_events);
    if (run->close_type && info->status == WORKFLOW_EXECUTION_STATUS_RUNNING)
        world_fail(r->w, "describe", "run=%s is said to run, but it closed", run->run_id);
    run->length_told = MAX(run->length_told, info->history_length);
}

/* Queries see every signal that was acknowledged before they were sent. Whether the run was closed from
 * outside (then signals may be dropped) is known at the audit. */
static void check_query(struct rpc *r) {
    struct run_model *run = r->subject.run;
    const Ws__QueryWorkflowResponse *m = (const void *)r->response;
    if (m->query_rejected) {
        const Ws__QueryWorkflowRequest *q = r->request;
        if (q->query_reject_condition == QUERY_REJECT_CONDITION_UNSPECIFIED && !run->was_paused)
            world_fail(r->w, "query", "run=%s rejected without a condition", run->run_id);
        return;
    }
    char text[96], run_id[UUID_TEXT_LEN + 1];
    uint32_t signals;
    payload_text(m->query_result, text, sizeof(text));
    if (sscanf(text, "run=%36s signals=%" SCNu32, run_id, &signals) != 2 || !cstr_eq(run_id, run->run_id))
        world_fail(r->w, "query", "run=%s is answered '%s'", run->run_id, text);
    else if (signals < r->subject.known_signals)
        run->stale_query_us = r->w->now.mono.us;
    r->w->tally.queries++;
}

static void on_cancel(struct rpc *r) {
    struct run_model *run = r->subject.run;
    if (r->subject.by_chain) {
        run->chain_cancelled_wall_us = r->w->now.wall.us;
        return;
    }
    run->cancel_acked_us = r->w->now.mono.us;
    run->cancel_acked_wall_us = r->w->now.wall.us;
}

/* A task that only carries updates is shown to whoever reads the whole history while a worker has it: the
 * worker may be the reader. Its two events may vanish again. */
static int64_t first_provisional(const struct rpc *r) {
    const Ws__GetWorkflowExecutionHistoryResponse *m = (const void *)r->response;
    size_t count = m->history ? m->history->n_events : 0;
    if (r->subject.provisional_id)
        return r->subject.provisional_id;
    bool is_end = count > 0 && m->next_page_token.len == 0;
    if (!is_end || m->history->events[count - 1]->event_type != EVENT_TYPE_WORKFLOW_TASK_STARTED)
        return HISTORY_ALL_DURABLE;
    bool has_both =
        count > 1 && m->history->events[count - 2]->event_type == EVENT_TYPE_WORKFLOW_TASK_SCHEDULED;
    return m->history->events[count - 1]->event_id - (has_both ? 1 : 0);
}

static void on_history(struct rpc *r) {
    const Ws__GetWorkflowExecutionHistoryRequest *q = r->request;
    struct run_model *run = r->subject.run;
    int64_t provisional_id = first_provisional(r);
    struct glimpse g = history_see(r->w, run, buf_str(&r->reply), HISTORY_FIELD, provisional_id);
    if (q->history_event_filter_type == HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT && g.count > 1)
        world_fail(r->w, "close_event_alone", "run=%s %zu events", run->run_id, g.count);
    if (g.last_id < provisional_id)
        run->length_told = MAX(run->length_told, g.last_id);
}

/* Deleted is gone, and stays gone. */
static void check_deleted_stays_gone(const struct rpc *r) {
    const struct run_model *run = r->subject.run;
    if (run && run->delete_acked_us && r->sent_us > run->delete_acked_us && r->kind != RPC_delete_workflow &&
        !r->subject.by_chain)
        world_fail(r->w, "deleted_stays_gone", "%s finds run=%s", rpc_name(r->kind), run->run_id);
}

void checker_on_ok(struct rpc *r) {
    struct run_model *run = r->subject.run;
    check_deleted_stays_gone(r);
    bool is_set_aside = r->kind == RPC_query_workflow && run->was_paused &&
                        ((const Ws__QueryWorkflowResponse *)r->response)->query_rejected;
    if (r->subject.is_bad && is_set_aside)
        return; /* nobody has looked at the query */
    if (r->subject.is_bad) {
        world_fail(r->w, "bad_request_refused", "%s", rpc_name(r->kind));
        return;
    }
    switch (r->kind) {
    case RPC_start_workflow:
        on_start(r);
        checker_on_task(r);
        break;
    case RPC_signal_workflow:
        on_signal(r);
        break;
    case RPC_request_cancel:
        on_cancel(r);
        break;
    case RPC_delete_workflow:
        run->delete_acked_us = r->w->now.mono.us;
        r->w->tally.deletes++;
        break;
    case RPC_reset_workflow:
        reset_on_ok(r);
        break;
    case RPC_signal_with_start:
        on_signal_with_start(r);
        break;
    case RPC_update_workflow:
        update_on_answer(r->w, r->subject.request,
                         ((const Ws__UpdateWorkflowExecutionRequest *)r->request)->namespace_,
                         (const void *)r->response);
        break;
    case RPC_execute_multi:
        on_update_with_start(r);
        break;
    case RPC_terminate_workflow:
        if (r->subject.by_chain)
            run->chain_terminated = true;
        else
            run->terminate_acked_us = r->w->now.mono.us;
        break;
    case RPC_fail_workflow_task:
        on_task_failure(r);
        break;
    case RPC_complete_activity:
    case RPC_fail_activity:
    case RPC_cancel_activity:
        on_activity_answer(r);
        break;
    case RPC_heartbeat_activity:
        run->activities[r->subject.activity].heartbeat_acked = r->subject.beat;
        break;
    case RPC_describe_workflow:
        check_describe(r);
        control_check_describe(r);
        break;
    case RPC_pause_activity:
    case RPC_pause_activity_execution:
    case RPC_unpause_activity:
    case RPC_reset_activity:
    case RPC_reset_activity_execution:
    case RPC_update_activity_options:
    case RPC_pause_workflow:
    case RPC_unpause_workflow:
        control_on_ok(r);
        break;
    case RPC_update_workflow_options:
        override_on_ok(r);
        break;
    case RPC_query_workflow:
        check_query(r);
        break;
    case RPC_get_history:
        on_history(r);
        break;
    case RPC_get_history_reverse:
        history_compare(r->w, run, buf_str(&r->reply), HISTORY_FIELD);
        break;
    case RPC_poll_workflow_task:
    case RPC_poll_activity_task:
    case RPC_complete_workflow_task:
        checker_on_task(r);
        break;
    default:
        break;
    }
    if (run)
        run->audit_wanted = true;
}

/* G11: every refusal has a clean reason; a request that is right is not called wrong. */
static void check_error_is_clean(struct rpc *r) {
    int code = r->err.code;
    /* Nobody decides by lists, so the process goes on when one cannot be read. */
    bool is_failed_list = r->w->tally.faults[FAULT_read_error] > 0 &&
                          (r->kind == RPC_list_schedules || r->kind == RPC_list_schedule_ledger);
    bool is_second_job = code == ERR_FULL && r->kind == RPC_start_batch; /* a namespace has one at a time */
    bool is_dirty = code == ERR_INTERNAL || code == ERR_WAIT || code == ERR_NO_MEMORY ||
                    code == ERR_NO_NAMESPACE || (code == ERR_STORE_IO && !is_failed_list) ||
                    code == ERR_STORE_CORRUPT || (code == ERR_FULL && !is_second_job) ||
                    code == ERR_UNIMPLEMENTED;
    /* A process that starts again does not know the updates that the one before had handed to workers. */
    bool has_forgotten = r->kind == RPC_complete_workflow_task && r->w->server.epoch > 1 &&
                         ((const Ws__RespondWorkflowTaskCompletedRequest *)r->request)->n_messages > 0;
    bool is_start = r->kind == RPC_start_workflow || r->kind == RPC_signal_with_start ||
                    r->kind == RPC_execute_multi; /* which need nothing that could be missing */
    bool is_unjust = !r->subject.is_bad && !has_forgotten &&
                     (code == ERR_INVALID || code == ERR_BAD_TOKEN || (is_start && code == ERR_NOT_FOUND));
    if (is_dirty || is_unjust)
        world_fail(r->w, "error_is_clean", "%s: %s: %s", rpc_name(r->kind), err_name(code), r->err.text);
}

/* G1: an acknowledged start is never lost. */
static void check_acknowledged_start_kept(struct rpc *r) {
    const struct run_model *run = r->subject.run;
    bool names_run = r->kind == RPC_describe_workflow || r->kind == RPC_get_history ||
                     r->kind == RPC_signal_workflow || r->kind == RPC_request_cancel ||
                     r->kind == RPC_terminate_workflow || r->kind == RPC_query_workflow ||
                     r->kind == RPC_reset_workflow;
    if (names_run && run && !r->subject.by_chain && r->err.code == ERR_NOT_FOUND &&
        (run->start_acked || run->event_count > 0) && !run->is_deleted)
        world_fail(r->w, "acknowledged_start_kept",
                   "%s does not find run=%s (acknowledged=%d, events known=%zu)", rpc_name(r->kind),
                   run->run_id, run->start_acked, run->event_count);
}

/* G2: a start is not refused because of the run that it made itself. */
static void check_refused_by_other(struct rpc *r) {
    const struct request_model *request = r->subject.request;
    if (request->run && cstr_eq(request->run->run_id, r->err.run_id.s))
        world_fail(r->w, "refused_by_other", "request=%s is refused because of run=%s, which it made",
                   request->id, r->err.run_id.s);
    bool ends_running = request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING ||
                        (request->conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING &&
                         request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE);
    if (ends_running)
        world_fail(r->w, "id_policy", "request=%s would end the running one, but is refused", request->id);
}

/* G8: whoever is told that a run is gone, by whatever call, is told for good. */
static void note_gone(const struct rpc *r) {
    struct run_model *run = r->subject.run;
    bool names_run = r->kind == RPC_delete_workflow || r->kind == RPC_describe_workflow ||
                     r->kind == RPC_get_history || r->kind == RPC_query_workflow;
    if (names_run && run && run->is_deleted && !r->subject.by_chain && r->err.code == ERR_NOT_FOUND &&
        !run->delete_acked_us)
        run->delete_acked_us = r->w->now.mono.us;
}

void checker_on_error(struct rpc *r) {
    check_error_is_clean(r);
    check_acknowledged_start_kept(r);
    note_gone(r);
    if (r->kind == RPC_start_workflow && r->err.code == ERR_ALREADY_STARTED)
        check_refused_by_other(r);
}

/* G8, G9: acknowledged signals are in the history, once. */
static void check_signals_kept(struct world *w, const struct run_model *run, int64_t began_us) {
    for (size_t i = 0; i < run->signal_count; i++) {
        const struct request_model *signal = run->signals[i];
        if (signal->is_acked && signal->acked_us < began_us && !model_is_holder(signal, run))
            world_fail(w, "signals_kept", "run=%s signal=%s acknowledged, but not recorded", run->run_id,
                       signal->id);
    }
    /* Whoever answers for a run that was closed from outside has not seen what came after its last task. */
    bool was_forced = run->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED ||
                      run->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT;
    if (run->stale_query_us && run->stale_query_us < began_us && !was_forced)
        world_fail(w, "query_is_fresh", "run=%s a query missed an acknowledged signal", run->run_id);
}

/* G4, G8: an acknowledged end of an activity is in the history, with its result. */
static void check_activities_kept(struct world *w, const struct run_model *run, int64_t began_us) {
    for (uint32_t i = 0; i < MODEL_ACTIVITIES_MAX; i++) {
        const struct activity_model *a = &run->activities[i];
        bool is_kept = !a->completion_acked || (a->close_type == EVENT_TYPE_ACTIVITY_TASK_COMPLETED &&
                                                cstr_eq(a->acked_result, a->recorded_result));
        bool is_cancel_kept = !a->cancel_acked || a->close_type == EVENT_TYPE_ACTIVITY_TASK_CANCELED;
        if (a->acked_us < began_us && (!is_kept || !is_cancel_kept))
            world_fail(w, "activities_kept",
                       "run=%s activity=%" PRIu32 " result '%s' acknowledged, recorded '%s' type=%" PRId32,
                       run->run_id, i, a->acked_result, a->recorded_result, a->close_type);
    }
}

/* G8: an acknowledged terminate, cancel or workflow task completion is in the history. */
static void check_changes_kept(struct world *w, const struct run_model *run, int64_t began_us,
                               bool is_settled) {
    if (run->terminate_acked_us && run->terminate_acked_us < began_us &&
        run->close_type != EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
        world_fail(w, "terminate_kept", "run=%s close type=%" PRId32, run->run_id, run->close_type);
    if (run->completed_task < run->completed_task_acked && run->completed_task_acked_us < began_us)
        world_fail(w, "completion_kept", "run=%s task %" PRId64 " acknowledged, last recorded %" PRId64,
                   run->run_id, run->completed_task_acked, run->completed_task);
    if (run->failed_task < run->failed_task_acked && run->failed_task_acked_us < began_us)
        world_fail(w, "task_failure_kept", "run=%s task %" PRId64 " acknowledged, last recorded %" PRId64,
                   run->run_id, run->failed_task_acked, run->failed_task);
    bool was_open = !world_clock_jumped(w) && run->cancel_acked_wall_us < run->close_wall_us;
    if (run->close_type && was_open && run->cancel_acked_us && !run->cancel_recorded)
        world_fail(w, "cancel_kept", "run=%s closed later", run->run_id);
    if (is_settled && run->cancel_acked_us && run->cancel_acked_us < began_us && !run->cancel_recorded &&
        !run->close_type)
        world_fail(w, "cancel_kept", "run=%s", run->run_id);
}

void checker_promises(struct world *w, struct run_model *run, int64_t began_us, bool is_settled) {
    if (run->is_deleted)
        return;
    check_changes_kept(w, run, began_us, is_settled);
    if (is_settled || run->close_type) {
        check_signals_kept(w, run, began_us);
        check_activities_kept(w, run, began_us);
    }
}

static bool some_run_was_deleted(const struct model *m, const char *workflow_id) {
    for (const struct run_model *run = map_get(&m->latest, str_of(workflow_id)); run; run = run->older)
        if (run->is_deleted)
            return true;
    return false;
}

void checker_loose_promises(struct world *w) {
    const struct request_model *signal;
    for (size_t i = 0; (signal = map_next(&w->model.requests, &i));) {
        if (!signal->is_signal || signal->run || !signal->is_acked || signal->holder_count > 0)
            continue;
        if (!some_run_was_deleted(&w->model, signal->workflow_id))
            world_fail(w, "signals_kept", "workflow=%s signal=%s acknowledged, but in no run",
                       signal->workflow_id, signal->id);
    }
}
