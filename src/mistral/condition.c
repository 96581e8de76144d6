/* Builds conditions. A value is in single quotes, with a backslash before each quote and backslash in it. */
#include "mistral/condition.h"

#define QUERY_BYTES_MAX (64u << 10)

void condition_init(struct buf *q) {
    buf_init(q, QUERY_BYTES_MAX);
}

static void condition_add_and(struct buf *q) {
    if (q->len)
        buf_add_cstr(q, " AND ");
}

static void condition_add_value(struct buf *q, struct str value) {
    buf_add_u8(q, '\'');
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\'' || value.p[i] == '\\')
            buf_add_u8(q, '\\');
        buf_add_u8(q, (uint8_t)value.p[i]);
    }
    buf_add_u8(q, '\'');
}

void condition_add_comparison(struct buf *q, const char *name, const char *operator_, struct str value) {
    condition_add_and(q);
    buf_printf(q, "%s %s ", name, operator_);
    condition_add_value(q, value);
}

void condition_add_equal(struct buf *q, const char *name, struct str value) {
    condition_add_comparison(q, name, "=", value);
}

void condition_add_any_name(struct buf *q, const char *const *names, size_t n, const char *operator_,
                            struct str value) {
    condition_add_and(q);
    buf_add_cstr(q, "(");
    for (size_t i = 0; i < n; i++) {
        buf_printf(q, "%s%s %s ", i ? " OR " : "", names[i], operator_);
        condition_add_value(q, value);
    }
    buf_add_cstr(q, ")");
}

void condition_add_in(struct buf *q, const char *name, const struct str *values, size_t n) {
    condition_add_and(q);
    buf_printf(q, "%s IN (", name);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_cstr(q, ", ");
        condition_add_value(q, values[i]);
    }
    buf_add_cstr(q, ")");
}

void condition_add_text(struct buf *q, const char *condition) {
    condition_add_and(q);
    buf_add_cstr(q, condition);
}
