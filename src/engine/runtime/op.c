/* Ops: a call being worked on.
 *
 * An op is started, may find that something must be loaded first, and is then
 * started again from the top; that is safe because nothing has happened before
 * its step. It ends exactly once: answered, failed, or dropped because its
 * caller went away. While it waits it is in exactly one list. */
#include "base/mem.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"

struct op *op_new(struct engine *e, struct call *c, const void *req, void (*go)(struct op *op)) {
    struct op *op = arena_new(c->arena, struct op);
    if (!op) {
        struct err err = {0};
        err_std(&err, ERR_NO_MEMORY);
        call_fail(c, &err);
        return NULL;
    }
    op->e = e;
    op->call = c;
    op->req = req;
    op->go = go;
    op->phase = e->loading.phase;
    buf_init(&op->page, ENGINE_GROUP_BYTES * 2); /* one stored row can hold what one group held */
    c->op = op;
    return op;
}

void op_start(struct op *op) {
    if (!op->e->is_ready) {
        err_set(&op->err, ERR_UNAVAILABLE, "The server is starting, try again.");
        op_fail(op);
        return;
    }
    if (validate_fields(op->req, &op->err) < 0) {
        op_fail(op);
        return;
    }
    op->go(op);
}

void engine_call(struct engine *e, struct call *c, rpc_fn *handler, const ProtobufCMessage *req) {
    struct op *op = op_new(e, c, req, handler);
    if (op)
        op_start(op);
}

void op_pin(struct op *op, struct run *run) {
    if (op->run == run)
        return;
    if (run)
        run_pin(run);
    if (op->run)
        run_unpin(op->e, op->run);
    op->run = run;
    op->page_next = 0; /* a page that was read belongs to the run before */
}

void op_hold(struct op *op, struct run *run) {
    if (run)
        run_pin(run);
    if (op->held)
        run_unpin(op->e, op->held);
    op->held = run;
}

void op_finish(struct op *op) {
    op_unpark(op);
    op_end_load(op);
    op_pin(op, NULL);
    op_hold(op, NULL);
    buf_done(&op->page);
    task_free(take(&op->task));
    op_leave_queue(op);
    if (op->page_read) {
        op->page_read->op = NULL;
        op->page_read->read.is_unwanted = true;
    }
    if (op->query && op->query->poll == op)
        op->query->poll = NULL; /* the query goes on without the poll that carried it */
    op->call->op = NULL;
}

void op_settled(struct op *op, const struct err *e) {
    struct call *c = op->call;
    if (!c->ops->settled || c->is_settled)
        return;
    c->is_settled = true;
    c->ops->settled(c, e);
}

void op_fail_now(struct op *op) {
    struct call *c = op->call;
    struct err err = op->err;
    op_settled(op, &err);
    op_finish(op);
    call_fail(c, &err);
}

void op_reply(struct op *op, const ProtobufCMessage *m, struct str tail) {
    struct call *c = op->call;
    op_settled(op, NULL);
    struct buf page = op->page; /* the tail may point into it */
    buf_init(&op->page, 0);
    op_finish(op);
    call_reply_with(c, m, tail);
    buf_done(&page);
}

/* NULL: it is durable. */
static struct group *group_numbered(const struct engine *e, uint64_t seq) {
    if (seq <= e->durable_seq)
        return NULL;
    if (e->flight && e->flight->seq == seq)
        return e->flight;
    ensure_inv(I1, e->open && e->open->seq == seq);
    return e->open;
}

/* The group that must be durable before anyone may hear of what this run shows. */
static struct group *group_of(const struct op *op) {
    const struct run *run = op->run;
    uint64_t seq = run && run->body ? run->body->group_seq : 0;
    return group_numbered(op->e, MAX(seq, op->wait_seq));
}

void op_reply_durable(struct op *op, const ProtobufCMessage *m, struct str tail) {
    op_settled(op, NULL);
    struct group *g = group_of(op);
    op->reply = m;
    op->tail = tail;
    op->err.code = 0;
    if (!g) {
        op_reply(op, m, tail);
        return;
    }
    op_unpark(op);
    list_append(&g->replies, &op->link);
}

void op_continue_durable(struct op *op, void (*go)(struct op *op)) {
    struct group *g = group_of(op);
    op->go = go;
    if (!g) {
        go(op);
        return;
    }
    op->continues = true;
    op_unpark(op);
    list_append(&g->replies, &op->link);
}

static void fail_after(struct op *op, struct group *g) {
    op_settled(op, &op->err);
    if (!g) {
        op_fail_now(op);
        return;
    }
    op->reply = NULL;
    op_unpark(op);
    list_append(&g->replies, &op->link);
}

void op_fail(struct op *op) {
    fail_after(op, group_numbered(op->e, op->wait_seq));
}

void op_fail_durable(struct op *op) {
    fail_after(op, group_of(op));
}

void op_park(struct op *op, struct list *where, int64_t until_us, void (*expire)(struct op *op)) {
    op_unpark(op);
    op->expire = expire;
    if (op->e->is_draining) { /* nothing would wake it: those that waited have been told already */
        expire(op);
        return;
    }
    list_append(where, &op->link);
    if (op_wait_until(op, until_us) < 0) {
        if (op->drop)
            op->drop(op);
        op_fail(op);
    }
}

int op_wait_until(struct op *op, int64_t until_us) {
    struct heap *h = &op->e->deadlines;
    bool has_room = h->count < op->e->parked_max;
    return has_room && heap_add(h, &op->deadline, until_us) == 0 ? 0 : op_out_of_memory(op);
}

void op_retry(struct op *op, int64_t us, void (*again)(struct op *op)) {
    op_unpark(op);
    op->expire = again;
    list_append(&op->e->retries, &op->link);
    ensure(heap_add(&op->e->deadlines, &op->deadline, usec_add(op->e->now.mono.us, us)) == 0);
}

void op_go_on_later(struct op *op) {
    op_unpark(op);
    list_append(&op->e->slices, &op->link);
}

void op_unpark(struct op *op) {
    list_remove(&op->link);
    heap_remove(&op->e->deadlines, &op->deadline);
}

int64_t op_deadline(const struct op *op, int64_t most_us, int64_t margin_us) {
    int64_t most = usec_add(op->e->now.mono.us, most_us);
    if (op->call->deadline.us == CLOCK_NEVER)
        return most;
    return MIN(most, op->call->deadline.us - margin_us);
}

int op_carry(struct op *op, const ProtobufCBinaryData *token) {
    struct carried *c = arena_new(op->call->arena, struct carried);
    if (!c || !token->data)
        return op_out_of_memory(op);
    *c = (struct carried){op->call->carried, pb_bytes(token)};
    op->call->carried = c;
    return 0;
}

void op_drop_carried(struct op *op) {
    for (const struct carried *c = op->call->carried; c; c = c->next)
        engine_task_lost(op->e, c->token);
}

int op_out_of_memory(struct op *op) {
    return err_std(&op->err, ERR_NO_MEMORY);
}

static int op_check_size(struct op *op, const ProtobufCMessage *m, enum settable limit, enum settable warn) {
    int64_t size = m ? (int64_t)protobuf_c_message_get_packed_size(m) : 0;
    if (size > limit_of(&op->e->limits, warn))
        notice_log_request(op->e, op->req, m, size);
    if (size <= limit_of(&op->e->limits, limit))
        return 0;
    return err_set(&op->err, ERR_INVALID, "Blob data size exceeds limit.");
}

int op_check_blob(struct op *op, const ProtobufCMessage *m) {
    return op_check_size(op, m, SETTABLE_BLOB_BYTES, SETTABLE_BLOB_BYTES_WARN);
}

int op_check_memo(struct op *op, const Common__Memo *memo) {
    return op_check_size(op, (const ProtobufCMessage *)memo, SETTABLE_MEMO_BYTES, SETTABLE_MEMO_BYTES_WARN);
}

/* errands */

struct errand {
    struct call call;
    struct arena arena;
    struct list link; /* in engine.errands */
};

static void errand_end(struct call *c) {
    struct errand *er = container_of(c, struct errand, call);
    list_remove(&er->link);
    arena_done(&er->arena);
    mem_free(er);
}

static void errand_reply(struct call *c, const ProtobufCMessage *m unused_arg, struct str tail unused_arg) {
    errand_end(c);
}

static void errand_fail(struct call *c, const struct err *e unused_arg) {
    errand_end(c);
}

static const struct call_ops errand_ops = {errand_reply, errand_fail};

bool op_is_errand(const struct op *op) {
    return op->call->ops == &errand_ops;
}

int op_need_room(struct op *op) {
    return group_is_full(op->e) ? err_std(&op->err, ERR_BUSY) : 0;
}

void errand_start(struct engine *e, void (*go)(struct op *op), const void *req, size_t req_size) {
    struct errand *er = mem_zalloc(sizeof(*er));
    ensure(er);
    arena_init(&er->arena, ENGINE_ERRAND_BYTES);
    er->call = (struct call){.ops = &errand_ops, .arena = &er->arena, .deadline = {CLOCK_NEVER}};
    list_append(&e->errands, &er->link);
    void *copy = arena_dup(&er->arena, req, req_size);
    ensure(copy);
    struct op *op = op_new(e, &er->call, copy, go);
    ensure(op); /* it would be forgotten; recovery is the way back */
    go(op);
}
