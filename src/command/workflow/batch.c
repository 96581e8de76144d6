/* Batch jobs: the server applies a command to everything that a filter finds.
 *
 * Happy path: count what the filter finds, ask for confirmation, and start the job under a random id. On a
 * terminal, or with --wait, show its progress until it ends. Ending this program earlier leaves the job
 * running. */
#include "command/connection.h"
#include "command/prompt.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "names.h"
#include "workflowservice.pb-c.h"

#define REASON_STANDARD "Requested from the command line"
#define LOOK_EVERY_US (300 * USEC_PER_MS)
#define BAR_WIDTH 30

static const struct {
    enum command_id id;
    const char *operation;
} operations[] = {
    {COMMAND_WORKFLOW_CANCEL, "cancellation_operation"},
    {COMMAND_WORKFLOW_TERMINATE, "termination_operation"},
    {COMMAND_WORKFLOW_SIGNAL, "signal_operation"},
    {COMMAND_WORKFLOW_DELETE, "deletion_operation"},
    {COMMAND_WORKFLOW_RESET, "reset_operation"},
    {COMMAND_WORKFLOW_RESET_OPTIONS, "reset_operation"},
    {COMMAND_WORKFLOW_OPTIONS, "update_workflow_options_operation"},
    {COMMAND_ACTIVITY_UNPAUSE, "unpause_activities_operation"},
    {COMMAND_ACTIVITY_RESET, "reset_activities_operation"},
    {COMMAND_ACTIVITY_OPTIONS, "update_activity_options_operation"},
    {COMMAND_SCHEDULE_DELETE, "delete_schedules_operation"},
};

static bool batch_is_of_schedules(const struct command *c) {
    return c->id == COMMAND_SCHEDULE_TOGGLE || c->id == COMMAND_SCHEDULE_DELETE;
}

static const char *batch_operation_field(const struct command *c) {
    if (c->id == COMMAND_SCHEDULE_TOGGLE)
        return opt_named_flag(c->args, "pause") ? "pause_schedules_operation" : "unpause_schedules_operation";
    for (size_t i = 0; i < ARRAY_LEN(operations); i++)
        if (operations[i].id == c->id)
            return operations[i].operation;
    return NULL;
}

/* The request. */

/* Copies the fields that have the same name in the request for one workflow. */
static void batch_copy_fields(const ProtobufCMessage *from, ProtobufCMessage *to) {
    for (unsigned i = 0; i < to->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *t = &to->descriptor->fields[i];
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(from->descriptor, t->name);
        bool is_pointer = t->type == PROTOBUF_C_TYPE_MESSAGE || t->type == PROTOBUF_C_TYPE_STRING;
        if (!f || f->type != t->type || f->descriptor != t->descriptor ||
            t->label == PROTOBUF_C_LABEL_REPEATED || t->flags & PROTOBUF_C_FIELD_FLAG_ONEOF ||
            !(is_pointer || t->type == PROTOBUF_C_TYPE_BOOL))
            continue;
        memcpy((char *)to + t->offset, (const char *)from + f->offset,
               is_pointer ? sizeof(void *) : sizeof(protobuf_c_boolean));
    }
}

static int batch_set_operation(struct command *c, ProtobufCMessage *m, const char *operation, struct err *e) {
    ProtobufCMessage *to = request_message(m, operation, &c->arena);
    int rc;
    if (!to)
        return err_std(e, ERR_NO_MEMORY);
    batch_copy_fields(c->request, to);
    switch (c->id) {
    case COMMAND_WORKFLOW_SIGNAL:
        return request_set(to, "signal", FORM_PLAIN, opt_named(c->args, "name"), &c->arena, e);
    case COMMAND_WORKFLOW_RESET:
    case COMMAND_WORKFLOW_RESET_OPTIONS:
        rc = reset_target(c, m, e);
        return rc < 0 ? rc : reset_exclude(c, m, "reset_operation.options.", e);
    case COMMAND_ACTIVITY_UNPAUSE:
    case COMMAND_ACTIVITY_RESET:
    case COMMAND_ACTIVITY_OPTIONS:
        if (opt_named(c->args, "activity-id"))
            return err_set(e, ERR_INVALID,
                           "--activity-id cannot be combined with --query, which applies to all activities");
        return request_set(to, "match_all", FORM_PLAIN, "true", &c->arena, e);
    default:
        return 0;
    }
}

static int batch_build_request(struct command *c, ProtobufCMessage *m, const char *job, struct err *e) {
    const char *reason = opt_named(c->args, "reason");
    const char *rps = opt_named(c->args, "rps");
    const char *one = batch_is_of_schedules(c) ? "schedule-id" : "workflow-id";
    if (opt_named(c->args, one) || (!batch_is_of_schedules(c) && opt_named(c->args, "run-id")))
        return err_set(e, ERR_INVALID, "give either --%s or --query", one);
    int rc = request_set(m, "job_id", FORM_PLAIN, job, &c->arena, e);
    if (rc == 0)
        rc = request_set(m, "visibility_query", FORM_PLAIN, opt_named(c->args, "query"), &c->arena, e);
    if (rc == 0)
        rc = request_set(m, "reason", FORM_PLAIN, reason ? reason : REASON_STANDARD, &c->arena, e);
    if (rc == 0 && rps)
        rc = request_set(m, "max_operations_per_second", FORM_PLAIN, rps, &c->arena, e);
    return rc < 0 ? rc : batch_set_operation(c, m, batch_operation_field(c), e);
}

/* Confirmation. */

static enum command_exit batch_confirm_start(struct command *c) {
    struct err e;
    enum client_method count = batch_is_of_schedules(c) ? CALL_CountSchedules : CALL_CountWorkflowExecutions;
    ProtobufCMessage *m = request_new(c, count);
    if (opt_named_flag(c->args, "yes"))
        return COMMAND_DONE;
    if (!m || request_set(m, "query", FORM_PLAIN, opt_named(c->args, "query"), &c->arena, &e) < 0)
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = count, .request = m};
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    int64_t found = batch_is_of_schedules(c) ? ((const Ws__CountSchedulesResponse *)m)->count
                                             : ((const Ws__CountWorkflowExecutionsResponse *)m)->count;
    const char *question =
        arena_printf(&c->arena, "%s: start a batch job for about %lld %s?", c->args->command->summary,
                     (long long)found, batch_is_of_schedules(c) ? "schedules" : "workflows");
    return question ? prompt_confirm(c, question) : COMMAND_REFUSED;
}

/* Progress. */

static void batch_show_bar(const Ws__DescribeBatchOperationResponse *d) {
    char bar[BAR_WIDTH + 1];
    int64_t done = d->complete_operation_count + d->failure_operation_count;
    int64_t total = MAX(d->total_operation_count, done);
    size_t filled = total ? (size_t)(done * BAR_WIDTH / total) : 0;
    for (size_t i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '-';
    bar[BAR_WIDTH] = '\0';
    prompt_show_progress("[%s] %lld of %lld%s", bar, (long long)done, (long long)total,
                         d->failure_operation_count ? ", some failed" : "");
}

static enum command_exit batch_watch_job(struct command *c, const char *job,
                                         const Ws__DescribeBatchOperationResponse **ret) {
    struct err e;
    ProtobufCMessage *m, *q = request_new(c, CALL_DescribeBatchOperation);
    if (!q || request_set(q, "job_id", FORM_PLAIN, job, &c->arena, &e) < 0)
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = CALL_DescribeBatchOperation, .request = q};
    for (;;) {
        arena_clear(&c->page);
        enum command_exit code = connection_call(c, &ask, &c->page, &m);
        if (code != COMMAND_DONE)
            return code;
        *ret = (const void *)m;
        batch_show_bar(*ret);
        if ((*ret)->state != BATCH_OPERATION_STATE_RUNNING &&
            (*ret)->state != BATCH_OPERATION_STATE_UNSPECIFIED)
            break;
        if (connection_sleep(c, LOOK_EVERY_US) < 0)
            return COMMAND_REFUSED;
    }
    prompt_clear_progress();
    return COMMAND_DONE;
}

static bool batch_is_watched(const struct command *c) {
    return opt_named_given(c->args, "wait") ? opt_named_flag(c->args, "wait") : prompt_is_terminal();
}

static enum command_exit batch_show_job(struct command *c, const char *job, struct buf *out) {
    const Ws__DescribeBatchOperationResponse *d = NULL;
    struct object o;
    enum command_exit code = batch_is_watched(c) ? batch_watch_job(c, job, &d) : COMMAND_DONE;
    if (code != COMMAND_DONE)
        return code;
    object_init(&o, c);
    object_add_text(&o, "BatchJobId", job);
    if (d) {
        object_add_text(&o, "State", d->state == BATCH_OPERATION_STATE_COMPLETED ? "Completed" : "Failed");
        object_add_number(&o, "Total", d->total_operation_count);
        object_add_number(&o, "Completed", d->complete_operation_count);
        object_add_number(&o, "Failures", d->failure_operation_count);
    }
    code = object_print(&o, out);
    if (code == COMMAND_DONE && d &&
        (d->failure_operation_count || d->state != BATCH_OPERATION_STATE_COMPLETED)) {
        command_print_error("the batch job did not succeed for all: %lld failed",
                            (long long)d->failure_operation_count);
        return COMMAND_REFUSED;
    }
    return code;
}

enum command_exit batch_run(struct command *c, struct buf *out) {
    struct err e;
    const char *job = request_random_id(c);
    ProtobufCMessage *m = request_new(c, CALL_StartBatchOperation);
    if (!job || !m)
        return COMMAND_REFUSED;
    if (batch_build_request(c, m, job, &e) < 0) {
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
        return COMMAND_MISUSED;
    }
    enum command_exit code = batch_confirm_start(c);
    if (code != COMMAND_DONE)
        return code;
    struct connection_ask ask = {.method = CALL_StartBatchOperation, .request = m};
    code = connection_call(c, &ask, &c->arena, &m);
    return code == COMMAND_DONE ? batch_show_job(c, job, out) : code;
}

/* Commands for one target or for a batch. */

static enum command_exit batch_run_target(struct command *c, const char *needed, struct buf *out) {
    if (opt_named(c->args, "query"))
        return batch_run(c, out);
    if (opt_named(c->args, needed))
        return command_ask_pages(c, out);
    command_print_error("--%s or --query is needed; see rondo %s --help", needed, c->args->command->path);
    return COMMAND_MISUSED;
}

enum command_exit workflow_target_run(struct command *c, struct buf *out) {
    return batch_run_target(c, "workflow-id", out);
}

enum command_exit schedule_target_run(struct command *c, struct buf *out) {
    return batch_run_target(c, "schedule-id", out);
}

enum command_exit activity_target_run(struct command *c, struct buf *out) {
    if (!opt_named(c->args, "query") && !opt_named(c->args, "activity-id")) {
        command_print_error("--activity-id is needed; see rondo %s --help", c->args->command->path);
        return COMMAND_MISUSED;
    }
    return batch_run_target(c, "workflow-id", out);
}
