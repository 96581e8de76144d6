/* Lists over many closed runs: how long the first page takes, by filter.
 *
 *   bench_visibility [DIRECTORY] [RUNS]
 *
 * Fills DIRECTORY/bench_visibility.db with RUNS closed runs (a million unless told), in which one type,
 * status or attribute value in a thousand is rare, then asks for first pages of 100 through the same door as
 * the engine. "CPU" is the median of what all threads spent, "held" how long the asking thread, which is the
 * loop in a server, could do nothing else. At the end a small call (a lookup and a commit) is made again and
 * again while a question over all runs is answered. Prints a table, and one JSON object a line. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "core/search/filter.h"
#include "store/sqlite/sqlite_store.h"

#define RUNS_DEFAULT 1000000
#define BATCH_RUNS 5000
#define PAGE_RUNS 100
#define BODY_BYTES 300
#define TRIES 9
#define SMALL_CALLS 20
#define START_US (INT64_C(1700000000) * USEC_PER_SEC)

static const struct uuid space = {{1}};

struct bench {
    struct store *store;
    int wake_fd;
    struct batch batch;
    bool is_done;
    int64_t row_count;
    int64_t count;
    int rc;
    bool is_answered;
};

static int64_t clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * USEC_PER_SEC + t.tv_nsec / NSEC_PER_USEC;
}

static int64_t now_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

/* Of all threads: what a question costs on a machine that has other things to do, too. */
static int64_t spent_us(void) {
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

static void wake(void *ctx) {
    uint64_t one = 1;
    ensure(write(((struct bench *)ctx)->wake_fd, &one, sizeof one) == sizeof one);
}

static void committed(struct batch *b) {
    ((struct bench *)b->owner)->is_done = true;
}

/* Waits until the store has news; returns how long it took to take them in. */
static int64_t collect(struct bench *x) {
    uint64_t count;
    ensure(read(x->wake_fd, &count, sizeof count) == sizeof count);
    int64_t begun = now_us();
    store_collect(x->store);
    return now_us() - begun;
}

static void commit(struct bench *x) {
    x->is_done = false;
    store_commit(x->store, &x->batch);
    while (!x->is_done)
        (void)collect(x);
    batch_clear(&x->batch);
}

/* filling */

static void add(struct arena *a, struct write *w, const char *name, struct value v) {
    struct attribute *list = (struct attribute *)(uintptr_t)w->attributes;
    list[w->attribute_count++] = (struct attribute){str_of(name), arena_dup(a, &v, sizeof v), 1};
}

static struct value text(struct arena *a, const char *prefix, int64_t i) {
    return value_text(str_of(arena_printf(a, "%s%" PRId64, prefix, i)));
}

static void add_run(struct bench *x, struct rng *rng, int64_t i) {
    static const char body[BODY_BYTES];
    struct arena *a = &x->batch.arena;
    struct write *w = batch_add(&x->batch, WRITE_VISIBILITY);
    ensure(w);
    w->namespace_id = space;
    w->run_id = uuid_timed(rng, (struct wall){START_US + i * 1000});
    w->start_us = START_US + i * 1000;
    w->close_us = w->start_us + 1000000 + (int64_t)rng_below(rng, 10000000);
    w->body = str_bytes(body, sizeof body);
    w->attributes = arena_array(a, struct attribute, 16);
    bool is_rare = i % 1000 == 7;
    add(a, w, "WorkflowId", text(a, "workflow-", i));
    add(a, w, "WorkflowType", is_rare ? value_text(STR("rare")) : text(a, "type-", i % 10));
    add(a, w, "TaskQueue", text(a, "queue-", i % 5));
    add(a, w, "ExecutionStatus", value_text(is_rare ? STR("Failed") : STR("Completed")));
    add(a, w, "ExecutionDuration", value_int((w->close_us - w->start_us) * NSEC_PER_USEC));
    add(a, w, "ExecutionTime", value_int(w->start_us * NSEC_PER_USEC));
    add(a, w, "HistoryLength", value_int(is_rare ? 5000 + i / 1000 : 11 + i % 7));
    add(a, w, "HistorySizeBytes", value_int(2000 + (int64_t)rng_below(rng, 1000)));
    add(a, w, "StateTransitionCount", value_int(6 + i % 3));
    add(a, w, "RootWorkflowId", is_rare ? text(a, "parent-", i / 10000) : text(a, "workflow-", i));
    if (is_rare)
        add(a, w, "ParentWorkflowId", text(a, "parent-", i / 10000));
    add(a, w, "City", is_rare ? value_text(STR("Rome")) : text(a, "city-", i % 100));
    add(a, w, "Year", value_int(i % 3000));
}

static void fill(struct bench *x, int64_t runs) {
    struct rng rng;
    rng_init(&rng, 1);
    int64_t begun = now_us();
    for (int64_t i = 0; i < runs; i++) {
        add_run(x, &rng, i);
        if (x->batch.count == BATCH_RUNS || i == runs - 1)
            commit(x);
    }
    int64_t took = now_us() - begun;
    printf("%-98s %9.0f rows/s\n", "filling", (double)runs * 1e6 / (double)MAX(took, 1));
}

/* asking */

static void on_row(struct read *r, const struct row *row) {
    struct bench *x = r->owner;
    x->row_count++;
    x->count += row->count;
}

static void on_done(struct read *r, int rc) {
    struct bench *x = r->owner;
    x->rc = rc;
    x->is_answered = true;
}

static const struct predicate *parse(struct arena *a, const char *query) {
    State__SearchAttribute city = STATE__SEARCH_ATTRIBUTE__INIT, year = STATE__SEARCH_ATTRIBUTE__INIT;
    State__SearchAttribute *list[] = {&city, &year};
    State__Namespace ns = STATE__NAMESPACE__INIT;
    struct filter f;
    struct err e = {0};
    city.name = (char[]){"City"};
    city.type = INDEXED_VALUE_TYPE_KEYWORD;
    year.name = (char[]){"Year"};
    year.type = INDEXED_VALUE_TYPE_INT;
    ns.search_attributes = list;
    ns.n_search_attributes = ARRAY_LEN(list);
    if (filter_parse(a, &ns, FILTER_WORKFLOWS, str_of(query), &f, &e) < 0) {
        printf("%s: %s\n", query, e.text);
        exit(1);
    }
    return f.where;
}

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct read question(struct bench *x, struct arena *a, enum read_kind kind, const char *query) {
    x->row_count = x->count = 0;
    x->is_answered = false;
    return (struct read){.kind = kind,
                         .namespace_id = space,
                         .where = parse(a, query),
                         .limit = PAGE_RUNS,
                         .row = on_row,
                         .done = on_done,
                         .owner = x};
}

/* Returns how long the loop is held. */
static int64_t hand_over(struct bench *x, struct read *r) {
    int64_t begun = now_us();
    store_read(x->store, r);
    return now_us() - begun;
}

static void ask(struct bench *x, enum read_kind kind, const char *query) {
    int64_t times[TRIES], costs[TRIES], held = 0;
    for (int i = 0; i < TRIES; i++) {
        struct arena a cleanup(arena_done);
        arena_init(&a, SIZE_MAX);
        int64_t begun = now_us(), spent = spent_us();
        struct read r = question(x, &a, kind, query);
        int64_t stay = hand_over(x, &r);
        held = MAX(held, stay);
        while (!x->is_answered) {
            stay = collect(x);
            held = MAX(held, stay);
        }
        ensure(x->rc == 0);
        times[i] = now_us() - begun;
        costs[i] = spent_us() - spent;
    }
    qsort(costs, TRIES, sizeof costs[0], compare_times);
    qsort(times, TRIES, sizeof times[0], compare_times);
    const char *what = kind == READ_VISIBILITY ? "list" : "count";
    int64_t found = kind == READ_VISIBILITY ? x->row_count : x->count;
    printf("%-5s %-92s %9.2f ms %9.2f ms %9.2f ms %9.2f ms %8" PRId64 "\n", what, query,
           (double)costs[TRIES / 2] / 1e3, (double)times[TRIES / 2] / 1e3, (double)times[TRIES - 1] / 1e3,
           (double)held / 1e3, found);
    printf("{\"bench\":\"visibility_%s\",\"query\":\"%s\",\"cpu_us\":%" PRId64 ",\"median_us\":%" PRId64
           ",\"max_us\":%" PRId64 ",\"held_us\":%" PRId64 ",\"found\":%" PRId64 "}\n",
           what, query, costs[TRIES / 2], times[TRIES / 2], times[TRIES - 1], held, found);
}

/* What a start asks of the store. */
static void small_done(struct read *r unused_arg, int rc) {
    ensure(rc == 0);
}

static void small_call(struct bench *x, struct rng *rng) {
    struct read r = {.kind = READ_CURRENT,
                     .namespace_id = space,
                     .workflow_id = STR("nobody"),
                     .row = on_row,
                     .done = small_done,
                     .owner = x};
    store_read(x->store, &r);
    struct write *w = batch_add(&x->batch, WRITE_EXECUTION);
    ensure(w);
    w->namespace_id = space;
    w->run_id = uuid_random(rng);
    w->workflow_id = STR("small");
    w->body = STR("state");
    w->is_first = true;
    commit(x);
}

/* The longest small call beside this question, and beside none. */
static void beside(struct bench *x, enum read_kind kind, const char *query, int least_calls) {
    struct arena a cleanup(arena_done);
    struct rng rng;
    struct read r uninitialized;
    int64_t longest = 0;
    int calls = 0;
    arena_init(&a, SIZE_MAX);
    rng_init(&rng, (uint64_t)now_us());
    x->is_answered = true;
    int64_t begun = now_us();
    if (query) {
        r = question(x, &a, kind, query);
        longest = hand_over(x, &r); /* whoever comes meanwhile waits as long */
    }
    while (!x->is_answered || calls < least_calls) {
        int64_t at = now_us();
        small_call(x, &rng);
        longest = MAX(longest, now_us() - at);
        calls++;
    }
    int64_t took = now_us() - begun;
    printf("%-98s %9.2f ms  longest of %d, in %.0f ms\n", query ? query : "(nothing)", (double)longest / 1e3,
           calls, (double)took / 1e3);
    printf("{\"bench\":\"small_call_beside\",\"query\":\"%s\",\"longest_us\":%" PRId64 ",\"calls\":%d}\n",
           query ? query : "", longest, calls);
}

static void ask_all(struct bench *x) {
    static const char *const queries[] = {
        "",
        "WorkflowId = 'workflow-500000'",
        "WorkflowId IN ('workflow-1', 'workflow-2', 'workflow-3')",
        "WorkflowId STARTS_WITH 'workflow-4999'",
        "WorkflowId STARTS_WITH 'workflow-'",
        "WorkflowId STARTS_WITH 'workflow-4999' AND ExecutionStatus = 'Failed'",
        "WorkflowType = 'type-3'",
        "WorkflowType = 'rare'",
        "WorkflowType STARTS_WITH 'ra'",
        "WorkflowType = 'type-7' AND ExecutionStatus = 'Failed'",
        "WorkflowType = 'type-3' AND NOT ExecutionStatus = 'Completed'",
        "WorkflowType = 'type-3' AND City = 'city-7'",
        "WorkflowType = 'type-3' AND CloseTime IS NULL",
        "WorkflowType = 'type-3' AND StartTime BETWEEN '2023-11-14T22:20:00Z' AND '2023-11-14T22:20:01Z'",
        "TaskQueue = 'nobody'",
        "TaskQueue STARTS_WITH 'nob'",
        "TaskQueue = 'queue-2' AND WorkflowType = 'rare'",
        "ExecutionStatus = 'Failed'",
        "ExecutionStatus IN ('Failed', 'Completed')",
        "ExecutionStatus IN ('Failed', 'Terminated')",
        "ExecutionStatus = 'Running'",
        "ExecutionStatus = 'Completed' AND WorkflowType = 'type-3'",
        "ExecutionStatus = 'Completed' AND Year = 2999",
        "NOT ExecutionStatus = 'Completed'",
        "NOT ExecutionStatus IN ('Completed', 'Failed')",
        "City = 'city-7'",
        "City = 'Rome'",
        "City = 'Rome' AND Year > 1500",
        "City STARTS_WITH 'Ro'",
        "City STARTS_WITH 'Ro' AND ExecutionStatus = 'Completed'",
        "City IN ('Rome', 'Oslo', 'Bonn') AND CloseTime > '2023-11-14T22:25:00Z'",
        "Year = 2999 OR City = 'Rome'",
        "Year > 2997",
        "Year BETWEEN 1000 AND 1001",
        "Year BETWEEN 1000 AND 1001 AND ExecutionStatus = 'Failed'",
        "CloseTime < '2023-11-14T22:20:00Z'",
        "CloseTime BETWEEN '2023-11-14T22:20:00Z' AND '2023-11-14T22:20:01Z'",
        "CloseTime < '2023-11-14T22:20:00Z' AND WorkflowType = 'rare'",
        "StartTime > '2023-11-14T22:29:00Z'",
        "StartTime BETWEEN '2023-11-14T22:20:00Z' AND '2023-11-14T22:20:01Z'",
        "StartTime < '2023-11-14T22:13:25Z'",
        "StartTime < '2023-11-14T22:21:40Z'",
        "ExecutionTime BETWEEN '2023-11-14T22:20:00Z' AND '2023-11-14T22:20:01Z'",
        "ExecutionDuration > '10990ms'",
        "ExecutionDuration > '10990ms' AND WorkflowType = 'type-3'",
        "HistoryLength > 5000",
        "HistorySizeBytes >= 2999 AND ExecutionStatus = 'Completed'",
        "StateTransitionCount > 100",
        "ParentWorkflowId = 'parent-50'",
        "RootWorkflowId = 'parent-50'",
        "RootWorkflowId = 'workflow-500000'",
        "City = 'city-7' AND NOT WorkflowType = 'type-7'",
        "NOT WorkflowType STARTS_WITH 'type-'",
        "NOT City STARTS_WITH 'city-'",
    };
    static const char *const counts[] = {
        "",
        "ExecutionStatus = 'Failed'",
        "City = 'Rome'",
        "WorkflowType = 'type-3'",
        "City = 'city-7' AND ExecutionStatus = 'Completed'",
        "City = 'Rome' AND ExecutionStatus = 'Completed'",
        "WorkflowType = 'type-3' AND NOT ExecutionStatus = 'Completed'",
        "Year BETWEEN 1000 AND 1001",
        "StartTime BETWEEN '2023-11-14T22:20:00Z' AND '2023-11-14T22:20:01Z'",
        "ExecutionDuration > '10990ms'",
    };
    printf("%-98s %12s %12s %12s %12s %8s\n", "first page of 100", "CPU", "median", "longest", "held",
           "found");
    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        ask(x, READ_VISIBILITY, queries[i]);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        ask(x, READ_VISIBILITY_COUNT, counts[i]);
    printf("a small call beside\n");
    beside(x, READ_VISIBILITY, NULL, SMALL_CALLS);
    beside(x, READ_VISIBILITY_COUNT, "", SMALL_CALLS);
    beside(x, READ_VISIBILITY_COUNT, "NOT ExecutionStatus = 'Completed'", SMALL_CALLS);
    beside(x, READ_VISIBILITY, "NOT ExecutionStatus IN ('Completed', 'Failed')", SMALL_CALLS);
}

int main(int argc, char **argv) {
    const char *directory = argc > 1 ? argv[1] : "/tmp";
    int64_t runs = argc > 2 ? strtoll(argv[2], NULL, 10) : RUNS_DEFAULT;
    struct bench x = {.wake_fd = eventfd(0, EFD_CLOEXEC)};
    char path[512];
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/bench_visibility.db", directory);
    struct sqlite_options o = {.path = path, .wake = wake, .wake_ctx = &x};
    if (sqlite_store_open(&o, &x.store, &e) < 0) {
        printf("%s\n", e.text);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    batch_init(&x.batch, SIZE_MAX);
    x.batch.done = committed;
    x.batch.owner = &x;
    fill(&x, runs);
    ask_all(&x);
    store_close(x.store);
    batch_done(&x.batch);
    close(x.wake_fd);
    if (runs == 0)
        return 0;
    (void)unlink(path);
    char lock[528];
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)unlink(lock);
    return 0;
}
