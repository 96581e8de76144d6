/* Fields that follow from more than one flag, or that a command always sets. The table cannot express them.
 */
#include "command/request/request.h"
#include "json/shape.h"

#define AFTER_RESET "post_reset_operations.update_workflow_options."

static int special_set_toggle(struct command *c, struct err *e) {
    size_t row = FLAG_SCHEDULE_TOGGLE_PAUSE - FLAGS_OF_SCHEDULE_TOGGLE;
    bool pauses = opt_flag(c->args, row);
    if (pauses == opt_flag(c->args, FLAG_SCHEDULE_TOGGLE_UNPAUSE - FLAGS_OF_SCHEDULE_TOGGLE))
        return err_set(e, ERR_INVALID, "give either --pause or --unpause");
    return request_set(c->request, pauses ? "patch.pause" : "patch.unpause", FORM_PLAIN,
                       command_flag_text(c->args, FLAG_SCHEDULE_TOGGLE_REASON), &c->arena, e);
}

static int special_set_attributes(struct command *c, struct err *e) {
    const char *name, *type;
    for (size_t i = 0;; i++) {
        name = opt_list(c->args, FLAG_ATTRIBUTE_CREATE_NAME - FLAGS_OF_ATTRIBUTE_CREATE, i);
        type = opt_list(c->args, FLAG_ATTRIBUTE_CREATE_TYPE - FLAGS_OF_ATTRIBUTE_CREATE, i);
        if (!name && !type && i)
            return 0;
        if (!name || !type)
            return err_set(e, ERR_INVALID, "give one --type for each --name, and at least one of each");
        const char *pair = arena_printf(&c->arena, "%s=\"%s\"", name, type);
        if (!pair)
            return err_std(e, ERR_NO_MEMORY);
        int rc = request_set(c->request, "search_attributes", FORM_PAIR, pair, &c->arena, e);
        if (rc < 0)
            return rc;
    }
}

/* Fills the update mask with the options that are given. */
static int special_set_mask(struct command *c, struct err *e) {
    static const char prefix[] = "activity_options.";
    const size_t skip = sizeof(prefix) - 1;
    struct buf mask;
    buf_init(&mask, 4096);
    for (size_t i = 0; i < c->args->command->opt_count; i++) {
        const char *field = flag_rules[&c->args->command->opts[i] - command_opts].field;
        char camel[SHAPE_NAME_MAX];
        if (strncmp(field, prefix, skip) != 0 || !opt_is_given(c->args, i))
            continue;
        shape_camel(field + skip, camel);
        buf_printf(&mask, "%s%s", mask.len ? "," : "", camel);
    }
    bool is_empty = !mask.len;
    const char *text = arena_strndup(&c->arena, mask.len ? (const char *)mask.data : "", mask.len);
    bool ok = buf_ok(&mask) && text;
    buf_done(&mask);
    if (!ok)
        return err_std(e, ERR_NO_MEMORY);
    if (is_empty && !opt_named_flag(c->args, "restore-original-options"))
        return err_set(e, ERR_INVALID, "name an option to change, or --restore-original-options");
    return is_empty ? 0 : request_set(c->request, "update_mask", FORM_PLAIN, text, &c->arena, e);
}

/* Sets a field of the options; for a reset they are an operation after the reset. */
static int special_set_option(struct command *c, const char *path, const char *text, struct err *e) {
    const char *to =
        arena_printf(&c->arena, "%s%s", c->id == COMMAND_WORKFLOW_RESET_OPTIONS ? AFTER_RESET : "", path);
    return to ? request_set(c->request, to, FORM_PLAIN, text, &c->arena, e) : err_std(e, ERR_NO_MEMORY);
}

static int special_set_version(struct command *c, const char *path, struct err *e) {
    const char *name = opt_named(c->args, "versioning-override-deployment-name");
    const char *build = opt_named(c->args, "versioning-override-build-id");
    if (!name || !build)
        return err_set(e, ERR_INVALID,
                       "--versioning-override-deployment-name and --versioning-override-build-id are needed "
                       "with that behavior");
    const char *to_name = arena_printf(&c->arena, "%s.deployment_name", path);
    const char *to_build = arena_printf(&c->arena, "%s.build_id", path);
    if (!to_name || !to_build)
        return err_std(e, ERR_NO_MEMORY);
    int rc = special_set_option(c, to_name, name, e);
    return rc < 0 ? rc : special_set_option(c, to_build, build, e);
}

static int special_set_override(struct command *c, struct err *e) {
#define OVERRIDE "workflow_execution_options.versioning_override"
    const char *behavior = opt_named(c->args, "versioning-override-behavior");
    int rc = special_set_option(c, "update_mask", "versioningOverride", e);
    if (rc < 0)
        return rc;
    if (cstr_eq(behavior, "pinned")) {
        rc = special_set_option(c, OVERRIDE ".pinned.behavior", "PINNED", e);
        return rc < 0 ? rc : special_set_version(c, OVERRIDE ".pinned.version", e);
    }
    if (cstr_eq(behavior, "one_time"))
        return special_set_version(c, OVERRIDE ".one_time.target_deployment_version", e);
    if (opt_named(c->args, "versioning-override-build-id"))
        return err_set(e, ERR_INVALID,
                       "--versioning-override-build-id is for pinned and one_time, not for %s", behavior);
    if (cstr_eq(behavior, "auto_upgrade"))
        return special_set_option(c, OVERRIDE ".auto_upgrade", "true", e);
    const char *none = c->id == COMMAND_WORKFLOW_RESET_OPTIONS ? AFTER_RESET "workflow_execution_options"
                                                               : "workflow_execution_options";
    return request_message(c->request, none, &c->arena) ? 0 : err_std(e, ERR_NO_MEMORY);
#undef OVERRIDE
}

/* Checks that the flags name either a version or --unversioned. */
static int special_check_route(struct command *c, struct err *e) {
    bool is_given = opt_named(c->args, "build-id"), is_none = opt_named_flag(c->args, "unversioned");
    if (opt_named_flag(c->args, "delete"))
        return is_given || opt_named(c->args, "percentage")
                   ? err_set(e, ERR_INVALID, "--delete takes neither --build-id nor --percentage")
                   : 0;
    if (is_given == is_none)
        return err_set(e, ERR_INVALID, "give either --build-id or --unversioned");
    return c->id == COMMAND_VERSION_RAMPING && !opt_named(c->args, "percentage")
               ? err_set(e, ERR_INVALID, "--percentage is needed")
               : 0;
}

static int special_check_manager(struct command *c, struct err *e) {
    bool is_other = opt_named(c->args, "manager-identity");
    if (c->id == COMMAND_MANAGER_UNSET)
        return request_set(c->request, "manager_identity", FORM_PLAIN, "", &c->arena, e);
    return is_other == opt_named_flag(c->args, "self")
               ? err_set(e, ERR_INVALID, "give either --manager-identity or --self")
               : 0;
}

/* Reads --fairness-key-weight: KEY=WEIGHT sets a weight, KEY=default removes it. */
static int special_set_weights(struct command *c, struct err *e) {
    const char *text;
    for (size_t i = 0; (text = opt_named_list(c->args, "fairness-key-weight", i)); i++) {
        const char *equals = strrchr(text, '=');
        if (!equals || equals == text)
            return err_set(e, ERR_INVALID, "--fairness-key-weight: \"%s\" is not KEY=WEIGHT", text);
        const char *key = arena_strndup(&c->arena, text, (size_t)(equals - text));
        if (!key)
            return err_std(e, ERR_NO_MEMORY);
        int rc =
            cstr_eq(equals + 1, "default")
                ? request_set(c->request, "unset_fairness_weight_overrides", FORM_PLAIN, key, &c->arena, e)
                : request_set(c->request, "set_fairness_weight_overrides", FORM_PAIR, text, &c->arena, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Sets a rate limit. "default" sends the update without a limit, which removes it. */
static int special_set_rate(struct command *c, const char *flag, const char *update, struct err *e) {
    const char *text = opt_named(c->args, flag);
    if (!text)
        return 0;
    if (cstr_eq(text, "default"))
        return request_message(c->request, update, &c->arena) ? 0 : err_std(e, ERR_NO_MEMORY);
    const char *path = arena_printf(&c->arena, "%s.rate_limit.requests_per_second", update);
    if (!path)
        return err_std(e, ERR_NO_MEMORY);
    return request_set(c->request, path, FORM_PLAIN, text, &c->arena, e) < 0
               ? err_set(e, ERR_INVALID, "--%s: \"%s\" is neither a number nor \"default\"", flag, text)
               : 0;
}

static int special_set_queue_config(struct command *c, struct err *e) {
    int rc = special_set_rate(c, "queue-rps-limit", "update_queue_rate_limit", e);
    if (rc == 0)
        rc = special_set_rate(c, "fairness-key-rps-limit-default", "update_fairness_key_rate_limit_default",
                              e);
    if (rc == 0 && opt_named_flag(c->args, "fairness-key-weight-clear-all") &&
        opt_named_list(c->args, "fairness-key-weight", 0))
        rc = err_set(e, ERR_INVALID, "give either --fairness-key-weight-clear-all or --fairness-key-weight");
    return rc < 0 ? rc : special_set_weights(c, e);
}

static int special_set_fields(struct command *c, struct err *e) {
    switch (c->id) {
    case COMMAND_SCHEDULE_TOGGLE:
        return special_set_toggle(c, e);
    case COMMAND_ATTRIBUTE_CREATE:
        return special_set_attributes(c, e);
    case COMMAND_ACTIVITY_OPTIONS:
        return special_set_mask(c, e);
    case COMMAND_ACTIVITY_FAIL:
        return request_set(c->request, "failure.application_failure_info.non_retryable", FORM_PLAIN, "true",
                           &c->arena, e);
    case COMMAND_WORKFLOW_OPTIONS:
    case COMMAND_WORKFLOW_RESET_OPTIONS:
        return special_set_override(c, e);
    case COMMAND_VERSION_CURRENT:
    case COMMAND_VERSION_RAMPING:
        return special_check_route(c, e);
    case COMMAND_MANAGER_SET:
    case COMMAND_MANAGER_UNSET:
        return special_check_manager(c, e);
    case COMMAND_NAMESPACE_DESCRIBE: /* the id alone names the namespace */
        return opt_named(c->args, "namespace-id")
                   ? request_set(c->request, "namespace", FORM_PLAIN, "", &c->arena, e)
                   : 0;
    case COMMAND_QUEUE_CONFIG_GET:
        return request_set(c->request, "report_config", FORM_PLAIN, "true", &c->arena, e);
    case COMMAND_QUEUE_CONFIG_SET:
        return special_set_queue_config(c, e);
    case COMMAND_QUEUE_DESCRIBE:
        if (opt_named(c->args, "task-queue-type-legacy") &&
            request_set(c->request, "task_queue_type", FORM_PLAIN,
                        opt_named(c->args, "task-queue-type-legacy"), &c->arena, e) < 0)
            return ERR_INVALID;
        return opt_named_flag(c->args, "disable-stats")
                   ? 0
                   : request_set(c->request, "report_stats", FORM_PLAIN, "true", &c->arena, e);
    default:
        return 0;
    }
}

int request_set_special(struct command *c) {
    struct err e;
    int rc = special_set_fields(c, &e);
    if (rc < 0)
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
    return rc;
}
