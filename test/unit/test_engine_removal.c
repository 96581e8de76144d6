/* Runs that are deleted, and namespaces that are deprecated or deleted, with what is in them. */
#include <stdio.h>

#include "engine_fixture.h"

#define SPACE "doomed"
#define RUNS 230 /* more than two slices of the reaper */

static void make_space(struct rig *r, const char *name) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__RegisterNamespaceRequest *req =
        MAKE(m, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    req->namespace_ = make_text(m, name);
    req->workflow_execution_retention_period = make_duration(m, 86400 * USEC_PER_SEC);
    RIG_SEND(r, &a, register_namespace, req);
    CHECK_OK(&a);
}

static void start_in(struct rig *r, struct ask *a, const char *space, const char *workflow_id) {
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, a, workflow_id);
    req->namespace_ = make_text(ask_arena(a), space);
    RIG_SEND(r, a, start_workflow, req);
}

static void fill(struct rig *r, int runs) {
    cleanup(ask_done) struct ask a = {0};
    char id[32];
    make_space(r, SPACE);
    for (int i = 0; i < runs; i++) {
        (void)snprintf(id, sizeof id, "wf-%d", i);
        start_in(r, &a, SPACE, id);
        CHECK_OK(&a);
    }
}

static Ops__DeleteNamespaceRequest *ask_delete(struct rig *r, struct ask *a, const char *name) {
    struct arena *m = ask_begin(r, a);
    Ops__DeleteNamespaceRequest *req =
        MAKE(m, Ops__DeleteNamespaceRequest, ops__delete_namespace_request__init);
    req->namespace_ = make_text(m, name);
    return req;
}

static const char *deleted_name(const struct ask *a) {
    const Ops__DeleteNamespaceResponse *resp = a->response;
    return resp ? resp->deleted_namespace : "";
}

static void describe_space(struct rig *r, struct ask *a, const char *name) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeNamespaceRequest *req =
        MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
    req->namespace_ = make_text(m, name);
    RIG_SEND(r, a, describe_namespace, req);
}

static void pass_time(struct rig *r, int64_t us) {
    for (int64_t at = 0; at < us; at += 50 * USEC_PER_MS)
        rig_advance(r, 50 * USEC_PER_MS);
}

TEST(a_deleted_namespace_leaves_nothing) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    uint64_t before = mem_disk_hash(r.disk);
    fill(&r, RUNS);
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, SPACE));
    CHECK_OK(&a);
    CHECK(str_starts(str_of(deleted_name(&a)), STR(SPACE "-deleted-")));
    CHECK_INT(strlen(deleted_name(&a)), strlen(SPACE "-deleted-") + 5);
    CHECK(mem_disk_hash(r.disk) != before);
    pass_time(&r, 3 * USEC_PER_SEC);
    CHECK(mem_disk_hash(r.disk) == before);
}

static void send_delete(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(m, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    RIG_SEND(r, a, delete_workflow, req);
}

/* The store still says that it is the current run while its removal is on the way there. */
TEST(a_start_while_the_current_run_is_removed) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_terminate(&r, &a, "wf");
    rig_settle(&r);
    CHECK_OK(&a);
    send_delete(&r, &a);
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    CHECK_INT(mem_store_pending_commits(r.store), 1);
    rig_start(&r, &b, "wf");
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    rig_settle(&r);
    CHECK_OK(&a);
    CHECK_OK(&b);
    rig_describe(&r, &b, "wf");
    rig_settle(&r);
    CHECK_OK(&b);
}

/* Whoever asks for it again is not told that it is gone before it is. */
TEST(a_run_that_is_deleted_twice) {
    cleanup(ask_done) struct ask first = {0}, second = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &first, "wf");
    rig_settle(&r);
    rig_terminate(&r, &first, "wf");
    rig_settle(&r);
    CHECK_OK(&first);
    send_delete(&r, &first);
    send_delete(&r, &second);
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    CHECK(!first.is_done);
    CHECK(!second.is_done);
    rig_settle(&r);
    CHECK_OK(&first);
    CHECK(second.is_done);
}

/* A closed run whose removal waits for the disk. */
static void begin_removal(struct rig *r, struct ask *a, struct uuid_text *ret_run_id) {
    rig_init_manual(r);
    r->resident_runs_max = 0;
    rig_restart(r);
    rig_settle(r);
    rig_start(r, a, "wf");
    rig_settle(r);
    REQUIRE(a->response);
    memcpy(ret_run_id->s, ((const Ws__StartWorkflowExecutionResponse *)a->response)->run_id,
           sizeof ret_run_id->s);
    rig_terminate(r, a, "wf");
    rig_settle(r);
    send_delete(r, a);
    while (mem_store_pending_reads(r->store))
        rig_read(r);
    REQUIRE(mem_store_pending_commits(r->store) == 1 && !a->is_done);
}

static Ws__GetWorkflowExecutionHistoryRequest *ask_history_of(struct rig *r, struct ask *a,
                                                              const char *run_id) {
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(r, a, "wf");
    req->execution = make_execution(ask_arena(a), "wf", run_id);
    return req;
}

/* Nobody is told that it is gone before it is, by whichever name and for whatever it is asked; also when the
 * one who deleted it did not wait for the answer. */
TEST(a_run_is_gone_for_its_readers_when_that_is_on_disk) {
    for (int is_caller_gone = 0; is_caller_gone < 2; is_caller_gone++) {
        struct ask asks[7] = {0};
        cleanup(ask_done) struct ask deletion = {0};
        cleanup(rig_done) struct rig r;
        struct uuid_text run_id;
        begin_removal(&r, &deletion, &run_id);
        if (is_caller_gone)
            ask_cancel(&r, &deletion);
        rig_describe(&r, &asks[0], "wf");
        rig_history(&r, &asks[1], "wf");
        rig_signal(&r, &asks[2], "wf", "request");
        rig_query(&r, &asks[3], "wf");
        rig_terminate(&r, &asks[4], "wf");
        rig_cancel(&r, &asks[5], "wf");
        RIG_SEND(&r, &asks[6], get_history, ask_history_of(&r, &asks[6], run_id.s));
        while (mem_store_pending_reads(r.store))
            rig_read(&r);
        for (size_t i = 0; i < ARRAY_LEN(asks); i++)
            CHECK(!asks[i].is_done);
        rig_commit(&r);
        for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
            CHECK(asks[i].is_done);
            CHECK_INT(asks[i].err.code, ERR_NOT_FOUND);
            ask_done(&asks[i]);
        }
    }
}

TEST(a_run_whose_removal_was_lost_is_there) {
    cleanup(ask_done) struct ask a = {0}, deletion = {0};
    cleanup(rig_done) struct rig r;
    struct uuid_text run_id;
    begin_removal(&r, &deletion, &run_id);
    ask_cancel(&r, &deletion);
    rig_describe(&r, &a, "wf");
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    CHECK(!a.is_done);
    rig_restart(&r);
    CHECK(a.err.code == ERR_MAYBE || a.err.code == ERR_UNAVAILABLE);
    rig_settle(&r);
    rig_describe(&r, &a, "wf");
    rig_settle(&r);
    CHECK_OK(&a);
}

TEST(its_removal_goes_on_after_a_crash) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    uint64_t before = mem_disk_hash(r.disk);
    fill(&r, RUNS);
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, SPACE));
    CHECK_OK(&a);
    uint64_t full = mem_disk_hash(r.disk);
    rig_restart(&r);
    pass_time(&r, 100 * USEC_PER_MS);
    CHECK(mem_disk_hash(r.disk) != full);
    CHECK(mem_disk_hash(r.disk) != before);
    rig_restart(&r);
    pass_time(&r, 3 * USEC_PER_SEC);
    CHECK(mem_disk_hash(r.disk) == before);
}

TEST(its_name_is_free_at_once_and_the_new_one_is_another) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    fill(&r, 3);
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, SPACE));
    CHECK_OK(&a);
    make_space(&r, SPACE);
    start_in(&r, &a, SPACE, "wf-0"); /* the id is free there */
    CHECK_OK(&a);
    pass_time(&r, 2 * USEC_PER_SEC);
    start_in(&r, &a, SPACE, "wf-0");
    CHECK_INT(a.err.code, ERR_ALREADY_STARTED);
    describe_space(&r, &a, SPACE);
    CHECK_OK(&a);
}

TEST(nothing_is_found_in_a_deleted_namespace) {
    cleanup(ask_done) struct ask a = {0}, poll = {0};
    cleanup(rig_done) struct rig r;
    char name[64];
    rig_init(&r);
    fill(&r, 3);
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(&r, &poll, "idle");
    req->namespace_ = make_text(ask_arena(&poll), SPACE);
    RIG_SEND(&r, &poll, poll_workflow_task, req);
    CHECK(!poll.is_done);
    Ops__DeleteNamespaceRequest *del = ask_delete(&r, &a, SPACE);
    del->namespace_delete_delay = make_duration(ask_arena(&a), 3600 * USEC_PER_SEC);
    RIG_SEND(&r, &a, delete_namespace, del);
    CHECK_OK(&a);
    (void)snprintf(name, sizeof name, "%s", deleted_name(&a));
    CHECK_OK(&poll); /* its worker need not wait for what will not come */
    CHECK_INT(ask_token(&poll).n, 0);
    start_in(&r, &a, SPACE, "late");
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
    start_in(&r, &a, name, "late");
    CHECK_FAILS(&a, ERR_NAMESPACE_STATE, "Namespace has invalid state: Deleted. Must be Registered.");
    CHECK_STR(a.err.subject, name);
    describe_space(&r, &a, name);
    CHECK_OK(&a);
    const Ws__DescribeNamespaceResponse *d = a.response;
    CHECK_INT(d->namespace_info->state, NAMESPACE_STATE_DELETED);
    RIG_SEND(&r, &a, delete_namespace,
             ask_delete(&r, &a, name)); /* asked again: the same answer, no delay now */
    CHECK_OK(&a);
    CHECK_STR(deleted_name(&a), name);
    pass_time(&r, USEC_PER_SEC);
    describe_space(&r, &a, name);
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
}

TEST(an_emptied_namespace_stays_as_long_as_was_asked) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char name[64];
    rig_init(&r);
    uint64_t before = mem_disk_hash(r.disk);
    fill(&r, 3);
    Ops__DeleteNamespaceRequest *req = ask_delete(&r, &a, SPACE);
    req->namespace_delete_delay = make_duration(ask_arena(&a), 3600 * USEC_PER_SEC);
    RIG_SEND(&r, &a, delete_namespace, req);
    CHECK_OK(&a);
    (void)snprintf(name, sizeof name, "%s", deleted_name(&a));
    pass_time(&r, USEC_PER_SEC);
    rig_restart(&r);
    rig_advance(&r, 3500 * USEC_PER_SEC);
    describe_space(&r, &a, name);
    CHECK_OK(&a);
    rig_advance(&r, 100 * USEC_PER_SEC);
    pass_time(&r, USEC_PER_SEC);
    describe_space(&r, &a, name);
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
    CHECK(mem_disk_hash(r.disk) == before);
}

TEST(bad_requests_to_delete_change_nothing) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    fill(&r, 1);
    uint64_t before = mem_disk_hash(r.disk);
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, ""));
    CHECK_FAILS(&a, ERR_INVALID, "Namespace is not set on request.");
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, "nowhere"));
    CHECK_FAILS(&a, ERR_NO_NAMESPACE, "Namespace nowhere is not found.");
    RIG_SEND(&r, &a, delete_namespace, ask_delete(&r, &a, "temporal-system"));
    CHECK_FAILS(&a, ERR_PRECONDITION, "unable to delete system namespace");
    Ops__DeleteNamespaceRequest *req = ask_delete(&r, &a, SPACE);
    req->namespace_id = make_text(ask_arena(&a), "also");
    RIG_SEND(&r, &a, delete_namespace, req);
    CHECK_FAILS(&a, ERR_INVALID, "Only one of namespace name or Id should be set on request.");
    req = ask_delete(&r, &a, SPACE);
    req->namespace_delete_delay = make_duration(ask_arena(&a), -USEC_PER_SEC);
    RIG_SEND(&r, &a, delete_namespace, req);
    CHECK_FAILS(&a, ERR_INVALID, "NamespaceDeleteDelay is not valid.");
    pass_time(&r, USEC_PER_SEC);
    CHECK(mem_disk_hash(r.disk) == before);
}

TEST(a_deprecated_namespace_finishes_what_it_has) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "old");
    CHECK_OK(&a);
    struct arena *m = ask_begin(&r, &a);
    Ws__DeprecateNamespaceRequest *req =
        MAKE(m, Ws__DeprecateNamespaceRequest, ws__deprecate_namespace_request__init);
    req->namespace_ = make_text(m, "default");
    RIG_SEND(&r, &a, deprecate_namespace, req);
    CHECK_OK(&a);
    rig_restart(&r);
    rig_start(&r, &a, "new");
    CHECK_FAILS(&a, ERR_NAMESPACE_STATE, "Namespace has invalid state: Deprecated. Must be Registered.");
    rig_signal(&r, &a, "old", "request");
    CHECK_OK(&a);
    describe_space(&r, &a, "default");
    CHECK_INT(((const Ws__DescribeNamespaceResponse *)a.response)->namespace_info->state,
              NAMESPACE_STATE_DEPRECATED);
}

/* A manual rig that has the namespace, which is empty. */
static void begin_with_space(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    rig_init_manual(r);
    struct arena *m = ask_begin(r, &a);
    Ws__RegisterNamespaceRequest *req =
        MAKE(m, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    req->namespace_ = make_text(m, SPACE);
    req->workflow_execution_retention_period = make_duration(m, 86400 * USEC_PER_SEC);
    RIG_SEND(r, &a, register_namespace, req);
    rig_settle(r);
    CHECK_OK(&a);
}

/* Until nothing is left of it in memory, with `reads` questions that wait for their answers. */
static void delete_while_asked(struct rig *r, struct ask *a, size_t reads) {
    RIG_SEND(r, a, delete_namespace, ask_delete(r, a, SPACE));
    rig_advance(r, 50 * USEC_PER_MS);
    CHECK_INT(mem_store_pending_reads(r->store), reads + 1);
    mem_store_answer(r->store, reads, 0); /* no run is in it */
    rig_turn(r);
}

TEST(a_namespace_goes_while_a_list_of_it_waits) {
    cleanup(ask_done) struct ask start = {0}, list = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    begin_with_space(&r);
    rig_start(&r, &start, "other");
    rig_read(&r); /* its commit is under way, and whoever asks for a list waits for it */
    struct arena *m = ask_begin(&r, &list);
    Ws__ListWorkflowExecutionsRequest *req =
        MAKE(m, Ws__ListWorkflowExecutionsRequest, ws__list_workflow_executions_request__init);
    req->namespace_ = make_text(m, SPACE);
    RIG_SEND(&r, &list, list_workflows, req);
    CHECK(!list.is_done);
    delete_while_asked(&r, &a, 0);
    rig_settle(&r);
    CHECK_OK(&a);
    CHECK_OK(&list);
}

TEST(a_namespace_goes_while_its_task_queues_are_listed) {
    cleanup(ask_done) struct ask poll = {0}, list = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    begin_with_space(&r);
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(&r, &poll, "polled");
    req->namespace_ = make_text(ask_arena(&poll), SPACE);
    RIG_SEND(&r, &poll, poll_workflow_task, req);
    struct arena *m = ask_begin(&r, &list);
    Rondo__ListTaskQueuesRequest *queues =
        MAKE(m, Rondo__ListTaskQueuesRequest, rondo__list_task_queues_request__init);
    queues->namespace_ = make_text(m, SPACE);
    RIG_SEND(&r, &list, list_task_queues, queues);
    CHECK(!list.is_done);
    delete_while_asked(&r, &a, 1);
    rig_settle(&r);
    CHECK_OK(&a);
    CHECK_OK(&list);
}
