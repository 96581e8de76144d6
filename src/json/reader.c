/* The strict lexer of RFC 8259: no comments, no trailing commas, only numbers of the grammar. Each function
 * skips white space, then reads its value. Fails with ERR_INVALID and sets `mistake`. */
#include "json/reader.h"

#include "base/hex.h"

#define ESCAPE_DIGITS 4
#define SURROGATE_FIRST 0xd800u
#define SURROGATE_LOW 0xdc00u
#define SURROGATE_LAST 0xdfffu

static int reader_refuse(struct json_reader *r, const char *mistake) {
    r->mistake = mistake;
    return ERR_INVALID;
}

void reader_init(struct json_reader *r, struct str text) {
    *r = (struct json_reader){.text = text};
}

static char reader_peek(const struct json_reader *r) {
    return r->at < r->text.n ? r->text.p[r->at] : '\0';
}

static char reader_skip_space(struct json_reader *r) {
    while (r->at < r->text.n && memchr(" \t\r\n", r->text.p[r->at], 4))
        r->at++;
    return reader_peek(r);
}

enum json_kind reader_kind(struct json_reader *r) {
    switch (reader_skip_space(r)) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case 'n':
        return JSON_NULL;
    case '-':
    case '0' ... '9':
        return JSON_NUMBER;
    default:
        return JSON_NOTHING;
    }
}

/* Arrays and objects. */

int reader_enter(struct json_reader *r, struct json_items *items) {
    char open = reader_skip_space(r);
    if (open != '[' && open != '{')
        return reader_refuse(r, "expected an array or an object");
    if (r->depth == JSON_DEPTH_MAX)
        return reader_refuse(r, "nested too deeply");
    r->depth++;
    r->at++;
    *items = (struct json_items){.close = open == '[' ? ']' : '}'};
    return 0;
}

int reader_next(struct json_reader *r, struct json_items *items, bool *ret_has_more) {
    char c = reader_skip_space(r);
    if (c == items->close) {
        r->at++;
        r->depth--;
        *ret_has_more = false;
        return 0;
    }
    if (items->has_begun) {
        if (c != ',')
            return reader_refuse(r, items->close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
        r->at++;
    }
    items->has_begun = true;
    *ret_has_more = true;
    return 0;
}

/* Strings. */

/* Reads four hexadecimal digits at p. */
static bool reader_hex_escape(const char *p, const char *end, uint32_t *ret) {
    uint32_t v = 0;
    if (end - p < ESCAPE_DIGITS)
        return false;
    for (int i = 0; i < ESCAPE_DIGITS; i++) {
        int digit = hex_digit_value(p[i]);
        if (digit < 0)
            return false;
        v = v << 4 | (uint32_t)digit;
    }
    *ret = v;
    return true;
}

/* Skips one escape; r->at is at the backslash. */
static int reader_skip_escape(struct json_reader *r) {
    const char *p = r->text.p + r->at + 1, *end = r->text.p + r->text.n;
    uint32_t unit;
    if (p == end)
        return reader_refuse(r, "the text ends inside a string");
    if (*p == 'u') {
        if (!reader_hex_escape(p + 1, end, &unit))
            return reader_refuse(r, "\\u needs four hexadecimal digits");
        r->at += 2 + ESCAPE_DIGITS;
        return 0;
    }
    if (!*p || !strchr("\"\\/bfnrt", *p))
        return reader_refuse(r, "unknown escape in a string");
    r->at += 2;
    return 0;
}

static int reader_raw_string(struct json_reader *r, struct str *ret) {
    if (reader_skip_space(r) != '"')
        return reader_refuse(r, "expected a string");
    size_t begin = r->at++;
    while (r->at < r->text.n && r->text.p[r->at] != '"') {
        if ((unsigned char)r->text.p[r->at] < ' ')
            return reader_refuse(r, "control characters in a string must be escaped");
        if (r->text.p[r->at] != '\\') {
            r->at++;
            continue;
        }
        int rc = reader_skip_escape(r);
        if (rc < 0)
            return rc;
    }
    if (r->at >= r->text.n)
        return reader_refuse(r, "the text ends inside a string");
    r->at++;
    *ret = str_bytes(r->text.p + begin, r->at - begin);
    return 0;
}

static char *reader_put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* Reads one code point from \uXXXX or a surrogate pair; p is behind the first 'u'. NULL for half a pair. */
static const char *reader_take_code_point(const char *p, const char *end, uint32_t *ret) {
    uint32_t high, low;
    if (!reader_hex_escape(p, end, &high))
        return NULL;
    p += ESCAPE_DIGITS;
    *ret = high;
    if (high < SURROGATE_FIRST || high > SURROGATE_LAST)
        return p;
    if (high >= SURROGATE_LOW || end - p < 2 + ESCAPE_DIGITS || p[0] != '\\' || p[1] != 'u' ||
        !reader_hex_escape(p + 2, end, &low) || low < SURROGATE_LOW || low > SURROGATE_LAST)
        return NULL;
    *ret = 0x10000 + ((high - SURROGATE_FIRST) << 10) + (low - SURROGATE_LOW);
    return p + 2 + ESCAPE_DIGITS;
}

static char reader_plain_escape(char c) {
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

/* Decodes the inside of a string that reader_raw_string() has checked. Decoded text is never longer. */
static int reader_unescape(struct json_reader *r, struct arena *a, struct str raw, struct str *ret) {
    const char *p = raw.p, *end = raw.p + raw.n;
    char *out = arena_alloc(a, raw.n), *to = out;
    uint32_t c;
    if (!out)
        return ERR_NO_MEMORY;
    while (p < end) {
        if (*p != '\\') {
            *to++ = *p++;
        } else if (p[1] != 'u') {
            *to++ = reader_plain_escape(p[1]);
            p += 2;
        } else {
            p = reader_take_code_point(p + 2, end, &c);
            if (!p)
                return reader_refuse(r, "half of a surrogate pair in a string");
            to = reader_put_utf8(to, c);
        }
    }
    *ret = str_bytes(out, (size_t)(to - out));
    return 0;
}

int reader_string(struct json_reader *r, struct arena *a, struct str *ret) {
    struct str raw;
    int rc = reader_raw_string(r, &raw);
    if (rc < 0)
        return rc;
    raw = str_bytes(raw.p + 1, raw.n - 2);
    if (raw.n && memchr(raw.p, '\\', raw.n))
        return reader_unescape(r, a, raw, ret);
    *ret = raw;
    return 0;
}

/* Names. */

static int reader_skip_colon(struct json_reader *r) {
    if (reader_skip_space(r) != ':')
        return reader_refuse(r, "expected ':'");
    r->at++;
    return 0;
}

int reader_key(struct json_reader *r, struct arena *a, struct str *ret) {
    if (reader_skip_space(r) != '"')
        return reader_refuse(r, "expected a name in quotes");
    int rc = reader_string(r, a, ret);
    return rc < 0 ? rc : reader_skip_colon(r);
}

int reader_raw_name(struct json_reader *r, struct str *ret) {
    if (reader_skip_space(r) != '"')
        return reader_refuse(r, "expected a name in quotes");
    int rc = reader_raw_string(r, ret);
    return rc < 0 ? rc : reader_skip_colon(r);
}

/* Numbers and words. */

static size_t reader_skip_digits(struct json_reader *r) {
    size_t begin = r->at;
    while (reader_peek(r) >= '0' && reader_peek(r) <= '9')
        r->at++;
    return r->at - begin;
}

int reader_number(struct json_reader *r, struct str *ret) {
    (void)reader_skip_space(r); /* the next character is checked below */
    size_t begin = r->at;
    if (reader_peek(r) == '-')
        r->at++;
    size_t first = r->at;
    size_t digits = reader_skip_digits(r);
    if (digits == 0 || (digits > 1 && r->text.p[first] == '0'))
        return reader_refuse(r, "not a number as JSON writes it");
    if (reader_peek(r) == '.') {
        r->at++;
        if (reader_skip_digits(r) == 0)
            return reader_refuse(r, "expected digits after the point");
    }
    if (reader_peek(r) == 'e' || reader_peek(r) == 'E') {
        r->at++;
        if (reader_peek(r) == '+' || reader_peek(r) == '-')
            r->at++;
        if (reader_skip_digits(r) == 0)
            return reader_refuse(r, "expected digits in the exponent");
    }
    *ret = str_bytes(r->text.p + begin, r->at - begin);
    return 0;
}

static bool reader_take_word(struct json_reader *r, struct str word) {
    (void)reader_skip_space(r); /* the next character is checked below */
    if (!str_starts(str_bytes(r->text.p + r->at, r->text.n - r->at), word))
        return false;
    r->at += word.n;
    return true;
}

int reader_bool(struct json_reader *r, bool *ret) {
    if (reader_take_word(r, STR("true"))) {
        *ret = true;
        return 0;
    }
    if (!reader_take_word(r, STR("false")))
        return reader_refuse(r, "expected true or false");
    *ret = false;
    return 0;
}

int reader_null(struct json_reader *r) {
    return reader_take_word(r, STR("null")) ? 0 : reader_refuse(r, "expected null");
}

/* Whole values. */

static int reader_skip_items(struct json_reader *r, enum json_kind kind) {
    struct json_items items;
    struct str name;
    bool has_more;
    int rc = reader_enter(r, &items);
    while (rc == 0 && (rc = reader_next(r, &items, &has_more)) == 0 && has_more) {
        if (kind == JSON_OBJECT && (rc = reader_raw_name(r, &name)) < 0)
            return rc;
        rc = reader_skip(r, NULL);
    }
    return rc;
}

static int reader_skip_value(struct json_reader *r, enum json_kind kind) {
    struct str text;
    bool flag;
    switch (kind) {
    case JSON_NOTHING:
        return reader_refuse(r, "expected a value");
    case JSON_NULL:
        return reader_null(r);
    case JSON_BOOL:
        return reader_bool(r, &flag);
    case JSON_NUMBER:
        return reader_number(r, &text);
    case JSON_STRING:
        return reader_raw_string(r, &text);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return reader_skip_items(r, kind);
    }
    return 0;
}

int reader_skip(struct json_reader *r, struct str *ret) {
    enum json_kind kind = reader_kind(r);
    size_t begin = r->at;
    int rc = reader_skip_value(r, kind);
    if (rc == 0 && ret)
        *ret = str_bytes(r->text.p + begin, r->at - begin);
    return rc;
}

int reader_end(struct json_reader *r) {
    (void)reader_skip_space(r); /* the position is checked below */
    return r->at == r->text.n ? 0 : reader_refuse(r, "text after the value");
}

struct json_place reader_place(const struct json_reader *r) {
    struct json_place place = {1, 1};
    for (size_t i = 0; i < r->at; i++) {
        place.column++;
        if (r->text.p[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}
