/* The connection of one command to its server, and calls over it, one at a time.
 *
 * The connection is opened by the first call. Everything runs on the calling thread; a call turns the loop
 * until it has ended. After a failure one line has been printed on stderr, and the result is the exit code.
 */
#pragma once

#include "command/command_int.h"

struct connection;

struct connection *connection_new(void); /* NULL: out of memory */
void connection_free(struct connection *s); /* NULL is fine */
/* Reads the flags of the connection. COMMAND_DONE, COMMAND_MISUSED for a wrong flag, COMMAND_REFUSED without
 * memory, COMMAND_UNREACHED when --client-connect-timeout passed. Does nothing when it is open already. */
enum command_exit connection_open(struct command *c);

struct connection_ask {
    enum client_method method;
    const ProtobufCMessage *request; /* of the method's request type */
    int64_t timeout_us; /* 0: that of --command-timeout */
    bool can_time_out; /* a deadline that passes is no failure: the response is NULL then */
    enum grpc_code expected; /* the same for this status code; GRPC_OK: for none */
    bool is_quiet; /* the same for every status code: the command can do without the response */
    struct str *ret_details; /* packed google.rpc.Status of such a status; may be NULL */
};
/* Makes one call. The response is decoded into `a` and lives as long as that. */
enum command_exit connection_call(struct command *c, const struct connection_ask *ask, struct arena *a,
                                  ProtobufCMessage **ret);
/* Turns the loop for `us` microseconds. The connection is open. ERR_NO_MEMORY. */
int connection_sleep(struct command *c, int64_t us) must_check;
