/* Recovery: what the store holds becomes namespaces, deployments, deadlines and tasks again.
 *
 * The open runs are read in pages, as many as a queue keeps in memory, so that a start needs memory for a
 * page of them, and for those that have a deadline. A page is done when its runs were offered to their queues
 * and what that wrote (backlog.c) is on disk. Letters and callbacks wait for the last page: they change other
 * runs, and a run that changes while the pages are read might be met twice. */
#include "base/mem.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"
#include "engine/schedule/schedule.h"

#define MESSAGES_BETWEEN_LOOKS 256 /* at whether the start is given up */

struct restored { /* what is read of a run; the rest is loaded when it is needed */
    struct run_key key;
    int64_t due_us;
    bool is_ready;
};

struct recovery {
    struct engine *e;
    struct buf page; /* struct restored */
    struct due_place behind; /* the last run of the pages that were read */
    struct buf senders; /* struct run_key: runs with letters or callbacks under way */
    int64_t open_runs;
    size_t errands; /* that are under way */
    int rc; /* of the rows: without memory for one, or no such row at all */
    bool is_in_read; /* inside store_read, which may answer before it returns */
    bool wants_page; /* the next read begins when it has returned */
};

void recovery_free(struct engine *e) {
    if (e->recovery) {
        buf_done(&e->recovery->page);
        buf_done(&e->recovery->senders);
    }
    mem_free(take(&e->recovery));
}

static void recovery_end(struct engine *e, int rc, const char *text) {
    struct err err = {0};
    if (rc < 0)
        err_set(&err, rc, "%s", text);
    else
        log_emit(e->log, LOG_recovered, log_int("open_runs", e->recovery->open_runs));
    recovery_free(e);
    e->is_ready = rc == 0;
    if (e->is_ready)
        schedules_refresh_all(e);
    e->on_ready(e->ready_ctx, rc, &err);
}

int64_t recovery_runs(const struct engine *e) {
    return e->recovery ? e->recovery->open_runs : 0;
}

static bool recovery_is_given_up(const struct engine *e) {
    return e->cfg.should_stop && e->cfg.should_stop(e->cfg.stop_ctx);
}

/* letters and callbacks */

static void end_message(struct engine *e) {
    if (--e->recovery->errands == 0)
        recovery_end(e, e->recovery->rc, "The start was given up.");
}

static void go_messages(struct op *op) {
    const struct run_key *key = op->req;
    struct engine *e = op->e;
    struct space *space = space_by_id(e, key->namespace_id);
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    ensure(rc != ERR_NO_MEMORY); /* what is passed by here is done after the next start only */
    if (rc == 0)
        offer_messages(e, op->run, op->call->arena);
    op_reply(op, NULL, (struct str){NULL, 0});
    end_message(e);
}

static void begin_messages(struct engine *e) {
    struct recovery *rec = e->recovery;
    const struct run_key *all = (const struct run_key *)(const void *)rec->senders.data;
    size_t n = rec->senders.len / sizeof(*all);
    rec->errands = 1; /* so that it ends only after the last was begun */
    for (size_t i = 0; i < n && rec->rc == 0; i++) {
        rec->errands++;
        errand_start(e, go_messages, &all[i], sizeof(all[i]));
        if (i % MESSAGES_BETWEEN_LOOKS == 0 && recovery_is_given_up(e))
            rec->rc = ERR_CANCELLED;
    }
    end_message(e);
}

/* pages of open runs */

static void recovery_read_page(struct engine *e);

static void go_next_page(struct op *op) {
    struct engine *e = op->e;
    op_reply(op, NULL, (struct str){NULL, 0});
    recovery_read_page(e);
}

static void go_page_end(struct op *op) {
    op->wait_seq = op->e->open ? op->e->open->seq : 0;
    op_continue_durable(op, go_next_page);
}

static void page_end(struct engine *e) {
    struct recovery *rec = e->recovery;
    bool is_last = rec->page.len < e->queue_tasks_max * sizeof(struct restored);
    buf_clear(&rec->page);
    if (is_last)
        begin_messages(e);
    else
        errand_start(e, go_page_end, &rec->behind, sizeof(rec->behind));
}

/* The task for whose sake events waited was speculative and did not survive: they are written before anybody
 * reads the history, since whoever sent them was told that they are kept. Without memory they are due at
 * once. */
static void write_buffered(struct op *op) {
    const State__Execution *st = op->run->body->st;
    struct step s;
    if (!st->n_buffered || st->task || !run_is_open(st))
        return;
    op_step_begin(op, &s);
    task_schedule(&s);
    if (op_step_end(op, &s, 0, STEP_DURABLE) < 0)
        log_emit(op->e->log, LOG_due_failed, log_str("error", op->err.text));
}

static void go_offer(struct op *op) {
    const struct run_key *key = op->req;
    struct engine *e = op->e;
    struct space *space = space_by_id(e, key->namespace_id);
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    ensure(rc != ERR_NO_MEMORY); /* as above */
    if (rc == 0) {
        offer_tasks(e, op->run);
        write_buffered(op);
        if (has_messages(op->run->body->st))
            buf_add(&e->recovery->senders, key, sizeof(*key));
        ensure(buf_ok(&e->recovery->senders));
    }
    op_reply(op, NULL, (struct str){NULL, 0});
    if (--e->recovery->errands == 0)
        page_end(e);
}

static int restore_stub(struct engine *e, const struct restored *r) {
    struct space *space = space_by_id(e, r->key.namespace_id);
    if (!space || r->due_us == CLOCK_NEVER)
        return 0;
    struct run *run = run_get(e, r->key, space);
    if (!run)
        return ERR_NO_MEMORY;
    return heap_has(&run->due) ? 0 : heap_add(run_heap(e, run), &run->due, r->due_us);
}

static void due_row(struct read *r, const struct row *row) {
    struct recovery *rec = r->owner;
    struct restored one = {{row->namespace_id, row->run_id}, row->due_us, row->is_ready};
    buf_add(&rec->page, &one, sizeof(one));
    rec->behind = (struct due_place){row->namespace_id, row->run_id};
    rec->open_runs++;
}

static void due_done(struct read *r, int rc) {
    struct recovery *rec = r->owner;
    struct engine *e = rec->e;
    size_t n = rec->page.len / sizeof(struct restored);
    const struct restored *all = (const struct restored *)(const void *)rec->page.data;
    if (rc == 0 && !buf_ok(&rec->page))
        rc = ERR_NO_MEMORY;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = restore_stub(e, &all[i]);
    if (rc < 0) {
        recovery_end(e, rc, "The open runs cannot be read from the store.");
        return;
    }
    rec->errands = 1;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_ready)
            continue;
        rec->errands++;
        errand_start(e, go_offer, &all[i].key, sizeof(all[i].key));
    }
    if (--rec->errands == 0)
        page_end(e);
}

static void read_one_page(struct engine *e, struct recovery *rec) {
    rec->wants_page = false;
    rec->is_in_read = true;
    e->start_read = (struct read){.kind = READ_DUE,
                                  .behind = &rec->behind,
                                  .limit = e->queue_tasks_max,
                                  .row = due_row,
                                  .done = due_done,
                                  .owner = rec};
    store_read(e->store, &e->start_read);
    if (e->recovery)
        rec->is_in_read = false;
}

/* One after the other, not one inside the other: there may be thousands. */
static void recovery_read_page(struct engine *e) {
    if (e->recovery->is_in_read) {
        e->recovery->wants_page = true;
        return;
    }
    do {
        if (recovery_is_given_up(e))
            recovery_end(e, ERR_CANCELLED, "The start was given up.");
        else
            read_one_page(e, e->recovery);
    } while (e->recovery && e->recovery->wants_page);
}

/* what everything belongs to */

static void deployment_row(struct read *r, const struct row *row) {
    struct recovery *rec = r->owner;
    if (rec->rc == 0)
        rec->rc = deployment_add(rec->e, row->namespace_id, row->body);
    drainage_expect(rec->e);
}

static void recovery_recounted(struct engine *e, int rc) {
    if (rc < 0)
        recovery_end(e, rc,
                     rc == ERR_CANCELLED ? "The start was given up."
                                         : "The open runs cannot be counted in the store.");
    else
        recovery_read_page(e);
}

static void deployments_done(struct read *r, int rc) {
    struct recovery *rec = r->owner;
    rc = rc < 0 ? rc : rec->rc;
    if (rc < 0) {
        recovery_end(rec->e, rc, "The worker deployments cannot be read from the store.");
        return;
    }
    rc = recount_begin(rec->e, recovery_recounted);
    if (rc < 0)
        recovery_end(rec->e, rc, "There is no memory to count the open runs.");
}

static void namespace_row(struct read *r, const struct row *row) {
    struct recovery *rec = r->owner;
    if (rec->rc == 0)
        rec->rc = space_add(rec->e, row->body);
}

static int create_space(struct engine *e, const char *name) {
    State__Namespace st = STATE__NAMESPACE__INIT;
    st.name = (char *)(uintptr_t)name;
    st.retention_us = e->cfg.retention_us;
    return space_create(e, &st);
}

static void namespaces_done(struct read *r, int rc) {
    struct recovery *rec = r->owner;
    struct engine *e = rec->e;
    rc = rc < 0 ? rc : rec->rc;
    for (const char *const *name = e->cfg.namespaces; rc == 0 && name && *name; name++) {
        if (!space_find(e, *name))
            rc = create_space(e, *name);
        if (rc == 0)
            rc = space_seed_attributes(e, space_find(e, *name));
    }
    if (rc < 0) {
        recovery_end(e, rc, "The namespaces cannot be read from the store.");
        return;
    }
    e->start_read = (struct read){
        .kind = READ_DEPLOYMENTS, .row = deployment_row, .done = deployments_done, .owner = rec};
    store_read(e->store, &e->start_read);
}

int recovery_begin(struct engine *e) {
    struct recovery *rec = mem_zalloc(sizeof(*rec));
    if (!rec)
        return ERR_NO_MEMORY;
    rec->e = e;
    buf_init(&rec->page, SIZE_MAX);
    buf_init(&rec->senders, SIZE_MAX);
    e->recovery = rec;
    e->start_read =
        (struct read){.kind = READ_NAMESPACES, .row = namespace_row, .done = namespaces_done, .owner = rec};
    store_read(e->store, &e->start_read);
    return 0;
}
