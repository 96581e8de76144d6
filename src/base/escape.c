/* Escapes text for JSON strings (RFC 8259).
 *
 * Runs of characters that need no escape are copied at once; this is the usual case. Fails only as the
 * buffer does. */
#include "base/escape.h"

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

char escape_json_letter(unsigned char c) {
    switch (c) {
    case '\b':
        return 'b';
    case '\t':
        return 't';
    case '\n':
        return 'n';
    case '\f':
        return 'f';
    case '\r':
        return 'r';
    case '"':
    case '\\':
        return (char)c;
    default:
        return 0;
    }
}

/* The number of bytes at the front that need no escape. */
static size_t escape_plain_len(struct str text) {
    size_t n = 0;
    while (n < text.n) {
        unsigned char c = (unsigned char)text.p[n];
        size_t len = c < 0x80 ? 1 : utf8_char_len(str_bytes(text.p + n, text.n - n));
        if (c < ' ' || c == '"' || c == '\\' || len == 0)
            break;
        n += len;
    }
    return n;
}

/* One byte that cannot stand as it is. */
static void escape_json_byte(struct buf *out, unsigned char c) {
    char letter = escape_json_letter(c);
    if (letter)
        buf_printf(out, "\\%c", letter);
    else if (c < 0x80)
        buf_printf(out, "\\u%04x", c);
    else
        buf_add_cstr(out, UTF8_REPLACEMENT);
}

void escape_json(struct buf *out, struct str text) {
    while (text.n > 0) {
        size_t n = escape_plain_len(text);
        buf_add(out, text.p, n);
        text = str_bytes(text.p + n, text.n - n);
        if (text.n == 0)
            break;
        escape_json_byte(out, (unsigned char)text.p[0]);
        text = str_bytes(text.p + 1, text.n - 1);
    }
}

void escape_json_quoted(struct buf *out, struct str text) {
    buf_add_u8(out, '"');
    escape_json(out, text);
    buf_add_u8(out, '"');
}
