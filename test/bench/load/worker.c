/* A poll, its task, the answer, and when that is acknowledged the next poll: as many tasks are here as there
 * are polls, so the worker never holds more than it can answer before they time out. */
#include "worker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "names.h"
#include "requests.h"

#define ACTIVITY_TIMEOUT_S 60

static void poll_workflow_task(struct worker *w);
static void poll_activity_task(struct worker *w);

/* An answer to a workflow task, on its way. */
struct answer {
    struct worker *worker;
    size_t i;
    bool is_last; /* it completes the workflow */
};

static void on_answered(void *ctx, const struct client_reply unused_arg *r) {
    struct answer *a = ctx;
    struct worker *w = a->worker;
    if (a->is_last)
        flow_end(w->flow, a->i);
    else if (w->timer_due_us && ++w->timers_set == w->timers_due)
        loop_stop(w->bench->loop);
    mem_free(a);
    poll_workflow_task(w);
}

/* The command and all that it points to. */
struct decision {
    Command__Command m;
    Command__CompleteWorkflowExecutionCommandAttributes complete;
    Command__ScheduleActivityTaskCommandAttributes schedule;
    Command__StartTimerCommandAttributes timer;
    Common__ActivityType activity_type;
    Taskqueue__TaskQueue queue;
    Google__Protobuf__Duration duration;
    struct payloads payloads;
    char id[ID_MAX];
};

static void decide_complete(struct decision *d) {
    command__complete_workflow_execution_command_attributes__init(&d->complete);
    d->complete.result = payloads_fill(&d->payloads);
    d->m.command_type = COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
    d->m.attributes_case = COMMAND__COMMAND__ATTRIBUTES_COMPLETE_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    d->m.complete_workflow_execution_command_attributes = &d->complete;
}

static void decide_activity(struct decision *d, size_t number) {
    command__schedule_activity_task_command_attributes__init(&d->schedule);
    common__activity_type__init(&d->activity_type);
    taskqueue__task_queue__init(&d->queue);
    (void)snprintf(d->id, sizeof(d->id), "%zu", number);
    d->activity_type.name = mutable_text("charge");
    d->queue.name = mutable_text(QUEUE_NAME);
    d->duration.seconds = ACTIVITY_TIMEOUT_S;
    d->schedule.activity_id = d->id;
    d->schedule.activity_type = &d->activity_type;
    d->schedule.task_queue = &d->queue;
    d->schedule.input = payloads_fill(&d->payloads);
    d->schedule.start_to_close_timeout = &d->duration;
    d->m.command_type = COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK;
    d->m.attributes_case = COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    d->m.schedule_activity_task_command_attributes = &d->schedule;
}

static void decide_timer(struct decision *d, int64_t due_us) {
    int64_t delay_us = MAX(due_us - wall_us(), 1);
    command__start_timer_command_attributes__init(&d->timer);
    d->duration.seconds = delay_us / USEC_PER_SEC;
    d->duration.nanos = (int32_t)(delay_us % USEC_PER_SEC) * NSEC_PER_USEC;
    d->timer.timer_id = mutable_text("1");
    d->timer.start_to_fire_timeout = &d->duration;
    d->m.command_type = COMMAND_TYPE_START_TIMER;
    d->m.attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_TIMER_COMMAND_ATTRIBUTES;
    d->m.start_timer_command_attributes = &d->timer;
}

static const History__HistoryEvent *find_event(const History__History *h, E__EventType type,
                                               size_t *ret_count) {
    const History__HistoryEvent *last = NULL;
    *ret_count = 0;
    for (size_t i = 0; h && i < h->n_events; i++)
        if (h->events[i]->event_type == type) {
            last = h->events[i];
            ++*ret_count;
        }
    return last;
}

static void note_fired(struct worker *w, const Google__Protobuf__Timestamp *t) {
    int64_t fired_us = t->seconds * USEC_PER_SEC + t->nanos / NSEC_PER_USEC;
    samples_add(&w->fired_late, MAX(fired_us - w->timer_due_us, 0));
    samples_add(&w->told_late, MAX(wall_us() - w->timer_due_us, 0));
}

/* True when the workflow completes. */
static bool decide(struct worker *w, struct decision *d, const Ws__PollWorkflowTaskQueueResponse *task) {
    size_t done;
    command__command__init(&d->m);
    google__protobuf__duration__init(&d->duration);
    if (w->timer_due_us) {
        const History__HistoryEvent *fired = find_event(task->history, EVENT_TYPE_TIMER_FIRED, &done);
        if (!fired) {
            decide_timer(d, w->timer_due_us);
            return false;
        }
        note_fired(w, fired->event_time);
    } else if (w->activities) {
        (void)find_event(task->history, EVENT_TYPE_ACTIVITY_TASK_COMPLETED, &done);
        if (done < w->activities) {
            decide_activity(d, done + 1);
            return false;
        }
    }
    decide_complete(d);
    return true;
}

static void answer_workflow_task(struct worker *w, const Ws__PollWorkflowTaskQueueResponse *task) {
    Ws__RespondWorkflowTaskCompletedRequest m = WS__RESPOND_WORKFLOW_TASK_COMPLETED_REQUEST__INIT;
    struct decision d;
    Command__Command *commands[] = {&d.m};
    struct answer *a = mem_alloc(sizeof(*a));
    ensure(a);
    *a = (struct answer){w, index_of_id(task->workflow_execution->workflow_id), decide(w, &d, task)};
    m.task_token = task->task_token;
    m.commands = commands;
    m.n_commands = 1;
    m.identity = mutable_text("bench");
    m.namespace_ = mutable_text("default");
    bench_call(w->bench, CALL_RespondWorkflowTaskCompleted, &m.base, on_answered, a);
}

static void on_workflow_task(void *ctx, const struct client_reply *r) {
    const Ws__PollWorkflowTaskQueueResponse *task = (const void *)r->message;
    if (task->task_token.len)
        answer_workflow_task(ctx, task);
    else
        poll_workflow_task(ctx);
}

static void poll_workflow_task(struct worker *w) {
    Ws__PollWorkflowTaskQueueRequest m = WS__POLL_WORKFLOW_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = mutable_text(QUEUE_NAME);
    m.namespace_ = mutable_text("default");
    m.task_queue = &queue;
    m.identity = mutable_text("bench");
    bench_call(w->bench, CALL_PollWorkflowTaskQueue, &m.base, on_workflow_task, w);
}

static void on_activity_answered(void *ctx, const struct client_reply unused_arg *r) {
    poll_activity_task(ctx);
}

static void answer_activity_task(struct worker *w, const Ws__PollActivityTaskQueueResponse *task) {
    Ws__RespondActivityTaskCompletedRequest m = WS__RESPOND_ACTIVITY_TASK_COMPLETED_REQUEST__INIT;
    struct payloads result;
    m.task_token = task->task_token;
    m.result = payloads_fill(&result);
    m.identity = mutable_text("bench");
    m.namespace_ = mutable_text("default");
    bench_call(w->bench, CALL_RespondActivityTaskCompleted, &m.base, on_activity_answered, w);
}

static void on_activity_task(void *ctx, const struct client_reply *r) {
    const Ws__PollActivityTaskQueueResponse *task = (const void *)r->message;
    if (task->task_token.len)
        answer_activity_task(ctx, task);
    else
        poll_activity_task(ctx);
}

static void poll_activity_task(struct worker *w) {
    Ws__PollActivityTaskQueueRequest m = WS__POLL_ACTIVITY_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = mutable_text(QUEUE_NAME);
    m.namespace_ = mutable_text("default");
    m.task_queue = &queue;
    m.identity = mutable_text("bench");
    bench_call(w->bench, CALL_PollActivityTaskQueue, &m.base, on_activity_task, w);
}

void worker_start(struct worker *w, size_t poll_count) {
    for (size_t i = 0; i < poll_count; i++) {
        poll_workflow_task(w);
        if (w->activities)
            poll_activity_task(w);
    }
}

void worker_done(struct worker *w) {
    samples_done(&w->fired_late);
    samples_done(&w->told_late);
}
