/* What the tests of versions share: workers of two versions of one deployment, and a client that changes the
 * options of a run.
 *
 *   CHECK_INT(core_start(&f), 0);
 *   CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
 *   CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
 *   CHECK_STR(shown_attribute(&f, "TemporalWorkerDeploymentVersion"), "\"web:2\""); */
#pragma once

#include "core/run/options.h"
#include "core/version/versioning.h"
#include "core_fixture.h"

static const struct version one = {"web", "1"}, two = {"web", "2"};

/* Every version serves every queue but "far". */
static inline bool serves(const struct version_book *b unused_arg, const char *deployment unused_arg,
                          const char *build_id unused_arg, const char *queue) {
    return !cstr_eq(queue, "far");
}
static const struct version_book book = {serves};

/* A worker takes the task; the work of its queue goes to `target` now. */
static inline int worker_pick(struct core *f, struct version worker, bool is_bound, struct version target,
                              int64_t revision) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    struct task_pick p = {.scheduled_event_id = f->st->task ? f->st->task->scheduled_event_id : 0,
                          .identity = "worker",
                          .request_id = "poll-request",
                          .from_sticky = f->st->task && f->st->task->is_sticky,
                          .version = worker,
                          .is_bound = is_bound,
                          .has_target = true,
                          .target = target,
                          .target_revision = revision};
    return core_end(f, task_start(&f->s, &p));
}

static inline int worker_complete(struct core *f, struct version worker, E__VersioningBehavior behavior) {
    Deployment__WorkerDeploymentOptions options = DEPLOYMENT__WORKER_DEPLOYMENT_OPTIONS__INIT;
    options.deployment_name = core_text(f, version_is_none(worker) ? "" : worker.deployment);
    options.build_id = core_text(f, version_is_none(worker) ? "" : worker.build_id);
    options.worker_versioning_mode =
        version_is_none(worker) ? WORKER_VERSIONING_MODE_UNVERSIONED : WORKER_VERSIONING_MODE_VERSIONED;
    if (!options.deployment_name || !options.build_id)
        return ERR_NO_MEMORY;
    f->completion.deployment_options = &options;
    f->completion.versioning_behavior = behavior;
    int rc = core_complete(f);
    f->completion.deployment_options = NULL;
    f->completion.versioning_behavior = VERSIONING_BEHAVIOR_UNSPECIFIED;
    return rc;
}

/* One task by a worker of this version. */
static inline int worker_turn(struct core *f, struct version worker, E__VersioningBehavior behavior) {
    int rc = f->st ? worker_pick(f, worker, versioning_is_pinned(f->st), worker, 1) : ERR_NO_MEMORY;
    return rc == 0 ? worker_complete(f, worker, behavior) : rc;
}

/* A search attribute of the run as JSON, until the next call; "" without it. */
static inline const char *shown_attribute(struct core *f, const char *name) {
    const Common__SearchAttributes *a = f->st ? f->st->search_attributes : NULL;
    for (size_t i = 0; a && i < a->n_indexed_fields; i++)
        if (cstr_eq(a->indexed_fields[i]->key, name)) {
            struct str data = pb_bytes(&a->indexed_fields[i]->value->data);
            buf_clear(&f->scratch);
            buf_add_str(&f->scratch, data);
            buf_add_u8(&f->scratch, 0);
            return buf_ok(&f->scratch) ? (const char *)f->scratch.data : "";
        }
    return "";
}

/* In the arena; NULL without memory. */
static inline Workflow__VersioningOverride *pin_to(struct core *f, struct version v) {
    Workflow__VersioningOverride old = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    old.behavior = VERSIONING_BEHAVIOR_PINNED;
    old.pinned_version = version_text(&f->arena, v, '.', "");
    return old.pinned_version ? versioning_override(&f->arena, &old) : NULL;
}

/* What the mask's one path names: this override, or NULL for none; or the priority 2. */
static inline int update_options(struct core *f, const Workflow__VersioningOverride *o, const char *path,
                                 bool *ret_changed) {
    Workflow__WorkflowExecutionOptions in = WORKFLOW__WORKFLOW_EXECUTION_OPTIONS__INIT;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    Common__Priority priority = COMMON__PRIORITY__INIT;
    char *paths[] = {core_text(f, path)};
    if (!core_begin(f) || !paths[0])
        return ERR_NO_MEMORY;
    f->s.ctx.versions = &book;
    priority.priority_key = 2;
    in.versioning_override = (Workflow__VersioningOverride *)(uintptr_t)o;
    in.priority = &priority;
    mask.paths = paths;
    mask.n_paths = 1;
    return core_end(f, options_update(&f->s, &in, &mask, "operator", ret_changed));
}
