/* Formats one event into a line on the stack and passes it to write(2) in one call, so that lines of several
 * threads or processes do not mix.
 *
 * Logging never fails visibly. A value that is too long is cut. A field that no longer fits is left out, and
 * the line ends with truncated=1. An error of write(2) is dropped. errno is preserved. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/escape.h"
#include "base/str.h"

#define LOG_LINE_MAX 4096
#define LOG_VALUE_MAX 1024
#define LOG_TAIL_MAX 32 /* reserved for the truncation mark and the end of the line */

struct log_row {
    const char *name;
    enum log_level level;
};

static const struct log_row log_rows[LOG_EVENT_COUNT] = {
#define LOG(name, level) [LOG_##name] = {#name, LOG_##level},
#include "base/logs.def"
#undef LOG
};

struct log_line {
    char text[LOG_LINE_MAX];
    size_t len;
    size_t limit;
    bool is_cut; /* something did not fit */
};

static void log_line_add(struct log_line *l, const char *p, size_t n) {
    if (n > l->limit - l->len) {
        l->is_cut = true;
        return;
    }
    memcpy(l->text + l->len, p, n);
    l->len += n;
}

static void log_line_add_cstr(struct log_line *l, const char *s) {
    log_line_add(l, s, strlen(s));
}

static void printf_like(2, 3) log_line_add_format(struct log_line *l, const char *fmt, ...) {
    char piece[64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(piece, sizeof(piece), fmt, args);
    va_end(args);
    ensure(n >= 0 && n < (int)sizeof(piece));
    log_line_add(l, piece, (size_t)n);
}

struct log_date {
    int64_t year;
    int month;
    int day;
};

static int64_t log_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t log_floor_mod(int64_t a, int64_t b) {
    return a % b < 0 ? a % b + b : a % b;
}

/* Proleptic Gregorian date of a day counted from 1970-01-01. The computation lets years begin in March, so
 * that the leap day is the last day of a year. base cannot use cal/civil.h, which has the same for all other
 * layers. */
static struct log_date log_date_of_day(int64_t days) {
    const int64_t days_in_400_years = 146097;
    const int64_t march_0000 = -719468; /* as a day counted from 1970-01-01 */
    int64_t since = days - march_0000;
    int64_t cycle = log_floor_div(since, days_in_400_years);
    int64_t day = since - cycle * days_in_400_years;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= year * 365 + year / 4 - year / 100;
    int64_t month = (day * 5 + 2) / 153; /* 0 is March; five months have 153 days */
    bool next_year = month >= 10;
    return (struct log_date){
        .year = cycle * 400 + year + (next_year ? 1 : 0),
        .month = (int)(next_year ? month - 9 : month + 3),
        .day = (int)(day - (month * 153 + 2) / 5 + 1),
    };
}

static void log_line_add_time(struct log_line *l, struct wall at) {
    int64_t seconds = log_floor_div(at.us, USEC_PER_SEC);
    int64_t days = log_floor_div(seconds, 86400);
    int second = (int)log_floor_mod(seconds, 86400);
    struct log_date date = log_date_of_day(days);
    log_line_add_format(l, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%06dZ", date.year, date.month, date.day,
                        second / 3600, second / 60 % 60, second % 60,
                        (int)log_floor_mod(at.us, USEC_PER_SEC));
}

static bool log_is_control(unsigned char c) {
    return c < 0x20 || c == 0x7F;
}

/* Adds the first character of s, or its first byte if that is not UTF-8. Returns how many bytes of s it
 * took. */
static size_t log_line_add_escaped(struct log_line *l, struct str s, enum log_format format) {
    unsigned char c = (unsigned char)s.p[0];
    size_t n = utf8_char_len(s);
    char letter = escape_json_letter(c);
    if (letter)
        log_line_add(l, (const char[]){'\\', letter}, 2);
    else if (n > 0 && !log_is_control(c))
        log_line_add(l, s.p, n);
    else if (format == LOG_TEXT)
        log_line_add_format(l, "\\x%02x", c);
    else if (n > 0)
        log_line_add_format(l, "\\u%04x", c);
    else
        log_line_add_cstr(l, "\\ufffd");
    return n ? n : 1;
}

static void log_line_add_quoted(struct log_line *l, const char *text, enum log_format format) {
    struct str s = str_of(text);
    log_line_add_cstr(l, "\"");
    size_t i = 0;
    while (i < s.n && i < LOG_VALUE_MAX)
        i += log_line_add_escaped(l, str_bytes(s.p + i, s.n - i), format);
    log_line_add_cstr(l, i < s.n ? "...\"" : "\"");
}

static bool log_needs_quotes(const char *text) {
    size_t n = strlen(text);
    if (n == 0 || n > LOG_VALUE_MAX || !utf8_valid(str_bytes(text, n)))
        return true;
    for (const char *p = text; *p; p++) {
        if (log_is_control((unsigned char)*p) || strchr(" =\"\\", *p))
            return true;
    }
    return false;
}

static void log_line_add_text_field(struct log_line *l, const struct log_field *f) {
    log_line_add_cstr(l, " ");
    log_line_add_cstr(l, f->name);
    log_line_add_cstr(l, "=");
    if (f->is_time)
        log_line_add_time(l, (struct wall){f->number});
    else if (!f->text)
        log_line_add_format(l, "%" PRId64, f->number);
    else if (log_needs_quotes(f->text))
        log_line_add_quoted(l, f->text, LOG_TEXT);
    else
        log_line_add_cstr(l, f->text);
}

static void log_line_add_json_field(struct log_line *l, const struct log_field *f) {
    log_line_add_cstr(l, ",");
    log_line_add_quoted(l, f->name, LOG_JSON);
    log_line_add_cstr(l, ":");
    if (f->is_time) {
        log_line_add_cstr(l, "\"");
        log_line_add_time(l, (struct wall){f->number});
        log_line_add_cstr(l, "\"");
    } else if (f->text)
        log_line_add_quoted(l, f->text, LOG_JSON);
    else
        log_line_add_format(l, "%" PRId64, f->number);
}

/* The level of a row now: routine lines have the level that the owner of the log set. */
static enum log_level log_level_now(const struct log *l, const struct log_row *row) {
    return row->level == LOG_ROUTINE ? (enum log_level)l->routine : row->level;
}

static void log_line_add_head(struct log_line *l, const char *name, enum log_level level, struct wall at,
                              enum log_format format) {
    static const char *const names[] = {[LOG_DEBUG] = "DEBUG",
                                        [LOG_INFO] = "INFO",
                                        [LOG_WARN] = "WARN",
                                        [LOG_ERROR] = "ERROR",
                                        [LOG_ASKED] = "INFO"};
    if (format == LOG_TEXT) {
        log_line_add_time(l, at);
        log_line_add_format(l, " %-5s ", names[level]);
        log_line_add_cstr(l, name);
        return;
    }
    log_line_add_cstr(l, "{\"time\":\"");
    log_line_add_time(l, at);
    log_line_add_format(l, "\",\"level\":\"%s\",\"event\":\"", names[level]);
    log_line_add_cstr(l, name);
    log_line_add_cstr(l, "\"");
}

/* A field that does not fit is removed whole, so that every line can be parsed. */
static void log_line_add_fields(struct log_line *l, const struct log_field *fields, size_t count,
                                enum log_format format) {
    bool is_any_cut = false;
    for (size_t i = 0; i < count; i++) {
        size_t before = l->len;
        l->is_cut = false;
        if (format == LOG_TEXT)
            log_line_add_text_field(l, &fields[i]);
        else
            log_line_add_json_field(l, &fields[i]);
        if (l->is_cut) {
            l->len = before;
            is_any_cut = true;
        }
    }
    l->is_cut = is_any_cut;
}

static void log_line_add_tail(struct log_line *l, enum log_format format) {
    bool is_cut = l->is_cut;
    l->limit = sizeof(l->text);
    if (is_cut)
        log_line_add_cstr(l, format == LOG_TEXT ? " truncated=1" : ",\"truncated\":1");
    log_line_add_cstr(l, format == LOG_TEXT ? "\n" : "}\n");
}

void log_init(struct log *l, int fd, enum log_level level, enum log_format format,
              struct wall (*clock)(void)) {
    ensure(clock);
    *l = (struct log){fd, level, LOG_DEBUG, format, clock};
}

bool log_shows(const struct log *l, enum log_event event) {
    return l && (int)log_level_now(l, &log_rows[event]) >= l->level;
}

void log_write(struct log *l, enum log_event event, const struct log_field *fields, size_t count) {
    const struct log_row *row = &log_rows[event];
    if (!log_shows(l, event))
        return;
    int saved_errno = errno;
    struct log_line line;
    line.len = 0;
    line.limit = sizeof(line.text) - LOG_TAIL_MAX;
    line.is_cut = false;
    log_line_add_head(&line, row->name, log_level_now(l, row), l->clock(), l->format);
    log_line_add_fields(&line, fields, count, l->format);
    log_line_add_tail(&line, l->format);
    ssize_t written = write(l->fd, line.text, line.len);
    (void)written; /* there is no place left to report it to */
    errno = saved_errno;
}

int log_level_parse(const char *name, enum log_level *ret) {
    static const struct {
        const char *name;
        enum log_level level;
    } rows[] = {
        {"debug", LOG_DEBUG}, {"info", LOG_INFO},    {"warn", LOG_WARN},
        {"error", LOG_ERROR}, {"never", LOG_SILENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (cstr_eq(name, rows[i].name)) {
            *ret = rows[i].level;
            return 0;
        }
    }
    return ERR_INVALID;
}

int log_format_parse(const char *name, enum log_format *ret) {
    if (!cstr_eq(name, "text") && !cstr_eq(name, "json"))
        return ERR_INVALID;
    *ret = cstr_eq(name, "json") ? LOG_JSON : LOG_TEXT;
    return 0;
}
