/* Responses: a message with trailers, a status alone, or plain HTTP for peers that do not speak gRPC.
 * Each of the reply functions but reply_part() ends the request. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/h2.h"

/* Packs, frames and perhaps compresses. ERR_NO_MEMORY, ERR_TOO_LARGE; then ret_body is not set. */
int reply_pack(const ProtobufCMessage *m, struct str tail, bool accepts_gzip, struct buf *ret_body,
               struct err *reterr) must_check;
void reply_message(struct h2_request *r, struct buf *body); /* moves body */
/* The end of an answer in parts, of which there may be none. */
void reply_end(struct h2_request *r);
void reply_part(struct h2_request *r,
                struct buf *body); /* one message of several; moves body, does not end */
void reply_error(struct h2_request *r, const struct err *e);
void reply_http(struct h2_request *r, int status, const char *text);
