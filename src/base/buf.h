/* A growing byte buffer with a maximum size.
 *
 * Sticky: after a failed growth every further call does nothing, and buf_ok() is false until buf_clear().
 * Write without checks and call buf_ok() once at the end. */
#pragma once

#include <stdarg.h>

#include "base/base.h"
#include "base/str.h"

struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max; /* bytes; growing past it fails */
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* empties it, keeps the memory, resets the failure */

void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_str(struct buf *b, struct str s);
void buf_add_cstr(struct buf *b, const char *s);
void buf_add_u8(struct buf *b, uint8_t v);
void buf_add_u32be(struct buf *b, uint32_t v);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);

/* Adds n bytes to len and returns them for writing; NULL after a failure. Growing moves the data, so the
 * pointer is valid until the next call. */
uint8_t *buf_extend(struct buf *b, size_t n) must_check;
void buf_drop_front(struct buf *b, size_t n);
void buf_truncate(struct buf *b, size_t len);
/* Moves the bytes to the caller, who must mem_free them, and empties the buffer. NULL after a failure. */
uint8_t *buf_take(struct buf *b, size_t *ret_len) must_check;

static inline bool buf_ok(const struct buf *b) {
    return !b->failed;
}
static inline struct str buf_str(const struct buf *b) {
    return str_bytes(b->data, b->len);
}
