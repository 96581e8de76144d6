/* Starting runs: by a client's start, by signal-with-start, as a child of another run.
 *
 * All three find out what the workflow id means now, judge by the policies, and
 * then make the run, signal the one that is there, or refuse. */
#include "engine/workflow/start.h"

#include <stdio.h>

#include "base/mem.h"
#include "core/run/attach.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"
#include "engine/workflow/links.h"
#include "engine/workflow/response.h"
#include "wire/encode.h"

#define EAGER_TASK_FIELD 2 /* StartWorkflowExecutionResponse.eager_workflow_task */

/* Making a run */

/* Takes over the state of a step that began a run, and puts it into the open group. */
static struct run *run_admit(struct engine *e, struct space *space, struct step *s) {
    struct uuid run_id;
    if (step_failed(s))
        return NULL;
    ensure(uuid_parse(str_of(s->st->run_id), &run_id) == 0);
    struct run *run = run_get(e, (struct run_key){space->id, run_id}, space);
    struct body *b = body_new();
    if (!run || !b) {
        body_free(b);
        return NULL;
    }
    b->st = take(&s->st);
    b->tape.first_id = b->tape.next_id = b->durable_next_id = b->grouped_next_id = 1;
    run->body = b;
    e->body_count++;
    list_append(&e->recent, &run->recent);
    return run;
}

/* A run that was never kept: as if it had not been made. */
static void run_discard(struct engine *e, struct run *run) {
    list_remove(&run->recent);
    run_clear_due(e, run);
    body_free(take(&run->body));
    e->body_count--;
}

static int write_current(struct engine *e, struct run *run) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_CURRENT) : NULL;
    if (!w)
        return ERR_NO_MEMORY;
    w->namespace_id = run->key.namespace_id;
    w->run_id = run->key.run_id;
    w->workflow_id = str_of(arena_strdup(&g->batch.arena, run->body->st->workflow_id));
    if (!w->workflow_id.p)
        return ERR_NO_MEMORY;
    return current_set(e, run->space, run->body->st->workflow_id, run->key.run_id);
}

int run_keep_copy(struct engine *e, struct space *space, struct step *s, struct str head, struct run **ret) {
    struct run *run = run_admit(e, space, s);
    *ret = NULL;
    if (!run)
        return ERR_NO_MEMORY;
    run_pin(run);
    s->st = run->body->st; /* for whoever looks at the step afterwards */
    int rc = head.n ? tape_append(&run->body->tape, head, 1) : 0;
    if (rc == 0)
        rc = run_keep(e, run, s, STEP_DURABLE);
    s->st = NULL;
    if (rc < 0)
        run_discard(e, run);
    else
        ensure(write_current(e, run) == 0); /* the run is in the group: it must not stand there alone */
    *ret = rc < 0 ? NULL : run;
    run_unpin(e, run);
    return rc;
}

int run_keep_new(struct engine *e, struct space *space, struct step *s, struct run **ret) {
    return run_keep_copy(e, space, s, (struct str){NULL, 0}, ret);
}

/* The old run makes way for the new one. */
static int terminate_existing(struct op *op, const char *new_run_id) {
    Common__Payload payload = COMMON__PAYLOAD__INIT, *list[] = {&payload};
    Common__Payload__MetadataEntry encoding = COMMON__PAYLOAD__METADATA_ENTRY__INIT,
                                   *metadata[] = {&encoding};
    Common__Payloads details = COMMON__PAYLOADS__INIT;
    char text[UUID_TEXT_LEN + 64];
    struct step s;
    int n = snprintf(text, sizeof(text), "\"terminated by new runID: %s\"", new_run_id);
    encoding.key = (char *)(uintptr_t) "encoding";
    encoding.value = (ProtobufCBinaryData){10, (uint8_t *)(uintptr_t) "json/plain"};
    payload.metadata = metadata;
    payload.n_metadata = 1;
    payload.data = (ProtobufCBinaryData){(size_t)n, (uint8_t *)text};
    details.payloads = list;
    details.n_payloads = 1;
    op_step_begin(op, &s);
    int rc =
        run_terminate(&s, "TerminateIfRunning WorkflowIdReusePolicy", &details, "history-service", NULL, 0);
    return op_step_end(op, &s, rc, STEP_DURABLE);
}

/* Whether the starter's own worker is the one that would get the first task. */
static bool is_eager_worker(struct op *op, struct space *space, const Ws__StartWorkflowExecutionRequest *req,
                            struct version pin) {
    struct version worker = version_of_options(req->eager_worker_deployment_options);
    struct queue *base =
        space->deployment_count ? queue_get(op->e, space, false, req->task_queue->name) : NULL;
    int64_t revision;
    if (version_is_none(pin) && base)
        pin = route_target(queue_route(op->e, base), version_ramp_place(req->workflow_id), false, &revision);
    return version_eq(worker, pin);
}

int op_birth(struct op *op, struct space *space, const struct start_plan *plan) {
    struct engine *e = op->e;
    struct step s;
    struct run *run = NULL;
    bool failed = false;
    struct uuid_text run_id = uuid_format(uuid_timed(&e->rng, e->now.wall));
    struct run_birth birth = plan->birth;
    birth.namespace_id = space->st->id;
    birth.run_id = run_id.s;
    birth.request_id = op->request_id;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    if (!st)
        return op_out_of_memory(op);
    step_begin(e, space, st, op->call->arena, &op->err, &s);
    const Workflow__VersioningOverride *override =
        versioning_override(op->call->arena, plan->req->versioning_override);
    struct version pin = versioning_override_target(override);
    birth.is_eager = birth.is_eager && is_eager_worker(op, space, plan->req, pin);
    int rc = birth.parent ? 0 : versioning_check_served(&s, override, plan->req->task_queue->name);
    if (rc == 0)
        rc = run_start(&s, &birth, plan->req);
    if (rc == 0 && birth.is_eager && st->task) {
        struct task_pick pick = {
            .scheduled_event_id = st->task->scheduled_event_id,
            .identity = plan->req->identity,
            .request_id = op->request_id,
            .version = version_of_options(plan->req->eager_worker_deployment_options),
            .is_bound = versioning_is_pinned(st),
        };
        rc = task_start(&s, &pick);
    }
    if (rc == 0 && step_failed(&s))
        rc = ERR_NO_MEMORY;
    if (rc == 0 && plan->ends_current)
        rc = terminate_existing(op, run_id.s);
    if (rc == 0)
        rc = run_keep_new(e, space, &s, &run);
    ensure(rc == 0 || !plan->ends_current || run_is_open(op->run->body->st)); /* both or neither */
    pb_free(s.st);
    step_done(&s);
    if (rc < 0)
        return op->err.code == rc ? rc : err_std(&op->err, rc);
    op_pin(op, run);
    deployment_pinned(op, space, pin);
    return 0;
}

/* What the id means now */

int op_judge_start(struct op *op, struct space *space, const Ws__StartWorkflowExecutionRequest *req,
                   enum start_verdict *ret) {
    bool is_known = false;
    struct uuid run_id;
    int rc = op_need_current(op, space, req->workflow_id, &is_known, &run_id);
    if (rc == 0 && is_known)
        rc = op_need_run(op, space, run_id);
    if (rc < 0)
        return rc;
    *ret = is_known ? run_judge_start(req, op->request_id, op->run->body->st, &op->err) : START_NEW;
    return 0;
}

int op_start_by_verdict(struct op *op, struct space *space, const struct start_plan *plan,
                        enum start_verdict verdict) {
    struct start_plan with = *plan;
    int rc = plan->is_own ? 0 : op_need_birth(op, space, plan->req->task_queue->name);
    with.ends_current = verdict == START_TERMINATE_FIRST;
    return rc == 0 ? op_birth(op, space, &with) : rc;
}

int op_need_request_id(struct op *op, const char *given) {
    if (op->request_id)
        return 0;
    struct uuid_text made = uuid_format(uuid_random(&op->e->rng));
    op->request_id = arena_strdup(op->call->arena, cstr_is_empty(given) ? made.s : given);
    return op->request_id ? 0 : op_out_of_memory(op);
}

/* Start */

Ws__StartWorkflowExecutionResponse *started_response(struct op *op, bool started) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Ws__StartWorkflowExecutionResponse *r = arena_new(a, Ws__StartWorkflowExecutionResponse);
    if (!r)
        return NULL;
    ws__start_workflow_execution_response__init(r);
    r->run_id = arena_strdup(a, started ? st->first_run_id : st->run_id); /* which the request made */
    r->first_execution_run_id = arena_strdup(a, st->first_run_id);
    r->started = started;
    r->status = (E__WorkflowExecutionStatus)st->status;
    r->link = op->request_id && attach_find(st, op->request_id)
                  ? request_link(op, EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED, op->request_id)
                  : event_link(op, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 1);
    return arena_failed(a) ? NULL : r;
}

static void reply_started(struct op *op, bool started, struct str tail) {
    Ws__StartWorkflowExecutionResponse *r = started_response(op, started);
    if (!r) {
        (void)op_out_of_memory(op); /* it has happened; asking again with the same request id tells so */
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &r->base, tail);
}

/* The first task rides in the answer. */
static void reply_eager(struct op *op) {
    struct str tail = {NULL, 0};
    int rc = task_response_tail(op, EAGER_TASK_FIELD, false, &tail);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        tail = (struct str){NULL, 0}; /* it times out and is offered again */
    op->drop = op_drop_carried;
    reply_started(op, true, tail);
}

/* The first task, as the start itself gave it to the worker that asked. */
static bool has_eager_task(const struct op *op) {
    const State__Execution *st = op->run->body->st;
    return task_is_started(st) && st->last_started_event_id == 0 && !task_is_transient(st->task) &&
           cstr_eq(st->task->request_id, op->request_id);
}

/* The same start once more. A worker that asks again for the first task has not heard of it yet. */
static void reply_same(struct op *op, const Ws__StartWorkflowExecutionRequest *req) {
    if (req->request_eager_execution && has_eager_task(op))
        reply_eager(op);
    else
        reply_started(op, true, (struct str){NULL, 0});
}

int op_check_start(struct op *op, const struct space *space, const Ws__StartWorkflowExecutionRequest *req) {
    int rc = run_validate_start(req, space->st, op->e->cfg.zones, &op->e->limits, &op->err);
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)req->input);
    return rc == 0 ? op_check_memo(op, req->memo) : rc;
}

void rpc_start_workflow(struct op *op) {
    const Ws__StartWorkflowExecutionRequest *req = op->req;
    enum start_verdict verdict;
    struct space *space;
    int rc = op_need_open_space(op, req->namespace_, &space);
    if (rc == 0 && !op->request_id)
        rc = op_check_start(op, space, req);
    if (rc == 0)
        rc = op_need_request_id(op, req->request_id);
    if (rc == 0)
        rc = op_need_room(op);
    if (rc == 0)
        rc = op_judge_start(op, space, req, &verdict);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && verdict == START_EXISTING && attach_is_wanted(op->run->body->st, req, op->request_id)) {
        struct step s;
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, attach_start(&s, req, op->request_id), STEP_DURABLE);
    }
    if (rc == 0 && verdict == START_SAME) {
        reply_same(op, req);
        return;
    }
    if (rc == 0 && verdict == START_EXISTING) {
        reply_started(op, false, (struct str){NULL, 0});
        return;
    }
    if (rc == 0 && verdict == START_REFUSED) {
        op_fail_durable(op);
        return;
    }
    struct start_plan plan = {.req = req, .birth = {.is_eager = req->request_eager_execution}};
    if (rc == 0)
        rc = op_start_by_verdict(op, space, &plan, verdict);
    if (rc < 0)
        op_fail(op);
    else if (task_is_started(op->run->body->st))
        reply_eager(op);
    else
        reply_started(op, true, (struct str){NULL, 0});
}

/* Signal with start */

/* The start inside a signal-with-start request: the same fields under other numbers. */
static Ws__StartWorkflowExecutionRequest start_part(const Ws__SignalWithStartWorkflowExecutionRequest *r) {
    Ws__StartWorkflowExecutionRequest s = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    s.namespace_ = r->namespace_;
    s.workflow_id = r->workflow_id;
    s.workflow_type = r->workflow_type;
    s.task_queue = r->task_queue;
    s.input = r->input;
    s.workflow_execution_timeout = r->workflow_execution_timeout;
    s.workflow_run_timeout = r->workflow_run_timeout;
    s.workflow_task_timeout = r->workflow_task_timeout;
    s.identity = r->identity;
    s.request_id = r->request_id;
    s.workflow_id_reuse_policy = r->workflow_id_reuse_policy;
    s.workflow_id_conflict_policy = r->workflow_id_conflict_policy;
    if (!r->workflow_id_conflict_policy &&
        r->workflow_id_reuse_policy != WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING)
        s.workflow_id_conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING;
    s.retry_policy = r->retry_policy;
    s.cron_schedule = r->cron_schedule;
    s.memo = r->memo;
    s.search_attributes = r->search_attributes;
    s.header = r->header;
    s.workflow_start_delay = r->workflow_start_delay;
    s.user_metadata = r->user_metadata;
    s.links = r->links;
    s.n_links = r->n_links;
    s.versioning_override = r->versioning_override;
    s.priority = r->priority;
    return s;
}

static Ws__SignalWorkflowExecutionRequest signal_part(const Ws__SignalWithStartWorkflowExecutionRequest *r) {
    Ws__SignalWorkflowExecutionRequest s = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    s.signal_name = r->signal_name;
    s.input = r->signal_input;
    s.identity = r->identity;
    s.request_id = r->request_id;
    s.header = r->header;
    s.links = r->links;
    s.n_links = r->n_links;
    return s;
}

static int signal_existing(struct op *op, const Ws__SignalWorkflowExecutionRequest *signal) {
    struct run_caller caller = {.insists = true};
    struct step s;
    op_sure_step_begin(op, &s);
    return op_step_end(op, &s, run_signal(&s, signal, &caller), STEP_DURABLE);
}

static void reply_signal_with_start(struct op *op, bool started) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Ws__SignalWithStartWorkflowExecutionResponse *r =
        arena_new(a, Ws__SignalWithStartWorkflowExecutionResponse);
    if (r) {
        ws__signal_with_start_workflow_execution_response__init(r);
        r->run_id = arena_strdup(a, started ? st->first_run_id : st->run_id);
        r->first_execution_run_id = arena_strdup(a, st->first_run_id);
        r->started = started;
        r->signal_link = request_link(op, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, op->request_id);
    }
    if (arena_failed(a)) {
        (void)op_out_of_memory(op);
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

static int check_signal_with_start(struct op *op, const struct space *space,
                                   const Ws__SignalWithStartWorkflowExecutionRequest *req,
                                   const Ws__StartWorkflowExecutionRequest *start) {
    int rc = op_check_start(op, space, start);
    if (rc == 0 && req->workflow_id_conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_FAIL)
        rc = err_set(&op->err, ERR_INVALID,
                     "Invalid WorkflowIDConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_FAIL is not supported "
                     "for this operation.");
    return rc == 0 ? op_check_blob(op, (const ProtobufCMessage *)req->signal_input) : rc;
}

void rpc_signal_with_start(struct op *op) {
    const Ws__SignalWithStartWorkflowExecutionRequest *req = op->req;
    Ws__StartWorkflowExecutionRequest start = start_part(req);
    Ws__SignalWorkflowExecutionRequest signal = signal_part(req);
    enum start_verdict verdict = START_NEW;
    struct space *space;
    int rc = op_need_open_space(op, req->namespace_, &space);
    if (rc == 0 && !op->request_id)
        rc = check_signal_with_start(op, space, req, &start);
    if (rc == 0)
        rc = validate_required(req->signal_name, "SignalName", &op->err);
    if (rc == 0)
        rc = op_need_request_id(op, req->request_id);
    if (rc == 0)
        rc = op_need_room(op);
    if (rc == 0)
        rc = op_judge_start(op, space, &start, &verdict);
    if (rc == ERR_WAIT)
        return;
    signal.request_id = op->request_id;
    struct start_plan plan = {.req = &start, .birth = {.signal = &signal}};
    bool started = false;
    if (rc == 0 && verdict == START_EXISTING) {
        rc = signal_existing(op, &signal);
    } else if (rc == 0 && verdict == START_REFUSED) {
        op_fail_durable(op);
        return;
    } else if (rc == 0 && verdict != START_SAME) {
        rc = op_start_by_verdict(op, space, &plan, verdict);
        started = true;
    } else if (rc == 0) {
        started = true;
    }
    if (rc < 0)
        op_fail(op);
    else
        reply_signal_with_start(op, started);
}
