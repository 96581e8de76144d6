/* Reading histories: pages, long polls for new events, and for the closing event.
 *
 * Every event that is shown is durable first. A started workflow task owes the
 * history its started event; a reader makes it be written. */
#include "core/run/task.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define HISTORY_FIELD 1 /* GetWorkflowExecutionHistoryResponse.history, and of the reverse call */

struct reader {
    int64_t next;
    int64_t last; /* 0: until the end */
    int64_t page_size;
    bool is_close_only;
    bool is_reverse; /* which of the two answers it gets */
    int64_t until_us; /* how long it waits, once it does */
    bool waits;
};

/* waking */

/* Each answer may be as large as a page of history. So only some are made in one turn; those of the others
 * follow one by one, while the peers take what is ready. */
void readers_wake(struct engine *e, struct run *run) {
    struct list all;
    size_t count = 0;
    list_init(&all);
    for (struct list *n; (n = list_pop(&run->body->readers));)
        list_append(&all, n);
    for (struct list *n; (n = list_pop(&all));) {
        struct op *op = container_of(n, struct op, link);
        heap_remove(&e->deadlines, &op->deadline);
        if (count++ < ENGINE_READERS_PER_TURN)
            op->go(op);
        else
            op_go_on_later(op);
    }
}

/* answering */

static const ProtobufCMessage *forward_response(struct op *op, const ProtobufCBinaryData *token) {
    Ws__GetWorkflowExecutionHistoryResponse *r =
        arena_new(op->call->arena, Ws__GetWorkflowExecutionHistoryResponse);
    if (!r)
        return NULL;
    ws__get_workflow_execution_history_response__init(r);
    if (token)
        r->next_page_token = *token;
    return &r->base;
}

static const ProtobufCMessage *reverse_response(struct op *op, const ProtobufCBinaryData *token) {
    Ws__GetWorkflowExecutionHistoryReverseResponse *r =
        arena_new(op->call->arena, Ws__GetWorkflowExecutionHistoryReverseResponse);
    if (!r)
        return NULL;
    ws__get_workflow_execution_history_reverse_response__init(r);
    if (token)
        r->next_page_token = *token;
    return &r->base;
}

static void history_reply(struct op *op, struct str events, const ProtobufCBinaryData *token) {
    const struct reader *rd = op->extra;
    const ProtobufCMessage *r = rd->is_reverse ? reverse_response(op, token) : forward_response(op, token);
    struct buf b;
    struct str tail;
    buf_init(&b, events.n + 16);
    wire_add_bytes_field(&b, HISTORY_FIELD, events);
    tail = str_bytes(arena_dup(op->call->arena, b.data, b.len), b.len);
    bool ok = buf_ok(&b);
    buf_done(&b);
    if (!r || !tail.p || !ok) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op_reply_durable(op, r, tail);
}

static void reply_nothing_yet(struct op *op) {
    struct reader *rd = op->extra;
    ProtobufCBinaryData token =
        history_token(op->call->arena, op->run->body->st, rd->next, rd->last, rd->is_close_only);
    history_reply(op, (struct str){NULL, 0}, &token);
}

static void wait_for_events(struct op *op) {
    if (op->e->is_draining) {
        reply_nothing_yet(op);
        return;
    }
    struct reader *rd = op->extra;
    if (!rd->until_us) /* events that it does not wait for must not make it wait longer */
        rd->until_us = op_deadline(op, op->e->long_poll_us, ENGINE_WAIT_MARGIN_MS * USEC_PER_MS);
    op_park(op, &op->run->body->readers, rd->until_us, reply_nothing_yet);
}

static int reader_close(struct op *op, struct reader *rd) {
    const State__Execution *st = op->run->body->st;
    struct str events;
    int64_t next;
    if (rd->waits && run_is_open(st)) {
        wait_for_events(op);
        return ERR_WAIT;
    }
    /* A paused run gives its last event, as a closed one does: clients that see any status but this one ask
     * for it. */
    if (st->status == WORKFLOW_EXECUTION_STATUS_RUNNING) {
        history_reply(op, (struct str){NULL, 0}, NULL);
        return ERR_WAIT;
    }
    struct events_want want = {
        .from = st->next_event_id - 1, .until = st->next_event_id, .events_max = 1, .bytes_max = 1};
    int rc = op_need_events(op, &want, &events, &next);
    if (rc == 0)
        history_reply(op, events, NULL);
    return rc;
}

/* The events of the pending task that are not written come last. They are no place to go on from: if the
 * task fails, others will have their numbers. */
static int reader_owed(struct op *op, const struct reader *rd, struct str *events) {
    struct str owed;
    struct buf b;
    int64_t end;
    int rc = virtual_events(op, &owed, &end);
    if (rc < 0 || !owed.n || (rd->last && end <= rd->last))
        return rc;
    buf_init(&b, events->n + owed.n);
    buf_add_str(&b, *events);
    buf_add_str(&b, owed);
    *events = str_bytes(arena_dup(op->call->arena, b.data, b.len), b.len);
    bool ok = buf_ok(&b) && events->p;
    buf_done(&b);
    return ok ? 0 : op_out_of_memory(op);
}

/* A worker pages through the history of a task that it has. Or it has the task, but no longer the run in its
 * cache, and reads from the beginning without saying what for: that, too, must reach up to the task. */
static bool wants_owed(const struct op *op, const struct reader *rd, int64_t next) {
    return rd->last ? rd->last >= next : op->call->reads_unwritten;
}

static int reader_page(struct op *op, struct reader *rd) {
    const State__Execution *st = op->run->body->st;
    int64_t until = rd->last ? MIN(rd->last + 1, st->next_event_id) : st->next_event_id;
    struct str events;
    int64_t next;
    if (rd->waits && rd->next >= until && run_is_open(st)) {
        wait_for_events(op);
        return ERR_WAIT;
    }
    struct events_want want = {.from = rd->next,
                               .until = until,
                               .events_max = rd->page_size,
                               .bytes_max = ENGINE_HISTORY_PAGE_BYTES};
    int rc = op_need_events(op, &want, &events, &next);
    if (rc == 0 && next == st->next_event_id && wants_owed(op, rd, next))
        rc = reader_owed(op, rd, &events);
    if (rc < 0)
        return rc;
    bool has_more = next < until || (rd->waits && run_is_open(st));
    ProtobufCBinaryData token = {0, NULL};
    if (has_more)
        token = history_token(op->call->arena, st, next, rd->last, false);
    history_reply(op, events, has_more ? &token : NULL);
    return 0;
}

/* the call */

/* Many pages may be asked for at once. A reader that waits for events has no page yet. */
static void expect_page(struct op *op) {
    const struct reader *rd = op->extra;
    size_t bytes = ENGINE_HISTORY_PAGE_BYTES;
    if (rd->waits || rd->is_close_only)
        return;
    if (op->run)
        bytes = MIN(bytes, (size_t)op->run->body->st->history_bytes);
    call_expect(op->call, bytes);
}

static int history_read_token(struct op *op, const Ws__GetWorkflowExecutionHistoryRequest *req, struct reader *rd) {
    ProtobufCMessage *m;
    int rc = token_read(op, &state__history_token__descriptor, &req->next_page_token, ERR_INVALID,
                        "Invalid NextPageToken.", &m);
    if (rc < 0)
        return rc;
    const State__HistoryToken *t = (const State__HistoryToken *)m;
    struct uuid run_id;
    if (t->next_event_id < 1 || t->last_event_id < 0 || t->last_event_id == INT64_MAX ||
        uuid_parse(str_of(t->run_id), &run_id) < 0)
        return err_set(&op->err, ERR_INVALID, "Invalid NextPageToken.");
    if (!cstr_is_empty(req->execution->run_id) && !cstr_eq(req->execution->run_id, t->run_id))
        return err_set(&op->err, ERR_INVALID, "RunId in the request does not match the NextPageToken.");
    req->execution->run_id = t->run_id; /* a token stays with its run */
    rd->next = t->next_event_id;
    rd->last = t->last_event_id;
    return 0;
}

static int reader_begin(struct op *op, const Ws__GetWorkflowExecutionHistoryRequest *req) {
    struct reader *rd = arena_new(op->call->arena, struct reader);
    if (!rd)
        return op_out_of_memory(op);
    rd->next = 1;
    rd->page_size = req->maximum_page_size > 0 ? MIN(req->maximum_page_size, ENGINE_HISTORY_PAGE_EVENTS)
                                               : ENGINE_HISTORY_PAGE_EVENTS;
    rd->waits = req->wait_new_event;
    rd->is_close_only = req->history_event_filter_type == HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    op->extra = rd;
    if (req->next_page_token.len)
        return history_read_token(op, req, rd);
    return 0;
}

static int need_execution(struct op *op, struct space *space, Common__WorkflowExecution *execution) {
    expect_page(op);
    int rc = op_need_execution(op, space, execution, NULL);
    if (rc == 0)
        expect_page(op);
    return rc;
}

static int write_owed_start(struct op *op) {
    const State__Execution *st = op->run->body->st;
    struct step s;
    if (!task_owes_start(st))
        return 0;
    op_step_begin(op, &s);
    task_write_owed(&s);
    return op_step_end(op, &s, 0, STEP_DURABLE);
}

void rpc_get_history(struct op *op) {
    const Ws__GetWorkflowExecutionHistoryRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->execution, &op->err);
    if (rc == 0 && !op->extra)
        rc = reader_begin(op, req);
    if (rc == 0)
        rc = need_execution(op, space, req->execution);
    if (rc == ERR_WAIT)
        return;
    struct reader *rd = op->extra;
    if (rc == 0 && cstr_is_empty(req->execution->run_id)) { /* stay with this run, also when another follows it */
        req->execution->run_id = arena_strdup(op->call->arena, op->run->body->st->run_id);
        if (!req->execution->run_id)
            rc = op_out_of_memory(op);
    }
    /* Only the first call of a reader asks for it: a worker that pages must not write. */
    if (rc == 0 && !rd->last && !rd->is_close_only && !op->page_next)
        rc = write_owed_start(op);
    if (rc == 0)
        rc = rd->is_close_only ? reader_close(op, rd) : reader_page(op, rd);
    if (rc < 0 && rc != ERR_WAIT)
        op_fail(op);
}

/* from the end */

/* The events of `bytes` in reverse, newest first, as far as they fit. */
static int reverse_events(struct op *op, struct str bytes, int64_t count, struct str *ret,
                          int64_t *ret_taken) {
    struct str *each = arena_array(op->call->arena, struct str, (size_t)count);
    struct wire_field f;
    struct buf out;
    bool ok = true;
    int64_t n = 0, taken = 0;
    if (!each)
        return op_out_of_memory(op);
    while (n < count && wire_next_field(&bytes, &f, &ok))
        each[n++] = f.whole;
    ensure(ok && n == count);
    buf_init(&out, SIZE_MAX);
    while (taken < n && (taken == 0 || out.len + each[n - 1 - taken].n <= ENGINE_HISTORY_PAGE_BYTES))
        buf_add_str(&out, each[n - 1 - taken++]);
    *ret = str_bytes(arena_dup(op->call->arena, out.data, out.len), out.len);
    *ret_taken = taken;
    ok = buf_ok(&out) && ret->p;
    buf_done(&out);
    return ok ? 0 : op_out_of_memory(op);
}

static int reverse_page(struct op *op, struct reader *rd) {
    const State__Execution *st = op->run->body->st;
    int64_t tape_first = op->run->body->tape.first_id;
    int64_t high = MIN(rd->next, st->next_event_id - 1);
    int64_t low = MAX(1, high - rd->page_size + 1);
    struct str bytes, events;
    int64_t next, taken = 0;
    if (low < tape_first && tape_first <= high)
        low = tape_first; /* one source for each page */
    struct events_want want = {
        .from = low, .until = high + 1, .events_max = high - low + 1, .bytes_max = SIZE_MAX};
    int rc = op_need_events(op, &want, &bytes, &next);
    if (rc == 0)
        rc = reverse_events(op, bytes, next - low, &events, &taken);
    if (rc < 0)
        return rc;
    high -= taken;
    ProtobufCBinaryData token = history_token(op->call->arena, st, MAX(high, 1), 0, false);
    history_reply(op, events, high >= 1 ? &token : NULL);
    return 0;
}

/* The two calls have the same fields under the same numbers, as far as both have them. */
void rpc_get_history_reverse(struct op *op) {
    const Ws__GetWorkflowExecutionHistoryReverseRequest *req = op->req;
    Ws__GetWorkflowExecutionHistoryRequest forward = WS__GET_WORKFLOW_EXECUTION_HISTORY_REQUEST__INIT;
    struct space *space;
    forward.execution = req->execution;
    forward.next_page_token = req->next_page_token;
    forward.maximum_page_size = req->maximum_page_size;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->execution, &op->err);
    if (rc == 0 && !op->extra)
        rc = reader_begin(op, &forward);
    if (rc == 0)
        rc = need_execution(op, space, req->execution);
    if (rc == ERR_WAIT)
        return;
    /* Once: what comes while the page is read is not on it. */
    bool is_first = rc == 0 && !op->page_next && !req->next_page_token.len;
    if (is_first)
        rc = write_owed_start(op);
    struct reader *rd = op->extra;
    if (rc == 0)
        rd->is_reverse = true;
    if (rc == 0 && is_first)
        rd->next = op->run->body->st->next_event_id - 1;
    if (rc == 0)
        rc = reverse_page(op, rd);
    if (rc < 0 && rc != ERR_WAIT)
        op_fail(op);
}
