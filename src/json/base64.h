/* Base64 (RFC 4648), as proto3 JSON has it: written with the standard alphabet and padding, read with
 * either alphabet, padded or not. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

void base64_add(struct buf *b, struct str bytes);
/* Into the arena. ERR_INVALID, ERR_NO_MEMORY. */
int base64_read(struct arena *a, struct str text, struct str *ret) must_check;
