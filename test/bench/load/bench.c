/* What every case needs: a server on a fresh file, connections, calls, and the meter. */
#include "bench.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "requests.h"

#define CALL_TIMEOUT_US (70 * USEC_PER_SEC) /* a poll is answered after a minute, empty */

void die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("bench_load: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

int64_t now_us(void) {
    return host_now().mono.us;
}

int64_t wall_us(void) {
    return host_wall().us;
}

void bench_connect(struct bench *b) {
    struct err err = {0};
    for (size_t i = 0; i < b->connection_count; i++)
        if (client_new(b->loop, b->subject.grpc, &b->clients[i], &err) < 0)
            die("%s", err.text);
}

struct plain_call {
    struct list link; /* in bench.calls */
    enum client_method method;
    void (*on_reply)(void *ctx, const struct client_reply *r);
    void *ctx;
};

/* Polls that are still parked end with their connection, and unheard. */
void bench_disconnect(struct bench *b) {
    for (size_t i = 0; i < b->connection_count; i++)
        client_free(take(&b->clients[i]));
    for (struct list *n; (n = list_pop(&b->calls));)
        mem_free(container_of(n, struct plain_call, link));
}

/* Everything in the directory of this run is ours. */
void bench_clear_files(struct bench *b) {
    char path[600];
    DIR *files = opendir(b->directory);
    if (!files)
        return;
    for (struct dirent *d; (d = readdir(files));) {
        (void)snprintf(path, sizeof(path), "%s/%s", b->directory, d->d_name);
        if (d->d_name[0] != '.')
            (void)unlink(path); /* what is left is found by rmdir */
    }
    closedir(files);
}

int64_t bench_file_bytes(const struct bench *b) {
    static const char *const suffixes[] = {"", "-wal"};
    int64_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        char path[400];
        struct stat st;
        (void)snprintf(path, sizeof(path), "%s%s", b->file, suffixes[i]);
        if (stat(path, &st) == 0)
            total += st.st_size;
    }
    return total;
}

void bench_open(struct bench *b) {
    bench_clear_files(b);
    subject_start(&b->subject, b->binary, b->file);
    bench_connect(b);
}

void bench_close(struct bench *b) {
    bench_disconnect(b);
    subject_stop(&b->subject);
}

/* calls */

static void on_any_reply(void *ctx, const struct client_reply *r) {
    struct plain_call *call = ctx;
    if (r->code != GRPC_OK)
        die("%s answers %d: %s", client_method_name(call->method), r->code, r->text);
    list_remove(&call->link);
    call->on_reply(call->ctx, r);
    mem_free(call);
}

void bench_call(struct bench *b, enum client_method method, const ProtobufCMessage *request,
                void (*on_reply)(void *ctx, const struct client_reply *r), void *ctx) {
    struct plain_call *call = mem_alloc(sizeof(*call));
    ensure(call);
    *call = (struct plain_call){.method = method, .on_reply = on_reply, .ctx = ctx};
    list_append(&b->calls, &call->link);
    struct client_ask ask = {.method = method,
                             .request = request,
                             .timeout_us = CALL_TIMEOUT_US,
                             .on_reply = on_any_reply,
                             .ctx = call};
    struct client *c = b->clients[b->next_client++ % b->connection_count];
    if (client_call(c, &ask, NULL) < 0)
        die("no memory for a call");
}

struct counting {
    struct bench *bench;
    int64_t count;
};

static void on_counted(void *ctx, const struct client_reply *r) {
    struct counting *c = ctx;
    c->count = ((const Ws__CountWorkflowExecutionsResponse *)(const void *)r->message)->count;
    loop_stop(c->bench->loop);
}

int64_t bench_count(struct bench *b, const char *query) {
    Ws__CountWorkflowExecutionsRequest m = WS__COUNT_WORKFLOW_EXECUTIONS_REQUEST__INIT;
    struct counting c = {b, -1};
    m.namespace_ = mutable_text("default");
    m.query = mutable_text(query);
    bench_call(b, CALL_CountWorkflowExecutions, &m.base, on_counted, &c);
    ensure(loop_run(b->loop) == 0);
    return c.count;
}

static void on_paused(void *ctx) {
    loop_stop(ctx);
}

void bench_pause(struct bench *b, int64_t us) {
    struct timer *t;
    ensure(timer_new(b->loop, on_paused, b->loop, &t) == 0);
    timer_set(t, us);
    ensure(loop_run(b->loop) == 0);
    timer_free(t);
}

/* the meter */

static int64_t own_cpu_us(void) {
    struct rusage u;
    ensure(getrusage(RUSAGE_SELF, &u) == 0);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

void meter_begin(struct meter *m, const struct bench *b) {
    m->usage = subject_usage(&b->subject);
    m->own_cpu_us = own_cpu_us();
    m->begin_us = now_us();
}

struct result *meter_end(struct meter *m, struct bench *b, const char *name, size_t width, size_t ops,
                         struct samples *latency) {
    int64_t end_us = now_us(), own_us = own_cpu_us();
    struct usage u = subject_usage(&b->subject);
    struct result *r = &b->table->row;
    double n = (double)MAX(ops, 1u);
    *r = (struct result){.width = width,
                         .ops = ops,
                         .seconds = (double)(end_us - m->begin_us) / 1e6,
                         .p50_us = samples_at(latency, 0.5),
                         .p99_us = samples_at(latency, 0.99),
                         .p999_us = samples_at(latency, 0.999),
                         .server_cpu_us = (double)(u.cpu_us - m->usage.cpu_us) / n,
                         .client_cpu_us = (double)(own_us - m->own_cpu_us) / n,
                         .written_bytes = (double)(u.written_bytes - m->usage.written_bytes) / n,
                         .rss_bytes = u.rss_bytes};
    (void)snprintf(r->name, sizeof(r->name), "%s", name);
    return r;
}
