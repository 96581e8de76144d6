/* From counters to text, one function for each row of the table. */
#include "serve/metrics.h"

#include <ctype.h>

#include "base/clock.h"
#include "names.h"
#include "net/budget.h"
#include "rondo.pb-c.h"
#include "serve/exposition.h"
#include "wire/grpc.h"

#define LABEL_MAX 32

static const char *const code_names[TRAFFIC_CODES] = {
    [GRPC_OK] = "OK",
    [GRPC_CANCELLED] = "CANCELLED",
    [GRPC_UNKNOWN] = "UNKNOWN",
    [GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [GRPC_NOT_FOUND] = "NOT_FOUND",
    [GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [GRPC_ABORTED] = "ABORTED",
    [GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [GRPC_INTERNAL] = "INTERNAL",
    [GRPC_UNAVAILABLE] = "UNAVAILABLE",
    [GRPC_DATA_LOSS] = "DATA_LOSS",
    [GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

/* the process */

static void add_rondo_build_info(const struct scrape *s unused_arg, const struct metric *m, struct buf *out) {
    const char *version = RONDO_VERSION;
    exposition_count(out, m, &version, 1);
}

static void add_rondo_uptime_seconds(const struct scrape *s, const struct metric *m, struct buf *out) {
    exposition_number(out, m, NULL, (double)s->uptime_us / (double)USEC_PER_SEC);
}

static void add_process_resident_memory_bytes(const struct scrape *s, const struct metric *m,
                                              struct buf *out) {
    exposition_count(out, m, NULL, (uint64_t)s->resident_bytes);
}

static void add_rondo_peer_memory_bytes(const struct scrape *s, const struct metric *m, struct buf *out) {
    exposition_count(out, m, NULL, s->budget->held);
}

static void add_rondo_peer_refusals_total(const struct scrape *s, const struct metric *m, struct buf *out) {
    static const char *const resources[] = {"stream", "response", "connection"};
    const uint64_t counts[] = {s->budget->streams_refused, s->budget->responses_dropped,
                               s->budget->connections_closed};
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        exposition_count(out, m, &resources[i], counts[i]);
}

/* requests: of methods that were called, and codes that came up */

static void add_rondo_requests_total(const struct scrape *s, const struct metric *m, struct buf *out) {
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        for (size_t code = 0; code < TRAFFIC_CODES; code++) {
            const char *values[] = {method_at(i)->name, code_names[code]};
            uint64_t n = s->traffic->methods[i].ends[code];
            if (n)
                exposition_count(out, m, values, n);
        }
    }
}

static void add_rondo_request_duration_seconds(const struct scrape *s, const struct metric *m,
                                               struct buf *out) {
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        const struct histogram *h = &s->traffic->methods[i].us;
        if (histogram_count(h))
            exposition_histogram(out, m, &method_at(i)->name, h);
    }
}

/* commits */

static void add_rondo_commit_duration_seconds(const struct scrape *s, const struct metric *m,
                                              struct buf *out) {
    exposition_histogram(out, m, NULL, &s->engine.commit_us);
}

static void add_rondo_commit_runs(const struct scrape *s, const struct metric *m, struct buf *out) {
    exposition_histogram(out, m, NULL, &s->engine.commit_runs);
}

static void add_rondo_commit_bytes(const struct scrape *s, const struct metric *m, struct buf *out) {
    exposition_histogram(out, m, NULL, &s->engine.commit_bytes);
}

/* the disk: nothing is said of one that there is not, since a free space of 0 would mean the worst */

static void add_rondo_store_bytes(const struct scrape *s, const struct metric *m, struct buf *out) {
    static const char *const files[] = {"data", "wal"};
    exposition_count(out, m, &files[0], (uint64_t)s->engine.disk.data_bytes);
    exposition_count(out, m, &files[1], (uint64_t)s->engine.disk.log_bytes);
}

static void add_rondo_disk_size_bytes(const struct scrape *s, const struct metric *m, struct buf *out) {
    if (s->engine.disk.disk_bytes)
        exposition_count(out, m, NULL, (uint64_t)s->engine.disk.disk_bytes);
}

static void add_rondo_disk_free_bytes(const struct scrape *s, const struct metric *m, struct buf *out) {
    if (s->engine.disk.disk_bytes)
        exposition_count(out, m, NULL, (uint64_t)s->engine.disk.free_bytes);
}

/* workflows, by names that users chose: the engine bounds how many there are */

static void add_rondo_workflows_open(const struct scrape *s, const struct metric *m, struct buf *out) {
    for (size_t i = 0; i < s->engine.space_count; i++) {
        const struct space_counts *c = &s->engine.spaces[i];
        exposition_count(out, m, &c->name, (uint64_t)c->tallies[TALLY_RUN]);
    }
}

static void add_rondo_workflows_closed_total(const struct scrape *s, const struct metric *m,
                                             struct buf *out) {
    static const char *const statuses[COUNTED_STATUSES] = {
        [WORKFLOW_EXECUTION_STATUS_COMPLETED] = "completed",
        [WORKFLOW_EXECUTION_STATUS_FAILED] = "failed",
        [WORKFLOW_EXECUTION_STATUS_CANCELED] = "canceled",
        [WORKFLOW_EXECUTION_STATUS_TERMINATED] = "terminated",
        [WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW] = "continued_as_new",
        [WORKFLOW_EXECUTION_STATUS_TIMED_OUT] = "timed_out",
    };
    const struct type_counter *t;
    for (size_t at = 0; s->engine.types && (t = map_next(s->engine.types, &at));) {
        for (size_t i = 0; i < COUNTED_STATUSES; i++) {
            const char *values[] = {t->namespace_name, t->workflow_type, statuses[i]};
            if (t->closed[i] && statuses[i])
                exposition_count(out, m, values, t->closed[i]);
        }
    }
}

static void add_rondo_workflow_task_failures_total(const struct scrape *s, const struct metric *m,
                                                   struct buf *out) {
    static const char *const causes[COUNTED_TASK_FAILURES] = {NULL, "failed", "nondeterminism", "timed_out"};
    const struct type_counter *t;
    for (size_t at = 0; s->engine.types && (t = map_next(s->engine.types, &at));) {
        for (size_t i = 0; i < COUNTED_TASK_FAILURES; i++) {
            const char *values[] = {t->namespace_name, t->workflow_type, causes[i]};
            if (t->task_failures[i] && causes[i])
                exposition_count(out, m, values, t->task_failures[i]);
        }
    }
}

/* queues and runs */

static const char *const kinds[] = {"workflow", "activity"};

static void metrics_add_by_kind(const struct metric *m, struct buf *out, const size_t counts[2]) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        exposition_count(out, m, &kinds[i], counts[i]);
}

static double metrics_seconds(int64_t us) {
    return (double)us / (double)USEC_PER_SEC;
}

static void add_rondo_oldest_task_seconds(const struct scrape *s, const struct metric *m, struct buf *out) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        exposition_number(out, m, &kinds[i], metrics_seconds(s->engine.oldest_task_us[i]));
}

static void add_rondo_task_queue_oldest_seconds(const struct scrape *s, const struct metric *m,
                                                struct buf *out) {
    for (size_t i = 0; i < s->engine.age_count; i++) {
        const struct queue_age *q = &s->engine.ages[i];
        const char *values[] = {q->namespace_name, q->name, kinds[q->is_activity]};
        exposition_number(out, m, values, metrics_seconds(q->age_us));
    }
}

static void add_rondo_task_queues_unpolled(const struct scrape *s, const struct metric *m, struct buf *out) {
    metrics_add_by_kind(m, out, s->engine.unpolled_queues);
}

static void add_rondo_tasks_waiting(const struct scrape *s, const struct metric *m, struct buf *out) {
    metrics_add_by_kind(m, out, s->engine.waiting_tasks);
}

static void add_rondo_polls_waiting(const struct scrape *s, const struct metric *m, struct buf *out) {
    metrics_add_by_kind(m, out, s->engine.parked_polls);
}

static void add_rondo_task_queues(const struct scrape *s, const struct metric *m, struct buf *out) {
    metrics_add_by_kind(m, out, s->engine.queues);
}

static void add_rondo_runs_in_memory(const struct scrape *s, const struct metric *m, struct buf *out) {
    static const char *const contents[] = {"state", "deadline"};
    exposition_count(out, m, &contents[0], s->engine.bodies);
    exposition_count(out, m, &contents[1], s->engine.stubs);
}

/* schedules */

/* LEDGER_FATE_CATCHUP_MISSED is catchup_missed. */
static void metrics_fate_label(const char *name, char label[LABEL_MAX]) {
    static const char prefix[] = "LEDGER_FATE_";
    size_t n = 0;
    for (name += sizeof(prefix) - 1; *name && n < LABEL_MAX - 1; name++)
        label[n++] = (char)tolower((unsigned char)*name);
    label[n] = '\0';
}

static void add_rondo_schedule_times_total(const struct scrape *s, const struct metric *m, struct buf *out) {
    const ProtobufCEnumDescriptor *fates = &rondo__ledger_fate__descriptor;
    for (unsigned i = 0; i < fates->n_values; i++) {
        char label[LABEL_MAX];
        const char *value = label;
        int fate = fates->values[i].value;
        metrics_fate_label(fates->values[i].name, label);
        if (fate != LEDGER_FATE_UNSPECIFIED)
            exposition_count(out, m, &value, s->engine.fates[fate]);
    }
}

static void add_rondo_schedule_lateness_seconds(const struct scrape *s, const struct metric *m,
                                                struct buf *out) {
    exposition_histogram(out, m, NULL, &s->engine.lateness_us);
}

static void add_rondo_schedules(const struct scrape *s, const struct metric *m, struct buf *out) {
    static const struct {
        const char *name;
        enum tally_kind tally;
    } states[] = {{"active", TALLY_SCHEDULE_ACTIVE},
                  {"paused", TALLY_SCHEDULE_PAUSED},
                  {"paused_by_failure", TALLY_SCHEDULE_FAILED}};
    for (size_t i = 0; i < s->engine.space_count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(states); k++) {
            const char *values[] = {s->engine.spaces[i].name, states[k].name};
            exposition_count(out, m, values, (uint64_t)s->engine.spaces[i].tallies[states[k].tally]);
        }
    }
}

/* the clock */

static void add_rondo_clock_steps_total(const struct scrape *s, const struct metric *m, struct buf *out) {
    static const char *const directions[] = {"forward", "back"};
    for (size_t i = 0; i < ARRAY_LEN(directions); i++)
        exposition_count(out, m, &directions[i], s->engine.clock_steps[i]);
}

/* messages between runs */

static void add_rondo_messages_delivered_total(const struct scrape *s, const struct metric *m,
                                               struct buf *out) {
    exposition_count(out, m, NULL, s->engine.letters_delivered);
}

static void add_rondo_messages_retried_total(const struct scrape *s, const struct metric *m,
                                             struct buf *out) {
    exposition_count(out, m, NULL, s->engine.letters_retried);
}

struct metric_row {
    struct metric metric;
    void (*add)(const struct scrape *s, const struct metric *m, struct buf *out);
};

static const struct metric_row rows[] = {
#define METRIC(name_, kind_, labels_, help_) {{#name_, METRIC_##kind_, labels_, help_}, add_##name_},
#include "serve/metrics.def"
#undef METRIC
};

void metrics_print(const struct scrape *s, struct buf *out) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        exposition_head(out, &rows[i].metric);
        rows[i].add(s, &rows[i].metric, out);
    }
}
