/* Going on with a batch job: one target after the other, no faster than its rate.
 *
 * A drive is a call of the engine's own that lives as long as the job is open and the process runs. It reads
 * a page of targets behind the place that the job's state names, lets each be changed (batch_target.c), and
 * notes what came of it by a step of the job in the very group that holds the change: after a crash the job
 * goes on behind the last target that was changed, and none is changed twice or left out. A target whose page
 * was read long ago is looked at anew when its turn comes. */
#include "engine/batch/batch.h"

#include "base/mem.h"
#include "engine/runtime/question.h"
#include "wire/guard.h"

struct drive {
    struct call call;
    struct arena arena; /* the request and its filter */
    struct engine *e;
    struct run *job; /* pinned */
    const Ws__StartBatchOperationRequest *req;
    struct filter filter;
    double interval_us;
    double next_us; /* monotonic: when the next target may be changed */

    struct answer answer;
    bool is_counting;
    int64_t total;
    struct visibility_place page[ENGINE_BATCH_PAGE]; /* of a query */
    size_t count;
    size_t at;

    struct batch_target *target; /* under way */
    bool is_settled; /* the one under way is */
    bool is_waiting; /* for it */
    bool must_retry; /* there was no room for it */
};

/* the life of a drive */

static void drive_end(struct call *c) {
    struct drive *d = container_of(c, struct drive, call);
    if (d->target)
        batch_target_abandon(d->target);
    run_unpin(d->e, d->job);
    arena_done(&d->arena);
    mem_free(d);
}

static void drive_reply(struct call *c, const ProtobufCMessage *m unused_arg, struct str tail unused_arg) {
    drive_end(c);
}

static void drive_fail(struct call *c, const struct err *e unused_arg) {
    drive_end(c);
}

static const struct call_ops drive_ops = {.reply = drive_reply, .fail = drive_fail};

static struct drive *drive_of(const struct op *op) {
    return container_of(op->call, struct drive, call);
}

static const State__Execution *job_of(const struct drive *d) {
    return d->job->body->st;
}

void batch_over(struct space *space) {
    if (space->batch_count > 0)
        space->batch_count--;
}

/* steps of the job */

typedef int (*job_fn)(struct step *s, const void *arg);

static int step_count(struct step *s, const void *arg) {
    return batch_count(s, *(const int64_t *)arg);
}

static int step_note(struct step *s, const void *arg) {
    return batch_note(s, arg);
}

static int step_end(struct step *s, const void *arg unused_arg) {
    return batch_end(s, WORKFLOW_EXECUTION_STATUS_COMPLETED, "", "");
}

static int step_give_up(struct step *s, const void *arg unused_arg) {
    return batch_end(s, WORKFLOW_EXECUTION_STATUS_FAILED, "the query is not valid any more", "");
}

/* In an arena of its own: a job has as many steps as targets. */
static int job_step(struct drive *d, job_fn fn, const void *arg) {
    struct engine *e = d->e;
    struct arena arena;
    struct step s;
    arena_init(&arena, ENGINE_ERRAND_BYTES);
    run_step_begin(e, d->job, &arena, NULL, &s);
    int rc = fn(&s, arg);
    if (rc == 0)
        rc = run_keep(e, d->job, &s, STEP_DURABLE);
    if (rc < 0)
        run_undo(e, d->job);
    step_done(&s);
    arena_done(&arena);
    return rc;
}

/* targets */

static bool is_query(const struct drive *d) {
    return batch_listed_count(d->req) == 0;
}

static bool is_open(const struct visibility_place *p) {
    return p->close_us == CLOCK_NEVER;
}

/* What will pass by itself is no failure of the target. */
static bool is_passing(const struct err *e) {
    return e && (e->code == ERR_BUSY || e->code == ERR_NO_MEMORY || e->code == ERR_UNAVAILABLE);
}

static int note_target(struct drive *d, enum batch_outcome outcome) {
    struct batch_note note = {.outcome = outcome};
    State__ListToken token = STATE__LIST_TOKEN__INIT;
    if (is_query(d)) {
        struct visibility_place *at = &d->page[d->at];
        token.close_us = at->close_us;
        token.start_us = at->start_us;
        token.run_id = (ProtobufCBinaryData){sizeof(at->run_id.b), at->run_id.b};
        note.place = &token;
    }
    return job_step(d, step_note, &note);
}

static void log_failure(struct drive *d, const struct err *e) {
    struct uuid_text run_id = {{0}};
    const char *workflow_id = "";
    if (is_query(d))
        run_id = uuid_format(d->page[d->at].run_id);
    else
        workflow_id = batch_listed(d->req, (size_t)job_of(d)->batch->next_target).workflow_id;
    log_emit(d->e->log, LOG_batch_target_failed, log_str("job_id", job_of(d)->batch->job_id),
             log_str("workflow_id", workflow_id), log_str("run_id", run_id.s), log_str("error", e->text));
}

static void go_walk(struct op *op);

static void walk_later(struct op *op, int64_t us) {
    op_pin(op, NULL);
    op_retry(op, us, go_walk);
}

static void target_settled(void *owner, enum batch_outcome outcome, const struct err *err) {
    struct drive *d = owner;
    d->target = NULL;
    d->is_settled = true;
    if (is_passing(err) || d->job->is_removed) {
        d->must_retry = true;
    } else {
        if (err)
            log_failure(d, err);
        /* Without memory for it the target is visited once more, which it knows by the request's id. */
        d->must_retry = note_target(d, outcome) < 0;
        d->at += !d->must_retry && is_query(d);
    }
    if (d->is_waiting)
        walk_later(d->call.op, d->must_retry ? ENGINE_BATCH_RETRY_MS * USEC_PER_MS : 1);
}

/* False: the walk goes on when it is settled. */
static bool change_next(struct drive *d) {
    struct batch_errand er = {.e = d->e,
                              .namespace_id = d->job->key.namespace_id,
                              .req = d->req,
                              .job = d->job,
                              .is_listed = !is_query(d),
                              .settled = target_settled,
                              .owner = d};
    if (is_query(d)) {
        er.run_id = d->page[d->at].run_id;
        er.was_open = is_open(&d->page[d->at]);
    } else {
        er.execution = batch_listed(d->req, (size_t)job_of(d)->batch->next_target);
    }
    d->is_settled = d->is_waiting = d->must_retry = false;
    struct batch_target *t = batch_target_begin(&er);
    if (d->is_settled)
        return true;
    if (!t) {
        d->must_retry = true;
        return true;
    }
    d->target = t;
    d->is_waiting = true;
    return false;
}

/* questions */

/* The open come first. The closed are read when those have had their turn: one that closes meanwhile is among
 * them then. */
static void read_row(struct op *op, const struct row *row) {
    struct drive *d = drive_of(op);
    struct visibility_place place = {row->close_us, row->start_us, row->run_id};
    if (d->is_counting)
        d->total += row->count;
    else if (d->count < ENGINE_BATCH_PAGE && (d->count == 0 || is_open(&d->page[0]) == is_open(&place)))
        d->page[d->count++] = place;
}

static int ask(struct op *op, struct drive *d, enum read_kind kind) {
    const State__ListToken *place = job_of(d)->batch->place;
    if (d->answer.is_here)
        return 0;
    struct page_read *q = question_new(op);
    const struct predicate *where = q ? predicate_copy(&q->arena, d->filter.where) : NULL;
    if (!where) {
        page_read_free(q);
        return op_out_of_memory(op);
    }
    q->read = (struct read){.kind = kind, .namespace_id = d->job->key.namespace_id, .where = where};
    if (kind == READ_VISIBILITY) {
        q->read.limit = ENGINE_BATCH_PAGE;
        q->read.bytes_max = ENGINE_LIST_PAGE_BYTES;
    }
    if (kind == READ_VISIBILITY && place) {
        q->after = (struct visibility_place){.close_us = place->close_us, .start_us = place->start_us};
        memcpy(q->after.run_id.b, place->run_id.data, sizeof(q->after.run_id.b));
        q->read.after = &q->after;
    }
    return op_ask(op, q, &d->answer, read_row);
}

/* 0 with rc of the answer looked at, and the answer used up. */
static int take_answer(struct op *op, struct drive *d, enum read_kind kind) {
    int rc = ask(op, d, kind);
    if (rc < 0)
        return rc;
    d->answer.is_here = false;
    if (d->answer.rc == 0)
        return 0;
    engine_fail(op->e, "the targets of a batch job cannot be read from the store");
    return d->answer.rc;
}

static int need_total(struct op *op, struct drive *d) {
    if (job_of(d)->batch->is_counted)
        return 0;
    if (!d->is_counting)
        d->total = 0;
    d->is_counting = true;
    int rc = take_answer(op, d, READ_VISIBILITY_COUNT);
    if (rc < 0)
        return rc;
    d->is_counting = false;
    return job_step(d, step_count, &d->total);
}

/* The store must know what was changed so far: what a deletion has closed, but not removed yet, would come
 * again among the closed. */
static int need_durable(struct op *op, struct drive *d) {
    if (d->job->body->group_seq <= op->e->durable_seq)
        return 0;
    op_pin(op, d->job);
    op_continue_durable(op, go_walk);
    return ERR_WAIT;
}

/* ERR_NOT_FOUND: there is none left. */
static int need_next(struct op *op, struct drive *d) {
    if (!is_query(d))
        return (size_t)job_of(d)->batch->next_target < batch_listed_count(d->req) ? 0 : ERR_NOT_FOUND;
    if (d->at < d->count && !d->answer.is_here)
        return 0;
    if (!d->answer.is_here) {
        if (need_durable(op, d) < 0)
            return ERR_WAIT;
        d->at = d->count = 0;
    }
    int rc = take_answer(op, d, READ_VISIBILITY);
    if (rc < 0)
        return rc;
    return d->count ? 0 : ERR_NOT_FOUND;
}

/* the walk */

static bool is_over(const struct drive *d) {
    const struct space *space = space_by_id(d->e, d->job->key.namespace_id); /* it may have been removed */
    return !space || space->st->is_being_removed || d->job->is_removed || !run_is_open(job_of(d));
}

static void walk_end(struct op *op) {
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void complete(struct op *op, struct drive *d) {
    if (job_step(d, step_end, NULL) < 0) {
        walk_later(op, ENGINE_BATCH_RETRY_MS * USEC_PER_MS);
        return;
    }
    batch_over(d->job->space);
    walk_end(op);
}

static bool is_paced(struct drive *d) {
    double now = (double)d->e->now.mono.us;
    if (now < d->next_us)
        return false;
    d->next_us =
        MAX(d->next_us, now - (double)USEC_PER_SEC / 10) + d->interval_us; /* no more is made up for */
    return true;
}

/* One turn: some targets. True when the op went somewhere to wait. */
static bool walk_some(struct op *op, struct drive *d) {
    for (int n = 0; n < ENGINE_BATCH_PER_TURN; n++) {
        int rc = need_next(op, d);
        if (rc == ERR_WAIT)
            return true;
        if (rc == ERR_NOT_FOUND) {
            complete(op, d);
            return true;
        }
        if (rc < 0 || group_is_full(d->e)) {
            walk_later(op, ENGINE_BATCH_RETRY_MS * USEC_PER_MS);
            return true;
        }
        if (!is_paced(d)) {
            walk_later(op, MIN((int64_t)(d->next_us - (double)d->e->now.mono.us) + 1, USEC_PER_SEC));
            return true;
        }
        if (!change_next(d)) {
            op_retry(op, CLOCK_NEVER, go_walk);
            return true;
        }
        if (d->must_retry) {
            walk_later(op, ENGINE_BATCH_RETRY_MS * USEC_PER_MS);
            return true;
        }
    }
    return false;
}

static void go_walk(struct op *op) {
    struct drive *d = drive_of(op);
    op->go = go_walk;
    if (is_over(d)) {
        walk_end(op);
        return;
    }
    if (op->e->is_draining) { /* the next process goes on */
        walk_later(op, USEC_PER_SEC);
        return;
    }
    int rc = need_total(op, d);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        walk_later(op, ENGINE_BATCH_RETRY_MS * USEC_PER_MS);
    else if (!walk_some(op, d))
        walk_later(op, 1);
}

/* Lists must show what was answered before the job began. */
static void go_begin(struct op *op) {
    struct drive *d = drive_of(op);
    struct engine *e = op->e;
    op->wait_seq = e->open && (e->open->run_count || e->open->batch.count) ? e->open->seq
                   : e->flight                                             ? e->flight->seq
                                                                           : 0;
    d->next_us = (double)e->now.mono.us;
    op_continue_durable(op, go_walk);
}

static int read_request(struct drive *d) {
    const State__Execution *st = job_of(d);
    ProtobufCMessage *m;
    int rc = wire_decode(&ws__start_batch_operation_request__descriptor, pb_bytes(&st->batch->request),
                         &d->arena, &m, NULL);
    if (rc < 0)
        return rc;
    d->req = (const Ws__StartBatchOperationRequest *)m;
    d->interval_us = (double)USEC_PER_SEC / batch_rate(d->req, &d->e->limits);
    if (!is_query(d))
        return 0;
    return batch_filter(&d->arena, d->job->space->st, d->req, st->start_us, &d->filter, NULL);
}

/* The query was valid when the job began; an attribute of it was removed since. */
static void give_up(struct op *op) {
    struct drive *d = drive_of(op);
    int rc = is_over(d) ? ERR_CLOSED : job_step(d, step_give_up, NULL);
    if (rc == ERR_NO_MEMORY) {
        op_retry(op, ENGINE_BATCH_RETRY_MS * USEC_PER_MS, give_up);
        return;
    }
    if (rc == 0)
        batch_over(d->job->space);
    walk_end(op);
}

void batch_begin(struct engine *e, struct run *job) {
    struct drive *d = mem_zalloc(sizeof(*d));
    ensure(d);
    arena_init(&d->arena, ENGINE_ERRAND_BYTES);
    d->e = e;
    d->job = job;
    d->call = (struct call){.ops = &drive_ops, .arena = &d->arena, .deadline = {CLOCK_NEVER}};
    run_pin(job);
    job->space->batch_count++;
    int rc = read_request(d);
    ensure(rc != ERR_NO_MEMORY);
    struct op *op = op_new(e, &d->call, NULL, go_begin);
    ensure(op); /* without it nobody would go on with the job */
    /* Not before this turn is over, and not before recovery is. */
    op_retry(op, 1, rc == 0 ? go_begin : give_up);
}
