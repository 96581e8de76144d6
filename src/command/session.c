/* The connection of a command, and calls over it one at a time.
 *
 * Happy path: session_open() reads the flags of the connection; the first call connects; each response is
 * handed over in an arena of the caller's. A server that says no is one line on stderr with its text and,
 * where there is one, what to do about it. */
#include "base/mem.h"
#include "cal/duration.h"
#include "command/command_int.h"
#include "core/pb.h"

struct session {
    struct loop *loop;
    struct client *client;
    int64_t timeout_us;
};

struct session *session_make(void) {
    return mem_zalloc(sizeof(struct session));
}

void session_free(struct session *s) {
    if (!s)
        return;
    client_free(s->client);
    loop_free(s->loop);
    mem_free(s);
}

struct loop *session_loop(const struct command *c) {
    return c->session->loop;
}

enum command_exit session_open(struct command *c) {
    struct session *s = c->session;
    struct err e;
    const char *timeout = flag_named(c->args, "command-timeout");
    if (s->client)
        return COMMAND_DONE;
    if (duration_parse_units(str_of(timeout), &s->timeout_us) < 0 || s->timeout_us <= 0) {
        say("--command-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m", timeout);
        return COMMAND_MISUSED;
    }
    if (!s->loop && loop_new(&s->loop) < 0) {
        say("out of memory");
        return COMMAND_REFUSED;
    }
    if (client_new(s->loop, flag_named(c->args, "address"), &s->client, &e) < 0) {
        say("--address: %s", e.text);
        return COMMAND_MISUSED;
    }
    return COMMAND_DONE;
}

struct asking {
    const struct command *command;
    const struct session_ask *ask;
    struct arena *arena;
    ProtobufCMessage *message;
    enum command_exit exit;
};

static const char *hint_of(enum grpc_code code) {
    switch ((int)code) {
    case GRPC_UNAVAILABLE:
        return "is a server running there? Start one with: rondo server start-dev, or give --address";
    case GRPC_DEADLINE_EXCEEDED:
        return "allow more time with --command-timeout; look before you repeat what changes something";
    case GRPC_UNIMPLEMENTED:
        return "this server does not offer that";
    default:
        return NULL;
    }
}

static void on_refusal(struct asking *q, const struct client_reply *r) {
    const char *hint = hint_of(r->code);
    const char *text = *r->text ? r->text : "no reason given";
    bool is_unreached = r->code == GRPC_UNAVAILABLE && r->is_unseen;
    q->exit = is_unreached ? COMMAND_UNREACHED : COMMAND_REFUSED;
    if (is_unreached)
        say("cannot reach %s: %s; %s", flag_named(q->command->args, "address"), text, hint);
    else
        say("%s%s%s", text, hint ? "; " : "", hint ? hint : "");
}

static void on_reply(void *ctx, const struct client_reply *r) {
    struct asking *q = ctx;
    q->exit = COMMAND_DONE;
    if (r->code != GRPC_OK && r->code == q->ask->expected)
        return;
    if (r->code != GRPC_OK) {
        on_refusal(q, r);
        return;
    }
    q->message = pb_arena_clone(r->message, q->arena); /* the reply's memory ends with it */
    if (!q->message) {
        q->exit = COMMAND_REFUSED;
        say("the answer is too large to show");
    }
}

enum command_exit session_call(struct command *c, const struct session_ask *ask, struct arena *a,
                               ProtobufCMessage **ret) {
    enum command_exit code = session_open(c);
    struct asking q = {.command = c, .ask = ask, .arena = a, .exit = COMMAND_REFUSED};
    if (code != COMMAND_DONE)
        return code;
    struct client_ask call = {.method = ask->method,
                              .request = ask->request,
                              .timeout_us = c->session->timeout_us,
                              .on_reply = on_reply,
                              .ctx = &q};
    if (client_call_wait(c->session->client, &call) < 0)
        say("the call could not be made: out of memory, or the request is too large");
    if (q.exit == COMMAND_DONE)
        *ret = q.message;
    return q.exit;
}
