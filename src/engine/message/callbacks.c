/* Sending callbacks. The state of the run says which are to be sent; each is read with the closing event,
 * handed to whoever has a network, and reported to the run. A crash in between only means that it is sent
 * again. */
#include "core/message/callback.h"

#include "base/mem.h"
#include "engine/runtime/engine_int.h"

#define SEND_BYTES_MAX (8u << 20) /* a result at its limit, and headers */

struct sending {
    struct callback_send send;
    struct list link; /* in engine.sends */
    struct arena arena; /* the request */
    struct callback_request request;
    struct run_key key;
    size_t index;
};

struct callback_ref {
    struct run_key key;
    size_t index;
};

static void sending_free(struct sending *x) {
    list_remove(&x->link);
    arena_done(&x->arena);
    mem_free(x);
}

void callbacks_free(struct engine *e) {
    list_for_safe(&e->sends, n) sending_free(container_of(n, struct sending, link));
}

/* The report */

struct callback_result {
    struct callback_ref ref;
    enum callback_verdict verdict;
    char text[ERR_TEXT_MAX];
};

static void go_callback_report(struct op *op) {
    const struct callback_result *r = op->req;
    struct space *space = space_by_id(op->e, r->ref.key.namespace_id);
    struct step s;
    int rc = space ? op_need_run(op, space, r->ref.key.run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        callback_report(&s, r->ref.index, r->verdict, r->text);
        rc = op_step_end(op, &s, 0, STEP_DURABLE);
    }
    if (rc < 0 && rc != ERR_NOT_FOUND) /* it stays scheduled and is sent again after a restart */
        log_emit(op->e->log, LOG_callback_unreported, log_str("error", op->err.text));
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void callback_start_report(struct engine *e, const struct callback_ref *ref,
                                  enum callback_verdict verdict, const char *text) {
    struct callback_result r = {.ref = *ref, .verdict = verdict};
    strncpy(r.text, text, sizeof(r.text) - 1);
    errand_start(e, go_callback_report, &r, sizeof(r));
}

void engine_callback_sent(struct callback_send *send, int http_status, const char *text) {
    struct sending *x = container_of(send, struct sending, send);
    struct callback_ref ref = {x->key, x->index};
    callback_start_report(send->engine, &ref, callback_judge(http_status), text);
    sending_free(x);
}

/* The request */

static void callback_hand_over(struct op *op, const struct callback_ref *ref,
                               const History__HistoryEvent *close) {
    struct engine *e = op->e;
    struct sending *x = mem_zalloc(sizeof(*x));
    int rc = x ? 0 : ERR_NO_MEMORY;
    if (x) {
        arena_init(&x->arena, SEND_BYTES_MAX);
        list_append(&e->sends, &x->link);
        x->key = ref->key;
        x->index = ref->index;
        x->send = (struct callback_send){e, &x->request};
        rc = callback_compose(&x->arena, op->run->body->st, op->run->space->st->name, ref->index, close,
                              &x->request);
    }
    if (rc == 0 && e->cfg.send_callback) {
        e->cfg.send_callback(e->cfg.callback_ctx, &x->send);
        return;
    }
    if (x)
        sending_free(x);
    callback_start_report(e, ref, rc == 0 ? CALLBACK_NEVER : CALLBACK_LATER,
                          rc == 0 ? "this server sends no callbacks" : "out of memory");
}

static void go_send(struct op *op) {
    const struct callback_ref *ref = op->req;
    struct space *space = space_by_id(op->e, ref->key.namespace_id);
    History__HistoryEvent *close = NULL;
    int rc = space ? op_need_run(op, space, ref->key.run_id) : ERR_NOT_FOUND;
    const State__Execution *st = rc == 0 ? op->run->body->st : NULL;
    if (st && (ref->index >= st->n_callbacks || st->callbacks[ref->index]->state != CALLBACK_STATE_SCHEDULED))
        rc = ERR_NOT_FOUND;
    if (rc == 0)
        rc = op_need_event(op, st->next_event_id - 1, &close);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        callback_hand_over(op, ref, close);
    else if (rc != ERR_NOT_FOUND)
        callback_start_report(op->e, ref, CALLBACK_LATER, op->err.text);
    op_reply(op, NULL, (struct str){NULL, 0});
}

void callback_begin(struct engine *e, const struct run_key *key, int64_t index) {
    struct callback_ref ref = {*key, (size_t)index};
    errand_start(e, go_send, &ref, sizeof(ref));
}
