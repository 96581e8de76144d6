/* `task-queue describe`: the backlog, then the pollers; in JSON the response itself. `task-queue config
 * set`: --fairness-key-weight-clear-all first reads which weights there are. */
#include "command/connection.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "workflowservice.pb-c.h"

static const char poller_columns[] =
    "Identity=identity|LastAccessTime=last_access_time|RatePerSecond=rate_per_second";

enum command_exit queue_describe_run(struct command *c, struct buf *out) {
    struct connection_ask ask = {.method = c->rule->call, .request = c->request};
    struct command_rule pollers = {c->rule->call, "pollers", poller_columns};
    ProtobufCMessage *m;
    int rc = 0;
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    if (c->format != FORMAT_TABLE) {
        rc = view_page(c, m, out);
    } else {
        if (!opt_named_flag(c->args, "disable-stats")) {
            rc = view_card(c, c->rule->columns, m, out);
            buf_add_u8(out, '\n');
        }
        c->rule = &pollers;
        if (rc == 0)
            rc = view_page(c, m, out);
    }
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

bool queue_is_polled(struct command *c, const char *name, int type) {
    Ws__DescribeTaskQueueRequest *q = (void *)request_new(c, CALL_DescribeTaskQueue);
    ProtobufCMessage *m = NULL;
    struct err e;
    if (!q || cstr_is_empty(name) || request_set(&q->base, "task_queue.name", FORM_PLAIN, name, &c->arena, &e) < 0)
        return true;
    q->task_queue_type = type;
    struct connection_ask ask = {.method = CALL_DescribeTaskQueue, .request = &q->base, .is_quiet = true};
    if (connection_call(c, &ask, &c->arena, &m) != COMMAND_DONE || !m)
        return true;
    return ((const Ws__DescribeTaskQueueResponse *)m)->n_pollers > 0;
}

/* Adds every weight of the queue to the list of weights to remove. */
static enum command_exit queue_unset_weights(struct command *c) {
    const Ws__UpdateTaskQueueConfigRequest *q = (const void *)c->request;
    Ws__DescribeTaskQueueRequest *question = (void *)request_new(c, CALL_DescribeTaskQueue);
    ProtobufCMessage *m;
    struct err e;
    if (!question ||
        request_set(&question->base, "task_queue.name", FORM_PLAIN, q->task_queue, &c->arena, &e) < 0)
        return COMMAND_REFUSED;
    question->task_queue_type = q->task_queue_type;
    question->report_config = true;
    struct connection_ask ask = {.method = CALL_DescribeTaskQueue, .request = &question->base};
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    const Taskqueue__TaskQueueConfig *config =
        code == COMMAND_DONE ? ((const Ws__DescribeTaskQueueResponse *)m)->config : NULL;
    for (size_t i = 0; config && i < config->n_fairness_weight_overrides; i++)
        if (request_set(c->request, "unset_fairness_weight_overrides", FORM_PLAIN,
                        config->fairness_weight_overrides[i]->key, &c->arena, &e) < 0)
            return COMMAND_REFUSED;
    return code;
}

enum command_exit queue_config_set_run(struct command *c, struct buf *out) {
    enum command_exit code =
        opt_named_flag(c->args, "fairness-key-weight-clear-all") ? queue_unset_weights(c) : COMMAND_DONE;
    return code == COMMAND_DONE ? command_ask_pages(c, out) : code;
}
