/* A client of a server in another process: calls over HTTP/2 as gRPC, requests over HTTP/1.1. */
#pragma once

#include "base/buf.h"
#include "client/client.h"
#include "script.h"

struct caller {
    struct loop *loop;
    struct client *client;
    uint16_t http_port;
};

enum answer_kind {
    ANSWER_GIVEN, /* whatever it says */
    ANSWER_LATER, /* that there is no memory, or that it is not available: ask again */
    ANSWER_NONE, /* the connection or the stream ended without one */
};

struct answer {
    enum answer_kind kind;
    struct buf text; /* code or status, then the message as JSON, or the text of an error */
};

void caller_open(struct caller *c, uint16_t grpc_port, uint16_t http_port);
void caller_close(struct caller *c);
/* `ret` is initialised, and done by the one who asks. */
void caller_ask(struct caller *c, const struct step *step, struct str path, struct str body, struct answer *ret);
