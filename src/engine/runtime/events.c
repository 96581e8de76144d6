/* Packed events: the recent ones on the run's tape, older ones from the store.
 *
 * Events are stored as they travel, as entries of History.events, so a slice
 * of a tape can be spliced into an answer without being decoded. */
#include "base/mem.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

int tape_append(struct tape *t, struct str events, int64_t first_id) {
    ensure_inv(I5, first_id == t->next_id);
    size_t before = t->bytes.len;
    buf_add_str(&t->bytes, events);
    if (!buf_ok(&t->bytes)) {
        t->bytes.failed = false;
        buf_truncate(&t->bytes, before);
        return ERR_NO_MEMORY;
    }
    t->next_id += events_count(events);
    return 0;
}

int64_t events_count(struct str bytes) {
    struct wire_field f;
    bool ok = true;
    int64_t n = 0;
    while (wire_next_field(&bytes, &f, &ok))
        n++;
    ensure(ok);
    return n;
}

struct str events_slice(struct str bytes, int64_t first_id, int64_t from, int64_t until) {
    struct wire_field f;
    bool ok = true;
    int64_t id = first_id;
    ensure(from >= first_id);
    while (id < from && wire_next_field(&bytes, &f, &ok))
        id++;
    struct str rest = bytes;
    while (id < until && wire_next_field(&rest, &f, &ok))
        id++;
    ensure(ok);
    return str_bytes(bytes.p, bytes.n - rest.n);
}

/* Keeps what a sticky worker will ask for next, if that is small; never drops what is not durable. */
void tape_trim(struct body *b) {
    struct tape *t = &b->tape;
    if (t->bytes.len <= ENGINE_TAPE_BYTES)
        return;
    int64_t keep = MIN(b->durable_next_id, b->st->last_started_event_id + 1);
    if (keep <= t->first_id)
        keep = b->durable_next_id;
    struct str front = events_slice(buf_str(&t->bytes), t->first_id, t->first_id, keep);
    buf_drop_front(&t->bytes, front.n);
    t->first_id = keep;
}

/* from the store */

void page_read_free(struct page_read *pr) {
    if (!pr)
        return;
    list_remove(&pr->link);
    arena_done(&pr->arena);
    mem_free(pr);
}

/* Whether the row holds the events that it says. */
static bool row_is_whole(const struct row *row) {
    struct str rest = row->body;
    struct wire_field f;
    bool ok = true;
    int64_t n = 0;
    while (wire_next_field(&rest, &f, &ok))
        n++;
    return ok && n == row->last_event_id - row->first_event_id + 1;
}

/* A stored row may begin before the wanted event and end after what was asked. */
static void page_row(struct read *r, const struct row *row) {
    struct page_read *pr = r->owner;
    struct op *op = pr->op;
    if (!op || pr->is_damaged)
        return;
    int64_t from = MAX(row->first_event_id, op->page_wanted);
    if (from > row->last_event_id)
        return;
    if (!op->page_next)
        op->page_first = op->page_next = from;
    pr->is_damaged = from != op->page_next || !row_is_whole(row);
    if (pr->is_damaged)
        return;
    buf_add_str(&op->page, events_slice(row->body, row->first_event_id, from, row->last_event_id + 1));
    op->page_next = row->last_event_id + 1;
}

/* Events that are not there any more are not something to answer with: whoever asked waits for the end, like
 * all whom the store does not answer. */
static bool page_is_lost(const struct page_read *pr, int rc) {
    const struct op *op = pr->op;
    bool is_short = op && op->page_next <= op->page_wanted && !op->run->is_removed;
    if (!op || (rc == 0 && !pr->is_damaged && !is_short))
        return false;
    engine_fail(op->e, "a history cannot be read from the store");
    return true;
}

static void page_done(struct read *r, int rc) {
    struct page_read *pr = r->owner;
    struct op *op = pr->op;
    if (page_is_lost(pr, rc))
        return;
    if (pr->is_in_read) {
        pr->is_done = true;
        return;
    }
    page_read_free(pr);
    if (!op)
        return;
    op->page_read = NULL;
    op->go(op);
}

/* Reads the page: 0 when it is there already, ERR_WAIT when op will be started again. */
static int events_read_page(struct op *op, const struct events_want *w) {
    struct page_read *pr = mem_zalloc(sizeof(*pr));
    if (!pr)
        return op_out_of_memory(op);
    buf_clear(&op->page);
    op->page_first = op->page_next = 0;
    op->page_wanted = w->from;
    op->page_read = pr;
    pr->op = op;
    list_append(&op->e->page_reads, &pr->link);
    pr->read = (struct read){.kind = READ_HISTORY,
                             .namespace_id = op->run->key.namespace_id,
                             .run_id = op->run->key.run_id,
                             .first_event_id = w->from,
                             .last_event_id = MIN(w->until, op->run->body->tape.first_id) - 1,
                             .bytes_max = w->bytes_max,
                             .row = page_row,
                             .done = page_done,
                             .owner = pr};
    pr->is_in_read = true;
    store_read(op->e->store, &pr->read);
    pr->is_in_read = false;
    if (!pr->is_done)
        return ERR_WAIT;
    page_read_free(pr);
    op->page_read = NULL;
    return 0;
}

/* As much of [from, until) as fits the limits, at least one event. */
static struct str events_cut(struct str bytes, int64_t first_id, const struct events_want *w,
                             int64_t *ret_next) {
    struct wire_field f;
    bool ok = true;
    struct str from = events_slice(bytes, first_id, w->from, w->until);
    struct str rest = from;
    int64_t n = 0;
    while (n < w->events_max && (n == 0 || from.n - rest.n < w->bytes_max) && wire_next_field(&rest, &f, &ok))
        n++;
    ensure(ok);
    *ret_next = w->from + n;
    return str_bytes(from.p, from.n - rest.n);
}

int op_need_events(struct op *op, const struct events_want *w, struct str *ret, int64_t *ret_next) {
    const struct tape *t = &op->run->body->tape;
    if (w->from >= w->until) {
        *ret = (struct str){NULL, 0};
        *ret_next = w->from;
        return 0;
    }
    if (w->from >= t->first_id) {
        *ret = events_cut(buf_str(&t->bytes), t->first_id, w, ret_next);
        /* The answer may wait for a commit, and the tape may move until then. */
        ret->p = arena_dup(op->call->arena, ret->p, ret->n);
        return ret->p || !ret->n ? 0 : op_out_of_memory(op);
    }
    if (op->run->is_removed) { /* and its history with it, or soon */
        op->wait_seq = MAX(op->wait_seq, op->run->removed_seq);
        return err_set(&op->err, ERR_NOT_FOUND, "workflow execution not found");
    }
    if (!op->page_next || op->page_wanted != w->from) {
        int rc = events_read_page(op, w);
        if (rc < 0)
            return rc;
    }
    if (op->page_next == t->first_id) { /* the store's part reaches the tape: one answer for both */
        buf_add_str(&op->page, buf_str(&t->bytes));
        op->page_next = t->next_id;
    }
    if (!buf_ok(&op->page))
        return op_out_of_memory(op);
    ensure_inv(I5, op->page_next > w->from);
    *ret = events_cut(buf_str(&op->page), op->page_first, w, ret_next);
    return 0;
}

int event_unpack(struct arena *a, struct str packed, History__HistoryEvent **ret) {
    ProtobufCAllocator alloc = wire_arena_allocator(a);
    *ret = history__history_event__unpack(&alloc, packed.n, (const uint8_t *)packed.p);
    if (!*ret && arena_failed(a))
        return ERR_NO_MEMORY;
    return *ret && event_fits(*ret) ? 0 : ERR_DAMAGED;
}

int op_next_event(struct op *op, struct arena *a, struct str *rest, History__HistoryEvent **ret) {
    struct wire_field f;
    bool ok = true;
    *ret = NULL;
    if (!wire_next_field(rest, &f, &ok))
        return 0;
    int rc = event_unpack(a, f.content, ret);
    return rc < 0 ? err_std(&op->err, rc) : 0;
}

int op_need_event(struct op *op, int64_t event_id, History__HistoryEvent **ret) {
    struct events_want want = {.from = event_id, .until = event_id + 1, .events_max = 1, .bytes_max = 1};
    struct str bytes;
    int64_t next;
    int rc = op_need_events(op, &want, &bytes, &next);
    if (rc == 0)
        rc = op_next_event(op, op->call->arena, &bytes, ret);
    if (rc < 0)
        return rc;
    ensure_inv(I5, *ret && (*ret)->event_id == event_id);
    return 0;
}

int op_need_origin(struct op *op) {
    const State__Execution *st = op->run->body->st;
    History__HistoryEvent *first;
    if (op->origin || (!st->retry_policy && cstr_is_empty(st->cron_schedule)))
        return 0;
    int rc = op_need_event(op, 1, &first);
    if (rc == 0)
        op->origin = first->workflow_execution_started_event_attributes;
    return rc;
}

/* Events that are owed */

int virtual_events(struct op *op, struct str *ret, int64_t *ret_next) {
    const State__Execution *st = op->run->body->st;
    struct step s;
    *ret = (struct str){NULL, 0};
    *ret_next = st->next_event_id;
    const State__WorkflowTask *t = st->task;
    if (!t || (t->started_event_id ? t->is_started_written : t->is_scheduled_written))
        return 0;
    /* What was written since it was scheduled took its number. It gets another one when a worker takes it. */
    if (!t->is_scheduled_written && t->scheduled_event_id != st->next_event_id)
        return 0;
    /* On a shallow copy: writing these events changes only numbers and flags. */
    State__Execution st_copy = *st;
    State__WorkflowTask task_copy = *t;
    st_copy.task = &task_copy;
    step_init(&s, &st_copy, op->e->now.wall, &op->e->rng, op->call->arena, &op->err);
    task_write_owed(&s);
    *ret = str_bytes(arena_dup(op->call->arena, s.events.data, s.events.len), s.events.len);
    *ret_next = st_copy.next_event_id;
    bool failed = step_failed(&s) || !ret->p;
    step_done(&s);
    return failed ? op_out_of_memory(op) : 0;
}
