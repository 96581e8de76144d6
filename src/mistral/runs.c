/* The calls that list and find runs.
 *
 * The server lists open runs first, then closed runs, the last closed first.
 * Any other order is sorted here. That needs all matching runs in one page of
 * the server; if there are more, the answer is 422. Tokens of sorted pages are
 * the number of runs before the page. */
#include "mistral/runs.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/step/pb.h"
#include "json/moment.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/condition.h"

#define HTTP_NOT_FOUND 404
#define PAGE_DEFAULT 50
#define NANOS_PER_MS 1000000
#define SORTED_MAX 1000 /* runs in the largest page of the server */

static Ws__ListWorkflowExecutionsRequest *runs_list_request(struct dialog *x, const struct buf *query,
                                                            int32_t size) {
    Ws__ListWorkflowExecutionsRequest *q =
        dialog_new_message(&x->arena, &ws__list_workflow_executions_request__descriptor);
    if (!q || !buf_ok(query))
        return NULL;
    q->namespace_ = dialog_namespace(x);
    q->page_size = size;
    q->query = dialog_text(x, buf_str(query));
    return q;
}

/* One run by its id. */

static void runs_on_found(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    if (r->n_executions == 0) {
        dialog_refuse(x, HTTP_NOT_FOUND, "There is no run %.*s", (int)MIN(x->id.n, 200), x->id.p);
        return;
    }
    const Common__WorkflowExecution *e = r->executions[0]->execution;
    x->run_found(x, e->workflow_id, e->run_id);
}

void runs_find_by_id(struct dialog *x,
                     void (*found)(struct dialog *x, const char *workflow_id, const char *run_id)) {
    struct buf query cleanup(buf_done);
    x->run_found = found;
    condition_init(&query);
    condition_add_equal(&query, "RunId", x->id);
    Ws__ListWorkflowExecutionsRequest *q = runs_list_request(x, &query, 1);
    dialog_ask(x, q ? &q->base : NULL, runs_on_found);
}

/* Conditions. */

static void runs_add_time(struct buf *query, const char *name, const char *operator_, int64_t seconds,
                          int32_t nanos) {
    char text[MOMENT_TEXT_MAX];
    if (moment_format(seconds, nanos, text) == 0)
        condition_add_comparison(query, name, operator_, str_of(text));
}

static void runs_add_after(struct buf *query, const char *name, const struct field_value *v) {
    if (v->is_given)
        runs_add_time(query, name, ">=", v->whole, v->nanos);
}

/* The client reads and sends times in milliseconds. An upper bound therefore includes its whole millisecond.
 */
static void runs_add_before(struct buf *query, const char *name, const struct field_value *v) {
    if (v->is_given)
        runs_add_time(query, name, "<=", v->whole,
                      v->nanos % NANOS_PER_MS ? v->nanos : v->nanos + NANOS_PER_MS - 1);
}

static void runs_add_equal(struct buf *query, const char *name, const struct field_value *v) {
    if (v->is_given)
        condition_add_equal(query, name, v->text);
}

static void runs_add_statuses(struct dialog *x, struct buf *query, const struct field_value *v) {
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
        condition_add_in(query, "ExecutionStatus", all, v->count);
}

static void runs_add_search(struct buf *query, const struct field_value *v) {
    static const char *const names[] = {"WorkflowType", "WorkflowId"};
    if (v->is_given)
        condition_add_any_name(query, names, ARRAY_LEN(names), "STARTS_WITH", v->text);
}

static bool runs_is_attribute_name(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i) || c == '_'))
            return false;
    }
    return s.n > 0;
}

/* Each "name:value" is a condition on a search attribute. */
static void runs_add_attributes(struct dialog *x, struct buf *query, const struct field_value *v) {
    struct place root = {.name = STR("query")}, at = {.up = &root, .name = STR("search_key")};
    for (size_t i = 0; i < v->count; i++) {
        struct str text = v->texts[i];
        const char *colon = memchr(text.p, ':', text.n);
        struct place each = {.up = &at, .index = i};
        struct str key = str_bytes(text.p, colon ? (size_t)(colon - text.p) : 0);
        if (!runs_is_attribute_name(key)) {
            complaints_add(&x->complaints, &each, "value_error",
                           "Value error, this should be the name of a search attribute, a colon and a value");
            continue;
        }
        char *name = dialog_text(x, key);
        if (name)
            condition_add_equal(query, name, str_bytes(colon + 1, text.n - key.n - 1));
    }
}

static void runs_make_condition(struct dialog *x, struct buf *query) {
    const struct field_value *v = x->query->v;
    runs_add_equal(query, "WorkflowType", &v[runs_query_workflow_identifier]);
    runs_add_equal(query, "RootWorkflowId", &v[runs_query_root_execution_id]);
    runs_add_equal(query, "TaskQueue", &v[runs_query_deployment_name]);
    runs_add_search(query, &v[runs_query_search]);
    runs_add_statuses(x, query, &v[runs_query_status]);
    runs_add_after(query, "StartTime", &v[runs_query_start_time_after]);
    runs_add_before(query, "StartTime", &v[runs_query_start_time_before]);
    runs_add_after(query, "CloseTime", &v[runs_query_end_time_after]);
    runs_add_before(query, "CloseTime", &v[runs_query_end_time_before]);
    runs_add_attributes(x, query, &v[runs_query_search_key]);
}

/* Lists. */

static size_t runs_page_size(const struct dialog *x) {
    struct field_value size = x->query->v[runs_query_page_size];
    return size.is_given ? (size_t)size.whole : PAGE_DEFAULT;
}

static void runs_write_page(struct dialog *x, Workflow__WorkflowExecutionInfo **runs, size_t n,
                            struct str token) {
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("executions"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < n; i++) {
        writer_open(&x->w, '{');
        execution_write(x, runs[i]);
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    member_write_token(&x->w, "next_page_token", token);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void runs_on_page(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    runs_write_page(x, r->executions, r->n_executions, pb_bytes(&r->next_page_token));
}

struct runs_sorting {
    bool is_by_end, is_descending;
    ProtobufCBinaryData token; /* the number of runs before the page, in decimal; empty: 0 */
};

/* A run that has not ended sorts behind all others. */
static int64_t runs_end_us(const Workflow__WorkflowExecutionInfo *i) {
    return i->close_time ? pb_timestamp_us(i->close_time) : INT64_MAX;
}

static int runs_compare_two(const void *pa, const void *pb, void *ctx) {
    const Workflow__WorkflowExecutionInfo *a = *(Workflow__WorkflowExecutionInfo *const *)pa,
                                          *b = *(Workflow__WorkflowExecutionInfo *const *)pb;
    const struct runs_sorting *s = ctx;
    int64_t x = s->is_by_end ? runs_end_us(a) : pb_timestamp_us(a->start_time);
    int64_t y = s->is_by_end ? runs_end_us(b) : pb_timestamp_us(b->start_time);
    int order = (x > y) - (x < y);
    if (order == 0)
        order = strcmp(a->execution->run_id, b->execution->run_id);
    return s->is_descending ? -order : order;
}

static void runs_on_all(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    struct runs_sorting *s = x->state;
    struct place root = {.name = STR("query")}, at = {.up = &root, .name = STR("sort_by")};
    char token[32] = "";
    int64_t from = 0;
    if (r->next_page_token.len || str_to_i64(s->token.len ? pb_bytes(&s->token) : STR("0"), &from) < 0 ||
        from < 0) {
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, more than %d runs would have to be sorted, or the page is unknown: ask "
                       "for fewer, or without an order",
                       SORTED_MAX);
        dialog_refuse_invalid(x);
        return;
    }
    size_t begin = MIN((size_t)from, r->n_executions), n = MIN(runs_page_size(x), r->n_executions - begin);
    if (r->n_executions)
        qsort_r(r->executions, r->n_executions, sizeof(*r->executions), runs_compare_two, s);
    if (begin + n < r->n_executions)
        (void)snprintf(token, sizeof(token), "%zu", begin + n);
    runs_write_page(x, r->executions + begin, n, str_of(token));
}

/* Whether the order asked for is the server's: by end, the last first. */
static bool runs_is_server_order(const struct field_value *v) {
    bool is_ascending = v[runs_query_order].is_given && str_is(v[runs_query_order].text, "asc");
    return !is_ascending &&
           (!v[runs_query_sort_by].is_given || str_is(v[runs_query_sort_by].text, "end_time"));
}

void mistral_begin_list_runs(struct dialog *x) {
    const struct field_value *v = x->query->v;
    struct buf query cleanup(buf_done);
    struct runs_sorting *s = x->state = arena_new(&x->arena, struct runs_sorting);
    condition_init(&query);
    runs_make_condition(x, &query);
    if (!s) {
        dialog_out_of_memory(x);
        return;
    }
    if (!member_read_token(x, "next_page_token", &v[runs_query_next_page_token], &s->token) ||
        x->complaints.count) {
        dialog_refuse_invalid(x);
        return;
    }
    s->is_by_end = str_is(v[runs_query_sort_by].text, "end_time");
    s->is_descending = !str_is(v[runs_query_order].text, "asc");
    bool is_plain = runs_is_server_order(v);
    Ws__ListWorkflowExecutionsRequest *q =
        runs_list_request(x, &query, is_plain ? (int32_t)runs_page_size(x) : SORTED_MAX);
    if (q && is_plain)
        q->next_page_token = s->token;
    dialog_ask(x, q ? &q->base : NULL, is_plain ? runs_on_page : runs_on_all);
}
