/* Calls one after the other, for commands that make several.
 *
 *   enum command_exit code = caller_open(c, &caller);
 *   struct call_answer a = caller_ask(&caller, CALL_DescribeSchedule, request, &c->arena);
 *   if (a.code != GRPC_OK)
 *       code = caller_refused(&caller, &a);
 *   caller_close(&caller); */
#pragma once

#include "command/command_int.h"

struct caller {
    const struct command *command;
    struct loop *loop;
    struct client *client;
    int64_t timeout_us;
};

/* What came back; in the arena. */
struct call_answer {
    enum grpc_code code;
    const char *text; /* why not; never NULL */
    bool is_unseen;
    ProtobufCMessage *message; /* NULL unless code is GRPC_OK */
};

/* From the flags of the connection. When it is not COMMAND_DONE, the line on stderr is written. */
enum command_exit caller_open(const struct command *c, struct caller *ret) must_check;
void caller_close(struct caller *k); /* one that is not open is fine */
struct call_answer caller_ask(struct caller *k, enum client_method method, const void *request,
                              struct arena *a);
/* Says what went wrong, and what to do about it. */
enum command_exit caller_refused(const struct caller *k, const struct call_answer *a);
enum command_exit refusal_say(const struct command *c, enum grpc_code code, const char *text, bool is_unseen);
