/* Lists and counts, on threads of their own.
 *
 * A question about many rows takes as long as it takes; the loop must not stand still meanwhile. The happy
 * path: the loop hands the read over; a thread that is free answers it through its own connection, which sees
 * every commit that was announced before, into memory; the loop collects the rows and hands them on. Few
 * threads, so that a quick question does not wait behind one that is slow, and so that many slow ones leave
 * the machine to others.
 *
 * A read that is no longer wanted is skipped, or interrupted, so that callers who ask and leave do not delay
 * other reads.
 *
 * Failure is told like that of any other read. When the store is closed, what is being asked is interrupted
 * and queued reads are dropped; their callbacks do not run. */
#include <signal.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/sqlite/sqlite_int.h"

#define PROGRESS_STEPS 10000 /* SQLite's machine steps between two checks of is_unwanted */

struct lister_answer {
    struct list link;
    const struct sqlite_lister *lister;
    struct read *read;
    struct buf rows; /* struct row, name, body; one behind the other */
    int rc;
    struct err err;
};

/* the threads' side */

static void lister_keep_row(void *ctx, const struct row *row) {
    struct buf *rows = ctx;
    buf_add(rows, row, sizeof *row);
    buf_add(rows, row->name.p, row->name.n);
    buf_add(rows, row->body.p, row->body.n);
}

static int lister_is_unwanted(void *ctx) {
    const struct lister_answer *a = ctx;
    return a->read->is_unwanted || a->lister->is_stopping;
}

static void lister_answer_read(struct sqlite_lister *l, sqlite3 *db, struct lister_answer *a) {
    if (lister_is_unwanted(a))
        return;
    sqlite3_progress_handler(db, PROGRESS_STEPS, lister_is_unwanted, a);
    int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL); /* one state for all statements */
    if (rc == SQLITE_OK)
        rc = sqlite_read_visibility(db, a->read, true, lister_keep_row, &a->rows);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    if (rc == SQLITE_DONE)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK && buf_ok(&a->rows))
        return;
    if (!lister_is_unwanted(a))
        a->rc = sqlite_error(db, l->path, &a->err) == ERR_STORE_CORRUPT ? ERR_STORE_CORRUPT : ERR_STORE_IO;
    (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one that counts */
}

static struct lister_answer *lister_next_read(struct sqlite_lister *l) {
    while (list_empty(&l->waiting) && !l->is_stopping)
        pthread_cond_wait(&l->has_work, &l->lock);
    return l->is_stopping ? NULL : container_of(list_pop(&l->waiting), struct lister_answer, link);
}

static void *lister_main(void *ctx) {
    struct sqlite_lister_thread *t = ctx;
    struct sqlite_lister *l = t->lister;
    pthread_mutex_lock(&l->lock);
    for (struct lister_answer *a; (a = lister_next_read(l));) {
        pthread_mutex_unlock(&l->lock);
        sqlite_checkpoint_enter(l->checkpoint);
        lister_answer_read(l, t->db, a);
        sqlite_checkpoint_leave(l->checkpoint);
        pthread_mutex_lock(&l->lock);
        list_append(&l->answered, &a->link);
        if (l->options->wake)
            l->options->wake(l->options->wake_ctx);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* the loop's side */

static void lister_free_answer(struct lister_answer *a) {
    buf_done(&a->rows);
    mem_free(a);
}

int sqlite_lister_read(struct sqlite_lister *l, struct read *r) {
    struct lister_answer *a = mem_zalloc(sizeof *a);
    if (!a)
        return ERR_NO_MEMORY;
    buf_init(&a->rows, SIZE_MAX);
    a->lister = l;
    a->read = r;
    pthread_mutex_lock(&l->lock);
    list_append(&l->waiting, &a->link);
    pthread_cond_signal(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

static void lister_deliver_rows(struct lister_answer *a) {
    struct read *r = a->read;
    for (size_t at = 0; a->rc == 0 && at < a->rows.len;) {
        struct row row;
        memcpy(&row, a->rows.data + at, sizeof row);
        at += sizeof row;
        row.name = str_bytes(a->rows.data + at, row.name.n);
        at += row.name.n;
        row.body = str_bytes(a->rows.data + at, row.body.n);
        at += row.body.n;
        r->row(r, &row);
    }
}

static struct lister_answer *lister_next_answer(struct sqlite_lister *l) {
    pthread_mutex_lock(&l->lock);
    struct list *n = list_empty(&l->answered) ? NULL : list_pop(&l->answered);
    pthread_mutex_unlock(&l->lock);
    return n ? container_of(n, struct lister_answer, link) : NULL;
}

void sqlite_lister_collect(struct sqlite_lister *l) {
    if (!l->thread_count)
        return;
    for (struct lister_answer *a; (a = lister_next_answer(l));) {
        struct read *r = a->read;
        int rc = a->rc;
        if (rc < 0)
            log_emit(l->options->log, LOG_store_failed, log_str("what", "read"),
                     log_str("text", a->err.text));
        lister_deliver_rows(a);
        lister_free_answer(a);
        r->done(r, rc);
    }
}

static void lister_drop_answers(struct list *l) {
    for (struct list *n; (n = list_pop(l));)
        lister_free_answer(container_of(n, struct lister_answer, link));
}

int sqlite_lister_start(struct sqlite_lister *l, sqlite3 *const *dbs, size_t count,
                        struct sqlite_checkpoint *checkpoint, const char *path,
                        const struct sqlite_options *o, struct err *reterr) {
    sigset_t all, before;
    l->checkpoint = checkpoint;
    l->path = path;
    l->options = o;
    list_init(&l->waiting);
    list_init(&l->answered);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->has_work, NULL);
    sigfillset(&all); /* signals are for the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        struct sqlite_lister_thread *t = &l->threads[i];
        *t = (struct sqlite_lister_thread){.lister = l, .db = dbs[i]};
        error = pthread_create(&t->thread, NULL, lister_main, t);
        if (!error)
            (void)pthread_setname_np(t->thread, "lister"); /* only for people who look */
        l->thread_count += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return err_set(reterr, ERR_STORE_IO, "Cannot start the store's thread: %s.", strerror(error));
    return 0;
}

void sqlite_lister_stop(struct sqlite_lister *l) {
    if (!l->options)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_stopping = true;
    for (size_t i = 0; i < l->thread_count; i++)
        sqlite3_interrupt(l->threads[i].db);
    pthread_cond_broadcast(&l->has_work);
    pthread_mutex_unlock(&l->lock);
    sqlite_checkpoint_release(l->checkpoint);
    for (size_t i = 0; i < l->thread_count; i++)
        pthread_join(l->threads[i].thread, NULL);
    lister_drop_answers(&l->waiting);
    lister_drop_answers(&l->answered);
    pthread_cond_destroy(&l->has_work);
    pthread_mutex_destroy(&l->lock);
}
