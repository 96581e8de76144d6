/* The other end of the connection: raw frames for attacks, a well-behaved client for the rest. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

#define SERVICE "/temporal.api.workflowservice.v1.WorkflowService/"
#define FRAME_MAX 16384

struct question {
    const char *path;
    const char *content_type; /* NULL: application/grpc */
    const char *encoding; /* grpc-encoding; NULL: none */
    struct str body; /* with its gRPC prefix */
};

struct reply {
    int http_status; /* 0: none came */
    int grpc_status; /* -1: none came */
    bool is_reset; /* the stream ended with an error code */
};

int peer_dial(uint16_t port); /* -1 when refused; reads and writes give up after some seconds */
bool peer_send(int fd, struct str bytes);
bool peer_is_closed(int fd); /* reads until the server closes; false when it does not */
bool peer_syncs(int fd, uint8_t mark); /* a PING comes back: all that was sent before has been read */

void frame_add(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream_id, struct str payload);
/* The preface and SETTINGS; window: what the server may send on each stream. */
void frame_add_greeting(struct buf *b, uint32_t window);
/* A request's HEADERS, without END_STREAM unless the flags say so. */
void frame_add_request(struct buf *b, uint32_t stream_id, const char *path, uint8_t flags);

bool peer_ask(uint16_t port, const struct question *q, struct reply *ret); /* on a connection of its own */
bool peer_gets_system_info(uint16_t port); /* what every good client gets */
bool peer_gets_health(uint16_t http_port); /* the same over HTTP/1.1 */
