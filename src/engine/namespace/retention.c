/* Removing runs: by request, with their namespace, and when its retention has passed.
 *
 * An open run is terminated first. A run whose letters are still under way is
 * left until they have arrived. Rows and history go in one commit; until that
 * is durable the run is as good as gone in memory.
 *
 * Retention looks through the closed runs of each namespace, oldest first. While
 * there are more, it takes a bite in each group: the commits set its pace, and each
 * of them stays short. */
#include "core/batch/batch.h"
#include "core/run/run.h"
#include "core/schedule/schedule.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"

/* Removing one run */

static int write_gone(struct engine *e, struct run *run) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_EXECUTION_GONE) : NULL;
    if (!w)
        return ERR_NO_MEMORY;
    w->namespace_id = run->key.namespace_id;
    w->run_id = run->key.run_id;
    return 0;
}

static int write_current_gone(struct engine *e, struct run *run) {
    struct write *w = batch_add(&e->open->batch, WRITE_CURRENT_GONE);
    if (!w)
        return ERR_NO_MEMORY;
    w->namespace_id = run->key.namespace_id;
    w->workflow_id = str_of(arena_strdup(&e->open->batch.arena, run->body->st->workflow_id));
    return w->workflow_id.p ? 0 : ERR_NO_MEMORY;
}

static void go_removed(struct op *op) {
    op_reply(op, op->extra, (struct str){NULL, 0});
}

static void remove_run(struct op *op, bool is_current) {
    struct engine *e = op->e;
    struct run *run = op->run;
    run->is_removed = true;
    ensure(write_gone(e, run) == 0 && (!is_current || write_current_gone(e, run) == 0));
    if (is_current)
        current_forget(e, run);
    /* Whoever looks for it until then finds it on its way out, not what the store still has. */
    ensure(group_add_run(e, run) == 0);
    op->wait_seq = run->removed_seq = e->open->seq;
    op_settled(op, NULL);
    op_continue_durable(op, go_removed);
}

static void go_remove(struct op *op);

static void remove_later(struct op *op) {
    op->go = go_remove;
    op_retry(op, ENGINE_LETTER_RETRY_MS * USEC_PER_MS, go_remove);
}

static void go_remove(struct op *op) {
    struct run *run = op->run;
    const State__Execution *st = run->body->st;
    bool is_known = false;
    struct uuid current;
    if (run->is_removed) { /* by another call, whose commit this one waits for, too */
        op->wait_seq = run->removed_seq;
        op_continue_durable(op, go_removed);
        return;
    }
    if (st->n_outbox || !list_empty(&run->body->readers) || !list_empty(&run->body->queries)) {
        if (op->extra)
            remove_later(op);
        else /* retention and the removal of a namespace come again */
            op_reply(op, NULL, (struct str){NULL, 0});
        return;
    }
    if (run->body->group_seq > op->e->durable_seq) {
        op_continue_durable(op, go_remove); /* a change that is still on its way would bring the row back */
        return;
    }
    int rc = op_need_current(op, run->space, st->workflow_id, &is_known, &current);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        op_fail(op);
        return;
    }
    remove_run(op, is_known && uuid_eq(current, run->key.run_id));
}

/* An open run is terminated first; once that is durable the run goes. */
static void remove_begin(struct op *op, const ProtobufCMessage *resp) {
    const State__Execution *st = op->run->body->st;
    struct step s;
    int rc = 0;
    if (run_is_open(st)) {
        op_step_begin(op, &s);
        if (st->schedule)
            rc = schedule_end(&s, WORKFLOW_EXECUTION_STATUS_TERMINATED);
        else if (st->batch)
            rc = batch_end(&s, WORKFLOW_EXECUTION_STATUS_TERMINATED, "", "");
        else
            rc = run_terminate(&s, "Delete workflow execution", NULL, "history-service", NULL, 0);
        rc = op_step_end(op, &s, rc, STEP_DURABLE);
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->extra = (void *)(uintptr_t)resp;
    op_continue_durable(op, go_remove);
}

/* By request */

void rpc_delete_workflow(struct op *op) {
    static const Ws__DeleteWorkflowExecutionResponse resp = WS__DELETE_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__DeleteWorkflowExecutionRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->workflow_execution, &op->err);
    if (rc == 0)
        rc = op_need_execution(op, space, req->workflow_execution, NULL);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail(op);
    else
        remove_begin(op, &resp.base);
}

/* With its namespace */

static void go_doomed(struct op *op) {
    const struct run_key *key = op->req;
    struct space *space = space_by_id(op->e, key->namespace_id);
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_reply(op, NULL, (struct str){NULL, 0});
    else
        remove_begin(op, NULL);
}

void run_doom(struct engine *e, const struct run_key *key) {
    errand_start(e, go_doomed, key, sizeof(*key));
}

/* By time */

static void go_expired(struct op *op) {
    const struct run_key *key = op->req;
    struct space *space = space_by_id(op->e, key->namespace_id);
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    if (rc < 0 || run_is_open(op->run->body->st)) {
        op_reply(op, NULL, (struct str){NULL, 0});
        return;
    }
    op->go = go_remove;
    go_remove(op);
}

static void expired_row(struct read *r, const struct row *row) {
    struct engine *e = r->owner;
    struct run_key key = {row->namespace_id, row->run_id};
    if (e->expired_count == r->limit)
        return;
    e->expired[e->expired_count++] = key;
    struct space *s = space_by_id(e, e->swept);
    if (s)
        s->swept = (struct visibility_place){.close_us = row->close_us, .run_id = row->run_id};
}

static void expired_done(struct read *r, int rc) {
    struct engine *e = r->owner;
    size_t n = e->expired_count;
    struct space *s = space_by_id(e, e->swept);
    if (rc < 0) {
        engine_fail(e, "closed runs cannot be read from the store");
        return;
    }
    e->is_sweeping = false;
    bool is_behind = s && n == r->limit;
    if (s)
        s->is_behind = is_behind;
    e->sweep_bites = is_behind ? e->sweep_bites - 1 : 0;
    if (is_behind && e->sweep_bites == 0)
        e->sweep_is_behind = true;
    for (size_t i = 0; i < n; i++)
        errand_start(e, go_expired, &e->expired[i], sizeof(e->expired[i]));
    if (n > 0)
        e->sweep_seq = e->open ? e->open->seq : 0;
}

/* A namespace that has much to remove keeps its turn for some commits, then the next one has it. */
static struct space *space_to_sweep(struct engine *e) {
    struct space *s = e->sweep_bites ? space_by_id(e, e->swept) : NULL;
    if (s)
        return s;
    s = map_next(&e->spaces, &e->sweep_at);
    if (s) {
        e->swept = s->id;
        e->sweep_bites = ENGINE_SWEEP_BITES;
    }
    return s;
}

/* As many as the commit that is under way changes: each run is changed when it closes. */
static size_t runs_to_sweep(const struct engine *e) {
    size_t changed = e->flight ? e->flight->run_count : 0;
    return MIN(MAX(changed, ENGINE_SWEEP_RUNS), ENGINE_SWEEP_RUNS_MAX);
}

static void round_over(struct engine *e) {
    e->next_sweep_us =
        e->sweep_is_behind ? e->now.mono.us : usec_add(e->now.mono.us, ENGINE_SWEEP_MS * USEC_PER_MS);
    e->sweep_is_behind = false;
    e->sweep_at = 0;
}

/* One group takes one bite; the next comes when that group is with the store. */
static bool sweep_must_wait(const struct engine *e) {
    return e->is_sweeping || group_is_full(e) || (e->open && e->open->seq == e->sweep_seq);
}

void retention_sweep(struct engine *e) {
    for (size_t i = 0; i < ENGINE_SWEEP_SPACES; i++) {
        if (sweep_must_wait(e) || e->now.mono.us < e->next_sweep_us)
            return;
        struct space *s = space_to_sweep(e);
        if (!s) {
            round_over(e);
            return;
        }
        e->expired_count = 0;
        e->is_sweeping = true;
        e->sweep_read = (struct read){.kind = READ_CLOSED,
                                      .namespace_id = s->id,
                                      .before_us = e->now.wall.us - s->st->retention_us,
                                      .after = s->is_behind ? &s->swept : NULL,
                                      .limit = runs_to_sweep(e),
                                      .row = expired_row,
                                      .done = expired_done,
                                      .owner = e};
        store_read(e->store, &e->sweep_read);
    }
}

int64_t retention_next_sweep_us(const struct engine *e) {
    return sweep_must_wait(e) ? CLOCK_NEVER : e->next_sweep_us;
}
