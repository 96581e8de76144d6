/* The metrics of one workflow: how many executions, how they ended, how long they took.
 *
 * Numbers are counted over all runs that are kept; durations are those of the
 * runs that closed last, as many as fit into one page of the server. */
#include <stdio.h>

#include "core/step/pb.h"
#include "json/moment.h"
#include "json/number.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "mistral/query_text.h"

#define LATENCIES_MAX 1000

struct figures {
    int64_t total, completed, failed;
};

/* The conditions that both questions share. */
static void make_query(struct dialog *x, struct buf *query, bool is_closed) {
    const struct given *v = x->query->v;
    char text[MOMENT_TEXT_MAX];
    query_init(query);
    query_equal(query, "WorkflowType", x->id);
    if (v[metrics_query_start_time].is_given &&
        moment_format(v[metrics_query_start_time].whole, v[metrics_query_start_time].nanos, text) == 0)
        query_compare(query, "StartTime", ">=", str_of(text));
    if (v[metrics_query_end_time].is_given &&
        moment_format(v[metrics_query_end_time].whole, v[metrics_query_end_time].nanos, text) == 0)
        query_compare(query, "StartTime", "<=", str_of(text));
    if (is_closed)
        query_add(query, "CloseTime IS NOT NULL");
    else
        buf_add_cstr(query, " GROUP BY ExecutionStatus");
}

static int64_t latency_ms(const Workflow__WorkflowExecutionInfo *i) {
    return pb_timestamp_us(i->close_time) / USEC_PER_MS - pb_timestamp_us(i->start_time) / USEC_PER_MS;
}

static void write_scalar(struct json_writer *w, const char *key, int64_t value) {
    writer_key(w, str_of(key));
    writer_open(w, '{');
    write_whole(w, "value", value);
    writer_close(w, '}');
}

static void write_average(struct json_writer *w, const Ws__ListWorkflowExecutionsResponse *r) {
    char text[NUMBER_TEXT_MAX];
    double sum = 0;
    for (size_t i = 0; i < r->n_executions; i++)
        sum += (double)latency_ms(r->executions[i]);
    number_format_double(r->n_executions ? sum / (double)r->n_executions : 0, text);
    writer_key(w, STR("average_latency_ms"));
    writer_open(w, '{');
    write_raw(w, "value", text);
    writer_close(w, '}');
}

/* The first to close first: when it closed, and how long it had taken; both in milliseconds. */
static void write_latencies(struct json_writer *w, const Ws__ListWorkflowExecutionsResponse *r) {
    char text[64];
    writer_key(w, STR("latency_over_time"));
    writer_open(w, '{');
    writer_key(w, STR("value"));
    writer_open(w, '[');
    for (size_t i = r->n_executions; i-- > 0;) {
        const Workflow__WorkflowExecutionInfo *e = r->executions[i];
        (void)snprintf(text, sizeof(text), "[%lld,%lld]",
                       (long long)(pb_timestamp_us(e->close_time) / USEC_PER_MS), (long long)latency_ms(e));
        writer_token(w, str_of(text));
    }
    writer_close(w, ']');
    writer_close(w, '}');
}

static void on_closed(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    const struct figures *f = x->state;
    struct json_writer *w = &x->w;
    writer_open(w, '{');
    write_scalar(w, "execution_count", f->total);
    write_scalar(w, "success_count", f->completed);
    write_scalar(w, "error_count", f->failed);
    write_average(w, r);
    write_latencies(w, r);
    write_scalar(w, "retry_rate", -1); /* what the client says it always is */
    writer_close(w, '}');
    dialog_reply(x);
}

static void on_counted(struct dialog *x) {
    const Ws__CountWorkflowExecutionsResponse *r = dialog_answer(x);
    struct figures *f = x->state;
    struct buf query cleanup(buf_done);
    f->total = r->count;
    for (size_t i = 0; i < r->n_groups; i++) {
        if (!r->groups[i]->n_group_values)
            continue;
        struct str status = pb_bytes(&r->groups[i]->group_values[0]->data);
        if (str_is(status, "\"Completed\""))
            f->completed += r->groups[i]->count;
        if (str_is(status, "\"Failed\"") || str_is(status, "\"Terminated\"") ||
            str_is(status, "\"TimedOut\""))
            f->failed += r->groups[i]->count;
    }
    make_query(x, &query, true);
    Ws__ListWorkflowExecutionsRequest *q =
        message_new(&x->arena, &ws__list_workflow_executions_request__descriptor);
    if (q && buf_ok(&query)) {
        q->namespace_ = own_namespace(x);
        q->page_size = LATENCIES_MAX;
        q->query = own_text(x, buf_str(&query));
    }
    dialog_ask(x, q && buf_ok(&query) ? &q->base : NULL, on_closed);
}

void begin_get_metrics(struct dialog *x) {
    struct buf query cleanup(buf_done);
    Ws__CountWorkflowExecutionsRequest *q =
        message_new(&x->arena, &ws__count_workflow_executions_request__descriptor);
    x->state = arena_new(&x->arena, struct figures);
    make_query(x, &query, false);
    if (q && buf_ok(&query)) {
        q->namespace_ = own_namespace(x);
        q->query = own_text(x, buf_str(&query));
    }
    dialog_ask(x, q && buf_ok(&query) ? &q->base : NULL, on_counted);
}
