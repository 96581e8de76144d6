/* Four lines, so that each can be searched for. Parts that do not exist yet are shown as zeros. */
#include "serve/report.h"

#include "engine/counters.h"
#include "host/loop.h"
#include "net/h2.h"
#include "net/http1.h"

static struct log_field log_count(const char *name, size_t count) {
    return log_int(name, (int64_t)count);
}

static void emit_state(const struct report_subject *r, const struct engine_state *e, struct log *log) {
    log_emit(log, LOG_server_state, log_str("phase", r->phase),
             log_int("uptime_us", r->now.mono.us - r->begin.us),
             log_int("memory_bytes", host_resident_bytes()),
             log_str("recovery", e->is_ready ? "done" : "under way"),
             log_int("recovered_runs", e->recovered_runs));
}

static void emit_connections(const struct report_subject *r, struct log *log) {
    struct h2_state h2 = {0};
    if (r->h2)
        h2_server_look(r->h2, &h2);
    log_emit(log, LOG_server_connections, log_count("grpc_connections", h2.connections),
             log_count("grpc_streams", h2.requests), log_count("grpc_receiving", h2.receiving),
             log_count("grpc_responding", h2.responding), log_count("grpc_body_bytes", h2.body_bytes),
             log_count("grpc_response_bytes", h2.response_bytes),
             log_count("http_connections", r->http ? http1_server_connections(r->http) : 0),
             log_count("http_waiting", r->http ? http1_server_waiting(r->http) : 0));
}

static void emit_work(const struct engine_counters *c, const struct engine_state *e, struct log *log) {
    log_emit(log, LOG_server_work, log_count("parked_calls", e->parked_calls),
             log_count("workflow_polls", c->parked_polls[0]), log_count("activity_polls", c->parked_polls[1]),
             log_count("queries", e->queries), log_count("lists", e->lists),
             log_count("callbacks", e->callbacks), log_count("task_queues", c->queues[0] + c->queues[1]),
             log_count("workflow_tasks", c->waiting_tasks[0]),
             log_count("activity_tasks", c->waiting_tasks[1]),
             log_count("runs_in_memory", c->bodies + c->stubs), log_count("runs_resident", c->bodies),
             log_count("runs_due", e->due_runs),
             log_int("next_due_us", e->next_due_us == CLOCK_NEVER ? -1 : e->next_due_us));
}

static void emit_commits(const struct engine_counters *c, const struct engine_state *e, struct log *log) {
    log_emit(log, LOG_server_commits, log_count("commits", histogram_count(&c->commit_us)),
             log_int("last_us", e->last_commit_us), log_count("last_runs", e->last_commit_runs),
             log_count("open_runs", e->open_runs), log_count("open_bytes", e->open_bytes),
             log_count("writing_runs", e->flight_runs), log_count("writing_bytes", e->flight_bytes));
}

void report_emit(const struct report_subject *r, struct log *log) {
    struct engine_state state = {.next_due_us = CLOCK_NEVER};
    struct engine_counters counters;
    counters_init(&counters);
    if (r->engine) {
        engine_look(r->engine, r->now, &state);
        engine_counters(r->engine, &counters);
    }
    emit_state(r, &state, log);
    emit_connections(r, log);
    emit_work(&counters, &state, log);
    emit_commits(&counters, &state, log);
}
