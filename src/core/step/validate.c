/* The shared field rules. */
#include "core/step/validate.h"

#include <ctype.h>

#include "base/uuid.h"
#include "core/step/limits.h"

#define FAIRNESS_KEY_BYTES 64

int validate_id(const char *value, const char *name, struct err *err) {
    if (strlen(value) > LIMIT_ID_BYTES)
        return err_set(err, ERR_INVALID, "%s length exceeds limit.", name);
    return 0;
}

int validate_required(const char *value, const char *name, struct err *err) {
    if (cstr_is_empty(value))
        return err_set(err, ERR_INVALID, "%s is not set on request.", name);
    return validate_id(value, name, err);
}

int validate_execution(const Common__WorkflowExecution *e, struct err *err) {
    struct uuid run_id;
    if (!e)
        return err_set(err, ERR_INVALID, "Execution is not set on request.");
    int rc = validate_required(e->workflow_id, "WorkflowId", err);
    if (rc < 0)
        return rc;
    if (!cstr_is_empty(e->run_id) && uuid_parse(str_of(e->run_id), &run_id) < 0)
        return err_set(err, ERR_INVALID, "Invalid RunId.");
    return 0;
}

int validate_task_queue(const Taskqueue__TaskQueue *q, struct err *err) {
    int rc = validate_required(q ? q->name : "", "TaskQueue", err);
    if (rc < 0)
        return rc;
    if (str_starts(str_of(q->name), STR(RESERVED_QUEUE_PREFIX)))
        return err_set(err, ERR_INVALID, "task queue name cannot start with reserved prefix %s",
                       RESERVED_QUEUE_PREFIX);
    return 0;
}

int validate_priority(const Common__Priority *p, struct err *err) {
    if (p && p->priority_key < 0)
        return err_set(err, ERR_INVALID, "priority key can't be negative");
    if (p && strlen(p->fairness_key) > FAIRNESS_KEY_BYTES)
        return err_set(err, ERR_INVALID, "fairness key length exceeds limit");
    if (p && !(p->fairness_weight >= 0))
        return err_set(err, ERR_INVALID, "fairness weight must be greater than zero");
    return 0;
}

bool mask_path_is(const char *path, const char *name) {
    for (; *path; path++)
        if (*path != '_' && tolower((unsigned char)*path) != tolower((unsigned char)*name++))
            return false;
    return !*name;
}

/* one rule for a name */

static int check_id(const void *member, const ProtobufCFieldDescriptor *f unused_arg, const char *label,
                    struct err *err) {
    return validate_id(*(const char *const *)member, label, err);
}

static int check_enum(const void *member, const ProtobufCFieldDescriptor *f, const char *label,
                      struct err *err) {
    if (protobuf_c_enum_descriptor_get_value(f->descriptor, *(const int *)member))
        return 0;
    return err_set(err, ERR_INVALID, "%s is not known.", label);
}

static const struct {
    const char *name;
    const char *label;
    ProtobufCType type;
    int (*check)(const void *member, const ProtobufCFieldDescriptor *f, const char *label, struct err *err);
} rules[] = {
#define RULE_ID PROTOBUF_C_TYPE_STRING, check_id
#define RULE_ENUM PROTOBUF_C_TYPE_ENUM, check_enum
#define FIELD(name, label, rule) {#name, label, RULE_##rule},
#include "core/step/fields.def"
#undef FIELD
};

int validate_fields(const ProtobufCMessage *m, struct err *err) {
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(m->descriptor, rules[i].name);
        if (!f)
            continue;
        ensure(f->type == rules[i].type && f->label != PROTOBUF_C_LABEL_REPEATED); /* in every request */
        int rc = rules[i].check((const char *)m + f->offset, f, rules[i].label, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
