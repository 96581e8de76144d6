/* The connection of a command, and calls over it, one at a time.
 *
 * Happy path: connection_open() reads the flags of the connection; the first call connects; each response
 * is copied into an arena of the caller. When the server refuses a call, one line on stderr has its text
 * and, for some codes, a hint. */
#include "command/connection.h"

#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "cal/duration.h"
#include "command/profile/settings.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define METADATA_MAX 16
#define MESSAGE_BYTES_MAX (64u << 20)
#define LONG_POLL_US (60 * USEC_PER_SEC) /* least time limit of a call that waits for an event */

struct connection {
    struct loop *loop;
    struct client *client;
    int64_t timeout_us;
    int64_t connect_us; /* of --client-connect-timeout; 0: not given */
    struct h2_header metadata[METADATA_MAX];
    size_t metadata_count;
    bool is_logged, is_json_log;
};

struct connection *connection_new(void) {
    return mem_zalloc(sizeof(struct connection));
}

void connection_free(struct connection *s) {
    if (!s)
        return;
    client_free(s->client);
    loop_free(s->loop);
    mem_free(s);
}

/* Flags. */

/* Without the codec, payloads would be sent unencoded and shown encoded. Refuse the flags. */
static int connection_refuse_codec(const struct command *c) {
    static const char *const flags[] = {"codec-endpoint", "codec-auth", "codec-header"};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (!opt_named_given(c->args, flags[i]))
            continue;
        command_print_error("--%s: payload codecs are not supported; add --disable-config-file to ignore the "
                            "config file, --disable-config-env to ignore the environment",
                            flags[i]);
        return ERR_INVALID;
    }
    return 0;
}

static int connection_refuse_tls(const struct command *c) {
    static const char *const flags[] = {"tls-cert-path", "tls-cert-data", "tls-key-path",   "tls-key-data",
                                        "tls-ca-path",   "tls-ca-data",   "tls-server-name"};
    const char *asked = opt_named_flag(c->args, "tls") ? "tls"
                        : opt_named_flag(c->args, "tls-disable-host-verification")
                            ? "tls-disable-host-verification"
                            : NULL;
    for (size_t i = 0; !asked && i < ARRAY_LEN(flags); i++)
        if (opt_named_given(c->args, flags[i]))
            asked = flags[i];
    if (asked) {
        command_print_error("--%s: encrypted connections are not supported; connect through a local proxy "
                            "that encrypts, or add --disable-config-file to ignore the config file, "
                            "--disable-config-env to ignore the environment",
                            asked);
        return ERR_INVALID;
    }
    if (opt_named_given(c->args, "api-key") && !opt_named_given(c->args, "tls")) {
        command_print_error("--api-key would be sent unencrypted; add --tls=false if the network is safe");
        return ERR_INVALID;
    }
    return 0;
}

static int connection_add_metadata(struct command *c, const char *name, size_t n, const char *value) {
    struct connection *s = c->connection;
    char *lower = arena_strndup(&c->arena, name, n);
    if (s->metadata_count == METADATA_MAX || !lower) {
        command_print_error("--grpc-meta: at most %d headers can be sent", METADATA_MAX);
        return ERR_INVALID;
    }
    for (char *at = lower; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at | 0x20);
    s->metadata[s->metadata_count++] = (struct h2_header){str_of(lower), str_of(value)};
    return 0;
}

static bool connection_has_metadata(const struct connection *s, const char *name) {
    for (size_t i = 0; i < s->metadata_count; i++)
        if (strncasecmp(s->metadata[i].name.p, name, s->metadata[i].name.n) == 0 &&
            !name[s->metadata[i].name.n])
            return true;
    return false;
}

static int connection_read_metadata(struct command *c) {
    const char *key = opt_named(c->args, "api-key");
    const char *text, *name, *value;
    int rc = 0;
    if (key) {
        const char *bearer = arena_printf(&c->arena, "Bearer %s", key);
        rc = bearer ? connection_add_metadata(c, "authorization", strlen("authorization"), bearer)
                    : ERR_NO_MEMORY;
    }
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "grpc-meta", i)); i++) {
        size_t n = strcspn(text, "=");
        if (!n || !text[n]) {
            command_print_error("--grpc-meta: \"%s\" is not KEY=VALUE", text);
            return ERR_INVALID;
        }
        rc = connection_add_metadata(c, text, n, text + n + 1);
    }
    for (size_t i = 0; rc == 0 && settings_meta(c, i, &name, &value); i++)
        if (!connection_has_metadata(c->connection, name)) /* order: command line, environment, file */
            rc = connection_add_metadata(c, name, strlen(name), value);
    return rc;
}

static int connection_read_flags(struct command *c) {
    struct connection *s = c->connection;
    const char *timeout = opt_named(c->args, "command-timeout");
    if (duration_parse_units(str_of(timeout), &s->timeout_us) < 0 || s->timeout_us <= 0) {
        command_print_error("--command-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m", timeout);
        return ERR_INVALID;
    }
    timeout = opt_named(c->args, "client-connect-timeout");
    if (timeout && (duration_parse_units(str_of(timeout), &s->connect_us) < 0 || s->connect_us <= 0)) {
        command_print_error("--client-connect-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m",
                            timeout);
        return ERR_INVALID;
    }
    s->is_logged = cstr_eq(opt_named(c->args, "log-level"), "debug");
    s->is_json_log = cstr_eq(opt_named(c->args, "log-format"), "json");
    int rc = connection_refuse_tls(c);
    if (rc == 0)
        rc = connection_refuse_codec(c);
    return rc < 0 ? rc : connection_read_metadata(c);
}

/* With --client-connect-timeout, calls GetSystemInfo first, as Temporal's clients do. */
static enum command_exit connection_probe(struct command *c) {
    Ws__GetSystemInfoRequest q = WS__GET_SYSTEM_INFO_REQUEST__INIT;
    struct connection_ask ask = {.method = CALL_GetSystemInfo,
                                 .request = &q.base,
                                 .timeout_us = c->connection->connect_us,
                                 .expected = GRPC_DEADLINE_EXCEEDED};
    ProtobufCMessage *m = NULL;
    enum command_exit code =
        c->connection->connect_us ? connection_call(c, &ask, &c->page, &m) : COMMAND_DONE;
    arena_clear(&c->page);
    if (!c->connection->connect_us || code != COMMAND_DONE || m)
        return code;
    command_print_error("cannot reach %s: no response within --client-connect-timeout",
                        opt_named(c->args, "address"));
    return COMMAND_UNREACHED;
}

enum command_exit connection_open(struct command *c) {
    struct connection *s = c->connection;
    struct err e;
    if (s->client)
        return COMMAND_DONE;
    if (connection_read_flags(c) < 0)
        return COMMAND_MISUSED;
    if (!s->loop && loop_new(&s->loop) < 0) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    if (client_new(s->loop, opt_named(c->args, "address"), &s->client, &e) < 0) {
        command_print_error("--address: %s", e.text);
        return COMMAND_MISUSED;
    }
    return connection_probe(c);
}

/* Calls. */

struct pending_call {
    struct command *command;
    const struct connection_ask *ask;
    struct arena *arena;
    ProtobufCMessage *message;
    enum command_exit exit;
    enum grpc_code code;
};

/* What the user can do about a status code; NULL when there is no advice. */
static const char *connection_hint(enum grpc_code code) {
    if (code == GRPC_UNAVAILABLE)
        return "is a server running there? Start one with: rondo server start-dev, or give --address";
    if (code == GRPC_DEADLINE_EXCEEDED)
        return "allow more time with --command-timeout; the call may have had an effect, so check before you "
               "repeat it";
    return code == GRPC_UNIMPLEMENTED ? "this server does not offer that" : NULL;
}

static void connection_report_refusal(struct pending_call *q, const struct client_reply *r) {
    const char *hint = connection_hint(r->code);
    const char *text = *r->text ? r->text : "no reason given";
    bool is_unreached = r->code == GRPC_UNAVAILABLE && r->is_unseen;
    q->exit = is_unreached ? COMMAND_UNREACHED : COMMAND_REFUSED;
    if (is_unreached)
        command_print_error("cannot reach %s: %s; %s", opt_named(q->command->args, "address"), text, hint);
    else
        command_print_error("%s%s%s", text, hint ? "; " : "", hint ? hint : "");
}

/* Copies the response; the memory of the reply ends with the callback. */
static int connection_copy_response(struct pending_call *q, const ProtobufCMessage *m) {
    struct buf packed;
    struct err e;
    int rc = ERR_NO_MEMORY;
    buf_init(&packed, MESSAGE_BYTES_MAX);
    wire_encode(&packed, m);
    const uint8_t *bytes = buf_ok(&packed) ? arena_dup(q->arena, packed.data, packed.len) : NULL;
    if (buf_ok(&packed) && (bytes || !packed.len))
        rc = wire_decode(m->descriptor, str_bytes(bytes, packed.len), q->arena, &q->message, &e);
    buf_done(&packed);
    return rc;
}

/* Copies the details of an expected status. */
static void connection_copy_details(struct pending_call *q, const struct client_reply *r) {
    const void *data =
        q->ask->ret_details && r->details.n ? arena_dup(q->arena, r->details.p, r->details.n) : NULL;
    if (q->ask->ret_details)
        *q->ask->ret_details = str_bytes(data, data ? r->details.n : 0);
}

static void connection_on_reply(void *ctx, const struct client_reply *r) {
    struct pending_call *q = ctx;
    q->code = r->code;
    q->exit = COMMAND_DONE;
    if (q->ask->can_time_out && r->code == GRPC_DEADLINE_EXCEEDED)
        return;
    if (r->code != GRPC_OK && (q->ask->is_quiet || r->code == q->ask->expected)) {
        connection_copy_details(q, r);
        return;
    }
    if (r->code != GRPC_OK) {
        connection_report_refusal(q, r);
        return;
    }
    if (connection_copy_response(q, r->message) < 0) {
        q->exit = COMMAND_REFUSED;
        command_print_error("the response is too large to show");
    }
}

static void connection_log_call(const struct connection *s, const struct pending_call *q, int64_t took_us) {
    const char *name = client_method_name(q->ask->method);
    if (s->is_json_log)
        fprintf(stderr, "{\"level\":\"debug\",\"call\":\"%s\",\"code\":%d,\"ms\":%.3f}\n", name, (int)q->code,
                (double)took_us / 1000);
    else
        fprintf(stderr, "debug call=%s code=%d ms=%.3f\n", name, (int)q->code, (double)took_us / 1000);
}

enum command_exit connection_call(struct command *c, const struct connection_ask *ask, struct arena *a,
                                  ProtobufCMessage **ret) {
    enum command_exit code = connection_open(c);
    struct connection *s = c->connection;
    struct pending_call q = {.command = c, .ask = ask, .arena = a, .exit = COMMAND_REFUSED};
    if (code != COMMAND_DONE)
        return code;
    struct client_ask call = {.method = ask->method,
                              .request = ask->request,
                              .timeout_us = ask->timeout_us     ? ask->timeout_us
                                            : ask->can_time_out ? MAX(s->timeout_us, LONG_POLL_US)
                                                                : s->timeout_us,
                              .metadata = s->metadata,
                              .metadata_count = s->metadata_count,
                              .on_reply = connection_on_reply,
                              .ctx = &q};
    struct now begin = host_now();
    if (client_call_wait(s->client, &call) < 0)
        command_print_error("cannot make the call: out of memory, or the request is too large");
    if (s->is_logged)
        connection_log_call(s, &q, host_now().mono.us - begin.mono.us);
    if (q.exit == COMMAND_DONE)
        *ret = q.message;
    return q.exit;
}

/* Time. */

static void connection_on_timer(void *ctx) {
    loop_stop(ctx);
}

int connection_sleep(struct command *c, int64_t us) {
    struct timer *timer;
    int rc = timer_new(c->connection->loop, connection_on_timer, c->connection->loop, &timer);
    if (rc < 0)
        return rc;
    timer_set(timer, us);
    rc = loop_run(c->connection->loop);
    timer_free(timer);
    return rc;
}
