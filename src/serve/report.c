/* Four lines, so that each can be searched for. Parts that do not exist yet are shown as zeros. */
#include "serve/report.h"

#include "engine/counters.h"
#include "host/loop.h"
#include "net/h2.h"
#include "net/http1.h"

static struct log_field report_count_field(const char *name, size_t count) {
    return log_int(name, (int64_t)count);
}

static void report_emit_state(const struct report_subject *r, const struct engine_state *e, struct log *log) {
    log_emit(log, LOG_server_state, log_str("phase", r->phase),
             log_int("uptime_us", r->now.mono.us - r->begin.us),
             log_int("memory_bytes", host_resident_bytes()),
             log_str("recovery", e->is_ready ? "done" : "under way"),
             log_int("recovered_runs", e->recovered_runs));
}

static void report_emit_connections(const struct report_subject *r, struct log *log) {
    struct h2_state h2 = {0};
    if (r->h2)
        h2_server_look(r->h2, &h2);
    log_emit(log, LOG_server_connections, report_count_field("grpc_connections", h2.connections),
             report_count_field("grpc_streams", h2.requests),
             report_count_field("grpc_receiving", h2.receiving),
             report_count_field("grpc_responding", h2.responding),
             report_count_field("grpc_body_bytes", h2.body_bytes),
             report_count_field("grpc_response_bytes", h2.response_bytes),
             report_count_field("http_connections", r->http ? http1_server_connections(r->http) : 0),
             report_count_field("http_waiting", r->http ? http1_server_waiting(r->http) : 0));
}

static void report_emit_work(const struct engine_counters *c, const struct engine_state *e, struct log *log) {
    log_emit(log, LOG_server_work, report_count_field("parked_calls", e->parked_calls),
             report_count_field("workflow_polls", c->parked_polls[0]),
             report_count_field("activity_polls", c->parked_polls[1]),
             report_count_field("queries", e->queries), report_count_field("lists", e->lists),
             report_count_field("callbacks", e->callbacks),
             report_count_field("task_queues", c->queues[0] + c->queues[1]),
             report_count_field("workflow_tasks", c->waiting_tasks[0]),
             report_count_field("activity_tasks", c->waiting_tasks[1]),
             report_count_field("runs_in_memory", c->bodies + c->stubs),
             report_count_field("runs_resident", c->bodies), report_count_field("runs_due", e->due_runs),
             log_int("next_due_us", e->next_due_us == CLOCK_NEVER ? -1 : e->next_due_us));
}

static void report_emit_commits(const struct engine_counters *c, const struct engine_state *e,
                                struct log *log) {
    log_emit(log, LOG_server_commits, report_count_field("commits", histogram_count(&c->commit_us)),
             log_int("last_us", e->last_commit_us), report_count_field("last_runs", e->last_commit_runs),
             report_count_field("open_runs", e->open_runs), report_count_field("open_bytes", e->open_bytes),
             report_count_field("writing_runs", e->flight_runs),
             report_count_field("writing_bytes", e->flight_bytes));
}

void report_emit(const struct report_subject *r, struct log *log) {
    struct engine_state state = {.next_due_us = CLOCK_NEVER};
    struct engine_counters counters;
    counters_init(&counters);
    if (r->engine) {
        engine_look(r->engine, r->now, &state);
        engine_counters(r->engine, &counters);
    }
    report_emit_state(r, &state, log);
    report_emit_connections(r, log);
    report_emit_work(&counters, &state, log);
    report_emit_commits(&counters, &state, log);
}
