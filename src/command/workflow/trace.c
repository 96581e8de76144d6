/* `workflow trace`: a workflow as a tree of its activities, timers, signals and child workflows, each with
 * its state and duration.
 *
 * Happy path: read the history of the run. Some events begin a step; later events name that event and
 * change the state of the step. Child workflows are read in the same way, below their step. Repeat every
 * second until the workflow has closed. A terminal shows every state over the previous one; otherwise only
 * the last state is printed. */
#include <stdio.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cal/words.h"
#include "command/connection.h"
#include "command/output/output.h"
#include "command/prompt.h"
#include "command/request/request.h"
#include "core/step/pb.h"
#include "json/shape.h"
#include "names.h"
#include "workflowservice.pb-c.h"

#define REDRAW_US USEC_PER_SEC
#define DEPTH_MAX 32
#define STEPS_MAX 100000
#define FRAME_BYTES_MAX (64u << 20)

/* What each event means for a step. An event without `of` begins a step; `name` is the field with its name.
 */
static const struct trace_rule {
    int event;
    const char *of; /* the field with the id of the event that began the step */
    const char *prefix, *name;
    const char *status;
    bool is_end;
} trace_rules[] = {
    {EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, NULL, "", "activity_type.name", "Scheduled", false},
    {EVENT_TYPE_ACTIVITY_TASK_STARTED, "scheduled_event_id", NULL, NULL, "Started", false},
    {EVENT_TYPE_ACTIVITY_TASK_COMPLETED, "scheduled_event_id", NULL, NULL, "Completed", true},
    {EVENT_TYPE_ACTIVITY_TASK_FAILED, "scheduled_event_id", NULL, NULL, "Failed", true},
    {EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, "scheduled_event_id", NULL, NULL, "TimedOut", true},
    {EVENT_TYPE_ACTIVITY_TASK_CANCELED, "scheduled_event_id", NULL, NULL, "Canceled", true},
    {EVENT_TYPE_TIMER_STARTED, NULL, "timer of ", "start_to_fire_timeout", "Started", false},
    {EVENT_TYPE_TIMER_FIRED, "started_event_id", NULL, NULL, "Fired", true},
    {EVENT_TYPE_TIMER_CANCELED, "started_event_id", NULL, NULL, "Canceled", true},
    {EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, NULL, "signal ", "signal_name", "Received", true},
    {EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED, NULL, "", "workflow_type.name", "Initiated", false},
    {EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, "initiated_event_id", NULL, NULL, "NotStarted", true},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED, "initiated_event_id", NULL, NULL, "Running", false},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, "initiated_event_id", NULL, NULL, "Completed", true},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED, "initiated_event_id", NULL, NULL, "Failed", true},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED, "initiated_event_id", NULL, NULL, "Canceled", true},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT, "initiated_event_id", NULL, NULL, "TimedOut", true},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED, "initiated_event_id", NULL, NULL, "Terminated", true},
};

struct trace_step {
    int64_t event_id, begin_us, end_us; /* end_us is 0 while it is open */
    const char *prefix, *name, *status, *failure;
    const char *activity_id, *workflow_id, *run_id; /* "" for other steps */
    int attempt;
};

struct trace {
    struct command *command;
    struct buf *out;
    int64_t depth_max; /* -1: no limit */
    size_t step_count;
    bool is_open; /* the traced workflow has not closed */
};

/* From events to steps. */

static const ProtobufCMessage *trace_attributes_of(const History__HistoryEvent *e) {
    const ProtobufCMessage *m = &e->base;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF && f->id == (uint32_t)e->attributes_case)
            return *(const ProtobufCMessage *const *)(const void *)((const char *)m + f->offset);
    }
    return NULL;
}

/* The text of a field; "" when the message has no such field. */
static const char *trace_field_text(struct command *c, const ProtobufCMessage *m, const char *path) {
    size_t n = strcspn(path, ".");
    const char *text = shape_field(m->descriptor, str_bytes(path, n)) ? view_text(c, m, path) : "";
    return text ? text : "";
}

static const struct trace_rule *trace_find_rule(int event) {
    for (size_t i = 0; i < ARRAY_LEN(trace_rules); i++)
        if (trace_rules[i].event == event)
            return &trace_rules[i];
    return NULL;
}

static struct trace_step *trace_find_step(struct trace_step *steps, size_t n, int64_t event_id) {
    for (size_t i = n; i-- > 0;)
        if (steps[i].event_id == event_id)
            return &steps[i];
    return NULL;
}

static void trace_take_event(struct command *c, const History__HistoryEvent *e, struct trace_step *steps,
                             size_t *n) {
    const struct trace_rule *rule = trace_find_rule((int)e->event_type);
    const ProtobufCMessage *m = trace_attributes_of(e);
    int64_t of = 0;
    if (!rule || !m)
        return;
    if (rule->of && str_to_i64(str_of(trace_field_text(c, m, rule->of)), &of) < 0)
        return;
    struct trace_step *step = rule->of ? trace_find_step(steps, *n, of) : &steps[(*n)++];
    if (!step)
        return;
    if (!rule->of)
        *step = (struct trace_step){.event_id = e->event_id,
                                    .begin_us = pb_timestamp_us(e->event_time),
                                    .prefix = rule->prefix,
                                    .name = trace_field_text(c, m, rule->name),
                                    .activity_id = trace_field_text(c, m, "activity_id"),
                                    .workflow_id = trace_field_text(c, m, "workflow_id"),
                                    .run_id = ""};
    step->status = rule->status;
    step->end_us = rule->is_end ? pb_timestamp_us(e->event_time) : 0;
    step->failure = trace_field_text(c, m, "failure");
    if (*trace_field_text(c, m, "workflow_execution"))
        step->run_id = view_text(c, m, "workflow_execution.run_id");
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED)
        step->attempt = e->activity_task_started_event_attributes->attempt;
}

/* Adds the running attempts of activities, which the history does not have. */
static void trace_take_pending(struct command *c, const Ws__DescribeWorkflowExecutionResponse *r,
                               struct trace_step *steps, size_t n) {
    for (size_t i = 0; i < r->n_pending_activities; i++)
        for (size_t k = 0; k < n; k++) {
            const Workflow__PendingActivityInfo *a = r->pending_activities[i];
            if (steps[k].end_us || !*steps[k].activity_id || !cstr_eq(steps[k].activity_id, a->activity_id))
                continue;
            steps[k].attempt = a->attempt;
            steps[k].status = view_text(c, &a->base, "state");
            if (a->last_failure)
                steps[k].failure = view_text(c, &a->base, "last_failure");
        }
}

/* Calls. */

static enum command_exit trace_ask_run(struct trace *t, const char *workflow_id, const char *run_id,
                                       const Ws__DescribeWorkflowExecutionResponse **ret) {
    struct command *c = t->command;
    ProtobufCMessage *m, *q = request_new(c, CALL_DescribeWorkflowExecution);
    struct err e;
    if (!q || request_set(q, "execution.workflow_id", FORM_PLAIN, workflow_id, &c->arena, &e) < 0 ||
        (*run_id && request_set(q, "execution.run_id", FORM_PLAIN, run_id, &c->arena, &e) < 0))
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = CALL_DescribeWorkflowExecution, .request = q};
    enum command_exit code = connection_call(c, &ask, &c->page, &m);
    if (code == COMMAND_DONE)
        *ret = (const void *)m;
    return code;
}

static enum command_exit trace_ask_steps(struct trace *t, const Workflow__WorkflowExecutionInfo *info,
                                         struct trace_step **ret, size_t *ret_count) {
    struct command *c = t->command;
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)request_new(c, CALL_GetWorkflowExecutionHistory);
    size_t room = (size_t)MIN(MAX(info->history_length, 1) + 1000, STEPS_MAX);
    struct trace_step *steps = arena_array(&c->page, struct trace_step, room);
    ProtobufCMessage *m;
    *ret_count = 0;
    if (!q || !steps) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    q->execution = info->execution;
    do {
        struct connection_ask ask = {.method = CALL_GetWorkflowExecutionHistory, .request = &q->base};
        enum command_exit code = connection_call(c, &ask, &c->page, &m);
        if (code != COMMAND_DONE)
            return code;
        const History__History *h = ((const Ws__GetWorkflowExecutionHistoryResponse *)m)->history;
        for (size_t i = 0; h && i < h->n_events && *ret_count < room; i++)
            trace_take_event(c, h->events[i], steps, ret_count);
    } while (*ret_count < room && request_copy_page_token(&q->base, m, &c->arena));
    *ret = steps;
    return COMMAND_DONE;
}

/* Lines. */

static void trace_add_line(struct trace *t, int depth, const struct trace_step *s, int64_t now_us) {
    int64_t us = (s->end_us ? s->end_us : now_us) - s->begin_us;
    buf_printf(t->out, "%*s", 2 * depth, "");
    plain_add_text(t->out, s->prefix);
    plain_add_text(t->out, s->name);
    buf_printf(t->out, ": %s", s->status);
    if (s->attempt > 1)
        buf_printf(t->out, ", attempt %d", s->attempt);
    if (s->end_us != s->begin_us) {
        buf_add_cstr(t->out, ", ");
        words_length(us >= USEC_PER_SEC ? us - us % USEC_PER_SEC : MAX(us - us % USEC_PER_MS, 0), t->out);
    }
    if (*s->workflow_id) {
        buf_add_cstr(t->out, ", ");
        plain_add_text(t->out, s->workflow_id);
    }
    if (*s->failure) {
        buf_printf(t->out, "\n%*sfailed: ", 2 * depth + 4, "");
        plain_add_text(t->out, s->failure);
    }
}

/* The status that a word names, in any case; NULL for none. Temporal's CLI accepts continueasnew. */
static const ProtobufCEnumValue *trace_status_named(const char *word) {
    return shape_enum_value(&e__workflow_execution_status__descriptor,
                            str_of(strcasecmp(word, "continueasnew") == 0 ? "continued_as_new" : word));
}

/* Whether a child in this state is not expanded. */
static bool trace_is_folded(const struct command *c, const char *status) {
    static const char *const standard[] = {"Completed", "Canceled", "Terminated"};
    const char *text;
    if (opt_named_flag(c->args, "no-fold"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(standard) && !opt_named_list(c->args, "fold", 0); i++)
        if (cstr_eq(status, standard[i]))
            return true;
    for (size_t i = 0; (text = opt_named_list(c->args, "fold", i)); i++)
        if (trace_status_named(text) == trace_status_named(status))
            return true;
    return false;
}

static enum command_exit trace_draw_run(struct trace *t, const char *workflow_id, const char *run_id,
                                        int depth);

static enum command_exit trace_draw_steps(struct trace *t, const struct trace_step *steps, size_t n,
                                          int depth) {
    int64_t now_us = host_wall().us;
    enum command_exit code = COMMAND_DONE;
    t->step_count += n;
    for (size_t i = 0; code == COMMAND_DONE && i < n; i++) {
        const struct trace_step *s = &steps[i];
        bool is_child = *s->workflow_id && *s->run_id;
        bool is_deep = (t->depth_max >= 0 && depth > t->depth_max) || depth >= DEPTH_MAX;
        bool is_below = is_child && !is_deep && !trace_is_folded(t->command, s->status);
        if (!is_below) {
            trace_add_line(t, depth, s, now_us);
            buf_add_cstr(t->out, is_child ? ", folded\n" : "\n");
        } else {
            code = trace_draw_run(t, s->workflow_id, s->run_id, depth);
        }
    }
    return code;
}

static enum command_exit trace_draw_run(struct trace *t, const char *workflow_id, const char *run_id,
                                        int depth) {
    struct command *c = t->command;
    const Ws__DescribeWorkflowExecutionResponse *r;
    struct trace_step *steps;
    size_t n;
    enum command_exit code = trace_ask_run(t, workflow_id, run_id, &r);
    if (code != COMMAND_DONE)
        return code;
    const Workflow__WorkflowExecutionInfo *info = r->workflow_execution_info;
    if (!info || !info->execution) {
        command_print_error("the server sent no description of %s", workflow_id);
        return COMMAND_REFUSED;
    }
    code = trace_ask_steps(t, info, &steps, &n);
    if (code != COMMAND_DONE)
        return code;
    trace_take_pending(c, r, steps, n);
    struct trace_step self = {.begin_us = pb_timestamp_us(info->start_time),
                              .end_us = info->close_time ? pb_timestamp_us(info->close_time) : 0,
                              .prefix = "",
                              .name = trace_field_text(c, &info->base, "type.name"),
                              .status = trace_field_text(c, &info->base, "status"),
                              .failure = "",
                              .workflow_id = info->execution->workflow_id};
    t->is_open = depth ? t->is_open : !info->close_time;
    trace_add_line(t, depth, &self, host_wall().us);
    buf_printf(t->out, ", %s\n", info->execution->run_id);
    return trace_draw_steps(t, steps, n, depth + 1);
}

/* The loop. */

static size_t trace_count_lines(const struct buf *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

/* The height of the terminal; a taller state cannot be drawn over. 0 without a terminal. */
static size_t trace_screen_lines(void) {
    struct winsize size;
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static int trace_check_folds(const struct command *c) {
    const char *text;
    for (size_t i = 0; (text = opt_named_list(c->args, "fold", i)); i++)
        if (!trace_status_named(text)) {
            command_print_error(
                "--fold: \"%s\" is not a status; it takes running, completed, failed, canceled, terminated, "
                "timedout or continuedasnew; see rondo workflow trace --help",
                text);
            return ERR_INVALID;
        }
    return 0;
}

enum command_exit workflow_trace_run(struct command *c, struct buf *out) {
    const Ws__DescribeWorkflowExecutionRequest *q = (const void *)c->request;
    struct trace t = {.command = c, .out = out, .is_open = true};
    size_t drawn = 0;
    if (c->format == FORMAT_JSON || c->format == FORMAT_JSONL) {
        command_print_error("a trace has no JSON form; use rondo workflow show -o json");
        return COMMAND_MISUSED;
    }
    if (trace_check_folds(c) < 0 || str_to_i64(str_of(opt_named(c->args, "depth")), &t.depth_max) < 0)
        return COMMAND_MISUSED;
    while (t.is_open) {
        buf_clear(out);
        t.step_count = 0;
        if (drawn)
            buf_printf(out, "\x1b[%zuA\x1b[J", drawn);
        enum command_exit code = trace_draw_run(&t, q->execution->workflow_id, q->execution->run_id, 0);
        arena_clear(&c->page);
        if (code != COMMAND_DONE) {
            buf_clear(out);
            return code;
        }
        size_t lines = trace_count_lines(out);
        if (!t.is_open)
            break;
        drawn = lines < trace_screen_lines() ? lines : 0;
        if (drawn && !command_flush_output(out))
            return COMMAND_REFUSED;
        if (!drawn)
            prompt_show_progress("%s  %zu steps", q->execution->workflow_id, t.step_count);
        if (connection_sleep(c, REDRAW_US) < 0) {
            command_print_error("out of memory");
            return COMMAND_REFUSED;
        }
    }
    prompt_clear_progress();
    if (c->format == FORMAT_NONE)
        buf_clear(out);
    return COMMAND_DONE;
}
