/* The life of a server.
 *
 * Start: loop, the ports (bound, so that one that is taken is noticed before the
 * store is touched), store, engine (which recovers from the store), then the
 * listeners, so that the first request finds everything in place. Run: each
 * turn of the loop ends with the engine's clock moved on and its batch handed
 * to the store, so all requests of a turn share one sync. Stop: no new
 * connections, parked calls answered, calls finished or failed, then the store
 * is closed, which waits for its last commit. A stop that is asked for during
 * the start ends that.
 *
 * A failure to start undoes what was done, in the opposite order. If the store
 * fails under way the loop ends and server_run() returns the error. */
#include "serve/server.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "host/loop.h"
#include "host/signals.h"
#include "host/zoneinfo.h"
#include "net/budget.h"
#include "net/h2.h"
#include "net/http1.h"
#include "net/reserve.h"
#include "serve/bridge.h"
#include "serve/callbacks.h"
#include "serve/dispatch.h"
#include "serve/http.h"
#include "serve/report.h"

struct server {
    struct zoneinfo *zoneinfo;
    struct cal_zones zones;
    struct log *log;
    struct loop *loop;
    struct signals *signals; /* NULL: another one has the process */
    void (*reread)(void *ctx);
    void *reread_ctx;
    struct store *store;
    struct engine *engine;
    struct timer *wake;
    struct timer *grace;
    struct ingress ingress;
    struct http http;
    struct budget budget; /* memory held for all peers */
    struct h2_server *h2_server;
    struct http1_server *http_server;
    struct callbacks callbacks;
    struct address grpc_address;
    atomic_int stop_requests; /* counted by server_stop(), maybe on other threads */
    bool is_recovering; /* the loop runs only to get the engine ready */
    bool is_ready; /* the engine takes calls */
    bool is_listening;
    bool is_draining;
    bool is_stopped_early; /* a stop was asked for before it listened */
    int draining_listeners; /* that still have something to send */
    int rc; /* 0, or what went wrong below */
    struct err start_error;
};

/* Each turn. */

static void server_on_turn(void *ctx) {
    struct server *s = ctx;
    if (!s->engine)
        return;
    ingress_flush_lost(&s->ingress);
    mistral_sweep(&s->http.mistral);
    api_sweep(&s->http.api);
    struct now now = host_now();
    engine_advance_heard(s->engine, now, loop_heard(s->loop));
    engine_flush(s->engine);
    /* Timers do not notice when the wall clock is set. A look at it does. */
    timer_set(s->wake, MIN(engine_next_wake_us(s->engine, now), SERVER_CLOCK_LOOK_US));
}

static void server_on_timer(void *ctx unused_arg) {
    /* A turn ends with server_on_turn(), which does what is due. */
}

/* Stopping. */

static void server_on_drained(void *ctx) {
    struct server *s = ctx;
    loop_stop(s->loop);
}

static void server_on_idle(void *ctx) {
    struct server *s = ctx;
    if (--s->draining_listeners == 0)
        server_on_drained(s);
}

static void server_drain(struct server *s) {
    s->is_draining = s->http.is_draining = true;
    ingress_drain(&s->ingress);
    log_emit(s->log, LOG_server_stopping);
    timer_set(s->grace, SERVER_GRACE_US);
    s->draining_listeners = s->http_server ? 2 : 1;
    h2_server_drain(s->h2_server, server_on_idle, s);
    if (s->http_server)
        http1_server_drain(s->http_server, server_on_idle, s);
    engine_drain(s->engine);
}

static void server_handle_stop(struct server *s) {
    s->is_stopped_early |= !s->is_listening;
    if (s->is_draining || !s->is_listening)
        server_on_drained(s);
    else
        server_drain(s);
}

static void server_emit_report(const struct server *s) {
    struct report_subject subject = {
        .phase = s->is_draining    ? "stopping"
                 : s->is_listening ? "serving"
                                   : "starting",
        .begin = s->http.begin,
        .now = host_now(),
        .engine = s->engine,
        .h2 = s->h2_server,
        .http = s->http_server,
    };
    report_emit(&subject, s->log);
}

static void server_on_signal(void *ctx, enum signal_wish wish) {
    struct server *s = ctx;
    switch (wish) {
    case SIGNAL_STOP:
        server_handle_stop(s);
        break;
    case SIGNAL_REREAD:
        if (s->reread)
            s->reread(s->reread_ctx);
        else
            server_handle_stop(s);
        break;
    case SIGNAL_REPORT:
        server_emit_report(s);
        break;
    }
}

/* For long work before the loop runs. */
static bool server_should_stop(void *ctx) {
    struct server *s = ctx;
    if (s->signals)
        signals_look(s->signals);
    return s->is_stopped_early;
}

static void server_wake_loop(void *ctx) {
    struct server *s = ctx;
    loop_wake(s->loop);
}

void server_stop(struct server *s) {
    atomic_fetch_add(&s->stop_requests, 1);
    loop_wake(s->loop);
}

/* Reports of store and engine. */

static void server_on_wake(void *ctx) {
    struct server *s = ctx;
    if (s->engine)
        engine_tell_time(s->engine, host_now());
    if (s->store)
        store_collect(s->store);
    for (int asked = atomic_exchange(&s->stop_requests, 0); asked > 0 && s->is_listening; asked--)
        server_handle_stop(s);
}

static void server_on_fatal(void *ctx, const char *text) {
    struct server *s = ctx;
    log_emit(s->log, LOG_store_failed, log_str("text", text));
    s->rc = ERR_STORE_IO;
    loop_stop(s->loop);
}

static void server_on_ready(void *ctx, int rc, const struct err *e) {
    struct server *s = ctx;
    s->is_ready = true;
    s->rc = rc;
    if (rc < 0 && e)
        s->start_error = *e;
    if (s->is_recovering)
        loop_stop(s->loop);
}

/* Starting. */

static int server_open_loop(struct server *s, const struct server_config *cfg) {
    int rc = loop_new(&s->loop);
    if (rc < 0)
        return rc;
    if ((rc = timer_new(s->loop, server_on_timer, s, &s->wake)) < 0)
        return rc;
    if ((rc = timer_new(s->loop, server_on_drained, s, &s->grace)) < 0)
        return rc;
    if ((rc = loop_on_wake(s->loop, server_on_wake, s)) < 0)
        return rc;
    loop_on_turn(s->loop, server_on_turn, s);
    s->reread = cfg->reread;
    s->reread_ctx = cfg->reread_ctx;
    return cfg->minds_signals ? signals_new(s->loop, server_on_signal, s, &s->signals) : 0;
}

/* Names the part of the configuration that failed, for the error message. */
static int server_name_failed_part(struct err *reterr, const char *part, int rc) {
    if (rc < 0 && reterr)
        (void)snprintf(reterr->subject, sizeof(reterr->subject), "%s", part);
    return rc;
}

/* Recovery may need commits and reads that only the loop can bring. A signal ends it too. */
static int server_recover(struct server *s) {
    int rc = 0;
    s->is_recovering = true;
    if (!s->is_ready && s->rc == 0) {
        engine_flush(s->engine);
        rc = loop_run(s->loop);
    }
    s->is_recovering = false;
    if (rc == 0)
        rc = s->rc;
    return rc == 0 && !s->is_ready ? ERR_CANCELLED : rc;
}

static int server_open_engine(struct server *s, const struct server_config *cfg, struct err *reterr) {
    struct engine_config ec = {
        .store = s->store,
        .log = s->log,
        .seed = host_entropy(),
        .resident_runs_max = cfg->resident_runs_max,
        .namespaces = cfg->namespaces,
        .retention_us = cfg->retention_us,
        .search_attributes = cfg->search_attributes,
        .limits = cfg->limits,
        .long_poll_us = cfg->long_poll_us,
        .zones = &s->zones,
        .send_callback = callbacks_send,
        .callback_ctx = &s->callbacks,
        .should_stop = server_should_stop,
        .stop_ctx = s,
        .on_fatal = server_on_fatal,
        .fatal_ctx = s,
    };
    s->zoneinfo = zoneinfo_new(ZONEINFO_DIRECTORY);
    if (!s->zoneinfo)
        return err_std(reterr, ERR_NO_MEMORY);
    s->zones = zoneinfo_zones(s->zoneinfo);
    int rc = http1_client_new(s->loop, &s->callbacks.client);
    if (rc < 0)
        return err_std(reterr, rc);
    rc = engine_new(&ec, host_now(), server_on_ready, s, &s->engine);
    if (rc < 0)
        return err_set(reterr, rc, "%s", s->start_error.code ? s->start_error.text : err_text(rc));
    s->ingress.context.engine = s->engine;
    s->ingress.loop = s->loop;
    rc = server_recover(s);
    if (rc < 0)
        return err_set(reterr, rc, "%s", s->start_error.code ? s->start_error.text : err_text(rc));
    return 0;
}

static int server_open_grpc(struct server *s, const struct server_config *cfg, struct err *reterr) {
    char text[ADDRESS_TEXT_MAX];
    struct h2_handler grpc = dispatch_handler(&s->ingress);
    s->grpc_address = cfg->grpc;
    address_format(&cfg->grpc, text);
    int rc = h2_server_new(s->loop, text, &grpc, s->log, &s->h2_server, reterr);
    if (rc < 0)
        return rc;
    h2_server_share(s->h2_server, &s->budget);
    s->grpc_address.port = h2_server_port(s->h2_server);
    return 0;
}

static int server_open_http(struct server *s, const struct server_config *cfg, struct err *reterr) {
    struct http1_handler http = http_handler(&s->http);
    s->http.bound = cfg->http;
    s->http.origins = cfg->cors_origins;
    s->http.engine = s->engine;
    s->http.budget = &s->budget;
    int rc = http1_server_new(s->loop, cfg->http.host, cfg->http.port, &http, &s->http_server, reterr);
    if (rc < 0)
        return rc;
    http1_server_share(s->http_server, &s->budget);
    s->http.bound.port = http1_server_port(s->http_server);
    return 0;
}

/* The ports that the listeners will have: a port that is taken must not leave a new data file behind. */
static int server_reserve_ports(const struct server_config *cfg, int fds[2], struct err *reterr) {
    char text[ADDRESS_TEXT_MAX];
    address_format(&cfg->grpc, text);
    int rc = server_name_failed_part(reterr, "grpc",
                                     port_reserve(cfg->grpc.host, cfg->grpc.port, text, &fds[0], reterr));
    if (rc < 0 || !cfg->has_http)
        return rc;
    address_format(&cfg->http, text);
    return server_name_failed_part(reterr, "http",
                                   port_reserve(cfg->http.host, cfg->http.port, text, &fds[1], reterr));
}

static int server_open_parts(struct server *s, const struct server_config *cfg, struct err *reterr) {
    struct server_hooks hooks = {server_wake_loop, server_should_stop, s};
    int rc;
    if ((rc = cfg->open_store(cfg, &hooks, &s->store, reterr)) < 0 ||
        (rc = server_open_engine(s, cfg, reterr)) < 0)
        return server_name_failed_part(reterr, "data", rc);
    if ((rc = server_open_grpc(s, cfg, reterr)) < 0)
        return server_name_failed_part(reterr, "grpc", rc);
    if (cfg->has_http && (rc = server_open_http(s, cfg, reterr)) < 0)
        return server_name_failed_part(reterr, "http", rc);
    s->is_listening = true;
    return 0;
}

static int server_start(struct server *s, const struct server_config *cfg, struct err *reterr) {
    int fds[] = {-1, -1};
    int rc = server_open_loop(s, cfg);
    if (rc < 0)
        return err_std(reterr, rc);
    rc = server_reserve_ports(cfg, fds, reterr);
    if (rc == 0)
        rc = server_open_parts(s, cfg, reterr);
    port_release(&fds[0]);
    port_release(&fds[1]);
    return rc;
}

static void server_log_ready(struct server *s, const struct server_config *cfg, struct mono begin) {
    char grpc[ADDRESS_TEXT_MAX], http[ADDRESS_TEXT_MAX] = "off";
    address_format(&s->grpc_address, grpc);
    if (s->http_server)
        address_format(&s->http.bound, http);
    log_emit(s->log, LOG_server_ready, log_str("version", RONDO_VERSION), log_str("grpc", grpc),
             log_str("http", http), log_str("data", cfg->data),
             log_int("start_us", host_now().mono.us - begin.us));
}

int server_new(const struct server_config *cfg, struct server **ret, struct err *reterr) {
    struct mono begin = host_now().mono;
    struct server *s = mem_zalloc(sizeof(*s));
    if (!s)
        return err_std(reterr, ERR_NO_MEMORY);
    s->log = cfg->log;
    s->http.begin = begin;
    budget_init(&s->budget);
    struct mistral_server lent = bridge_server(&s->ingress);
    api_init(&s->http.api, &s->ingress);
    mistral_init(&s->http.mistral, &lent, &s->zones, host_entropy());
    int rc = ingress_init(&s->ingress, cfg->log, cfg->store_name, host_entropy());
    if (rc < 0) {
        mem_free(s);
        return err_std(reterr, rc);
    }
    rc = server_start(s, cfg, reterr);
    if (rc < 0) {
        server_free(s);
        return rc;
    }
    server_log_ready(s, cfg, begin);
    *ret = s;
    return 0;
}

/* Running and ending. */

int server_run(struct server *s) {
    int rc = loop_run(s->loop);
    return rc < 0 ? rc : s->rc;
}

/* The store first: closing it waits for the commits under way, whose replies still go through the
 * engine to net. Then the engine, which fails the calls that are left. Net last. */
void server_free(struct server *s) {
    if (!s)
        return;
    if (s->engine && s->rc == 0)
        engine_flush(s->engine);
    store_close(s->store);
    s->store = NULL;
    engine_free(s->engine);
    s->zoneinfo = zoneinfo_free(s->zoneinfo);
    s->engine = s->ingress.context.engine = NULL;
    s->callbacks.is_closed = true;
    http1_client_free(s->callbacks.client);
    h2_server_free(s->h2_server);
    http1_server_free(s->http_server);
    mistral_sweep(&s->http.mistral);
    api_sweep(&s->http.api);
    ingress_done(&s->ingress);
    timer_free(s->wake);
    timer_free(s->grace);
    signals_free(s->signals);
    loop_free(s->loop);
    if (s->is_listening)
        log_emit(s->log, LOG_server_stopped);
    else if (s->is_stopped_early)
        log_emit(s->log, LOG_server_stopped, log_str("phase", "starting"));
    mem_free(s);
}

struct address server_grpc_address(const struct server *s) {
    return s->grpc_address;
}

struct address server_http_address(const struct server *s) {
    return s->http_server ? s->http.bound : (struct address){.port = 0};
}
