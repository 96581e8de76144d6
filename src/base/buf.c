/* Bytes that grow by doubling, up to their maximum.
 *
 * One byte more than len is always allocated. So data is not NULL once bytes were added, and formatted text
 * has room for its terminator. A growth that fails leaves the bytes unchanged and sets failed. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define BUF_CAP_MIN ((size_t)64)
#define SHORT_TEXT_MAX 128

void buf_init(struct buf *b, size_t max) {
    *b = (struct buf){.max = MIN(max, SIZE_MAX / 4)};
}

void buf_done(struct buf *b) {
    mem_free(b->data);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b) {
    b->len = 0;
    b->failed = false;
}

static bool buf_reserve(struct buf *b, size_t n) {
    if (b->failed)
        return false;
    if (n > b->max - b->len) {
        b->failed = true;
        return false;
    }
    size_t need = b->len + n + 1;
    if (need <= b->cap)
        return true;
    size_t cap = MIN(MAX(MAX(b->cap * 2, need), BUF_CAP_MIN), b->max + 1);
    uint8_t *data = mem_resize(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

uint8_t *buf_extend(struct buf *b, size_t n) {
    if (!buf_reserve(b, n))
        return NULL;
    uint8_t *end = b->data + b->len;
    b->len += n;
    return end;
}

void buf_add(struct buf *b, const void *p, size_t n) {
    uint8_t *end = buf_extend(b, n);
    if (end && n)
        memcpy(end, p, n);
}

void buf_add_str(struct buf *b, struct str s) {
    buf_add(b, s.p, s.n);
}

void buf_add_cstr(struct buf *b, const char *s) {
    buf_add(b, s, strlen(s));
}

void buf_add_u8(struct buf *b, uint8_t v) {
    buf_add(b, &v, 1);
}

void buf_add_u32be(struct buf *b, uint32_t v) {
    const uint8_t bytes[] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    buf_add(b, bytes, sizeof(bytes));
}

/* Most texts are short: format on the stack, then copy. A longer text is formatted twice. */
void buf_printf(struct buf *b, const char *fmt, ...) {
    char guess[SHORT_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(guess, sizeof(guess), fmt, args);
    va_end(args);
    if (len < 0) {
        b->failed = true;
        return;
    }
    uint8_t *end = buf_extend(b, (size_t)len);
    if (!end)
        return;
    if ((size_t)len < sizeof(guess)) {
        memcpy(end, guess, (size_t)len + 1);
        return;
    }
    va_start(args, fmt);
    vsnprintf((char *)end, (size_t)len + 1, fmt, args);
    va_end(args);
}

void buf_drop_front(struct buf *b, size_t n) {
    ensure(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len);
}

void buf_truncate(struct buf *b, size_t len) {
    ensure(len <= b->len);
    b->len = len;
}

/* After a failure the bytes are incomplete: they are freed, and the result is NULL. */
uint8_t *buf_take(struct buf *b, size_t *ret_len) {
    uint8_t *data = NULL;
    *ret_len = 0;
    if (!b->failed) {
        *ret_len = b->len;
        data = take(&b->data);
    }
    buf_done(b);
    return data;
}
