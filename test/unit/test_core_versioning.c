/* Runs and the versions of their workers: where they belong, how they move, what they show. */
#include "core/reset/rebuild.h"
#include "message_text.h"
#include "version_fixture.h"

static const struct version none = {0};

TEST(versioning_a_run_arrives_where_its_first_task_is_completed) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 7), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(versioning_is_moving(f.st));
    CHECK_INT(versioning_behavior(f.st), VERSIONING_BEHAVIOR_AUTO_UPGRADE);
    CHECK(version_eq(versioning_version(f.st), one));
    CHECK(version_is_none(versioning_shown_version(f.st)));
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
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
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"pinned:web:1\"]");
    CHECK_STR(shown_attribute(&f, "TemporalWorkerDeployment"), "\"web\"");
    CHECK_STR(shown_attribute(&f, "TemporalWorkerDeploymentVersion"), "\"web:1\"");
    CHECK_STR(shown_attribute(&f, "TemporalWorkflowVersioningBehavior"), "\"Pinned\"");
    CHECK_STR(shown_attribute(&f, "TemporalUsedWorkerDeploymentVersions"), "[\"web:1\"]");
}

TEST(versioning_a_pinned_run_has_only_workers_of_its_version) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, two, true, two, 2), ERR_NOT_FOUND);
    CHECK_INT(worker_pick(&f, none, false, two, 2), ERR_NOT_FOUND);
    CHECK_INT(worker_pick(&f, one, false, two, 2), ERR_NOT_FOUND); /* an entry from before it was pinned */
    CHECK_INT(worker_pick(&f, one, true, one, 2), 0);
    CHECK(f.st && !versioning_is_moving(f.st));
}

TEST(versioning_an_auto_upgrade_run_moves) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK_STR(f.st->sticky_queue, "sticky");
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(STEP_VOID(&f, task_unstick(&f.s)), 0); /* what the engine does when the route has moved */
    CHECK_INT(worker_pick(&f, two, false, two, 2), 0);
    REQUIRE(f.st);
    CHECK(versioning_is_moving(f.st));
    core_add_activity(&f, "a");
    CHECK_INT(worker_complete(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK(!versioning_is_moving(f.st));
    CHECK(version_eq(versioning_version(f.st), two));
    CHECK_STR(shown_attribute(&f, "TemporalUsedWorkerDeploymentVersions"), "[\"web:1\",\"web:2\"]");
    CHECK_STR(shown_attribute(&f, "TemporalWorkflowVersioningBehavior"), "\"AutoUpgrade\"");
    CHECK_STR(shown_attribute(&f, "BuildIds"), "");
}

TEST(versioning_an_activity_moves_its_run_first) {
    cleanup(core_done) struct core f;
    bool is_moved = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    core_add_activity(&f, "a");
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    struct version_pick p = {.version = two, .workflow_target = two, .revision = 2};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), 0);
    CHECK(is_moved);
    CHECK_STR(core_effects(&f), "TASK@6");
    REQUIRE(f.st && f.st->n_activities == 1);
    CHECK_INT(f.st->activities[0]->started_us, 0);
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)), ERR_NOT_FOUND); /* not on the way */
    CHECK_INT(worker_pick(&f, two, false, two, 2), 0);
    CHECK_INT(worker_complete(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
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
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    core_add_activity(&f, "a");
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    struct version_pick p = {.version = two, .workflow_target = two, .revision = 2};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &p, &is_moved)),
              0); /* while that task is with one */
    CHECK(is_moved);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    f.completion.return_new_workflow_task = true;
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
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
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_UNSPECIFIED),
              0); /* a worker that says nothing of its workflows */
    CHECK_INT(core_signal(&f, "go"), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.st->task->is_sticky);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(versioning_is_moving(f.st) && !f.st->task->is_sticky);
    CHECK_STR(f.st->sticky_queue, "");
}

TEST(versioning_a_pinned_run_is_told_of_a_new_version) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, two, 2), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.st->task->is_target_changed);
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    const History__WorkflowTaskStartedEventAttributes *ev =
        core_attributes(&f, 7, EVENT_TYPE_WORKFLOW_TASK_STARTED);
    CHECK(ev && ev->target_worker_deployment_version_changed);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, one, 3), 0); /* taken back */
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

/* Both texts and numbers of a worker's options. */
TEST(versioning_options_of_a_worker) {
    static const struct {
        const char *options, *error;
        bool is_versioned;
    } cases[] = {
        {"{'deploymentName':'web','buildId':'1'}", "", false},
        {"{'deploymentName':'web','buildId':'1','workerVersioningMode':1}", "", false},
        {"{'deploymentName':'web','buildId':'1','workerVersioningMode':2}", "", true},
        {"{'deploymentName':'web','workerVersioningMode':2}",
         "A versioned worker must set both a deployment name and a build id.", false},
        {"{'buildId':'1','workerVersioningMode':2}",
         "A versioned worker must set both a deployment name and a build id.", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, (size_t)1 << 20);
        const Deployment__WorkerDeploymentOptions *o =
            message_of(&a, &deployment__worker_deployment_options__descriptor, cases[i].options);
        REQUIRE(o);
        CHECK_INT(version_validate_options(o, &err), *cases[i].error ? ERR_INVALID : 0);
        CHECK_STR(err.text, cases[i].error);
        if (!*cases[i].error)
            CHECK_INT(version_is_none(version_of_options(o)), !cases[i].is_versioned);
    }
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
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"unversioned\",\"unversioned:a\\\"b\"]");
    CHECK_INT(core_pick(&f), 0);
    stamp.build_id = core_text(&f, "c");
    REQUIRE(stamp.build_id);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"unversioned\",\"unversioned:a\\\"b\",\"unversioned:c\"]");
    CHECK_STR(shown_attribute(&f, "TemporalWorkerDeployment"), "");
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
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, two, 2), 0);
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
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
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
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK(f.st && !versioning_wants_ramp(f.st)); /* only the first */
}

TEST(versioning_is_rebuilt_from_events) {
    cleanup(core_done) struct core f, g;
    bool changed = false;
    core_init(&f);
    core_init(&g);
    f.start.versioning_override = pin_to(&f, one);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
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
    CHECK_STR(shown_attribute(&g, "BuildIds"), "[\"pinned:web:2\"]");
}

/* The declined version of the run before counts until a newer one comes. */
TEST(versioning_declined_versions_are_not_told_again) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(core_begin(&f));
    Deployment__WorkerDeploymentVersion pin = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT, gone = pin;
    History__DeclinedTargetVersionUpgrade declined = HISTORY__DECLINED_TARGET_VERSION_UPGRADE__INIT;
    pin.deployment_name = gone.deployment_name = core_text(&f, "web");
    pin.build_id = core_text(&f, "1");
    gone.build_id = core_text(&f, "2");
    declined.deployment_version = &gone;
    declined.revision_number = 5;
    versioning_begin(&f.s, &(struct run_birth){.inherited_pin = &pin, .declined = &declined}, NULL);
    CHECK_INT(core_end(&f, 0), 0);
    CHECK_INT(worker_pick(&f, one, true, two, 5), 0);
    REQUIRE(f.st && f.st->task && f.st->versioning);
    CHECK(!f.st->task->is_target_changed);
    CHECK(f.st->versioning->declined != NULL);
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, two, 6), 0);
    REQUIRE(f.st && f.st->task && f.st->versioning);
    CHECK(f.st->task->is_target_changed);
    CHECK(!f.st->versioning->declined);
}

TEST(versioning_children_inherit) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    versioning_bequeath_child(f.st, &book, "queue", &l); /* never routed: nothing to pass on */
    CHECK(!l.pin && !l.upgrade && !l.override);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    versioning_bequeath_child(f.st, &book, "queue", &l);
    CHECK(!l.pin && l.upgrade);
    versioning_bequeath_child(f.st, NULL, "other", &l); /* nobody knows whether the version serves it */
    CHECK(!l.pin && !l.upgrade);
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    REQUIRE(f.st);
    versioning_bequeath_child(f.st, &book, "other", &l);
    CHECK(version_eq(version_of(l.pin), two));
    CHECK(l.override && version_eq(versioning_override_target(l.override), two));
    versioning_bequeath_child(f.st, &book, "far", &l);
    CHECK(!l.pin && !l.override);
    const Workflow__VersioningOverride *once =
        message_of(&f.arena, &workflow__versioning_override__descriptor,
                   "{'oneTime':{'targetDeploymentVersion':{'deploymentName':'web','buildId':'1'}}}");
    REQUIRE(once);
    CHECK_INT(update_options(&f, once, "versioning_override", &changed), 0);
    REQUIRE(f.st);
    versioning_bequeath_child(f.st, &book, "queue", &l);
    CHECK(l.override && version_eq(version_of(l.pin), one));
    struct run_birth birth = {0};
    Ws__StartWorkflowExecutionRequest req = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    versioning_inherit(&birth, &req, &l);
    CHECK(req.versioning_override == l.override);
}

/* An override that pins goes on with the chain, as long as the queue is one that the version serves. */
TEST(versioning_pins_by_override_go_on) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(l.override && version_eq(version_of(l.pin), two));
        versioning_bequeath_retried(&f.s, CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE, &l);
        CHECK(l.override && !l.pin);
        CHECK_INT(core_end(&f, 0), 0);
    }
    if (bequeath(&f, "far", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(!l.override && !l.pin);
        CHECK_INT(core_end(&f, 0), 0);
    }
}

/* Workers without versions: there is nothing to upgrade from. */
TEST(versioning_without_versions_leaves_nothing) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    const Workflow__VersioningOverride *newest =
        message_of(&f.arena, &workflow__versioning_override__descriptor, "{'autoUpgrade':true}");
    REQUIRE(newest);
    CHECK_INT(update_options(&f, newest, "versioning_override", &changed), 0);
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(!l.override && !l.pin && !l.upgrade);
        CHECK_INT(core_end(&f, 0), 0);
    }
    CHECK_INT(update_options(&f, NULL, "versioning_override", &changed), 0);
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(!l.override && !l.pin && !l.upgrade);
        versioning_bequeath_child(f.st, &book, "queue", &l);
        CHECK(!l.override && !l.pin && !l.upgrade);
        CHECK_INT(core_end(&f, 0), 0);
    }
}

/* A run is told that new work goes to workers without a version; the next one hears that it declined. */
TEST(versioning_declines_workers_without_a_version) {
    cleanup(core_done) struct core f;
    struct version_legacy l;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, none, 2), 0);
    if (bequeath(&f, "queue", CONTINUE_AS_NEW_VERSIONING_BEHAVIOR_UNSPECIFIED, &l) == 0) {
        CHECK(l.declined && !l.declined->deployment_version);
        CHECK_INT(core_end(&f, 0), 0);
    }
}

/* An activity task that stands in the queue of another version is not given out. */
TEST(versioning_activities_of_a_pinned_run) {
    cleanup(core_done) struct core f;
    bool moved = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    core_add_activity(&f, "a");
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    struct version_pick other = {.version = two, .is_bound = true}, own = {.version = one, .is_bound = true};
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &other, &moved)), ERR_NOT_FOUND);
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &own, &moved)), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(STEP(&f, versioning_take_activity(&f.s, 5, &own, &moved)), ERR_NOT_FOUND); /* not pinned now */
    CHECK(!moved);
}

/* what is listed */

TEST(versioning_builds_are_listed_as_json) {
    cleanup(core_done) struct core f;
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    stamp.build_id = core_text(&f, "a\\b\n");
    stamp.use_versioning = true;
    REQUIRE(stamp.build_id);
    f.completion.worker_version_stamp = &stamp;
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"versioned:a\\\\b\\u000a\"]");
    CHECK_INT(core_pick(&f), 0);
    stamp.build_id = core_text(&f, "");
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"versioned:a\\\\b\\u000a\"]");
    CHECK_INT(core_pick(&f), 0);
    stamp.build_id = core_text(&f, "a\\b\n"); /* known, and now without versions */
    stamp.use_versioning = false;
    REQUIRE(stamp.build_id);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"unversioned\",\"versioned:a\\\\b\\u000a\","
                                               "\"unversioned:a\\\\b\\u000a\"]");
}

/* The oldest make room. */
TEST(versioning_builds_that_are_too_many) {
    cleanup(core_done) struct core f;
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    f.completion.worker_version_stamp = &stamp;
    for (int i = 0; i < LIMIT_BUILD_IDS_BYTES / 100 + 2; i++) {
        stamp.build_id = arena_printf(&f.arena, "%0100d", i);
        f.completion.force_create_new_workflow_task = true;
        REQUIRE(stamp.build_id);
        CHECK_INT(core_complete(&f), 0);
        CHECK_INT(core_pick(&f), 0);
    }
    REQUIRE(f.st && f.st->n_build_ids);
    CHECK(strlen(shown_attribute(&f, "BuildIds")) <= LIMIT_BUILD_IDS_BYTES);
    CHECK_STR(f.st->build_ids[0], "unversioned");
    CHECK(!strstr(shown_attribute(&f, "BuildIds"), "00000\"")); /* the first one */
}

/* Without a pin there was nothing to decline. */
TEST(versioning_declines_only_with_a_pin) {
    cleanup(core_done) struct core f;
    Deployment__WorkerDeploymentVersion source = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT;
    Deployment__InheritedAutoUpgradeInfo info = DEPLOYMENT__INHERITED_AUTO_UPGRADE_INFO__INIT;
    History__DeclinedTargetVersionUpgrade declined = HISTORY__DECLINED_TARGET_VERSION_UPGRADE__INIT;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    info.source_deployment_version = &source;
    struct run_birth birth = {.inherited_upgrade = &info, .declined = &declined};
    CHECK_INT(STEP_VOID(&f, versioning_begin(&f.s, &birth, NULL)), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(!f.st->versioning->declined);
}

/* A task that may leave no trace moves nobody. */
TEST(versioning_speculative_tasks_do_not_move_a_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK_INT(worker_pick(&f, two, false, two, 2), 0);
    CHECK(f.st && !versioning_is_moving(f.st));
}

/* A build that is listed stays where it is, also when the run is bound to a version then. */
TEST(versioning_builds_are_listed_once) {
    cleanup(core_done) struct core f;
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    stamp.build_id = core_text(&f, "c");
    REQUIRE(stamp.build_id);
    f.completion.worker_version_stamp = &stamp;
    for (int i = 0; i < 2; i++) {
        f.completion.force_create_new_workflow_task = true;
        CHECK_INT(core_complete(&f), 0);
        CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"unversioned\",\"unversioned:c\"]");
        CHECK_INT(i ? worker_pick(&f, one, false, one, 1) : core_pick(&f), 0);
    }
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_STR(shown_attribute(&f, "BuildIds"), "[\"pinned:web:1\",\"unversioned:c\"]");
}

/* The next run's attributes are the user's; without room for them there is no next run. */
TEST(versioning_attributes_are_left_out_of_the_next_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    const Common__SearchAttributes *both =
        message_of(&f.arena, &common__search_attributes__descriptor,
                   "{'indexedFields':{'BatcherUser':'me','BuildIds':['b']}}");
    REQUIRE(both && core_begin(&f));
    const Common__SearchAttributes *own = versioning_strip(&f.s, both);
    REQUIRE(own && !step_failed(&f.s));
    CHECK_INT(own->n_indexed_fields, 1);
    for (size_t room = 0; room <= sizeof(*both); room += sizeof(*both)) {
        cleanup(arena_done) struct arena little;
        arena_init(&little, room);
        REQUIRE(core_begin(&f));
        f.s.arena = &little;
        (void)versioning_strip(&f.s, both);
        CHECK(step_failed(&f.s));
    }
    CHECK_INT(core_end(&f, ERR_NO_MEMORY), ERR_NO_MEMORY);
}
