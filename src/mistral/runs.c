/* The calls for runs.
 *
 * The server lists open runs first and then those that closed last. Another
 * order is made here, which is possible as long as all that is asked for fits
 * into one page of the server; its tokens are then numbers of runs. */
#include <stdio.h>
#include <stdlib.h>

#include "core/step/pb.h"
#include "json/moment.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "mistral/query_text.h"

#define HTTP_NOT_FOUND 404
#define PAGE_DEFAULT 50
#define NANOS_PER_MS 1000000
#define SORTED_MAX 1000 /* a page of the server */

static Ws__ListWorkflowExecutionsRequest *list_request(struct dialog *x, const struct buf *query,
                                                       int32_t size) {
    Ws__ListWorkflowExecutionsRequest *q =
        message_new(&x->arena, &ws__list_workflow_executions_request__descriptor);
    if (!q || !buf_ok(query))
        return NULL;
    q->namespace_ = own_namespace(x);
    q->page_size = size;
    q->query = own_text(x, buf_str(query));
    return q;
}

/* One run by its id. */

static void on_found(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    if (r->n_executions == 0) {
        dialog_refuse(x, HTTP_NOT_FOUND, "There is no run %.*s", (int)MIN(x->id.n, 200), x->id.p);
        return;
    }
    const Common__WorkflowExecution *e = r->executions[0]->execution;
    x->run_found(x, e->workflow_id, e->run_id);
}

void seek_run(struct dialog *x,
              void (*found)(struct dialog *x, const char *workflow_id, const char *run_id)) {
    struct buf query cleanup(buf_done);
    x->run_found = found;
    query_init(&query);
    query_equal(&query, "RunId", x->id);
    Ws__ListWorkflowExecutionsRequest *q = list_request(x, &query, 1);
    dialog_ask(x, q ? &q->base : NULL, on_found);
}

/* Conditions. */

static void add_time(struct buf *query, const char *name, const char *operator_, int64_t seconds,
                     int32_t nanos) {
    char text[MOMENT_TEXT_MAX];
    if (moment_format(seconds, nanos, text) == 0)
        query_compare(query, name, operator_, str_of(text));
}

static void add_after(struct buf *query, const char *name, const struct given *v) {
    if (v->is_given)
        add_time(query, name, ">=", v->whole, v->nanos);
}

/* The client sees and says times in milliseconds, so that one which it saw means all of it. */
static void add_before(struct buf *query, const char *name, const struct given *v) {
    if (v->is_given)
        add_time(query, name, "<=", v->whole,
                 v->nanos % NANOS_PER_MS ? v->nanos : v->nanos + NANOS_PER_MS - 1);
}

static void add_text(struct buf *query, const char *name, const struct given *v) {
    if (v->is_given)
        query_equal(query, name, v->text);
}

static void add_statuses(struct dialog *x, struct buf *query, const struct given *v) {
    static const struct {
        const char *word, *name;
    } names[] = {{"RUNNING", "Running"},       {"COMPLETED", "Completed"},
                 {"FAILED", "Failed"},         {"CANCELED", "Canceled"},
                 {"TERMINATED", "Terminated"}, {"CONTINUED_AS_NEW", "ContinuedAsNew"},
                 {"TIMED_OUT", "TimedOut"}};
    struct str *all = v->is_given ? arena_array(&x->arena, struct str, v->count) : NULL;
    for (size_t i = 0; all && i < v->count; i++)
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            if (str_is(v->texts[i], names[k].word))
                all[i] = str_of(names[k].name);
    if (all)
        query_any(query, "ExecutionStatus", all, v->count);
}

static void add_search(struct buf *query, const struct given *v) {
    static const char *const names[] = {"WorkflowType", "WorkflowId"};
    if (v->is_given)
        query_either(query, names, ARRAY_LEN(names), "STARTS_WITH", v->text);
}

static bool is_name(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i) || c == '_'))
            return false;
    }
    return s.n > 0;
}

/* "key:value" is a search attribute. */
static void add_keys(struct dialog *x, struct buf *query, const struct given *v) {
    struct place root = {.name = STR("query")}, at = {.up = &root, .name = STR("search_key")};
    for (size_t i = 0; i < v->count; i++) {
        struct str text = v->texts[i];
        const char *colon = memchr(text.p, ':', text.n);
        struct place each = {.up = &at, .index = i};
        struct str key = str_bytes(text.p, colon ? (size_t)(colon - text.p) : 0);
        if (!is_name(key)) {
            complaints_add(&x->complaints, &each, "value_error",
                           "Value error, this should be the name of a search attribute, a colon and a value");
            continue;
        }
        char *name = own_text(x, key);
        if (name)
            query_equal(query, name, str_bytes(colon + 1, text.n - key.n - 1));
    }
}

static void make_query(struct dialog *x, struct buf *query) {
    const struct given *v = x->query->v;
    add_text(query, "WorkflowType", &v[runs_query_workflow_identifier]);
    add_text(query, "RootWorkflowId", &v[runs_query_root_execution_id]);
    add_text(query, "TaskQueue", &v[runs_query_deployment_name]);
    add_search(query, &v[runs_query_search]);
    add_statuses(x, query, &v[runs_query_status]);
    add_after(query, "StartTime", &v[runs_query_start_time_after]);
    add_before(query, "StartTime", &v[runs_query_start_time_before]);
    add_after(query, "CloseTime", &v[runs_query_end_time_after]);
    add_before(query, "CloseTime", &v[runs_query_end_time_before]);
    add_keys(x, query, &v[runs_query_search_key]);
}

/* Lists. */

static size_t page_size(const struct dialog *x) {
    struct given size = x->query->v[runs_query_page_size];
    return size.is_given ? (size_t)size.whole : PAGE_DEFAULT;
}

static void write_runs(struct dialog *x, Workflow__WorkflowExecutionInfo **runs, size_t n, struct str token) {
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("executions"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < n; i++) {
        writer_open(&x->w, '{');
        execution_write(x, runs[i]);
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    write_token(&x->w, "next_page_token", token);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void on_page(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    write_runs(x, r->executions, r->n_executions, pb_bytes(&r->next_page_token));
}

struct sorting {
    bool is_by_end, is_descending;
    ProtobufCBinaryData token; /* how many to leave out, as text */
};

static int64_t end_of(const Workflow__WorkflowExecutionInfo *i) {
    return i->close_time ? pb_timestamp_us(i->close_time) : INT64_MAX;
}

static int compare(const void *pa, const void *pb, void *ctx) {
    const Workflow__WorkflowExecutionInfo *a = *(Workflow__WorkflowExecutionInfo *const *)pa,
                                          *b = *(Workflow__WorkflowExecutionInfo *const *)pb;
    const struct sorting *s = ctx;
    int64_t x = s->is_by_end ? end_of(a) : pb_timestamp_us(a->start_time);
    int64_t y = s->is_by_end ? end_of(b) : pb_timestamp_us(b->start_time);
    int order = (x > y) - (x < y);
    if (order == 0)
        order = strcmp(a->execution->run_id, b->execution->run_id);
    return s->is_descending ? -order : order;
}

static void on_all(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    struct sorting *s = x->state;
    struct place root = {.name = STR("query")}, at = {.up = &root, .name = STR("sort_by")};
    char token[32] = "";
    int64_t from = 0;
    if (r->next_page_token.len || str_to_i64(s->token.len ? pb_bytes(&s->token) : STR("0"), &from) < 0 ||
        from < 0) {
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, more than %d runs would have to be sorted, or the page is unknown: ask "
                       "for fewer, or without an order",
                       SORTED_MAX);
        dialog_complain(x);
        return;
    }
    size_t begin = MIN((size_t)from, r->n_executions), n = MIN(page_size(x), r->n_executions - begin);
    if (r->n_executions)
        qsort_r(r->executions, r->n_executions, sizeof(*r->executions), compare, s);
    if (begin + n < r->n_executions)
        (void)snprintf(token, sizeof(token), "%zu", begin + n);
    write_runs(x, r->executions + begin, n, str_of(token));
}

/* The server's own order is the one by end, the last first. */
static bool is_natural(const struct given *v) {
    bool is_ascending = v[runs_query_order].is_given && str_is(v[runs_query_order].text, "asc");
    return !is_ascending &&
           (!v[runs_query_sort_by].is_given || str_is(v[runs_query_sort_by].text, "end_time"));
}

void begin_list_runs(struct dialog *x) {
    const struct given *v = x->query->v;
    struct buf query cleanup(buf_done);
    struct sorting *s = x->state = arena_new(&x->arena, struct sorting);
    query_init(&query);
    make_query(x, &query);
    if (!s) {
        dialog_out_of_memory(x);
        return;
    }
    if (!read_token(x, "next_page_token", &v[runs_query_next_page_token], &s->token) || x->complaints.count) {
        dialog_complain(x);
        return;
    }
    s->is_by_end = str_is(v[runs_query_sort_by].text, "end_time");
    s->is_descending = !str_is(v[runs_query_order].text, "asc");
    bool is_plain = is_natural(v);
    Ws__ListWorkflowExecutionsRequest *q =
        list_request(x, &query, is_plain ? (int32_t)page_size(x) : SORTED_MAX);
    if (q && is_plain)
        q->next_page_token = s->token;
    dialog_ask(x, q ? &q->base : NULL, is_plain ? on_page : on_all);
}
