/* Calls one after the other, for commands that make several: a connection, and answers that stay. */
#include "command/caller.h"

#include "cal/duration.h"
#include "core/pb.h"

enum command_exit caller_open(const struct command *c, struct caller *ret) {
    struct err e;
    const char *timeout = flag_named(c->args, "command-timeout");
    *ret = (struct caller){.command = c};
    if (duration_parse_units(str_of(timeout), &ret->timeout_us) < 0 || ret->timeout_us <= 0) {
        say("--command-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m", timeout);
        return COMMAND_MISUSED;
    }
    if (loop_new(&ret->loop) < 0) {
        say("out of memory");
        return COMMAND_REFUSED;
    }
    if (client_new(ret->loop, flag_named(c->args, "address"), &ret->client, &e) < 0) {
        say("--address: %s", e.text);
        caller_close(ret);
        return COMMAND_MISUSED;
    }
    return COMMAND_DONE;
}

void caller_close(struct caller *k) {
    client_free(k->client);
    loop_free(k->loop);
    *k = (struct caller){0};
}

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

enum command_exit refusal_say(const struct command *c, enum grpc_code code, const char *text,
                              bool is_unseen) {
    const char *hint = hint_of(code);
    if (!*text)
        text = "no reason given";
    if (code == GRPC_UNAVAILABLE && is_unseen) {
        say("cannot reach %s: %s; %s", flag_named(c->args, "address"), text, hint);
        return COMMAND_UNREACHED;
    }
    say("%s%s%s", text, hint ? "; " : "", hint ? hint : "");
    return COMMAND_REFUSED;
}

struct waiting {
    struct arena *arena;
    struct call_answer *answer;
};

static void on_reply(void *ctx, const struct client_reply *r) {
    struct waiting *w = ctx;
    *w->answer = (struct call_answer){.code = r->code, .is_unseen = r->is_unseen};
    w->answer->text = arena_strdup(w->arena, r->text);
    if (r->code == GRPC_OK && !(w->answer->message = pb_arena_clone(r->message, w->arena)))
        *w->answer =
            (struct call_answer){GRPC_RESOURCE_EXHAUSTED, "the answer is too large to show", false, NULL};
    if (!w->answer->text)
        w->answer->text = "";
}

struct call_answer caller_ask(struct caller *k, enum client_method method, const void *request,
                              struct arena *a) {
    struct call_answer answer = {GRPC_RESOURCE_EXHAUSTED,
                                 "the call could not be made: out of memory, or the request is too large",
                                 true, NULL};
    struct waiting w = {a, &answer};
    struct client_ask ask = {
        .method = method, .request = request, .timeout_us = k->timeout_us, .on_reply = on_reply, .ctx = &w};
    (void)!client_call_wait(k->client, &ask); /* then the answer says so */
    return answer;
}

enum command_exit caller_refused(const struct caller *k, const struct call_answer *a) {
    return refusal_say(k->command, a->code, a->text, a->is_unseen);
}
