/* Three bytes are four characters. A rest at the end is two or three characters, whose unused bits must be
 * zero, so that each sequence of bytes has one form. Encoding fails as the buffer does; decoding fails with
 * ERR_INVALID or ERR_NO_MEMORY. */
#include "json/base64.h"

#include "base/err.h"

#define GROUP_BYTES 3
#define GROUP_CHARS 4

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64_encode_group(const uint8_t *in, size_t n, uint8_t out[GROUP_CHARS]) {
    uint32_t bits = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) | (n > 2 ? in[2] : 0);
    out[0] = (uint8_t)alphabet[bits >> 18 & 63];
    out[1] = (uint8_t)alphabet[bits >> 12 & 63];
    out[2] = n > 1 ? (uint8_t)alphabet[bits >> 6 & 63] : '=';
    out[3] = n > 2 ? (uint8_t)alphabet[bits & 63] : '=';
}

void base64_add(struct buf *b, struct str bytes) {
    const uint8_t *p = (const uint8_t *)bytes.p;
    size_t groups = (bytes.n + GROUP_BYTES - 1) / GROUP_BYTES;
    uint8_t *out = buf_extend(b, groups * GROUP_CHARS);
    if (!out)
        return;
    for (size_t i = 0; i < groups; i++)
        base64_encode_group(p + i * GROUP_BYTES, MIN(GROUP_BYTES, bytes.n - i * GROUP_BYTES),
                            out + i * GROUP_CHARS);
}

static int base64_digit_value(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Padding fills the last group: one or two characters, or none. */
static struct str base64_trim_padding(struct str text) {
    if (text.n % GROUP_CHARS != 0)
        return text;
    for (int i = 0; i < 2 && text.n && text.p[text.n - 1] == '='; i++)
        text.n--;
    return text;
}

int base64_read(struct arena *a, struct str text, struct str *ret) {
    text = base64_trim_padding(text);
    if (text.n % GROUP_CHARS == 1)
        return ERR_INVALID;
    uint8_t *out = arena_alloc(a, text.n / GROUP_CHARS * GROUP_BYTES + GROUP_BYTES);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned held = 0;
    if (!out)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < text.n; i++) {
        int v = base64_digit_value(text.p[i]);
        if (v < 0)
            return ERR_INVALID;
        bits = (bits << 6 | (uint32_t)v) & 0xffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[len++] = (uint8_t)(bits >> held);
        }
    }
    if (bits & ((1u << held) - 1))
        return ERR_INVALID;
    *ret = str_bytes(out, len);
    return 0;
}
