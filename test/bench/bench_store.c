/* How fast the SQLite store commits: `bench_store [DIRECTORY|:memory:] [SECONDS]`.
 *
 * One operation is what a workflow costs the store: a start writes an
 * execution row, a history row and the current-run row; a step rewrites the
 * execution row of an open run and appends to its history. Batches of 1, 10
 * and 100 operations are committed with two under way, as the engine does.
 * For each size: one line for people, one line of JSON. The file lives in a
 * directory of its own, removed at the end. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "store/sqlite/sqlite_store.h"

#define STATE_BYTES 1200
#define EVENTS_BYTES 900
#define UNDER_WAY 2
#define BATCH_BUDGET (1 << 20)
#define LATENCIES_MAX 1000000
#define RUNS_MAX 400000
#define EVENTS_PER_ROW 4
#define OPEN_RUNS 2000 /* steps go to one of the youngest */

struct run {
    struct uuid id;
    int64_t next_event_id;
};

struct bench {
    struct store *store;
    int wake_fd;
    struct rng rng;
    struct uuid namespace_id;
    struct run *runs;
    size_t run_count;
    struct batch batches[UNDER_WAY];
    int64_t handed_us[UNDER_WAY];
    bool is_free[UNDER_WAY];
    int64_t *latencies;
    size_t latency_count;
    char filler[STATE_BYTES];
};

struct result {
    size_t batch_count;
    double seconds;
    int64_t p50_us, p99_us, max_us;
};

static int64_t clock_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * USEC_PER_SEC + t.tv_nsec / NSEC_PER_USEC;
}

static noreturn_fn void die(const char *what) {
    (void)fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

static void on_wake(void *ctx) {
    uint64_t one = 1;
    if (write(*(int *)ctx, &one, sizeof one) < 0)
        die("cannot wake");
}

static void on_done(struct batch *b) {
    struct bench *x = b->owner;
    size_t i = (size_t)(b - x->batches);
    if (x->latency_count < LATENCIES_MAX)
        x->latencies[x->latency_count++] = clock_us() - x->handed_us[i];
    x->is_free[i] = true;
}

static struct write *add(struct bench *x, struct batch *b, enum write_kind kind, const struct run *run) {
    struct write *w = batch_add(b, kind);
    if (!w)
        die("a batch is full");
    w->namespace_id = x->namespace_id;
    w->run_id = run->id;
    return w;
}

static void add_operation(struct bench *x, struct batch *b, struct run *run, bool is_start) {
    struct write *w = add(x, b, WRITE_EXECUTION, run);
    char *workflow_id = arena_printf(&b->arena, "order-%s", uuid_format(run->id).s);
    if (!workflow_id)
        die("a batch is full");
    w->workflow_id = str_of(workflow_id);
    w->status = 1;
    w->due_us = run->next_event_id * USEC_PER_SEC;
    w->is_ready = true;
    w->body = str_bytes(x->filler, STATE_BYTES);
    w = add(x, b, WRITE_HISTORY, run);
    w->first_event_id = run->next_event_id;
    w->last_event_id = (run->next_event_id += EVENTS_PER_ROW) - 1;
    w->body = str_bytes(x->filler, EVENTS_BYTES);
    if (is_start)
        add(x, b, WRITE_CURRENT, run)->workflow_id = str_of(workflow_id);
}

static size_t pick(struct bench *x) {
    size_t open = MIN(x->run_count, (size_t)OPEN_RUNS);
    return x->run_count - 1 - rng_below(&x->rng, open);
}

static void fill(struct bench *x, struct batch *b, size_t size, bool is_start) {
    batch_clear(b);
    for (size_t i = 0; i < size; i++) {
        struct run *run = &x->runs[is_start ? x->run_count++ : pick(x)];
        if (is_start)
            *run = (struct run){uuid_timed(&x->rng, (struct wall){clock_us()}), 1};
        add_operation(x, b, run, is_start);
    }
}

static void wait_any(struct bench *x) {
    struct pollfd p = {.fd = x->wake_fd, .events = POLLIN};
    uint64_t count;
    if (poll(&p, 1, -1) < 0 && errno != EINTR)
        die("poll");
    if (p.revents && read(x->wake_fd, &count, sizeof count) < 0)
        die("read");
    store_collect(x->store);
}

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct result measure(struct bench *x, size_t size, bool is_start, double seconds) {
    struct result r = {0};
    int64_t begin = clock_us(), end = begin + (int64_t)(seconds * 1e6);
    x->latency_count = 0;
    while (clock_us() < end && (!is_start || x->run_count + size <= RUNS_MAX)) {
        for (size_t i = 0; i < UNDER_WAY; i++) {
            if (!x->is_free[i] || (is_start && x->run_count + size > RUNS_MAX))
                continue;
            fill(x, &x->batches[i], size, is_start);
            x->is_free[i] = false;
            x->handed_us[i] = clock_us();
            store_commit(x->store, &x->batches[i]);
            r.batch_count++;
        }
        wait_any(x);
    }
    while (x->latency_count < r.batch_count)
        wait_any(x);
    r.seconds = (double)(clock_us() - begin) / 1e6;
    qsort(x->latencies, x->latency_count, sizeof *x->latencies, compare_i64);
    r.p50_us = x->latencies[x->latency_count / 2];
    r.p99_us = x->latencies[x->latency_count * 99 / 100];
    r.max_us = x->latencies[x->latency_count - 1];
    return r;
}

static void report(const char *what, size_t size, size_t rows, const struct result *r) {
    double batches = (double)r->batch_count / r->seconds, operations = batches * (double)size;
    printf("%-5s x %-3zu  %8.0f batches/s  %8.0f ops/s  %8.0f rows/s   commit p50 %" PRId64
           " us, p99 %" PRId64 " us, max %" PRId64 " us\n",
           what, size, batches, operations, operations * (double)rows, r->p50_us, r->p99_us, r->max_us);
    printf("{\"bench\":\"store\",\"op\":\"%s\",\"batch\":%zu,\"batches_per_s\":%.0f,\"ops_per_s\":%.0f,"
           "\"rows_per_s\":%.0f,\"p50_us\":%" PRId64 ",\"p99_us\":%" PRId64 ",\"max_us\":%" PRId64 "}\n",
           what, size, batches, operations, operations * (double)rows, r->p50_us, r->p99_us, r->max_us);
    (void)fflush(stdout);
}

static void run_all(struct bench *x, double seconds) {
    static const size_t sizes[] = {1, 10, 100};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct result r = measure(x, sizes[i], true, seconds);
        report("start", sizes[i], 3, &r);
        r = measure(x, sizes[i], false, seconds);
        report("step", sizes[i], 2, &r);
    }
}

static void bench_open(struct bench *x, const char *path) {
    struct err e = {0};
    struct sqlite_options o = {.path = path, .wake = on_wake, .wake_ctx = &x->wake_fd};
    rng_init(&x->rng, 1);
    x->namespace_id = uuid_random(&x->rng);
    x->runs = mem_alloc(RUNS_MAX * sizeof *x->runs);
    x->latencies = mem_alloc(LATENCIES_MAX * sizeof *x->latencies);
    x->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (!x->runs || !x->latencies || x->wake_fd < 0)
        die("no memory");
    for (size_t i = 0; i < sizeof x->filler; i++)
        x->filler[i] = (char)rng_u64(&x->rng);
    for (size_t i = 0; i < UNDER_WAY; i++) {
        batch_init(&x->batches[i], BATCH_BUDGET);
        x->batches[i].done = on_done;
        x->batches[i].owner = x;
        x->is_free[i] = true;
    }
    if (sqlite_store_open(&o, &x->store, &e) < 0)
        die(e.text);
}

static void bench_close(struct bench *x) {
    store_close(x->store);
    for (size_t i = 0; i < UNDER_WAY; i++)
        batch_done(&x->batches[i]);
    close(x->wake_fd);
    mem_free(x->runs);
    mem_free(x->latencies);
}

static void remove_files(const char *directory) {
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    char name[4200];
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        (void)snprintf(name, sizeof name, "%s/bench.db%s", directory, suffixes[i]);
        (void)unlink(name);
    }
    (void)rmdir(directory);
}

int main(int argc, char **argv) {
    struct bench *x = mem_zalloc(sizeof *x);
    const char *where = argc > 1 ? argv[1] : ".";
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 2.0;
    bool is_memory = cstr_eq(where, ":memory:");
    char directory[4096], path[4200] = ":memory:";
    if (!is_memory) {
        (void)snprintf(directory, sizeof directory, "%s/bench_store.XXXXXX", where);
        if (!mkdtemp(directory))
            die("cannot make a directory there");
        (void)snprintf(path, sizeof path, "%s/bench.db", directory);
    }
    if (!x)
        die("no memory");
    bench_open(x, path);
    run_all(x, seconds);
    bench_close(x);
    mem_free(x);
    if (!is_memory)
        remove_files(directory);
    return 0;
}
