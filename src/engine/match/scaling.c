/* How many polls a worker should keep open, as far as its queue can tell.
 *
 * Workers may leave that number to the server: with a task they are told to have one poll more, one fewer, or
 * nothing. One fewer when the poll had waited for a while before its task came. One more when other tasks
 * have waited for a while and nobody is there to take them: while a rate holds tasks back polls are waiting,
 * and more of them would not help. */
#include "engine/runtime/engine_int.h"

int64_t lane_age_us(const struct engine *e, const struct queue *q, int lane) {
    int64_t oldest = e->now.mono.us;
    const struct list *tasks = &q->lanes[lane].tasks;
    if (!list_empty(tasks))
        oldest = MIN(oldest, container_of(tasks->next, struct task, link)->added_us);
    if (backlog_count(q, lane))
        oldest = MIN(oldest, backlog_since_us(q, lane));
    return e->now.mono.us - oldest;
}

int64_t queue_age_us(const struct engine *e, const struct queue *q) {
    int64_t age_us = 0;
    for (int p = 0; p < QUEUE_PRIORITIES; p++)
        age_us = MAX(age_us, lane_age_us(e, q, p));
    return age_us;
}

int32_t queue_advise(struct engine *e, struct queue *q, const struct task *t, int64_t poll_us) {
    if (t->added_us - poll_us >= ENGINE_IDLE_POLL_MS * USEC_PER_MS)
        return -1;
    bool is_behind = list_empty(&q->pollers) && queue_age_us(e, q) > ENGINE_LATE_TASK_MS * USEC_PER_MS;
    if (!is_behind || e->now.mono.us < q->next_advice_us)
        return 0;
    int64_t workers = (int64_t)MAX(q->visitor_count, (size_t)1);
    q->next_advice_us = e->now.mono.us + ENGINE_ADVICE_MS * USEC_PER_MS / workers;
    return 1;
}
