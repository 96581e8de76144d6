/* Lists and counts of runs.
 *
 * The happy path: the query becomes a predicate, the call waits until all that
 * was changed before it is on disk, the store is asked for one page, and its
 * rows, which are packed entries of the answer, are handed on as they are
 * (those of schedules are states, from which their entries are made). A
 * page token is the place of the last run in the order, so a page begins
 * behind that run whatever happened meanwhile: no run that stays is left out,
 * and one that closed since may be seen again among the closed. */
#include "base/mem.h"
#include "core/search/filter.h"
#include "core/search/filter_value.h"
#include "core/schedule/crontab.h"
#include "core/schedule/schedule.h"
#include "engine/runtime/question.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define FIELD_EXECUTIONS 1
#define FIELD_NEXT_PAGE_TOKEN 2

/* One call under way, in the call's arena. */
struct listing {
    struct uuid namespace_id; /* the namespace itself may be removed on the way */
    struct filter filter;
    enum filter_subject subject;
    bool is_count;
    size_t size;
    struct visibility_place after;
    bool has_after;
    const ProtobufCMessage *empty; /* an answer without fields */
    bool is_crontabs; /* of schedules, those that bindings made */

    struct answer answer;
    bool failed; /* no memory for a row */
    size_t row_count;
    size_t bytes; /* of the rows; the store stops at its limit for them */
    struct visibility_place last;
    bool has_more;
    Ws__CountWorkflowExecutionsResponse *count;
};

/* What every call asks for, whatever its message. */
struct wanted {
    const char *namespace;
    int32_t page_size;
    const ProtobufCBinaryData *token;
    const ProtobufCMessage *empty;
    enum filter_subject subject;
    bool is_crontabs;
};

/* rows */

/* A schedule is shown as its state is. False: there is no memory. */
static bool listing_add_schedule(struct op *op, const struct listing *l, struct str state) {
    struct arena *scratch = &op->e->scratch;
    ProtobufCAllocator allocator = wire_arena_allocator(scratch);
    arena_clear(scratch);
    State__Execution *st = state__execution__unpack(&allocator, state.n, (const uint8_t *)state.p);
    if (!st)
        return false;
    const ProtobufCMessage *entry = l->is_crontabs
                                        ? (const ProtobufCMessage *)crontab_shown(st, scratch)
                                        : (const ProtobufCMessage *)schedule_list_entry(st, state.n, scratch);
    if (entry)
        wire_add_message_field(&op->page, FIELD_EXECUTIONS, entry);
    return entry || (l->is_crontabs && !arena_failed(scratch));
}

static void list_row(struct op *op, struct listing *l, const struct row *row) {
    if (l->row_count == l->size) {
        l->has_more = true; /* one more than asked for, so that the last page has no token */
        return;
    }
    l->row_count++;
    l->bytes += row->body.n;
    l->last = (struct visibility_place){row->close_us, row->start_us, row->run_id};
    if (l->subject == FILTER_SCHEDULES)
        l->failed |= !listing_add_schedule(op, l, row->body);
    else
        wire_add_bytes_field(&op->page, FIELD_EXECUTIONS, row->body);
}

/* The group's value, as a keyword. */
static Common__Payload *group_value(struct arena *a, struct str name) {
    static const char *const metadata[][2] = {{"encoding", "json/plain"}, {"type", "Keyword"}};
    Common__Payload *p = arena_new(a, Common__Payload);
    if (!p)
        return NULL;
    common__payload__init(p);
    p->data.data = (uint8_t *)arena_printf(a, "\"%.*s\"", (int)name.n, name.p);
    p->data.len = name.n + 2;
    p->metadata = arena_array(a, Common__Payload__MetadataEntry *, ARRAY_LEN(metadata));
    for (size_t i = 0; p->metadata && i < ARRAY_LEN(metadata); i++) {
        Common__Payload__MetadataEntry *m = arena_new(a, Common__Payload__MetadataEntry);
        if (!m)
            return NULL;
        common__payload__metadata_entry__init(m);
        m->key = arena_strdup(a, metadata[i][0]);
        m->value.len = strlen(metadata[i][1]);
        m->value.data = arena_dup(a, metadata[i][1], m->value.len);
        p->metadata[p->n_metadata++] = m;
    }
    return p;
}

static void listing_count_row(struct op *op, struct listing *l, const struct row *row) {
    struct arena *a = op->call->arena;
    Ws__CountWorkflowExecutionsResponse *r = l->count;
    r->count += row->count;
    if (!l->filter.is_grouped)
        return;
    Ws__CountWorkflowExecutionsResponse__AggregationGroup *g =
        arena_new(a, Ws__CountWorkflowExecutionsResponse__AggregationGroup);
    Common__Payload **values = arena_array(a, Common__Payload *, 1);
    int64_t status = 1;
    while (status_name(status) && !str_is(row->name, status_name(status)))
        status++;
    if (!g || !values || !status_name(status))
        return;
    ws__count_workflow_executions_response__aggregation_group__init(g);
    values[0] = group_value(a, row->name);
    g->group_values = values;
    g->n_group_values = values[0] ? 1 : 0;
    g->count = row->count;
    r->groups[status - 1] = g;
}

/* By the number of the status: those that are there, without gaps. */
static void order_groups(Ws__CountWorkflowExecutionsResponse *r) {
    for (size_t i = 0; i < WORKFLOW_EXECUTION_STATUS_PAUSED; i++)
        if (r->groups[i])
            r->groups[r->n_groups++] = r->groups[i];
}

static void listing_read_row(struct op *op, const struct row *row) {
    struct listing *l = op->extra;
    (l->is_count ? listing_count_row : list_row)(op, l, row);
}

static int listing_read_page(struct op *op, struct listing *l) {
    struct page_read *q = question_new(op);
    if (!q)
        return ERR_NO_MEMORY;
    q->after = l->after;
    const struct predicate *where = predicate_copy(&q->arena, l->filter.where);
    if (!where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    q->read = (struct read){.kind = l->is_count ? READ_VISIBILITY_COUNT : READ_VISIBILITY,
                            .namespace_id = l->namespace_id,
                            .where = where,
                            .after = l->has_after ? &q->after : NULL,
                            .limit = l->size + 1,
                            .bytes_max = ENGINE_LIST_PAGE_BYTES,
                            .wants_state = l->subject == FILTER_SCHEDULES && !l->is_count};
    if (l->filter.is_grouped)
        q->read.group_by = STR("ExecutionStatus");
    if (!l->is_count)
        call_expect(op->call, MIN((size_t)l->size * ENGINE_LIST_ROW_BYTES, (size_t)ENGINE_LIST_PAGE_BYTES));
    return op_ask(op, q, &l->answer, listing_read_row);
}

/* answers */

static void add_token(struct op *op, struct listing *l) {
    State__ListToken t = STATE__LIST_TOKEN__INIT;
    t.close_us = l->last.close_us;
    t.start_us = l->last.start_us;
    t.run_id = (ProtobufCBinaryData){sizeof(l->last.run_id.b), l->last.run_id.b};
    wire_add_message_field(&op->page, FIELD_NEXT_PAGE_TOKEN, &t.base);
}

/* Schedules have no groups. */
static void reply_count(struct op *op, const struct listing *l) {
    Ws__CountSchedulesResponse schedules = WS__COUNT_SCHEDULES_RESPONSE__INIT;
    schedules.count = l->count->count;
    op_reply(op, l->subject == FILTER_SCHEDULES ? &schedules.base : &l->count->base, (struct str){NULL, 0});
}

static void go_read_listing(struct op *op) {
    struct listing *l = op->extra;
    int rc = l->answer.is_here ? 0 : listing_read_page(op, l);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && l->answer.rc < 0)
        rc = err_std(&op->err, l->answer.rc);
    if (rc == 0 && (l->has_more || l->bytes >= ENGINE_LIST_PAGE_BYTES))
        add_token(op, l);
    if (rc == 0 && (l->failed || !buf_ok(&op->page) || arena_failed(op->call->arena)))
        rc = op_out_of_memory(op);
    if (rc == 0 && l->is_count)
        order_groups(l->count);
    if (rc < 0)
        op_fail(op);
    else if (l->is_count)
        reply_count(op, l);
    else
        op_reply(op, l->empty, buf_str(&op->page));
}

static void begin_read(struct op *op, int rc) {
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->wait_seq = group_last_change(op->e);
    op_continue_durable(op, go_read_listing);
}

/* questions */

static int listing_read_token(struct op *op, const ProtobufCBinaryData *bytes, struct listing *l) {
    ProtobufCMessage *m;
    if (bytes->len == 0)
        return 0;
    int rc = token_read(op, &state__list_token__descriptor, bytes, ERR_INVALID, "Invalid NextPageToken.", &m);
    if (rc < 0)
        return rc;
    const State__ListToken *t = (const State__ListToken *)m;
    if (t->run_id.len != sizeof(l->after.run_id.b))
        return err_set(&op->err, ERR_INVALID, "Invalid NextPageToken.");
    l->after.close_us = t->close_us;
    l->after.start_us = t->start_us;
    memcpy(l->after.run_id.b, t->run_id.data, t->run_id.len);
    l->has_after = true;
    return 0;
}

/* The listing without its filter. */
static int listing_prepare(struct op *op, const struct wanted *w, struct space **ret_space, struct listing **ret) {
    struct listing *l = arena_new(op->call->arena, struct listing);
    int rc = op_need_space(op, w->namespace, ret_space);
    if (rc < 0)
        return rc;
    if (!l)
        return op_out_of_memory(op);
    bool is_sized = w->page_size > 0 && w->page_size <= ENGINE_LIST_PAGE_RUNS;
    l->namespace_id = (*ret_space)->id;
    l->size = is_sized ? (size_t)w->page_size : ENGINE_LIST_PAGE_RUNS;
    l->empty = w->empty;
    l->is_crontabs = w->is_crontabs;
    op->extra = *ret = l;
    return w->token ? listing_read_token(op, w->token, l) : 0;
}

static int listing_parse_query(struct op *op, struct listing *l, const struct space *space, const char *query) {
    int rc = filter_parse(op->call->arena, space->st, l->subject, str_of(query), &l->filter, &op->err);
    if (rc == 0 && l->filter.is_grouped && !l->is_count)
        rc = err_set(&op->err, ERR_INVALID, "invalid query: operation is not supported: 'GROUP BY' clause");
    return rc;
}

static void list_by_query(struct op *op, const struct wanted *w, const char *query) {
    struct space *space;
    struct listing *l = NULL;
    int rc = listing_prepare(op, w, &space, &l);
    if (rc == 0)
        l->subject = w->subject;
    if (rc == 0)
        rc = listing_parse_query(op, l, space, query);
    begin_read(op, rc);
}

void rpc_list_workflows(struct op *op) {
    static const Ws__ListWorkflowExecutionsResponse empty = WS__LIST_WORKFLOW_EXECUTIONS_RESPONSE__INIT;
    const Ws__ListWorkflowExecutionsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->page_size, &req->next_page_token, &empty.base, FILTER_WORKFLOWS};
    list_by_query(op, &w, req->query);
}

void rpc_scan_workflows(struct op *op) {
    static const Ws__ScanWorkflowExecutionsResponse empty = WS__SCAN_WORKFLOW_EXECUTIONS_RESPONSE__INIT;
    const Ws__ScanWorkflowExecutionsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->page_size, &req->next_page_token, &empty.base, FILTER_WORKFLOWS};
    list_by_query(op, &w, req->query);
}

static void count_by_query(struct op *op, const struct wanted *w, const char *query) {
    struct arena *a = op->call->arena;
    struct space *space;
    struct listing *l = NULL;
    int rc = listing_prepare(op, w, &space, &l);
    if (rc == 0) {
        l->subject = w->subject;
        l->is_count = true;
        l->count = arena_new(a, Ws__CountWorkflowExecutionsResponse);
        rc = listing_parse_query(op, l, space, query);
    }
    if (rc == 0 && !l->count)
        rc = op_out_of_memory(op);
    if (rc == 0) {
        ws__count_workflow_executions_response__init(l->count);
        l->count->groups = arena_array(a, Ws__CountWorkflowExecutionsResponse__AggregationGroup *,
                                       WORKFLOW_EXECUTION_STATUS_PAUSED);
        if (!l->count->groups)
            rc = op_out_of_memory(op);
    }
    begin_read(op, rc);
}

void rpc_count_workflows(struct op *op) {
    const Ws__CountWorkflowExecutionsRequest *req = op->req;
    struct wanted w = {.namespace = req->namespace_};
    count_by_query(op, &w, req->query);
}

void rpc_list_schedules(struct op *op) {
    static const Ws__ListSchedulesResponse empty = WS__LIST_SCHEDULES_RESPONSE__INIT;
    const Ws__ListSchedulesRequest *req = op->req;
    struct wanted w = {req->namespace_, req->maximum_page_size, &req->next_page_token, &empty.base,
                       FILTER_SCHEDULES};
    list_by_query(op, &w, req->query);
}

void rpc_list_crontabs(struct op *op) {
    static const Rondo__ListCrontabsResponse empty = RONDO__LIST_CRONTABS_RESPONSE__INIT;
    const Rondo__ListCrontabsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->page_size,   &req->next_page_token,
                       &empty.base,     FILTER_SCHEDULES, .is_crontabs = true};
    list_by_query(op, &w, "");
}

void rpc_list_batches(struct op *op) {
    static const Ws__ListBatchOperationsResponse empty = WS__LIST_BATCH_OPERATIONS_RESPONSE__INIT;
    const Ws__ListBatchOperationsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->page_size, &req->next_page_token, &empty.base, FILTER_BATCHES};
    list_by_query(op, &w, "");
}

void rpc_count_schedules(struct op *op) {
    const Ws__CountSchedulesRequest *req = op->req;
    struct wanted w = {.namespace = req->namespace_, .subject = FILTER_SCHEDULES};
    count_by_query(op, &w, req->query);
}

/* The older calls: a few conditions, given field by field. */

struct older {
    const Filter__StartTimeFilter *started;
    const Filter__WorkflowExecutionFilter *execution;
    const Filter__WorkflowTypeFilter *type;
    const Filter__StatusFilter *status;
    bool is_open;
};

static int64_t time_ns(const Google__Protobuf__Timestamp *t) {
    int64_t ns;
    if (__builtin_mul_overflow(t->seconds, INT64_C(1000000000), &ns))
        return t->seconds < 0 ? INT64_MIN : INT64_MAX;
    return __builtin_add_overflow(ns, (int64_t)t->nanos, &ns) ? INT64_MAX : ns;
}

static void listing_add_test(struct op *op, struct listing *l, enum predicate_kind kind, const char *name,
                   struct value v) {
    struct arena *a = op->call->arena;
    l->filter.where = filter_and(a, l->filter.where, filter_test(a, kind, name, &v));
}

static void narrow_text(struct op *op, struct listing *l, const char *name, const char *text) {
    if (!cstr_is_empty(text))
        listing_add_test(op, l, PREDICATE_EQUAL, name, value_text(str_of(text)));
}

static int narrow_times(struct op *op, struct listing *l, const Filter__StartTimeFilter *f) {
    if (!f)
        return err_set(&op->err, ERR_INVALID, "StartTimeFilter is not set on request.");
    if (f->earliest_time && f->latest_time && time_ns(f->earliest_time) > time_ns(f->latest_time))
        return err_set(&op->err, ERR_INVALID,
                       "EarliestTime in StartTimeFilter should not be larger than LatestTime.");
    if (f->earliest_time)
        listing_add_test(op, l, PREDICATE_AT_LEAST, "StartTime", value_int(time_ns(f->earliest_time)));
    if (f->latest_time)
        listing_add_test(op, l, PREDICATE_AT_MOST, "StartTime", value_int(time_ns(f->latest_time)));
    return 0;
}

static int narrow_status(struct op *op, struct listing *l, const Filter__StatusFilter *f) {
    const char *name = f ? status_name(f->status) : NULL;
    if (!f || f->status == WORKFLOW_EXECUTION_STATUS_UNSPECIFIED)
        return 0;
    if (!name || f->status == WORKFLOW_EXECUTION_STATUS_RUNNING ||
        f->status == WORKFLOW_EXECUTION_STATUS_PAUSED)
        return err_set(&op->err, ERR_INVALID, "StatusFilter has no status of a closed workflow.");
    narrow_text(op, l, "ExecutionStatus", name);
    return 0;
}

static void list_older(struct op *op, const struct wanted *w, const struct older *o) {
    struct arena *a = op->call->arena;
    struct space *space;
    struct listing *l = NULL;
    int rc = listing_prepare(op, w, &space, &l);
    if (rc == 0)
        rc = listing_parse_query(op, l, space, o->is_open ? "CloseTime IS NULL" : "CloseTime IS NOT NULL");
    if (rc == 0)
        rc = narrow_times(op, l, o->started);
    if (rc == 0)
        rc = narrow_status(op, l, o->status);
    if (rc == 0 && o->execution) {
        narrow_text(op, l, "WorkflowId", o->execution->workflow_id);
        narrow_text(op, l, "RunId", o->execution->run_id);
    }
    if (rc == 0 && o->type)
        narrow_text(op, l, "WorkflowType", o->type->name);
    if (rc == 0 && arena_failed(a))
        rc = op_out_of_memory(op);
    begin_read(op, rc);
}

void rpc_list_open_workflows(struct op *op) {
    static const Ws__ListOpenWorkflowExecutionsResponse empty =
        WS__LIST_OPEN_WORKFLOW_EXECUTIONS_RESPONSE__INIT;
    const Ws__ListOpenWorkflowExecutionsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->maximum_page_size, &req->next_page_token, &empty.base,
                       FILTER_WORKFLOWS};
    struct older o = {.is_open = true, .started = req->start_time_filter};
    if (req->filters_case == WS__LIST_OPEN_WORKFLOW_EXECUTIONS_REQUEST__FILTERS_EXECUTION_FILTER)
        o.execution = req->execution_filter;
    if (req->filters_case == WS__LIST_OPEN_WORKFLOW_EXECUTIONS_REQUEST__FILTERS_TYPE_FILTER)
        o.type = req->type_filter;
    list_older(op, &w, &o);
}

void rpc_list_closed_workflows(struct op *op) {
    static const Ws__ListClosedWorkflowExecutionsResponse empty =
        WS__LIST_CLOSED_WORKFLOW_EXECUTIONS_RESPONSE__INIT;
    const Ws__ListClosedWorkflowExecutionsRequest *req = op->req;
    struct wanted w = {req->namespace_, req->maximum_page_size, &req->next_page_token, &empty.base,
                       FILTER_WORKFLOWS};
    struct older o = {.started = req->start_time_filter};
    if (req->filters_case == WS__LIST_CLOSED_WORKFLOW_EXECUTIONS_REQUEST__FILTERS_EXECUTION_FILTER)
        o.execution = req->execution_filter;
    if (req->filters_case == WS__LIST_CLOSED_WORKFLOW_EXECUTIONS_REQUEST__FILTERS_TYPE_FILTER)
        o.type = req->type_filter;
    if (req->filters_case == WS__LIST_CLOSED_WORKFLOW_EXECUTIONS_REQUEST__FILTERS_STATUS_FILTER)
        o.status = req->status_filter;
    list_older(op, &w, &o);
}

void rpc_list_archived_workflows(struct op *op) {
    const Ws__ListArchivedWorkflowExecutionsRequest *req = op->req;
    struct space *space;
    if (op_need_space(op, req->namespace_, &space) == 0)
        (void)err_set(
            &op->err, ERR_UNIMPLEMENTED,
            "There is no archive: closed workflows are kept for the namespace's retention, then removed.");
    op_fail(op);
}
