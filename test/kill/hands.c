/* The first task of an order schedules its activity; the one that finds it completed, and all signals,
 * completes the order. A task may come again after a kill: then its answer may find that it was answered
 * already. */
#include "hands.h"

#include "base/mem.h"
#include "bench/load/bench.h"
#include "bench/load/requests.h"
#include "names.h"

#define ACTIVITY_TIMEOUT_S 2

struct answer {
    struct list link; /* in hands.answers */
    struct hands *hands;
    size_t order;
    bool is_activity;
    bool is_last;
};

static void poll_workflow_task(void *ctx);
static void poll_activity_task(void *ctx);

static void ask(struct hands *h, enum client_method method, const ProtobufCMessage *request,
                void (*on_reply)(void *ctx, const struct client_reply *r), void *ctx) {
    struct client_ask a = {.method = method, .request = request, .on_reply = on_reply, .ctx = ctx};
    ensure(client_call(h->client, &a, NULL) == 0);
}

static void note(struct hands *h, const struct answer *a) {
    struct order *o = &h->orders->all[a->order];
    h->orders->acknowledged++;
    if (a->is_activity) {
        if (o->has_activity)
            die("the activity of order %zu is completed twice", a->order);
        o->has_activity = true;
    }
    if (a->is_last) {
        if (o->is_closed)
            die("order %zu is completed twice", a->order);
        o->is_closed = true;
        h->orders->closed++;
        h->on_closed(h->ctx);
    }
}

static void on_answered(void *ctx, const struct client_reply *r) {
    struct answer *a = ctx;
    struct hands *h = a->hands;
    list_remove(&a->link);
    if (r->code == GRPC_OK)
        note(h, a);
    else if (r->code != GRPC_NOT_FOUND)
        die("order %zu: the server answers a worker %d: %s", a->order, r->code, r->text);
    mem_free(a);
}

static struct answer *answer_new(struct hands *h, const char *workflow_id) {
    struct answer *a = mem_zalloc(sizeof *a);
    ensure(a);
    a->hands = h;
    a->order = index_of_id(workflow_id);
    list_append(&h->answers, &a->link);
    return a;
}

static size_t count_events(const History__History *h, E__EventType type) {
    size_t n = 0;
    for (size_t i = 0; h && i < h->n_events; i++)
        n += h->events[i]->event_type == type;
    return n;
}

/* The command and all that it points to. */
struct decision {
    Command__Command m;
    Command__CompleteWorkflowExecutionCommandAttributes complete;
    Command__ScheduleActivityTaskCommandAttributes schedule;
    Common__ActivityType activity_type;
    Taskqueue__TaskQueue queue;
    Google__Protobuf__Duration timeout;
};

static void decide_activity(struct decision *d) {
    command__schedule_activity_task_command_attributes__init(&d->schedule);
    common__activity_type__init(&d->activity_type);
    taskqueue__task_queue__init(&d->queue);
    google__protobuf__duration__init(&d->timeout);
    d->activity_type.name = mutable_text("charge");
    d->queue.name = mutable_text(QUEUE_NAME);
    d->timeout.seconds = ACTIVITY_TIMEOUT_S;
    d->schedule.activity_id = mutable_text("1");
    d->schedule.activity_type = &d->activity_type;
    d->schedule.task_queue = &d->queue;
    d->schedule.start_to_close_timeout = &d->timeout;
    d->m.command_type = COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK;
    d->m.attributes_case = COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    d->m.schedule_activity_task_command_attributes = &d->schedule;
}

static void decide_complete(struct decision *d) {
    command__complete_workflow_execution_command_attributes__init(&d->complete);
    d->m.command_type = COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
    d->m.attributes_case = COMMAND__COMMAND__ATTRIBUTES_COMPLETE_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    d->m.complete_workflow_execution_command_attributes = &d->complete;
}

static void answer_task(struct hands *h, const Ws__PollWorkflowTaskQueueResponse *task) {
    Ws__RespondWorkflowTaskCompletedRequest m = WS__RESPOND_WORKFLOW_TASK_COMPLETED_REQUEST__INIT;
    struct decision d;
    Command__Command *commands[] = {&d.m};
    struct answer *a = answer_new(h, task->workflow_execution->workflow_id);
    command__command__init(&d.m);
    m.commands = commands;
    m.n_commands = 1;
    if (!count_events(task->history, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)) {
        decide_activity(&d);
    } else if (count_events(task->history, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED) >= ORDER_SIGNALS &&
               count_events(task->history, EVENT_TYPE_ACTIVITY_TASK_COMPLETED)) {
        decide_complete(&d);
        a->is_last = true;
    } else {
        m.n_commands = 0;
    }
    m.task_token = task->task_token;
    m.identity = mutable_text("hands");
    m.namespace_ = mutable_text("default");
    ask(h, CALL_RespondWorkflowTaskCompleted, &m.base, on_answered, a);
}

static void answer_activity(struct hands *h, const Ws__PollActivityTaskQueueResponse *task) {
    Ws__RespondActivityTaskCompletedRequest m = WS__RESPOND_ACTIVITY_TASK_COMPLETED_REQUEST__INIT;
    struct answer *a = answer_new(h, task->workflow_execution->workflow_id);
    a->is_activity = true;
    m.task_token = task->task_token;
    m.identity = mutable_text("hands");
    m.namespace_ = mutable_text("default");
    ask(h, CALL_RespondActivityTaskCompleted, &m.base, on_answered, a);
}

static void on_task(void *ctx, const struct client_reply *r) {
    const Ws__PollWorkflowTaskQueueResponse *task = (const void *)r->message;
    if (r->code != GRPC_OK)
        die("the server answers a poll %d: %s", r->code, r->text);
    if (task->task_token.len)
        answer_task(ctx, task);
    poll_workflow_task(ctx);
}

static void on_activity(void *ctx, const struct client_reply *r) {
    const Ws__PollActivityTaskQueueResponse *task = (const void *)r->message;
    if (r->code != GRPC_OK)
        die("the server answers a poll %d: %s", r->code, r->text);
    if (task->task_token.len)
        answer_activity(ctx, task);
    poll_activity_task(ctx);
}

static void poll_workflow_task(void *ctx) {
    Ws__PollWorkflowTaskQueueRequest m = WS__POLL_WORKFLOW_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = mutable_text(QUEUE_NAME);
    m.namespace_ = mutable_text("default");
    m.task_queue = &queue;
    m.identity = mutable_text("hands");
    ask(ctx, CALL_PollWorkflowTaskQueue, &m.base, on_task, ctx);
}

static void poll_activity_task(void *ctx) {
    Ws__PollActivityTaskQueueRequest m = WS__POLL_ACTIVITY_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = mutable_text(QUEUE_NAME);
    m.namespace_ = mutable_text("default");
    m.task_queue = &queue;
    m.identity = mutable_text("hands");
    ask(ctx, CALL_PollActivityTaskQueue, &m.base, on_activity, ctx);
}

void hands_begin(struct hands *h, struct client *c, size_t polls) {
    h->client = c;
    for (size_t i = 0; i < polls; i++) {
        poll_workflow_task(h);
        poll_activity_task(h);
    }
}

void hands_pause(struct hands *h) {
    for (struct list *n; (n = list_pop(&h->answers));) {
        h->orders->unsure++;
        mem_free(container_of(n, struct answer, link));
    }
    h->client = NULL;
}
