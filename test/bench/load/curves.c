/* What things cost as their number grows: open workflows, and schedules that wait.
 *
 * One file that is filled in steps of ten up to a million. At each size: memory and disk for each, the rate
 * and the CPU of the next ones, CPU while nothing happens, and what it takes to come back after kill -9. */
#include <inttypes.h>

#include "cases.h"

#include "base/clock.h"
#include "schedules.h"

#define LARGEST 1000000
#define SMALLEST 1000
#define NEXT_ONES 5000 /* whose rate is measured at each size */
#define QUIET_US (2 * USEC_PER_SEC)

struct point {
    size_t count;
    struct result next; /* of the next ones */
    double rss_mib, disk_bytes_each, idle_cpu_ms; /* ms a second */
    double restart_ms, restart_cpu_ms, restart_rss_mib;
};

static double mib(int64_t bytes) {
    return (double)bytes / (1 << 20);
}

static void print_head(const char *what) {
    printf("\n%-22s%10s%10s%10s%10s%10s%10s%10s%10s%10s\n", what, "RSS MiB", "disk B", "next/s", "p99 ms",
           "server us", "idle ms/s", "restart", "CPU ms", "RSS MiB");
}

static void print_point(struct bench *b, const char *what, const struct point *p) {
    double rate = (double)p->next.ops / p->next.seconds;
    printf("%-22zu%10.1f%10.0f%10.0f%10.2f%10.1f%10.2f%10.0f%10.0f%10.1f\n", p->count, p->rss_mib,
           p->disk_bytes_each, rate, (double)p->next.p99_us / 1e3, p->next.server_cpu_us, p->idle_cpu_ms,
           p->restart_ms, p->restart_cpu_ms, p->restart_rss_mib);
    (void)fflush(stdout);
    if (b->table->json)
        (void)fprintf(b->table->json,
                      "{\"bench\":\"curve: %s\",\"count\":%zu,\"rss_mib\":%.1f,\"disk_bytes_each\":%.0f,"
                      "\"next_per_second\":%.1f,\"next_p99_us\":%" PRId64 ",\"next_server_cpu_us\":%.1f,"
                      "\"idle_cpu_ms_per_second\":%.2f,\"restart_ms\":%.1f,\"restart_cpu_ms\":%.1f,"
                      "\"restart_rss_mib\":%.1f}\n",
                      what, p->count, p->rss_mib, p->disk_bytes_each, rate, p->next.p99_us,
                      p->next.server_cpu_us, p->idle_cpu_ms, p->restart_ms, p->restart_cpu_ms,
                      p->restart_rss_mib);
}

/* Until there are `count`. */
static void fill(struct flow *f, size_t count) {
    f->total = count;
    flow_run(f);
}

static void measure_next(struct bench *b, struct flow *f, struct point *p) {
    struct meter m;
    size_t count = MIN((size_t)NEXT_ONES, p->count);
    samples_done(&f->latency);
    meter_begin(&m, b);
    fill(f, p->count + count);
    p->next = *meter_end(&m, b, "", b->width, count, &f->latency);
}

static void measure_quiet(struct bench *b, struct point *p) {
    int64_t quiet_us = scaled_us(b, QUIET_US);
    bench_pause(b, quiet_us); /* what the load left behind */
    struct usage before = subject_usage(&b->subject);
    bench_pause(b, quiet_us);
    struct usage after = subject_usage(&b->subject);
    p->rss_mib = mib(after.rss_bytes);
    p->idle_cpu_ms = (double)(after.cpu_us - before.cpu_us) / 1e3 / ((double)quiet_us / 1e6);
}

static void measure_restart(struct bench *b, struct point *p) {
    bench_disconnect(b);
    subject_kill(&b->subject);
    subject_start(&b->subject, b->binary, b->file);
    struct usage u = subject_usage(&b->subject);
    p->restart_ms = (double)b->subject.ready_us / 1e3;
    p->restart_cpu_ms = (double)u.cpu_us / 1e3;
    p->restart_rss_mib = mib(u.rss_bytes);
    bench_connect(b);
}

static void draw(struct bench *b, const char *what, struct flow *f) {
    size_t largest = scaled(b, LARGEST);
    print_head(what);
    bench_open(b);
    for (size_t count = MAX(scaled(b, SMALLEST), f->width); count <= largest; count *= 10) {
        struct point p = {.count = count};
        fill(f, count);
        measure_next(b, f, &p);
        p.disk_bytes_each = (double)bench_file_bytes(b) / (double)f->total;
        measure_quiet(b, &p);
        measure_restart(b, &p);
        print_point(b, what, &p);
    }
    bench_close(b);
}

void case_curves(struct bench *b) {
    size_t most = scaled(b, LARGEST) + NEXT_ONES;
    struct plan yearly = {.every_s = 365 * 86400};
    struct flow f;
    flow_init(&f, b, most, b->width, begin_start);
    f.type = "open";
    draw(b, "open workflows", &f);
    flow_done(&f);
    flow_init(&f, b, most, b->width, begin_create);
    f.type = "yearly";
    f.owner = &yearly;
    draw(b, "schedules", &f);
    flow_done(&f);
}
