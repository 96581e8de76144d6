/* From a poll to an answer.
 *
 * A task with the whole history builds the program anew; a slice continues a
 * cached one; a slice without its cache makes the worker fetch what is missing.
 * Then the program runs and its commands are sent. When the server does not say
 * OK, the cached program is thrown away. Faults: the answer comes late, twice,
 * not at all, or is a failure. */
#include "workflow_slot.h"

#include <inttypes.h>

#include "base/buf.h"
#include "names.h"
#include "request.h"
#include "rollout.h"
#include "rpc.h"
#include "task_checker.h"
#include "update_answer.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "worker.h"

#define TASK_ARENA_BYTES (64u << 20)
#define ANSWER_TIMEOUT_US (10 * USEC_PER_SEC)
#define STICKY_TIMEOUT_US (3 * USEC_PER_SEC)

static void slot_poll(struct world *w, struct happening *h);
static void slot_fetch(struct workflow_slot *s, ProtobufCBinaryData token);
static void slot_take(struct workflow_slot *s, const Ws__PollWorkflowTaskQueueResponse *m);

void workflow_slot_init(struct workflow_slot *s, struct worker *worker, bool is_sticky) {
    *s = (struct workflow_slot){.worker = worker, .is_sticky = is_sticky};
    arena_init(&s->arena, TASK_ARENA_BYTES);
}

void workflow_slot_done(struct workflow_slot *s) {
    arena_done(&s->arena);
}

static void slot_next(struct workflow_slot *s, void (*what)(struct world *w, struct happening *h),
                      int64_t delay_us) {
    s->next.run = what;
    world_at(s->worker->w, &s->next, worker_delay(s->worker, delay_us));
}

bool workflow_slot_is_free(const struct workflow_slot *s) {
    return s->is_eager && !s->rpc && !s->task && !heap_has(&s->next.node);
}

void workflow_slot_give(struct workflow_slot *s, const Ws__PollWorkflowTaskQueueResponse *task) {
    s->worker->w->tally.eager++;
    slot_take(s, task);
}

void workflow_slot_begin(struct workflow_slot *s) {
    if (s->is_eager)
        return;
    slot_next(s, slot_poll, world_delay(s->worker->w, 0, 100 * USEC_PER_MS));
}

void workflow_slot_end(struct workflow_slot *s) {
    rpc_drop(s->rpc);
    rpc_drop(s->echo);
    s->rpc = s->echo = NULL;
    s->task = NULL;
    world_not(s->worker->w, &s->next);
}

/* The task is over, one way or another. */
static void slot_leave(struct workflow_slot *s) {
    s->task = NULL;
    if (!s->is_eager)
        slot_next(s, slot_poll, world_delay(s->worker->w, 0, POLL_PAUSE_US));
}

static void slot_polled(struct rpc *r) {
    struct workflow_slot *s = r->owner;
    s->rpc = NULL;
    if (r->outcome != RPC_OK) {
        slot_next(s, slot_poll, world_delay(r->w, 10 * USEC_PER_MS, USEC_PER_SEC));
        return;
    }
    const Ws__PollWorkflowTaskQueueResponse *m = (const void *)r->response;
    if (m->task_token.len == 0)
        slot_next(s, slot_poll, world_leisure(r->w, POLL_PAUSE_US));
    else
        slot_take(s, m);
}

static void slot_poll(struct world *w, struct happening *h) {
    struct workflow_slot *s = container_of(h, struct workflow_slot, next);
    struct rpc *r = s->rpc = rpc_new(w, RPC_poll_workflow_task, s, slot_polled);
    Ws__PollWorkflowTaskQueueRequest *q =
        MAKE(&r->arena, Ws__PollWorkflowTaskQueueRequest, ws__poll_workflow_task_queue_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->identity = make_text(&r->arena, "%s", s->worker->name);
    q->task_queue = s->is_sticky ? make_queue(&r->arena, s->worker->sticky_queue, WORKER_QUEUE)
                                 : make_queue(&r->arena, WORKER_QUEUE, NULL);
    q->deployment_options = rollout_options(&r->arena, s->worker->build_id);
    rpc_send(r, q, world_delay(w, 3 * USEC_PER_SEC, 70 * USEC_PER_SEC));
}

/* G5: what the program once did is in its history, in the same order, and nothing else is. */
static void slot_apply(struct workflow_slot *s, History__History *history, int64_t until) {
    for (size_t i = 0; history && i < history->n_events; i++) {
        const History__HistoryEvent *e = history->events[i];
        if (e->event_id <= s->program.last_event_id || e->event_id > until)
            continue;
        const char *wrong = program_apply(&s->program, e);
        if (wrong) {
            world_fail(s->worker->w, "program_fits_history", "run=%s event=%" PRId64 " type=%d: %s",
                       s->run->run_id, e->event_id, (int)e->event_type, wrong);
            return;
        }
    }
}

static void slot_answer_query(struct world *w, struct happening *h);
static void slot_answer(struct world *w, struct happening *h);

/* How long the worker takes; false when it never answers. */
static bool slot_think(struct workflow_slot *s, int64_t *ret_delay_us) {
    struct world *w = s->worker->w;
    *ret_delay_us = world_delay(w, 0, 30 * USEC_PER_MS);
    if (world_fault(w, FAULT_answer_late))
        *ret_delay_us = world_delay(w, USEC_PER_SEC, 25 * USEC_PER_SEC);
    return !world_fault(w, FAULT_answer_missing);
}

/* The program has seen everything: run it, answer later. */
static void slot_run(struct workflow_slot *s) {
    int64_t delay_us;
    if (s->worker->w->failure.is_set || !slot_think(s, &delay_us)) {
        worker_forget(s->worker, s->run->run_id);
        slot_leave(s);
        return;
    }
    if (s->task->query) {
        slot_next(s, slot_answer_query, delay_us);
        return;
    }
    program_activate(&s->program, s->task->started_event_id, &s->intents);
    slot_next(s, slot_answer, delay_us);
}

/* The events of the task itself, then the pages that did not fit into it. */
static void slot_apply_task(struct workflow_slot *s) {
    slot_apply(s, s->task->history, INT64_MAX);
    if (s->task->next_page_token.len > 0)
        slot_fetch(s, s->task->next_page_token);
    else
        slot_run(s);
}

static void slot_fetched(struct rpc *r) {
    struct workflow_slot *s = r->owner;
    s->rpc = NULL;
    if (r->outcome != RPC_OK) {
        worker_forget(s->worker, s->run->run_id);
        slot_leave(s);
        return;
    }
    const Ws__GetWorkflowExecutionHistoryResponse *m = (const void *)r->response;
    slot_apply(s, m->history, s->fetch_until);
    bool is_enough = s->program.last_event_id >= s->fetch_until || m->next_page_token.len == 0;
    if (!is_enough) {
        slot_fetch(s, m->next_page_token);
        return;
    }
    bool was_prefix = s->fetch_until != INT64_MAX;
    s->fetch_until = INT64_MAX;
    if (was_prefix)
        slot_apply_task(s);
    else
        slot_run(s);
}

static void slot_fetch(struct workflow_slot *s, ProtobufCBinaryData token) {
    struct rpc *r = s->rpc = rpc_new(s->worker->w, RPC_get_history, s, slot_fetched);
    Ws__GetWorkflowExecutionHistoryRequest *q = MAKE(&r->arena, Ws__GetWorkflowExecutionHistoryRequest,
                                                     ws__get_workflow_execution_history_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->execution = make_execution(&r->arena, s->run->workflow_id, s->run->run_id);
    q->next_page_token = make_bytes(&r->arena, token);
    r->subject.run = s->run;
    if (token.len > 0 && !s->task->query && s->fetch_until == INT64_MAX)
        r->subject.provisional_id = task_provisional_id(s->task);
    rpc_send(r, q, ANSWER_TIMEOUT_US);
}

static bool slot_recall(struct workflow_slot *s) {
    const struct program *cached = worker_recall(s->worker, s->run->run_id);
    if (!cached || cached->activated_for != s->task->previous_started_event_id ||
        world_fault(s->worker->w, FAULT_cache_lost))
        return false;
    s->program = *cached;
    return true;
}

/* Copies the task into the slot and brings the program up to it. */
static void slot_take(struct workflow_slot *s, const Ws__PollWorkflowTaskQueueResponse *m) {
    struct world *w = s->worker->w;
    struct buf packed;
    struct err e;
    ProtobufCMessage *copy;
    buf_init(&packed, TASK_ARENA_BYTES);
    wire_encode(&packed, &m->base);
    arena_clear(&s->arena);
    ensure(buf_ok(&packed) && wire_decode(m->base.descriptor, buf_str(&packed), &s->arena, &copy, &e) == 0);
    buf_done(&packed);
    s->task = (Ws__PollWorkflowTaskQueueResponse *)copy;
    s->run = model_meet_in(&w->model, s->worker->namespace_name, m->workflow_execution->run_id,
                           m->workflow_execution->workflow_id);
    const History__History *history = s->task->history;
    int64_t first_id = history && history->n_events > 0 ? history->events[0]->event_id : 0;
    s->fetch_until = INT64_MAX;
    if (first_id == 1) {
        program_init(&s->program, s->run->run_id);
        slot_apply_task(s);
    } else if (slot_recall(s)) {
        slot_apply_task(s);
    } else {
        program_init(&s->program, s->run->run_id);
        s->fetch_until = first_id ? first_id - 1 : INT64_MAX;
        slot_fetch(s, (ProtobufCBinaryData){0});
    }
}

/* NULL: the program does not know this query. */
static Common__Payloads *slot_query_answer(const struct workflow_slot *s, const Query__WorkflowQuery *query,
                                           struct arena *a) {
    if (cstr_eq(query->query_type, PROGRAM_UNKNOWN_QUERY))
        return NULL;
    return make_payloads(a, make_text(a, "run=%s signals=%" PRIu32, s->run->run_id, s->program.signals));
}

static void slot_query_answered(struct rpc *r) {
    struct workflow_slot *s = r->owner;
    s->rpc = NULL;
    slot_leave(s);
}

static void slot_answer_query(struct world *w, struct happening *h) {
    struct workflow_slot *s = container_of(h, struct workflow_slot, next);
    struct rpc *r = s->rpc = rpc_new(w, RPC_answer_query, s, slot_query_answered);
    Ws__RespondQueryTaskCompletedRequest *q =
        MAKE(&r->arena, Ws__RespondQueryTaskCompletedRequest, ws__respond_query_task_completed_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->task_token = make_bytes(&r->arena, s->task->task_token);
    q->query_result = slot_query_answer(s, s->task->query, &r->arena);
    q->completed_type = q->query_result ? QUERY_RESULT_TYPE_ANSWERED : QUERY_RESULT_TYPE_FAILED;
    q->error_message = make_text(&r->arena, "%s", q->query_result ? "" : "unknown query");
    rpc_send(r, q, ANSWER_TIMEOUT_US);
}

/* How a task is answered. */
struct manner {
    bool wants_more; /* asks for another task at once */
    bool is_bad; /* has a command that must be refused, and all others with it */
};

static void slot_add_query_results(struct workflow_slot *s, struct arena *a,
                                   Ws__RespondWorkflowTaskCompletedRequest *q) {
    q->query_results =
        arena_array(a, Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry *, s->task->n_queries);
    for (size_t i = 0; i < s->task->n_queries; i++) {
        Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry *entry =
            MAKE(a, Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry,
                 ws__respond_workflow_task_completed_request__query_results_entry__init);
        entry->key = make_text(a, "%s", s->task->queries[i]->key);
        entry->value = MAKE(a, Query__WorkflowQueryResult, query__workflow_query_result__init);
        entry->value->answer = slot_query_answer(s, s->task->queries[i]->value, a);
        entry->value->result_type =
            entry->value->answer ? QUERY_RESULT_TYPE_ANSWERED : QUERY_RESULT_TYPE_FAILED;
        entry->value->error_message = make_text(a, "%s", entry->value->answer ? "" : "unknown query");
        q->query_results[q->n_query_results++] = entry;
    }
}

static Ws__RespondWorkflowTaskCompletedRequest *slot_completion(struct workflow_slot *s, struct arena *a,
                                                                struct manner manner) {
    static const struct intent senseless = {.command_type = COMMAND_TYPE_CANCEL_TIMER, .number = UINT32_MAX};
    struct worker *worker = s->worker;
    Ws__RespondWorkflowTaskCompletedRequest *q =
        MAKE(a, Ws__RespondWorkflowTaskCompletedRequest, ws__respond_workflow_task_completed_request__init);
    q->namespace_ = make_text(a, "%s", s->worker->namespace_name);
    q->identity = make_text(a, "%s", worker->name);
    q->task_token = make_bytes(a, s->task->task_token);
    q->commands = arena_array(a, Command__Command *,
                              PROGRAM_COMMANDS_MAX + 1 + PROGRAM_UPDATES_MAX + 2 * s->task->n_messages);
    q->force_create_new_workflow_task = update_answer(s, a, q) || manner.wants_more;
    if (manner.is_bad)
        q->commands[q->n_commands++] = program_command(&s->program, &senseless, a);
    for (uint32_t i = 0; i < s->intents.count; i++)
        q->commands[q->n_commands++] = program_command(&s->program, &s->intents.items[i], a);
    q->return_new_workflow_task = worker->returns_new;
    q->deployment_options = rollout_options(a, worker->build_id);
    if (q->deployment_options)
        q->versioning_behavior = rollout_behavior(s->run->workflow_id);
    q->capabilities = MAKE(a, Ws__RespondWorkflowTaskCompletedRequest__Capabilities,
                           ws__respond_workflow_task_completed_request__capabilities__init);
    q->capabilities->discard_speculative_workflow_task_with_events = worker->index % 2 == 0;
    if (worker->is_sticky) {
        q->sticky_attributes =
            MAKE(a, Taskqueue__StickyExecutionAttributes, taskqueue__sticky_execution_attributes__init);
        q->sticky_attributes->worker_task_queue = make_queue(a, worker->sticky_queue, WORKER_QUEUE);
        q->sticky_attributes->schedule_to_start_timeout = make_duration(a, STICKY_TIMEOUT_US);
    }
    slot_add_query_results(s, a, q);
    return q;
}

static void slot_completed(struct rpc *r) {
    struct workflow_slot *s = r->owner;
    s->rpc = NULL;
    if (r->outcome != RPC_OK) {
        worker_forget(s->worker, s->run->run_id);
        slot_leave(s);
        return;
    }
    const Ws__RespondWorkflowTaskCompletedResponse *m = (const void *)r->response;
    /* A task that was discarded never was: the worker goes on from where it was before it. */
    if (s->worker->is_sticky && !task_may_be_discarded(r->request, m, r->subject.run))
        worker_remember(s->worker, &s->program);
    for (size_t i = 0; i < m->n_activity_tasks; i++)
        worker_give_activity(s->worker, m->activity_tasks[i]);
    if (m->workflow_task && m->workflow_task->task_token.len > 0)
        slot_take(s, m->workflow_task);
    else
        slot_leave(s);
}

static void slot_echo_ended(struct rpc *r) {
    ((struct workflow_slot *)r->owner)->echo = NULL;
}

static void slot_fail_task(struct workflow_slot *s) {
    struct rpc *r = s->rpc = rpc_new(s->worker->w, RPC_fail_workflow_task, s, slot_query_answered);
    Ws__RespondWorkflowTaskFailedRequest *q =
        MAKE(&r->arena, Ws__RespondWorkflowTaskFailedRequest, ws__respond_workflow_task_failed_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->identity = make_text(&r->arena, "%s", s->worker->name);
    q->task_token = make_bytes(&r->arena, s->task->task_token);
    q->cause = WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE;
    q->failure = make_failure(&r->arena, "the worker stumbled", false);
    r->subject.run = s->run;
    r->subject.started_event_id = s->task->started_event_id;
    r->subject.attempt = s->task->attempt;
    worker_forget(s->worker, s->run->run_id);
    rpc_send(r, q, ANSWER_TIMEOUT_US);
}

static struct rpc *slot_send_completion(struct workflow_slot *s, void (*ended)(struct rpc *r),
                                        struct manner manner) {
    struct rpc *r = rpc_new(s->worker->w, RPC_complete_workflow_task, s, ended);
    r->subject.run = s->run;
    r->subject.started_event_id = s->task->started_event_id;
    r->subject.is_bad = manner.is_bad;
    rpc_send(r, slot_completion(s, &r->arena, manner), ANSWER_TIMEOUT_US);
    return r;
}

static void slot_answer(struct world *w, struct happening *h) {
    struct workflow_slot *s = container_of(h, struct workflow_slot, next);
    if (world_fault(w, FAULT_task_failed)) {
        slot_fail_task(s);
        return;
    }
    struct manner manner = {.is_bad = world_fault(w, FAULT_bad_command)};
    manner.wants_more = !w->is_calm && s->intents.count == 0 && rng_chance(&w->rng, 20);
    s->rpc = slot_send_completion(s, slot_completed, manner);
    if (!s->echo && world_fault(w, FAULT_answer_twice))
        s->echo = slot_send_completion(s, slot_echo_ended, manner);
}
