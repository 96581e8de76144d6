/* Writing Prometheus text.
 *
 * A backslash and a newline are escaped everywhere, a quote only within quotes; the rest is UTF-8 as it is.
 */
#include "serve/exposition.h"

#include <inttypes.h>
#include <stdio.h>

static void exposition_add_escaped(struct buf *out, const char *text, bool is_quoted) {
    for (; *text; text++) {
        if (*text == '\n') {
            buf_add_cstr(out, "\\n");
            continue;
        }
        if (*text == '\\' || (*text == '"' && is_quoted))
            buf_add_u8(out, '\\');
        buf_add_u8(out, (uint8_t)*text);
    }
}

static void exposition_add_label(struct buf *out, char before, struct str name, const char *value) {
    buf_add_u8(out, (uint8_t)before);
    buf_add_str(out, name);
    buf_add_cstr(out, "=\"");
    exposition_add_escaped(out, value, true);
    buf_add_u8(out, '"');
}

/* name_suffix{a="1",b="2",le="3"} and a space. */
static void exposition_add_series(struct buf *out, const struct metric *m, const char *suffix,
                                  const char *const *values, const char *le) {
    char before = '{';
    buf_add_cstr(out, m->name);
    buf_add_cstr(out, suffix);
    for (const char *label = m->labels; *label; before = ',') {
        size_t n = strcspn(label, ",");
        exposition_add_label(out, before, str_bytes(label, n), *values++);
        label += n + (label[n] == ',');
    }
    if (le) {
        exposition_add_label(out, before, STR("le"), le);
        before = ',';
    }
    buf_add_cstr(out, before == '{' ? " " : "} ");
}

void exposition_head(struct buf *out, const struct metric *m) {
    static const char *const kinds[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };
    buf_printf(out, "# HELP %s ", m->name);
    exposition_add_escaped(out, m->help, false);
    buf_printf(out, "\n# TYPE %s %s\n", m->name, kinds[m->kind]);
}

void exposition_count(struct buf *out, const struct metric *m, const char *const *values, uint64_t n) {
    exposition_add_series(out, m, "", values, NULL);
    buf_printf(out, "%" PRIu64 "\n", n);
}

void exposition_number(struct buf *out, const struct metric *m, const char *const *values, double n) {
    exposition_add_series(out, m, "", values, NULL);
    buf_printf(out, "%.15g\n", n);
}

void exposition_histogram(struct buf *out, const struct metric *m, const char *const *values,
                          const struct histogram *h) {
    uint64_t below = 0;
    char le[32];
    for (size_t i = 0; i < h->scale->count; i++) {
        below += h->counts[i];
        (void)snprintf(le, sizeof(le), "%.15g", (double)h->scale->bounds[i] / (double)h->scale->unit);
        exposition_add_series(out, m, "_bucket", values, le);
        buf_printf(out, "%" PRIu64 "\n", below);
    }
    uint64_t count = histogram_count(h);
    exposition_add_series(out, m, "_bucket", values, "+Inf");
    buf_printf(out, "%" PRIu64 "\n", count);
    exposition_add_series(out, m, "_sum", values, NULL);
    buf_printf(out, "%.15g\n", (double)h->sum / (double)h->scale->unit);
    exposition_add_series(out, m, "_count", values, NULL);
    buf_printf(out, "%" PRIu64 "\n", count);
}
