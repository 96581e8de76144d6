/* What a task must look like at the moment the server gives it away: its run is open, its number is new, its
 * history fits what everyone else has read. */
#include "task_checker.h"

#include <inttypes.h>
#include <stdio.h>

#include "control.h"
#include "core/run/update.h"
#include "history.h"
#include "history_rules.h"
#include "names.h"
#include "program.h"
#include "rollout.h"
#include "rpc.h"
#include "wire/encode.h"

#define TASK_HISTORY_FIELD 8 /* of PollWorkflowTaskQueueResponse */
#define EAGER_TASK_FIELD 2 /* of StartWorkflowExecutionResponse */
#define NEXT_TASK_FIELD 1 /* of RespondWorkflowTaskCompletedResponse */

/* A closed run has no tasks. */
static void check_task_of_open_run(struct world *w, const struct run_model *run, const char *what) {
    if (run->delete_acked_us)
        world_fail(w, "deleted_stays_gone", "%s task of run=%s", what, run->run_id);
    if (run->close_type)
        world_fail(w, "task_of_open_run", "%s task of run=%s, which closed with type=%" PRId32, what,
                   run->run_id, run->close_type);
}

/* G8: a workflow task whose completion was acknowledged is not handed out again. */
static void check_task_is_new(struct world *w, const struct run_model *run, int64_t started_event_id) {
    if (started_event_id <= run->completed_task_acked)
        world_fail(w, "task_is_new", "run=%s task %" PRId64 " is handed out, task %" PRId64 " was completed",
                   run->run_id, started_event_id, run->completed_task_acked);
}

/* G5: the slice begins at the start or after the last completed task, and ends with the task's own start. */
static void check_task_history(struct world *w, const struct run_model *run,
                               const Ws__PollWorkflowTaskQueueResponse *m, const struct glimpse *g) {
    if (g->count == 0 || (g->first_id != 1 && g->first_id != m->previous_started_event_id + 1))
        world_fail(w, "task_history", "run=%s begins at %" PRId64 ", previous task %" PRId64, run->run_id,
                   g->first_id, m->previous_started_event_id);
    if (m->next_page_token.len == 0 && g->last_id != m->started_event_id)
        world_fail(w, "task_history", "run=%s ends at %" PRId64 ", task started %" PRId64, run->run_id,
                   g->last_id, m->started_event_id);
    bool all_known = (int64_t)run->event_count >= m->started_event_id - 2;
    if (all_known && m->previous_started_event_id != run->completed_task)
        world_fail(w, "task_history", "run=%s previous task %" PRId64 ", last completed %" PRId64,
                   run->run_id, m->previous_started_event_id, run->completed_task);
}

static struct run_model *task_run(struct world *w, const char *namespace_name,
                                  const Common__WorkflowExecution *execution) {
    if (!execution || strlen(execution->run_id) != UUID_TEXT_LEN) {
        world_fail(w, "task_names_run", "run id '%s'", execution ? execution->run_id : "");
        return NULL;
    }
    return model_meet_in(&w->model, namespace_name, execution->run_id, execution->workflow_id);
}

int64_t task_provisional_id(const Ws__PollWorkflowTaskQueueResponse *m) {
    /* A transient task has no events yet, and one that only carries updates may never have any. */
    return m->started_event_id - (m->attempt > 1 || m->n_messages > 0 ? 1 : 0);
}

static void on_workflow_task(struct world *w, const char *namespace_name,
                             const Ws__PollWorkflowTaskQueueResponse *m, struct str bytes) {
    if (m->task_token.len == 0)
        return;
    struct run_model *run = task_run(w, namespace_name, m->workflow_execution);
    if (!run)
        return;
    if (m->query) {
        history_see(w, run, bytes, TASK_HISTORY_FIELD, HISTORY_ALL_DURABLE);
        return;
    }
    trace_note(w,
               "workflow task run=%s workflow=%s previous=%" PRId64 " started=%" PRId64 " attempt=%" PRId32,
               run->run_id, run->workflow_id, m->previous_started_event_id, m->started_event_id, m->attempt);
    check_task_of_open_run(w, run, "workflow");
    check_task_is_new(w, run, m->started_event_id);
    control_check_task(w, run, CONTROL_RUN, event_time_us(m->started_time));
    struct glimpse g = history_see(w, run, bytes, TASK_HISTORY_FIELD, task_provisional_id(m));
    check_task_history(w, run, m, &g);
}

/* G4: attempts are numbered upwards, and an activity that ended is not handed out again. */
static void check_attempt_is_new(struct world *w, struct run_model *run,
                                 const Ws__PollActivityTaskQueueResponse *m) {
    uint32_t n = program_number(m->activity_id);
    if (n >= MODEL_ACTIVITIES_MAX) {
        world_fail(w, "attempt_is_new", "run=%s activity id '%s'", run->run_id, m->activity_id);
        return;
    }
    struct activity_model *a = &run->activities[n];
    a->handed_attempt = MAX(a->handed_attempt, m->attempt);
    if (a->completion_acked || a->cancel_acked || a->close_type)
        world_fail(w, "attempt_is_new", "run=%s activity=%s is handed out, but it ended", run->run_id,
                   m->activity_id);
    if (m->attempt <= a->failed_attempt && !a->was_reset)
        world_fail(w, "attempt_is_new",
                   "run=%s activity=%s attempt=%" PRId32 ", but attempt %" PRId32 " failed", run->run_id,
                   m->activity_id, m->attempt, a->failed_attempt);
    if (!m->scheduled_time || !m->current_attempt_scheduled_time || !m->started_time)
        world_fail(w, "attempt_is_new", "run=%s activity=%s lacks a time", run->run_id, m->activity_id);
}

/* G8: the next attempt gets the details of the last heartbeat that was acknowledged, or later ones. */
static void check_heartbeat_kept(struct world *w, const struct run_model *run,
                                 const Ws__PollActivityTaskQueueResponse *m) {
    uint32_t n = program_number(m->activity_id);
    char text[32];
    uint64_t beat = 0;
    payload_text(m->heartbeat_details, text, sizeof(text));
    (void)sscanf(text, "beat-%" SCNu64, &beat); /* no details: beat 0 */
    if (n < MODEL_ACTIVITIES_MAX && beat < run->activities[n].heartbeat_acked &&
        !run->activities[n].heartbeat_dropped)
        world_fail(w, "heartbeat_kept",
                   "run=%s activity=%s has beat %" PRIu64 ", %" PRIu64 " was acknowledged", run->run_id,
                   m->activity_id, beat, run->activities[n].heartbeat_acked);
}

static size_t space_of(const char *namespace_name) {
    return cstr_eq(namespace_name, "other");
}

static void note_idle_poll(struct world *w, const struct rpc *r, const char *namespace_name) {
    struct model *m = &w->model;
    size_t space = space_of(namespace_name);
    m->idle_polls[space][m->idle_poll_count[space]++ % MODEL_IDLE_POLLS] =
        (struct idle_poll){r->sent_us, w->now.mono.us, w->server.epoch};
}

/* A worker that waits for a task gets the one that is there. Where the clock does not jump, a time in an
 * answer tells since when it was. */
static void check_poll_wakes(struct world *w, const struct run_model *run, const char *namespace_name,
                             const Ws__PollActivityTaskQueueResponse *m) {
    const int64_t late_us = 5 * USEC_PER_SEC;
    size_t space = space_of(namespace_name);
    uint32_t n = program_number(m->activity_id);
    bool was_held = run->was_paused || (n < MODEL_ACTIVITIES_MAX && run->activities[n].is_touched);
    if (world_clock_jumped(w) || w->tally.faults[FAULT_disk_stalled] > 0 || was_held ||
        rollout_covers(w, namespace_name)) /* not every worker may take it */
        return;
    int64_t ready_us = w->now.mono.us - (w->now.wall.us - event_time_us(m->current_attempt_scheduled_time));
    for (size_t i = 0; i < MODEL_IDLE_POLLS; i++) {
        const struct idle_poll *p = &w->model.idle_polls[space][i];
        if (p->ended_us && p->epoch == w->server.epoch && p->began_us < ready_us + late_us &&
            p->ended_us > MAX(ready_us, p->began_us) + late_us)
            world_fail(w, "poll_wakes",
                       "run=%s activity=%s was there for %" PRId64 " us when a poll came back empty",
                       run->run_id, m->activity_id, p->ended_us - ready_us);
    }
}

static void on_activity_task(struct world *w, const char *namespace_name,
                             const Ws__PollActivityTaskQueueResponse *m) {
    struct run_model *run = task_run(w, namespace_name, m->workflow_execution);
    if (!run)
        return;
    trace_note(w, "activity task run=%s activity=%s attempt=%" PRId32, run->run_id, m->activity_id,
               m->attempt);
    check_task_of_open_run(w, run, "activity");
    check_attempt_is_new(w, run, m);
    control_check_task(w, run, program_number(m->activity_id), event_time_us(m->started_time));
    check_heartbeat_kept(w, run, m);
    check_poll_wakes(w, run, namespace_name, m);
}

static void on_activity_poll(struct rpc *r, const Ws__PollActivityTaskQueueRequest *q,
                             const Ws__PollActivityTaskQueueResponse *m) {
    if (m->task_token.len > 0)
        on_activity_task(r->w, q->namespace_, m);
    else
        note_idle_poll(r->w, r, q->namespace_);
}

/* G8: the same workflow task is not completed twice. */
static void check_completed_once(struct rpc *r) {
    struct run_model *run = r->subject.run;
    int64_t id = r->subject.started_event_id;
    for (size_t i = 0; i < run->completed_count; i++)
        if (run->completed_tasks[i] == id)
            world_fail(r->w, "completed_once", "run=%s task %" PRId64 " is acknowledged again", run->run_id,
                       id);
    run->completed_tasks =
        model_grow(run->completed_tasks, run->completed_count, &run->completed_cap, sizeof(id));
    run->completed_tasks[run->completed_count++] = id;
    run->completed_task_acked = MAX(run->completed_task_acked, id);
    run->completed_task_acked_us = r->w->now.mono.us;
}

bool task_may_be_discarded(const Ws__RespondWorkflowTaskCompletedRequest *q,
                           const Ws__RespondWorkflowTaskCompletedResponse *m, const struct run_model *run) {
    if (m->reset_history_event_id)
        return true;
    if (run->completed_count || q->n_commands || q->force_create_new_workflow_task)
        return false;
    for (size_t i = 0; i < q->n_messages; i++)
        if (!update_is_rejection(q->messages[i]))
            return false;
    return true;
}

static void on_completion(struct rpc *r) {
    const Ws__RespondWorkflowTaskCompletedRequest *q = r->request;
    const Ws__RespondWorkflowTaskCompletedResponse *m = (const void *)r->response;
    if (!task_may_be_discarded(q, m, r->subject.run))
        check_completed_once(r);
    for (size_t i = 0; i < m->n_activity_tasks; i++)
        on_activity_task(r->w, q->namespace_, m->activity_tasks[i]);
    struct str rest = buf_str(&r->reply);
    struct wire_field f;
    bool ok;
    while (m->workflow_task && wire_next_field(&rest, &f, &ok))
        if (f.number == NEXT_TASK_FIELD)
            on_workflow_task(r->w, q->namespace_, m->workflow_task, f.content);
}

static void on_start(struct rpc *r) {
    const Ws__StartWorkflowExecutionRequest *q = r->request;
    const Ws__StartWorkflowExecutionResponse *m = (const void *)r->response;
    struct str rest = buf_str(&r->reply);
    struct wire_field f;
    bool ok;
    if (m->eager_workflow_task && !q->request_eager_execution)
        world_fail(r->w, "eager_is_asked_for", "run=%s has its first task in the answer", m->run_id);
    while (m->eager_workflow_task && wire_next_field(&rest, &f, &ok))
        if (f.number == EAGER_TASK_FIELD)
            on_workflow_task(r->w, q->namespace_, m->eager_workflow_task, f.content);
}

static void on_workflow_poll(struct rpc *r, const Ws__PollWorkflowTaskQueueRequest *q) {
    const Ws__PollWorkflowTaskQueueResponse *m = (const void *)r->response;
    on_workflow_task(r->w, q->namespace_, m, buf_str(&r->reply));
    if (m->task_token.len > 0 && !m->query && !r->w->failure.is_set)
        rollout_check_task(r->w, task_run(r->w, q->namespace_, m->workflow_execution), q->deployment_options,
                           m);
}

void checker_on_task(struct rpc *r) {
    if (r->kind == RPC_start_workflow) {
        on_start(r);
        return;
    }
    if (r->kind == RPC_complete_workflow_task)
        on_completion(r);
    else if (r->kind == RPC_poll_workflow_task)
        on_workflow_poll(r, (const void *)r->request);
    else
        on_activity_poll(r, (const void *)r->request, (const void *)r->response);
}
