/* Bytes as what workers ask for when they complete workflow tasks: lists of commands, against a run in an
 * engine.
 *
 * A byte says what happens next: a command is added (its type, two bytes of length, its attributes), the list
 * is sent, an activity is completed, a signal comes, time passes, the server crashes. A list is taken, or
 * fails the task; never more. The history is then numbered without gaps, begins with the start, has nothing
 * behind the event that closes it, only ever grows, and is the same after a crash. */
#include "fuzz.h"
#include "names.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "world.h"

#define INPUT_BYTES_MAX 4096
#define ACTS_MAX 12
#define REQUEST_BYTES_MAX ((size_t)64 << 10)
#define HISTORY_BYTES_MAX ((size_t)16 << 20)

enum act { ACT_COMMAND, ACT_SEND, ACT_ACTIVITY, ACT_SIGNAL, ACT_TIME, ACT_CRASH, ACT_COUNT };

enum { COMMAND_TYPE_FIELD = 1, COMMANDS_FIELD = 2, HISTORY_FIELD = 1 };

/* The field of each command's attributes. */
static const struct {
    uint8_t type, field;
} attributes[] = {
    {COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK, 2},
    {COMMAND_TYPE_START_TIMER, 3},
    {COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, 4},
    {COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, 5},
    {COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK, 6},
    {COMMAND_TYPE_CANCEL_TIMER, 7},
    {COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, 8},
    {COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION, 9},
    {COMMAND_TYPE_RECORD_MARKER, 10},
    {COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION, 11},
    {COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION, 12},
    {COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION, 13},
    {COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, 14},
    {COMMAND_TYPE_PROTOCOL_MESSAGE, 15},
    {COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES, 17},
};

struct input {
    const uint8_t *p, *end;
};

struct play {
    struct world world;
    struct input in;
    struct buf request; /* the list so far, packed */
    struct buf history; /* what it was when last looked at */
    int64_t last_event_id; /* there */
    bool is_closed; /* by that event */
    char run_id[64]; /* of the first run */
    bool is_checked; /* nothing has happened since the history was looked at */
};

static uint8_t take_byte(struct input *in) {
    return in->p < in->end ? *in->p++ : 0;
}

static struct str take_body(struct input *in) {
    size_t low = take_byte(in), n = low | (size_t)take_byte(in) << 8;
    struct str s = str_bytes(in->p, MIN(n, (size_t)(in->end - in->p)));
    in->p += s.n;
    return s;
}

/* the run */

static char *text_of(const char *s) {
    return (char *)(uintptr_t)s;
}

static void start(struct play *p) {
    Ws__StartWorkflowExecutionRequest r = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    type.name = text_of("Type");
    queue.name = text_of("queue");
    r.namespace_ = text_of("default");
    r.workflow_id = text_of("wf");
    r.request_id = text_of("request");
    r.workflow_type = &type;
    r.task_queue = &queue;
    struct ask *a = world_send(&p->world, "StartWorkflowExecution", &r.base);
    ensure(a->is_done && a->code == 0);
    memcpy(p->run_id, p->world.run_id, sizeof(p->run_id));
}

/* Whether there was a task; its token is the world's then. */
static bool poll_task(struct play *p, const char *method, const char *queue_name) {
    Ws__PollWorkflowTaskQueueRequest r = WS__POLL_WORKFLOW_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = text_of(queue_name);
    r.namespace_ = text_of("default");
    r.task_queue = &queue; /* both kinds of poll have these two fields, by the same numbers */
    struct ask *a = world_send(&p->world, method, &r.base);
    bool is_given = a->is_done && a->code == 0;
    if (!is_given)
        ask_free(a);
    return is_given;
}

static void send_list(struct play *p) {
    if (poll_task(p, "PollWorkflowTaskQueue", "queue")) {
        wire_add_bytes_field(&p->request, 1, STR("@"));
        wire_add_bytes_field(&p->request, 9, STR("default"));
        (void)world_ask(&p->world, world_method("RespondWorkflowTaskCompleted"), buf_str(&p->request));
    }
    buf_clear(&p->request);
}

static void complete_activity(struct play *p) {
    struct buf request cleanup(buf_done);
    buf_init(&request, REQUEST_BYTES_MAX);
    if (!poll_task(p, "PollActivityTaskQueue", "queue"))
        return;
    wire_add_bytes_field(&request, 1, STR("@"));
    wire_add_bytes_field(&request, 4, STR("default"));
    ensure(world_ask(&p->world, world_method("RespondActivityTaskCompleted"), buf_str(&request)));
}

static void send_signal(struct play *p) {
    Ws__SignalWorkflowExecutionRequest r = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    execution.workflow_id = text_of("wf");
    r.namespace_ = text_of("default");
    r.workflow_execution = &execution;
    r.signal_name = text_of("signal");
    (void)world_send(&p->world, "SignalWorkflowExecution", &r.base); /* the run may be closed */
}

static void add_command(struct play *p) {
    uint8_t which = take_byte(&p->in);
    struct buf command cleanup(buf_done);
    buf_init(&command, REQUEST_BYTES_MAX);
    size_t i = which % ARRAY_LEN(attributes);
    buf_add_u8(&command, COMMAND_TYPE_FIELD << 3);
    buf_add_u8(&command, attributes[i].type);
    wire_add_bytes_field(&command, attributes[i].field, take_body(&p->in));
    wire_add_bytes_field(&p->request, COMMANDS_FIELD, buf_str(&command));
}

/* its history */

static bool closes(const History__HistoryEvent *e) {
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return true;
    default:
        return false;
    }
}

static void check_event(struct play *p, const History__HistoryEvent *e) {
    ensure(!p->is_closed);
    ensure(e->event_id == ++p->last_event_id);
    ensure((e->event_id == 1) == (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_STARTED));
    ensure(e->attributes_case != HISTORY__HISTORY_EVENT__ATTRIBUTES__NOT_SET);
    p->is_closed = closes(e);
}

/* Events that were looked at are still the same, byte by byte; the new ones follow. */
static void check_events(struct play *p, struct str events) {
    struct arena arena cleanup(arena_done);
    ProtobufCMessage *news;
    struct err e = {0};
    ensure(str_starts(events, buf_str(&p->history)));
    struct str rest = str_bytes(events.p + p->history.len, events.n - p->history.len);
    buf_add_str(&p->history, rest);
    ensure(buf_ok(&p->history));
    arena_init(&arena, HISTORY_BYTES_MAX);
    ensure(wire_decode(&history__history__descriptor, rest, &arena, &news, &e) == 0);
    const History__History *h = (const void *)news;
    for (size_t i = 0; i < h->n_events; i++)
        check_event(p, h->events[i]);
    ensure(p->last_event_id > 0);
}

static void check_history(struct play *p) {
    Ws__GetWorkflowExecutionHistoryRequest r = WS__GET_WORKFLOW_EXECUTION_HISTORY_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    struct wire_field field;
    bool ok = true;
    execution.workflow_id = text_of("wf");
    execution.run_id = p->run_id;
    r.namespace_ = text_of("default");
    r.execution = &execution;
    struct ask *a = world_send(&p->world, "GetWorkflowExecutionHistory", &r.base);
    ensure(a->is_done && a->code == 0);
    struct str rest = buf_str(&a->packed);
    ensure(wire_next_field(&rest, &field, &ok) && field.number == HISTORY_FIELD);
    check_events(p, field.content);
    ensure(!wire_next_field(&rest, &field, &ok) && ok); /* no further page */
    ask_free(a);
    p->is_checked = true;
}

static void act(struct play *p) {
    p->is_checked = false;
    switch ((enum act)(take_byte(&p->in) % ACT_COUNT)) {
    case ACT_COMMAND:
        add_command(p);
        return;
    case ACT_SEND:
        send_list(p);
        break;
    case ACT_ACTIVITY:
        complete_activity(p);
        return;
    case ACT_SIGNAL:
        send_signal(p);
        return;
    case ACT_TIME: {
        int64_t us = INT64_C(1000) << take_byte(&p->in) % 25;
        if (!p->is_closed) /* days later it would be gone */
            world_advance(&p->world, us);
        break;
    }
    case ACT_CRASH:
        world_crash(&p->world);
        break;
    case ACT_COUNT:
        return;
    }
    check_history(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct play p = {.in = {data, data + size}};
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    world_open(&p.world);
    p.world.is_brief = true;
    buf_init(&p.request, REQUEST_BYTES_MAX);
    buf_init(&p.history, HISTORY_BYTES_MAX);
    start(&p);
    for (int i = 0; i < ACTS_MAX && p.in.p < p.in.end; i++)
        act(&p);
    if (p.request.len) {
        p.is_checked = false;
        send_list(&p);
    }
    if (!p.is_checked)
        check_history(&p);
    world_crash(&p.world);
    ensure(p.world.is_ready);
    check_history(&p);
    world_close(&p.world);
    buf_done(&p.request);
    buf_done(&p.history);
    return 0;
}
