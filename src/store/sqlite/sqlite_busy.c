/* Waiting for another program that has locked the file: the sqlite3 shell, a backup.
 *
 * A commit that has not begun loses nothing by waiting, so it waits without a limit. The loop goes on
 * meanwhile: reads are answered, and replies that need the commit wait for it. After a second a line in the
 * log says so, and another one when the wait is over. Once the store is being closed, the wait has a limit:
 * the process should end, and no reply has been sent. */
#include "store/sqlite/sqlite_int.h"

#define TELL_MS 1000
#define CLOSING_MS 5000

static int busy_delay_ms(int times) {
    static const int delays[] = {1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50};
    return times < (int)ARRAY_LEN(delays) ? delays[times] : 100;
}

static int busy_wait_turn(void *ctx, int times) {
    struct sqlite_busy *p = ctx;
    if (times == 0)
        p->waited_ms = 0;
    if (p->is_closing && p->closing_ms >= CLOSING_MS)
        return 0;
    int ms = busy_delay_ms(times);
    (void)sqlite3_sleep(ms);
    p->waited_ms += ms;
    p->closing_ms += p->is_closing ? ms : 0;
    if (p->waited_ms >= TELL_MS && !p->is_told) {
        p->is_told = true;
        log_emit(p->log, LOG_store_waiting, log_str("data", p->path),
                 log_str("text", "another program has locked the file; commits wait until it lets go"));
    }
    return 1;
}

void sqlite_busy_start(struct sqlite_busy *p, sqlite3 *db, const char *path, struct log *log) {
    p->path = path;
    p->log = log;
    sqlite3_busy_handler(db, busy_wait_turn, p);
}

void sqlite_busy_got_turn(struct sqlite_busy *p) {
    if (!p->is_told)
        return;
    p->is_told = false;
    log_emit(p->log, LOG_store_resumed, log_str("data", p->path), log_int("waited_ms", p->waited_ms));
}

void sqlite_busy_close(struct sqlite_busy *p) {
    p->is_closing = true;
}
