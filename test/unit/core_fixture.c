/* One run and the steps that a test takes with it.
 *
 * A step works on f->st; core_end keeps it (events appended, state replaced by its own image) or
 * brings the last image back, which is what the engine does. Everything that a test builds lives in
 * one arena until core_done. */
#include "core_fixture.h"

#include "event_text.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define CORE_BYTES_MAX (256u << 20)

/* A zeroed and initialised message in the arena, or NULL. */
#define MAKE(f, type, init)                                                                                  \
    __extension__({                                                                                          \
        type *made_ = arena_new(&(f)->arena, type);                                                          \
        if (made_)                                                                                           \
            init(made_);                                                                                     \
        made_;                                                                                               \
    })

char *core_text(struct core *f, const char *text) {
    return arena_strdup(&f->arena, text);
}

void core_init(struct core *f) {
    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, CORE_BYTES_MAX);
    rng_init(&f->rng, 1);
    f->now_us = CORE_T0;
    buf_init(&f->image, CORE_BYTES_MAX);
    buf_init(&f->events, CORE_BYTES_MAX);
    buf_init(&f->text, CORE_BYTES_MAX);
    buf_init(&f->scratch, CORE_BYTES_MAX);
    step_init(&f->s, NULL, (struct wall){0}, &f->rng, &f->arena, &f->err);
    ws__respond_workflow_task_completed_request__init(&f->completion);
    f->completion.commands = f->commands;
    f->completion.identity = core_text(f, "worker");
    ws__start_workflow_execution_request__init(&f->start);
    f->start.workflow_id = core_text(f, "wf");
    f->start.workflow_type = MAKE(f, Common__WorkflowType, common__workflow_type__init);
    f->start.task_queue = core_queue(f, "queue");
    f->start.identity = core_text(f, "client");
    if (f->start.workflow_type)
        f->start.workflow_type->name = core_text(f, "Type");
}

void core_done(struct core *f) {
    pb_free(f->st);
    step_done(&f->s);
    buf_done(&f->image);
    buf_done(&f->events);
    buf_done(&f->text);
    buf_done(&f->scratch);
    arena_done(&f->arena);
}

/* steps */

bool core_begin(struct core *f) {
    step_done(&f->s);
    memset(&f->err, 0, sizeof(f->err));
    step_init(&f->s, f->st, (struct wall){f->now_us}, &f->rng, &f->arena, &f->err);
    f->s.limits = &f->limits;
    if (f->ctx.namespace_name)
        f->s.ctx = f->ctx;
    return f->st && !f->is_out_of_memory && !arena_failed(&f->arena);
}

/* From the last image. Before the first step there is none: then there is no run again. */
static void restore(struct core *f) {
    pb_free(take(&f->st));
    if (f->image.len)
        f->st = state__execution__unpack(&wire_heap_allocator, f->image.len, f->image.data);
    f->s.st = f->st;
}

static void read_events(struct core *f, struct str bytes) {
    ProtobufCAllocator alloc = wire_arena_allocator(&f->arena);
    struct wire_field field;
    bool ok = true;
    while (wire_next_field(&bytes, &field, &ok)) {
        History__HistoryEvent *ev =
            history__history_event__unpack(&alloc, field.content.n, (const uint8_t *)field.content.p);
        if (ev)
            event_text(&f->text, ev);
    }
    CHECK(ok);
}

int core_end(struct core *f, int rc) {
    if (rc == 0)
        rc = run_settle(&f->s);
    if (rc == 0 && step_failed(&f->s))
        rc = ERR_NO_MEMORY;
    if (rc == 0) {
        buf_clear(&f->image);
        wire_encode(&f->image, &f->st->base);
        if (!buf_ok(&f->image))
            rc = ERR_NO_MEMORY;
    }
    if (rc == 0) {
        buf_add_str(&f->events, buf_str(&f->s.events));
        read_events(f, buf_str(&f->s.events));
    }
    restore(f);
    f->is_out_of_memory = rc == ERR_NO_MEMORY || !f->st;
    return rc;
}

int core_start(struct core *f) {
    static const struct run_birth birth = {"11111111-1111-4111-8111-111111111111",
                                           "22222222-2222-4222-8222-222222222222", "start-request"};
    bool failed = false;
    if (arena_failed(&f->arena))
        return ERR_NO_MEMORY;
    f->st = pb_new(&state__execution__descriptor, &failed);
    return STEP(f, run_start(&f->s, &birth, &f->start));
}

void core_advance(struct core *f, int64_t us) {
    f->now_us += us;
}

int core_tick(struct core *f) {
    return STEP(f, run_tick(&f->s));
}

int core_pick_from(struct core *f, bool from_sticky) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    struct task_pick pick = {.scheduled_event_id = f->st->task ? f->st->task->scheduled_event_id : 0,
                             .identity = "worker",
                             .request_id = "poll-request",
                             .from_sticky = from_sticky};
    return core_end(f, task_start(&f->s, &pick));
}

int core_pick(struct core *f) {
    return core_pick_from(f, f->st && f->st->task && f->st->task->is_sticky);
}

State__TaskToken core_token(const struct core *f) {
    State__TaskToken t = STATE__TASK_TOKEN__INIT;
    if (!f->st || !f->st->task)
        return t;
    t.scheduled_event_id = f->st->task->scheduled_event_id;
    t.started_event_id = f->st->task->started_event_id;
    t.attempt = f->st->task->attempt;
    t.started_us = f->st->task->started_us;
    return t;
}

int core_complete(struct core *f) {
    State__TaskToken token = core_token(f);
    int rc = STEP(f, task_complete(&f->s, &token, &f->completion, &f->done));
    f->completion.n_commands = 0;
    f->completion.force_create_new_workflow_task = false;
    f->completion.return_new_workflow_task = false;
    return rc;
}

int core_fail_task(struct core *f) {
    return STEP_VOID(
        f, task_fail(&f->s, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, NULL, "worker"));
}

int core_signal(struct core *f, const char *name) {
    Ws__SignalWorkflowExecutionRequest req = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.signal_name = core_text(f, name);
    req.identity = core_text(f, "client");
    return STEP(f, run_signal(&f->s, &req, NULL));
}

int core_cancel(struct core *f) {
    Ws__RequestCancelWorkflowExecutionRequest req = WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.reason = core_text(f, "enough");
    req.identity = core_text(f, "client");
    req.request_id = core_text(f, "cancel-request");
    return STEP(f, run_request_cancel(&f->s, &req, NULL));
}

int core_terminate(struct core *f) {
    return STEP(f, run_terminate(&f->s, "because", core_payloads(f, "d"), "client", NULL, 0));
}

int core_begin_run(struct core *f) {
    int rc = core_start(f);
    return rc < 0 ? rc : core_pick(f);
}

int core_begin_activity(struct core *f, const char *id) {
    int rc = core_begin_run(f);
    if (rc < 0)
        return rc;
    core_add_activity(f, id);
    return core_complete(f);
}

/* activities */

int core_activity_start(struct core *f, int64_t scheduled_event_id) {
    const State__Activity *known = core_activity(f, scheduled_event_id);
    return STEP(f, activity_start(&f->s, scheduled_event_id, known ? known->stamp : 0, "activity-worker",
                                  "activity-request"));
}

static State__Activity *started(struct core *f, int64_t scheduled_event_id) {
    State__Activity *a = NULL;
    State__TaskToken token = STATE__TASK_TOKEN__INIT;
    const State__Activity *known = activity_find(f->st, scheduled_event_id);
    token.scheduled_event_id = scheduled_event_id;
    token.attempt = known ? known->attempt : 0;
    token.stamp = known ? known->stamp : 0;
    return activity_check_token(&f->s, &token, &a) == 0 ? a : NULL;
}

int core_activity_complete(struct core *f, int64_t scheduled_event_id) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    State__Activity *a = started(f, scheduled_event_id);
    return core_end(f, a ? activity_complete(&f->s, a, core_payloads(f, "result"), "activity-worker")
                         : ERR_NOT_FOUND);
}

int core_activity_fail(struct core *f, int64_t scheduled_event_id, Failure__Failure *failure) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    State__Activity *a = started(f, scheduled_event_id);
    return core_end(f, a ? activity_fail(&f->s, a, failure, NULL, "activity-worker") : ERR_NOT_FOUND);
}

int core_activity_cancel(struct core *f, int64_t scheduled_event_id) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    State__Activity *a = started(f, scheduled_event_id);
    return core_end(f, a ? activity_cancel(&f->s, a, core_payloads(f, "details"), "activity-worker")
                         : ERR_NOT_FOUND);
}

/* commands */

/* Without memory the command goes nowhere, but the test can still write into it. */
static Command__Command *add(struct core *f, E__CommandType type, Command__Command__AttributesCase which,
                             void *attributes) {
    Command__Command *cmd = MAKE(f, Command__Command, command__command__init);
    if (!cmd)
        return NULL;
    ensure(f->completion.n_commands < CORE_COMMANDS_MAX);
    cmd->command_type = type;
    cmd->attributes_case = which;
    cmd->start_timer_command_attributes = attributes; /* a union of pointers */
    if (attributes || which == COMMAND__COMMAND__ATTRIBUTES__NOT_SET)
        f->completion.commands[f->completion.n_commands++] = cmd;
    return cmd;
}

#define ADD(f, NAME, attributes)                                                                             \
    add((f), COMMAND_TYPE_##NAME, COMMAND__COMMAND__ATTRIBUTES_##NAME##_COMMAND_ATTRIBUTES, (attributes))

Command__Command *core_add(struct core *f, E__CommandType type) {
    return add(f, type, COMMAND__COMMAND__ATTRIBUTES__NOT_SET, NULL);
}

Command__ScheduleActivityTaskCommandAttributes *core_add_activity(struct core *f, const char *id) {
    Command__ScheduleActivityTaskCommandAttributes *a =
        MAKE(f, Command__ScheduleActivityTaskCommandAttributes,
             command__schedule_activity_task_command_attributes__init);
    if (!a)
        return NULL;
    a->activity_id = core_text(f, id);
    a->activity_type = MAKE(f, Common__ActivityType, common__activity_type__init);
    if (!a->activity_type)
        return NULL;
    a->activity_type->name = core_text(f, "Act");
    a->start_to_close_timeout = core_duration(f, 10 * USEC_PER_SEC);
    a->input = core_payloads(f, "input");
    ADD(f, SCHEDULE_ACTIVITY_TASK, a);
    return a;
}

Command__StartTimerCommandAttributes *core_add_timer(struct core *f, const char *id, int64_t us) {
    Command__StartTimerCommandAttributes *a =
        MAKE(f, Command__StartTimerCommandAttributes, command__start_timer_command_attributes__init);
    if (!a)
        return NULL;
    a->timer_id = core_text(f, id);
    a->start_to_fire_timeout = core_duration(f, us);
    ADD(f, START_TIMER, a);
    return a;
}

void core_add_cancel_timer(struct core *f, const char *id) {
    Command__CancelTimerCommandAttributes *a =
        MAKE(f, Command__CancelTimerCommandAttributes, command__cancel_timer_command_attributes__init);
    if (a)
        a->timer_id = core_text(f, id);
    ADD(f, CANCEL_TIMER, a);
}

void core_add_cancel_activity(struct core *f, int64_t scheduled_event_id) {
    Command__RequestCancelActivityTaskCommandAttributes *a =
        MAKE(f, Command__RequestCancelActivityTaskCommandAttributes,
             command__request_cancel_activity_task_command_attributes__init);
    if (a)
        a->scheduled_event_id = scheduled_event_id;
    ADD(f, REQUEST_CANCEL_ACTIVITY_TASK, a);
}

void core_add_complete(struct core *f) {
    Command__CompleteWorkflowExecutionCommandAttributes *a =
        MAKE(f, Command__CompleteWorkflowExecutionCommandAttributes,
             command__complete_workflow_execution_command_attributes__init);
    if (a)
        a->result = core_payloads(f, "result");
    ADD(f, COMPLETE_WORKFLOW_EXECUTION, a);
}

Command__FailWorkflowExecutionCommandAttributes *core_add_fail(struct core *f) {
    Command__FailWorkflowExecutionCommandAttributes *a =
        MAKE(f, Command__FailWorkflowExecutionCommandAttributes,
             command__fail_workflow_execution_command_attributes__init);
    if (!a)
        return NULL;
    a->failure = core_failure(f, "Bad");
    ADD(f, FAIL_WORKFLOW_EXECUTION, a);
    return a;
}

void core_add_cancel(struct core *f) {
    Command__CancelWorkflowExecutionCommandAttributes *a =
        MAKE(f, Command__CancelWorkflowExecutionCommandAttributes,
             command__cancel_workflow_execution_command_attributes__init);
    if (a)
        a->details = core_payloads(f, "details");
    ADD(f, CANCEL_WORKFLOW_EXECUTION, a);
}

Command__RecordMarkerCommandAttributes *core_add_marker(struct core *f, const char *name) {
    Command__RecordMarkerCommandAttributes *a =
        MAKE(f, Command__RecordMarkerCommandAttributes, command__record_marker_command_attributes__init);
    if (!a)
        return NULL;
    a->marker_name = core_text(f, name);
    ADD(f, RECORD_MARKER, a);
    return a;
}

void core_set_sticky(struct core *f, const char *queue, int64_t timeout_us) {
    Taskqueue__StickyExecutionAttributes *a =
        MAKE(f, Taskqueue__StickyExecutionAttributes, taskqueue__sticky_execution_attributes__init);
    if (!a)
        return;
    a->worker_task_queue = core_queue(f, queue);
    a->schedule_to_start_timeout = core_duration(f, timeout_us);
    f->completion.sticky_attributes = a;
}

/* pieces */

Google__Protobuf__Duration *core_duration(struct core *f, int64_t us) {
    Google__Protobuf__Duration *d = MAKE(f, Google__Protobuf__Duration, google__protobuf__duration__init);
    if (d)
        *d = pb_duration(us);
    return d;
}

Common__Payload *core_payload(struct core *f, const char *encoding, const char *data) {
    Common__Payload *p = MAKE(f, Common__Payload, common__payload__init);
    Common__Payload__MetadataEntry *m =
        MAKE(f, Common__Payload__MetadataEntry, common__payload__metadata_entry__init);
    Common__Payload__MetadataEntry **entries = arena_array(&f->arena, Common__Payload__MetadataEntry *, 1);
    if (!p || !m || !entries)
        return NULL;
    p->data = (ProtobufCBinaryData){strlen(data), arena_dup(&f->arena, data, strlen(data))};
    if (!encoding)
        return p;
    m->key = core_text(f, "encoding");
    m->value = (ProtobufCBinaryData){strlen(encoding), arena_dup(&f->arena, encoding, strlen(encoding))};
    entries[0] = m;
    p->metadata = entries;
    p->n_metadata = 1;
    return arena_failed(&f->arena) ? NULL : p;
}

Common__Payloads *core_payloads(struct core *f, const char *text) {
    Common__Payloads *all = MAKE(f, Common__Payloads, common__payloads__init);
    Common__Payload **items = arena_array(&f->arena, Common__Payload *, 1);
    Common__Payload *one = core_payload(f, "binary/plain", text);
    if (!all || !items || !one)
        return NULL;
    items[0] = one;
    all->payloads = items;
    all->n_payloads = 1;
    return all;
}

Failure__Failure *core_failure(struct core *f, const char *type) {
    Failure__Failure *failure = MAKE(f, Failure__Failure, failure__failure__init);
    Failure__ApplicationFailureInfo *info =
        MAKE(f, Failure__ApplicationFailureInfo, failure__application_failure_info__init);
    if (!failure || !info)
        return NULL;
    failure->message = core_text(f, "it failed");
    info->type = core_text(f, type);
    failure->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    failure->application_failure_info = info;
    return failure;
}

Taskqueue__TaskQueue *core_queue(struct core *f, const char *name) {
    Taskqueue__TaskQueue *q = MAKE(f, Taskqueue__TaskQueue, taskqueue__task_queue__init);
    if (q)
        q->name = core_text(f, name);
    return q;
}

/* looking */

/* A C string that lives until core_done. */
static const char *keep(struct core *f, const struct buf *b) {
    const char *text = b->len ? arena_strndup(&f->arena, (const char *)b->data, b->len) : "";
    return text ? text : "out of memory";
}

const char *core_new(struct core *f) {
    const char *text = keep(f, &f->text);
    buf_clear(&f->text);
    return text;
}

const char *core_effects(struct core *f) {
    static const char *const names[] = {
        [EFFECT_WORKFLOW_TASK] = "TASK", [EFFECT_ACTIVITY_TASK] = "ACTIVITY", [EFFECT_CLOSED] = "CLOSED"};
    buf_clear(&f->scratch);
    for (size_t i = 0; i < f->s.effect_count; i++) {
        const struct effect *fx = &f->s.effects[i];
        buf_printf(&f->scratch, "%s%s", i ? " " : "", names[fx->kind]);
        if (fx->event_id)
            buf_printf(&f->scratch, "@%" PRId64, fx->event_id);
    }
    return keep(f, &f->scratch);
}

const History__HistoryEvent *core_event(struct core *f, int64_t id) {
    ProtobufCAllocator alloc = wire_arena_allocator(&f->arena);
    struct str rest = buf_str(&f->events);
    struct wire_field field;
    bool ok = true;
    for (int64_t i = 1; wire_next_field(&rest, &field, &ok); i++)
        if (i == id)
            return history__history_event__unpack(&alloc, field.content.n, (const uint8_t *)field.content.p);
    return NULL;
}

const void *core_attributes(struct core *f, int64_t id, E__EventType type) {
    const History__HistoryEvent *ev = core_event(f, id);
    /* A union of pointers. */
    return ev && ev->event_id == id && ev->event_type == type ? ev->timer_fired_event_attributes : NULL;
}

int64_t core_event_us(struct core *f, int64_t id) {
    const History__HistoryEvent *ev = core_event(f, id);
    if (!ev || !ev->event_time)
        return -1;
    return ev->event_time->seconds * USEC_PER_SEC + ev->event_time->nanos / NSEC_PER_USEC;
}

const State__Activity *core_activity(const struct core *f, int64_t scheduled_event_id) {
    return f->st ? activity_find(f->st, scheduled_event_id) : NULL;
}
