/* Checkpoints: a thread moves the content of the log into the main file.
 *
 * The happy path: after a commit the writer says how long the log is; when enough was added, the thread moves
 * it while commits go on. They make the log longer meanwhile, so it can start over only after its very end
 * was moved with no commit in between. The writer does that itself, between two commits, once
 * the log is long and the thread has left it little to move: that is the only time that a commit waits.
 *
 * A list reads one state for as long as it takes, and what came after that state cannot be moved all the way.
 * With lists one after the other the end of the log would never come; so once it is far too long, no further
 * one begins until those under way are over and the end was moved.
 *
 * The fewer checkpoints, the more often a page was rewritten before it is moved once. But the log must be
 * read after a crash, and readers look through it.
 *
 * Failure to move or sync ends the process, like every failure to write. That another program (a backup, the
 * sqlite3 shell) reads an old state or moves the log too is no failure: the next attempt comes later. */
#include "store/sqlite/sqlite_int.h"

#include <signal.h>

#define LONG_PAGES 4096 /* a log of this length should start over; pages have 4 KiB */

#define HELD_LENGTHS 4 /* as long as so many of these: lists are held up */

/* Parts of that length. */
#define MOVE_PART 2 /* added to the log: they are moved beside commits */
#define REST_MIN_PART 16 /* not worth a sync of the main file */
#define REST_MAX_PART 4 /* commits need not wait for more than this */

static void checkpoint_move_log(struct sqlite_checkpoint *c, sqlite3 *db) {
    int rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
        sqlite_fail(db, c->path, c->options, "checkpoint");
}

static void *checkpoint_main(void *ctx) {
    struct sqlite_checkpoint *c = ctx;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->is_asked && !c->is_stopping)
            pthread_cond_wait(&c->changed, &c->lock);
        if (c->is_stopping)
            break;
        pthread_mutex_unlock(&c->lock);
        checkpoint_move_log(c, c->db);
        pthread_mutex_lock(&c->lock);
        c->is_asked = false;
        if (!c->list_count && !c->is_writers_turn)
            c->is_held = false; /* there was no commit to be followed by a move of the very end */
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* the lists' side */

void sqlite_checkpoint_enter(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    while (c->is_held && !c->is_let_go)
        pthread_cond_wait(&c->changed, &c->lock);
    c->list_count++;
    pthread_mutex_unlock(&c->lock);
}

void sqlite_checkpoint_leave(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    c->list_count--;
    if (c->is_held && !c->list_count) { /* the writer may have nothing to commit */
        c->is_asked = true;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
}

void sqlite_checkpoint_release(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    c->is_let_go = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* the writer's side */

static bool checkpoint_is_moving(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    bool is_asked = c->is_asked;
    pthread_mutex_unlock(&c->lock);
    return is_asked;
}

static void checkpoint_ask_move(struct sqlite_checkpoint *c, int pages) {
    pthread_mutex_lock(&c->lock);
    c->is_asked = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    c->asked_at = pages;
}

static void checkpoint_wait_moved(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    while (c->is_asked)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* True: no list is in progress, none begins, and the thread does not move the log. */
static bool checkpoint_hold_lists(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    c->is_held = c->is_writers_turn = true;
    while (c->is_asked && !c->list_count)
        pthread_cond_wait(&c->changed, &c->lock);
    c->is_writers_turn = false;
    bool is_alone = !c->list_count;
    pthread_mutex_unlock(&c->lock);
    return is_alone;
}

static void checkpoint_release_lists(struct sqlite_checkpoint *c) {
    pthread_mutex_lock(&c->lock);
    c->is_held = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void checkpoint_move_end(struct sqlite_checkpoint *c, sqlite3 *writer_db, int pages) {
    checkpoint_move_log(c, writer_db);
    c->asked_at = pages;
}

void sqlite_checkpoint_after(struct sqlite_checkpoint *c, sqlite3 *writer_db, int pages) {
    if (pages < c->pages) /* the log has started over */
        c->asked_at = c->held_at = 0;
    c->pages = pages;
    int rest = pages - c->asked_at;
    int long_pages = c->options->log_pages ? c->options->log_pages : LONG_PAGES;
    c->is_log_long = pages >= long_pages;
    bool is_overdue = rest >= long_pages; /* and perhaps the thread is still moving: it is waited for */
    if (is_overdue)
        checkpoint_wait_moved(c);
    if (pages - c->held_at >= long_pages * HELD_LENGTHS && checkpoint_hold_lists(c)) {
        checkpoint_move_end(c, writer_db, pages);
        c->held_at = pages; /* lists do not wait for another program that still reads */
        checkpoint_release_lists(c);
        return;
    }
    if (rest < long_pages / REST_MIN_PART || checkpoint_is_moving(c))
        return;
    if (pages >= long_pages && (rest <= long_pages / REST_MAX_PART || is_overdue)) {
        checkpoint_move_end(c, writer_db, pages);
    } else if (rest >= long_pages / MOVE_PART || pages >= long_pages) {
        checkpoint_ask_move(c, pages);
    }
}

void sqlite_checkpoint_now(struct sqlite_checkpoint *c, sqlite3 *writer_db) {
    checkpoint_wait_moved(c);
    checkpoint_move_end(c, writer_db, c->pages);
}

int sqlite_checkpoint_start(struct sqlite_checkpoint *c, sqlite3 *db, const char *path,
                            const struct sqlite_options *o, struct err *reterr) {
    sigset_t all, before;
    c->db = db;
    c->path = path;
    c->options = o;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    sigfillset(&all); /* signals are for the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&c->thread, NULL, checkpoint_main, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return err_set(reterr, ERR_STORE_IO, "Cannot start the store's thread: %s.", strerror(error));
    c->has_thread = true;
    (void)pthread_setname_np(c->thread, "checkpoint"); /* only for people who look */
    return 0;
}

void sqlite_checkpoint_stop(struct sqlite_checkpoint *c) {
    if (!c->has_thread)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_stopping = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
}
