/* Calls of Mistral's dialect.
 *
 * The dialect makes request messages and reads answer messages, so there are
 * no bytes to translate. A request names its method by its type: no two
 * methods that the dialect uses take the same.
 *
 * Happy path: the dialect's call gets a call of ingress beside it, in its
 * arena. The handler ends that one; its answer is copied to the arena, since
 * the engine's message does not outlive the reply, and handed over. When there
 * is no memory for the copy, the dialect's call fails and the tasks in the
 * answer go back. */
#include "serve/bridge.h"

#include "base/buf.h"
#include "serve/ingress.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define ANSWER_BUDGET ((size_t)256 << 20) /* what an answer of the largest size unfolds to */

/* One call. Lives in the arena of the dialect's call. */
struct bridge_call {
    struct ingress_call ingress;
    struct call *asker; /* the dialect's call */
    ProtobufCMessage *answer; /* between translate() and send() */
};

static struct bridge_call *bridge_call_of(struct ingress_call *k) {
    return container_of(k, struct bridge_call, ingress);
}

static int bridge_translate(struct ingress_call *k, const ProtobufCMessage *m, struct str tail,
                            struct err *reterr) {
    struct bridge_call *b = bridge_call_of(k);
    struct buf packed cleanup(buf_done);
    buf_init(&packed, ANSWER_BUDGET);
    wire_encode(&packed, m);
    buf_add_str(&packed, tail);
    if (!buf_ok(&packed))
        return err_std(reterr, ERR_NO_MEMORY);
    return wire_decode(m->descriptor, buf_str(&packed), b->asker->arena, &b->answer, reterr);
}

static void bridge_send(struct ingress_call *k) {
    struct bridge_call *b = bridge_call_of(k);
    call_reply(b->asker, b->answer);
}

static void bridge_fail(struct ingress_call *k, const struct err *e) {
    call_fail(bridge_call_of(k)->asker, e);
}

static const struct ingress_translator bridge_translator = {
    .origin = INGRESS_MISTRAL, .translate = bridge_translate, .send = bridge_send, .fail = bridge_fail};

static const struct method *bridge_find_method(const ProtobufCMessage *request) {
    const struct method *m = NULL;
    for (size_t i = 0; (m = method_at(i)) && m->request != request->descriptor;)
        i++;
    ensure(m);
    return m;
}

static void *bridge_start(void *ctx, struct call *asker, const ProtobufCMessage *request) {
    struct ingress *in = ctx;
    struct bridge_call *b = NULL;
    const struct method *method;
    struct err e;
    int rc = ingress_find(in, INGRESS_MISTRAL, str_of(bridge_find_method(request)->path), &method, &e);
    if (rc == 0 && !(b = arena_new(asker->arena, struct bridge_call)))
        rc = err_std(&e, ERR_NO_MEMORY);
    if (rc < 0) {
        call_fail(asker, &e);
        return NULL;
    }
    b->asker = asker;
    ingress_begin(in, &b->ingress, &bridge_translator, method, asker->arena);
    b->ingress.call.deadline = asker->deadline;
    b->ingress.call.reads_unwritten = asker->reads_unwritten;
    if (ingress_check_size(&b->ingress, request, &e) < 0)
        call_fail(&b->ingress.call, &e);
    else
        ingress_run(&b->ingress, request);
    return b;
}

static void bridge_cancel(void *ctx unused_arg, void *started) {
    struct bridge_call *b = started;
    ingress_cancel(&b->ingress);
}

static bool bridge_is_draining(void *ctx) {
    return ingress_is_closed(ctx, INGRESS_MISTRAL);
}

struct mistral_server bridge_server(struct ingress *in) {
    return (struct mistral_server){bridge_start, bridge_cancel, bridge_is_draining, in};
}
