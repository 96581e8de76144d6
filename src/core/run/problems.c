/* What the search attribute TemporalReportedProblems shows: why the workflow tasks of a run do not succeed.
 *
 * It appears with the fifth failure or timeout in a row (a setting) and goes with the next task that
 * succeeds. It names the last one that is in the history, which is the first of a row: some SDKs report only
 * that one, and let later attempts time out. Lists and pages find stuck runs by it. */
#include "core/run/problems.h"

#include "core/step/limits.h"
#include "core/step/merge.h"

#define ATTRIBUTE "TemporalReportedProblems"
#define TEXT_BYTES_MAX 512

/* WORKFLOW_TASK_FAILED_CAUSE_BAD_BINARY without its prefix is BadBinary. */
static void problems_add_camel(struct buf *b, const char *name, size_t prefix_len) {
    bool is_first = true;
    for (name += prefix_len; *name; name++) {
        if (*name == '_') {
            is_first = true;
            continue;
        }
        char c = !is_first && *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        buf_add(b, (const uint8_t *)&c, 1);
        is_first = false;
    }
}

static void problems_add_value(struct buf *b, const ProtobufCEnumDescriptor *d, int value,
                               const char *prefix) {
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);
    if (v && str_starts(str_of(v->name), str_of(prefix)))
        problems_add_camel(b, v->name, strlen(prefix));
}

static void problems_add_text(struct buf *b, const State__Execution *st) {
    bool is_timeout = st->problem_timeout != 0;
    buf_add_cstr(b, is_timeout ? "[\"category=WorkflowTaskTimedOut\",\"cause=WorkflowTaskTimedOutCause"
                               : "[\"category=WorkflowTaskFailed\",\"cause=WorkflowTaskFailedCause");
    if (is_timeout)
        problems_add_value(b, &e__timeout_type__descriptor, st->problem_timeout, "TIMEOUT_TYPE_");
    else
        problems_add_value(b, &e__workflow_task_failed_cause__descriptor, st->problem_cause,
                           "WORKFLOW_TASK_FAILED_CAUSE_");
    buf_add_cstr(b, "\"]");
}

void problems_set_failure(struct step *s, E__WorkflowTaskFailedCause cause) {
    s->st->problem_cause = (int32_t)cause;
    s->st->problem_timeout = 0;
}

void problems_set_timeout(struct step *s, E__TimeoutType type) {
    s->st->problem_cause = 0;
    s->st->problem_timeout = (int32_t)type;
}

void problems_count(struct step *s) {
    int64_t least = step_limit(s, SETTABLE_TASK_PROBLEMS);
    struct buf b;
    if (++s->st->task_problems < least || least == 0)
        return;
    buf_init(&b, TEXT_BYTES_MAX);
    problems_add_text(&b, s->st);
    if (buf_ok(&b))
        merge_json_attribute(s, ATTRIBUTE, buf_str(&b));
    else
        s->failed = true;
    buf_done(&b);
}

void problems_end(struct step *s) {
    int64_t least = step_limit(s, SETTABLE_TASK_PROBLEMS);
    if (least > 0 && s->st->task_problems >= least)
        merge_json_attribute(s, ATTRIBUTE, STR("null"));
    s->st->task_problems = s->st->problem_cause = s->st->problem_timeout = 0;
}
