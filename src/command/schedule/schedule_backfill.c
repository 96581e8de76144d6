/* `schedule backfill`: starts a backfill, prints its id, and with --wait waits until all of its actions
 * have started.
 *
 * The call itself returns no id. A Rondo server lists running backfills; the new one has a higher id than
 * all before the call, and the requested period. Other servers do not list them; then only the start is
 * reported. */
#include <inttypes.h>
#include <stdio.h>

#include "command/connection.h"
#include "command/prompt.h"
#include "command/request/request.h"
#include "command/schedule/schedule_draft.h"
#include "json/moment.h"
#include "json/writer.h"

#define POLL_EVERY_US (250 * 1000)

/* Lists the running backfills; NULL with COMMAND_DONE when the server has no such call. */
static enum command_exit backfill_list_running(struct command *c, const Rondo__ListBackfillsResponse **ret) {
    const Ws__PatchScheduleRequest *asked = (const Ws__PatchScheduleRequest *)c->request;
    ProtobufCMessage *found = NULL;
    Rondo__ListBackfillsRequest *r = (Rondo__ListBackfillsRequest *)request_new(c, CALL_ListBackfills);
    *ret = NULL;
    if (!r)
        return COMMAND_REFUSED;
    r->schedule_id = asked->schedule_id;
    struct connection_ask ask = {
        .method = CALL_ListBackfills, .request = &r->base, .expected = GRPC_UNIMPLEMENTED};
    enum command_exit code = connection_call(c, &ask, &c->page, &found);
    *ret = (const Rondo__ListBackfillsResponse *)found;
    return code;
}

static int64_t backfill_last_id(const Rondo__ListBackfillsResponse *all) {
    int64_t last = 0;
    for (size_t i = 0; all && i < all->n_backfills; i++)
        last = MAX(last, all->backfills[i]->id);
    return last;
}

static bool backfill_same_time(const Google__Protobuf__Timestamp *a, const Google__Protobuf__Timestamp *b) {
    return a && b && a->seconds == b->seconds && a->nanos == b->nanos;
}

/* The backfill with this id or, when the id is 0, the one with the requested period that is newer than
 * `before`. */
static const Rondo__BackfillInfo *backfill_find_running(const Rondo__ListBackfillsResponse *all,
                                                        const struct command *c, int64_t before, int64_t id) {
    const Schedule__BackfillRequest *asked =
        ((const Ws__PatchScheduleRequest *)c->request)->patch->backfill_request[0];
    for (size_t i = 0; all && i < all->n_backfills; i++) {
        const Rondo__BackfillInfo *b = all->backfills[i];
        if (id ? b->id == id
               : b->id > before && backfill_same_time(b->start_time, asked->start_time) &&
                     backfill_same_time(b->end_time, asked->end_time))
            return b;
    }
    return NULL;
}

static void backfill_add_number(struct json_writer *w, const char *key, int64_t n) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, n);
    writer_key(w, str_of(key));
    writer_string(w, str_of(text));
}

/* Prints the last known counts. Without them the backfill ended before it could be listed. */
static void backfill_show_counts(const struct command *c, const Rondo__BackfillInfo *b, bool is_done,
                                 struct buf *out) {
    struct json_writer w;
    if (c->format == FORMAT_NONE || (c->format == FORMAT_TABLE && !b))
        return;
    if (c->format == FORMAT_TABLE) {
        buf_printf(out,
                   "BackfillId  %" PRId64 "\nConsidered  %" PRId64 "\nStarted     %" PRId64
                   "\nWaiting     %" PRId64 "\nDone        %s\n",
                   b->id, b->considered, b->started, b->waiting, is_done ? "true" : "false");
        return;
    }
    writer_init(&w, out, c->format == FORMAT_JSON);
    writer_open(&w, '{');
    if (b) {
        backfill_add_number(&w, "backfillId", b->id);
        backfill_add_number(&w, "considered", b->considered);
        backfill_add_number(&w, "started", b->started);
        backfill_add_number(&w, "waiting", b->waiting);
    }
    writer_key(&w, STR("done"));
    writer_token(&w, is_done ? STR("true") : STR("false"));
    writer_close(&w, '}');
    buf_add_u8(out, '\n');
}

static void backfill_show_progress(const Rondo__BackfillInfo *b) {
    char at[MOMENT_TEXT_MAX] = "";
    if (b->progress_time && moment_format(b->progress_time->seconds, 0, at) < 0)
        at[0] = 0;
    prompt_show_progress("backfill %" PRId64 ": %" PRId64 " started, %" PRId64 " waiting, at %s", b->id,
                         b->started, b->waiting, at);
}

/* Polls until the backfill is no longer listed. *seen keeps the last counts. */
static enum command_exit backfill_wait_end(struct command *c, Rondo__BackfillInfo *seen) {
    for (;;) {
        const Rondo__ListBackfillsResponse *all = NULL;
        arena_clear(&c->page);
        enum command_exit code = backfill_list_running(c, &all);
        const Rondo__BackfillInfo *now = backfill_find_running(all, c, 0, seen->id);
        if (code != COMMAND_DONE || !now) {
            prompt_clear_progress();
            return code;
        }
        seen->considered = now->considered;
        seen->started = now->started;
        seen->waiting = now->waiting;
        backfill_show_progress(now);
        if (connection_sleep(c, POLL_EVERY_US) < 0) {
            command_print_error("out of memory");
            return COMMAND_REFUSED;
        }
    }
}

enum command_exit schedule_backfill_run(struct command *c, struct buf *out) {
    const Rondo__ListBackfillsResponse *before, *after;
    ProtobufCMessage *response;
    struct connection_ask ask = {.method = CALL_PatchSchedule, .request = c->request};
    enum command_exit code = backfill_list_running(c, &before);
    int64_t last = backfill_last_id(before);
    bool is_listed = before != NULL;
    if (code == COMMAND_DONE)
        code = connection_call(c, &ask, &c->page, &response);
    if (code != COMMAND_DONE)
        return code;
    if (!is_listed) {
        buf_add_cstr(out, c->format == FORMAT_JSON || c->format == FORMAT_JSONL ? "{}\n" : "");
        command_print_error("the backfill has started; this server does not report its progress");
        return COMMAND_DONE;
    }
    code = backfill_list_running(c, &after);
    const Rondo__BackfillInfo *mine = backfill_find_running(after, c, last, 0);
    if (code != COMMAND_DONE || !mine) {
        backfill_show_counts(c, NULL, true, out);
        return code;
    }
    Rondo__BackfillInfo seen = *mine;
    bool waits = opt_named_flag(c->args, "wait");
    if (waits)
        code = backfill_wait_end(c, &seen);
    if (code == COMMAND_DONE)
        backfill_show_counts(c, &seen, waits, out);
    return code;
}
