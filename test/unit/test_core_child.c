/* Children of a run that closes before it hears that they have started. The engine's tests have the rest. */
#include <stdio.h>

#include "core/child.h"
#include "core/letter.h"
#include "core/reapply.h"
#include "core_fixture.h"

static void add_child(struct core *f, E__ParentClosePolicy policy) {
    Command__Command *c = core_add(f, COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION);
    Command__StartChildWorkflowExecutionCommandAttributes *a =
        arena_new(&f->arena, Command__StartChildWorkflowExecutionCommandAttributes);
    REQUIRE(c && a);
    command__start_child_workflow_execution_command_attributes__init(a);
    a->workflow_id = core_text(f, "child");
    a->workflow_type = f->start.workflow_type;
    a->parent_close_policy = policy;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->start_child_workflow_execution_command_attributes = a;
}

/* A closed run whose child (event 5) is being started. */
static int begin(struct core *f, E__ParentClosePolicy policy) {
    int rc = core_begin_run(f);
    add_child(f, policy);
    if (rc == 0)
        rc = core_complete(f);
    return rc == 0 ? core_terminate(f) : rc;
}

static const struct child_birth birth = {
    .namespace_name = "default", .namespace_id = "id", .run_id = "child-run"};

/* It obeys its policy, writes no event, and is remembered for a copy of the run. */
static void check_orphan(E__ParentClosePolicy policy, int32_t first_kind, int32_t second_kind) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, policy), 0);
    REQUIRE(f.st && f.st->n_outbox == 1);
    (void)core_new(&f);
    int64_t start_letter = f.st->outbox[0]->id;
    CHECK_INT(STEP_VOID(&f, (child_started(&f.s, 5, &birth), letter_remove(&f.s, start_letter))), 0);
    CHECK_STR(core_new(&f), "");
    REQUIRE(f.st && f.st->n_children == 1);
    CHECK(f.st->children[0]->is_started);
    CHECK_STR(f.st->children[0]->run_id, "child-run");
    REQUIRE(f.st->n_outbox == (second_kind ? 2U : 1U));
    CHECK_INT(f.st->outbox[0]->kind, first_kind);
    CHECK_STR(f.st->outbox[0]->run_id, "child-run");
    if (second_kind)
        CHECK_INT(f.st->outbox[1]->kind, second_kind);
    CHECK_INT(STEP_VOID(&f, child_started(&f.s, 5, &birth)), 0); /* told again */
    CHECK(f.st && f.st->n_outbox == (second_kind ? 2U : 1U));
}

TEST(child_that_starts_after_the_close_is_remembered) {
    check_orphan(PARENT_CLOSE_POLICY_ABANDON, LETTER_CHILD_GO, 0);
    check_orphan(PARENT_CLOSE_POLICY_REQUEST_CANCEL, LETTER_CANCEL_CHILD, LETTER_CHILD_GO);
    check_orphan(PARENT_CLOSE_POLICY_TERMINATE, LETTER_TERMINATE_CHILD, 0);
}

TEST(child_that_failed_to_start_after_the_close_is_forgotten) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, PARENT_CLOSE_POLICY_ABANDON), 0);
    (void)core_new(&f);
    CHECK_INT(
        STEP_VOID(&f, child_start_failed(
                          &f.s, 5, START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS)),
        0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->n_children == 0);
}

/* What is behind the reset point stays with the base run. */
TEST(child_letter_is_handed_over_up_to_the_reset_point) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, PARENT_CLOSE_POLICY_ABANDON), 0);
    REQUIRE(f.st && f.st->n_outbox == 1);
    char request_id[64];
    (void)snprintf(request_id, sizeof request_id, "%s", f.st->outbox[0]->request_id);
    CHECK_INT(STEP_VOID(&f, reapply_hand_over(&f.s, 5)), 0);
    CHECK(f.st && f.st->n_outbox == 1);
    CHECK_INT(STEP_VOID(&f, reapply_hand_over(&f.s, 6)), 0);
    REQUIRE(f.st && f.st->n_outbox == 0 && f.st->n_children == 1);
    CHECK_STR(f.st->children[0]->request_id, request_id);
}
