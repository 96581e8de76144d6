/* The answers that carry a task. All build in the op's arena and may need events from the store:
 * ERR_WAIT means that the op will be started again. */
#pragma once

#include "core/run/task.h"
#include "engine/runtime/engine_int.h"

/* The workflow task that op->run's state says is started. *ret_tail is the packed `history` field. */
int task_response(struct op *op, bool is_sticky, Ws__PollWorkflowTaskQueueResponse **ret,
                  struct str *ret_tail) must_check;
/* The same, packed as the field `field` of another answer. */
int task_response_tail(struct op *op, uint32_t field, bool is_sticky, struct str *ret) must_check;
int activity_response(struct op *op, int64_t scheduled_event_id,
                      Ws__PollActivityTaskQueueResponse **ret) must_check;
/* An activity that a completion started for the same worker, as a packed field of its answer. */
struct eager_part {
    int64_t scheduled_event_id;
    int64_t started_us;
    struct str packed;
};
/* How many there are in *ret. Called in the turn of the step, while their events are in memory. */
size_t eager_response(struct op *op, const struct completion *done, struct eager_part **ret);
/* `head` and behind it those that nothing has ended since: the answer may have waited for events. */
struct str eager_tail(struct op *op, struct str head, const struct eager_part *parts, size_t count);
/* A query outside of any workflow task. */
int query_response(struct op *op, struct query *q, bool is_sticky, Ws__PollWorkflowTaskQueueResponse **ret,
                   struct str *ret_tail) must_check;

Google__Protobuf__Timestamp *response_time(struct arena *a, int64_t us); /* NULL for 0 */
Google__Protobuf__Duration *response_duration(struct arena *a, int64_t us);
ProtobufCBinaryData history_token(struct arena *a, const State__Execution *st, int64_t next, int64_t last,
                                  bool is_close_only);
