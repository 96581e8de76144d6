/* How many task queues there may be, and when one is forgotten.
 *
 * A limit stands only in front of what a client begins: a poll, a start, a command that names a queue. It is
 * checked before the step, so nothing that was refused is on disk. What is on disk is never counted again:
 * queue_get() makes the queue of a committed task whatever the count is, in recovery too. So the server
 * can always be started again, and no task is forgotten for want of a place (docs/decisions/0007).
 *
 * A queue that holds nothing is freed some minutes after its last use: the names of workers that are gone,
 * and of queues that were used once, would add up. engine.used_queues has all queues, longest unused first; a
 * turn looks at a few of them. Queues are freed here only (and with their namespace), from engine_advance(),
 * when no caller has a pointer to one on its stack. */
#include "engine/runtime/engine_int.h"

/* Limits */

static bool queues_are_full(const struct engine *e) {
    return map_count(&e->queues) >= ENGINE_QUEUES;
}

static int refuse_queue(struct op *op, const char *name) {
    return err_set(&op->err, ERR_FULL,
                   "The server has its maximum of %d task queues; \"%.200s\" would be one more. Try again.",
                   ENGINE_QUEUES, name);
}

struct queue *op_need_queue(struct op *op, struct space *space, bool is_activity, const char *name) {
    struct queue *q = queue_find(op->e, space, is_activity, name);
    if (!q && queues_are_full(op->e)) {
        (void)refuse_queue(op, name);
        return NULL;
    }
    if (!q)
        q = queue_get(op->e, space, is_activity, name);
    if (!q)
        (void)op_out_of_memory(op);
    return q;
}

int op_need_birth(struct op *op, struct space *space, const char *queue) {
    if (op->e->due.count + op->e->schedule_due.count >= ENGINE_RUNS)
        return err_set(&op->err, ERR_FULL,
                       "The server has its maximum of %d runs with a deadline. Try again.", ENGINE_RUNS);
    return !queue || op_need_queue(op, space, false, queue) ? 0 : op->err.code;
}

/* The queue that a command of a workflow names; NULL: none. */
static const char *named_queue(const Command__Command *c, bool *ret_is_activity) {
    const Command__ScheduleActivityTaskCommandAttributes *activity =
        c->attributes_case == COMMAND__COMMAND__ATTRIBUTES_SCHEDULE_ACTIVITY_TASK_COMMAND_ATTRIBUTES
            ? c->schedule_activity_task_command_attributes
            : NULL;
    const Command__StartChildWorkflowExecutionCommandAttributes *child =
        c->attributes_case == COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES
            ? c->start_child_workflow_execution_command_attributes
            : NULL;
    const Taskqueue__TaskQueue *q = activity ? activity->task_queue : child ? child->task_queue : NULL;
    *ret_is_activity = activity;
    return q && !cstr_is_empty(q->name) && strlen(q->name) <= LIMIT_ID_BYTES ? q->name : NULL;
}

int op_need_command_queues(struct op *op, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    bool is_activity;
    for (size_t i = 0; queues_are_full(op->e) && i < req->n_commands; i++) {
        const char *name = named_queue(req->commands[i], &is_activity);
        if (name && !queue_find(op->e, op->run->space, is_activity, name))
            return refuse_queue(op, name);
    }
    return 0;
}

/* Use */

void queue_use(struct engine *e, struct queue *q) {
    q->used_us = e->now.mono.us;
    list_remove(&q->used);
    list_append(&e->used_queues, &q->used);
}

void op_enter_queue(struct op *op, struct queue *q) {
    op->queue = q;
    q->poll_count++;
}

void op_leave_queue(struct op *op) {
    struct queue *q = take(&op->queue);
    if (!q)
        return;
    q->poll_count--;
    queue_use(op->e, q);
}

/* The sweep */

/* Few places are left: a queue goes as soon as only describe would miss it, for the list of its last pollers.
 * Whether a version has pollers decides more, so queues of versions stay. */
static bool is_crowded(const struct engine *e) {
    return map_count(&e->queues) >= ENGINE_QUEUES / 8 * 7;
}

static int64_t queue_keep_us(const struct engine *e) {
    return (is_crowded(e) ? ENGINE_BUSY_QUEUE_MS : ENGINE_QUEUE_IDLE_MS) * USEC_PER_MS;
}

/* With limits of an operator it stays: they say when its next task may go. There are QUEUE_CONFIGS of them.
 */
static bool is_spare(const struct engine *e, const struct queue *q) {
    return !q->task_count && !q->poll_count && !q->backlog && !q->limits && list_empty(&q->versions) &&
           (q->base == q || !is_crowded(e));
}

static void queue_forget(struct engine *e, struct queue *q) {
    list_remove(&q->version_link);
    map_remove(&e->queues, q->key);
    heap_remove(&e->passes, &q->pass);
    queue_free(q);
}

static struct queue *longest_unused(const struct engine *e) {
    return list_empty(&e->used_queues) ? NULL : container_of(e->used_queues.next, struct queue, used);
}

void queues_sweep(struct engine *e) {
    for (int looks = 0; looks < ENGINE_QUEUE_LOOKS; looks++) {
        struct queue *q = longest_unused(e);
        if (!q || e->now.mono.us - q->used_us < queue_keep_us(e))
            return;
        if (is_spare(e, q))
            queue_forget(e, q);
        else
            queue_use(e, q); /* looked at again later */
    }
}

int64_t queues_next_sweep_us(const struct engine *e) {
    const struct queue *q = longest_unused(e);
    return q ? usec_add(q->used_us, queue_keep_us(e)) : CLOCK_NEVER;
}
