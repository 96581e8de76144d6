/* Batch jobs: what may be asked for, how far one has come, what is shown of it.
 *
 * The targets of a query are visited in the order of lists, and the job remembers the place of the last. What
 * was open stays in its place until it closes, so none is visited twice while it is open; one that closes may
 * come again among the closed, and only operations on closed runs go there: a deletion leaves nothing to come
 * again; what a reset closed says so; and one that somebody else closed before its turn is left for later. */
#include "core/batch/batch.h"

#include <math.h>

#include "core/search/attributes.h"
#include "core/step/limits.h"
#include "core/run/run.h"
#include "core/step/validate.h"
#include "wire/guard.h"

#define CASE(NAME) WS__START_BATCH_OPERATION_REQUEST__OPERATION_##NAME##_OPERATION

enum { SUBJECT_WORKFLOWS, SUBJECT_SCHEDULES };
enum { SCOPE_OPEN, SCOPE_ALL };

struct operation {
    E__BatchOperationType type; /* UNSPECIFIED: it is not supported */
    int subject;
    int scope;
};

static struct operation batch_read_operation(const Ws__StartBatchOperationRequest *req) {
    switch ((int)req->operation_case) {
#define BATCH(NAME, member, TYPE, subject, scope)                                                            \
    case CASE(NAME):                                                                                         \
        return (struct operation){BATCH_OPERATION_TYPE_##TYPE, SUBJECT_##subject, SCOPE_##scope};
#include "core/batch/batch.def"
#undef BATCH
    default:
        return (struct operation){0};
    }
}

bool batch_is_about_schedules(const Ws__StartBatchOperationRequest *req) {
    return batch_read_operation(req).subject == SUBJECT_SCHEDULES;
}

const char *batch_identity(const Ws__StartBatchOperationRequest *req) {
    switch ((int)req->operation_case) {
#define BATCH(NAME, member, TYPE, subject, scope)                                                            \
    case CASE(NAME):                                                                                         \
        return req->member##_operation->identity;
#include "core/batch/batch.def"
#undef BATCH
    default:
        return "";
    }
}

/* rules */

static int batch_refuse_request(struct err *err, const char *text) {
    return err_set(err, ERR_INVALID, "%s", text);
}

/* What chooses activities is the same oneof in three messages; has_all is the value of its flag. */
static int check_choice(bool has_choice, const char *type, bool has_all, struct err *err) {
    if (!has_choice)
        return batch_refuse_request(err, "activity filter must be set");
    if (type ? cstr_is_empty(type) : !has_all)
        return batch_refuse_request(err,
                                    "Either activity type must be set, or match all should be set to true");
    return type ? validate_id(type, "ActivityType", err) : 0;
}

static int check_unpause(const Batch__BatchOperationUnpauseActivities *op, struct err *err) {
    bool has_type = op->activity_case == BATCH__BATCH_OPERATION_UNPAUSE_ACTIVITIES__ACTIVITY_TYPE;
    int rc = check_choice(op->activity_case, has_type ? op->type : NULL, !has_type && op->match_all, err);
    return rc == 0 && !pb_duration_valid(op->jitter)
               ? batch_refuse_request(err, "Jitter is negative or malformed.")
               : rc;
}

static int check_reset_activities(const Batch__BatchOperationResetActivities *op, struct err *err) {
    bool has_type = op->activity_case == BATCH__BATCH_OPERATION_RESET_ACTIVITIES__ACTIVITY_TYPE;
    int rc = check_choice(op->activity_case, has_type ? op->type : NULL, !has_type && op->match_all, err);
    return rc == 0 && !pb_duration_valid(op->jitter)
               ? batch_refuse_request(err, "Jitter is negative or malformed.")
               : rc;
}

static int check_update_activities(const Batch__BatchOperationUpdateActivityOptions *op, struct err *err) {
    bool has_type = op->activity_case == BATCH__BATCH_OPERATION_UPDATE_ACTIVITY_OPTIONS__ACTIVITY_TYPE;
    if (op->activity_options && op->restore_original)
        return batch_refuse_request(err, "cannot set both activity options and restore original");
    if (!op->activity_options && !op->restore_original)
        return batch_refuse_request(
            err, "Either activity options must be set, or restore original should be set to true");
    if (op->activity_options && !op->update_mask)
        return batch_refuse_request(err, "must provide UpdateMask");
    return check_choice(op->activity_case, has_type ? op->type : NULL, !has_type && op->match_all, err);
}

static int check_reset(const Batch__BatchOperationReset *op, struct err *err) {
    if (op->options)
        return op->options->target_case ? 0 : batch_refuse_request(err, "batch reset missing target");
    if (op->reset_type != RESET_TYPE_FIRST_WORKFLOW_TASK && op->reset_type != RESET_TYPE_LAST_WORKFLOW_TASK)
        return err_set(err, ERR_INVALID, "unknown batch reset type %d", (int)op->reset_type);
    return 0;
}

static int check_workflow_options(const Batch__BatchOperationUpdateWorkflowExecutionOptions *op,
                                  struct err *err) {
    if (!op->workflow_execution_options)
        return batch_refuse_request(err, "must provide UpdateOptions");
    return op->update_mask ? 0 : batch_refuse_request(err, "must provide UpdateMask");
}

static int check_signal(const Batch__BatchOperationSignal *op, struct err *err) {
    return cstr_is_empty(op->signal) ? batch_refuse_request(err, "must provide signal name")
                                : validate_id(op->signal, "SignalName", err);
}

static int check_operation(const Ws__StartBatchOperationRequest *req, struct err *err) {
    if (batch_read_operation(req).type == BATCH_OPERATION_TYPE_UNSPECIFIED)
        return batch_refuse_request(
            err, "this operation is about standalone activities, which this server does not have");
    int rc = validate_id(batch_identity(req), "Identity", err);
    if (rc < 0)
        return rc;
    switch ((int)req->operation_case) {
    case CASE(SIGNAL):
        return check_signal(req->signal_operation, err);
    case CASE(RESET):
        return check_reset(req->reset_operation, err);
    case CASE(UPDATE_WORKFLOW_OPTIONS):
        return check_workflow_options(req->update_workflow_options_operation, err);
    case CASE(UNPAUSE_ACTIVITIES):
        return check_unpause(req->unpause_activities_operation, err);
    case CASE(RESET_ACTIVITIES):
        return check_reset_activities(req->reset_activities_operation, err);
    case CASE(UPDATE_ACTIVITY_OPTIONS):
        return check_update_activities(req->update_activity_options_operation, err);
    default:
        return 0;
    }
}

static int check_targets(const Ws__StartBatchOperationRequest *req, const struct core_limits *limits,
                         struct err *err) {
    E__ExecutionType wanted =
        batch_is_about_schedules(req) ? EXECUTION_TYPE_SCHEDULE : EXECUTION_TYPE_WORKFLOW;
    if ((int64_t)batch_listed_count(req) > limit_of(limits, SETTABLE_BATCH_EXECUTIONS))
        return err_set(err, ERR_INVALID,
                       "a batch operation takes at most %lld executions; use a query for more",
                       (long long)limit_of(limits, SETTABLE_BATCH_EXECUTIONS));
    for (size_t i = 0; i < req->n_target_executions; i++)
        if (req->target_executions[i]->type != wanted)
            return err_set(err, ERR_INVALID,
                           "target_executions[%zu] has type %d, but this operation requires %d", i,
                           (int)req->target_executions[i]->type, (int)wanted);
    for (size_t i = 0; i < batch_listed_count(req); i++) {
        Common__WorkflowExecution ex = batch_listed(req, i);
        int rc = validate_execution(&ex, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int batch_validate(const Ws__StartBatchOperationRequest *req, const struct core_limits *limits,
                   struct err *err) {
    int selectors =
        !cstr_is_empty(req->visibility_query) + (req->n_executions > 0) + (req->n_target_executions > 0);
    if (!req->operation_case || cstr_is_empty(req->reason) || cstr_is_empty(req->namespace_) || !selectors)
        return batch_refuse_request(
            err, "must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR "
                 "Executions OR TargetExecutions)");
    int rc = validate_required(req->job_id, "JobId", err);
    if (rc == 0 && selectors > 1)
        rc = batch_refuse_request(
            err, "visibility query, executions, and target executions are mutually exclusive");
    if (rc == 0)
        rc = validate_id(req->reason, "Reason", err);
    if (rc == 0 && !(req->max_operations_per_second >= 0 && isfinite(req->max_operations_per_second)))
        rc = batch_refuse_request(err, "MaxOperationsPerSecond must not be negative.");
    if (rc == 0)
        rc = check_operation(req, err);
    return rc == 0 ? check_targets(req, limits, err) : rc;
}

double batch_rate(const Ws__StartBatchOperationRequest *req, const struct core_limits *limits) {
    double most = (double)limit_of(limits, SETTABLE_BATCH_RATE);
    double asked = (double)req->max_operations_per_second;
    return asked > 0 && asked < most ? asked : most;
}

/* targets */

size_t batch_listed_count(const Ws__StartBatchOperationRequest *req) {
    return req->n_executions + req->n_target_executions;
}

Common__WorkflowExecution batch_listed(const Ws__StartBatchOperationRequest *req, size_t i) {
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    if (i < req->n_executions)
        return *req->executions[i];
    ex.workflow_id = req->target_executions[i - req->n_executions]->business_id;
    ex.run_id = req->target_executions[i - req->n_executions]->run_id;
    return ex;
}

int batch_filter(struct arena *a, const State__Namespace *ns, const Ws__StartBatchOperationRequest *req,
                 int64_t start_us, struct filter *ret, struct err *err) {
    struct operation op = batch_read_operation(req);
    struct value begun = value_int(start_us * NSEC_PER_USEC);
    int rc = filter_parse(a, ns, op.subject == SUBJECT_SCHEDULES ? FILTER_SCHEDULES : FILTER_WORKFLOWS,
                          str_of(req->visibility_query), ret, err);
    if (rc < 0)
        return rc;
    if (ret->is_grouped)
        return batch_refuse_request(err, "invalid query: operation is not supported: 'GROUP BY' clause");
    ret->where = filter_and(a, ret->where, filter_test(a, PREDICATE_AT_MOST, "StartTime", &begun));
    if (op.scope == SCOPE_OPEN && op.subject == SUBJECT_WORKFLOWS)
        ret->where =
            filter_and(a, ret->where, filter_not(a, filter_test(a, PREDICATE_PRESENT, "CloseTime", NULL)));
    return arena_failed(a) ? err_std(err, ERR_NO_MEMORY) : 0;
}

/* steps */

static int batch_step_result(const struct step *s) {
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

int batch_start(struct step *s, const struct batch_birth *birth, const Ws__StartBatchOperationRequest *req) {
    size_t size = protobuf_c_message_get_packed_size(&req->base);
    uint8_t *bytes = arena_alloc(s->arena, size);
    run_begin_lodger(s, birth->namespace_id, BATCH_ID_PREFIX, req->job_id, birth->run_id);
    State__Batch *b = s->st->batch = pb_new(&state__batch__descriptor, &s->failed);
    if (!b || !bytes)
        return err_std(s->err, ERR_NO_MEMORY);
    pb_set_string(&b->job_id, req->job_id, &s->failed);
    pb_set_bytes(&b->request, str_bytes(bytes, protobuf_c_message_pack(&req->base, bytes)), &s->failed);
    b->type = batch_read_operation(req).type;
    b->total = (int64_t)batch_listed_count(req);
    b->is_counted = b->total > 0;
    return batch_step_result(s);
}

int batch_count(struct step *s, int64_t total) {
    s->st->batch->total = total;
    s->st->batch->is_counted = true;
    return batch_step_result(s);
}

int batch_note(struct step *s, const struct batch_note *note) {
    State__Batch *b = s->st->batch;
    if (note->outcome == BATCH_COMPLETE)
        b->complete++;
    else if (note->outcome == BATCH_FAILURE)
        b->failure++;
    if (note->place)
        pb_set_message(&b->place, note->place, &s->failed);
    else
        b->next_target++;
    return batch_step_result(s);
}

int batch_end(struct step *s, E__WorkflowExecutionStatus status, const char *reason, const char *identity) {
    State__Batch *b = s->st->batch;
    if (!run_is_open(s->st))
        return err_set(s->err, ERR_CLOSED, "the batch operation is over already");
    pb_set_string(&b->stop_reason, reason, &s->failed);
    pb_set_string(&b->stop_identity, identity, &s->failed);
    if (status == WORKFLOW_EXECUTION_STATUS_COMPLETED)
        b->total = b->complete + b->failure;
    run_close(s, status);
    return batch_step_result(s);
}

char *batch_request_id(const State__Execution *st, const char *run_id, struct arena *arena) {
    return arena_printf(arena, "batch:%s:%s", st->run_id, run_id);
}

static bool is_request_of(const State__Execution *job, const char *request_id) {
    struct str made = str_of(request_id), id = str_of(job->run_id);
    return made.n > id.n + 6 && memcmp(made.p, "batch:", 6) == 0 && memcmp(made.p + 6, id.p, id.n) == 0;
}

bool batch_is_own_reset(const State__Execution *job, const State__Execution *target) {
    return is_request_of(job, target->start_request_id) || is_request_of(job, target->reset_request_id);
}

/* what is shown */

static E__BatchOperationState state_of(const State__Execution *st) {
    switch (st->status) {
    case WORKFLOW_EXECUTION_STATUS_RUNNING:
        return BATCH_OPERATION_STATE_RUNNING;
    case WORKFLOW_EXECUTION_STATUS_COMPLETED:
        return BATCH_OPERATION_STATE_COMPLETED;
    default:
        return BATCH_OPERATION_STATE_FAILED;
    }
}

Batch__BatchOperationInfo *batch_info(const State__Execution *st, struct arena *arena) {
    Batch__BatchOperationInfo *i = pb_arena_new(&batch__batch_operation_info__descriptor, arena);
    if (!i)
        return NULL;
    i->job_id = arena_strdup(arena, st->batch->job_id);
    i->state = state_of(st);
    i->start_time = pb_arena_timestamp(st->start_us, arena);
    i->close_time = st->close_us ? pb_arena_timestamp(st->close_us, arena) : NULL;
    i->operation_type = (E__BatchOperationType)st->batch->type;
    return arena_failed(arena) ? NULL : i;
}

static void show_executions(const Ws__StartBatchOperationRequest *req, struct arena *arena,
                            Ws__DescribeBatchOperationResponse *r) {
    size_t n = batch_listed_count(req);
    r->executions = arena_array(arena, Common__Execution *, n);
    for (size_t i = 0; r->executions && i < n; i++) {
        Common__WorkflowExecution ex = batch_listed(req, i);
        Common__Execution *e = pb_arena_new(&common__execution__descriptor, arena);
        if (!e)
            return;
        e->type = batch_is_about_schedules(req) ? EXECUTION_TYPE_SCHEDULE : EXECUTION_TYPE_WORKFLOW;
        e->business_id = ex.workflow_id;
        e->run_id = ex.run_id;
        r->executions[r->n_executions++] = e;
    }
}

Ws__DescribeBatchOperationResponse *batch_describe(const State__Execution *st, struct arena *arena) {
    const State__Batch *b = st->batch;
    Ws__DescribeBatchOperationResponse *r =
        pb_arena_new(&ws__describe_batch_operation_response__descriptor, arena);
    const Batch__BatchOperationInfo *info = batch_info(st, arena);
    ProtobufCMessage *m = NULL;
    if (!r || !info ||
        wire_decode(&ws__start_batch_operation_request__descriptor, pb_bytes(&b->request), arena, &m, NULL) <
            0)
        return NULL;
    const Ws__StartBatchOperationRequest *req = (const Ws__StartBatchOperationRequest *)m;
    r->operation_type = info->operation_type;
    r->job_id = info->job_id;
    r->state = info->state;
    r->start_time = info->start_time;
    r->close_time = info->close_time;
    r->total_operation_count = MAX(b->total, b->complete + b->failure);
    r->complete_operation_count = b->complete;
    r->failure_operation_count = b->failure;
    r->identity = arena_strdup(arena, batch_identity(req));
    r->reason = req->reason;
    r->query = req->visibility_query;
    show_executions(req, arena, r);
    return arena_failed(arena) ? NULL : r;
}
