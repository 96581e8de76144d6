/* Which task queues the engine lists: those that are polled, and those on which runs were started. */
#include "base/buf.h"
#include "base/mem.h"
#include "engine/runtime/limits.h"
#include "engine/match/pace.h"
#include "engine_fixture.h"

/* "name(type,type)<identity,identity>" for each queue, in its order. */
static void check_queues(struct rig *r, bool only_polled, const char *want, int line) {
    cleanup(ask_done) struct ask a = {0};
    struct buf got cleanup(buf_done);
    struct arena *m = ask_begin(r, &a);
    Rondo__ListTaskQueuesRequest *req =
        MAKE(m, Rondo__ListTaskQueuesRequest, rondo__list_task_queues_request__init);
    req->namespace_ = make_text(m, "default");
    req->only_polled = only_polled;
    RIG_SEND(r, &a, list_task_queues, req);
    CHECK_OK(&a);
    const Rondo__ListTaskQueuesResponse *resp = a.response;
    buf_init(&got, 1 << 16);
    for (size_t i = 0; resp && i < resp->n_task_queues; i++) {
        const Rondo__TaskQueueUse *q = resp->task_queues[i];
        buf_printf(&got, "%s%s(", i ? " " : "", q->name);
        for (size_t k = 0; k < q->n_workflow_types; k++)
            buf_printf(&got, "%s%s", k ? "," : "", q->workflow_types[k]);
        buf_add_cstr(&got, ")<");
        for (size_t k = 0; k < q->n_pollers; k++)
            buf_printf(&got, "%s%s", k ? "," : "", q->pollers[k]->identity);
        buf_add_cstr(&got, ">");
        test_check((q->last_start_time != NULL) == (q->n_workflow_types > 0), __FILE__, line, q->name);
    }
    buf_add_u8(&got, 0);
    test_check_str(str_of((const char *)got.data), str_of(want), __FILE__, line, "the queues");
}
#define CHECK_QUEUES(r, only_polled, want) check_queues((r), (only_polled), (want), __LINE__)

static void start_on(struct rig *r, const char *id, const char *type, const char *queue) {
    cleanup(ask_done) struct ask a = {0};
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, &a, id);
    req->workflow_type->name = make_text(ask_arena(&a), type);
    req->task_queue = make_queue(ask_arena(&a), queue);
    RIG_SEND(r, &a, start_workflow, req);
    CHECK_OK(&a);
}

static void poll_as(struct rig *r, struct ask *a, const char *queue, const char *identity) {
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, queue);
    req->identity = make_text(ask_arena(a), identity);
    RIG_SEND(r, a, poll_workflow_task, req);
}

TEST(queues_are_known_by_their_runs_and_their_pollers) {
    cleanup(ask_done) struct ask one = {0}, two = {0}, sticky = {0}, activity = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    CHECK_QUEUES(&r, false, "");
    start_on(&r, "1", "b", "left");
    start_on(&r, "2", "a", "left");
    start_on(&r, "3", "a", "left");
    start_on(&r, "4", "a", "away");
    CHECK_QUEUES(&r, false, "away(a)<> left(a,b)<>");
    CHECK_QUEUES(&r, true, "");
    poll_as(&r, &one, "new", "w1");
    poll_as(&r, &two, "new", "w2");
    rig_poll_sticky(&r, &sticky, "sticky");
    rig_poll_activity(&r, &activity);
    CHECK_QUEUES(&r, true, "new()<w1,w2>");
    CHECK_QUEUES(&r, false, "away(a)<> left(a,b)<> new()<w1,w2>");
}

TEST(queues_forget_pollers_that_are_silent) {
    cleanup(ask_done) struct ask poll = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_on(&r, "1", "a", "q");
    poll_as(&r, &poll, "q", "w");
    CHECK(poll.is_done);
    CHECK_QUEUES(&r, false, "q(a)<w>");
    rig_advance(&r, (ENGINE_VISITOR_MS + 1000) * USEC_PER_MS);
    CHECK_QUEUES(&r, true, "");
    CHECK_QUEUES(&r, false, "q(a)<>");
}

TEST(queues_of_runs_survive_a_crash) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_on(&r, "1", "a", "q");
    rig_restart(&r);
    CHECK_QUEUES(&r, false, "q(a)<>");
}

TEST(queues_of_an_unknown_namespace) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    struct arena *m = ask_begin(&r, &a);
    Rondo__ListTaskQueuesRequest *req =
        MAKE(m, Rondo__ListTaskQueuesRequest, rondo__list_task_queues_request__init);
    req->namespace_ = make_text(m, "nowhere");
    RIG_SEND(&r, &a, list_task_queues, req);
    CHECK(a.is_done && a.err.code != 0);
}

#define AT(seconds) ((seconds)*USEC_PER_SEC)

/* Over its age at first, then over the last half minute and what has passed of the newest five seconds. */
TEST(paces_follow_the_last_half_minute) {
    struct pace *p = NULL;
    CHECK(pace_add_rate(p, AT(1)) == 0 && pace_take_rate(p, AT(1)) == 0);
    for (int second = 0; second < 20; second++) {
        for (int i = 0; i < 4; i++)
            pace_count_added(&p, AT(second));
        pace_count_taken(&p, AT(second));
    }
    CHECK(pace_add_rate(p, AT(20)) == 4.0 && pace_take_rate(p, AT(20)) == 1.0);
    CHECK(pace_add_rate(p, AT(30)) == 80.0 / 30);
    CHECK(pace_add_rate(p, AT(37)) == 60.0 / 32); /* the first five seconds are out */
    CHECK(pace_add_rate(p, AT(1000)) == 0 && pace_take_rate(p, AT(1000)) == 0);
    mem_free(p);
}
