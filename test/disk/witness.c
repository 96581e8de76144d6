/* The store in front of the store. */
#include "witness.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Short, so that the log starts over many times in a small script. */
#define LOG_PAGES 48

static void note(struct witness *w, enum trace_kind kind, int64_t number) {
    if (w->disk)
        disk_note(w->disk, kind, number);
}

static void slot_done(struct batch *b) {
    struct witness_slot *slot = b->owner;
    struct witness *w = slot->witness;
    b->owner = slot->owner;
    b->done = slot->done;
    slot->batch = NULL;
    w->done++;
    note(w, TRACE_DONE, slot->number);
    if (w->on_done)
        w->on_done(w->ctx, w);
    b->done(b);
}

static void witness_commit(struct store *s, struct batch *b) {
    struct witness *w = container_of(s, struct witness, base);
    struct witness_slot *slot = w->slots;
    while (slot->batch) {
        slot++;
        ensure(slot < w->slots + WITNESS_SLOTS);
    }
    *slot = (struct witness_slot){w, b, b->owner, b->done, ++w->begun};
    b->owner = slot;
    b->done = slot_done;
    note(w, TRACE_BEGUN, slot->number);
    store_commit(w->real, b);
}

static void witness_read(struct store *s, struct read *r) {
    store_read(container_of(s, struct witness, base)->real, r);
}

static void witness_collect(struct store *s) {
    store_collect(container_of(s, struct witness, base)->real);
}

static void witness_rest(struct store *s) {
    store_rest(container_of(s, struct witness, base)->real);
}

static void witness_close(struct store *s) {
    struct witness *w = container_of(s, struct witness, base);
    store_close(take(&w->real));
}

static void on_wake(void *ctx) {
    uint64_t one = 1;
    ensure(write(((struct witness *)ctx)->wake_fd, &one, sizeof one) == sizeof one);
}

static void on_fatal(void *ctx, const char *text unused_arg) {
    _exit(((const struct witness *)ctx)->fatal_code);
}

void witness_init(struct witness *w, struct disk *d) {
    static const struct store_ops ops = {witness_commit, witness_read,  witness_collect,
                                         witness_rest,   witness_close, NULL};
    *w = (struct witness){.base = {&ops}, .disk = d, .wake_fd = eventfd(0, EFD_CLOEXEC)};
    ensure(w->wake_fd >= 0);
}

int witness_open(struct witness *w, const char *path, struct err *reterr) {
    struct sqlite_options o = {.path = path,
                               .wake = on_wake,
                               .wake_ctx = w,
                               .fatal = w->fatal_code ? on_fatal : NULL,
                               .fatal_ctx = w,
                               .log_pages = LOG_PAGES};
    return sqlite_store_open(&o, &w->real, reterr);
}

void witness_wait(void *ctx) {
    struct witness *w = ctx;
    struct pollfd p = {.fd = w->wake_fd, .events = POLLIN};
    uint64_t count;
    while (poll(&p, 1, -1) < 0)
        ensure(errno == EINTR);
    ensure(read(w->wake_fd, &count, sizeof count) == sizeof count);
    store_collect(&w->base);
}

void witness_done(struct witness *w) {
    close(w->wake_fd);
}
