/* The gRPC envelope: length-prefixed messages, gzip, timeouts, header texts. Pure functions, any thread. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define GRPC_MESSAGE_BYTES_MAX (4u << 20) /* the default of grpc servers, which SDKs assume */
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

/* Reads a grpc-timeout: "30000000u", "10S". Units H M S m u n, at most 8 digits; ERR_INVALID otherwise.
 * Rounds up to a microsecond. */
int grpc_timeout_parse(struct str value, int64_t *ret_us) must_check;
/* Writes a grpc-timeout in the finest unit that fits into 8 digits, rounded up. Returns its length. */
#define GRPC_TIMEOUT_MAX 12
size_t grpc_timeout_format(int64_t us, char text[GRPC_TIMEOUT_MAX]);

/* Takes the one message out of a unary request body and inflates it when its flag says so (`encoding` must
 * be gzip then). The result points into the body or into the arena. `max` limits the message before and after
 * inflation. ERR_TOO_LARGE, with the texts that SDKs recognize; ERR_INVALID for a broken frame and for bytes
 * after it; ERR_UNIMPLEMENTED for an encoding other than gzip and identity; ERR_NO_MEMORY. */
int grpc_unframe(struct str body, struct str encoding, size_t max, struct arena *a, struct str *ret,
                 struct err *reterr) must_check;
/* Inflates gzip data into the arena. ERR_TOO_LARGE above max bytes, ERR_INVALID, ERR_NO_MEMORY. */
int grpc_gunzip(struct str packed, size_t max, struct arena *a, struct str *ret,
                struct err *reterr) must_check;
/* Fills the error for a message of `size` bytes over `max`, in the words of grpc servers. Returns
 * ERR_TOO_LARGE. */
int grpc_too_large(struct err *reterr, size_t size, size_t max);

/* Begin reserves the prefix of a frame and returns its offset in the buffer. Pack the message behind it, then
 * end the frame. GRPC_GZIP compresses the message when that makes it smaller. ERR_NO_MEMORY when the buffer
 * has failed, ERR_TOO_LARGE above 4 GiB. */
enum grpc_packing { GRPC_PLAIN, GRPC_GZIP };
size_t grpc_frame_begin(struct buf *b);
int grpc_frame_end(struct buf *b, size_t begin, enum grpc_packing packing) must_check;
/* Whether a grpc-accept-encoding value lists gzip. */
bool grpc_accepts_gzip(struct str accept_encoding);

/* For grpc-message: percent-encodes '%' and all but printable ASCII. NUL-terminated, in the arena; NULL when
 * the arena is exhausted. */
char *grpc_message_encode(struct arena *a, const char *text) must_check;
/* Decodes a grpc-message. A '%' without two hexadecimal digits behind it stays. */
char *grpc_message_decode(struct arena *a, struct str text) must_check;
/* Base64 without padding, for -bin headers. NULL when the arena is exhausted. */
char *grpc_bin_encode(struct arena *a, struct str bytes) must_check;
/* Decodes base64 with or without padding. ERR_INVALID, ERR_NO_MEMORY. */
int grpc_bin_decode(struct arena *a, struct str text, struct str *ret) must_check;
