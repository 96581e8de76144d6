/* Base64 (RFC 4648) as in proto3 JSON: written with the standard alphabet and padding, read with the standard
 * or the URL alphabet, with or without padding. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

/* Appends the encoded bytes. Fails as the buffer does. */
void base64_add(struct buf *b, struct str bytes);
/* Decodes into the arena. ERR_INVALID, ERR_NO_MEMORY. */
int base64_read(struct arena *a, struct str text, struct str *ret) must_check;
