/* What the machine does without Rondo, and what our own lowest layers do: the numbers that no server on it
 * can beat.
 *
 *   sync       a page written and made durable, one after the other: behind the end of a file, and in the
 * middle, where the file system has nothing to note but the page nghttp2    floor_nghttp2.c: nothing but it
 * and sockets HTTP/2     our net layer with a handler that answers at once: nghttp2, libevent and the kernel
 *   SQLite     floor_sqlite.c: the rows of starts, inserted by SQLite alone
 *   store      our store alone, fed with the rows that one start writes, `width` starts to a batch */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cases.h"
#include "net/h2.h"
#include "net/h2_client.h"
#include "store/sqlite/sqlite_store.h"

#define FLOOR_US (2 * USEC_PER_SEC)
#define PAGE_BYTES 4096
#define OVERWRITTEN_PAGES 4096 /* 16 MiB, about as long as our log gets */

/* the disk */

/* A row of the table for what has no server. */
static void print_own(struct bench *b, const char *name, size_t width, size_t ops, int64_t begin_us,
                      struct samples *took, double written_bytes) {
    struct result r = {.width = width,
                       .ops = ops,
                       .seconds = (double)(now_us() - begin_us) / 1e6,
                       .p50_us = samples_at(took, 0.5),
                       .p99_us = samples_at(took, 0.99),
                       .p999_us = samples_at(took, 0.999),
                       .server_cpu_us = -1,
                       .client_cpu_us = -1,
                       .written_bytes = written_bytes,
                       .rss_bytes = -1};
    (void)snprintf(r.name, sizeof(r.name), "%s", name);
    table_print_floor(b->table, &r);
}

/* With `pages` the file has that many and they are written again, without it grows. */
static void measure_sync(struct bench *b, const char *name, size_t pages) {
    char path[400], page[PAGE_BYTES] = "rondo";
    struct samples took = {0};
    (void)snprintf(path, sizeof(path), "%s/sync", b->directory);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t i = 0; i < pages; i++)
        if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
            die("cannot write %s", path);
    if (fd < 0 || fsync(fd) < 0)
        die("cannot write %s", path);
    int64_t begin = now_us();
    for (size_t i = 0; now_us() - begin < scaled_us(b, FLOOR_US); i++) {
        int64_t one = now_us();
        off_t at = (off_t)((pages ? i % pages : i) * sizeof(page));
        if (pwrite(fd, page, sizeof(page), at) != (ssize_t)sizeof(page) || fdatasync(fd) < 0)
            die("cannot write %s", path);
        samples_add(&took, now_us() - one);
    }
    print_own(b, name, 1, took.count, begin, &took, PAGE_BYTES);
    close(fd);
    samples_done(&took);
}

void floor_sync(struct bench *b) {
    measure_sync(b, "floor: page appended", 0);
    measure_sync(b, "floor: page overwritten", OVERWRITTEN_PAGES);
}

/* HTTP/2 */

static void echo_on_request(void unused_arg *ctx, struct h2_request *r) {
    static const struct h2_header headers[] = {{STR("content-type"), STR("application/grpc")}};
    static const struct h2_header trailers[] = {{STR("grpc-status"), STR("0")}};
    struct h2_response resp = {
        .status = 200, .headers = headers, .header_count = 1, .trailers = trailers, .trailer_count = 1};
    buf_init(&resp.body, PAGE_BYTES);
    buf_add_str(&resp.body, buf_str(&r->body));
    h2_respond(r, &resp);
}

static void echo_on_end(void unused_arg *ctx, struct h2_request unused_arg *r) {}

static noreturn_fn void echo_serve(int port_fd) {
    struct h2_handler handler = {echo_on_request, echo_on_end, echo_on_end, echo_on_end, NULL};
    struct h2_server *server;
    struct loop *l;
    struct err err = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* at worst it stays until it is killed by hand */
    if (loop_new(&l) < 0 || h2_server_new(l, "127.0.0.1:0", &handler, NULL, &server, &err) < 0)
        _exit(1);
    uint16_t port = h2_server_port(server);
    if (write(port_fd, &port, sizeof(port)) != (ssize_t)sizeof(port) || loop_run(l) < 0)
        _exit(1);
    _exit(0);
}

static void echo_start(struct bench *b) {
    int fds[2];
    uint16_t port = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        die("no pipe");
    b->subject = (struct subject){.pid = fork()};
    if (b->subject.pid == 0)
        echo_serve(fds[1]);
    if (read(fds[0], &port, sizeof(port)) != (ssize_t)sizeof(port))
        die("the echo server did not start");
    close(fds[1]);
    b->subject.out = fds[0];
    (void)snprintf(b->subject.grpc, sizeof(b->subject.grpc), "127.0.0.1:%u", port);
}

struct echo {
    struct bench *bench;
    struct h2_client *clients[CONNECTIONS_MAX];
    size_t asked, answered, total;
    struct samples took;
};

struct echo_one {
    struct echo *echo;
    int64_t begin_us;
};

static void echo_ask(struct echo *e);

static void echo_on_answer(void *ctx, const struct h2_answer *a) {
    struct echo_one *one = ctx;
    struct echo *e = one->echo;
    if (a->err || a->status != 200)
        die("the echo server answers %d", a->status);
    samples_add(&e->took, now_us() - one->begin_us);
    mem_free(one);
    if (e->asked < e->total)
        echo_ask(e);
    if (++e->answered == e->total)
        loop_stop(e->bench->loop);
}

static void echo_ask(struct echo *e) {
    static const char body[300]; /* about what a start is */
    static const struct h2_header headers[] = {{STR("content-type"), STR("application/grpc")},
                                               {STR("te"), STR("trailers")}};
    struct echo_one *one = mem_alloc(sizeof(*one));
    struct h2_exchange *x;
    ensure(one);
    *one = (struct echo_one){e, now_us()};
    struct h2_question q = {.path = STR("/temporal.api.workflowservice.v1.WorkflowService/Echo"),
                            .headers = headers,
                            .header_count = ARRAY_LEN(headers),
                            .on_end = echo_on_answer,
                            .ctx = one};
    buf_init(&q.body, sizeof(body));
    buf_add(&q.body, body, sizeof(body));
    if (h2_client_ask(e->clients[e->asked++ % e->bench->connection_count], &q, &x) < 0)
        die("no memory for a request");
}

void floor_layer(struct bench *b) {
    struct echo e = {.bench = b, .total = (size_t)(200000 * b->scale) + b->width};
    struct err err = {0};
    struct meter m;
    echo_start(b);
    for (size_t i = 0; i < b->connection_count; i++)
        if (h2_client_new(b->loop, b->subject.grpc, &e.clients[i], &err) < 0)
            die("%s", err.text);
    meter_begin(&m, b);
    for (size_t i = 0; i < b->width; i++)
        echo_ask(&e);
    ensure(loop_run(b->loop) == 0);
    table_print_floor(b->table, meter_end(&m, b, "floor: our HTTP/2", b->width, e.total, &e.took));
    for (size_t i = 0; i < b->connection_count; i++)
        h2_client_free(e.clients[i]);
    subject_kill(&b->subject);
    samples_done(&e.took);
}

/* the store */

/* Sizes as a start of this generator has them. */
#define STATE_BYTES 620
#define EVENTS_BYTES 420
#define LISTED_BYTES 330
#define UNDER_WAY 2
#define BATCH_BUDGET (64u << 20)

struct rows {
    struct bench *bench;
    struct store *store;
    struct rng rng;
    struct uuid namespace_id;
    size_t started, committed, total;
    int64_t end_us;
    struct batch batches[UNDER_WAY];
    int64_t handed_us[UNDER_WAY];
    struct samples took;
    char filler[STATE_BYTES];
};

static struct write *add_write(struct rows *x, struct batch *batch, enum write_kind kind,
                               struct uuid run_id) {
    struct write *w = batch_add(batch, kind);
    ensure(w);
    w->namespace_id = x->namespace_id;
    w->run_id = run_id;
    return w;
}

static void add_attribute(struct batch *batch, struct write *w, const char *name, struct value v) {
    struct attribute *list = (struct attribute *)(uintptr_t)w->attributes;
    list[w->attribute_count++] = (struct attribute){str_of(name), arena_dup(&batch->arena, &v, sizeof(v)), 1};
}

static void add_start(struct rows *x, struct batch *batch) {
    struct uuid run_id = uuid_timed(&x->rng, (struct wall){wall_us()});
    char *text = arena_printf(&batch->arena, "many-%zu", x->started);
    char *run = arena_strdup(&batch->arena, uuid_format(run_id).s);
    struct write *w = add_write(x, batch, WRITE_EXECUTION, run_id);
    ensure(text && run);
    w->workflow_id = str_of(text);
    w->status = 1;
    w->is_ready = true;
    w->body = str_bytes(x->filler, STATE_BYTES);
    w = add_write(x, batch, WRITE_HISTORY, run_id);
    w->first_event_id = 1;
    w->last_event_id = 2;
    w->body = str_bytes(x->filler, EVENTS_BYTES);
    add_write(x, batch, WRITE_CURRENT, run_id)->workflow_id = str_of(text);
    w = add_write(x, batch, WRITE_VISIBILITY, run_id);
    w->start_us = wall_us();
    w->body = str_bytes(x->filler, LISTED_BYTES);
    w->attributes = arena_array(&batch->arena, struct attribute, 8);
    add_attribute(batch, w, "WorkflowId", value_text(str_of(text)));
    add_attribute(batch, w, "RunId", value_text(str_of(run)));
    add_attribute(batch, w, "WorkflowType", value_text(STR("many")));
    add_attribute(batch, w, "TaskQueue", value_text(STR("bench")));
    add_attribute(batch, w, "ExecutionStatus", value_text(STR("Running")));
    add_attribute(batch, w, "RootWorkflowId", value_text(str_of(text)));
    add_attribute(batch, w, "RootRunId", value_text(str_of(run)));
    x->started++;
}

static void commit_more(struct rows *x, struct batch *batch) {
    batch_clear(batch);
    for (size_t i = 0; i < x->bench->width; i++)
        add_start(x, batch);
    x->handed_us[batch - x->batches] = now_us();
    store_commit(x->store, batch);
}

static void on_durable(struct batch *batch) {
    struct rows *x = batch->owner;
    samples_add(&x->took, now_us() - x->handed_us[batch - x->batches]);
    x->committed += x->bench->width;
    if (now_us() < x->end_us)
        commit_more(x, batch);
    else if (x->committed == x->started)
        loop_stop(x->bench->loop);
}

static void on_wake(void *ctx) {
    store_collect(((struct rows *)ctx)->store);
}

static void rows_open(struct rows *x, struct bench *b) {
    struct err err = {0};
    struct sqlite_options o = {.path = b->file, .wake = loop_wake, .wake_ctx = b->loop};
    bench_clear_files(b);
    x->bench = b;
    rng_init(&x->rng, 1);
    x->namespace_id = uuid_random(&x->rng);
    for (size_t i = 0; i < sizeof(x->filler); i++)
        x->filler[i] = (char)rng_u64(&x->rng);
    if (sqlite_store_open(&o, &x->store, &err) < 0 || loop_on_wake(b->loop, on_wake, x) < 0)
        die("%s", err.text);
}

void floor_store(struct bench *b) {
    struct rows *x = mem_zalloc(sizeof(*x));
    ensure(x);
    rows_open(x, b);
    int64_t begin = now_us();
    x->end_us = begin + scaled_us(b, 2 * FLOOR_US);
    for (size_t i = 0; i < UNDER_WAY; i++) {
        batch_init(&x->batches[i], BATCH_BUDGET);
        x->batches[i].done = on_durable;
        x->batches[i].owner = x;
        commit_more(x, &x->batches[i]);
    }
    ensure(loop_run(b->loop) == 0);
    print_own(b, "floor: our store", b->width, x->committed, begin, &x->took, -1);
    store_close(x->store);
    ensure(loop_on_wake(b->loop, NULL, NULL) == 0);
    for (size_t i = 0; i < UNDER_WAY; i++)
        batch_done(&x->batches[i]);
    samples_done(&x->took);
    mem_free(x);
}
