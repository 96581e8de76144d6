/* Names and texts of the error table, and the message of a failed ensure().
 *
 * Filling an error cannot fail: a text that is too long is cut after a whole character. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

#define ENSURE_LINE_MAX 512

struct err_row {
    const char *name;
    const char *text;
};

static const struct err_row err_rows[ERR_COUNT] = {
    [ERR_OK_] = {"OK", ""},
#define ERR(name, text) [ERR_INDEX_##name] = {#name, text},
#include "base/errors.def"
#undef ERR
};

static const struct err_row *err_row(int code) {
    static const struct err_row unknown = {"UNKNOWN", "Unknown error."};
    return code <= 0 && code > -ERR_COUNT ? &err_rows[-code] : &unknown;
}

const char *err_name(int code) {
    return err_row(code)->name;
}

const char *err_text(int code) {
    return err_row(code)->text;
}

/* Resets what readers look at. Clearing whole arrays would cost more than the rest of a failing call. */
static void err_reset(struct err *e, int code) {
    e->code = code;
    e->text[0] = e->subject[0] = e->run_id.s[0] = e->first_run_id.s[0] = '\0';
    e->cause = 0;
    e->failure = NULL;
    e->failure_len = 0;
    e->operations = NULL;
    e->operation_count = 0;
}

int err_set(struct err *e, int code, const char *fmt, ...) {
    if (!e)
        return code;
    err_reset(e, code);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(e->text, sizeof(e->text), fmt, args); /* cut when too long */
    va_end(args);
    utf8_mend(e->text); /* a precision such as %.80s can cut a character, too */
    return code;
}

int err_std(struct err *e, int code) {
    return err_set(e, code, "%s", err_text(code));
}

noreturn_fn void ensure_failed(const char *file, int line, const char *what) {
    char text[ENSURE_LINE_MAX];
    int len = snprintf(text, sizeof(text), "%s:%d: ensure failed: %s\n", file, line, what);
    if (len >= (int)sizeof(text)) {
        len = (int)sizeof(text) - 1;
        text[len - 1] = '\n';
    }
    ssize_t written = write(STDERR_FILENO, text, (size_t)len);
    (void)written; /* the process ends here whether or not the write succeeds */
    abort();
}
