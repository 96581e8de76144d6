/* An attempt of an activity: as long as it works and has a heartbeat timeout it heartbeats; a heartbeat that
 * tells of a cancel request ends it as cancelled, one that is refused ends it silently. Faults: no answer, a
 * late one, two. */
#include "activity_slot.h"

#include <inttypes.h>
#include <stdio.h>

#include "history_rules.h"
#include "request.h"
#include "rollout.h"
#include "rpc.h"
#include "worker.h"

#define ANSWER_TIMEOUT_US (10 * USEC_PER_SEC)
#define LINGER_US (60 * USEC_PER_SEC)

static void slot_poll(struct world *w, struct happening *h);
static void slot_work(struct world *w, struct happening *h);

void activity_slot_init(struct activity_slot *s, struct worker *worker) {
    *s = (struct activity_slot){.worker = worker};
}

void activity_slot_done(struct activity_slot *s) {
    *s = (struct activity_slot){0};
}

static void slot_next(struct activity_slot *s, void (*what)(struct world *w, struct happening *h),
                      int64_t delay_us) {
    s->next.run = what;
    world_at(s->worker->w, &s->next, worker_delay(s->worker, delay_us));
}

bool activity_slot_is_free(const struct activity_slot *s) {
    return s->is_eager && !s->rpc && !heap_has(&s->next.node);
}

void activity_slot_begin(struct activity_slot *s) {
    if (s->is_eager)
        return;
    slot_next(s, slot_poll, world_delay(s->worker->w, 0, 100 * USEC_PER_MS));
}

void activity_slot_end(struct activity_slot *s) {
    rpc_drop(s->rpc);
    rpc_drop(s->echo);
    s->rpc = s->echo = NULL;
    s->is_lingering = false;
    world_not(s->worker->w, &s->next);
}

void activity_slot_hear(struct activity_slot *s, const struct activity_slot *other) {
    struct world *w = s->worker->w;
    if (s == other || !s->is_lingering || s->run != other->run || s->number != other->number)
        return;
    s->is_lingering = false;
    s->work_until_us = w->now.mono.us;
    slot_next(s, slot_work, world_delay(w, 0, other->plan.work_ms * USEC_PER_MS));
}

static void slot_leave(struct activity_slot *s) {
    if (s->is_eager)
        return;
    slot_next(s, slot_poll, world_delay(s->worker->w, 0, POLL_PAUSE_US));
}

static void slot_take(struct activity_slot *s, const Ws__PollActivityTaskQueueResponse *m) {
    struct world *w = s->worker->w;
    char text[64];
    payload_text(m->input, text, sizeof(text));
    s->number = program_number(m->activity_id);
    if (activity_plan_parse(text, &s->plan) < 0 || m->task_token.len > sizeof(s->token) ||
        s->number >= MODEL_ACTIVITIES_MAX) {
        world_fail(w, "activity_input_kept", "activity=%s input='%s'", m->activity_id, text);
        slot_leave(s);
        return;
    }
    memcpy(s->token, m->task_token.data, m->task_token.len);
    s->token_len = m->task_token.len;
    s->run = model_meet_in(&w->model, s->worker->namespace_name, m->workflow_execution->run_id,
                           m->workflow_execution->workflow_id);
    s->attempt = m->attempt;
    s->is_cancelled = s->is_lingering = false;
    s->work_until_us = w->now.mono.us + s->plan.work_ms * USEC_PER_MS;
    workers_tell_of_attempt(w, s);
    if (world_fault(w, FAULT_answer_late)) {
        s->is_lingering = !s->is_eager && rng_chance(&w->rng, 2);
        s->work_until_us += s->is_lingering ? LINGER_US : world_delay(w, USEC_PER_SEC, 60 * USEC_PER_SEC);
    }
    if (world_fault(w, FAULT_answer_missing))
        slot_leave(s);
    else
        slot_next(s, slot_work, 0);
}

void activity_slot_give(struct activity_slot *s, const Ws__PollActivityTaskQueueResponse *task) {
    s->worker->w->tally.eager++;
    slot_take(s, task);
}

static void slot_polled(struct rpc *r) {
    struct activity_slot *s = r->owner;
    s->rpc = NULL;
    if (r->outcome != RPC_OK) {
        slot_next(s, slot_poll, world_delay(r->w, 10 * USEC_PER_MS, USEC_PER_SEC));
        return;
    }
    const Ws__PollActivityTaskQueueResponse *m = (const void *)r->response;
    if (m->task_token.len == 0)
        slot_next(s, slot_poll, world_leisure(r->w, POLL_PAUSE_US));
    else
        slot_take(s, m);
}

static void slot_poll(struct world *w, struct happening *h) {
    struct activity_slot *s = container_of(h, struct activity_slot, next);
    struct rpc *r = s->rpc = rpc_new(w, RPC_poll_activity_task, s, slot_polled);
    Ws__PollActivityTaskQueueRequest *q =
        MAKE(&r->arena, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->identity = make_text(&r->arena, "%s", s->worker->name);
    q->task_queue = make_queue(&r->arena, WORKER_QUEUE, NULL);
    q->deployment_options = rollout_options(&r->arena, s->worker->build_id);
    rpc_send(r, q, world_delay(w, 3 * USEC_PER_SEC, 70 * USEC_PER_SEC));
}

static ProtobufCBinaryData slot_token(struct activity_slot *s, struct arena *a) {
    return make_bytes(a, (ProtobufCBinaryData){.len = s->token_len, .data = s->token});
}

static const void *slot_completion(struct activity_slot *s, struct arena *a) {
    Ws__RespondActivityTaskCompletedRequest *q =
        MAKE(a, Ws__RespondActivityTaskCompletedRequest, ws__respond_activity_task_completed_request__init);
    q->namespace_ = make_text(a, "%s", s->worker->namespace_name);
    q->identity = make_text(a, "%s", s->worker->name);
    q->task_token = slot_token(s, a);
    q->result = make_payloads(a, s->result);
    return q;
}

static const void *slot_failure(struct activity_slot *s, struct arena *a) {
    Ws__RespondActivityTaskFailedRequest *q =
        MAKE(a, Ws__RespondActivityTaskFailedRequest, ws__respond_activity_task_failed_request__init);
    q->namespace_ = make_text(a, "%s", s->worker->namespace_name);
    q->identity = make_text(a, "%s", s->worker->name);
    q->task_token = slot_token(s, a);
    q->failure = make_failure(a, "this attempt fails", s->plan.work_ms % 7 == 0);
    return q;
}

static const void *slot_cancellation(struct activity_slot *s, struct arena *a) {
    Ws__RespondActivityTaskCanceledRequest *q =
        MAKE(a, Ws__RespondActivityTaskCanceledRequest, ws__respond_activity_task_canceled_request__init);
    q->namespace_ = make_text(a, "%s", s->worker->namespace_name);
    q->identity = make_text(a, "%s", s->worker->name);
    q->task_token = slot_token(s, a);
    return q;
}

static struct rpc *slot_send_answer(struct activity_slot *s, void (*ended)(struct rpc *r)) {
    bool fails = s->attempt <= (int32_t)s->plan.fails;
    enum rpc_kind kind = s->is_cancelled ? RPC_cancel_activity
                         : fails         ? RPC_fail_activity
                                         : RPC_complete_activity;
    struct rpc *r = rpc_new(s->worker->w, kind, s, ended);
    r->subject.run = s->run;
    r->subject.activity = s->number;
    r->subject.attempt = s->attempt;
    memcpy(r->subject.result, s->result, sizeof(r->subject.result));
    rpc_send(r,
             s->is_cancelled ? slot_cancellation(s, &r->arena)
             : fails         ? slot_failure(s, &r->arena)
                             : slot_completion(s, &r->arena),
             ANSWER_TIMEOUT_US);
    return r;
}

static void slot_answered(struct rpc *r) {
    struct activity_slot *s = r->owner;
    s->rpc = NULL;
    bool ask_again = r->outcome == RPC_UNKNOWN && rng_chance(&r->w->rng, 2);
    if (ask_again)
        slot_next(s, slot_work, world_delay(r->w, USEC_PER_MS, USEC_PER_SEC));
    else
        slot_leave(s);
}

static void slot_echo_ended(struct rpc *r) {
    ((struct activity_slot *)r->owner)->echo = NULL;
}

static void slot_answer(struct activity_slot *s) {
    struct world *w = s->worker->w;
    s->is_lingering = false;
    snprintf(s->result, sizeof(s->result), "result-%" PRIu64, w->next_id++);
    s->rpc = slot_send_answer(s, slot_answered);
    if (!s->echo && world_fault(w, FAULT_answer_twice))
        s->echo = slot_send_answer(s, slot_echo_ended);
}

static void slot_heartbeat_ended(struct rpc *r) {
    struct activity_slot *s = r->owner;
    s->rpc = NULL;
    if (r->outcome == RPC_FAILED) {
        slot_leave(s);
        return;
    }
    if (r->outcome == RPC_OK &&
        ((const Ws__RecordActivityTaskHeartbeatResponse *)r->response)->cancel_requested) {
        s->is_cancelled = true;
        s->work_until_us = r->w->now.mono.us;
    }
    int64_t pause_us = s->plan.heartbeat_ms * USEC_PER_MS / 2;
    slot_next(s, slot_work, MAX(0, MIN(pause_us, s->work_until_us - r->w->now.mono.us)));
}

static void slot_heartbeat(struct activity_slot *s) {
    struct rpc *r = s->rpc = rpc_new(s->worker->w, RPC_heartbeat_activity, s, slot_heartbeat_ended);
    Ws__RecordActivityTaskHeartbeatRequest *q = MAKE(&r->arena, Ws__RecordActivityTaskHeartbeatRequest,
                                                     ws__record_activity_task_heartbeat_request__init);
    q->namespace_ = make_text(&r->arena, "%s", s->worker->namespace_name);
    q->identity = make_text(&r->arena, "%s", s->worker->name);
    q->task_token = slot_token(s, &r->arena);
    r->subject.run = s->run;
    r->subject.activity = s->number;
    r->subject.beat = s->worker->w->next_id++;
    q->details = make_payloads(&r->arena, make_text(&r->arena, "beat-%" PRIu64, r->subject.beat));
    rpc_send(r, q, ANSWER_TIMEOUT_US);
}

static void slot_work(struct world *w, struct happening *h) {
    struct activity_slot *s = container_of(h, struct activity_slot, next);
    if (w->now.mono.us >= s->work_until_us)
        slot_answer(s);
    else if (s->plan.heartbeat_ms && !s->is_lingering)
        slot_heartbeat(s);
    else
        slot_next(s, slot_work, s->work_until_us - w->now.mono.us);
}
