/* Reading the ledger of a schedule: as a list, or for what became of one time.
 *
 * The happy path: the schedule is found by its id, also when it has ended, the call waits until all that the
 * schedule shows is on disk, the store is asked for one page, the last entries first, and its rows, which are
 * packed entries of the answer, are handed on as they are. A page token holds the id that the next page lies
 * below, so a page is the same whatever was added meanwhile. */
#include "core/schedule/schedule.h"
#include "engine/runtime/question.h"
#include "engine/schedule/schedule.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define FIELD_ENTRIES 1
#define FIELD_NEXT_PAGE_TOKEN 2
#define FIELD_EXPLAINED_ENTRIES 3
#define NANOS_PER_SEC 1000000000

/* One call under way, in the call's arena. */
struct ledger_page {
    struct run_key key;
    struct ledger_filter filter;
    size_t size;
    const ProtobufCMessage *head; /* the answer without its entries, which come as */
    uint32_t field;
    bool is_explanation;
    bool has_times_between; /* the time asked for may stand between the first and the last of a row */

    struct answer answer;
    size_t row_count;
    size_t bytes; /* of the rows; the store stops at its limit for them */
    int64_t last_id;
    bool has_more;
};

/* rows */

/* A row of several times has one for each time of the schedule between its ends, and for no other second. */
static bool is_meant(const struct ledger_page *p, const struct ledger_columns *l) {
    return !p->is_explanation || p->has_times_between || l->nominal_s == p->filter.from_s ||
           l->last_nominal_s == p->filter.from_s;
}

static void ledger_read_row(struct op *op, const struct row *row) {
    struct ledger_page *p = op->extra;
    if (!is_meant(p, &row->ledger))
        return;
    if (p->row_count == p->size) {
        p->has_more = true; /* one more than asked for, so that the last page has no token */
        return;
    }
    p->row_count++;
    p->bytes += row->body.n;
    p->last_id = row->ledger.id;
    wire_add_bytes_field(&op->page, p->field, row->body);
}

static int ledger_read_page(struct op *op, struct ledger_page *p) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    q->read = (struct read){.kind = READ_LEDGER,
                            .namespace_id = p->key.namespace_id,
                            .run_id = p->key.run_id,
                            .ledger = p->filter,
                            .limit = p->size + 1,
                            .bytes_max = ENGINE_LIST_PAGE_BYTES};
    return op_ask(op, q, &p->answer, ledger_read_row);
}

static void go_read_ledger(struct op *op) {
    struct ledger_page *p = op->extra;
    int rc = p->answer.is_here ? 0 : ledger_read_page(op, p);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && p->answer.rc < 0)
        rc = err_std(&op->err, p->answer.rc);
    if (rc == 0 && !p->is_explanation && (p->has_more || p->bytes >= ENGINE_LIST_PAGE_BYTES)) {
        State__LedgerToken t = STATE__LEDGER_TOKEN__INIT;
        t.before_id = p->last_id;
        t.run_id = (ProtobufCBinaryData){sizeof(p->key.run_id.b), p->key.run_id.b};
        wire_add_message_field(&op->page, FIELD_NEXT_PAGE_TOKEN, &t.base);
    }
    if (rc == 0 && !buf_ok(&op->page))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, p->head, buf_str(&op->page));
}

/* questions */

static int ledger_read_token(struct op *op, const ProtobufCBinaryData *bytes, struct ledger_page *p) {
    ProtobufCMessage *m;
    if (bytes->len == 0)
        return 0;
    int rc =
        token_read(op, &state__ledger_token__descriptor, bytes, ERR_INVALID, "Invalid NextPageToken.", &m);
    if (rc < 0)
        return rc;
    const State__LedgerToken *t = (const State__LedgerToken *)m;
    p->filter.before_id = t->before_id;
    bool is_ours = str_eq(pb_bytes(&t->run_id), str_bytes(p->key.run_id.b, sizeof(p->key.run_id.b)));
    return is_ours ? 0 : err_set(&op->err, ERR_INVALID, "Invalid NextPageToken.");
}

static bool is_ledger_time(const Google__Protobuf__Timestamp *t) {
    return !t || (t->nanos >= 0 && t->nanos < NANOS_PER_SEC);
}

/* Nominal times are whole seconds: a fraction moves the beginning to the next one. */
static int read_times(struct op *op, const Rondo__ListScheduleLedgerRequest *req, struct ledger_filter *f) {
    const Google__Protobuf__Timestamp *start = req->start_time, *end = req->end_time;
    if (!is_ledger_time(start) || !is_ledger_time(end))
        return err_set(&op->err, ERR_INVALID, "StartTime or EndTime is not a valid time.");
    f->from_s = start ? start->seconds : INT64_MIN;
    if (start && start->nanos && f->from_s < INT64_MAX)
        f->from_s++;
    f->to_s = end ? end->seconds : INT64_MAX;
    if (start && end &&
        (start->seconds > end->seconds || (start->seconds == end->seconds && start->nanos > end->nanos)))
        return err_set(&op->err, ERR_INVALID, "StartTime should not be larger than EndTime.");
    return 0;
}

static int read_fates(struct op *op, const Rondo__ListScheduleLedgerRequest *req, struct ledger_filter *f) {
    for (size_t i = 0; i < req->n_fates; i++) {
        int fate = (int)req->fates[i];
        if (fate == 0 || !protobuf_c_enum_descriptor_get_value(&rondo__ledger_fate__descriptor, fate))
            return err_set(&op->err, ERR_INVALID, "Fates has %d, which is no fate.", fate);
        f->fates |= UINT32_C(1) << fate;
    }
    return 0;
}

/* Whose ledger it is. NULL without memory. */
static Rondo__ListScheduleLedgerResponse *head_of(struct op *op) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Rondo__ListScheduleLedgerResponse *r = arena_new(a, Rondo__ListScheduleLedgerResponse);
    if (!r)
        return NULL;
    rondo__list_schedule_ledger_response__init(r);
    r->run_id = arena_strdup(a, st->run_id);
    r->previous_run_id = arena_strdup(a, st->schedule->previous_run_id);
    r->status = (E__WorkflowExecutionStatus)st->status;
    r->end_time = run_is_open(st) ? NULL : pb_arena_timestamp(st->close_us, a);
    return arena_failed(a) ? NULL : r;
}

static int ledger_prepare_page(struct op *op, const Rondo__ListScheduleLedgerRequest *req) {
    Rondo__ListScheduleLedgerResponse *head = head_of(op);
    struct ledger_page *p = arena_new(op->call->arena, struct ledger_page);
    if (!p || !head)
        return op_out_of_memory(op);
    bool is_sized = req->maximum_page_size > 0 && req->maximum_page_size <= ENGINE_LEDGER_PAGE_ROWS;
    p->key = op->run->key;
    p->size = is_sized ? (size_t)req->maximum_page_size : ENGINE_LEDGER_PAGE_ROWS;
    p->filter.before_id = INT64_MAX;
    p->head = &head->base;
    p->field = FIELD_ENTRIES;
    op->extra = p;
    int rc = read_times(op, req, &p->filter);
    if (rc == 0)
        rc = read_fates(op, req, &p->filter);
    return rc == 0 ? ledger_read_token(op, &req->next_page_token, p) : rc;
}

void rpc_list_schedule_ledger(struct op *op) {
    const Rondo__ListScheduleLedgerRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = op_need_past_schedule(op, space, req->schedule_id, req->run_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = ledger_prepare_page(op, req);
    if (rc < 0)
        op_fail(op);
    else
        op_continue_durable(op, go_read_ledger);
}

/* what became of one time */

static int ledger_explain_time(struct op *op, const struct space *space, const Rondo__ExplainScheduleTimeRequest *req) {
    Rondo__ExplainScheduleTimeResponse *r;
    struct ledger_page *p = arena_new(op->call->arena, struct ledger_page);
    if (!p)
        return op_out_of_memory(op);
    int rc =
        schedule_explain(op->run->body->st, space->st, op->e->cfg.zones, req, op->call->arena, &r, &op->err);
    if (rc < 0)
        return rc;
    p->key = op->run->key;
    p->filter = (struct ledger_filter){INT64_MAX, req->time->seconds, req->time->seconds, 0};
    p->size = ENGINE_LEDGER_PAGE_ROWS;
    p->head = &r->base;
    p->field = FIELD_EXPLAINED_ENTRIES;
    p->is_explanation = true;
    p->has_times_between = cstr_eq(r->verdict, "time") || cstr_eq(r->verdict, "excluded");
    op->extra = p;
    return 0;
}

void rpc_explain_schedule_time(struct op *op) {
    const Rondo__ExplainScheduleTimeRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = op_need_past_schedule(op, space, req->schedule_id, req->run_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = ledger_explain_time(op, space, req);
    if (rc < 0)
        op_fail(op);
    else
        op_continue_durable(op, go_read_ledger);
}
