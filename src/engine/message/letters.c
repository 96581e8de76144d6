/* Delivering letters: what one run must tell another.
 *
 * Three parts: read the letter and the event behind it from the sender; do it to
 * the receiver; tell the sender, whose step takes the letter out of its outbox.
 * The first two may wait for a load. The sender stays in memory from then on, so
 * that what the receiver does and what the sender learns of it are one commit:
 * a letter that names no run, delivered again after a crash, could otherwise meet
 * the next run of its workflow id, which does not know it. Groups become durable
 * in order, so neither is on disk before the letter. */
#include "core/run/child.h"
#include "core/run/external.h"
#include "core/message/letter.h"
#include "core/step/merge.h"
#include "core/schedule/schedule.h"
#include "core/version/versioning.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/start.h"

struct delivery {
    struct run_key sender;
    int64_t letter_id;
    State__Letter *letter; /* a copy */
    History__HistoryEvent *event; /* what it is about, when it is about an event */
    Common__WorkflowExecution from;
    char *root_workflow_id;
    char *root_run_id;
    char *first_run_id;
    char *parent_original_run_id; /* set when the run that started it is closed; "" when it is gone */
    bool is_moot; /* what it asks for is known to have happened */
    int64_t parent_initiated_event_id;
    Common__Priority *priority;
    Common__Priority child_priority;
    struct uuid child_at; /* LETTER_ASK_CHILD: how far its chain was followed */
    bool is_child_known;
    struct action_order order; /* LETTER_START_ACTION */
    struct action_end end; /* LETTER_ACTION_CLOSED */
    struct version_legacy legacy; /* for a child */
    /* The outcome */
    Common__WorkflowExecution child;
    History__HistoryEvent *child_close; /* NULL: it is open */
    int cause; /* 0: received */
    struct uuid_text child_run_id;
    struct action_outcome outcome;
};

static void go_deliver(struct op *op);
static void go_letter_report(struct op *op);

static void letter_end(struct op *op) {
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void letter_begin_again(struct op *op) {
    letter_begin(op->e, &((struct delivery *)op->extra)->sender, ((struct delivery *)op->extra)->letter_id);
    letter_end(op);
}

/* No memory, or a full group: the letter is still in the outbox. */
static void letter_retry_later(struct op *op) {
    op->e->counters.letters_retried++;
    op_pin(op, NULL);
    op_hold(op, NULL);
    op_retry(op, ENGINE_LETTER_RETRY_MS * USEC_PER_MS, letter_begin_again);
}

/* The sender's side, first part */

static int64_t event_behind(const State__Execution *st, const State__Letter *l) {
    switch (l->kind) {
    case LETTER_START_CHILD:
    case LETTER_SIGNAL:
    case LETTER_CANCEL:
        return l->event_id;
    case LETTER_CHILD_CLOSED:
    case LETTER_ACTION_CLOSED:
        return st->next_event_id - 1; /* the closing event */
    default:
        return 0;
    }
}

/* The sender may change while its child is started: what the child inherits is that of now. */
static void keep_legacy(struct op *op, const State__Execution *st) {
    struct delivery *d = op->extra;
    struct arena *a = op->call->arena;
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *ev =
        d->event->start_child_workflow_execution_initiated_event_attributes;
    State__Execution *kept = arena_new(a, State__Execution);
    if (!kept)
        return;
    state__execution__init(kept);
    kept->task_queue = arena_strdup(a, st->task_queue);
    kept->versioning = message_copy(a, &st->versioning->base);
    if (kept->versioning)
        versioning_bequeath_child(kept, &op->run->space->book, ev->task_queue->name, &d->legacy);
}

static struct action_end action_end_of(struct arena *a, const State__Execution *st,
                                       const History__HistoryEvent *close) {
    struct action_end end = {.workflow_id = arena_strdup(a, st->workflow_id),
                             .first_run_id = arena_strdup(a, st->first_run_id),
                             .status = (E__WorkflowExecutionStatus)st->status,
                             .close_us = st->close_us};
    if (close->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
        end.result = close->workflow_execution_completed_event_attributes->result;
    else if (close->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_FAILED)
        end.failure = close->workflow_execution_failed_event_attributes->failure;
    return end;
}

static int read_sender(struct op *op, const State__Letter *l) {
    struct delivery *d = op->extra;
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    int64_t event_id = event_behind(st, l);
    int rc = event_id ? op_need_event(op, event_id, &d->event) : 0;
    if (rc < 0)
        return rc;
    common__workflow_execution__init(&d->from);
    d->from.workflow_id = arena_strdup(a, st->workflow_id);
    d->from.run_id = arena_strdup(a, st->run_id);
    d->root_workflow_id = arena_strdup(a, st->root_workflow_id);
    d->root_run_id = arena_strdup(a, st->root_run_id);
    d->first_run_id = arena_strdup(a, st->first_run_id);
    d->is_moot = l->kind == LETTER_START_CHILD && !child_is_starting(st, l->event_id);
    d->parent_initiated_event_id = st->parent ? st->parent->initiated_event_id : 0;
    d->priority = st->priority ? message_copy(a, &st->priority->base) : NULL;
    d->letter = message_copy(a, &l->base);
    if (l->kind == LETTER_START_ACTION) {
        int rc_order =
            schedule_order(st, l->event_id, op->run->space->st->name, op->e->now.wall, a, &d->order);
        d->is_moot = rc_order == ERR_NOT_FOUND; /* its end is known already */
        if (rc_order == ERR_NO_MEMORY)
            return op_out_of_memory(op);
    }
    if (l->kind == LETTER_ACTION_CLOSED)
        d->end = action_end_of(a, st, d->event);
    if (l->kind == LETTER_START_CHILD && st->versioning)
        keep_legacy(op, st);
    return arena_failed(a) ? op_out_of_memory(op) : 0;
}

static void go_letter(struct op *op) {
    struct delivery *d = op->extra;
    struct space *space = space_by_id(op->e, d->sender.namespace_id);
    int rc = space ? op_need_run(op, space, d->sender.run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    const State__Letter *l = rc == 0 ? letter_find(op->run->body->st, d->letter_id) : NULL;
    if (rc == ERR_NOT_FOUND || (rc == 0 && !l)) {
        letter_end(op);
        return;
    }
    if (rc == 0)
        rc = read_sender(op, l);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        letter_retry_later(op);
        return;
    }
    op_hold(op, op->run);
    op->go = go_deliver;
    go_deliver(op);
}

struct letter_ref {
    struct run_key sender;
    int64_t letter_id;
};

static void go_letter_begin(struct op *op) {
    const struct letter_ref *ref = op->req;
    struct delivery *d = arena_new(op->call->arena, struct delivery);
    ensure(d);
    d->sender = ref->sender;
    d->letter_id = ref->letter_id;
    op->extra = d;
    op->go = go_letter;
    go_letter(op);
}

void letter_begin(struct engine *e, const struct run_key *sender, int64_t letter_id) {
    struct letter_ref ref = {*sender, letter_id};
    errand_start(e, go_letter_begin, &ref, sizeof(ref));
}

/* The receiver's side */

static Ws__StartWorkflowExecutionRequest child_request(struct delivery *d) {
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
        d->event->start_child_workflow_execution_initiated_event_attributes;
    Ws__StartWorkflowExecutionRequest r = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    r.workflow_id = a->workflow_id;
    r.workflow_type = a->workflow_type;
    r.task_queue = a->task_queue;
    r.input = a->input;
    r.header = a->header;
    r.workflow_execution_timeout = a->workflow_execution_timeout;
    r.workflow_run_timeout = a->workflow_run_timeout;
    r.workflow_task_timeout = a->workflow_task_timeout;
    r.workflow_id_reuse_policy = a->workflow_id_reuse_policy;
    r.retry_policy = a->retry_policy;
    r.cron_schedule = a->cron_schedule;
    r.memo = a->memo;
    r.search_attributes = a->search_attributes;
    r.priority = (Common__Priority *)(uintptr_t)merge_priority(&d->child_priority, d->priority, a->priority);
    r.versioning_override = a->versioning_override;
    r.user_metadata = d->event->user_metadata;
    return r;
}

static bool is_override_served(struct op *op, const struct space *space,
                               const History__StartChildWorkflowExecutionInitiatedEventAttributes *a) {
    struct version v =
        versioning_override_target(versioning_override(op->call->arena, a->versioning_override));
    return version_is_none(v) ||
           space->book.has_queue(&space->book, v.deployment, v.build_id, a->task_queue->name);
}

static int deliver_child(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
        d->event->start_child_workflow_execution_initiated_event_attributes;
    Ws__StartWorkflowExecutionRequest req = child_request(d);
    enum start_verdict verdict;
    op->request_id = d->letter->request_id;
    int rc = op_judge_start(op, space, &req, &verdict);
    if (rc < 0)
        return rc;
    if (verdict != START_SAME && !run_is_open(op->held->body->st) &&
        a->parent_close_policy != PARENT_CLOSE_POLICY_ABANDON) {
        d->cause = START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_UNSPECIFIED +
                   1; /* never shown: the parent is closed */
        return 0;
    }
    if (verdict == START_REFUSED || verdict == START_EXISTING) {
        d->cause = START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS;
        return 0;
    }
    State__Parent parent = STATE__PARENT__INIT;
    parent.namespace_ = space->st->name;
    parent.namespace_id = space->st->id;
    parent.workflow_id = d->from.workflow_id;
    parent.run_id = d->from.run_id;
    parent.initiated_event_id = d->letter->event_id;
    struct start_plan plan = {.req = &req,
                              .birth = {.parent = &parent,
                                        .root_workflow_id = d->root_workflow_id,
                                        .root_run_id = d->root_run_id,
                                        .is_held = true},
                              .is_own = true};
    if (!req.versioning_override) /* what the parent says for this child comes first */
        versioning_inherit(&plan.birth, &req, &d->legacy);
    if (verdict != START_SAME && !is_override_served(op, space, a)) {
        d->cause = START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_INVALID_VERSIONING_OVERRIDE;
        return 0;
    }
    if (verdict != START_SAME)
        rc = op_start_by_verdict(op, space, &plan, verdict);
    if (rc == 0)
        memcpy(d->child_run_id.s, op->run->body->st->first_run_id, UUID_TEXT_LEN);
    return rc;
}

static bool is_child_of(const State__Execution *st, const struct delivery *d) {
    return st->parent && cstr_eq(st->parent->workflow_id, d->from.workflow_id) &&
           cstr_eq(st->parent->run_id, d->from.run_id);
}

static int find_receiver(struct op *op, struct space *space, const char *first_run_id) {
    struct delivery *d = op->extra;
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    ex.workflow_id = d->letter->workflow_id;
    ex.run_id = d->letter->run_id;
    return op_need_execution(op, space, &ex, first_run_id);
}

/* A workflow cannot be external to itself, whichever run of it is meant. */
static bool is_to_itself(const struct delivery *d) {
    return cstr_eq(d->letter->workflow_id, d->from.workflow_id);
}

static int deliver_signal(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    const History__SignalExternalWorkflowExecutionInitiatedEventAttributes *a =
        d->event->signal_external_workflow_execution_initiated_event_attributes;
    struct run_caller caller = {.execution = &d->from, .initiated_event_id = d->letter->event_id};
    Ws__SignalWorkflowExecutionRequest req = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    struct step s;
    int rc = is_to_itself(d) ? ERR_NOT_FOUND : find_receiver(op, space, NULL);
    if (rc == ERR_WAIT)
        return rc;
    if (rc == 0 && a->child_workflow_only && !is_child_of(op->run->body->st, d))
        rc = ERR_NOT_FOUND;
    if (rc == 0) {
        req.signal_name = a->signal_name;
        req.input = a->input;
        req.header = a->header;
        req.request_id = d->letter->request_id;
        op_sure_step_begin(op, &s);
        rc = op_step_end(op, &s, run_signal(&s, &req, &caller), STEP_DURABLE);
    }
    if (rc == ERR_NOT_FOUND || rc == ERR_CLOSED)
        d->cause = SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND;
    else if (rc == ERR_INVALID)
        d->cause = SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_SIGNAL_COUNT_LIMIT_EXCEEDED;
    return d->cause ? 0 : rc;
}

static int deliver_cancel(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    const History__RequestCancelExternalWorkflowExecutionInitiatedEventAttributes *a =
        d->event->request_cancel_external_workflow_execution_initiated_event_attributes;
    struct run_caller caller = {.execution = &d->from, .initiated_event_id = d->letter->event_id};
    Ws__RequestCancelWorkflowExecutionRequest req = WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_REQUEST__INIT;
    struct step s;
    int rc = is_to_itself(d) ? ERR_NOT_FOUND : find_receiver(op, space, NULL);
    if (rc == ERR_WAIT)
        return rc;
    if (rc == 0 && a->child_workflow_only && !is_child_of(op->run->body->st, d))
        rc = ERR_NOT_FOUND;
    if (rc == 0) {
        req.reason = a->reason;
        req.request_id = d->letter->request_id;
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_request_cancel(&s, &req, &caller), STEP_DURABLE);
    }
    if (rc == ERR_NOT_FOUND)
        d->cause = CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND;
    return d->cause ? 0 : rc;
}

/* To a child whose parent is gone: by the policy. It is the chain that is meant, not only its first run. */
static int deliver_close(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    struct step s;
    int rc = find_receiver(op, space, d->letter->run_id);
    if (rc == ERR_WAIT)
        return rc;
    if (rc == 0 && run_is_open(op->run->body->st)) {
        Ws__RequestCancelWorkflowExecutionRequest req = WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_REQUEST__INIT;
        struct run_caller caller = {.execution = &d->from};
        op_step_begin(op, &s);
        if (d->letter->kind == LETTER_TERMINATE_CHILD)
            rc = run_terminate(&s, "by parent close policy", NULL, "history-service", NULL, 0);
        else
            rc = run_request_cancel(&s, &req, &caller);
        rc = op_step_end(op, &s, rc, STEP_DURABLE);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int deliver_go(struct op *op, struct space *space) {
    struct step s;
    int rc = find_receiver(op, space, NULL);
    if (rc == 0) {
        op_sure_step_begin(op, &s);
        child_go(&s);
        rc = op_step_end(op, &s, 0, STEP_DURABLE);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int need_current_parent(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    bool is_known = false;
    struct uuid run_id;
    int rc = op_need_current(op, space, d->letter->workflow_id, &is_known, &run_id);
    if (rc == 0)
        rc = is_known ? op_need_run(op, space, run_id) : ERR_NOT_FOUND;
    if (rc == 0 && !cstr_is_empty(d->parent_original_run_id) &&
        !cstr_eq(op->run->body->st->original_run_id, d->parent_original_run_id))
        rc = ERR_NOT_FOUND;
    return rc;
}

/* A parent that was reset goes on as another run. Its first run may have closed long before, and may even be
 * gone: then it is the child's run id alone that proves whose child it is. */
static int find_parent(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    if (d->parent_original_run_id)
        return need_current_parent(op, space);
    int rc = find_receiver(op, space, NULL);
    if ((rc < 0 && rc != ERR_NOT_FOUND) || (rc == 0 && run_is_open(op->run->body->st)))
        return rc;
    d->parent_original_run_id =
        arena_strdup(op->call->arena, rc == 0 ? op->run->body->st->original_run_id : "");
    return d->parent_original_run_id ? need_current_parent(op, space) : op_out_of_memory(op);
}

/* A parent that is the copy of another may have a child of its own under the same event id. */
static int judge_child(const struct op *op) {
    const struct delivery *d = op->extra;
    const State__Child *c = child_find(op->run->body->st, d->parent_initiated_event_id);
    if (!run_is_open(op->run->body->st) || !c || !cstr_eq(c->workflow_id, d->from.workflow_id) ||
        (c->is_started && !cstr_eq(c->run_id, d->first_run_id)))
        return ERR_NOT_FOUND;
    return !c->is_started && d->parent_original_run_id ? ERR_BUSY : 0; /* which child it is will be known */
}

/* A child may end before its parent has recorded that it began: a timeout, or somebody terminated it. */
static int need_birth(struct op *op, struct space *space, struct child_birth *ret) {
    struct delivery *d = op->extra;
    History__HistoryEvent *initiated;
    if (!child_is_starting(op->run->body->st, d->parent_initiated_event_id))
        return 0;
    int rc = op_need_event(op, d->parent_initiated_event_id, &initiated);
    if (rc < 0)
        return rc;
    *ret = (struct child_birth){
        .run_id = d->first_run_id,
        .namespace_name = space->st->name,
        .namespace_id = space->st->id,
        .header = initiated->start_child_workflow_execution_initiated_event_attributes->header};
    return 0;
}

static int deliver_closed(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    struct child_birth birth = {0};
    struct step s;
    int rc = find_parent(op, space);
    if (rc == 0)
        rc = judge_child(op);
    if (rc == 0)
        rc = need_birth(op, space, &birth);
    if (rc == 0) {
        op_sure_step_begin(op, &s);
        if (birth.run_id)
            child_started(&s, d->parent_initiated_event_id, &birth);
        child_closed(&s, d->parent_initiated_event_id, &d->from, space->st->name, space->st->id, d->event);
        rc = op_step_end(op, &s, 0, STEP_DURABLE);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

/* To the run that the chain of a child has come to. */
static int letter_find_child(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    if (!d->is_child_known && uuid_parse(str_of(d->letter->run_id), &d->child_at) < 0)
        return ERR_NOT_FOUND;
    d->is_child_known = true;
    for (;;) {
        int rc = op_need_run(op, space, d->child_at);
        if (rc < 0)
            return rc;
        const State__Execution *st = op->run->body->st;
        if (uuid_parse(str_of(st->new_run_id), &d->child_at) < 0 &&
            uuid_parse(str_of(st->reset_run_id), &d->child_at) < 0)
            return 0;
    }
}

static int deliver_question(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    struct arena *a = op->call->arena;
    int rc = letter_find_child(op, space);
    common__workflow_execution__init(&d->child);
    d->child.workflow_id = d->letter->workflow_id;
    d->child.run_id = d->letter->run_id;
    if (rc == ERR_NOT_FOUND) { /* it is not even remembered */
        d->child_close = arena_new(a, History__HistoryEvent);
        if (!d->child_close)
            return op_out_of_memory(op);
        history__history_event__init(d->child_close);
        d->child_close->event_type = EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED;
        return 0;
    }
    if (rc < 0 || run_is_open(op->run->body->st))
        return rc;
    d->child.run_id = arena_strdup(a, op->run->body->st->run_id);
    return d->child.run_id ? op_need_event(op, op->run->body->st->next_event_id - 1, &d->child_close)
                           : op_out_of_memory(op);
}

/* Between a schedule and its actions */

/* Nothing is wrong with the action: the server has no room for it now. */
static bool is_refused_for_now(int rc) {
    return rc == ERR_BUSY || rc == ERR_NO_MEMORY || rc == ERR_FULL;
}

/* The schedule is told why, and when the reason may pass it tries again. */
static int refuse_action(struct op *op, int rc) {
    struct delivery *d = op->extra;
    d->outcome.error = arena_strdup(op->call->arena, op->err.text);
    d->outcome.is_retryable = is_refused_for_now(rc);
    return d->outcome.error ? 0 : ERR_NO_MEMORY;
}

static bool is_action_of(const State__Execution *st, const State__ScheduledBy *by) {
    return st->scheduled_by && cstr_eq(st->scheduled_by->run_id, by->run_id) &&
           st->scheduled_by->start_id == by->start_id;
}

/* What a client that starts a workflow must pass, an action must pass too: the namespace and the limits may
 * have changed since the schedule was made. */
static int admit_action(struct op *op, struct space *space) {
    const struct delivery *d = op->extra;
    int rc = op_need_open_space(op, space->st->name, &space);
    if (rc == 0)
        rc = op_check_start(op, space, d->order.request);
    return rc == 0 ? op_need_room(op) : rc;
}

static int deliver_action(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    enum start_verdict verdict;
    struct start_plan plan = {.req = d->order.request,
                              .birth = {.last_completion_result = d->order.last_completion_result,
                                        .continued_failure = d->order.continued_failure,
                                        .scheduled_by = d->order.scheduled_by},
                              .is_own = true};
    op->request_id = d->letter->request_id;
    int rc = op_judge_start(op, space, plan.req, &verdict);
    if (rc == ERR_WAIT)
        return rc;
    /* It may have been delivered before, and the run since then have continued as another. */
    bool is_ours = rc == 0 && op->run && is_action_of(op->run->body->st, d->order.scheduled_by);
    if (rc == 0 && !is_ours)
        rc = admit_action(op, space);
    d->outcome.is_taken = rc == 0 && !is_ours && (verdict == START_REFUSED || verdict == START_EXISTING);
    if (d->outcome.is_taken)
        return 0;
    if (rc == 0 && !is_ours)
        rc = op_start_by_verdict(op, space, &plan, verdict);
    if (rc < 0)
        return refuse_action(op, rc);
    memcpy(d->child_run_id.s, op->run->body->st->first_run_id, UUID_TEXT_LEN);
    d->outcome.run_id = d->child_run_id.s;
    return 0;
}

/* The chain is meant, not only its first run. */
static int deliver_stop(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    struct step s;
    int rc = find_receiver(op, space, d->letter->run_id);
    if (rc == ERR_WAIT)
        return rc;
    if (rc == 0 && run_is_open(op->run->body->st)) {
        Ws__RequestCancelWorkflowExecutionRequest req = WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_REQUEST__INIT;
        static const char reason[] = "cancelled by the overlap policy of its schedule";
        req.reason = (char *)(uintptr_t)reason;
        op_step_begin(op, &s);
        if (d->letter->kind == LETTER_TERMINATE_ACTION)
            rc = run_terminate(&s, "terminated by the overlap policy of its schedule", NULL,
                               "temporal-scheduler", NULL, 0);
        else
            rc = run_request_cancel(&s, &req, NULL);
        rc = op_step_end(op, &s, rc, STEP_DURABLE);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int deliver_action_closed(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    struct step s;
    int rc = find_receiver(op, space, NULL);
    if (rc == 0) {
        op_sure_step_begin(op, &s);
        schedule_action_closed(&s, d->letter->event_id, &d->end);
        rc = op_step_end(op, &s, 0, STEP_DURABLE);
    }
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int letter_deliver(struct op *op, struct space *space) {
    struct delivery *d = op->extra;
    switch ((enum letter_kind)d->letter->kind) {
    case LETTER_START_CHILD:
        return deliver_child(op, space);
    case LETTER_CHILD_GO:
        return deliver_go(op, space);
    case LETTER_CHILD_CLOSED:
        return deliver_closed(op, space);
    case LETTER_TERMINATE_CHILD:
    case LETTER_CANCEL_CHILD:
        return deliver_close(op, space);
    case LETTER_SIGNAL:
        return deliver_signal(op, space);
    case LETTER_CANCEL:
        return deliver_cancel(op, space);
    case LETTER_ASK_CHILD:
        return deliver_question(op, space);
    case LETTER_START_ACTION:
        return deliver_action(op, space);
    case LETTER_CANCEL_ACTION:
    case LETTER_TERMINATE_ACTION:
        return deliver_stop(op, space);
    case LETTER_ACTION_CLOSED:
        return deliver_action_closed(op, space);
    }
    return 0;
}

/* While it waited its sender may have ended, or handed it over to another run. Whoever was told of that must
 * not see the letter arrive later. The sender is asked anew after every wait, and is always there to be
 * asked: the op holds it, also when it is removed meanwhile. */
static bool is_taken_back(const struct op *op) {
    const struct delivery *d = op->extra;
    return !letter_find(op->held->body->st, d->letter_id);
}

static void go_deliver(struct op *op) {
    struct delivery *d = op->extra;
    struct space *space = space_by_id(op->e, d->sender.namespace_id);
    if (is_taken_back(op)) {
        letter_end(op);
        return;
    }
    int rc = d->is_moot ? 0 : letter_deliver(op, space);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        letter_retry_later(op);
        return;
    }
    op->go = go_letter_report;
    go_letter_report(op);
}

/* The sender's side, last part */

static void letter_report(struct step *s, struct delivery *d, struct space *space) {
    struct child_birth birth = {.namespace_name = space->st->name, .namespace_id = space->st->id};
    switch ((enum letter_kind)d->letter->kind) {
    case LETTER_START_CHILD:
        if (d->is_moot)
            break;
        birth.run_id = d->child_run_id.s;
        birth.header = d->event->start_child_workflow_execution_initiated_event_attributes->header;
        if (d->cause)
            child_start_failed(s, d->letter->event_id, (E__StartChildWorkflowExecutionFailedCause)d->cause);
        else
            child_started(s, d->letter->event_id, &birth);
        break;
    case LETTER_SIGNAL:
    case LETTER_CANCEL:
        external_resolved(s, d->letter->event_id, d->cause);
        break;
    case LETTER_ASK_CHILD:
        if (d->child_close)
            child_closed(s, d->letter->event_id, &d->child, space->st->name, space->st->id, d->child_close);
        break;
    case LETTER_CHILD_GO:
    case LETTER_CHILD_CLOSED:
    case LETTER_TERMINATE_CHILD:
    case LETTER_CANCEL_CHILD:
        break;
    case LETTER_START_ACTION:
        if (!d->is_moot)
            schedule_action_started(s, d->letter->event_id, &d->outcome);
        break;
    case LETTER_CANCEL_ACTION:
    case LETTER_TERMINATE_ACTION:
    case LETTER_ACTION_CLOSED:
        break;
    }
    letter_remove(s, d->letter_id);
}

static void go_letter_report(struct op *op) {
    struct delivery *d = op->extra;
    struct space *space = space_by_id(op->e, d->sender.namespace_id);
    struct step s;
    int rc = op_need_run(op, space, d->sender.run_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && letter_find(op->run->body->st, d->letter_id)) {
        op_sure_step_begin(op, &s);
        letter_report(&s, d, space);
        rc = op_step_end(op, &s, 0, STEP_DURABLE);
        op->e->counters.letters_delivered += rc == 0;
    }
    if (rc == ERR_NO_MEMORY)
        letter_retry_later(op);
    else
        letter_end(op);
}
