/* What the search attribute TemporalReportedProblems shows: why the workflow tasks of a run do not succeed.
 *
 * It appears with the fifth failure or timeout in a row (a setting), names the last one, and goes with the next
 * task that succeeds. Lists and pages find stuck runs by it. */
#include "core/problems.h"

#include "core/limits.h"
#include "core/merge.h"

#define ATTRIBUTE "TemporalReportedProblems"
#define TEXT_BYTES_MAX 512

/* WORKFLOW_TASK_FAILED_CAUSE_BAD_BINARY without its prefix is BadBinary. */
static void add_camel(struct buf *b, const char *name, size_t prefix_len) {
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

static void add_value(struct buf *b, const ProtobufCEnumDescriptor *d, int value, const char *prefix) {
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(d, value);
    if (v && str_starts(str_of(v->name), str_of(prefix)))
        add_camel(b, v->name, strlen(prefix));
}

/* Too few in a row are no problem yet; 0 turns it off. */
static bool is_due(struct step *s) {
    int64_t least = step_limit(s, SETTABLE_TASK_PROBLEMS);
    s->st->task_problems++;
    return least > 0 && s->st->task_problems >= least;
}

static void show(struct step *s, struct buf *b) {
    buf_add_cstr(b, "\"]");
    if (buf_ok(b))
        merge_json_attribute(s, ATTRIBUTE, buf_str(b));
    else
        s->failed = true;
}

void problems_add_failure(struct step *s, E__WorkflowTaskFailedCause cause) {
    struct buf b;
    if (!is_due(s))
        return;
    buf_init(&b, TEXT_BYTES_MAX);
    buf_add_cstr(&b, "[\"category=WorkflowTaskFailed\",\"cause=WorkflowTaskFailedCause");
    add_value(&b, &e__workflow_task_failed_cause__descriptor, (int)cause, "WORKFLOW_TASK_FAILED_CAUSE_");
    show(s, &b);
    buf_done(&b);
}

void problems_add_timeout(struct step *s, E__TimeoutType type) {
    struct buf b;
    if (!is_due(s))
        return;
    buf_init(&b, TEXT_BYTES_MAX);
    buf_add_cstr(&b, "[\"category=WorkflowTaskTimedOut\",\"cause=WorkflowTaskTimedOutCause");
    add_value(&b, &e__timeout_type__descriptor, (int)type, "TIMEOUT_TYPE_");
    show(s, &b);
    buf_done(&b);
}

void problems_end(struct step *s) {
    int64_t least = step_limit(s, SETTABLE_TASK_PROBLEMS);
    if (least > 0 && s->st->task_problems >= least)
        merge_json_attribute(s, ATTRIBUTE, STR("null"));
    s->st->task_problems = 0;
}
