/* A query's value takes the type of its attribute: statuses by name or number, times as RFC 3339 or
 * nanoseconds, durations in Go's words or as a clock shows them. */
#include "core/search/filter_value.h"

#include <math.h>
#include <stdlib.h>

#include "core/schedule/instant.h"

#define NUMBER_BYTES_MAX 63

static const char *const statuses[] = {NULL,         "Running",        "Completed", "Failed", "Canceled",
                                       "Terminated", "ContinuedAsNew", "TimedOut",  "Paused"};
#define STATUS_PREFIX "WORKFLOW_EXECUTION_STATUS_"

const char *status_name(int64_t status) {
    return status > 0 && status < (int64_t)ARRAY_LEN(statuses) ? statuses[status] : NULL;
}

static char value_lower_char(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letters in any case, underscores of the long form left out. */
static bool is_status(struct str s, const char *name) {
    size_t k = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '_')
            continue;
        if (!name[k] || value_lower_char(s.p[i]) != value_lower_char(name[k++]))
            return false;
    }
    return !name[k];
}

static int status_value(const struct filter_token *t, struct value *ret, struct err *err) {
    struct str s = t->text;
    int64_t number;
    if (str_starts(s, STR(STATUS_PREFIX)))
        s = str_bytes(s.p + sizeof(STATUS_PREFIX) - 1, s.n - (sizeof(STATUS_PREFIX) - 1));
    if (str_to_i64(s, &number) == 0 && status_name(number)) {
        *ret = value_text(str_of(status_name(number)));
        return 0;
    }
    for (int64_t i = 1; status_name(i); i++) {
        if (is_status(s, status_name(i))) {
            *ret = value_text(str_of(status_name(i)));
            return 0;
        }
    }
    return err_set(err, ERR_INVALID,
                   "invalid query: invalid expression: invalid ExecutionStatus value '%.*s' at column %zu",
                   (int)MIN(t->text.n, 60), t->text.p, t->column);
}

static bool to_real(struct str s, double *ret) {
    char text[NUMBER_BYTES_MAX + 1];
    char *end;
    if (s.n == 0 || s.n > NUMBER_BYTES_MAX || memchr(s.p, 0, s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    if (strspn(text, "+-.0123456789eE") != s.n)
        return false; /* no hexadecimal, no infinity */
    *ret = strtod(text, &end);
    return *end == 0 && isfinite(*ret);
}

static bool to_int(struct str s, bool is_span, struct value *ret) {
    if (s.n && *s.p == '+')
        s = str_bytes(s.p + 1, s.n - 1);
    *ret = value_int(0);
    return str_to_i64(s, &ret->number) == 0 || (is_span && span_parse(s, &ret->number) == 0);
}

static bool to_value(const char *name, E__IndexedValueType type, const struct filter_token *t,
                     struct value *ret) {
    switch ((int)type) {
    case INDEXED_VALUE_TYPE_BOOL:
        *ret = value_int(is_status(t->text, "true"));
        return t->kind != FILTER_NUMBER && (ret->number || is_status(t->text, "false"));
    case INDEXED_VALUE_TYPE_INT:
        return t->kind != FILTER_NAME && to_int(t->text, cstr_eq(name, "ExecutionDuration"), ret);
    case INDEXED_VALUE_TYPE_DOUBLE:
        *ret = value_real(0);
        return t->kind != FILTER_NAME && to_real(t->text, &ret->real);
    case INDEXED_VALUE_TYPE_DATETIME:
        *ret = value_int(0);
        return t->kind != FILTER_NAME &&
               (str_to_i64(t->text, &ret->number) == 0 || instant_parse(t->text, &ret->number) == 0);
    default:
        *ret = value_text(t->text);
        return t->kind == FILTER_TEXT;
    }
}

int filter_value(const char *name, E__IndexedValueType type, const struct filter_token *t, struct value *ret,
                 struct err *err) {
    if (cstr_eq(name, "ExecutionStatus"))
        return status_value(t, ret, err);
    if (to_value(name, type, t, ret))
        return 0;
    return err_set(err, ERR_INVALID,
                   "invalid query: invalid expression: invalid value '%.*s' for search attribute '%.100s' of "
                   "type %s at column %zu",
                   (int)MIN(t->text.n, 60), t->text.p, name, attribute_type_name(type), t->column);
}

/* words */

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static struct str value_next_word(char *text, size_t n, size_t *at) {
    while (*at < n && !is_word(text[*at]))
        ++*at;
    size_t from = *at;
    for (; *at < n && is_word(text[*at]); ++*at)
        text[*at] = value_lower_char(text[*at]);
    return str_bytes(text + from, *at - from);
}

int attribute_words(struct arena *a, struct str text, struct attribute *ret) {
    char *copy = arena_alloc(a, text.n + 1);
    size_t at = 0, count = 0;
    if (!copy)
        return ERR_NO_MEMORY;
    if (text.n)
        memcpy(copy, text.p, text.n);
    while (value_next_word(copy, text.n, &at).n)
        count++;
    struct value *values = arena_array(a, struct value, count);
    if (!values)
        return ERR_NO_MEMORY;
    at = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = value_text(value_next_word(copy, text.n, &at));
    ret->values = values;
    ret->count = count;
    return 0;
}
