/* What a payload says about an attribute, read from its JSON: a value, or a list of them.
 *
 * Attributes were validated when they came in; what does not fit all the same (the attribute was
 * removed, and defined again with another type) is left out of the index, and lists still show it. */
#include "core/search/filter_value.h"
#include "core/step/merge.h"

struct json {
    struct str rest;
    char *out; /* as large as the text, so strings fit without escapes */
};

static void json_skip(struct json *j, size_t n) {
    j->rest = str_bytes(j->rest.p + n, j->rest.n - n);
}

static bool json_take(struct json *j, char c) {
    while (j->rest.n && strchr(" \t\r\n", *j->rest.p))
        json_skip(j, 1);
    if (j->rest.n == 0 || *j->rest.p != c)
        return false;
    json_skip(j, 1);
    return true;
}

/* "00e9" behind a backslash and u. */
static bool json_take_code_unit(struct json *j, uint32_t *ret) {
    *ret = 0;
    if (j->rest.n < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = j->rest.p[i];
        const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;
        if (!at)
            return false;
        *ret = *ret << 4 | (uint32_t)((at - digits) & 15);
    }
    json_skip(j, 4);
    return true;
}

static void json_put_utf8(struct json *j, uint32_t c) {
    if (c < 0x80) {
        *j->out++ = (char)c;
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    *j->out++ = (char)(leads[more] | c >> (6 * more));
    while (more--)
        *j->out++ = (char)(0x80 | ((c >> (6 * more)) & 0x3f));
}

/* A pair of surrogates is one character; half of one is written as the replacement character. */
static bool take_unicode(struct json *j) {
    uint32_t c, low;
    if (!json_take_code_unit(j, &c))
        return false;
    if (c >= 0xd800 && c < 0xdc00 && str_starts(j->rest, STR("\\u"))) {
        struct json ahead = *j;
        json_skip(&ahead, 2);
        if (json_take_code_unit(&ahead, &low) && low >= 0xdc00 && low < 0xe000) {
            *j = ahead;
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    json_put_utf8(j, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return true;
}

static bool take_escape(struct json *j) {
    static const char names[] = "bfnrt", means[] = "\b\f\n\r\t";
    if (j->rest.n == 0)
        return false;
    char c = *j->rest.p;
    const char *at = c ? strchr(names, c) : NULL;
    json_skip(j, 1);
    if (c == 'u')
        return take_unicode(j);
    *j->out++ = at ? means[at - names] : c;
    return true;
}

/* Behind the opening quote. */
static bool take_string(struct json *j, struct str *ret) {
    char *from = j->out;
    while (j->rest.n) {
        char c = *j->rest.p;
        json_skip(j, 1);
        if (c == '"') {
            *ret = str_bytes(from, (size_t)(j->out - from));
            return true;
        }
        if (c != '\\')
            *j->out++ = c;
        else if (!take_escape(j))
            return false;
    }
    return false;
}

static bool take_scalar(struct json *j, struct filter_token *t) {
    *t = (struct filter_token){.kind = FILTER_TEXT};
    if (json_take(j, '"'))
        return take_string(j, &t->text);
    size_t n = 0;
    while (n < j->rest.n && !strchr(" \t\r\n,]", j->rest.p[n]))
        n++;
    t->text = str_bytes(j->rest.p, n);
    t->kind = str_is(t->text, "true") || str_is(t->text, "false") ? FILTER_NAME : FILTER_NUMBER;
    json_skip(j, n);
    return n > 0;
}

static void attribute_add_value(E__IndexedValueType type, const struct filter_token *t, struct attribute *ret,
                                struct value *values) {
    struct value v;
    if (filter_value("", type, t, &v, NULL) == 0)
        values[ret->count++] = v;
}

static size_t values_max(const ProtobufCBinaryData *data) {
    size_t n = 1;
    for (size_t i = 0; i < data->len; i++)
        n += data->data[i] == ',';
    return n;
}

int attribute_values(struct arena *a, E__IndexedValueType type, const Common__Payload *p,
                     struct attribute *ret) {
    struct filter_token t;
    ret->values = NULL;
    ret->count = 0;
    if (!p || merge_is_null(p))
        return 0;
    struct json j = {pb_bytes(&p->data), arena_alloc(a, p->data.len + 1)};
    struct value *values = arena_array(a, struct value, values_max(&p->data));
    if (!j.out || !values)
        return ERR_NO_MEMORY;
    ret->values = values;
    if (!json_take(&j, '[')) {
        if (take_scalar(&j, &t))
            attribute_add_value(type, &t, ret, values);
    } else {
        do {
            if (take_scalar(&j, &t))
                attribute_add_value(type, &t, ret, values);
        } while (json_take(&j, ','));
    }
    if (type == INDEXED_VALUE_TYPE_TEXT && ret->count)
        return attribute_words(a, values[0].text, ret);
    return 0;
}
