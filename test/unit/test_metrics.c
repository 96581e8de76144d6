/* Requests are counted by the code that their callers saw, and printed when they were made. */
#include "harness.h"

#include "base/mem.h"
#include "serve/metrics.h"
#include "net/budget.h"

static const struct method *method_named(const char *name) {
    const struct method *m;
    for (size_t i = 0; (m = method_at(i)); i++)
        if (cstr_eq(m->name, name))
            return m;
    return NULL;
}

static bool has_line(const struct buf *out, const char *line) {
    return memmem(out->data, out->len, line, strlen(line)) != NULL;
}

static void check_printed(const struct traffic *t, const char *const *lines, size_t count) {
    struct budget budget;
    budget_init(&budget);
    struct scrape s = {.traffic = t, .budget = &budget, .uptime_us = 2500000, .resident_bytes = 4096};
    struct histogram *const histograms[] = {&s.engine.commit_us, &s.engine.commit_runs,
                                            &s.engine.commit_bytes, &s.engine.lateness_us};
    struct buf out;
    for (size_t i = 0; i < ARRAY_LEN(histograms); i++)
        histogram_init(histograms[i], &scale_count);
    buf_init(&out, 1 << 20);
    metrics_print(&s, &out);
    if (CHECK(buf_ok(&out)))
        for (size_t i = 0; i < count; i++)
            CHECK_STR(has_line(&out, lines[i]) ? lines[i] : "not printed", lines[i]);
    buf_done(&out);
}

TEST(method_count_is_that_of_the_table) {
    CHECK(method_at(METHOD_COUNT - 1) != NULL);
    CHECK(method_at(METHOD_COUNT) == NULL);
    CHECK_INT(method_index(method_at(7)), 7);
}

TEST(requests_are_counted_by_code) {
    static const char *const lines[] = {
        "\nrondo_requests_total{method=\"ListNamespaces\",code=\"OK\"} 2\n",
        "\nrondo_requests_total{method=\"ListNamespaces\",code=\"NOT_FOUND\"} 1\n",
        "\nrondo_request_duration_seconds_sum{method=\"ListNamespaces\"} 3\n",
        "\nrondo_request_duration_seconds_count{method=\"ListNamespaces\"} 3\n",
        "\nrondo_uptime_seconds 2.5\n",
        "\nprocess_resident_memory_bytes 4096\n",
        "\nrondo_schedule_times_total{fate=\"catchup_missed\"} 0\n",
    };
    const struct method *m = method_named("ListNamespaces");
    struct traffic *t = mem_zalloc(sizeof(*t));
    struct err e;
    if (!CHECK(t && m)) {
        mem_free(t);
        return;
    }
    traffic_init(t);
    (void)err_std(&e, ERR_CLOSED);
    traffic_add(t, m, NULL, 1000000);
    traffic_add(t, m, NULL, 1000000);
    traffic_add(t, m, &e, 1000000);
    check_printed(t, lines, ARRAY_LEN(lines));
    mem_free(t);
}

TEST(several_operations_count_by_the_one_that_failed) {
    static const char *const lines[] = {
        "\nrondo_requests_total{method=\"ExecuteMultiOperation\",code=\"ALREADY_EXISTS\"} 1\n",
    };
    const struct method *m = method_named("ExecuteMultiOperation");
    struct traffic *t = mem_zalloc(sizeof(*t));
    struct err parts[2], e;
    if (!CHECK(t && m)) {
        mem_free(t);
        return;
    }
    traffic_init(t);
    (void)err_std(&parts[0], ERR_MULTI_ABORTED);
    (void)err_std(&parts[1], ERR_ALREADY_STARTED);
    (void)err_std(&e, ERR_MULTI);
    e.operations = parts;
    e.operation_count = ARRAY_LEN(parts);
    traffic_add(t, m, &e, 1);
    check_printed(t, lines, ARRAY_LEN(lines));
    mem_free(t);
}
