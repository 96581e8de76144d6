/* Prometheus text: heads, labels, escapes, histograms. */
#include "harness.h"

#include "base/clock.h"
#include "serve/exposition.h"

static void check_text(struct buf *out, const char *expected) {
    if (CHECK(buf_ok(out))) {
        buf_add_u8(out, 0);
        if (CHECK(buf_ok(out)))
            CHECK_STR((const char *)out->data, expected);
    }
    buf_done(out);
}

static void begin(struct buf *out) {
    buf_init(out, 1 << 16);
}

TEST(exposition_head_names_help_and_type) {
    static const struct metric m = {"a_total", METRIC_COUNTER, "", "Back\\slash, \"quotes\",\nnext line."};
    struct buf out;
    begin(&out);
    exposition_head(&out, &m);
    check_text(&out, "# HELP a_total Back\\\\slash, \"quotes\",\\nnext line.\n# TYPE a_total counter\n");
}

TEST(exposition_sample_without_labels) {
    static const struct metric m = {"a", METRIC_GAUGE, "", ""};
    struct buf out;
    begin(&out);
    exposition_count(&out, &m, NULL, UINT64_MAX);
    exposition_number(&out, &m, NULL, 1.5);
    check_text(&out, "a 18446744073709551615\na 1.5\n");
}

TEST(exposition_labels_are_escaped) {
    static const struct metric m = {"a", METRIC_GAUGE, "x,long_name", ""};
    const char *values[] = {"q\"b\\n\n", "\xc3\xa9"};
    struct buf out;
    begin(&out);
    exposition_count(&out, &m, values, 0);
    check_text(&out, "a{x=\"q\\\"b\\\\n\\n\",long_name=\"\xc3\xa9\"} 0\n");
}

TEST(exposition_histogram_is_cumulative) {
    static const struct histogram_scale scale = {.unit = USEC_PER_SEC, .count = 2, .bounds = {500, 2000000}};
    static const struct metric m = {"d", METRIC_HISTOGRAM, "k", ""};
    const char *value = "v";
    struct histogram h;
    struct buf out;
    histogram_init(&h, &scale);
    histogram_add(&h, 500);
    histogram_add(&h, 501);
    histogram_add(&h, 2000000);
    histogram_add(&h, 2000001);
    begin(&out);
    exposition_histogram(&out, &m, &value, &h);
    check_text(&out, "d_bucket{k=\"v\",le=\"0.0005\"} 1\n"
                     "d_bucket{k=\"v\",le=\"2\"} 3\n"
                     "d_bucket{k=\"v\",le=\"+Inf\"} 4\n"
                     "d_sum{k=\"v\"} 4.001002\n"
                     "d_count{k=\"v\"} 4\n");
}

TEST(histogram_without_labels_has_only_bounds) {
    static const struct histogram_scale scale = {.unit = 1, .count = 1, .bounds = {7}};
    static const struct metric m = {"d", METRIC_HISTOGRAM, "", ""};
    struct histogram h;
    struct buf out;
    histogram_init(&h, &scale);
    histogram_add(&h, -3);
    begin(&out);
    exposition_histogram(&out, &m, NULL, &h);
    check_text(&out, "d_bucket{le=\"7\"} 1\nd_bucket{le=\"+Inf\"} 1\nd_sum 0\nd_count 1\n");
}

static void check_scale(const struct histogram_scale *s) {
    CHECK(s->unit > 0);
    CHECK(s->count > 0 && s->count <= HISTOGRAM_BOUNDS_MAX);
    for (size_t i = 1; i < s->count; i++)
        CHECK(s->bounds[i] > s->bounds[i - 1]);
}

TEST(histogram_bounds_ascend) {
    check_scale(&scale_seconds);
    check_scale(&scale_lateness);
    check_scale(&scale_count);
    check_scale(&scale_bytes);
}
