/* Zones: reading TZif, rules of footers, gaps and folds of real places, and the policies for them. */
#include <stdio.h>

#include "base/mem.h"
#include "cal/civil.h"
#include "cal/tzrule.h"
#include "cal/warning.h"
#include "cal_fixture.h"

/* A TZif file in the making. */
struct file {
    uint8_t data[2048];
    size_t n;
};

static void put(struct file *f, const void *p, size_t n) {
    memcpy(f->data + f->n, p, n);
    f->n += n;
}

static void put_number(struct file *f, int64_t v, int bytes) {
    for (int i = bytes - 1; i >= 0; i--)
        f->data[f->n++] = (uint8_t)((uint64_t)v >> (8 * i));
}

static void put_header(struct file *f, char version, int leaps, int times, int types, int chars) {
    put(f, "TZif", 4);
    put_number(f, version, 1);
    put_number(f, 0, 8);
    put_number(f, 0, 7);
    const int counts[] = {0, 0, leaps, times, types, chars};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        put_number(f, counts[i], 4);
}

/* +1 h up to 1000, then +2 h, abbreviated A and B; width is 4 or 8 bytes for a time. */
static void put_block(struct file *f, int width) {
    put_number(f, 1000, width);
    put_number(f, 1, 1);
    put_number(f, 3600, 4);
    put(f, "\0\0", 2);
    put_number(f, 7200, 4);
    put(f, "\1\2", 2);
    put(f, "A\0B\0", 4);
}

static struct file version_1(void) {
    struct file f = {.n = 0};
    put_header(&f, 0, 0, 1, 2, 4);
    put_block(&f, 4);
    return f;
}

static struct file version_2(char version, const char *footer) {
    struct file f = {.n = 0};
    put_header(&f, version, 0, 1, 2, 4);
    put_block(&f, 4);
    put_header(&f, version, 0, 1, 2, 4);
    put_block(&f, 8);
    put(&f, footer, strlen(footer));
    return f;
}

struct change {
    int64_t at_s;
    int32_t offset_s;
};

/* A clock that begins with an offset and is changed at these times. */
static struct file clock_of(int32_t first_s, const struct change *changes, size_t n, const char *footer) {
    struct file f = {.n = 0};
    put_header(&f, '2', 0, 0, 1, 1);
    put(&f, "\0\0\0\0\0\0\0", 7);
    put_header(&f, '2', 0, (int)n, (int)n + 1, 2);
    for (size_t i = 0; i < n; i++)
        put_number(&f, changes[i].at_s, 8);
    for (size_t i = 0; i < n; i++)
        put_number(&f, (int64_t)i + 1, 1);
    for (size_t i = 0; i <= n; i++) {
        put_number(&f, i ? changes[i - 1].offset_s : first_s, 4);
        put(&f, "\0\0", 2);
    }
    put(&f, "X\0", 2);
    put(&f, footer, strlen(footer));
    return f;
}

static int read_file(const struct file *f, struct zone **ret, struct err *e) {
    /* memory of exactly its size, so that a read past its end is seen */
    char *data = mem_dup(f->data, f->n);
    int r = data ? zone_new(str_bytes(data, f->n), ret, e) : ERR_NO_MEMORY;
    mem_free(data);
    return r;
}

TEST(all_versions_are_read) {
    static const char versions[] = {0, '2', '3', '4'};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct zone *z cleanup(zone_freep) = NULL;
        struct file f = versions[i] ? version_2(versions[i], "\n\n") : version_1();
        struct err e = {0};
        if (!CHECK_INT(read_file(&f, &z, &e), 0))
            continue;
        struct zone_span first = zone_span_at(z, 999), second = zone_span_at(z, 1000);
        CHECK_INT(first.begin_s, INT64_MIN);
        CHECK_INT(first.end_s, 1000);
        CHECK_INT(first.offset_s, 3600);
        CHECK(!first.is_dst);
        CHECK_STR(first.abbrev, "A");
        CHECK_INT(second.begin_s, 1000);
        CHECK_INT(second.end_s, INT64_MAX);
        CHECK_INT(second.offset_s, 7200);
        CHECK(second.is_dst);
        CHECK_STR(second.abbrev, "B");
    }
}

TEST(the_footer_goes_on) {
    struct zone *z cleanup(zone_freep) = NULL;
    struct file f = version_2('2', "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
    REQUIRE(read_file(&f, &z, NULL) == 0);
    CHECK_INT(zone_span_at(z, cal_time_of("1990-07-01")).offset_s, 7200);
    CHECK_INT(zone_span_at(z, cal_time_of("2399-01-15")).offset_s, 3600);
    struct zone_span summer = zone_span_at(z, cal_time_of("2400-07-01"));
    CHECK_INT(summer.offset_s, 7200);
    CHECK_INT(summer.begin_s, cal_time_of("2400-03-26T01:00"));
    CHECK_INT(summer.end_s, cal_time_of("2400-10-29T01:00"));
    CHECK_STR(summer.abbrev, "CEST");
    CHECK_INT(zone_local(z, cal_time_of("2400-03-26T00:59:59")), cal_time_of("2400-03-26T01:59:59"));
    CHECK_INT(zone_local(z, cal_time_of("2400-03-26T01:00:00")), cal_time_of("2400-03-26T03:00:00"));
    /* where the spans that were written out end and the rule takes over */
    for (int64_t at_s = cal_time_of("2098-01-01"); at_s < cal_time_of("2110-01-01");) {
        struct zone_span span = zone_span_at(z, at_s), next = zone_span_at(z, span.end_s);
        CHECK(span.begin_s <= at_s && at_s < span.end_s);
        CHECK_INT(next.begin_s, span.end_s);
        CHECK(next.offset_s != span.offset_s);
        at_s = span.end_s;
    }
}

TEST(broken_files_are_refused) {
    static const char *const footers[] = {"",
                                          "\n",
                                          "\nCET",
                                          "\nCET-1CEST\n",
                                          "\nC-1\n",
                                          "\nCET-99\n",
                                          "\nCET-1CEST,M13.1.0,M3.1.0\n",
                                          "\nCET-1CEST,M3.5.0\n",
                                          "\nCET-1CEST,M3.5.0,M10.5.0/168\n",
                                          "\n<CET-1\n",
                                          "\nCET-1CEST,J0,J5\n",
                                          "\nC{T-1\n",
                                          "\nC_T-1\n",
                                          "\nCET-99999999999999999999\n",
                                          "\nCET-1CEST,M3.5.0,M10.5.0/3 and so on\n",
                                          "CET-1\n"};
    struct zone *z = NULL;
    struct err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(footers); i++) {
        struct file f = version_2('2', footers[i]);
        CHECK_INT(read_file(&f, &z, &e), ERR_INVALID);
        CHECK(strstr(e.text, "footer"));
    }
    struct file whole = version_2('2', "\nCET-1\n");
    for (size_t n = 0; n < whole.n; n++) { /* every place at which it could end */
        struct file cut = whole;
        cut.n = n;
        CHECK_INT(read_file(&cut, &z, &e), ERR_INVALID);
    }
    static const struct {
        size_t at;
        uint8_t value;
        const char *text;
    } changes[] = {
        {0, 'X', "header"},
        {4, '1', "version"},
        {4, ':', "version"},
        {31, 1, "ends early"},
        {39, 0, "no local time types"},
        {43, 0, "no local time types"},
        {48, 2, "not there"},
        {49, 9, "26 hours"},
        {49, 0xFF, "26 hours"}, /* to the west */
        {53, 2, "type is broken"},
        {54, 9, "type is broken"},
        {64, 'x', "type is broken"},
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct file f = version_1();
        f.data[changes[i].at] = changes[i].value;
        test_check_int(read_file(&f, &z, &e), ERR_INVALID, __FILE__, __LINE__, changes[i].text);
        test_check(strstr(e.text, changes[i].text), __FILE__, __LINE__, e.text);
    }
    struct file many = {.n = 0};
    put_header(&many, 0, 0, 0, 257, 1);
    many.n += 257 * 6 + 1;
    CHECK_INT(read_file(&many, &z, &e), ERR_INVALID);
    CHECK(strstr(e.text, "no local time types, or too many"));
    struct file back = clock_of(0, (struct change[]){{2000, 3600}, {1000, 0}}, 2, "\n\n");
    CHECK_INT(read_file(&back, &z, &e), ERR_INVALID);
    CHECK(strstr(e.text, "not in order"));
    CHECK_INT(zone_new(str_bytes("", ZONE_FILE_BYTES_MAX + 1), &z, &e), ERR_INVALID);
    CHECK(z == NULL);
}

TEST(rules) {
    static const struct {
        int line;
        const char *text, *at;
        int64_t offset_s;
    } cases[] = {
        {__LINE__, "EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59", -18000},
        {__LINE__, "EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00", -14400},
        {__LINE__, "EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59:59", -14400},
        {__LINE__, "EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00:00", -18000},
        {__LINE__, "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00", 39600}, /* summer over new year */
        {__LINE__, "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T16:00:00", 36000},
        {__LINE__, "IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00",
         0}, /* summer time is the standard there */
        {__LINE__, "IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00", 3600},
        {__LINE__, "<+0330>-3:30", "2026-07-01T00:00:00", 12600},
        {__LINE__, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59", -7200},
        {__LINE__, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00", -3600},
        {__LINE__, "XXX3EDT4,0/0,J365/23", "2026-07-01T00:00:00", -14400},
        {__LINE__, "EST5EDT,0/0,J365/25", "2026-01-01T05:00:00", -14400}, /* summer time all year */
        {__LINE__, "EST5EDT,0/0,J365/25", "2026-12-31T23:00:00", -14400},
        {__LINE__, "AAA0BBB,J60,J61", "2028-03-01T02:00:00", 3600}, /* J60 is 1 March in leap years too */
        {__LINE__, "AAA0BBB,J60,J61", "2028-03-01T01:59:59", 0},
        {__LINE__, "AAA0BBB,59,60", "2028-02-29T02:00:00", 3600}, /* 59 is not */
        {__LINE__, "AAA0BBB,J10,J20", "2028-01-10T02:00:00", 3600},
        {__LINE__, "AAA0BBB0,J100/0,J100/0", "2028-07-01T00:00:00", 0}, /* summer time for no time at all */
        {__LINE__, "AAA1BBB-24,M1.1.0/-167,M1.1.0/17", "2022-12-31T20:00:00", -3600}, /* of the next year */
        {__LINE__, "AAA1BBB-24,365/167,365/166", "2026-01-02T00:00:00", 86400}, /* of the one before */
        {__LINE__, "<+14>-14:30:15", "2026-01-01T00:00:00", 52215},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tzrule rule;
        if (test_check_int(tzrule_parse(str_of(cases[i].text), &rule), 0, __FILE__, cases[i].line,
                           cases[i].text))
            test_check_int(tzrule_span_at(&rule, cal_time_of(cases[i].at)).offset_s, cases[i].offset_s,
                           __FILE__, cases[i].line, cases[i].at);
    }
}

/* Local times that a change of the clock leaves out or repeats, in places that do it in their own way. */
TEST(gaps_and_folds) {
    static const struct cal_case cases[] = {
        /* half an hour */
        CASE("cron */15 1-2 2 10 * 2022 | zone Australia/Lord_Howe", "2022-10-01T00:00",
             "2022-10-01 14:30 14:45 15:00 15:15 15:30 15:45 none"),
        CASE("cron */15 1 3 4 * 2022 | zone Australia/Lord_Howe", "2022-04-01T00:00",
             "2022-04-02 14:00 14:15 14:30 14:45 15:00 15:15 none"),
        /* a whole day: there was no 30 December 2011 in Samoa */
        CASE("cron 0 12 29-31 12 * 2011 | zone Pacific/Apia", "2011-12-01T00:00",
             "2011-12-29 22:00 2011-12-30 22:00 none"),
        /* and 31 December 1994 was left out in the Line Islands */
        CASE("cron 0 12 * * * | zone Pacific/Kiritimati", "1994-12-30T00:00",
             "1994-12-30 22:00 1994-12-31 22:00"),
        /* summer time is interrupted by Ramadan */
        CASE("cron 30 2 * * * | zone Africa/Casablanca", "2026-02-14T00:00",
             "2026-02-14 01:30 2026-02-15 01:30 02:30 2026-02-16 02:30"),
        CASE("cron 30 2 * * * | zone Africa/Casablanca", "2026-03-21T00:00",
             "2026-03-21 02:30 2026-03-23 01:30"),
        /* winter time is the exception */
        CASE("cron 30 1 * * * | zone Europe/Dublin", "2026-10-24T00:00",
             "2026-10-24 00:30 2026-10-25 00:30 01:30"),
        CASE("cron 30 1 * * * | zone Europe/Dublin", "2026-03-28T00:00", "2026-03-28 01:30 2026-03-30 00:30"),
        /* midnight is what is missing */
        CASE("cron 0 0 * * * | zone America/Asuncion", "2023-09-30T00:00",
             "2023-09-30 04:00 2023-10-02 03:00"),
        CASE("cron 30 0 * * * | zone Asia/Beirut", "2021-03-27T00:00", "2021-03-28 21:30"),
        /* two hours at once */
        CASE("cron 30 * * * * | zone Antarctica/Troll", "2026-03-28T23:40", "2026-03-29 00:30 01:30 02:30"),
        CASE("cron 30 1-2 25 10 * 2026 | zone Antarctica/Troll", "2026-10-01T00:00",
             "2026-10-24 23:30 2026-10-25 00:30 01:30 02:30 none"),
        /* far ahead, by the rule of the footer */
        CASE("cron 30 2 * 10 sunL | zone Europe/Berlin", "2088-01-01T00:00",
             "2088-10-31 00:30 01:30 2089-10-30 00:30 01:30"),
        CASE("cron 30 2 * 3 sunL | zone Europe/Berlin", "2038-01-01T00:00", "none"),
        CASE("cron 30 2 31 10 * 2100 | zone Europe/Berlin", "2099-01-01T00:00",
             "2100-10-31 00:30 01:30 none"),
    };
    CHECK_CASES(cases);
}

TEST(policies_for_gaps_and_folds) {
    static const struct cal_case cases[] = {
        CASE("cron 30 2 * * * | zone America/New_York;missing=shift", "2026-03-07T12:00",
             "2026-03-08 07:30 2026-03-09 06:30"),
        CASE("cron 30 2 * * * | zone America/New_York;missing=skip", "2026-03-07T12:00", "2026-03-09 06:30"),
        CASE("cron 30 1 * * * | zone America/New_York;repeated=first", "2026-10-31T12:00",
             "2026-11-01 05:30 2026-11-02 06:30"),
        CASE("cron 30 1 * * * | zone America/New_York;repeated=last", "2026-10-31T12:00",
             "2026-11-01 06:30 2026-11-02 06:30"),
        CASE("cron 30 1 * * * | zone America/New_York;repeated=both", "2026-10-31T12:00",
             "2026-11-01 05:30 06:30"),
        CASE("cron CRON_TZ=America/New_York;missing=shift;repeated=first 30 1,2 * * *", "2026-10-31T12:00",
             "2026-11-01 05:30 07:30"),
        /* what is moved onto a time that is there anyway comes once */
        CASE("cron 0 * * * * | zone America/New_York;missing=shift", "2026-03-08T05:30",
             "2026-03-08 06:00 07:00 08:00"),
        CASE("cron 15 2 * * * | cron 15 3 * * * | zone America/New_York;missing=shift", "2026-03-07T12:00",
             "2026-03-08 07:15 2026-03-09 06:15 07:15"),
        CASE("cron 0 0 * * * | zone America/Havana;missing=shift", "2022-03-12T12:00",
             "2022-03-13 05:00 2022-03-14 04:00"),
        CASE("cron 0 12 30 12 * 2011 | zone Pacific/Apia;missing=shift", "2011-12-01T00:00",
             "2011-12-30 22:00 none"),
        CASE("cron 15 2 2 10 * 2022 | zone Australia/Lord_Howe;missing=shift", "2022-09-01T00:00",
             "2022-10-01 15:45 none"),
        CASE("cron 45 1 3 4 * 2022 | zone Australia/Lord_Howe;repeated=last", "2022-04-01T00:00",
             "2022-04-02 15:15 none"),
        /* an exclusion is about the local time that was asked for */
        CASE("cron 30 2 * * * | not sec=* min=* hour=2 | zone America/New_York;missing=shift",
             "2026-03-07T12:00", "none"),
        CASE("cron 30 2 * * * | not sec=* min=* hour=3 | zone America/New_York;missing=shift",
             "2026-03-07T12:00", "2026-03-08 07:30"),
        /* intervals know no local time */
        CASE("cron @every 30m | zone America/New_York;missing=shift;repeated=first", "2026-11-01T05:00",
             "2026-11-01 05:30 06:00 06:30 07:00"),
        CASE("cron 0 0 * * * | zone UTC;repeated=first", "2026-11-01T05:00", "2026-11-02 00:00"),
    };
    CHECK_CASES(cases);
}

TEST(an_instant_for_every_local_time) {
    struct cal_world w;
    cal_world_init(&w);
    const struct zone *z = w.zones.find(w.zones.ctx, STR("America/New_York"));
    if (CHECK(z != NULL)) {
        CHECK_INT(zone_instant(z, cal_time_of("2026-07-01T12:00")), cal_time_of("2026-07-01T16:00"));
        CHECK_INT(zone_instant(z, cal_time_of("2026-03-08T02:30")), cal_time_of("2026-03-08T07:30"));
        CHECK_INT(zone_instant(z, cal_time_of("2026-11-01T01:30")), cal_time_of("2026-11-01T05:30"));
        CHECK_INT(zone_instant(z, cal_time_of("2400-11-05T01:30")), cal_time_of("2400-11-05T05:30"));
    }
    CHECK_INT(zone_instant(NULL, 12345), 12345);
    cal_world_done(&w);
}

TEST(zone_data_wins_over_the_name) {
    struct cal_world w;
    struct file f = version_2('2', "\nXXX-5\n");
    struct cal_time t = {0};
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    w.spec.zone_name = STR("Mine;repeated=first");
    w.spec.zone_data = str_bytes(f.data, f.n);
    CHECK_INT(cal_spec_add_cron(&w.spec, STR("0 5 * * *"), &w.err), 0);
    CHECK_INT(cal_spec_finish(&w.spec, &w.err), 0);
    if (CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &w.err), 0)) {
        CHECK_INT(cal_next(w.cal, STR(""), cal_time_of("2026-01-01T12:00") * 1000000, &t), CAL_FOUND);
        CHECK_INT(t.nominal_s, cal_time_of("2026-01-02T00:00"));
        struct warning found[WARNING_KINDS];
        size_t n = 1;
        CHECK_INT(warnings_of(&w.spec, NULL, t.actual_us, &w.arena, found, &n, &w.err), 0);
        CHECK_INT(n, 0);
    }
    w.cal = cal_free(w.cal);
    w.spec.zone_data = STR("TZif?");
    CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &w.err), ERR_INVALID);
    w.spec.zone_data = str_bytes(f.data, f.n);
    CHECK_INT(cal_spec_add_cron(&w.spec, STR("CRON_TZ=Europe/Berlin 0 5 * * *"), &w.err), ERR_INVALID);
    cal_world_done(&w);
}

TEST(clocks_that_never_change_or_change_late) {
    struct zone *z cleanup(zone_freep) = NULL;
    struct file never = clock_of(3600, NULL, 0, "\n\n");
    if (CHECK_INT(read_file(&never, &z, NULL), 0)) {
        struct zone_span span = zone_span_at(z, 0);
        CHECK_INT(span.begin_s, INT64_MIN);
        CHECK_INT(span.end_s, INT64_MAX);
        CHECK_INT(span.offset_s, 3600);
    }
    z = zone_free(z);
    int64_t change_s = cal_time_of("2200-01-01");
    struct file late = clock_of(7200, &(struct change){change_s, 0}, 1, "\nXXX0\n");
    if (CHECK_INT(read_file(&late, &z, NULL), 0)) {
        CHECK_INT(zone_span_at(z, change_s - 1).offset_s, 7200);
        CHECK_INT(zone_span_at(z, change_s - 1).end_s, change_s);
        CHECK_INT(zone_span_at(z, change_s).offset_s, 0);
        CHECK_INT(zone_span_at(z, change_s).begin_s, change_s);
    }
    z = zone_free(z);
    struct file instant = clock_of(0, NULL, 0, "\nAAA0BBB0,J100/0,J100/0\n");
    if (CHECK_INT(read_file(&instant, &z, NULL), 0))
        for (int64_t at_s = 0; at_s < cal_time_of("2110-01-01");) {
            struct zone_span span = zone_span_at(z, at_s);
            CHECK(span.begin_s <= at_s && at_s < span.end_s);
            CHECK_INT(span.offset_s, 0);
            at_s = span.end_s;
        }
}

static void check_clock(int line, const struct file *f, const char *spec, const char *policy,
                        const char *want) {
    struct cal_world w;
    struct buf got cleanup(buf_done);
    buf_init(&got, 4096);
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    w.spec.zone_name = str_of(policy);
    w.spec.zone_data = str_bytes(f->data, f->n);
    int e = cal_spec_add_cron(&w.spec, str_of(spec), &w.err);
    e = e < 0 ? e : cal_new(&w.spec, NULL, &w.cal, &w.err);
    if (test_check_int(e, 0, __FILE__, line, spec)) {
        cal_world_times(&w, cal_time_of("2025-12-31T00:00") * 1000000, 10, &got);
        test_check_str(buf_str(&got), str_of(want), __FILE__, line, policy);
    }
    cal_world_done(&w);
}

/* Clocks that are changed from their first span, into their last one, and twice within hours. */
TEST(policies_at_the_edges_of_a_zone) {
    const int64_t at_s = cal_time_of("2026-01-01T00:00");
    const struct change back[] = {{at_s, 0}};
    const struct change bump[] = {{at_s, 5 * 3600}, {at_s + 3600, 0}, {at_s + 7200, -3600}};
    struct file fold = clock_of(3600, back, 1, "\n\n"), bumps = clock_of(0, bump, 3, "\n\n");
    const char *night = "30 0 1 1 * 2026";
    check_clock(__LINE__, &fold, night, "X;repeated=both", "2025-12-31 23:30 2026-01-01 00:30 none");
    check_clock(__LINE__, &fold, night, "X;repeated=first", "2025-12-31 23:30 none");
    check_clock(__LINE__, &fold, night, "X;repeated=last", "2026-01-01 00:30 none");
    /* from 00:00 to 05:00, an hour later back to 01:00, and at 02:00 back to 01:00 once more */
    const char *hours = "30 0-7 1 1 * 2026";
    check_clock(__LINE__, &bumps, hours, "X;repeated=both",
                "2026-01-01 00:30 01:30 02:30 03:30 04:30 05:30 06:30 07:30 08:30 none");
    check_clock(__LINE__, &bumps, hours, "X;repeated=first",
                "2026-01-01 00:30 01:30 03:30 04:30 05:30 07:30 08:30 none");
    check_clock(__LINE__, &bumps, hours, "X;repeated=last",
                "2026-01-01 02:30 03:30 04:30 05:30 06:30 07:30 08:30 none");
}

TEST(zone_data_and_a_zone_in_a_string_do_not_mix) {
    struct cal_world w;
    struct file f = version_2('2', "\nXXX-5\n");
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    w.spec.zone_data = str_bytes(f.data, f.n);
    CHECK_INT(cal_spec_add_cron(&w.spec, STR("CRON_TZ=Europe/Berlin 0 5 * * *"), &w.err), 0);
    CHECK_INT(cal_spec_finish(&w.spec, &w.err), ERR_INVALID);
    CHECK_STR(w.err.text, "a cron string has a time zone, and the spec has time zone data");
    cal_world_done(&w);
}
