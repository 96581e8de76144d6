/* The next run of a chain.
 *
 * A retry comes before cron: only when there is no further attempt does the
 * schedule decide. The input of a retry or a cron run is that of the run
 * before, which stands in its first event (s->ctx.origin). */
#include "core/run/chain.h"

#include "core/search/attributes.h"
#include "core/step/cron.h"
#include "core/step/merge.h"
#include "core/step/retry.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"

#define CONTINUE_MIN_INTERVAL_US USEC_PER_SEC /* a run that ends at once must not spin */

/* Retries */

static bool chain_retry_after(struct step *s, const Failure__Failure *f, struct chain_sequel *q) {
    const State__Execution *st = s->st;
    if (!st->retry_policy) {
        q->retry_state = RETRY_STATE_RETRY_POLICY_NOT_SET;
        return false;
    }
    struct retry_plan plan = retry_plan(st->retry_policy);
    if (!retry_allows(st->retry_policy, f)) {
        q->retry_state = RETRY_STATE_NON_RETRYABLE_FAILURE;
        return false;
    }
    if (plan.maximum_attempts > 0 && st->attempt >= plan.maximum_attempts) {
        q->retry_state = RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
        return false;
    }
    q->backoff_us = retry_delay_us(&plan, st->attempt, f);
    if (st->execution_expires_us && usec_add(s->now.us, q->backoff_us) > st->execution_expires_us) {
        q->retry_state = RETRY_STATE_TIMEOUT;
        return false;
    }
    q->retry_state = RETRY_STATE_IN_PROGRESS;
    q->initiator = CONTINUE_AS_NEW_INITIATOR_RETRY;
    return true;
}

static bool chain_cron_after(struct step *s, struct chain_sequel *q) {
    const State__Execution *st = s->st;
    if (cstr_is_empty(st->cron_schedule))
        return false;
    int64_t from_us = st->cron_us ? st->cron_us : st->execution_us;
    int64_t backoff_us = cron_backoff_us(st->cron_schedule, s->ctx.zones, from_us, s->now.us);
    if (backoff_us < 0 ||
        (st->execution_expires_us && usec_add(s->now.us, backoff_us) > st->execution_expires_us))
        return false;
    q->backoff_us = backoff_us;
    q->initiator = CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
    return true;
}

struct chain_sequel chain_after(struct step *s, const Failure__Failure *failure) {
    struct chain_sequel q = {0};
    bool goes_on = failure && chain_retry_after(s, failure, &q);
    if (!goes_on)
        goes_on = chain_cron_after(s, &q);
    if (goes_on)
        q.run_id = uuid_format(uuid_timed(s->rng, s->now));
    return q;
}

/* The next run */

static struct step *chain_next_step(struct step *s) {
    struct step *n = arena_new(s->arena, struct step);
    State__Execution *st = n ? pb_new(&state__execution__descriptor, &s->failed) : NULL;
    if (!n || !st) {
        s->failed = true;
        pb_free(st);
        return NULL;
    }
    step_init(n, st, s->now, s->rng, s->arena, s->err);
    n->ctx = s->ctx;
    n->limits = s->limits;
    s->next = n;
    return n;
}

/* What every next run takes over from the one before. */
static struct run_birth birth_after(const struct step *s, const char *run_id) {
    const State__Execution *st = s->st;
    return (struct run_birth){
        .namespace_id = st->namespace_id,
        .run_id = run_id,
        .request_id = run_id, /* nobody asked for it by a request */
        .origin_request_id = st->origin_request_id,
        .before = st,
        .first_run_id = st->first_run_id,
        .continued_run_id = st->run_id,
        .task_id_base = run_task_id_bound(st),
        .attempt = 1,
        .execution_expires_us = st->execution_expires_us,
        .parent = st->parent,
        .scheduled_by = st->scheduled_by,
        .root_workflow_id = st->parent ? st->root_workflow_id : NULL, /* who has no parent is its own root */
        .root_run_id = st->parent ? st->root_run_id : NULL,
    };
}

static int chain_start_next(struct step *s, const struct run_birth *birth,
                            const Ws__StartWorkflowExecutionRequest *req) {
    struct step *n = chain_next_step(s);
    if (!n)
        return err_std(s->err, ERR_NO_MEMORY);
    int rc = run_start(n, birth, req);
    if (step_failed(n))
        s->failed = true;
    pb_set_string(&s->st->new_run_id, birth->run_id, &s->failed);
    return rc;
}

int chain_begin(struct step *s, const struct chain_sequel *q, Common__Payloads *result,
                Failure__Failure *failure) {
    const History__WorkflowExecutionStartedEventAttributes *o = s->ctx.origin;
    Ws__StartWorkflowExecutionRequest req = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    if (q->initiator == CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED)
        return 0;
    ensure(o); /* the engine loads it for every run that has a retry policy or a cron schedule */
    State__Execution *st = s->st;
    Google__Protobuf__Duration timeouts[3] = {pb_duration(st->execution_timeout_us),
                                              pb_duration(st->run_timeout_us),
                                              pb_duration(st->task_timeout_us)};
    req.workflow_id = st->workflow_id;
    req.workflow_type = o->workflow_type;
    req.task_queue = o->task_queue;
    req.input = o->input;
    req.header = o->header;
    req.identity = o->identity;
    req.workflow_execution_timeout = &timeouts[0];
    req.workflow_run_timeout = &timeouts[1];
    req.workflow_task_timeout = &timeouts[2];
    req.retry_policy = st->retry_policy;
    req.cron_schedule = st->cron_schedule;
    req.memo = st->memo;
    req.search_attributes = versioning_strip(s, st->search_attributes);
    req.user_metadata = st->user_metadata;
    req.priority = st->priority;
    struct version_legacy legacy;
    struct run_birth birth = birth_after(s, q->run_id.s);
    versioning_bequeath_retried(s, q->initiator, &legacy);
    versioning_inherit(&birth, &req, &legacy);
    birth.initiator = q->initiator;
    birth.backoff_us = q->backoff_us;
    birth.continued_failure = failure;
    birth.last_completion_result = result ? result : o->last_completion_result;
    if (q->initiator == CONTINUE_AS_NEW_INITIATOR_RETRY)
        birth.attempt = st->attempt + 1;
    return chain_start_next(s, &birth, &req);
}

/* Continue-as-new */

static int chain_refuse(struct step *s, const char *text) {
    s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

static int validate_continue(struct step *s,
                             const Command__ContinueAsNewWorkflowExecutionCommandAttributes *in) {
    if (in->workflow_type && strlen(in->workflow_type->name) > LIMIT_ID_BYTES)
        return chain_refuse(s, "WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit.");
    if (in->task_queue && strlen(in->task_queue->name) > LIMIT_ID_BYTES)
        return chain_refuse(s, "TaskQueue on ContinueAsNewWorkflowExecutionCommand exceeds length limit.");
    if (!pb_duration_valid(in->workflow_run_timeout) || !pb_duration_valid(in->workflow_task_timeout) ||
        !pb_duration_valid(in->backoff_start_interval))
        return chain_refuse(s,
                            "A duration of ContinueAsNewWorkflowExecutionCommand is negative or malformed.");
    int rc = retry_validate(in->retry_policy, s->err);
    if (rc < 0)
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES;
    if (rc == 0 && (rc = attributes_validate(s->ctx.space, in->search_attributes, s->err)) < 0)
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES;
    return rc;
}

/* The first task of the next run waits, if this one lived only for a moment. */
static int64_t continue_backoff(const struct step *s, int64_t asked_us) {
    int64_t lived = s->now.us - s->st->execution_us;
    if (asked_us > 0)
        return asked_us;
    return lived >= CONTINUE_MIN_INTERVAL_US || lived < 0 ? 0 : CONTINUE_MIN_INTERVAL_US - lived;
}

int chain_continue_as_new(struct step *s, int64_t completed_event_id, const Command__Command *cmd) {
    const Command__ContinueAsNewWorkflowExecutionCommandAttributes *in =
        cmd->continue_as_new_workflow_execution_command_attributes;
    State__Execution *st = s->st;
    int rc = validate_continue(s, in);
    if (rc < 0)
        return rc;
    struct uuid_text run_id = uuid_format(uuid_timed(s->rng, s->now));
    bool has_type = in->workflow_type && !cstr_is_empty(in->workflow_type->name);
    bool has_queue = in->task_queue && !cstr_is_empty(in->task_queue->name);
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    type.name = has_type ? in->workflow_type->name : st->workflow_type;
    queue.name = has_queue ? in->task_queue->name : st->task_queue;
    queue.kind = TASK_QUEUE_KIND_NORMAL;
    int64_t backoff_us = continue_backoff(s, pb_wait_us(in->backoff_start_interval));
    Google__Protobuf__Duration longest;
    Google__Protobuf__Duration execution = pb_duration(st->execution_timeout_us);
    Google__Protobuf__Duration run = pb_duration(st->run_timeout_us);
    Google__Protobuf__Duration task = pb_duration(st->task_timeout_us);
    if (pb_duration_us(in->workflow_run_timeout) > 0)
        run = pb_duration(pb_wait_us(in->workflow_run_timeout));
    if (pb_duration_us(in->workflow_task_timeout) > 0)
        task = pb_duration(pb_wait_us(in->workflow_task_timeout));

    History__WorkflowExecutionContinuedAsNewEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_CONTINUED_AS_NEW_EVENT_ATTRIBUTES__INIT;
    a.new_execution_run_id = run_id.s;
    a.workflow_type = &type;
    a.task_queue = &queue;
    a.input = in->input;
    a.workflow_run_timeout = &run;
    a.workflow_task_timeout = &task;
    a.workflow_task_completed_event_id = completed_event_id;
    /* As the command says; what came of it stands in the first event of the next run. */
    a.backoff_start_interval = pb_wait(in->backoff_start_interval, &longest);
    a.initiator = in->initiator;
    a.failure = in->failure;
    a.last_completion_result = in->last_completion_result;
    a.header = in->header;
    a.memo = merge_memo_left(s, in->memo);
    a.search_attributes = merge_attributes_left(s, in->search_attributes);
    a.inherit_build_id = in->inherit_build_id;
    a.initial_versioning_behavior = in->initial_versioning_behavior;
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, &a, NULL);

    Ws__StartWorkflowExecutionRequest req = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.workflow_id = st->workflow_id;
    req.workflow_type = &type;
    req.task_queue = &queue;
    req.input = in->input;
    req.header = in->header;
    req.workflow_execution_timeout = &execution;
    req.workflow_run_timeout = &run;
    req.workflow_task_timeout = &task;
    req.retry_policy = in->retry_policy ? in->retry_policy : st->retry_policy;
    req.cron_schedule = cstr_is_empty(in->cron_schedule) ? st->cron_schedule : in->cron_schedule;
    req.memo = in->memo;
    req.search_attributes = in->search_attributes;
    req.user_metadata = st->user_metadata;
    req.priority = st->priority;
    struct version_legacy legacy;
    struct run_birth birth = birth_after(s, run_id.s);
    versioning_bequeath_continued(s, queue.name, in->initial_versioning_behavior, &legacy);
    versioning_inherit(&birth, &req, &legacy);
    birth.initiator = in->initiator ? in->initiator : CONTINUE_AS_NEW_INITIATOR_WORKFLOW;
    birth.backoff_us = backoff_us;
    birth.last_completion_result = in->last_completion_result;
    birth.continued_failure = in->failure;
    rc = chain_start_next(s, &birth, &req);
    if (rc == 0)
        run_close(s, WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW);
    return rc;
}
