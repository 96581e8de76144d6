/* Runs and the versions of their workers: where they belong, how they move, what they show. */
#include "core/options.h"
#include "core/rebuild.h"
#include "core/versioning.h"
#include "core_fixture.h"

static const struct version none = {0}, one = {"web", "1"}, two = {"web", "2"};

/* Every version serves every queue but "far". */
static bool serves(const struct version_book *b unused_arg, const char *deployment unused_arg,
                   const char *build_id unused_arg, const char *queue) {
    return !streq(queue, "far");
}
static const struct version_book book = {serves};

static int pick(struct core *f, struct version worker, bool is_bound, struct version target,
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

static int complete(struct core *f, struct version worker, E__VersioningBehavior behavior) {
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
static int turn(struct core *f, struct version worker, E__VersioningBehavior behavior) {
    int rc = f->st ? pick(f, worker, versioning_is_pinned(f->st), worker, 1) : ERR_NO_MEMORY;
    return rc == 0 ? complete(f, worker, behavior) : rc;
}

static const char *shown(struct core *f, const char *name) {
    const Common__SearchAttributes *a = f->st ? f->st->search_attributes : NULL;
    for (size_t i = 0; a && i < a->n_indexed_fields; i++)
        if (streq(a->indexed_fields[i]->key, name)) {
            struct str data = pb_bytes(&a->indexed_fields[i]->value->data);
            buf_clear(&f->scratch);
            buf_add_str(&f->scratch, data);
            buf_add_u8(&f->scratch, 0);
            return buf_ok(&f->scratch) ? (const char *)f->scratch.data : "";
        }
    return "";
}

TEST(versioning_a_run_arrives_where_its_first_task_is_completed) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(pick(&f, one, false, one, 7), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(versioning_is_moving(f.st));
    CHECK_INT(versioning_behavior(f.st), VERSIONING_BEHAVIOR_AUTO_UPGRADE);
    CHECK(version_eq(versioning_version(f.st), one));
    CHECK(version_is_none(versioning_shown_version(f.st)));
    CHECK_INT(complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(!versioning_is_moving(f.st));
    CHECK(versioning_is_pinned(f.st));
    CHECK(version_eq(versioning_version(f.st), one));
    CHECK_INT(f.st->versioning->revision, 7);
    const History__WorkflowTaskCompletedEventAttributes *ev =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    REQUIRE(ev && ev->deployment_version);
    CHECK_STR(ev->worker_deployment_name, "web");
    CHECK_STR(ev->deployment_version->build_id, "1");
    CHECK_INT(ev->versioning_behavior, VERSIONING_BEHAVIOR_PINNED);
    CHECK_STR(shown(&f, "BuildIds"), "[\"pinned:web:1\"]");
    CHECK_STR(shown(&f, "TemporalWorkerDeployment"), "\"web\"");
    CHECK_STR(shown(&f, "TemporalWorkerDeploymentVersion"), "\"web:1\"");
    CHECK_STR(shown(&f, "TemporalWorkflowVersioningBehavior"), "\"Pinned\"");
    CHECK_STR(shown(&f, "TemporalUsedWorkerDeploymentVersions"), "[\"web:1\"]");
}

TEST(versioning_a_pinned_run_has_only_workers_of_its_version) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(pick(&f, two, true, two, 2), ERR_NOT_FOUND);
    CHECK_INT(pick(&f, none, false, two, 2), ERR_NOT_FOUND);
    CHECK_INT(pick(&f, one, false, two, 2), ERR_NOT_FOUND); /* an entry from before it was pinned */
    CHECK_INT(pick(&f, one, true, one, 2), 0);
    CHECK(f.st && !versioning_is_moving(f.st));
}

TEST(versioning_an_auto_upgrade_run_moves) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK_STR(f.st->sticky_queue, "sticky");
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(STEP_VOID(&f, task_unstick(&f.s)), 0); /* what the engine does when the route has moved */
    CHECK_INT(pick(&f, two, false, two, 2), 0);
    REQUIRE(f.st);
    CHECK(versioning_is_moving(f.st));
    core_add_activity(&f, "a");
    CHECK_INT(complete(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK(!versioning_is_moving(f.st));
    CHECK(version_eq(versioning_version(f.st), two));
    CHECK_STR(shown(&f, "TemporalUsedWorkerDeploymentVersions"), "[\"web:1\",\"web:2\"]");
    CHECK_STR(shown(&f, "TemporalWorkflowVersioningBehavior"), "\"AutoUpgrade\"");
    CHECK_STR(shown(&f, "BuildIds"), "");
}

TEST(versioning_an_activity_moves_its_run_first) {
    cleanup(core_done) struct core f;
    bool is_moved = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(pick(&f, one, false, one, 1), 0);
    core_add_activity(&f, "a");
    CHECK_INT(complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    struct version_pick p = {.version = two, .workflow_target = two, .revision = 2};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), 0);
    CHECK(is_moved);
    CHECK_STR(core_effects(&f), "TASK@6");
    REQUIRE(f.st && f.st->n_activities == 1);
    CHECK_INT(f.st->activities[0]->started_us, 0);
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), ERR_NOT_FOUND); /* not on the way */
    CHECK_INT(pick(&f, two, false, two, 2), 0);
    CHECK_INT(complete(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5"); /* offered anew */
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), 0);
    CHECK(!is_moved);
    REQUIRE(f.st && f.st->n_activities == 1);
    CHECK_STR(f.st->activities[0]->last_version ? f.st->activities[0]->last_version->build_id : "", "2");
    p = (struct version_pick){.version = {"mail", "1"}, .workflow_target = two, .revision = 2};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), 0);
    CHECK(!is_moved); /* a queue with workers of its own moves nobody */
}

TEST(versioning_a_move_to_another_version_gets_its_own_task) {
    cleanup(core_done) struct core f;
    bool is_moved = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(pick(&f, one, false, one, 1), 0);
    core_add_activity(&f, "a");
    CHECK_INT(complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(pick(&f, one, false, one, 1), 0);
    struct version_pick p = {.version = two, .workflow_target = two, .revision = 2};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)),
              0); /* while that task is with one */
    CHECK(is_moved);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    f.completion.return_new_workflow_task = true;
    CHECK_INT(complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(versioning_is_moving(f.st));
    CHECK(!f.done.is_new_started); /* not for the worker that it moves away from */
    CHECK_STR(f.st->sticky_queue, "");
}

TEST(versioning_a_move_leaves_the_sticky_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_UNSPECIFIED),
              0); /* a worker that says nothing of its workflows */
    CHECK_INT(core_signal(&f, "go"), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.st->task->is_sticky);
    CHECK_INT(pick(&f, one, false, one, 1), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(versioning_is_moving(f.st) && !f.st->task->is_sticky);
    CHECK_STR(f.st->sticky_queue, "");
}

TEST(versioning_a_pinned_run_is_told_of_a_new_version) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(pick(&f, one, true, two, 2), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.st->task->is_target_changed);
    CHECK_INT(complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    const History__WorkflowTaskStartedEventAttributes *ev =
        core_attributes(&f, 7, EVENT_TYPE_WORKFLOW_TASK_STARTED);
    CHECK(ev && ev->target_worker_deployment_version_changed);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(pick(&f, one, true, one, 3), 0); /* taken back */
    CHECK(f.st && f.st->task && !f.st->task->is_target_changed);
}

TEST(versioning_behavior_needs_a_versioned_worker) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    f.completion.versioning_behavior = VERSIONING_BEHAVIOR_PINNED;
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK(f.st && task_is_started(f.st)); /* nothing has happened */
}

TEST(versioning_builds_without_versions_are_listed) {
    cleanup(core_done) struct core f;
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    stamp.build_id = core_text(&f, "a\"b");
    REQUIRE(stamp.build_id);
    f.completion.worker_version_stamp = &stamp;
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown(&f, "BuildIds"), "[\"unversioned\",\"unversioned:a\\\"b\"]");
    CHECK_INT(core_pick(&f), 0);
    stamp.build_id = core_text(&f, "c");
    REQUIRE(stamp.build_id);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown(&f, "BuildIds"), "[\"unversioned\",\"unversioned:a\\\"b\",\"unversioned:c\"]");
    CHECK_STR(shown(&f, "TemporalWorkerDeployment"), "");
}

/* Overrides */

static Workflow__VersioningOverride *pin_to(struct core *f, struct version v) {
    Workflow__VersioningOverride old = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    old.behavior = VERSIONING_BEHAVIOR_PINNED;
    old.pinned_version = version_text(&f->arena, v, '.', "");
    return old.pinned_version ? versioning_override(&f->arena, &old) : NULL;
}

static int update(struct core *f, const Workflow__VersioningOverride *o, const char *path,
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

TEST(versioning_override_comes_before_what_workers_say) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    (void)core_new(&f);
    CHECK_INT(update(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    CHECK(changed);
    CHECK_STR(core_new(&f), "RUN_OPTIONS_UPDATED@7");
    const History__HistoryEvent *ev = core_event(&f, 7);
    CHECK(ev && ev->worker_may_ignore);
    CHECK_STR(core_effects(&f), "TASK@6"); /* it waits in the wrong queue */
    REQUIRE(f.st);
    CHECK(versioning_is_pinned(f.st));
    CHECK(version_eq(versioning_version(f.st), two));
    CHECK_STR(shown(&f, "TemporalWorkerDeploymentVersion"), "\"web:2\"");
    CHECK_INT(update(&f, pin_to(&f, two), "versioningOverride", &changed), 0);
    CHECK(!changed);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(pick(&f, one, false, one, 1), ERR_NOT_FOUND);
    CHECK_INT(turn(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK(versioning_is_pinned(f.st)); /* whatever the worker says */
    CHECK_INT(update(&f, NULL, "versioning_override", &changed), 0);
    CHECK(changed);
    REQUIRE(f.st);
    CHECK_INT(versioning_behavior(f.st), VERSIONING_BEHAVIOR_AUTO_UPGRADE);
    CHECK_STR(f.st->worker_deployment_name, "web");
}

TEST(versioning_override_has_rules) {
    cleanup(core_done) struct core f;
    Workflow__VersioningOverride o = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    Workflow__VersioningOverride__PinnedOverride pin = WORKFLOW__VERSIONING_OVERRIDE__PINNED_OVERRIDE__INIT;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update(&f, &o, "versioning_override", &changed), ERR_INVALID); /* says nothing */
    o.behavior = VERSIONING_BEHAVIOR_PINNED;
    CHECK_INT(update(&f, &o, "versioning_override", &changed), ERR_INVALID);
    o.pinned_version = core_text(&f, "web");
    CHECK_INT(update(&f, &o, "versioning_override", &changed), ERR_INVALID);
    o = (Workflow__VersioningOverride)WORKFLOW__VERSIONING_OVERRIDE__INIT;
    o.override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
    o.pinned = &pin;
    CHECK_INT(update(&f, &o, "versioning_override", &changed), ERR_PRECONDITION); /* pinned to nothing */
    CHECK_INT(update(&f, pin_to(&f, one), "versioning_override.pinned", &changed), ERR_INVALID);
    CHECK_INT(update(&f, pin_to(&f, one), "versioning_override.behavior", &changed), ERR_INVALID);
    CHECK_INT(update(&f, pin_to(&f, one), "memo", &changed), ERR_INVALID);
    CHECK(f.st && !f.st->versioning);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(update(&f, pin_to(&f, one), "versioning_override", &changed), ERR_CLOSED);
}

TEST(versioning_priority_is_an_option_too) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update(&f, NULL, "priority.priority_key", &changed), 0);
    REQUIRE(f.st && f.st->priority);
    CHECK(changed);
    CHECK_INT(f.st->priority->priority_key, 2);
    CHECK_STR(core_effects(&f), "TASK@2");
    CHECK_INT(update(&f, NULL, "priority", &changed), 0);
    CHECK(!changed);
}

TEST(versioning_one_time_override_is_over_when_it_has_worked) {
    cleanup(core_done) struct core f;
    Workflow__VersioningOverride o = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    Workflow__VersioningOverride__OneTimeOverride once =
        WORKFLOW__VERSIONING_OVERRIDE__ONE_TIME_OVERRIDE__INIT;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    once.target_deployment_version = version_message(&f.arena, two);
    o.override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME;
    o.one_time = &once;
    CHECK_INT(update(&f, &o, "versioning_override", &changed), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(turn(&f, two, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(!f.st->versioning->override);
    CHECK(version_eq(versioning_version(f.st), two));
}

/* What the next run takes over */

static int bequeath(struct core *f, const char *queue, E__ContinueAsNewVersioningBehavior initial,
                    struct version_legacy *ret) {
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    f->s.ctx.versions = &book;
    versioning_bequeath_continued(&f->s, queue, initial, ret);
    return 0;
}

TEST(versioning_continued_runs_inherit) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(pick(&f, one, true, two, 2), 0);
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(version_eq(version_of(l.pin), one));
        CHECK(!l.upgrade);
        CHECK(l.declined && version_eq(version_of(l.declined->deployment_version), two));
        CHECK_INT(core_end(&f, 0), 0);
    }
    if (bequeath(&f, "other", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(l.pin); /* the version serves that queue, too */
        CHECK_INT(core_end(&f, 0), 0);
    }
    if (bequeath(&f, "far", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(!l.pin && !l.upgrade);
        CHECK_INT(core_end(&f, 0), 0);
    }
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_USE_RAMPING_VERSION, &l) == 0) {
        CHECK(!l.pin && l.upgrade && !l.declined);
        CHECK(l.upgrade && version_eq(version_of(l.upgrade->source_deployment_version), one));
        CHECK_INT(core_end(&f, 0), 0);
    }
}

TEST(versioning_retried_runs_inherit_only_what_was_inherited) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->versioning && core_begin(&f));
    versioning_bequeath_retried(&f.s, CONTINUE_AS_NEW_INITIATOR_RETRY, &l);
    CHECK(!l.pin && !l.upgrade); /* the first run of the chain was free to choose: so is the next */
    f.st->versioning->is_pin_inherited = true;
    versioning_bequeath_retried(&f.s, CONTINUE_AS_NEW_INITIATOR_RETRY, &l);
    CHECK(version_eq(version_of(l.pin), one));
    versioning_bequeath_retried(&f.s, CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE, &l);
    CHECK(!l.pin);
    CHECK_INT(core_end(&f, 0), 0);
}

TEST(versioning_first_task_after_use_ramping_goes_to_the_ramp) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK(f.st && !versioning_wants_ramp(f.st));
    REQUIRE(core_begin(&f));
    Deployment__WorkerDeploymentVersion source = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT;
    Deployment__InheritedAutoUpgradeInfo info = DEPLOYMENT__INHERITED_AUTO_UPGRADE_INFO__INIT;
    source.deployment_name = core_text(&f, "web");
    source.build_id = core_text(&f, "1");
    info.source_deployment_version = &source;
    info.source_deployment_revision_number = 3;
    info.continue_as_new_initial_versioning_behavior =
        CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_USE_RAMPING_VERSION;
    struct run_birth birth = {.inherited_upgrade = &info};
    versioning_begin(&f.s, &birth, NULL);
    CHECK_INT(core_end(&f, 0), 0);
    CHECK(f.st && versioning_wants_ramp(f.st));
    CHECK_INT(turn(&f, two, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK(f.st && !versioning_wants_ramp(f.st)); /* only the first */
}

TEST(versioning_is_rebuilt_from_events) {
    cleanup(core_done) struct core f, g;
    bool changed = false;
    core_init(&f);
    core_init(&g);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(update(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    bool failed = false;
    g.st = pb_new(&state__execution__descriptor, &failed);
    REQUIRE(f.st && g.st && core_begin(&g));
    int rc = 0;
    const History__HistoryEvent *ev;
    for (int64_t id = 1; rc == 0 && (ev = core_event(&f, id)); id++)
        rc = rebuild_apply(&g.s, ev);
    CHECK_INT(core_end(&g, rc), 0);
    REQUIRE(g.st && g.st->versioning);
    CHECK(version_eq(version_of(g.st->versioning->version), one));
    CHECK(version_eq(versioning_version(g.st), two));
    CHECK_STR(shown(&g, "BuildIds"), "[\"pinned:web:2\"]");
}
