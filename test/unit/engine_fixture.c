/* The rig: one engine, its disk, and the calls of a test.
 *
 * A wire_call stands for the connection: it lives from ask_begin until the engine ends the call or the
 * test cancels it, and is then freed with its arena. The rig itself is not made to run out of memory;
 * what cannot be allocated here ends the program. */
#include "engine_fixture.h"

#include <stdio.h>

#include "base/mem.h"
#include "engine/runtime/limits.h"
#include "event_text.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define CALL_BYTES_MAX (64u << 20)
#define TURNS_MAX 1000
#define SPACES_MAX 8 /* more than a rig has */

struct wire_call {
    struct call call;
    struct arena arena;
    struct ask *ask;
};

/* the rig */

static void on_ready(void *ctx, int rc, const struct err *e unused_arg) {
    ((struct rig *)ctx)->is_ready = rc == 0;
}

static void on_fatal(void *ctx, const char *text unused_arg) {
    ((struct rig *)ctx)->fatal_count++;
}

static void boot(struct rig *r) {
    static const char *const namespaces[] = {"default", "other", NULL};
    struct engine_config cfg = {.store = r->store,
                                .log = r->log,
                                .seed = ++r->seed,
                                .resident_runs_max = r->resident_runs_max,
                                .queue_tasks_max = r->queue_tasks_max,
                                .parked_max = r->parked_max,
                                .limits = r->limits,
                                .namespaces = namespaces,
                                .retention_us = 86400 * USEC_PER_SEC,
                                .on_fatal = on_fatal,
                                .fatal_ctx = r};
    r->is_ready = false;
    ensure(engine_new(&cfg, r->now, on_ready, r, &r->engine) == 0);
    rig_turn(r);
}

void rig_boot(struct rig *r) {
    ensure(mem_store_open(r->disk, &r->store) == 0);
    mem_store_set_auto(r->store, !r->is_manual);
    boot(r);
}

static void init(struct rig *r, bool is_manual, const struct core_limits *limits) {
    *r = (struct rig){.now = {{RIG_T0}, {USEC_PER_SEC}}, .resident_runs_max = 100, .is_manual = is_manual};
    r->limits = *limits;
    r->disk = mem_disk_new();
    ensure(r->disk);
    rig_boot(r);
}

static const struct core_limits usual_limits;

void rig_init(struct rig *r) {
    init(r, false, &usual_limits);
    ensure(r->is_ready);
}

void rig_init_limited(struct rig *r, enum settable limit, int64_t value) {
    struct core_limits limits = {0};
    limits.values[limit] = value;
    init(r, false, &limits);
    ensure(r->is_ready);
}

void rig_init_manual(struct rig *r) {
    init(r, true, &usual_limits);
    rig_settle(r);
    ensure(r->is_ready);
}

void rig_init_on(struct rig *r, struct store *s, struct now now, void (*wait)(void *ctx), void *wait_ctx) {
    *r = (struct rig){.store = s, .now = now, .resident_runs_max = 100, .wait = wait, .wait_ctx = wait_ctx};
    boot(r);
}

void rig_stop(struct rig *r) {
    if (!r->engine)
        return;
    if (r->wait)
        store_close(take(&r->store));
    else
        mem_store_crash(take(&r->store));
    engine_free(take(&r->engine));
}

void rig_restart(struct rig *r) {
    rig_stop(r);
    rig_boot(r);
}

void rig_done(struct rig *r) {
    rig_stop(r);
    mem_disk_free(r->disk);
}

void rig_turn(struct rig *r) {
    engine_flush(r->engine);
    for (int i = 0; i < TURNS_MAX && !r->is_manual && !r->fatal_count && !engine_idle(r->engine); i++) {
        if (r->wait)
            r->wait(r->wait_ctx);
        engine_flush(r->engine);
    }
    ensure(r->is_manual || r->fatal_count || engine_idle(r->engine));
}

void rig_advance(struct rig *r, int64_t us) {
    r->now.wall.us += us;
    r->now.mono.us += us;
    engine_advance(r->engine, r->now);
    rig_turn(r);
}

void rig_sweep(struct rig *r) {
    rig_advance(r, ENGINE_SWEEP_FIRST_MS * USEC_PER_MS);
    rig_settle(r);
    for (int i = 0; i < SPACES_MAX; i++) { /* one namespace after the other */
        rig_advance(r, 0);
        rig_settle(r);
    }
}

void rig_commit(struct rig *r) {
    ensure(mem_store_pending_commits(r->store) > 0);
    mem_store_commit_one(r->store);
    rig_turn(r);
}

void rig_read(struct rig *r) {
    ensure(mem_store_pending_reads(r->store) > 0);
    mem_store_answer(r->store, 0, 0);
    rig_turn(r);
}

void rig_settle(struct rig *r) {
    rig_turn(r);
    for (int i = 0; i < TURNS_MAX; i++) {
        if (mem_store_pending_reads(r->store) > 0)
            rig_read(r);
        else if (mem_store_pending_commits(r->store) > 0)
            rig_commit(r);
        else
            return;
    }
    ensure(!"the store comes to rest");
}

/* calls */

static void wire_free(struct wire_call *w) {
    w->ask->wire = NULL;
    arena_done(&w->arena);
    mem_free(w);
}

static void end(struct wire_call *w) {
    struct ask *a = w->ask;
    CHECK(!a->is_done);
    a->is_done = true;
    wire_free(w);
}

static void keep_carried(struct ask *a, const struct call *c) {
    struct carried **end_of = &a->carried;
    for (const struct carried *from = c->carried; from; from = from->next) {
        struct carried *kept = arena_new(&a->kept, struct carried);
        ensure(kept);
        kept->token = str_bytes(arena_dup(&a->kept, from->token.p, from->token.n), from->token.n);
        *end_of = kept;
        end_of = &kept->next;
    }
}

void ask_lose(struct rig *r, struct ask *a) {
    for (const struct carried *c = a->carried; c; c = c->next)
        engine_task_lost(r->engine, c->token);
    rig_turn(r);
}

static void on_reply(struct call *c, const ProtobufCMessage *message, struct str tail) {
    struct wire_call *w = container_of(c, struct wire_call, call);
    struct ask *a = w->ask;
    struct buf packed;
    ProtobufCMessage *m = NULL;
    buf_init(&packed, CALL_BYTES_MAX);
    wire_encode(&packed, message);
    buf_add_str(&packed, tail);
    ensure(buf_ok(&packed));
    CHECK_INT(wire_decode(message->descriptor, buf_str(&packed), &a->kept, &m, &a->err), 0);
    a->response = m;
    buf_done(&packed);
    keep_carried(a, c);
    end(w);
}

static void on_fail(struct call *c, const struct err *e) {
    struct wire_call *w = container_of(c, struct wire_call, call);
    struct ask *a = w->ask;
    ProtobufCMessage *m = NULL;
    a->err = *e;
    if (e->failure && wire_decode(&failure__failure__descriptor, str_bytes(e->failure, e->failure_len),
                                  &a->kept, &m, NULL) == 0)
        a->failure = (Failure__Failure *)m;
    a->err.failure = NULL;
    if (e->operation_count)
        a->err.operations = arena_dup(&a->kept, e->operations, e->operation_count * sizeof(*e->operations));
    end(w);
}

struct arena *ask_begin(struct rig *r, struct ask *a) {
    static const struct call_ops ops = {on_reply, on_fail};
    ask_done(a);
    arena_init(&a->kept, CALL_BYTES_MAX);
    a->is_used = true;
    struct wire_call *w = mem_zalloc(sizeof(*w));
    ensure(w && r->engine);
    w->call = (struct call){.ops = &ops, .arena = &w->arena, .deadline = {CLOCK_NEVER}};
    w->ask = a;
    arena_init(&w->arena, CALL_BYTES_MAX);
    a->wire = w;
    return &w->arena;
}

struct arena *ask_arena(struct ask *a) {
    return &a->wire->arena;
}

struct call *ask_call(struct ask *a) {
    return &a->wire->call;
}

void ask_cancel(struct rig *r, struct ask *a) {
    if (!a->wire)
        return;
    engine_cancel(r->engine, &a->wire->call);
    wire_free(a->wire);
    rig_turn(r);
}

/* The engine must be gone by then, or have ended the call. */
void ask_done(struct ask *a) {
    if (!a->is_used)
        return;
    CHECK(!a->wire);
    arena_done(&a->kept);
    memset(a, 0, sizeof(*a));
}

/* pieces */

char *make_text(struct arena *a, const char *text) {
    char *copy = arena_strdup(a, text);
    ensure(copy);
    return copy;
}

char *make_long_text(struct arena *a, size_t len) {
    char *text = arena_alloc(a, len + 1);
    ensure(text);
    memset(text, 'x', len);
    text[len] = 0;
    return text;
}

Google__Protobuf__Duration *make_duration(struct arena *a, int64_t us) {
    Google__Protobuf__Duration *d = MAKE(a, Google__Protobuf__Duration, google__protobuf__duration__init);
    d->seconds = us / USEC_PER_SEC;
    d->nanos = (int32_t)(us % USEC_PER_SEC * NSEC_PER_USEC);
    return d;
}

Common__WorkflowExecution *make_execution(struct arena *a, const char *workflow_id, const char *run_id) {
    Common__WorkflowExecution *ex = MAKE(a, Common__WorkflowExecution, common__workflow_execution__init);
    ex->workflow_id = make_text(a, workflow_id);
    ex->run_id = make_text(a, run_id);
    return ex;
}

Taskqueue__TaskQueue *make_queue(struct arena *a, const char *name) {
    Taskqueue__TaskQueue *q = MAKE(a, Taskqueue__TaskQueue, taskqueue__task_queue__init);
    q->name = make_text(a, name);
    return q;
}

ProtobufCBinaryData make_bytes(struct arena *a, ProtobufCBinaryData from) {
    uint8_t *copy = from.len ? arena_dup(a, from.data, from.len) : NULL;
    ensure(copy || !from.len);
    return (ProtobufCBinaryData){from.len, copy};
}

Common__Payloads *make_payloads(struct arena *a, const char *text) {
    Common__Payloads *all = MAKE(a, Common__Payloads, common__payloads__init);
    Common__Payload *one = MAKE(a, Common__Payload, common__payload__init);
    all->payloads = arena_array(a, Common__Payload *, 1);
    ensure(all->payloads);
    one->data.data = (uint8_t *)make_text(a, text);
    one->data.len = strlen(text);
    all->payloads[0] = one;
    all->n_payloads = 1;
    return all;
}

static Command__Command *command(struct arena *a, E__CommandType type, int which, void *attributes) {
    Command__Command *cmd = MAKE(a, Command__Command, command__command__init);
    cmd->command_type = type;
    cmd->attributes_case = (Command__Command__AttributesCase)which;
    cmd->start_timer_command_attributes = attributes; /* a union of pointers */
    return cmd;
}

Command__Command *make_timer(struct arena *a, const char *id, int64_t us) {
    Command__StartTimerCommandAttributes *in =
        MAKE(a, Command__StartTimerCommandAttributes, command__start_timer_command_attributes__init);
    in->timer_id = make_text(a, id);
    in->start_to_fire_timeout = make_duration(a, us);
    return command(a, COMMAND_TYPE_START_TIMER, COMMAND__COMMAND__ATTRIBUTES_START_TIMER_COMMAND_ATTRIBUTES,
                   in);
}

Command__Command *make_activity(struct arena *a, const char *id) {
    Command__ScheduleActivityTaskCommandAttributes *in =
        MAKE(a, Command__ScheduleActivityTaskCommandAttributes,
             command__schedule_activity_task_command_attributes__init);
    in->activity_id = make_text(a, id);
    in->activity_type = MAKE(a, Common__ActivityType, common__activity_type__init);
    in->activity_type->name = make_text(a, "Act");
    in->start_to_close_timeout = make_duration(a, 10 * USEC_PER_SEC);
    in->input = make_payloads(a, "input");
    return command(a, COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
                   COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES, in);
}

Command__Command *make_complete(struct arena *a) {
    Command__CompleteWorkflowExecutionCommandAttributes *in =
        MAKE(a, Command__CompleteWorkflowExecutionCommandAttributes,
             command__complete_workflow_execution_command_attributes__init);
    in->result = make_payloads(a, "result");
    return command(a, COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
                   COMMAND__COMMAND__ATTRIBUTES_COMPLETE_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES, in);
}

Command__Command *make_marker(struct arena *a, size_t bytes) {
    Command__RecordMarkerCommandAttributes *in =
        MAKE(a, Command__RecordMarkerCommandAttributes, command__record_marker_command_attributes__init);
    Command__RecordMarkerCommandAttributes__DetailsEntry *entry =
        MAKE(a, Command__RecordMarkerCommandAttributes__DetailsEntry,
             command__record_marker_command_attributes__details_entry__init);
    in->marker_name = make_text(a, "marker");
    in->details = arena_array(a, Command__RecordMarkerCommandAttributes__DetailsEntry *, 1);
    ensure(in->details);
    entry->key = make_text(a, "data");
    entry->value = make_payloads(a, make_long_text(a, bytes));
    in->details[0] = entry;
    in->n_details = 1;
    return command(a, COMMAND_TYPE_RECORD_MARKER,
                   COMMAND__COMMAND__ATTRIBUTES_RECORD_MARKER_COMMAND_ATTRIBUTES, in);
}

/* requests */

Ws__StartWorkflowExecutionRequest *ask_start(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__StartWorkflowExecutionRequest *req =
        MAKE(m, Ws__StartWorkflowExecutionRequest, ws__start_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_id = make_text(m, workflow_id);
    req->workflow_type = MAKE(m, Common__WorkflowType, common__workflow_type__init);
    req->workflow_type->name = make_text(m, "Type");
    req->task_queue = make_queue(m, "queue");
    req->identity = make_text(m, "client");
    return req;
}

Ws__PollWorkflowTaskQueueRequest *ask_poll(struct rig *r, struct ask *a, const char *queue) {
    struct arena *m = ask_begin(r, a);
    Ws__PollWorkflowTaskQueueRequest *req =
        MAKE(m, Ws__PollWorkflowTaskQueueRequest, ws__poll_workflow_task_queue_request__init);
    req->namespace_ = make_text(m, "default");
    req->task_queue = make_queue(m, queue);
    req->identity = make_text(m, "worker");
    return req;
}

Ws__GetWorkflowExecutionHistoryRequest *ask_history(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__GetWorkflowExecutionHistoryRequest *req =
        MAKE(m, Ws__GetWorkflowExecutionHistoryRequest, ws__get_workflow_execution_history_request__init);
    req->namespace_ = make_text(m, "default");
    req->execution = make_execution(m, workflow_id, "");
    return req;
}

Ws__QueryWorkflowRequest *ask_query(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__QueryWorkflowRequest *req = MAKE(m, Ws__QueryWorkflowRequest, ws__query_workflow_request__init);
    req->namespace_ = make_text(m, "default");
    req->execution = make_execution(m, workflow_id, "");
    req->query = MAKE(m, Query__WorkflowQuery, query__workflow_query__init);
    req->query->query_type = make_text(m, "state");
    return req;
}

Ws__RespondWorkflowTaskCompletedRequest *ask_completion(struct rig *r, struct ask *a,
                                                        const struct ask *poll) {
    struct arena *m = ask_begin(r, a);
    Ws__RespondWorkflowTaskCompletedRequest *req =
        MAKE(m, Ws__RespondWorkflowTaskCompletedRequest, ws__respond_workflow_task_completed_request__init);
    struct str token = ask_token(poll);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->identity = make_text(m, "worker");
    return req;
}

void add_command(struct ask *a, Ws__RespondWorkflowTaskCompletedRequest *req, Command__Command *cmd) {
    Command__Command **all = arena_array(ask_arena(a), Command__Command *, req->n_commands + 1);
    ensure(all);
    if (req->n_commands)
        memcpy(all, req->commands, req->n_commands * sizeof(*all));
    all[req->n_commands++] = cmd;
    req->commands = all;
}

void add_sticky(struct ask *a, Ws__RespondWorkflowTaskCompletedRequest *req, const char *queue) {
    struct arena *m = ask_arena(a);
    req->sticky_attributes =
        MAKE(m, Taskqueue__StickyExecutionAttributes, taskqueue__sticky_execution_attributes__init);
    req->sticky_attributes->worker_task_queue = make_queue(m, queue);
    req->sticky_attributes->schedule_to_start_timeout = make_duration(m, 5 * USEC_PER_SEC);
}

/* sent */

void rig_start(struct rig *r, struct ask *a, const char *workflow_id) {
    RIG_SEND(r, a, start_workflow, ask_start(r, a, workflow_id));
}

void rig_signal(struct rig *r, struct ask *a, const char *workflow_id, const char *request_id) {
    struct arena *m = ask_begin(r, a);
    Ws__SignalWorkflowExecutionRequest *req =
        MAKE(m, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, workflow_id, "");
    req->signal_name = make_text(m, "signal");
    req->request_id = make_text(m, request_id);
    RIG_SEND(r, a, signal_workflow, req);
}

void rig_cancel(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__RequestCancelWorkflowExecutionRequest *req = MAKE(
        m, Ws__RequestCancelWorkflowExecutionRequest, ws__request_cancel_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, workflow_id, "");
    RIG_SEND(r, a, request_cancel, req);
}

void rig_terminate(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__TerminateWorkflowExecutionRequest *req =
        MAKE(m, Ws__TerminateWorkflowExecutionRequest, ws__terminate_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, workflow_id, "");
    req->reason = make_text(m, "because");
    RIG_SEND(r, a, terminate_workflow, req);
}

void rig_describe(struct rig *r, struct ask *a, const char *workflow_id) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeWorkflowExecutionRequest *req =
        MAKE(m, Ws__DescribeWorkflowExecutionRequest, ws__describe_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->execution = make_execution(m, workflow_id, "");
    RIG_SEND(r, a, describe_workflow, req);
}

void rig_history(struct rig *r, struct ask *a, const char *workflow_id) {
    RIG_SEND(r, a, get_history, ask_history(r, a, workflow_id));
}

void rig_poll(struct rig *r, struct ask *a, const char *queue) {
    RIG_SEND(r, a, poll_workflow_task, ask_poll(r, a, queue));
}

void rig_poll_sticky(struct rig *r, struct ask *a, const char *queue) {
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, queue);
    req->task_queue->kind = TASK_QUEUE_KIND_STICKY;
    req->task_queue->normal_name = make_text(ask_arena(a), "queue");
    RIG_SEND(r, a, poll_workflow_task, req);
}

void rig_poll_activity(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__PollActivityTaskQueueRequest *req =
        MAKE(m, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
    req->namespace_ = make_text(m, "default");
    req->task_queue = make_queue(m, "queue");
    req->identity = make_text(m, "worker");
    RIG_SEND(r, a, poll_activity_task, req);
}

void rig_complete(struct rig *r, struct ask *a, const struct ask *poll) {
    RIG_SEND(r, a, complete_workflow_task, ask_completion(r, a, poll));
}

void rig_finish(struct rig *r, struct ask *a, const struct ask *poll) {
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, a, poll);
    add_command(a, req, make_complete(ask_arena(a)));
    RIG_SEND(r, a, complete_workflow_task, req);
}

void rig_complete_sticky(struct rig *r, struct ask *a, const struct ask *poll, const char *queue) {
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, a, poll);
    add_sticky(a, req, queue);
    RIG_SEND(r, a, complete_workflow_task, req);
}

void rig_fail_task(struct rig *r, struct ask *a, const struct ask *poll) {
    struct arena *m = ask_begin(r, a);
    Ws__RespondWorkflowTaskFailedRequest *req =
        MAKE(m, Ws__RespondWorkflowTaskFailedRequest, ws__respond_workflow_task_failed_request__init);
    struct str token = ask_token(poll);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->cause = WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE;
    RIG_SEND(r, a, fail_workflow_task, req);
}

void rig_complete_activity(struct rig *r, struct ask *a, const struct ask *poll) {
    struct arena *m = ask_begin(r, a);
    Ws__RespondActivityTaskCompletedRequest *req =
        MAKE(m, Ws__RespondActivityTaskCompletedRequest, ws__respond_activity_task_completed_request__init);
    struct str token = ask_token(poll);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->result = make_payloads(m, "result");
    RIG_SEND(r, a, complete_activity, req);
}

void rig_query(struct rig *r, struct ask *a, const char *workflow_id) {
    RIG_SEND(r, a, query_workflow, ask_query(r, a, workflow_id));
}

void rig_answer_query(struct rig *r, struct ask *a, const struct ask *poll, const char *result) {
    struct arena *m = ask_begin(r, a);
    Ws__RespondQueryTaskCompletedRequest *req =
        MAKE(m, Ws__RespondQueryTaskCompletedRequest, ws__respond_query_task_completed_request__init);
    struct str token = ask_token(poll);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->completed_type = result ? QUERY_RESULT_TYPE_ANSWERED : QUERY_RESULT_TYPE_FAILED;
    if (result) {
        req->query_result = make_payloads(m, result);
    } else {
        req->error_message = make_text(m, "no such query");
        req->failure = MAKE(m, Failure__Failure, failure__failure__init);
        req->failure->message = make_text(m, "no such query");
    }
    RIG_SEND(r, a, answer_query, req);
}

/* looking */

static bool is_a(const struct ask *a, const ProtobufCMessageDescriptor *d) {
    return a->response && ((const ProtobufCMessage *)a->response)->descriptor == d;
}

struct str ask_token(const struct ask *a) {
    if (is_a(a, &ws__poll_workflow_task_queue_response__descriptor))
        return pb_bytes(&((const Ws__PollWorkflowTaskQueueResponse *)a->response)->task_token);
    if (is_a(a, &ws__poll_activity_task_queue_response__descriptor))
        return pb_bytes(&((const Ws__PollActivityTaskQueueResponse *)a->response)->task_token);
    if (is_a(a, &ws__respond_workflow_task_completed_response__descriptor)) {
        const Ws__RespondWorkflowTaskCompletedResponse *done = a->response;
        return done->workflow_task ? pb_bytes(&done->workflow_task->task_token) : (struct str){NULL, 0};
    }
    return (struct str){NULL, 0};
}

static const History__History *history_of(const struct ask *a) {
    if (is_a(a, &ws__poll_workflow_task_queue_response__descriptor))
        return ((const Ws__PollWorkflowTaskQueueResponse *)a->response)->history;
    if (is_a(a, &ws__get_workflow_execution_history_reverse_response__descriptor))
        return ((const Ws__GetWorkflowExecutionHistoryReverseResponse *)a->response)->history;
    if (is_a(a, &ws__get_workflow_execution_history_response__descriptor))
        return ((const Ws__GetWorkflowExecutionHistoryResponse *)a->response)->history;
    if (is_a(a, &ws__respond_workflow_task_completed_response__descriptor)) {
        const Ws__RespondWorkflowTaskCompletedResponse *done = a->response;
        return done->workflow_task ? done->workflow_task->history : NULL;
    }
    return NULL;
}

const char *ask_events(struct ask *a) {
    const History__History *h = history_of(a);
    struct buf text;
    if (!h)
        return "no history";
    buf_init(&text, CALL_BYTES_MAX);
    for (size_t i = 0; i < h->n_events; i++)
        event_text(&text, h->events[i]);
    buf_add_u8(&text, 0);
    const char *kept = arena_dup(&a->kept, text.data, text.len);
    ensure(kept && buf_ok(&text));
    buf_done(&text);
    return kept;
}
