/* What the store tests share: a store of any kind in a directory of its own, and reads whose
 * answers are kept as text. */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "harness.h"
#include "store/mem/mem_store.h"
#include "store/sqlite/sqlite_store.h"

#define FIXTURE_PATH_MAX 256
#define FIXTURE_TEXT_MAX (64u << 20)
#define FIXTURE_BATCH_BUDGET (8u << 20)

enum backend { BACKEND_MEM, BACKEND_FILE, BACKEND_MEMORY, BACKEND_COUNT };

static inline const char *backend_name(enum backend b) {
    static const char *const names[] = {"mem", "file", ":memory:"};
    return names[b];
}

static inline struct uuid id(uint8_t last) {
    return (struct uuid){{[15] = last}};
}

struct fixture {
    enum backend backend;
    struct store *store; /* NULL when it could not be opened */
    struct mem_disk *disk;
    char directory[FIXTURE_PATH_MAX];
    char path[FIXTURE_PATH_MAX + 16];
    int wake_fd;
};

static inline void fixture_wake(void *ctx) {
    uint64_t one = 1;
    struct fixture *f = ctx;
    ensure(write(f->wake_fd, &one, sizeof one) == sizeof one);
}

static inline int fixture_try_open(struct fixture *f, const char *path, struct err *e) {
    struct sqlite_options o = {.path = path, .wake = fixture_wake, .wake_ctx = f};
    return sqlite_store_open(&o, &f->store, e);
}

static inline void fixture_reopen(struct fixture *f) {
    struct err e = {0};
    if (f->backend == BACKEND_MEM) {
        if (!f->disk || mem_store_open(f->disk, &f->store) < 0)
            return;
        mem_store_set_auto(f->store, true);
    } else if (fixture_try_open(f, f->backend == BACKEND_FILE ? f->path : ":memory:", &e) < 0) {
        printf("# %s\n", e.text);
    }
}

static inline void fixture_close(struct fixture *f) {
    store_close(take(&f->store));
}

static inline void fixture_prepare(struct fixture *f, enum backend backend) {
    const char *tmp = getenv("TMPDIR");
    *f = (struct fixture){.backend = backend, .wake_fd = eventfd(0, EFD_CLOEXEC)};
    ensure(f->wake_fd >= 0);
    (void)snprintf(f->directory, sizeof f->directory, "%s/test_store.XXXXXX", tmp ? tmp : "/tmp");
    ensure(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof f->path, "%s/rondo.db", f->directory);
    if (backend == BACKEND_MEM)
        f->disk = mem_disk_new();
}

static inline void fixture_init(struct fixture *f, enum backend backend) {
    fixture_prepare(f, backend);
    fixture_reopen(f);
}

static inline void fixture_done(struct fixture *f) {
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    char name[FIXTURE_PATH_MAX + 32];
    fixture_close(f);
    mem_disk_free(f->disk);
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        (void)snprintf(name, sizeof name, "%s%s", f->path, suffixes[i]);
        (void)unlink(name);
    }
    (void)rmdir(f->directory);
    close(f->wake_fd);
}

/* Sleeps until the store has something to say, and hears it. */
static inline void fixture_turn(struct fixture *f) {
    struct pollfd p = {.fd = f->wake_fd, .events = POLLIN};
    uint64_t count;
    if (f->backend != BACKEND_MEM) {
        while (poll(&p, 1, -1) < 0)
            ensure(errno == EINTR);
        ensure(read(f->wake_fd, &count, sizeof count) == sizeof count);
    }
    store_collect(f->store);
}

/* batches */

struct commit {
    struct batch batch;
    bool is_done;
    struct write spare; /* what commit_add() gives when the arena is exhausted; goes nowhere */
};

static inline void commit_done(struct batch *b) {
    container_of(b, struct commit, batch)->is_done = true;
}

static inline void commit_init(struct commit *c) {
    *c = (struct commit){0};
    batch_init(&c->batch, FIXTURE_BATCH_BUDGET);
    c->batch.done = commit_done;
}

static inline struct write *commit_add(struct commit *c, enum write_kind kind, struct uuid namespace_id,
                                       struct uuid run_id) {
    struct write *w = batch_add(&c->batch, kind);
    if (!w)
        w = &c->spare;
    w->namespace_id = namespace_id;
    w->run_id = run_id;
    return w;
}

static inline void fixture_wait(struct fixture *f, const struct commit *c) {
    while (!c->is_done)
        fixture_turn(f);
}

/* Commits, waits, and empties the batch. */
static inline void fixture_commit(struct fixture *f, struct commit *c) {
    c->is_done = false;
    store_commit(f->store, &c->batch);
    fixture_wait(f, c);
    batch_clear(&c->batch);
}

/* reads */

/* Writes its rows to `text`, one line for each. */
struct question {
    struct read read;
    struct buf *text;
    size_t row_count;
    int done_count;
    int rc;
};

static inline void text_add_id(struct buf *b, struct uuid u) {
    buf_printf(b, " %s", uuid_is_zero(u) ? "-" : uuid_format(u).s + 24);
}

/* Short slices are shown, long ones by length and hash. */
static inline void text_add_slice(struct buf *b, struct str s) {
    uint64_t h = 0;
    if (s.n <= 16) {
        buf_printf(b, " '%.*s'", (int)s.n, s.n ? s.p : "");
        return;
    }
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(0x100000001b3);
    buf_printf(b, " %zu:%016" PRIx64, s.n, h);
}

static inline void text_add_time(struct buf *b, int64_t us) {
    if (us == CLOCK_NEVER)
        buf_add_cstr(b, " never");
    else
        buf_printf(b, " %" PRId64, us);
}

static inline void question_row(struct read *r, const struct row *row) {
    struct question *q = container_of(r, struct question, read);
    text_add_id(q->text, row->namespace_id);
    text_add_id(q->text, row->run_id);
    text_add_slice(q->text, row->workflow_id);
    text_add_slice(q->text, row->name);
    text_add_slice(q->text, row->body);
    text_add_time(q->text, row->due_us);
    text_add_time(q->text, row->close_us);
    buf_printf(q->text, " %s %" PRId64 " %" PRId64, row->is_ready ? "ready" : "-", row->first_event_id,
               row->last_event_id);
    if (row->start_us || row->count)
        buf_printf(q->text, " start %" PRId64 " count %" PRId64, row->start_us, row->count);
    if (r->kind == READ_BACKLOG)
        buf_printf(q->text, " backlog %" PRId64 " %" PRId64, row->backlog.lane, row->backlog.number);
    if (r->kind == READ_LEDGER)
        buf_printf(q->text, " ledger %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d", row->ledger.id,
                   row->ledger.nominal_s, row->ledger.last_nominal_s, row->ledger.at_us, row->ledger.fate);
    buf_add_cstr(q->text, "\n");
    q->row_count++;
}

static inline void question_done(struct read *r, int rc) {
    struct question *q = container_of(r, struct question, read);
    q->rc = rc;
    q->done_count++;
}

static inline void question_init(struct question *q, enum read_kind kind, struct buf *text) {
    *q = (struct question){.text = text, .rc = 1};
    q->read.kind = kind;
    q->read.row = question_row;
    q->read.done = question_done;
}

static inline int question_ask(struct question *q, struct store *s) {
    q->row_count = 0;
    store_read(s, &q->read);
    CHECK_INT(q->done_count, 1);
    return q->rc;
}
