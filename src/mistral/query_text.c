/* Values stand in quotes, with a backslash before those in the value and before backslashes. */
#include "mistral/query_text.h"

#define QUERY_BYTES_MAX (64u << 10)

void query_init(struct buf *q) {
    buf_init(q, QUERY_BYTES_MAX);
}

static void join(struct buf *q) {
    if (q->len)
        buf_add_cstr(q, " AND ");
}

static void add_value(struct buf *q, struct str value) {
    buf_add_u8(q, '\'');
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\'' || value.p[i] == '\\')
            buf_add_u8(q, '\\');
        buf_add_u8(q, (uint8_t)value.p[i]);
    }
    buf_add_u8(q, '\'');
}

void query_compare(struct buf *q, const char *name, const char *operator_, struct str value) {
    join(q);
    buf_printf(q, "%s %s ", name, operator_);
    add_value(q, value);
}

void query_equal(struct buf *q, const char *name, struct str value) {
    query_compare(q, name, "=", value);
}

void query_either(struct buf *q, const char *const *names, size_t n, const char *operator_,
                  struct str value) {
    join(q);
    buf_add_cstr(q, "(");
    for (size_t i = 0; i < n; i++) {
        buf_printf(q, "%s%s %s ", i ? " OR " : "", names[i], operator_);
        add_value(q, value);
    }
    buf_add_cstr(q, ")");
}

void query_any(struct buf *q, const char *name, const struct str *values, size_t n) {
    join(q);
    buf_printf(q, "%s IN (", name);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_cstr(q, ", ");
        add_value(q, values[i]);
    }
    buf_add_cstr(q, ")");
}

void query_add(struct buf *q, const char *condition) {
    join(q);
    buf_add_cstr(q, condition);
}
