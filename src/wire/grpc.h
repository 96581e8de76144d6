/* The gRPC envelope: length-prefixed messages, gzip, timeouts, status texts. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define GRPC_MESSAGE_BYTES_MAX (4u << 20) /* what grpc servers accept by default; SDKs know it */
#define GRPC_PREFIX_LEN 5

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
};

/* "30000000u", "10S", ...: all six units (H M S m u n), at most 8 digits. ERR_INVALID otherwise.
 * *ret_us is rounded up to a microsecond. */
int grpc_timeout_parse(struct str value, int64_t *ret_us) must_check;
/* The way back, in the finest unit that fits; rounded up, never above what was asked by a thousandth. */
#define GRPC_TIMEOUT_MAX 12
size_t grpc_timeout_format(int64_t us, char text[GRPC_TIMEOUT_MAX]);

/* The one message of a unary request body, inflated when its flag says so (then `encoding` must be
 * gzip). The result points into the body or into the arena. max bounds the message before and after
 * inflation: ERR_TOO_LARGE with the texts that SDKs recognise. Trailing bytes or a second message:
 * ERR_INVALID. ERR_UNIMPLEMENTED for an encoding other than gzip or identity. */
int grpc_unframe(struct str body, struct str encoding, size_t max, struct arena *a, struct str *ret,
                 struct err *reterr) must_check;
/* What gzip packed, into the arena; at most max bytes of it. ERR_TOO_LARGE, ERR_INVALID, ERR_NO_MEMORY. */
int grpc_gunzip(struct str packed, size_t max, struct arena *a, struct str *ret,
                struct err *reterr) must_check;
/* The text for a message of `size` bytes over `max`, as grpc servers word it. */
int grpc_too_large(struct err *reterr, size_t size, size_t max);

/* Starts a framed message: reserves the prefix. Pack the message behind it, then close the frame;
 * closing compresses with gzip when asked and when it helps. */
size_t grpc_frame_begin(struct buf *b);
int grpc_frame_end(struct buf *b, size_t begin, bool gzip) must_check;
/* Whether a grpc-accept-encoding value lists gzip. */
bool grpc_accepts_gzip(struct str accept_encoding);

/* grpc-message: percent-encodes all but printable ASCII (and '%'). Into the arena, NUL-terminated. */
char *grpc_message_encode(struct arena *a, const char *text) must_check;
/* The way back; a '%' that no two hex digits follow stays as it is. */
char *grpc_message_decode(struct arena *a, struct str text) must_check;
/* Base64 without padding, for -bin headers. */
char *grpc_bin_encode(struct arena *a, struct str bytes) must_check;
/* The way back, with or without padding. ERR_INVALID, ERR_NO_MEMORY. */
int grpc_bin_decode(struct arena *a, struct str text, struct str *ret) must_check;
