/* Reads the file of --settings at the start and at SIGHUP.
 *
 * Happy path: read the whole file, check each line by the rules of its flag, then replace all old values. A
 * setting that the file no longer has goes back to its default.
 *
 * A file that cannot be read, or has a wrong line, changes nothing. At the start that is a usage error,
 * later a warning in the log. */
#include "main/settings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define FILE_BYTES_MAX (64u << 10)
#define PROBLEM_BYTES_MAX 1024

enum change { FIXED, LIVE };

static const enum change changes[SETTING_COUNT] = {
#define SETTING(id, name, letter, type, arg, standard, env, choices, min, max, help, change)                 \
    [SETTING_##id] = change,
#include "main/settings.def"
#undef SETTING
};

struct line {
    struct settings_file *file;
    size_t number;
    struct str name, value;
};

static struct str settings_file_trim(struct str s) {
    while (s.n && strchr(" \t\r", s.p[0]))
        s = str_bytes(s.p + 1, s.n - 1);
    while (s.n && strchr(" \t\r", s.p[s.n - 1]))
        s.n--;
    return s;
}

static int settings_file_find_row(const struct settings_file *f, struct str name, size_t *ret) {
    for (size_t row = 0; row < SETTING_COUNT; row++) {
        if (!str_is(name, f->given->command->opts[row].name))
            continue;
        *ret = row;
        return 0;
    }
    return ERR_NOT_FOUND;
}

static int settings_file_check_value(const struct line *l, const struct opt *o, const char *text,
                                     struct err *reterr) {
    struct buf problem;
    buf_init(&problem, PROBLEM_BYTES_MAX);
    int rc = 0;
    if (!opt_fits(o, o->name, text, &problem))
        rc = err_set(reterr, ERR_INVALID, "%s, line %zu: %.*s", l->file->path, l->number, (int)problem.len,
                     (const char *)problem.data);
    buf_done(&problem);
    return rc;
}

static int settings_file_take_line(const struct line *l, struct err *reterr) {
    struct settings_file *f = l->file;
    size_t row;
    if (settings_file_find_row(f, l->name, &row) < 0)
        return err_set(reterr, ERR_INVALID, "%s, line %zu: there is no setting \"%.*s\"", f->path, l->number,
                       (int)MIN(l->name.n, SETTINGS_VALUE_MAX), l->name.p);
    const struct opt *o = &f->given->command->opts[row];
    if (changes[row] != LIVE)
        return err_set(reterr, ERR_INVALID,
                       "%s, line %zu: %s cannot change while the server runs; give --%s instead", f->path,
                       l->number, o->name, o->name);
    if (!l->value.n || l->value.n >= SETTINGS_VALUE_MAX)
        return err_set(reterr, ERR_INVALID, "%s, line %zu: %s needs a value of at most %d bytes", f->path,
                       l->number, o->name, SETTINGS_VALUE_MAX - 1);
    memcpy(f->values[row], l->value.p, l->value.n);
    f->values[row][l->value.n] = 0;
    return settings_file_check_value(l, o, f->values[row], reterr);
}

static int settings_file_take_text(struct settings_file *f, struct str text, struct err *reterr) {
    int rc = 0;
    for (struct line l = {.file = f, .number = 1}; rc == 0 && text.n; l.number++) {
        const char *newline = memchr(text.p, '\n', text.n);
        size_t n = newline ? (size_t)(newline - text.p) : text.n;
        struct str whole = settings_file_trim(str_bytes(text.p, n));
        text = str_bytes(text.p + n, text.n - n);
        if (text.n)
            text = str_bytes(text.p + 1, text.n - 1);
        if (!whole.n || whole.p[0] == '#')
            continue;
        const char *equals = memchr(whole.p, '=', whole.n);
        size_t name_n = equals ? (size_t)(equals - whole.p) : whole.n;
        l.name = settings_file_trim(str_bytes(whole.p, name_n));
        l.value = equals ? settings_file_trim(str_bytes(equals + 1, whole.n - name_n - 1)) : STR("");
        rc = settings_file_take_line(&l, reterr);
    }
    return rc;
}

static int settings_file_read_bytes(const char *path, struct buf *out, struct err *reterr) {
    char piece[4096];
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        while ((n = read(fd, piece, sizeof(piece))) > 0)
            buf_add(out, piece, (size_t)n);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return err_set(reterr, ERR_INVALID, "cannot read %s: %s", path, strerror(error));
    if (!buf_ok(out))
        return err_set(reterr, ERR_INVALID, "%s has more than %u bytes", path, FILE_BYTES_MAX);
    return 0;
}

void settings_file_init(struct settings_file *f, const struct opt_args *given, struct log *log) {
    *f = (struct settings_file){.given = given, .path = opt_text(given, SETTING_SETTINGS), .log = log};
}

int settings_file_read(struct settings_file *f, struct err *reterr) {
    struct settings_file fresh;
    struct buf bytes;
    if (!f->path)
        return 0;
    settings_file_init(&fresh, f->given, f->log);
    buf_init(&bytes, FILE_BYTES_MAX);
    int rc = settings_file_read_bytes(f->path, &bytes, reterr);
    if (rc == 0)
        rc = settings_file_take_text(&fresh, buf_str(&bytes), reterr);
    buf_done(&bytes);
    if (rc == 0)
        *f = fresh;
    return rc;
}

const char *settings_file_text(void *ctx, const struct opt *o) {
    const struct settings_file *f = ctx;
    const struct opt *first = f->given->command->opts;
    if (o < first || o >= first + SETTING_COUNT)
        return NULL; /* an option that every command has */
    const char *text = f->values[o - first];
    return *text ? text : NULL;
}

/* Warns of lines in the file that the command line or the environment overrides. */
static void settings_file_warn_overruled(const struct settings_file *f) {
    for (size_t row = 0; row < SETTING_COUNT; row++)
        if (f->values[row][0] && opt_is_given(f->given, row))
            log_emit(f->log, LOG_setting_ignored, log_str("flag", f->given->command->opts[row].name),
                     log_str("value", f->values[row]),
                     log_str("text", "the command line or the environment gives another value, which wins"));
}

void settings_file_reread(void *ctx) {
    struct settings_file *f = ctx;
    struct err e = {0};
    if (!f->path) {
        log_emit(f->log, LOG_settings_read,
                 log_str("text", "no file was named by --settings; nothing changes"));
        return;
    }
    if (settings_file_read(f, &e) < 0) {
        log_emit(f->log, LOG_settings_refused, log_str("text", e.text));
        return;
    }
    struct opt_args all = *f->given;
    enum log_level level, routine;
    all.file = settings_file_text;
    all.file_ctx = f;
    const char *text = opt_text(&all, SETTING_LOG_LEVEL), *schedules = opt_text(&all, SETTING_LOG_SCHEDULES);
    ensure(log_level_parse(text, &level) == 0); /* one of its choices */
    ensure(log_level_parse(schedules, &routine) == 0);
    f->log->level = (int)level;
    f->log->routine = (int)routine;
    log_emit(f->log, LOG_settings_read, log_str("file", f->path), log_str("log_level", text),
             log_str("log_schedules", schedules));
    settings_file_warn_overruled(f);
}
