/* Removing runs: by request, with their namespace, and when its retention has passed.
 *
 * An open run is terminated first. A run whose letters are still under way is
 * left until they have arrived. Rows and history go in one commit; until that
 * is durable the run is as good as gone in memory. */
#include "core/batch.h"
#include "core/run.h"
#include "core/schedule.h"
#include "core/validate.h"
#include "engine/engine_int.h"

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
        remove_later(op);
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
        rc = op_step_end(op, &s, rc, true);
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->extra = (void *)(uintptr_t)resp;
    op_continue_durable(op, go_remove);
}

/* By request */

static void go_delete(struct op *op) {
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

void engine_delete_workflow(struct engine *e, struct call *c, const Ws__DeleteWorkflowExecutionRequest *req) {
    struct op *op = op_new(e, c, req, go_delete);
    if (op)
        op_start(op);
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
    if (e->expired_count < ENGINE_SWEEP_RUNS)
        e->expired[e->expired_count++] = key;
}

static void sweep_next(struct engine *e);

static void expired_done(struct read *r, int rc) {
    struct engine *e = r->owner;
    size_t n = e->expired_count;
    if (rc < 0) {
        engine_fail(e, "closed runs cannot be read from the store");
        return;
    }
    for (size_t i = 0; i < n; i++)
        errand_start(e, go_expired, &e->expired[i], sizeof(e->expired[i]));
    if (n == ENGINE_SWEEP_RUNS)
        e->sweep_is_behind = true;
    sweep_next(e);
}

/* One namespace after the other, each with its own retention. */
static void sweep_next(struct engine *e) {
    struct space *s = map_next(&e->spaces, &e->sweep_at);
    if (!s) {
        e->is_sweeping = false;
        int64_t pause = e->sweep_is_behind ? ENGINE_SWEEP_BEHIND_MS : ENGINE_SWEEP_MS;
        e->next_sweep_us = usec_add(e->now.mono.us, pause * USEC_PER_MS);
        return;
    }
    e->expired_count = 0;
    e->sweep_read = (struct read){.kind = READ_CLOSED,
                                  .namespace_id = s->id,
                                  .before_us = e->now.wall.us - s->st->retention_us,
                                  .limit = ENGINE_SWEEP_RUNS,
                                  .row = expired_row,
                                  .done = expired_done,
                                  .owner = e};
    store_read(e->store, &e->sweep_read);
}

void retention_sweep(struct engine *e) {
    if (e->is_sweeping || e->now.mono.us < e->next_sweep_us)
        return;
    e->is_sweeping = true;
    e->sweep_is_behind = false;
    e->sweep_at = 0;
    sweep_next(e);
}
