/* The metrics of one workflow: the number of executions, their outcomes, their durations.
 *
 * One request counts all stored runs by status. A second one lists the runs
 * that closed last, at most 1,000, for the durations. Errors of the server
 * are the answer. */
#include <stdio.h>

#include "core/step/pb.h"
#include "json/moment.h"
#include "json/number.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/condition.h"

#define LATENCIES_MAX 1000

struct workflow_metrics {
    int64_t total, completed, failed;
};

/* The conditions of both requests. */
static void workflow_metrics_make_condition(struct dialog *x, struct buf *query, bool is_closed) {
    const struct field_value *v = x->query->v;
    char text[MOMENT_TEXT_MAX];
    condition_init(query);
    condition_add_equal(query, "WorkflowType", x->id);
    if (v[metrics_query_start_time].is_given &&
        moment_format(v[metrics_query_start_time].whole, v[metrics_query_start_time].nanos, text) == 0)
        condition_add_comparison(query, "StartTime", ">=", str_of(text));
    if (v[metrics_query_end_time].is_given &&
        moment_format(v[metrics_query_end_time].whole, v[metrics_query_end_time].nanos, text) == 0)
        condition_add_comparison(query, "StartTime", "<=", str_of(text));
    if (is_closed)
        condition_add_text(query, "CloseTime IS NOT NULL");
    else
        buf_add_cstr(query, " GROUP BY ExecutionStatus");
}

static int64_t workflow_metrics_latency_ms(const Workflow__WorkflowExecutionInfo *i) {
    return pb_timestamp_us(i->close_time) / USEC_PER_MS - pb_timestamp_us(i->start_time) / USEC_PER_MS;
}

static void workflow_metrics_write_scalar(struct json_writer *w, const char *key, int64_t value) {
    writer_key(w, str_of(key));
    writer_open(w, '{');
    member_write_whole(w, "value", value);
    writer_close(w, '}');
}

static void workflow_metrics_write_average(struct json_writer *w,
                                           const Ws__ListWorkflowExecutionsResponse *r) {
    char text[NUMBER_TEXT_MAX];
    double sum = 0;
    for (size_t i = 0; i < r->n_executions; i++)
        sum += (double)workflow_metrics_latency_ms(r->executions[i]);
    number_format_double(r->n_executions ? sum / (double)r->n_executions : 0, text);
    writer_key(w, STR("average_latency_ms"));
    writer_open(w, '{');
    member_write_raw(w, "value", text);
    writer_close(w, '}');
}

/* Pairs of close time and duration, both in milliseconds, the first closed first. */
static void workflow_metrics_write_latencies(struct json_writer *w,
                                             const Ws__ListWorkflowExecutionsResponse *r) {
    char text[64];
    writer_key(w, STR("latency_over_time"));
    writer_open(w, '{');
    writer_key(w, STR("value"));
    writer_open(w, '[');
    for (size_t i = r->n_executions; i-- > 0;) {
        const Workflow__WorkflowExecutionInfo *e = r->executions[i];
        (void)snprintf(text, sizeof(text), "[%lld,%lld]",
                       (long long)(pb_timestamp_us(e->close_time) / USEC_PER_MS),
                       (long long)workflow_metrics_latency_ms(e));
        writer_token(w, str_of(text));
    }
    writer_close(w, ']');
    writer_close(w, '}');
}

static void workflow_metrics_on_closed(struct dialog *x) {
    const Ws__ListWorkflowExecutionsResponse *r = dialog_answer(x);
    const struct workflow_metrics *f = x->state;
    struct json_writer *w = &x->w;
    writer_open(w, '{');
    workflow_metrics_write_scalar(w, "execution_count", f->total);
    workflow_metrics_write_scalar(w, "success_count", f->completed);
    workflow_metrics_write_scalar(w, "error_count", f->failed);
    workflow_metrics_write_average(w, r);
    workflow_metrics_write_latencies(w, r);
    workflow_metrics_write_scalar(w, "retry_rate", -1); /* the client documents it as always -1 */
    writer_close(w, '}');
    dialog_reply(x);
}

static void workflow_metrics_on_counted(struct dialog *x) {
    const Ws__CountWorkflowExecutionsResponse *r = dialog_answer(x);
    struct workflow_metrics *f = x->state;
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
    workflow_metrics_make_condition(x, &query, true);
    Ws__ListWorkflowExecutionsRequest *q =
        dialog_new_message(&x->arena, &ws__list_workflow_executions_request__descriptor);
    if (q && buf_ok(&query)) {
        q->namespace_ = dialog_namespace(x);
        q->page_size = LATENCIES_MAX;
        q->query = dialog_text(x, buf_str(&query));
    }
    dialog_ask(x, q && buf_ok(&query) ? &q->base : NULL, workflow_metrics_on_closed);
}

void mistral_begin_get_metrics(struct dialog *x) {
    struct buf query cleanup(buf_done);
    Ws__CountWorkflowExecutionsRequest *q =
        dialog_new_message(&x->arena, &ws__count_workflow_executions_request__descriptor);
    x->state = arena_new(&x->arena, struct workflow_metrics);
    workflow_metrics_make_condition(x, &query, false);
    if (q && buf_ok(&query)) {
        q->namespace_ = dialog_namespace(x);
        q->query = dialog_text(x, buf_str(&query));
    }
    dialog_ask(x, q && buf_ok(&query) ? &q->base : NULL, workflow_metrics_on_counted);
}
