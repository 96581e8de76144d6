/* A row is printed as soon as it is known: a long run can be watched. */
#include "table.h"

#include <inttypes.h>

#include "base/str.h"

static const struct {
    const char *row;
    bool is_alone;
    const char *floor;
    const char *text;
} comparisons[] = {
#define COMPARE(row, is_alone, floor, text) {row, is_alone, floor, text},
#include "floors.def"
#undef COMPARE
};

static void print_head(struct table *t) {
    if (t->has_head)
        return;
    t->has_head = true;
    printf("%-26s%6s%10s%9s%9s%9s%9s%9s%10s%8s\n", "case", "width", "ops/s", "p50 ms", "p99 ms", "p99.9",
           "server", "client", "bytes", "RSS");
    printf("%-26s%6s%10s%9s%9s%9s%9s%9s%10s%8s\n", "", "", "", "", "", "ms", "us/op", "us/op", "/op", "MiB");
}

static double ms(int64_t us) {
    return (double)us / 1e3;
}

static void print_number(double value, int width, int digits) {
    if (value < 0)
        printf("%*s", width, "-");
    else
        printf("%*.*f", width, digits, value);
}

static double rate_of(const struct result *r) {
    return r->seconds > 0 ? (double)r->ops / r->seconds : 0;
}

/* What the row reaches of the floor of comparison i; below 0: they are not compared. */
static double share_of(const struct table *t, const struct result *r, size_t i) {
    if (!cstr_eq(comparisons[i].row, r->name) || comparisons[i].is_alone != (r->width == 1))
        return -1;
    for (size_t k = 0; k < t->floor_count; k++)
        if (cstr_eq(t->floors[k].name, comparisons[i].floor))
            return rate_of(r) / rate_of(&t->floors[k]);
    return -1;
}

static void print_notes(const struct table *t, const struct result *r) {
    const char *between = "  ";
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++) {
        double share = share_of(t, r, i);
        if (share >= 0) {
            printf("%s%.0f %% of %s", between, 100 * share, comparisons[i].text);
            between = ", ";
        }
    }
    printf("%s%s\n", r->note[0] ? between : "", r->note);
}

static void write_json(const struct table *t, const struct result *r) {
    (void)fprintf(t->json,
                  "{\"bench\":\"%s\",\"width\":%zu,\"ops\":%zu,\"seconds\":%.3f,\"per_second\":%.1f,"
                  "\"p50_us\":%" PRId64 ",\"p99_us\":%" PRId64 ",\"p999_us\":%" PRId64
                  ",\"server_cpu_us\":%.2f,\"client_cpu_us\":%.2f,\"written_bytes\":%.0f,"
                  "\"rss_bytes\":%" PRId64,
                  r->name, r->width, r->ops, r->seconds, rate_of(r), r->p50_us, r->p99_us, r->p999_us,
                  r->server_cpu_us, r->client_cpu_us, r->written_bytes, r->rss_bytes);
    for (size_t i = 0; i < ARRAY_LEN(comparisons); i++) {
        double share = share_of(t, r, i);
        if (share >= 0)
            (void)fprintf(t->json, ",\"of %s\":%.3f", comparisons[i].text, share);
    }
    (void)fputs("}\n", t->json);
}

void table_print(struct table *t, const struct result *r) {
    print_head(t);
    printf("%-26s%6zu%10.0f%9.2f%9.2f%9.2f", r->name, r->width, rate_of(r), ms(r->p50_us), ms(r->p99_us),
           ms(r->p999_us));
    print_number(r->server_cpu_us, 9, 1);
    print_number(r->client_cpu_us, 9, 1);
    print_number(r->written_bytes, 10, 0);
    print_number(r->rss_bytes < 0 ? -1 : (double)r->rss_bytes / (1 << 20), 8, 1);
    print_notes(t, r);
    (void)fflush(stdout);
    if (t->json)
        write_json(t, r);
}

void table_print_floor(struct table *t, const struct result *r) {
    ensure(t->floor_count < TABLE_FLOORS_MAX);
    table_print(t, r);
    t->floors[t->floor_count++] = *r;
}

void table_fact(struct table *t, const char *name, double value, const char *unit) {
    printf("%-48s%12.1f %s\n", name, value, unit);
    (void)fflush(stdout);
    if (t->json)
        (void)fprintf(t->json, "{\"bench\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
}
