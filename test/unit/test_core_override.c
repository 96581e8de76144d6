/* What a client may change of an open run: the override, which outdoes what workers say, and the priority. */
#include <stdio.h>

#include "message_text.h"
#include "version_fixture.h"

TEST(versioning_override_comes_before_what_workers_say) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    (void)core_new(&f);
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    CHECK(changed);
    CHECK_STR(core_new(&f), "RUN_OPTIONS_UPDATED@7");
    const History__HistoryEvent *ev = core_event(&f, 7);
    CHECK(ev && ev->worker_may_ignore);
    CHECK_STR(core_effects(&f), "TASK@6"); /* it waits in the wrong queue */
    REQUIRE(f.st);
    CHECK(versioning_is_pinned(f.st));
    CHECK(version_eq(versioning_version(f.st), two));
    CHECK_STR(shown_attribute(&f, "TemporalWorkerDeploymentVersion"), "\"web:2\"");
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioningOverride", &changed), 0);
    CHECK(!changed);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(worker_pick(&f, one, false, one, 1), ERR_NOT_FOUND);
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    REQUIRE(f.st);
    CHECK(versioning_is_pinned(f.st)); /* whatever the worker says */
    CHECK_INT(update_options(&f, NULL, "versioning_override", &changed), 0);
    CHECK(changed);
    REQUIRE(f.st);
    CHECK_INT(versioning_behavior(f.st), VERSIONING_BEHAVIOR_AUTO_UPGRADE);
    CHECK_STR(f.st->worker_deployment_name, "web");
}

/* The worker that had the task when the run was pinned elsewhere gets nothing more of it. */
TEST(versioning_override_while_a_worker_has_the_task) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_pick(&f, one, true, one, 1), 0);
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    CHECK(changed);
    CHECK_INT(core_signal(&f, "go on"), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    f.completion.return_new_workflow_task = true;
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(!f.done.is_new_started);
    CHECK_STR(f.st->sticky_queue, "");
    CHECK_INT(worker_pick(&f, one, true, one, 1), ERR_NOT_FOUND);
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_PINNED), 0);
}

TEST(versioning_override_stops_a_move) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    REQUIRE(f.st);
    CHECK(versioning_is_moving(f.st));
    CHECK_INT(update_options(&f, pin_to(&f, two), "versioning_override", &changed), 0);
    REQUIRE(f.st);
    CHECK(!versioning_is_moving(f.st));
    CHECK(version_eq(versioning_version(f.st), two));
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0); /* it had the task already */
    CHECK_INT(worker_pick(&f, one, false, one, 1), ERR_NOT_FOUND);
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
}

TEST(versioning_override_has_rules) {
    cleanup(core_done) struct core f;
    Workflow__VersioningOverride o = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    Workflow__VersioningOverride__PinnedOverride pin = WORKFLOW__VERSIONING_OVERRIDE__PINNED_OVERRIDE__INIT;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update_options(&f, &o, "versioning_override", &changed), ERR_INVALID); /* says nothing */
    o.behavior = VERSIONING_BEHAVIOR_PINNED;
    CHECK_INT(update_options(&f, &o, "versioning_override", &changed), ERR_INVALID);
    o.pinned_version = core_text(&f, "web");
    CHECK_INT(update_options(&f, &o, "versioning_override", &changed), ERR_INVALID);
    o = (Workflow__VersioningOverride)WORKFLOW__VERSIONING_OVERRIDE__INIT;
    o.override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
    o.pinned = &pin;
    CHECK_INT(update_options(&f, &o, "versioning_override", &changed),
              ERR_PRECONDITION); /* pinned to nothing */
    CHECK_INT(update_options(&f, pin_to(&f, one), "versioning_override.pinned", &changed), ERR_INVALID);
    CHECK_INT(update_options(&f, pin_to(&f, one), "versioning_override.behavior", &changed), ERR_INVALID);
    CHECK_INT(update_options(&f, pin_to(&f, one), "memo", &changed), ERR_INVALID);
    CHECK(f.st && !f.st->versioning);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(update_options(&f, pin_to(&f, one), "versioning_override", &changed), ERR_CLOSED);
}

TEST(versioning_one_time_override_is_over_when_it_has_worked) {
    cleanup(core_done) struct core f;
    Workflow__VersioningOverride o = WORKFLOW__VERSIONING_OVERRIDE__INIT;
    Workflow__VersioningOverride__OneTimeOverride once =
        WORKFLOW__VERSIONING_OVERRIDE__ONE_TIME_OVERRIDE__INIT;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    once.target_deployment_version = version_message(&f.arena, two);
    o.override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME;
    o.one_time = &once;
    CHECK_INT(update_options(&f, &o, "versioning_override", &changed), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(!f.st->versioning->override);
    CHECK(version_eq(versioning_version(f.st), two));
}

/* A one-time override stays until a worker of its version has completed a task. */
TEST(versioning_one_time_override_waits_for_its_worker) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_pick(&f, one, false, one, 1), 0);
    const Workflow__VersioningOverride *once =
        message_of(&f.arena, &workflow__versioning_override__descriptor,
                   "{'oneTime':{'targetDeploymentVersion':{'deploymentName':'web','buildId':'2'}}}");
    REQUIRE(once);
    CHECK_INT(update_options(&f, once, "versioning_override", &changed), 0);
    CHECK_INT(worker_complete(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(f.st->versioning->override != NULL);
}

/* every form of an override */

TEST(versioning_override_forms) {
    static const struct {
        const char *override, *error; /* "" is fine */
        const char *target; /* of the form that is kept */
    } cases[] = {
        {"{'autoUpgrade':true}", "", ""},
        {"{'autoUpgrade':false}", "The auto-upgrade override must be true.", ""},
        {"{'pinned':{}}", "The pinned versioning override has no behavior.", ""},
        {"{'pinned':{'behavior':1}}", "The versioning override names no version.", ""},
        {"{'pinned':{'behavior':1,'version':{'deploymentName':'web','buildId':'1'}}}", "", "web:1"},
        {"{'pinned':{'behavior':1,'version':{'deploymentName':'web'}}}", "BuildID is not set.", ""},
        {"{'oneTime':{}}", "The versioning override names no version.", ""},
        {"{'oneTime':{'targetDeploymentVersion':{'deploymentName':'web','buildId':'1'}}}", "", "web:1"},
        {"{'behavior':1}", "The versioning override is pinned but names no version.", ""},
        {"{'behavior':1,'deployment':{'seriesName':'web','buildId':'1'}}", "", "web:1"},
        {"{'behavior':1,'deployment':{'seriesName':'web'}}", "BuildID is not set.", ""},
        {"{'behavior':1,'pinnedVersion':'web.1'}", "", "web:1"},
        {"{'behavior':1,'pinnedVersion':'web:1.2'}", "", "web:1.2"},
        {"{'behavior':1,'pinnedVersion':'web.'}",
         "Invalid version \"web.\": a version is a deployment, a dot or colon, and a build id.", ""},
        {"{'behavior':1,'pinnedVersion':':1'}",
         "Invalid version \":1\": a version is a deployment, a dot or colon, and a build id.", ""},
        {"{'behavior':2}", "", ""},
        {"{'behavior':2,'pinnedVersion':'web.1'}",
         "The versioning override names a version but is not pinned.", ""},
        {"{'behavior':2,'deployment':{'seriesName':'web','buildId':'1'}}",
         "The versioning override names a version but is not pinned.", ""},
        {"{'behavior':7}", "The versioning override has no known behavior.", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, (size_t)1 << 20);
        const Workflow__VersioningOverride *o =
            message_of(&a, &workflow__versioning_override__descriptor, cases[i].override);
        REQUIRE(o);
        int rc = versioning_check_override(o, &err);
        CHECK_INT(rc, *cases[i].error ? ERR_INVALID : 0);
        if (!CHECK_STR(err.text, cases[i].error))
            printf("# %s\n", cases[i].override);
        const Workflow__VersioningOverride *kept = rc == 0 ? versioning_override(&a, o) : NULL;
        const char *target = kept ? version_text(&a, versioning_override_target(kept), ':', "") : NULL;
        REQUIRE(rc < 0 || target);
        if (target)
            CHECK_STR(target, cases[i].target);
    }
    CHECK(!versioning_override(NULL, NULL));
}

/* A pin without a version stays where the run is pinned already. */
TEST(versioning_pin_stays_here) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, one, VERSIONING_BEHAVIOR_PINNED), 0);
    const Workflow__VersioningOverride *here =
        message_of(&f.arena, &workflow__versioning_override__descriptor, "{'pinned':{'behavior':1}}");
    REQUIRE(here);
    CHECK_INT(update_options(&f, here, "versioning_override", &changed), 0);
    REQUIRE(f.st && f.st->versioning);
    CHECK(version_eq(versioning_override_target(f.st->versioning->override), one));
    CHECK_INT(
        update_options(&f, NULL, "versioning_override_that_is_no_option_of_a_workflow_at_all", &changed),
        ERR_INVALID);
}

/* To a version that no worker of the queue has, nobody is pinned. */
TEST(versioning_pin_needs_workers) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    f.start.task_queue = core_queue(&f, "far");
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update_options(&f, pin_to(&f, one), "versioning_override", &changed), ERR_PRECONDITION);
    REQUIRE(core_begin(&f)); /* and without a book there are no versions at all */
    CHECK_INT(versioning_check_served(&f.s, pin_to(&f, one), "queue"), ERR_PRECONDITION);
    CHECK_INT(core_end(&f, 0), 0);
}

/* the priority */

TEST(versioning_priority_is_an_option_too) {
    cleanup(core_done) struct core f;
    bool changed = false;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update_options(&f, NULL, "priority.priority_key", &changed), 0);
    REQUIRE(f.st && f.st->priority);
    CHECK(changed);
    CHECK_INT(f.st->priority->priority_key, 2);
    CHECK_STR(core_effects(&f), "TASK@2");
    CHECK_INT(update_options(&f, NULL, "priority", &changed), 0);
    CHECK(!changed);
}

static int update_priority(struct core *f, const char *options, const char *path) {
    bool changed = false;
    Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
    char *paths[] = {core_text(f, path)};
    const Workflow__WorkflowExecutionOptions *in =
        message_of(&f->arena, &workflow__workflow_execution_options__descriptor, options);
    mask.paths = paths;
    mask.n_paths = 1;
    if (!in || !paths[0])
        return ERR_NO_MEMORY;
    return STEP(f, options_update(&f->s, in, &mask, "operator", &changed));
}

TEST(options_change_a_part_of_the_priority) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(update_priority(&f, "{'priority':{'priorityKey':2,'fairnessKey':'a'}}", "priority"), 0);
    CHECK_INT(
        update_priority(&f, "{'priority':{'priorityKey':9,'fairnessKey':'b'}}", "priority.fairness_key"), 0);
    REQUIRE(f.st && f.st->priority);
    CHECK_INT(f.st->priority->priority_key, 2);
    CHECK_STR(f.st->priority->fairness_key, "b");
    CHECK_INT(update_priority(&f, "{}", "priority.priority_key"), 0);
    REQUIRE(f.st && f.st->priority);
    CHECK_INT(f.st->priority->priority_key, 0);
    CHECK_STR(f.st->priority->fairness_key, "b");
    CHECK_INT(update_priority(&f, "{'priority':{'priorityKey':-1}}", "priority"), ERR_INVALID);
    CHECK_STR(f.err.text, "priority key can't be negative");
    CHECK_INT(update_priority(&f, "{'priority':{'fairnessKey':'LONG'}}", "priority"), ERR_INVALID);
    CHECK_STR(f.err.text, "fairness key length exceeds limit");
    CHECK_INT(update_priority(&f, "{'priority':{'fairnessWeight':'NaN'}}", "priority"), ERR_INVALID);
    CHECK_STR(f.err.text, "fairness weight must be greater than zero");
    CHECK_INT(update_priority(&f, "{}", "priority"), 0);
    CHECK(f.st && (!f.st->priority || cstr_is_empty(f.st->priority->fairness_key)));
}
