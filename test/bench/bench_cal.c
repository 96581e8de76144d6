/* How long one cal_next takes: `bench_cal [SECONDS]`.
 *
 * For each kind of spec: one line for people, one line of JSON. Every call asks for the time after the one
 * before it, so the calendar walks on through the years; past 2090 it starts again at 2026. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cal/cal.h"
#include "host/zoneinfo.h"

#define BUDGET_BYTES ((size_t)1 << 20)
#define BEGIN_US INT64_C(1767225600000000) /* 2026 */
#define END_US INT64_C(3786912000000000) /* 2090 */
#define CALLS_BETWEEN_CLOCKS 200

struct kind {
    const char *name, *cron, *exclude, *zone;
    int64_t jitter_us;
};

static const struct kind kinds[] = {
    {"interval", "@every 90m/7m", NULL, NULL, 0},
    {"daily, UTC", "30 9 * * *", NULL, NULL, 0},
    {"weekdays, Berlin", "30 9 * * mon-fri", NULL, "Europe/Berlin", 0},
    {"every second, Berlin", "* * * * * * *", NULL, "Europe/Berlin", 0},
    {"weekdays, Berlin, jitter", "30 9 * * mon-fri", NULL, "Europe/Berlin", 60000000},
    {"last weekday of month", "0 12 LW * *", NULL, "America/New_York", 0},
    {"hourly less weekends", "0 * * * *", "* * * * * sat,sun *", "America/New_York", 0},
    {"29 February", "0 0 29 2 *", NULL, NULL, 0},
    {"RRULE, last workday", "DTSTART:20260105T090000 RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
     NULL, "Europe/Berlin", 0},
    {"first of repeated times", "30 1,2 * * *", NULL, "Europe/Berlin;missing=shift;repeated=first", 0},
    {"31 February", "0 0 31 2 *", NULL, "Europe/Berlin", 0},
    {"everything excluded", "* * * * * * *", "* * * * * * *", "Europe/Berlin", 0},
};

static int64_t clock_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other programs do not count */
    return t.tv_sec * USEC_PER_SEC + t.tv_nsec / NSEC_PER_USEC;
}

static noreturn_fn void die(const char *what) {
    (void)fprintf(stderr, "bench_cal: %s\n", what);
    exit(1);
}

static struct cal *make(const struct kind *k, const struct cal_zones *zones) {
    struct arena arena cleanup(arena_done);
    struct cal_spec s;
    struct cal *c = NULL;
    struct err e = {0};
    arena_init(&arena, BUDGET_BYTES);
    cal_spec_init(&s, &arena, STR("seed"));
    s.zone_name = str_of(k->zone);
    s.jitter_us = k->jitter_us;
    if (cal_spec_add_cron(&s, str_of(k->cron), &e) < 0 ||
        (k->exclude && cal_spec_exclude_cron(&s, str_of(k->exclude), &e) < 0) ||
        cal_spec_finish(&s, &e) < 0 || cal_new(&s, zones, &c, &e) < 0)
        die(e.text);
    return c;
}

static void measure(const struct kind *k, const struct cal_zones *zones, double seconds) {
    struct cal *c cleanup(cal_freep) = make(k, zones);
    int64_t begin_us = clock_us(), end_us = begin_us + (int64_t)(seconds * 1e6), after_us = BEGIN_US, now_us;
    int64_t calls = 0;
    struct cal_time t = {0};
    do {
        for (int i = 0; i < CALLS_BETWEEN_CLOCKS; i++) {
            enum cal_answer answer = cal_next(c, STR("namespace-schedule"), after_us, &t);
            after_us = answer == CAL_FOUND && t.actual_us < END_US ? t.actual_us : BEGIN_US;
        }
        calls += CALLS_BETWEEN_CLOCKS;
        now_us = clock_us();
    } while (now_us < end_us);
    double ns = (double)(now_us - begin_us) * 1000.0 / (double)calls;
    printf("%-26s %9.0f ns   %5zu bytes\n", k->name, ns, cal_bytes(c));
    printf("{\"bench\":\"cal_next\",\"spec\":\"%s\",\"ns\":%.1f,\"bytes\":%zu}\n", k->name, ns, cal_bytes(c));
}

int main(int argc, char **argv) {
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    struct zoneinfo *zoneinfo cleanup(zoneinfo_freep) = zoneinfo_new(NULL);
    if (!zoneinfo)
        die("no memory");
    struct cal_zones zones = zoneinfo_zones(zoneinfo);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        measure(&kinds[i], &zones, seconds);
    return 0;
}
