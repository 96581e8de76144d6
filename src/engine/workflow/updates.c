/* The updates of a run that its history does not know: admitted by a caller,
 * on their way to a worker, or just rejected by one.
 *
 * They are in memory only. Who asked for one waits in body.update_waiters and
 * looks again (update_ops.c) whenever something has happened to the updates of
 * its run. When the process dies, or a run that nobody waits for is let go,
 * they are gone; a caller that still wants one sends it again. */
#include "base/mem.h"
#include "core/step/failure.h"
#include "core/run/pause.h"
#include "core/run/task.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/update.h"

#define REQUEST_TYPE_URL "type.googleapis.com/temporal.api.update.v1.Request"
#define TASK_ATTEMPTS_MAX 3 /* a workflow that fails so often is not asked further */

/* one */

void update_free(struct update *u) {
    list_remove(&u->link);
    pb_free(u->request);
    pb_free(u->failure);
    mem_free(u);
}

static struct update *update_new(struct run *run, const Update__Request *request) {
    bool failed = false;
    struct update *u = mem_zalloc(sizeof(*u));
    if (!u)
        return NULL;
    u->request = pb_clone(&request->base, &failed);
    u->bytes = protobuf_c_message_get_packed_size(&request->base);
    if (failed) {
        update_free(u);
        return NULL;
    }
    list_append(&run->body->updates, &u->link);
    return u;
}

struct update *update_in_memory(const struct run *run, const char *id) {
    list_for(&run->body->updates, n) {
        struct update *u = container_of(n, struct update, link);
        if (cstr_eq(u->request->meta->update_id, id))
            return u;
    }
    return NULL;
}

static bool is_update_over(const struct update *u) {
    return u->state == UPDATE_REFUSED || u->state == UPDATE_UNREADY;
}

/* admitting */

static int too_many(struct op *op, const char *what, int64_t limit) {
    int rc = err_set(&op->err, ERR_BUSY, "limit on %s has been reached (%lld)", what, (long long)limit);
    op->err.cause = RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT;
    return rc;
}

static int check_limits(struct op *op, const Update__Request *request) {
    const State__Execution *st = op->run->body->st;
    size_t count = 0, bytes = protobuf_c_message_get_packed_size(&request->base);
    list_for(&op->run->body->updates, n) {
        const struct update *u = container_of(n, struct update, link);
        if (is_update_over(u))
            continue;
        count++;
        bytes += u->bytes;
    }
    const struct core_limits *l = &op->e->limits;
    int64_t count_max = limit_of(l, SETTABLE_UPDATES_IN_FLIGHT),
            bytes_max = limit_of(l, SETTABLE_UPDATES_BYTES);
    int64_t total_max = limit_of(l, SETTABLE_UPDATES);
    if ((int64_t)(count + update_open_count(st)) >= count_max)
        return too_many(op, "number of concurrent in-flight updates", count_max);
    if ((int64_t)bytes > bytes_max)
        return too_many(op, "size in bytes of concurrent in-flight updates", bytes_max);
    if ((int64_t)(count + st->n_updates) >= total_max)
        return err_set(
            &op->err, ERR_PRECONDITION,
            "limit on the total number of distinct updates in this workflow has been reached (%lld)",
            (long long)total_max);
    return 0;
}

static int check_run(struct op *op) {
    const State__Execution *st = op->run->body->st;
    int32_t attempt = st->task ? st->task->attempt : st->task_attempt;
    if (!run_is_open(st))
        return err_std(&op->err, ERR_CLOSED);
    if (run_is_paused(st))
        return err_set(&op->err, ERR_PRECONDITION, "Workflow is paused. Cannot update the workflow.");
    if (attempt >= TASK_ATTEMPTS_MAX)
        return err_set(&op->err, ERR_NOT_READY,
                       "Unable to perform workflow execution update due to Workflow Task in failed state.");
    return 0;
}

/* An update ends the delay of a start, but not the back-off of a retry, a cron schedule or a
 * continued run; and it does not come before the parent knows that its child has started. */
static bool is_update_delayed(const State__Execution *st) {
    bool is_delayed_start = cstr_eq(st->first_run_id, st->run_id) && cstr_is_empty(st->cron_schedule);
    return st->is_first_task_held || (st->first_task_due_us && !is_delayed_start);
}

/* A pending task takes the update along, or is followed by one that does. */
static int need_task(struct op *op) {
    const State__Execution *st = op->run->body->st;
    struct step s;
    if (st->task || is_update_delayed(st))
        return 0;
    /* A first task that no delay will bring again is not to be forgotten with the update. */
    bool is_only = st->last_started_event_id == 0 && !st->first_task_due_us;
    op_step_begin(op, &s);
    if (is_only)
        task_schedule(&s);
    else
        task_schedule_speculative(&s);
    return op_step_end(op, &s, 0, is_only ? STEP_DURABLE : STEP_QUIET);
}

int update_admit(struct op *op, Update__Request *request) {
    const char *id = request->meta->update_id;
    if (update_find(op->run->body->st, id) || update_in_memory(op->run, id))
        return 0;
    int rc = check_run(op);
    if (rc == 0)
        rc = check_limits(op, request);
    if (rc < 0)
        return rc;
    struct update *u = update_new(op->run, request);
    if (!u)
        return op_out_of_memory(op);
    rc = need_task(op);
    if (rc < 0)
        update_free(u);
    return rc;
}

/* riding on a workflow task */

bool updates_are_sent(const struct run *run) {
    list_for(&run->body->updates, n) {
        if (container_of(n, struct update, link)->state == UPDATE_SENT)
            return true;
    }
    return false;
}

void updates_detach(struct run *run) {
    list_for(&run->body->updates, n) {
        struct update *u = container_of(n, struct update, link);
        if (u->state == UPDATE_SENT)
            u->state = UPDATE_ADMITTED;
    }
}

static Protocol__Message *update_request_message(struct arena *a, const struct update *u, int64_t started_event_id) {
    const char *id = u->request->meta->update_id;
    Protocol__Message *m = arena_new(a, Protocol__Message);
    Google__Protobuf__Any *body = arena_new(a, Google__Protobuf__Any);
    if (!m || !body)
        return NULL;
    protocol__message__init(m);
    google__protobuf__any__init(body);
    body->type_url = (char *)(uintptr_t)REQUEST_TYPE_URL;
    body->value = token_pack(a, &u->request->base);
    m->id = arena_printf(a, "%s/request", id);
    m->protocol_instance_id = arena_strdup(a, id);
    /* To be looked at after every event but the start of the task itself. */
    m->sequencing_id_case = PROTOCOL__MESSAGE__SEQUENCING_ID_EVENT_ID;
    m->event_id = started_event_id - 1;
    m->body = body;
    return m;
}

void updates_attach(struct op *poll, Ws__PollWorkflowTaskQueueResponse *resp) {
    struct arena *a = poll->call->arena;
    struct list *updates = &poll->run->body->updates;
    size_t n = 0;
    list_for(updates, l) n++;
    resp->messages = arena_array(a, Protocol__Message *, n);
    list_for(updates, l) {
        struct update *u = container_of(l, struct update, link);
        if (u->state != UPDATE_ADMITTED || !resp->messages)
            continue;
        Protocol__Message *m = update_request_message(a, u, resp->started_event_id);
        if (!m)
            return; /* the arena has failed, and the answer with it */
        resp->messages[resp->n_messages++] = m;
        u->state = UPDATE_SENT;
    }
}

/* what came of them */

static void updates_wake_waiters(struct engine *e, struct run *run) {
    struct list all;
    list_init(&all);
    run_pin(run);
    for (struct list *n; (n = list_pop(&run->body->update_waiters));)
        list_append(&all, n);
    for (struct list *n; (n = list_pop(&all));) {
        struct op *op = container_of(n, struct op, link);
        heap_remove(&e->deadlines, &op->deadline);
        op->go(op);
    }
    list_for_safe(&run->body->updates, n) {
        struct update *u = container_of(n, struct update, link);
        if (is_update_over(u))
            update_free(u); /* everyone who waited has been told */
    }
    run_unpin(e, run);
}

int updates_offer(struct op *op, struct step_context *ctx) {
    size_t n = 0;
    list_for(&op->run->body->updates, l) n++;
    ctx->updates = arena_array(op->call->arena, struct update_offer, n);
    if (n && !ctx->updates)
        return op_out_of_memory(op);
    list_for(&op->run->body->updates, l) {
        const struct update *u = container_of(l, struct update, link);
        ctx->updates[ctx->update_count++] = (struct update_offer){
            .id = u->request->meta->update_id, .request = u->request, .is_sent = u->state == UPDATE_SENT};
    }
    return 0;
}

static void update_refuse(struct update *u, const Failure__Failure *failure) {
    bool failed = !failure;
    u->failure = failure ? pb_clone(&failure->base, &failed) : NULL;
    u->state = failed ? UPDATE_UNREADY : UPDATE_REFUSED;
}

void updates_settle(struct op *op, const struct step_context *ctx, bool is_heartbeat) {
    size_t i = 0;
    bool is_open = run_is_open(op->run->body->st);
    list_for_safe(&op->run->body->updates, n) {
        struct update *u = container_of(n, struct update, link);
        const struct update_offer *offer = &ctx->updates[i++];
        if (offer->verdict == UPDATE_ACCEPTED)
            update_free(u); /* its run knows it now */
        else if (offer->verdict == UPDATE_REJECTED)
            update_refuse(u, offer->rejection);
        else if (offer->is_sent && !is_heartbeat && is_open)
            update_refuse(u,
                   failure_application(op->call->arena,
                                       "Workflow Update is rejected because it wasn't processed by worker. "
                                       "Probably, Workflow Update is not supported by the worker.",
                                       "UnprocessedUpdate"));
    }
    updates_wake_waiters(op->e, op->run);
}

void updates_unready(struct op *op, const struct step_context *ctx) {
    size_t i = 0;
    if (task_is_started(op->run->body->st))
        return; /* a transient task that was not valid goes on until it times out */
    list_for(&op->run->body->updates, n) {
        struct update *u = container_of(n, struct update, link);
        if (ctx->updates[i++].is_sent)
            u->state = UPDATE_UNREADY;
    }
    updates_wake_waiters(op->e, op->run);
}

void updates_close(struct engine *e, struct run *run) {
    for (struct list *n; (n = list_pop(&run->body->updates));)
        update_free(container_of(n, struct update, link));
    updates_wake_waiters(e, run);
}
