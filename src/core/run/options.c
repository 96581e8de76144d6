/* UpdateWorkflowExecutionOptions: merge by the mask, check, write one event, apply it. */
#include "core/run/options.h"

#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"

enum {
    OPTION_OVERRIDE = 1,
    OPTION_OLD_BEHAVIOR = 2, /* these two only together */
    OPTION_OLD_DEPLOYMENT = 4,
    OPTION_PRIORITY_KEY = 8,
    OPTION_FAIRNESS_KEY = 16,
    OPTION_FAIRNESS_WEIGHT = 32,
    OPTION_PRIORITY = OPTION_PRIORITY_KEY | OPTION_FAIRNESS_KEY | OPTION_FAIRNESS_WEIGHT,
};

static const struct {
    const char *path; /* without underscores: clients write it in either case */
    unsigned options;
} option_paths[] = {
    {"versioningoverride", OPTION_OVERRIDE},
    {"versioningoverride.behavior", OPTION_OLD_BEHAVIOR},
    {"versioningoverride.deployment", OPTION_OLD_DEPLOYMENT},
    {"priority", OPTION_PRIORITY},
    {"priority.prioritykey", OPTION_PRIORITY_KEY},
    {"priority.fairnesskey", OPTION_FAIRNESS_KEY},
    {"priority.fairnessweight", OPTION_FAIRNESS_WEIGHT},
};

/* The mask */

static int options_read_update_mask(const Google__Protobuf__FieldMask *mask, unsigned *ret, struct err *err) {
    *ret = 0;
    for (size_t i = 0; i < mask->n_paths; i++) {
        unsigned options = 0;
        for (size_t k = 0; k < ARRAY_LEN(option_paths); k++)
            if (mask_path_is(mask->paths[i], option_paths[k].path))
                options = option_paths[k].options;
        if (!options)
            return err_set(err, ERR_INVALID,
                           "UpdateMask names \"%.100s\", which cannot be changed, or not on its own",
                           mask->paths[i]);
        *ret |= options;
    }
    if (!(*ret & OPTION_OLD_BEHAVIOR) != !(*ret & OPTION_OLD_DEPLOYMENT))
        return err_set(err, ERR_INVALID, "The fields of a versioning override are changed together.");
    return 0;
}

/* Merging */

struct merged {
    const Workflow__VersioningOverride *override; /* a normal form */
    bool has_priority;
    Common__Priority priority;
};

/* "Stay where you are" is a pin without a version. */
static int options_pin_here(struct step *s, const Workflow__VersioningOverride *in,
                            Workflow__VersioningOverride *out,
                            Workflow__VersioningOverride__PinnedOverride *pin) {
    *out = *in;
    if (in->override_case != WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED || in->pinned->version)
        return 0;
    if (!versioning_is_pinned(s->st))
        return err_set(s->err, ERR_PRECONDITION,
                       "The pinned override must name a version, because the workflow is pinned to none.");
    *pin = *in->pinned;
    pin->version = version_message(s->arena, versioning_version(s->st));
    out->pinned = pin;
    return pin->version ? 0 : err_std(s->err, ERR_NO_MEMORY);
}

static int options_merge_override(struct step *s, struct merged *m, const Workflow__VersioningOverride *in) {
    Workflow__VersioningOverride here;
    Workflow__VersioningOverride__PinnedOverride pin;
    m->override = NULL;
    if (!in)
        return 0;
    int rc = options_pin_here(s, in, &here, &pin);
    if (rc == 0)
        rc = versioning_check_override(&here, s->err);
    if (rc < 0)
        return rc;
    m->override = versioning_override(s->arena, &here);
    if (!m->override)
        return err_std(s->err, ERR_NO_MEMORY);
    return versioning_check_served(s, m->override, s->st->task_queue);
}

static int options_merge_priority(struct merged *m, const Common__Priority *in, unsigned changes,
                                  struct err *err) {
    static const Common__Priority none = COMMON__PRIORITY__INIT;
    m->has_priority = in || (changes & OPTION_PRIORITY) != OPTION_PRIORITY;
    if (!in)
        in = &none;
    if (changes & OPTION_PRIORITY_KEY)
        m->priority.priority_key = in->priority_key;
    if (changes & OPTION_FAIRNESS_KEY)
        m->priority.fairness_key = in->fairness_key;
    if (changes & OPTION_FAIRNESS_WEIGHT)
        m->priority.fairness_weight = in->fairness_weight;
    return validate_priority(&m->priority, err);
}

static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b, struct arena *scratch) {
    if (!a || !b)
        return !a && !b;
    size_t n = protobuf_c_message_get_packed_size(a);
    if (n != protobuf_c_message_get_packed_size(b))
        return false;
    uint8_t *both = arena_alloc(scratch, 2 * n + 1);
    if (!both)
        return false;
    protobuf_c_message_pack(a, both);
    protobuf_c_message_pack(b, both + n);
    return memcmp(both, both + n, n) == 0;
}

static bool is_as_before(struct step *s, const struct merged *m) {
    static const Common__Priority none = COMMON__PRIORITY__INIT;
    const State__Execution *st = s->st;
    const Workflow__VersioningOverride *had = st->versioning ? st->versioning->override : NULL;
    const Common__Priority *priority = st->priority ? st->priority : &none;
    return same_message((const ProtobufCMessage *)had, (const ProtobufCMessage *)m->override, s->arena) &&
           same_message(&priority->base, &m->priority.base, s->arena);
}

int options_update(struct step *s, const Workflow__WorkflowExecutionOptions *in,
                   const Google__Protobuf__FieldMask *mask, const char *identity, bool *ret_changed) {
    static const Common__Priority none = COMMON__PRIORITY__INIT;
    State__Execution *st = s->st;
    const Workflow__VersioningOverride *had = st->versioning ? st->versioning->override : NULL;
    struct merged m = {
        .override = had, .has_priority = st->priority, .priority = st->priority ? *st->priority : none};
    unsigned changes = 0;
    *ret_changed = false;
    int rc = run_is_open(st) ? options_read_update_mask(mask, &changes, s->err) : err_std(s->err, ERR_CLOSED);
    if (rc == 0 && changes & (OPTION_OVERRIDE | OPTION_OLD_BEHAVIOR))
        rc = options_merge_override(s, &m, in->versioning_override);
    if (rc == 0 && changes & OPTION_PRIORITY)
        rc = options_merge_priority(&m, in->priority, changes, s->err);
    if (rc < 0 || is_as_before(s, &m))
        return rc;
    History__WorkflowExecutionOptionsUpdatedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_OPTIONS_UPDATED_EVENT_ATTRIBUTES__INIT;
    a.versioning_override = (Workflow__VersioningOverride *)(uintptr_t)m.override;
    a.unset_versioning_override = had && !m.override;
    a.priority = m.has_priority || st->priority ? &m.priority : NULL;
    a.identity = (char *)(uintptr_t)identity;
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED, &a, NULL);
    options_apply(s, &a);
    *ret_changed = true;
    return 0;
}

void options_apply(struct step *s, const History__WorkflowExecutionOptionsUpdatedEventAttributes *a) {
    if (a->unset_versioning_override || a->versioning_override)
        versioning_put_override(s, a->versioning_override);
    if (!a->priority)
        return;
    pb_set_message(&s->st->priority, a->priority, &s->failed);
    task_offer_again(s);
}
