/* One server: a loop, a store, an engine and its listeners, tied together.
 *
 *   struct server *s;
 *   if (server_new(&config, &s, &e) == 0) { rc = server_run(s); server_free(s); }
 *
 * Nothing is shared between servers; a process may hold several, each on a
 * thread of its own. All functions belong to the thread that made the server,
 * except server_stop(). */
#pragma once

#include "base/err.h"
#include "base/log.h"
#include "core/step/limits.h"
#include "serve/address.h"

struct server;
struct store;

/* Functions of the server that the store calls. */
struct server_hooks {
    void (*wake)(void *ctx); /* may be called from any thread */
    bool (*should_stop)(void *ctx); /* while it opens: whether to give up, with ERR_CANCELLED */
    void *ctx;
};

struct server_config {
    const char *data; /* a file name, or ":memory:" */
    const char *store_name; /* "sqlite", "memory": as GetClusterInfo reports it */
    /* Opens the store that `data` names. */
    int (*open_store)(const struct server_config *cfg, const struct server_hooks *hooks, struct store **ret,
                      struct err *reterr);
    struct address grpc;
    struct address http;
    bool has_http;
    const char *const *cors_origins; /* of web pages that may call over HTTP; NULL-terminated, or NULL */
    const char *const *namespaces; /* made at start when missing; NULL-terminated */
    int64_t retention_us; /* of those */
    const char *const *search_attributes; /* "Name=Type", added to them; NULL-terminated, or NULL */
    size_t resident_runs_max;
    struct core_limits limits; /* set by the operator */
    int64_t long_poll_us; /* 0: the engine's default */
    bool minds_signals; /* for the one server that owns the process; see host/signals.h */
    void (*reread)(void *ctx); /* what SIGHUP does; NULL: the same as SIGTERM */
    void *reread_ctx;
    struct log *log; /* outlives the server */
};

/* Opens the store, recovers, listens. ERR_STORE_*, ERR_UNAVAILABLE when an address cannot be had;
 * then reterr->subject is the part that failed: "data", "grpc" or "http". ERR_CANCELLED when a signal asked
 * for a stop meanwhile; that is no failure. */
int server_new(const struct server_config *cfg, struct server **ret, struct err *reterr) must_check;
void server_free(struct server *s);

/* Where it listens, with the ports that were really taken. http has port 0 without a listener. */
struct address server_grpc_address(const struct server *s);
struct address server_http_address(const struct server *s);

/* Serves until it was stopped and everything acknowledged is on disk. 0, or ERR_* when the store
 * failed underneath. */
int server_run(struct server *s) must_check;
/* Asks for a stop from any thread: GOAWAY, parked polls answered empty, other waits failed with UNAVAILABLE,
 * half-sent requests refused, calls under way finished within SERVER_GRACE_US, everything flushed. Asking
 * again while it drains stops without waiting for them. */
void server_stop(struct server *s);

#define SERVER_GRACE_US (10 * USEC_PER_SEC)
#define SERVER_CLOCK_LOOK_US                                                                                 \
    (1 * USEC_PER_SEC) /* how often the wall clock is looked at when nothing else happens */
