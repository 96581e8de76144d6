/* One request on its way through the engine, whoever sent it: a gRPC stream,
 * a test, the simulator.
 *
 * The engine ends a call exactly once, by call_reply() or call_fail(); from
 * then on it does not touch it. Whoever made it may end it earlier with
 * engine_cancel(). Request message and whatever a handler adds live in `arena`
 * until the end. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"

struct call;
struct engine;
struct op;

struct call_ops {
    /* The answer: message, then `tail`, bytes that are already packed fields of the same message. */
    void (*reply)(struct call *c, const ProtobufCMessage *message, struct str tail);
    void (*fail)(struct call *c, const struct err *e);
    /* May be NULL. The call has changed all that it will change, or failed with e; what it did is in the open
     * group. Whatever is stepped now becomes durable together with it; the answer follows. */
    void (*settled)(struct call *c, const struct err *e);
    /* May be NULL. The answer is being read and may have so many bytes; a caller with many calls may hold back
     * the next ones. A later number replaces an earlier one. */
    void (*expect)(struct call *c, size_t bytes);
};

/* A task that rides in an answer. */
struct carried {
    struct carried *next;
    struct str token; /* in the call's arena */
};

struct call {
    const struct call_ops *ops;
    struct arena *arena;
    struct mono deadline; /* CLOCK_NEVER when the caller named none */
    struct op *op; /* the engine's: what this call waits for */
    bool is_settled;
    /* It replays histories, and so reads those of open runs up to the task that is pending, also the events of
     * that task which are only written when it succeeds. */
    bool reads_unwritten;
    /* The tasks in the answer. If it does not reach its caller, they go back with engine_task_lost(). */
    struct carried *carried;
};

static inline void call_reply_with(struct call *c, const ProtobufCMessage *m, struct str tail) {
    c->ops->reply(c, m, tail);
}
static inline void call_reply(struct call *c, const ProtobufCMessage *m) {
    c->ops->reply(c, m, (struct str){NULL, 0});
}
static inline void call_expect(struct call *c, size_t bytes) {
    if (c->ops->expect)
        c->ops->expect(c, bytes);
}
/* A request that needs more than its arena may hold would fail each time: it is refused as too costly, which
 * no client tries again, and not as a shortage of memory. */
void call_fail(struct call *c, const struct err *e);
