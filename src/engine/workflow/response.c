/* Building what a worker gets. The history rides along as packed bytes, cut
 * from the run's tape or from the store, and is never decoded here. */
#include "engine/workflow/response.h"

#include "core/activity/activity.h"
#include "core/step/merge.h"
#include "engine/runtime/copy.h"
#include "core/run/task.h"
#include "wire/encode.h"

#define RESPONSE_HISTORY_FIELD 8 /* PollWorkflowTaskQueueResponse.history */
#define COMPLETED_ACTIVITIES_FIELD 2 /* RespondWorkflowTaskCompletedResponse.activity_tasks */

Google__Protobuf__Timestamp *response_time(struct arena *a, int64_t us) {
    Google__Protobuf__Timestamp *t = us ? arena_new(a, Google__Protobuf__Timestamp) : NULL;
    if (t)
        *t = pb_timestamp(us);
    return t;
}

Google__Protobuf__Duration *response_duration(struct arena *a, int64_t us) {
    Google__Protobuf__Duration *d = arena_new(a, Google__Protobuf__Duration);
    if (d)
        *d = pb_duration(us);
    return d;
}

ProtobufCBinaryData history_token(struct arena *a, const State__Execution *st, int64_t next, int64_t last,
                                  bool is_close_only) {
    State__HistoryToken t = STATE__HISTORY_TOKEN__INIT;
    t.run_id = st->run_id;
    t.next_event_id = next;
    t.last_event_id = last;
    t.is_close_only = is_close_only;
    return token_pack(a, &t.base);
}

/* What every workflow-task answer says about its run. */
static Ws__PollWorkflowTaskQueueResponse *response_new(struct op *op) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Ws__PollWorkflowTaskQueueResponse *r = arena_new(a, Ws__PollWorkflowTaskQueueResponse);
    Common__WorkflowExecution *ex = arena_new(a, Common__WorkflowExecution);
    Common__WorkflowType *type = arena_new(a, Common__WorkflowType);
    Taskqueue__TaskQueue *queue = arena_new(a, Taskqueue__TaskQueue);
    if (!r || !ex || !type || !queue)
        return NULL;
    ws__poll_workflow_task_queue_response__init(r);
    common__workflow_execution__init(ex);
    common__workflow_type__init(type);
    taskqueue__task_queue__init(queue);
    ex->workflow_id = arena_strdup(a, st->workflow_id);
    ex->run_id = arena_strdup(a, st->run_id);
    type->name = arena_strdup(a, st->workflow_type);
    queue->name = arena_strdup(a, st->task_queue);
    queue->kind = TASK_QUEUE_KIND_NORMAL;
    r->workflow_execution = ex;
    r->workflow_type = type;
    r->workflow_execution_task_queue = queue;
    r->previous_started_event_id = st->last_started_event_id;
    return arena_failed(a) ? NULL : r;
}

/* The packed history field: `events`, then `more`. */
static int pack_history(struct op *op, struct str events, struct str more, struct str *ret) {
    struct buf b;
    size_t n = events.n + more.n;
    buf_init(&b, n + 16);
    wire_add_varint(&b, RESPONSE_HISTORY_FIELD << 3 | 2);
    wire_add_varint(&b, n);
    buf_add_str(&b, events);
    buf_add_str(&b, more);
    *ret = str_bytes(arena_dup(op->call->arena, b.data, b.len), b.len);
    bool ok = buf_ok(&b) && ret->p;
    buf_done(&b);
    return ok ? 0 : op_out_of_memory(op);
}

int task_response(struct op *op, bool is_sticky, Ws__PollWorkflowTaskQueueResponse **ret,
                  struct str *ret_tail) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    struct str events, owed = {NULL, 0};
    int64_t next = 0, end = 0;
    struct events_want want = {.from = is_sticky ? st->last_started_event_id + 1 : 1,
                               .until = st->next_event_id,
                               .events_max = INT64_MAX,
                               .bytes_max = ENGINE_TASK_HISTORY_BYTES};
    int rc = op_need_events(op, &want, &events, &next);
    if (rc == 0 && next == st->next_event_id)
        rc = virtual_events(op, &owed, &end);
    if (rc == 0)
        rc = pack_history(op, events, owed, ret_tail);
    if (rc < 0)
        return rc;
    Ws__PollWorkflowTaskQueueResponse *r = response_new(op);
    if (!r)
        return op_out_of_memory(op);
    r->task_token = token_for_task(a, st);
    r->started_event_id = st->task->started_event_id;
    r->attempt = st->task->attempt;
    r->scheduled_time = response_time(a, st->task->scheduled_us);
    r->started_time = response_time(a, st->task->started_us);
    if (next < st->next_event_id)
        r->next_page_token = history_token(a, st, next, st->task->started_event_id, false);
    queries_attach(op, r);
    updates_attach(op, r);
    *ret = r;
    return arena_failed(a) ? op_out_of_memory(op) : op_carry(op, &r->task_token);
}

int task_response_tail(struct op *op, uint32_t field, bool is_sticky, struct str *ret) {
    Ws__PollWorkflowTaskQueueResponse *task;
    struct str history;
    struct buf inner, outer;
    int rc = task_response(op, is_sticky, &task, &history);
    if (rc < 0)
        return rc;
    buf_init(&inner, SIZE_MAX);
    buf_init(&outer, SIZE_MAX);
    wire_encode(&inner, &task->base);
    buf_add_str(&inner, history);
    wire_add_bytes_field(&outer, field, buf_str(&inner));
    *ret = str_bytes(arena_dup(op->call->arena, outer.data, outer.len), outer.len);
    bool ok = buf_ok(&inner) && buf_ok(&outer) && ret->p;
    buf_done(&inner);
    buf_done(&outer);
    return ok ? 0 : op_out_of_memory(op);
}

int query_response(struct op *op, struct query *q, bool is_sticky, Ws__PollWorkflowTaskQueueResponse **ret,
                   struct str *ret_tail) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    const Ws__QueryWorkflowRequest *req = q->op->req;
    struct str events = {NULL, 0};
    int64_t next = st->next_event_id;
    struct events_want want = {.from = 1,
                               .until = st->next_event_id,
                               .events_max = INT64_MAX,
                               .bytes_max = ENGINE_TASK_HISTORY_BYTES};
    int rc = is_sticky ? 0 : op_need_events(op, &want, &events, &next);
    if (rc == 0)
        rc = pack_history(op, events, (struct str){NULL, 0}, ret_tail);
    if (rc < 0)
        return rc;
    Ws__PollWorkflowTaskQueueResponse *r = response_new(op);
    if (!r)
        return op_out_of_memory(op);
    r->task_token = token_for_query(a, op->run->space, op->queue->name, q->id.s);
    r->attempt = 1;
    /* The query's own call may end before this answer is sent: copy. */
    r->query = (Query__WorkflowQuery *)query_copy(a, req->query);
    if (next < st->next_event_id)
        r->next_page_token = history_token(a, st, next, st->next_event_id - 1, false);
    *ret = r;
    return !r->query || arena_failed(a) ? op_out_of_memory(op) : op_carry(op, &r->task_token);
}

/* The scheduled event holds what the state does not carry along: header and input. */
static int scheduled_event(struct op *op, int64_t event_id,
                           History__ActivityTaskScheduledEventAttributes **ret) {
    History__HistoryEvent *ev;
    int rc = op_need_event(op, event_id, &ev);
    if (rc < 0)
        return rc;
    ensure_inv(I5, ev->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
    *ret = ev->activity_task_scheduled_event_attributes;
    return 0;
}

static void fill_activity(struct op *op, Ws__PollActivityTaskQueueResponse *r, const State__Activity *act,
                          const History__ActivityTaskScheduledEventAttributes *ev) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    r->task_token = token_for_activity(a, st, act);
    r->workflow_namespace = arena_strdup(a, op->run->space->st->name);
    r->activity_type = ev->activity_type;
    r->activity_id = ev->activity_id;
    r->header = ev->header;
    r->input = ev->input;
    r->heartbeat_details = act->heartbeat_details ? payloads_copy(a, act->heartbeat_details) : NULL;
    r->scheduled_time = response_time(a, act->first_scheduled_us);
    r->current_attempt_scheduled_time = response_time(a, act->scheduled_us);
    r->started_time = response_time(a, act->started_us);
    r->attempt = activity_attempt(act);
    r->schedule_to_close_timeout = response_duration(a, act->schedule_to_close_us);
    r->start_to_close_timeout = response_duration(a, act->start_to_close_us);
    r->heartbeat_timeout = response_duration(a, act->heartbeat_timeout_us);
    r->retry_policy = act->retry_policy ? message_copy(a, &act->retry_policy->base) : NULL;
    Common__Priority room;
    const Common__Priority *priority = merge_priority(&room, st->priority, act->priority);
    r->priority = priority ? message_copy(a, &priority->base) : NULL;
    r->workflow_execution->workflow_id = arena_strdup(a, st->workflow_id);
    r->workflow_execution->run_id = arena_strdup(a, st->run_id);
    r->workflow_type->name = arena_strdup(a, st->workflow_type);
}

int activity_response(struct op *op, int64_t scheduled_event_id, Ws__PollActivityTaskQueueResponse **ret) {
    struct arena *a = op->call->arena;
    History__ActivityTaskScheduledEventAttributes *ev;
    int rc = scheduled_event(op, scheduled_event_id, &ev);
    if (rc < 0)
        return rc;
    const State__Activity *act = activity_find(op->run->body->st, scheduled_event_id);
    ensure(act && act->started_us);
    Ws__PollActivityTaskQueueResponse *r = arena_new(a, Ws__PollActivityTaskQueueResponse);
    Common__WorkflowExecution *ex = arena_new(a, Common__WorkflowExecution);
    Common__WorkflowType *type = arena_new(a, Common__WorkflowType);
    if (!r || !ex || !type)
        return op_out_of_memory(op);
    ws__poll_activity_task_queue_response__init(r);
    common__workflow_execution__init(ex);
    common__workflow_type__init(type);
    r->workflow_execution = ex;
    r->workflow_type = type;
    fill_activity(op, r, act, ev);
    *ret = r;
    return arena_failed(a) ? op_out_of_memory(op) : op_carry(op, &r->task_token);
}

/* false: one that cannot be packed for lack of memory times out and is offered again. */
static bool eager_pack(struct op *op, int64_t scheduled_event_id, struct buf *b, struct eager_part *ret) {
    Ws__PollActivityTaskQueueResponse *r;
    if (activity_response(op, scheduled_event_id, &r) < 0)
        return false;
    buf_clear(b);
    wire_add_message_field(b, COMPLETED_ACTIVITIES_FIELD, &r->base);
    if (!buf_ok(b))
        return false;
    ret->scheduled_event_id = scheduled_event_id;
    ret->started_us = activity_find(op->run->body->st, scheduled_event_id)->started_us;
    ret->packed = str_bytes(arena_dup(op->call->arena, b->data, b->len), b->len);
    return ret->packed.p;
}

size_t eager_response(struct op *op, const struct completion *done, struct eager_part **ret) {
    size_t count = 0;
    if (done->eager_count == 0)
        return 0;
    *ret = arena_array(op->call->arena, struct eager_part, done->eager_count);
    struct buf b;
    buf_init(&b, SIZE_MAX);
    while (*ret && count < done->eager_count && eager_pack(op, done->eager[count], &b, *ret + count))
        count++;
    buf_done(&b);
    return count;
}

static bool is_still_begun(const struct op *op, const struct eager_part *part) {
    const State__Activity *act = activity_find(op->run->body->st, part->scheduled_event_id);
    return act && act->started_us == part->started_us;
}

struct str eager_tail(struct op *op, struct str head, const struct eager_part *parts, size_t count) {
    struct buf b;
    buf_init(&b, SIZE_MAX);
    buf_add_str(&b, head);
    for (size_t i = 0; i < count; i++)
        if (is_still_begun(op, &parts[i]))
            buf_add_str(&b, parts[i].packed);
    struct str both = head;
    if (buf_ok(&b) && b.len > head.n) {
        const char *copy = arena_dup(op->call->arena, b.data, b.len);
        both = copy ? str_bytes(copy, b.len) : head;
    }
    buf_done(&b);
    return both;
}
