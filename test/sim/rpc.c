/* Calls on their way to the engine and back.
 *
 * The engine answers when it likes, maybe before engine_call() returns. The
 * answer is shown to the checkers at that moment, because from then on the
 * server is bound by it; the caller hears of it later, or never. A call with no
 * deadline of its own must be ended by the server (check `call_ends`). */
#include "rpc.h"

#include <inttypes.h>

#include "base/mem.h"
#include "checker.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define RPC_ARENA_BYTES (64u << 20)
#define RPC_REPLY_BYTES_MAX (16u << 20)
#define RPC_UNBOUNDED_MAX_US                                                                                 \
    (180 * USEC_PER_SEC) /* how long the server may hold a call without a deadline                           \
                          */

const char *rpc_name(enum rpc_kind k) {
    static const char *const names[RPC_KIND_COUNT] = {
#define CALL(name) #name,
#include "calls.def"
#undef CALL
    };
    return names[k];
}

static rpc_fn *rpc_handler(enum rpc_kind k) {
    static rpc_fn *const handlers[RPC_KIND_COUNT] = {
#define CALL(name) rpc_##name,
#include "calls.def"
#undef CALL
    };
    return handlers[k];
}

static bool rpc_hands_out_task(const struct rpc *r) {
    return r->kind == RPC_poll_workflow_task || r->kind == RPC_poll_activity_task ||
           r->kind == RPC_complete_workflow_task || r->kind == RPC_start_workflow;
}

static unsigned rpc_chances(const struct rpc *r) {
    switch (r->kind) {
    case RPC_complete_workflow_task:
    case RPC_fail_workflow_task:
    case RPC_complete_activity:
    case RPC_fail_activity:
    case RPC_cancel_activity:
    case RPC_heartbeat_activity:
        return 1;
    case RPC_start_workflow:
    case RPC_signal_workflow:
        return 2;
    case RPC_request_cancel:
    case RPC_terminate_workflow:
    case RPC_signal_with_start:
    case RPC_create_schedule:
    case RPC_update_schedule:
    case RPC_patch_schedule:
    case RPC_delete_schedule:
        return 4;
    case RPC_pause_activity:
    case RPC_pause_activity_execution:
    case RPC_unpause_activity:
    case RPC_reset_activity:
    case RPC_reset_activity_execution:
    case RPC_update_activity_options:
    case RPC_pause_workflow:
    case RPC_unpause_workflow:
    case RPC_reset_workflow:
    case RPC_delete_workflow:
        return 10;
    case RPC_update_workflow:
    case RPC_execute_multi:
        return 30;
    default:
        return 0;
    }
}

/* The token of the task in an answer; empty when there is none. */
static struct str rpc_task_token(const struct rpc *r) {
    if (!r->response)
        return (struct str){NULL, 0};
    const ProtobufCBinaryData *token = NULL;
    if (r->kind == RPC_poll_workflow_task)
        token = &((Ws__PollWorkflowTaskQueueResponse *)r->response)->task_token;
    else if (r->kind == RPC_poll_activity_task)
        token = &((Ws__PollActivityTaskQueueResponse *)r->response)->task_token;
    else if (r->kind == RPC_start_workflow) {
        const Ws__StartWorkflowExecutionResponse *m = (const void *)r->response;
        token = m->eager_workflow_task ? &m->eager_workflow_task->task_token : NULL;
    } else if (r->kind == RPC_complete_workflow_task) {
        const Ws__RespondWorkflowTaskCompletedResponse *m = (const void *)r->response;
        token = m->workflow_task ? &m->workflow_task->task_token : NULL;
    }
    return token ? str_bytes(token->data, token->len) : (struct str){NULL, 0};
}

static void rpc_free(struct rpc *r) {
    world_not(r->w, &r->delivery);
    world_not(r->w, &r->give_up);
    list_remove(&r->link);
    buf_done(&r->reply);
    arena_done(&r->arena);
    mem_free(r);
}

static void rpc_deliver(struct world *w, struct happening *h) {
    struct rpc *r = container_of(h, struct rpc, delivery);
    if (r->outcome == RPC_UNKNOWN)
        w->tally.unknown++;
    r->ended(r);
    rpc_free(r);
}

/* The poller is not there any more. The server may notice, or not. */
static void rpc_lose_task(struct rpc *r) {
    struct str token = rpc_task_token(r);
    bool is_told = rng_chance(&r->w->rng, 2);
    if (token.n > 0 && is_told && server_accepts(r->w) && r->w->server.epoch == r->epoch)
        engine_task_lost(r->w->server.engine, token);
}

static void rpc_deliver_lost(struct world *w, struct happening *h) {
    struct rpc *r = container_of(h, struct rpc, delivery);
    if (rpc_hands_out_task(r))
        rpc_lose_task(r);
    r->response = NULL;
    r->outcome = RPC_UNKNOWN;
    rpc_deliver(w, h);
}

static void rpc_answered(struct rpc *r) {
    struct world *w = r->w;
    list_remove(&r->link);
    world_not(w, &r->give_up);
    bool is_lost = world_fault(w, FAULT_reply_lost);
    if (!is_lost && rpc_hands_out_task(r) && rpc_task_token(r).n > 0)
        is_lost = world_fault(w, FAULT_task_lost);
    r->delivery.run = is_lost ? rpc_deliver_lost : rpc_deliver;
    world_at(w, &r->delivery, world_delay(w, 0, 3 * USEC_PER_MS));
}

static void rpc_on_reply(struct call *c, const ProtobufCMessage *message, struct str tail) {
    struct rpc *r = container_of(c, struct rpc, call);
    struct world *w = r->w;
    if (w->server.is_dying)
        return;
    ensure(r->outcome == RPC_OPEN);
    wire_encode(&r->reply, message);
    buf_add(&r->reply, tail.p, tail.n);
    ensure(buf_ok(&r->reply));
    trace_note(w, "%s ok run=%s %zu bytes", rpc_name(r->kind), r->subject.run ? r->subject.run->run_id : "",
               r->reply.len);
    trace_bytes(&w->trace, r->reply.data, r->reply.len);
    struct err e;
    r->outcome = RPC_OK;
    w->tally.oks++;
    if (wire_decode(message->descriptor, buf_str(&r->reply), &r->arena, &r->response, &e) < 0)
        world_fail(w, "answer_decodes", "%s: %s", rpc_name(r->kind), e.text);
    else
        checker_on_ok(r);
    rpc_answered(r);
    for (unsigned chances = rpc_chances(r); chances > 0 && !w->server.crash_wanted; chances--)
        w->server.crash_wanted = world_fault(w, FAULT_crash_after_reply);
}

static void rpc_on_fail(struct call *c, const struct err *e) {
    struct rpc *r = container_of(c, struct rpc, call);
    struct world *w = r->w;
    if (w->server.is_dying)
        return;
    ensure(r->outcome == RPC_OPEN);
    trace_note(w, "%s failed run=%s %s: %s", rpc_name(r->kind), r->subject.run ? r->subject.run->run_id : "",
               err_name(e->code), e->text);
    r->err = *e;
    r->err.failure = NULL;
    bool is_unclear = e->code == ERR_UNAVAILABLE || e->code == ERR_MAYBE || e->code == ERR_DEADLINE;
    r->outcome = is_unclear ? RPC_UNKNOWN : RPC_FAILED;
    checker_on_error(r);
    rpc_answered(r);
}

static void rpc_give_up(struct world *w, struct happening *h) {
    struct rpc *r = container_of(h, struct rpc, give_up);
    if (r->call.deadline.us == CLOCK_NEVER && w->now.mono.us - r->sent_us >= RPC_UNBOUNDED_MAX_US)
        world_fail(w, "call_ends", "%s without a deadline is still open", rpc_name(r->kind));
    trace_note(w, "%s given up run=%s", rpc_name(r->kind), r->subject.run ? r->subject.run->run_id : "");
    engine_cancel(w->server.engine, &r->call);
    list_remove(&r->link);
    r->outcome = RPC_UNKNOWN;
    rpc_deliver(w, &r->delivery);
}

struct rpc *rpc_new(struct world *w, enum rpc_kind kind, void *owner, void (*ended)(struct rpc *r)) {
    static const struct call_ops ops = {.reply = rpc_on_reply, .fail = rpc_on_fail};
    struct rpc *r = mem_zalloc(sizeof(*r));
    ensure(r);
    arena_init(&r->arena, RPC_ARENA_BYTES);
    buf_init(&r->reply, RPC_REPLY_BYTES_MAX);
    r->call = (struct call){.ops = &ops, .arena = &r->arena};
    r->w = w;
    r->kind = kind;
    r->owner = owner;
    r->ended = ended;
    r->delivery.run = rpc_deliver;
    r->give_up.run = rpc_give_up;
    return r;
}

static int64_t rpc_patience(struct rpc *r, int64_t timeout_us) {
    if (world_fault(r->w, FAULT_call_cancelled))
        return world_delay(r->w, 0, 2 * USEC_PER_SEC);
    return MIN(timeout_us, RPC_UNBOUNDED_MAX_US);
}

void rpc_send(struct rpc *r, const void *request, int64_t timeout_us) {
    struct world *w = r->w;
    ensure(!arena_failed(&r->arena));
    r->request = request;
    r->sent_us = w->now.mono.us;
    r->call.deadline.us = usec_add(w->now.mono.us, timeout_us);
    r->epoch = w->server.epoch;
    w->tally.calls++;
    if (!server_accepts(w)) {
        r->outcome = RPC_UNKNOWN;
        world_at(w, &r->delivery, world_delay(w, USEC_PER_MS, 100 * USEC_PER_MS));
        return;
    }
    trace_note(w, "%s sent run=%s", rpc_name(r->kind), r->subject.run ? r->subject.run->run_id : "");
    if (r->subject.run) {
        r->subject.known_events = r->subject.run->event_count;
        r->subject.known_signals = r->subject.run->signals_acked;
    }
    list_append(&w->server.open, &r->link);
    world_at(w, &r->give_up, rpc_patience(r, timeout_us));
    engine_call(w->server.engine, &r->call, rpc_handler(r->kind), r->request);
}

void rpc_drop(struct rpc *r) {
    if (!r)
        return;
    if (r->outcome == RPC_OPEN && r->w->server.engine && list_linked(&r->link))
        engine_cancel(r->w->server.engine, &r->call);
    else if (r->outcome == RPC_OK && rpc_hands_out_task(r))
        rpc_lose_task(r);
    rpc_free(r);
}

void rpc_cut(struct rpc *r) {
    struct world *w = r->w;
    world_not(w, &r->give_up);
    r->outcome = RPC_UNKNOWN;
    world_at(w, &r->delivery, world_delay(w, 0, 50 * USEC_PER_MS));
}
