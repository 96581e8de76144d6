/* Formats one event into a line on the stack and hands it to write(2) once,
 * so that lines of several threads or processes do not mix.
 *
 * Logging never fails visibly: a value that is too long is cut, a field that
 * no longer fits is left out and the line says truncated, and an error of
 * write(2) is dropped, because there is nobody left to tell. errno survives. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

#define LOG_LINE_MAX 4096
#define LOG_VALUE_MAX 1024
#define LOG_TAIL_MAX 32 /* kept free for the truncation mark and the end of the line */

struct log_row {
    const char *name;
    enum log_level level;
};

static const struct log_row log_rows[LOG_EVENT_COUNT] = {
#define LOG(name, level) [LOG_##name] = {#name, LOG_##level},
#include "base/logs.def"
#undef LOG
};

struct line {
    char text[LOG_LINE_MAX];
    size_t len;
    size_t limit;
    bool cut; /* something did not fit */
};

static void put(struct line *l, const char *p, size_t n) {
    if (n > l->limit - l->len) {
        l->cut = true;
        return;
    }
    memcpy(l->text + l->len, p, n);
    l->len += n;
}

static void put_cstr(struct line *l, const char *s) {
    put(l, s, strlen(s));
}

static void printf_like(2, 3) put_format(struct line *l, const char *fmt, ...) {
    char piece[64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(piece, sizeof(piece), fmt, args);
    va_end(args);
    ensure(n >= 0 && n < (int)sizeof(piece));
    put(l, piece, (size_t)n);
}

struct civil {
    int64_t year;
    int month;
    int day;
};

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t floor_mod(int64_t a, int64_t b) {
    return a % b < 0 ? a % b + b : a % b;
}

/* Proleptic Gregorian date of a day counted from 1970-01-01. Years are taken to
 * begin in March, which puts the leap day at the end of one. */
static struct civil civil_from_days(int64_t days) {
    const int64_t days_in_400_years = 146097;
    const int64_t march_0000 = -719468; /* as a day counted from 1970-01-01 */
    int64_t since = days - march_0000;
    int64_t cycle = floor_div(since, days_in_400_years);
    int64_t day = since - cycle * days_in_400_years;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= year * 365 + year / 4 - year / 100;
    int64_t month = (day * 5 + 2) / 153; /* 0 is March; five months have 153 days */
    bool next_year = month >= 10;
    return (struct civil){
        .year = cycle * 400 + year + (next_year ? 1 : 0),
        .month = (int)(next_year ? month - 9 : month + 3),
        .day = (int)(day - (month * 153 + 2) / 5 + 1),
    };
}

static void put_time(struct line *l, struct wall at) {
    int64_t seconds = floor_div(at.us, USEC_PER_SEC);
    int64_t days = floor_div(seconds, 86400);
    int second = (int)floor_mod(seconds, 86400);
    struct civil date = civil_from_days(days);
    put_format(l, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%06dZ", date.year, date.month, date.day,
               second / 3600, second / 60 % 60, second % 60, (int)floor_mod(at.us, USEC_PER_SEC));
}

static bool is_control(unsigned char c) {
    return c < 0x20 || c == 0x7F;
}

static char short_escape(unsigned char c) {
    switch (c) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '"':
    case '\\':
        return (char)c;
    default:
        return 0;
    }
}

/* Adds one character, or one byte that belongs to none, and returns its length in s. */
static size_t put_escaped_char(struct line *l, struct str s, enum log_format format) {
    unsigned char c = (unsigned char)s.p[0];
    size_t n = utf8_char_len(s);
    char letter = short_escape(c);
    if (letter)
        put(l, (const char[]){'\\', letter}, 2);
    else if (n > 0 && !is_control(c))
        put(l, s.p, n);
    else if (format == LOG_TEXT)
        put_format(l, "\\x%02x", c);
    else if (n > 0)
        put_format(l, "\\u%04x", c);
    else
        put_cstr(l, "\\ufffd");
    return n ? n : 1;
}

static void put_quoted(struct line *l, const char *text, enum log_format format) {
    struct str s = str_of(text);
    put_cstr(l, "\"");
    size_t i = 0;
    while (i < s.n && i < LOG_VALUE_MAX)
        i += put_escaped_char(l, str_bytes(s.p + i, s.n - i), format);
    put_cstr(l, i < s.n ? "...\"" : "\"");
}

static bool needs_quotes(const char *text) {
    size_t n = strlen(text);
    if (n == 0 || n > LOG_VALUE_MAX || !utf8_valid(str_bytes(text, n)))
        return true;
    for (const char *p = text; *p; p++) {
        if (is_control((unsigned char)*p) || strchr(" =\"\\", *p))
            return true;
    }
    return false;
}

static void put_text_field(struct line *l, const struct log_field *f) {
    put_cstr(l, " ");
    put_cstr(l, f->name);
    put_cstr(l, "=");
    if (f->is_time)
        put_time(l, (struct wall){f->number});
    else if (!f->text)
        put_format(l, "%" PRId64, f->number);
    else if (needs_quotes(f->text))
        put_quoted(l, f->text, LOG_TEXT);
    else
        put_cstr(l, f->text);
}

static void put_json_field(struct line *l, const struct log_field *f) {
    put_cstr(l, ",");
    put_quoted(l, f->name, LOG_JSON);
    put_cstr(l, ":");
    if (f->is_time) {
        put_cstr(l, "\"");
        put_time(l, (struct wall){f->number});
        put_cstr(l, "\"");
    } else if (f->text)
        put_quoted(l, f->text, LOG_JSON);
    else
        put_format(l, "%" PRId64, f->number);
}

/* What the level of a row comes to now. */
static enum log_level level_of(const struct log *l, const struct log_row *row) {
    return row->level == LOG_ROUTINE ? (enum log_level)l->routine : row->level;
}

static void put_head(struct line *l, const char *name, enum log_level level, struct wall at,
                     enum log_format format) {
    static const char *const names[] = {[LOG_DEBUG] = "DEBUG",
                                        [LOG_INFO] = "INFO",
                                        [LOG_WARN] = "WARN",
                                        [LOG_ERROR] = "ERROR",
                                        [LOG_ASKED] = "INFO"};
    if (format == LOG_TEXT) {
        put_time(l, at);
        put_format(l, " %-5s ", names[level]);
        put_cstr(l, name);
        return;
    }
    put_cstr(l, "{\"time\":\"");
    put_time(l, at);
    put_format(l, "\",\"level\":\"%s\",\"event\":\"", names[level]);
    put_cstr(l, name);
    put_cstr(l, "\"");
}

/* A field that does not fit whole is taken back, so that every line can be parsed. */
static void put_fields(struct line *l, const struct log_field *fields, size_t count, enum log_format format) {
    bool any_cut = false;
    for (size_t i = 0; i < count; i++) {
        size_t before = l->len;
        l->cut = false;
        if (format == LOG_TEXT)
            put_text_field(l, &fields[i]);
        else
            put_json_field(l, &fields[i]);
        if (l->cut) {
            l->len = before;
            any_cut = true;
        }
    }
    l->cut = any_cut;
}

static void put_tail(struct line *l, enum log_format format) {
    bool cut = l->cut;
    l->limit = sizeof(l->text);
    if (cut)
        put_cstr(l, format == LOG_TEXT ? " truncated=1" : ",\"truncated\":1");
    put_cstr(l, format == LOG_TEXT ? "\n" : "}\n");
}

void log_init(struct log *l, int fd, enum log_level level, enum log_format format,
              struct wall (*clock)(void)) {
    ensure(clock);
    *l = (struct log){fd, level, LOG_DEBUG, format, clock};
}

bool log_shows(const struct log *l, enum log_event event) {
    return l && (int)level_of(l, &log_rows[event]) >= l->level;
}

void log_write(struct log *l, enum log_event event, const struct log_field *fields, size_t count) {
    const struct log_row *row = &log_rows[event];
    if (!log_shows(l, event))
        return;
    int saved_errno = errno;
    struct line line;
    line.len = 0;
    line.limit = sizeof(line.text) - LOG_TAIL_MAX;
    line.cut = false;
    put_head(&line, row->name, level_of(l, row), l->clock(), l->format);
    put_fields(&line, fields, count, l->format);
    put_tail(&line, l->format);
    ssize_t written = write(l->fd, line.text, line.len);
    (void)written;
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
        if (streq(name, rows[i].name)) {
            *ret = rows[i].level;
            return 0;
        }
    }
    return ERR_INVALID;
}

int log_format_parse(const char *name, enum log_format *ret) {
    if (!streq(name, "text") && !streq(name, "json"))
        return ERR_INVALID;
    *ret = streq(name, "json") ? LOG_JSON : LOG_TEXT;
    return 0;
}
