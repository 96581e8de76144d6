/* The exact bytes of lines in both forms, with awkward values, and what is not written. */
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "harness.h"

enum { LINE_ROOM = 8192 };

static struct wall noon(void) {
    return (struct wall){INT64_C(1794729600123456)};
}

static struct wall before_1970(void) {
    return (struct wall){-1};
}

static struct wall epoch(void) {
    return (struct wall){0};
}

static struct wall leap_day(void) {
    return (struct wall){INT64_C(951782400000000)};
}

static struct wall day_after_leap_day(void) {
    return (struct wall){INT64_C(951868800000000)};
}

static struct wall last_second_of_1999(void) {
    return (struct wall){INT64_C(946684799999999)};
}

static struct wall no_leap_day_in_2100(void) {
    return (struct wall){INT64_C(4107542400000000)};
}

static struct wall far_future(void) {
    return (struct wall){INT64_MAX};
}

static struct wall far_past(void) {
    return (struct wall){INT64_MIN};
}

struct capture {
    struct log log;
    int read_end;
    char text[LINE_ROOM];
};

static bool capture_open(struct capture *c, enum log_format format, struct wall (*clock)(void)) {
    int ends[2];
    if (!CHECK(pipe(ends) == 0))
        return false;
    c->read_end = ends[0];
    log_init(&c->log, ends[1], LOG_DEBUG, format, clock);
    return true;
}

/* What was logged, with the log closed. */
static const char *capture_close(struct capture *c) {
    close(c->log.fd);
    ssize_t n = read(c->read_end, c->text, sizeof(c->text) - 1);
    c->text[n > 0 ? n : 0] = '\0';
    close(c->read_end);
    return c->text;
}

TEST(log_text_line) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    log_emit(&c.log, LOG_server_ready, log_str("grpc", "127.0.0.1:7233"), log_int("pid", 12));
    CHECK_STR(capture_close(&c),
              "2026-11-15T08:00:00.123456Z INFO  server_ready grpc=127.0.0.1:7233 pid=12\n");
}

TEST(log_json_line) {
    struct capture c;
    if (!capture_open(&c, LOG_JSON, noon))
        return;
    log_emit(&c.log, LOG_store_failed, log_str("path", "a b"), log_int("code", INT64_MIN));
    CHECK_STR(capture_close(&c),
              "{\"time\":\"2026-11-15T08:00:00.123456Z\",\"level\":\"ERROR\",\"event\":\"store_"
              "failed\",\"path\":\"a b\",\"code\":-9223372036854775808}\n");
}

TEST(log_time_field) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    log_emit(&c.log, LOG_server_stopped, log_time("at", 0));
    CHECK_STR(capture_close(&c),
              "2026-11-15T08:00:00.123456Z INFO  server_stopped at=1970-01-01T00:00:00.000000Z\n");
    if (!capture_open(&c, LOG_JSON, noon))
        return;
    log_emit(&c.log, LOG_server_stopped, log_time("at", 1));
    CHECK_STR(capture_close(&c), "{\"time\":\"2026-11-15T08:00:00.123456Z\",\"level\":\"INFO\",\"event\":"
                                 "\"server_stopped\",\"at\":\"1970-01-01T00:00:00.000001Z\"}\n");
}

TEST(log_routine_lines_have_the_level_that_was_set) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    CHECK(log_shows(&c.log, LOG_schedule_fired)); /* at debug */
    log_emit(&c.log, LOG_schedule_fired);
    c.log.level = LOG_INFO;
    CHECK(!log_shows(&c.log, LOG_schedule_fired));
    log_emit(&c.log, LOG_schedule_fired);
    c.log.routine = LOG_INFO;
    CHECK(log_shows(&c.log, LOG_schedule_fired));
    log_emit(&c.log, LOG_schedule_fired);
    c.log.level = LOG_WARN;
    CHECK(!log_shows(&c.log, LOG_schedule_fired));
    CHECK_STR(capture_close(&c), "2026-11-15T08:00:00.123456Z DEBUG schedule_fired\n"
                                 "2026-11-15T08:00:00.123456Z INFO  schedule_fired\n");
    CHECK(!log_shows(NULL, LOG_server_ready));
}

TEST(log_line_without_fields) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    log_emit(&c.log, LOG_server_stopped);
    CHECK_STR(capture_close(&c), "2026-11-15T08:00:00.123456Z INFO  server_stopped\n");
}

TEST(log_dates) {
    static const struct {
        int line;
        struct wall (*clock)(void);
        const char *time;
    } cases[] = {
        {__LINE__, epoch, "1970-01-01T00:00:00.000000Z"},
        {__LINE__, before_1970, "1969-12-31T23:59:59.999999Z"},
        {__LINE__, leap_day, "2000-02-29T00:00:00.000000Z"},
        {__LINE__, day_after_leap_day, "2000-03-01T00:00:00.000000Z"},
        {__LINE__, last_second_of_1999, "1999-12-31T23:59:59.999999Z"},
        {__LINE__, no_leap_day_in_2100, "2100-03-01T00:00:00.000000Z"},
        {__LINE__, far_future, "294247-01-10T04:00:54.775807Z"},
        {__LINE__, far_past, "-290308-12-21T19:59:05.224192Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct capture c;
        if (!capture_open(&c, LOG_TEXT, cases[i].clock))
            return;
        log_emit(&c.log, LOG_recovered);
        const char *text = capture_close(&c);
        struct str time = str_bytes(text, strcspn(text, " "));
        test_check_str(time, str_of(cases[i].time), __FILE__, cases[i].line, "time");
    }
}

struct value_case {
    int line;
    const char *value;
    const char *text;
    const char *json;
};

static const struct value_case value_cases[] = {
    {__LINE__, "plain", "plain", "\"plain\""},
    {__LINE__, "", "\"\"", "\"\""},
    {__LINE__, NULL, "\"\"", "\"\""},
    {__LINE__, "two words", "\"two words\"", "\"two words\""},
    {__LINE__, "a=b", "\"a=b\"", "\"a=b\""},
    {__LINE__, "say \"hi\"", "\"say \\\"hi\\\"\"", "\"say \\\"hi\\\"\""},
    {__LINE__, "c:\\dir", "\"c:\\\\dir\"", "\"c:\\\\dir\""},
    {__LINE__, "a\nb\r\t", "\"a\\nb\\r\\t\"", "\"a\\nb\\r\\t\""},
    {__LINE__, "\x1b[31m\x7f", "\"\\x1b[31m\\x7f\"", "\"\\u001b[31m\\u007f\""},
    {__LINE__, "caf\xC3\xA9", "caf\xC3\xA9", "\"caf\xC3\xA9\""},
    {__LINE__, "caf\xC3\xA9 au lait", "\"caf\xC3\xA9 au lait\"", "\"caf\xC3\xA9 au lait\""},
    {__LINE__, "bad\xFF", "\"bad\\xff\"", "\"bad\\ufffd\""},
    {__LINE__, "cut\xE2\x82", "\"cut\\xe2\\x82\"", "\"cut\\ufffd\\ufffd\""},
};

static void check_values(enum log_format format, const char *mark, const char *end) {
    for (size_t i = 0; i < ARRAY_LEN(value_cases); i++) {
        const struct value_case *v = &value_cases[i];
        struct capture c;
        if (!capture_open(&c, format, noon))
            return;
        log_emit(&c.log, LOG_recovered, log_str("v", v->value));
        const char *text = capture_close(&c);
        const char *start = strstr(text, mark);
        if (!test_check(start != NULL, __FILE__, v->line, text))
            continue;
        start += strlen(mark);
        struct str got = str_bytes(start, strlen(start) - MIN(strlen(start), strlen(end)));
        test_check_str(got, str_of(format == LOG_TEXT ? v->text : v->json), __FILE__, v->line, "value");
    }
}

TEST(log_text_values) {
    check_values(LOG_TEXT, " v=", "\n");
}

TEST(log_json_values) {
    check_values(LOG_JSON, ",\"v\":", "}\n");
}

TEST(log_long_value_is_cut) {
    char value[3001];
    struct capture c;
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    if (!capture_open(&c, LOG_JSON, noon))
        return;
    log_emit(&c.log, LOG_recovered, log_str("v", value), log_int("n", 1));
    const char *text = capture_close(&c);
    CHECK(strstr(text, "vvv...\",\"n\":1}\n") != NULL);
    CHECK(strlen(text) < 1200);
}

/* Escaping makes each value several times longer, so that the second does not fit. */
static void check_overlong(enum log_format format, const char *end) {
    char value[701];
    struct capture c;
    memset(value, '\x01', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    if (!capture_open(&c, format, noon))
        return;
    log_emit(&c.log, LOG_recovered, log_str("a", value), log_str("b", value), log_int("n", 1));
    const char *text = capture_close(&c);
    size_t len = strlen(text);
    CHECK(len <= 4096);
    CHECK(strchr(text, '\n') == text + len - 1);
    CHECK(len > strlen(end) && cstr_eq(text + len - strlen(end), end));
}

TEST(log_json_line_that_is_too_long_stays_json) {
    check_overlong(LOG_JSON, "\",\"n\":1,\"truncated\":1}\n");
}

TEST(log_text_line_that_is_too_long_says_so) {
    check_overlong(LOG_TEXT, "\" n=1 truncated=1\n");
}

TEST(log_level_filters) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    c.log.level = LOG_WARN;
    log_emit(&c.log, LOG_connection_opened);
    log_emit(&c.log, LOG_server_ready);
    log_emit(&c.log, LOG_setting_ignored);
    log_emit(&c.log, LOG_store_failed);
    CHECK_STR(capture_close(&c), "2026-11-15T08:00:00.123456Z WARN  setting_ignored\n"
                                 "2026-11-15T08:00:00.123456Z ERROR store_failed\n");
}

TEST(log_silent_level_and_null_log_write_nothing) {
    struct capture c;
    if (!capture_open(&c, LOG_TEXT, noon))
        return;
    c.log.level = LOG_SILENT;
    log_emit(&c.log, LOG_store_failed);
    log_emit(NULL, LOG_store_failed, log_int("n", 1));
    CHECK_STR(capture_close(&c), "");
}

TEST(log_keeps_errno_when_writing_fails) {
    struct log l;
    log_init(&l, -1, LOG_DEBUG, LOG_TEXT, noon);
    errno = ENOENT;
    log_emit(&l, LOG_recovered);
    CHECK_INT(errno, ENOENT);
}

TEST(log_parses_levels) {
    static const struct {
        int line;
        const char *name;
        int r;
        enum log_level level;
    } cases[] = {
        {__LINE__, "debug", 0, LOG_DEBUG},
        {__LINE__, "info", 0, LOG_INFO},
        {__LINE__, "warn", 0, LOG_WARN},
        {__LINE__, "error", 0, LOG_ERROR},
        {__LINE__, "never", 0, LOG_SILENT},
        {__LINE__, "INFO", ERR_INVALID, LOG_WARN},
        {__LINE__, "", ERR_INVALID, LOG_WARN},
        {__LINE__, NULL, ERR_INVALID, LOG_WARN},
        {__LINE__, "silent", ERR_INVALID, LOG_WARN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum log_level level = LOG_WARN;
        test_check_int(log_level_parse(cases[i].name, &level), cases[i].r, __FILE__, cases[i].line, "result");
        test_check_int(level, cases[i].level, __FILE__, cases[i].line, "level");
    }
}

TEST(log_parses_formats) {
    enum log_format format = LOG_TEXT;
    CHECK_INT(log_format_parse("json", &format), 0);
    CHECK_INT(format, LOG_JSON);
    CHECK_INT(log_format_parse("xml", &format), ERR_INVALID);
    CHECK_INT(log_format_parse(NULL, &format), ERR_INVALID);
    CHECK_INT(format, LOG_JSON);
    CHECK_INT(log_format_parse("text", &format), 0);
    CHECK_INT(format, LOG_TEXT);
}
