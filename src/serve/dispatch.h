/* gRPC: from a whole HTTP/2 request to a call of the engine, and its answer back.
 *
 * One dispatch belongs to one server. It is the handler of the server's
 * h2_server; everything runs on the loop thread. */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "net/h2.h"
#include "serve/methods.h"
#include "serve/traffic.h"

struct engine;

struct dispatch {
    struct engine *engine; /* not owned; NULL once it is gone: then nothing is called any more */
    struct log *log;
    struct loop *loop; /* not owned */
    struct methods methods;
    const char *store_name; /* "sqlite", "memory": what GetClusterInfo says */
    bool is_draining;
    struct list lost_tasks;
    struct list watches; /* calls that hear when the server stops */
    struct traffic traffic;
};

int dispatch_init(struct dispatch *d, struct log *log, const char *store_name,
                  uint64_t seed) must_check; /* ERR_NO_MEMORY */
void dispatch_done(struct dispatch *d);

struct h2_handler dispatch_handler(struct dispatch *d);

/* For methods with more than one answer: sends one. The call goes on, until call_fail(). False when there was
 * no memory for it; then the call has failed. */
bool dispatch_send(struct call *c, const ProtobufCMessage *m) must_check;
/* Lets `tell` end this call when the server begins to stop. */
void dispatch_watch(struct dispatch *d, struct call *c, void (*tell)(struct call *c));
void dispatch_drain(struct dispatch *d);

/* Tasks whose answers never left go back to the engine. At the end of a loop turn, because the
 * news of a lost answer can come while the engine is in the middle of giving others. */
void dispatch_return_lost(struct dispatch *d);
