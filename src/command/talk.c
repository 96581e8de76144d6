/* The connection of a command, and calls over it one at a time.
 *
 * Happy path: talk_open() reads the flags of the connection; the first call
 * connects; each response is handed over in an arena of the caller's. A server
 * that says no is one line on stderr with its text and, where there is one, what
 * to do about it. */
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "cal/duration.h"
#include "command/command_int.h"
#include "command/settings.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define METADATA_MAX 16
#define MESSAGE_BYTES_MAX (64u << 20)
#define PATIENCE_US (60 * USEC_PER_SEC)

struct talk {
    struct loop *loop;
    struct client *client;
    int64_t timeout_us;
    int64_t connect_us; /* 0: nothing was said */
    struct h2_header metadata[METADATA_MAX];
    size_t metadata_count;
    bool is_logged, is_json_log;
};

struct talk *talk_new(void) {
    return mem_zalloc(sizeof(struct talk));
}

void talk_free(struct talk *s) {
    if (!s)
        return;
    client_free(s->client);
    loop_free(s->loop);
    mem_free(s);
}

/* Flags. */

/* Whoever asks for a codec would see, or send, what only the codec can read. */
static int refuse_codec(const struct command *c) {
    static const char *const flags[] = {"codec-endpoint", "codec-auth", "codec-header"};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (!opt_named_given(c->args, flags[i]))
            continue;
        say("--%s: this program has no codec for payloads; leave the config file aside with "
            "--disable-config-file, the "
            "environment with --disable-config-env",
            flags[i]);
        return ERR_INVALID;
    }
    return 0;
}

static int refuse_tls(const struct command *c) {
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
        say("--%s: connections of this program are not encrypted; ask through a proxy on this machine that "
            "encrypts, or leave the config file aside with --disable-config-file, the environment with "
            "--disable-config-env",
            asked);
        return ERR_INVALID;
    }
    if (opt_named_given(c->args, "api-key") && !opt_named_given(c->args, "tls")) {
        say("--api-key would be sent unencrypted; add --tls=false if the way to the server is safe");
        return ERR_INVALID;
    }
    return 0;
}

static int add_metadata(struct command *c, const char *name, size_t n, const char *value) {
    struct talk *s = c->talk;
    char *lower = arena_strndup(&c->arena, name, n);
    if (s->metadata_count == METADATA_MAX || !lower) {
        say("--grpc-meta: at most %d are sent", METADATA_MAX);
        return ERR_INVALID;
    }
    for (char *at = lower; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at | 0x20);
    s->metadata[s->metadata_count++] = (struct h2_header){str_of(lower), str_of(value)};
    return 0;
}

static bool has_metadata(const struct talk *s, const char *name) {
    for (size_t i = 0; i < s->metadata_count; i++)
        if (strncasecmp(s->metadata[i].name.p, name, s->metadata[i].name.n) == 0 &&
            !name[s->metadata[i].name.n])
            return true;
    return false;
}

static int read_metadata(struct command *c) {
    const char *key = opt_named(c->args, "api-key");
    const char *text, *name, *value;
    int rc = 0;
    if (key) {
        const char *bearer = arena_printf(&c->arena, "Bearer %s", key);
        rc = bearer ? add_metadata(c, "authorization", strlen("authorization"), bearer) : ERR_NO_MEMORY;
    }
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "grpc-meta", i)); i++) {
        size_t n = strcspn(text, "=");
        if (!n || !text[n]) {
            say("--grpc-meta: \"%s\" is not KEY=VALUE", text);
            return ERR_INVALID;
        }
        rc = add_metadata(c, text, n, text + n + 1);
    }
    for (size_t i = 0; rc == 0 && settings_meta(c, i, &name, &value); i++)
        if (!has_metadata(c->talk, name)) /* the line comes first, then the environment, then the file */
            rc = add_metadata(c, name, strlen(name), value);
    return rc;
}

static int read_flags(struct command *c) {
    struct talk *s = c->talk;
    const char *timeout = flag_named(c->args, "command-timeout");
    if (duration_parse_units(str_of(timeout), &s->timeout_us) < 0 || s->timeout_us <= 0) {
        say("--command-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m", timeout);
        return ERR_INVALID;
    }
    timeout = opt_named(c->args, "client-connect-timeout");
    if (timeout && (duration_parse_units(str_of(timeout), &s->connect_us) < 0 || s->connect_us <= 0)) {
        say("--client-connect-timeout: \"%s\" is not a duration such as 500ms, 10s or 1m", timeout);
        return ERR_INVALID;
    }
    s->is_logged = streq(opt_named(c->args, "log-level"), "debug");
    s->is_json_log = streq(opt_named(c->args, "log-format"), "json");
    int rc = refuse_tls(c);
    if (rc == 0)
        rc = refuse_codec(c);
    return rc < 0 ? rc : read_metadata(c);
}

/* A small question first, as Temporal's clients ask it. */
static enum command_exit greet(struct command *c) {
    Ws__GetSystemInfoRequest q = WS__GET_SYSTEM_INFO_REQUEST__INIT;
    struct talk_ask ask = {.method = CALL_GetSystemInfo,
                           .request = &q.base,
                           .timeout_us = c->talk->connect_us,
                           .expected = GRPC_DEADLINE_EXCEEDED};
    ProtobufCMessage *m = NULL;
    enum command_exit code = c->talk->connect_us ? talk_call(c, &ask, &c->page, &m) : COMMAND_DONE;
    arena_clear(&c->page);
    if (!c->talk->connect_us || code != COMMAND_DONE || m)
        return code;
    say("cannot reach %s: no answer within --client-connect-timeout", flag_named(c->args, "address"));
    return COMMAND_UNREACHED;
}

enum command_exit talk_open(struct command *c) {
    struct talk *s = c->talk;
    struct err e;
    if (s->client)
        return COMMAND_DONE;
    if (read_flags(c) < 0)
        return COMMAND_MISUSED;
    if (!s->loop && loop_new(&s->loop) < 0) {
        say("out of memory");
        return COMMAND_REFUSED;
    }
    if (client_new(s->loop, flag_named(c->args, "address"), &s->client, &e) < 0) {
        say("--address: %s", e.text);
        return COMMAND_MISUSED;
    }
    return greet(c);
}

/* Calls. */

struct asking {
    struct command *command;
    const struct talk_ask *ask;
    struct arena *arena;
    ProtobufCMessage *message;
    enum command_exit exit;
    enum grpc_code code;
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

/* The reply's memory ends with it. */
static int keep(struct asking *q, const ProtobufCMessage *m) {
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

/* Those of a refusal that was expected. */
static void keep_details(struct asking *q, const struct client_reply *r) {
    const void *data =
        q->ask->ret_details && r->details.n ? arena_dup(q->arena, r->details.p, r->details.n) : NULL;
    if (q->ask->ret_details)
        *q->ask->ret_details = str_bytes(data, data ? r->details.n : 0);
}

static void on_reply(void *ctx, const struct client_reply *r) {
    struct asking *q = ctx;
    q->code = r->code;
    q->exit = COMMAND_DONE;
    if (q->ask->is_patient && r->code == GRPC_DEADLINE_EXCEEDED)
        return;
    if (r->code != GRPC_OK && (q->ask->is_quiet || r->code == q->ask->expected)) {
        keep_details(q, r);
        return;
    }
    if (r->code != GRPC_OK) {
        on_refusal(q, r);
        return;
    }
    if (keep(q, r->message) < 0) {
        q->exit = COMMAND_REFUSED;
        say("the answer is too large to show");
    }
}

static void log_call(const struct talk *s, const struct asking *q, int64_t took_us) {
    const char *name = client_method_name(q->ask->method);
    if (s->is_json_log)
        fprintf(stderr, "{\"level\":\"debug\",\"call\":\"%s\",\"code\":%d,\"ms\":%.3f}\n", name, (int)q->code,
                (double)took_us / 1000);
    else
        fprintf(stderr, "debug call=%s code=%d ms=%.3f\n", name, (int)q->code, (double)took_us / 1000);
}

enum command_exit talk_call(struct command *c, const struct talk_ask *ask, struct arena *a,
                            ProtobufCMessage **ret) {
    enum command_exit code = talk_open(c);
    struct talk *s = c->talk;
    struct asking q = {.command = c, .ask = ask, .arena = a, .exit = COMMAND_REFUSED};
    if (code != COMMAND_DONE)
        return code;
    struct client_ask call = {.method = ask->method,
                              .request = ask->request,
                              .timeout_us = ask->timeout_us   ? ask->timeout_us
                                            : ask->is_patient ? MAX(s->timeout_us, PATIENCE_US)
                                                              : s->timeout_us,
                              .metadata = s->metadata,
                              .metadata_count = s->metadata_count,
                              .on_reply = on_reply,
                              .ctx = &q};
    struct now begin = host_now();
    if (client_call_wait(s->client, &call) < 0)
        say("the call could not be made: out of memory, or the request is too large");
    if (s->is_logged)
        log_call(s, &q, host_now().mono.us - begin.mono.us);
    if (q.exit == COMMAND_DONE)
        *ret = q.message;
    return q.exit;
}

/* Time. */

static void on_time(void *ctx) {
    loop_stop(ctx);
}

int talk_pause(struct command *c, int64_t us) {
    struct timer *timer;
    int rc = timer_new(c->talk->loop, on_time, c->talk->loop, &timer);
    if (rc < 0)
        return rc;
    timer_set(timer, us);
    rc = loop_run(c->talk->loop);
    timer_free(timer);
    return rc;
}
