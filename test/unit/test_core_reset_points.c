/* Reset points: the first workflow task of each build, in the whole chain. As text a point is
 * "build/checksum@event", with "!" in front when it is not resettable and the run id behind it when it is of
 * another run. */
#include "core/reset/reset_points.h"

#include "command_text.h"
#include "core/reset/rebuild.h"
#include "version_fixture.h"
#include "wire/guard.h"

#define DAY_US (INT64_C(86400) * USEC_PER_SEC)

static const char *points_text(struct core *f, const State__Execution *st) {
    struct buf *b = &f->scratch;
    const Workflow__ResetPoints *points = st ? st->reset_points : NULL;
    buf_clear(b);
    for (size_t i = 0; points && i < points->n_points; i++) {
        const Workflow__ResetPointInfo *p = points->points[i];
        buf_printf(b, "%s%s%s", i ? " " : "", p->resettable ? "" : "!", p->build_id);
        if (!cstr_is_empty(p->binary_checksum))
            buf_printf(b, "/%s", p->binary_checksum);
        buf_printf(b, "@%lld", (long long)p->first_workflow_task_completed_id);
        if (!cstr_eq(p->run_id, st->run_id))
            buf_printf(b, ":%s", p->run_id);
    }
    buf_add_u8(b, 0);
    return buf_ok(b) ? (const char *)b->data : "";
}

/* A worker of this build completes the task with the commands that were added. */
static int build_complete(struct core *f, const char *build_id, const char *checksum) {
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    stamp.build_id = core_text(f, build_id);
    f->completion.binary_checksum = core_text(f, checksum);
    f->completion.worker_version_stamp = &stamp;
    int rc = stamp.build_id && f->completion.binary_checksum ? core_pick(f) : ERR_NO_MEMORY;
    if (rc == 0)
        rc = core_complete(f);
    f->completion.worker_version_stamp = NULL;
    return rc;
}

/* The same, and there is a next task. */
static int build_turn(struct core *f, const char *build_id, const char *checksum) {
    int rc = build_complete(f, build_id, checksum);
    return rc == 0 ? core_signal(f, "go") : rc;
}

TEST(reset_points_are_the_first_task_of_each_build) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_STR(points_text(&f, f.st), "");
    CHECK_INT(build_turn(&f, "a", ""), 0);
    CHECK_INT(build_turn(&f, "a", ""), 0);
    core_advance(&f, DAY_US);
    CHECK_INT(build_turn(&f, "b", ""), 0);
    CHECK_INT(build_turn(&f, "a", ""), 0); /* it is back, and has its point */
    CHECK_INT(build_turn(&f, "", ""), 0); /* a worker that tells nothing is a build, too */
    CHECK_STR(points_text(&f, f.st), "a@4 b@12 @20");
    CHECK_STR(shown_attribute(&f, "BinaryChecksums"), "");
    CHECK_INT(build_turn(&f, "a", "x"), 0);
    CHECK_INT(build_turn(&f, "a", "y"), 0);
    CHECK_STR(points_text(&f, f.st), "a@4 b@12 @20 a/x@24 a/y@28");
    CHECK_STR(shown_attribute(&f, "BinaryChecksums"), "[\"x\",\"y\"]");
    REQUIRE(f.st && f.st->reset_points && f.st->reset_points->n_points == 5);
    CHECK_INT(pb_timestamp_us(f.st->reset_points->points[0]->create_time), CORE_T0);
    CHECK_INT(pb_timestamp_us(f.st->reset_points->points[1]->create_time), CORE_T0 + DAY_US);
    CHECK(!f.st->reset_points->points[0]->expire_time);
}

TEST(reset_points_name_the_build_of_the_deployment) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(worker_turn(&f, two, VERSIONING_BEHAVIOR_AUTO_UPGRADE), 0);
    CHECK_STR(points_text(&f, f.st), "2@4");
}

TEST(reset_points_know_what_was_pending) {
    static const char *const commands[] = {
        "{'commandType':'COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION',"
        "'signalExternalWorkflowExecutionCommandAttributes':{'signalName':'s','execution':{'workflowId':'w'}}"
        "}",
        "{'commandType':'COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION',"
        "'startChildWorkflowExecutionCommandAttributes':{'workflowId':'c','workflowType':{'name':'T'},"
        "'taskQueue':{'name':'q'}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_start(&f), 0);
        command_add(&f, commands[i]);
        CHECK_INT(build_turn(&f, "a", ""), 0);
        CHECK_INT(build_turn(&f, "b", ""), 0);
        CHECK_STR(points_text(&f, f.st), "a@4 !b@9");
    }
}

TEST(reset_points_are_bounded) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.limits.values[SETTABLE_RESET_POINTS] = 2;
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(build_turn(&f, "a", ""), 0);
    CHECK_INT(build_turn(&f, "b", ""), 0);
    CHECK_STR(points_text(&f, f.st), "a@4 b@8");
    CHECK_INT(build_turn(&f, "c", ""), 0);
    CHECK_STR(points_text(&f, f.st), "b@8 c@12");
}

/* Longer names are those of no build that anyone could ask for. */
TEST(reset_points_have_short_names) {
    cleanup(core_done) struct core f;
    char name[LIMIT_ID_BYTES + 2];
    core_init(&f);
    memset(name, 'n', sizeof(name));
    name[LIMIT_ID_BYTES + 1] = '\0';
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(build_turn(&f, name, ""), 0);
    CHECK_INT(build_turn(&f, "", name), 0);
    CHECK_STR(points_text(&f, f.st), "");
    name[LIMIT_ID_BYTES] = '\0';
    for (char c = 'a'; c < 'd'; c++) {
        name[0] = c;
        CHECK_INT(build_turn(&f, "", name), 0);
    }
    REQUIRE(f.st && f.st->reset_points && f.st->reset_points->n_points == 3);
    const char *shown = shown_attribute(&f, "BinaryChecksums"); /* as many as BuildIds has room for */
    CHECK_INT(strlen(shown), 2 * (LIMIT_ID_BYTES + 3) + 1);
    CHECK(str_starts(str_of(shown), STR("[\"bn")));
}

/* The first event of the next run. */
static const History__HistoryEvent *next_first(struct core *f) {
    ProtobufCMessage *m = NULL;
    if (!f->s.next ||
        wire_decode(&history__history__descriptor, buf_str(&f->s.next->events), &f->arena, &m, NULL) < 0)
        return NULL;
    const History__History *h = (const History__History *)m;
    return h->n_events ? h->events[0] : NULL;
}

/* A copy of it that a reset makes: the state of another fixture. */
static void rebuild_next(struct core *f, const History__HistoryEvent *first) {
    bool failed = false;
    f->st = pb_new(&state__execution__descriptor, &failed);
    CHECK_INT(STEP(f, rebuild_apply(&f->s, first)), 0);
    static const char *const events[] = {
        "{'eventId':2,'eventType':'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED',"
        "'workflowTaskScheduledEventAttributes':{}}",
        "{'eventId':3,'eventType':'EVENT_TYPE_WORKFLOW_TASK_STARTED',"
        "'workflowTaskStartedEventAttributes':{}}",
        "{'eventId':4,'eventType':'EVENT_TYPE_WORKFLOW_TASK_COMPLETED',"
        "'workflowTaskCompletedEventAttributes':{'workerVersion':{'buildId':'c'}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        const History__HistoryEvent *ev =
            message_of(&f->arena, &history__history_event__descriptor, events[i]);
        REQUIRE(ev);
        CHECK_INT(STEP(f, rebuild_apply(&f->s, ev)), 0);
    }
    CHECK_INT(STEP_VOID(f, rebuild_finish(&f->s, &(struct rebuild_name){"copy", "request", "origin", 20})),
              0);
}

/* The run that is continued, and a copy of it, know where a build of a run before it began, for as long as
 * that run is kept. */
TEST(reset_points_go_along_the_chain) {
    State__Namespace space = STATE__NAMESPACE__INIT;
    cleanup(core_done) struct core f, copy;
    char want[256];
    core_init(&f);
    core_init(&copy);
    space.retention_us = 3 * DAY_US;
    f.ctx.space = copy.ctx.space = &space;
    f.ctx.namespace_name = copy.ctx.namespace_name = "here";
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(build_turn(&f, "a", ""), 0);
    core_advance(&f, DAY_US);
    command_add(&f, "{'commandType':'COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION',"
                    "'continueAsNewWorkflowExecutionCommandAttributes':{}}");
    CHECK_INT(build_complete(&f, "b", ""), 0);
    const History__HistoryEvent *first = next_first(&f);
    REQUIRE(f.st && first && f.s.next->st->reset_points && f.s.next->st->reset_points->n_points == 2);
    (void)snprintf(want, sizeof(want), "a@4:%s b@8:%s", f.st->run_id, f.st->run_id);
    CHECK_STR(points_text(&f, f.s.next->st), want);
    int64_t expires_us = CORE_T0 + DAY_US + space.retention_us;
    const Workflow__ResetPoints *told =
        first->workflow_execution_started_event_attributes->prev_auto_reset_points;
    REQUIRE(told && told->n_points == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(pb_timestamp_us(f.s.next->st->reset_points->points[i]->expire_time), expires_us);
        CHECK_INT(pb_timestamp_us(told->points[i]->expire_time), expires_us);
    }
    rebuild_next(&copy, first);
    (void)snprintf(want, sizeof(want), "a@4:%s b@8:%s c@4", f.st->run_id, f.st->run_id);
    CHECK_STR(points_text(&copy, copy.st), want);
    REQUIRE(copy.st && copy.st->reset_points && copy.st->reset_points->n_points == 3);
    CHECK_STR(copy.st->reset_points->points[2]->run_id, "copy");
    CHECK_INT(pb_timestamp_us(copy.st->reset_points->points[0]->expire_time), expires_us);

    /* A run that begins when they have expired takes only the later one. */
    const Workflow__ResetPoints *all = pb_arena_clone(copy.st->reset_points, &copy.arena);
    REQUIRE(all);
    cleanup(core_done) struct core late;
    core_init(&late);
    late.ctx.space = &space;
    late.ctx.namespace_name = "here";
    CHECK_INT(core_start(&late), 0);
    CHECK_INT(STEP_VOID(&late, reset_points_inherit(&late.s, all, "copy", expires_us + 1)), 0);
    CHECK_STR(points_text(&late, late.st), "c@4:copy");
    REQUIRE(late.st && late.st->reset_points && late.st->reset_points->n_points == 1);
    CHECK_INT(pb_timestamp_us(late.st->reset_points->points[0]->expire_time),
              expires_us + 1 + space.retention_us);
}

TEST(reset_points_go_along_retries) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.retry_policy = message_of(&f.arena, &common__retry_policy__descriptor, "{}");
    REQUIRE(f.start.retry_policy);
    CHECK_INT(core_start(&f), 0);
    f.ctx.namespace_name = "here";
    f.ctx.origin = core_attributes(&f, 1, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
    REQUIRE(f.ctx.origin && core_add_fail(&f));
    CHECK_INT(build_complete(&f, "a", ""), 0);
    REQUIRE(f.st && f.s.next);
    char want[64];
    (void)snprintf(want, sizeof(want), "a@4:%s", f.st->run_id);
    CHECK_STR(points_text(&f, f.s.next->st), want);
}
