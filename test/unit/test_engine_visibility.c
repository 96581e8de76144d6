/* Lists and counts through the engine: what they wait for, how pages go on, what is refused. */
#include "engine_fixture.h"

#include <stdio.h>

#include "workflowservice.pb-c.h"

static Ws__ListWorkflowExecutionsRequest *ask_list(struct rig *r, struct ask *a, const char *query) {
    struct arena *arena = ask_begin(r, a);
    Ws__ListWorkflowExecutionsRequest *req =
        MAKE(arena, Ws__ListWorkflowExecutionsRequest, ws__list_workflow_executions_request__init);
    req->namespace_ = make_text(arena, "default");
    req->query = make_text(arena, query);
    return req;
}

static void rig_list(struct rig *r, struct ask *a, const char *query) {
    RIG_SEND(r, a, list_workflows, ask_list(r, a, query));
}

static void rig_count(struct rig *r, struct ask *a, const char *query) {
    struct arena *arena = ask_begin(r, a);
    Ws__CountWorkflowExecutionsRequest *req =
        MAKE(arena, Ws__CountWorkflowExecutionsRequest, ws__count_workflow_executions_request__init);
    req->namespace_ = make_text(arena, "default");
    req->query = make_text(arena, query);
    RIG_SEND(r, a, count_workflows, req);
}

static const Ws__ListWorkflowExecutionsResponse *listed(const struct ask *a) {
    return a->response;
}

/* The ids of a page, with spaces between. */
static const char *ids(const struct ask *a, char text[256]) {
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; a->response && i < listed(a)->n_executions; i++)
        n += (size_t)snprintf(text + n, 256 - n, "%s%s", i ? " " : "",
                              listed(a)->executions[i]->execution->workflow_id);
    return text;
}

static int64_t counted(const struct ask *a) {
    return a->response ? ((const Ws__CountWorkflowExecutionsResponse *)a->response)->count : -1;
}

TEST(open_runs_come_first_then_the_last_closed) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char text[256];
    rig_init(&r);
    for (const char *const *id = (const char *const[]){"a", "b", "c", "d", NULL}; *id; id++) {
        rig_advance(&r, USEC_PER_SEC);
        rig_start(&r, &a, *id);
        CHECK_OK(&a);
    }
    rig_advance(&r, USEC_PER_SEC);
    rig_terminate(&r, &a, "d");
    rig_advance(&r, USEC_PER_SEC);
    rig_terminate(&r, &a, "a");
    rig_list(&r, &a, "");
    CHECK_OK(&a);
    CHECK_STR(ids(&a, text), "c b a d");
    CHECK_INT(listed(&a)->next_page_token.len, 0);
    CHECK_INT(listed(&a)->executions[2]->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    CHECK(listed(&a)->executions[2]->history_length > 0);
    rig_list(&r, &a, "ExecutionStatus = 'Terminated' AND CloseTime IS NOT NULL");
    CHECK_STR(ids(&a, text), "a d");
}

TEST(a_list_waits_for_what_is_not_durable) {
    cleanup(ask_done) struct ask start = {0}, list = {0};
    cleanup(rig_done) struct rig r;
    char text[256];
    rig_init_manual(&r);
    rig_start(&r, &start, "a");
    rig_read(&r); /* nobody has this id: the run begins, and its commit is under way */
    rig_list(&r, &list, "");
    CHECK(!start.is_done && !list.is_done);
    rig_settle(&r);
    CHECK_OK(&start);
    CHECK_OK(&list);
    CHECK_STR(ids(&list, text), "a");
}

TEST(a_list_may_be_given_up_while_the_store_is_asked) {
    cleanup(ask_done) struct ask list = {0}, count = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_list(&r, &list, "WorkflowId = 'a' AND WorkflowType IN ('b', 'c')");
    CHECK(!list.is_done);
    ask_cancel(&r, &list);
    rig_settle(&r);
    rig_count(&r, &count, "");
    rig_settle(&r);
    CHECK_OK(&count);
    CHECK_INT(counted(&count), 0);
}

TEST(pages_begin_behind_the_last_one) {
    cleanup(ask_done) struct ask a = {0}, page = {0};
    cleanup(rig_done) struct rig r;
    char text[256], id[2] = "a";
    rig_init(&r);
    for (; *id < 'f'; ++*id) {
        rig_advance(&r, USEC_PER_SEC);
        rig_start(&r, &a, id);
    }
    Ws__ListWorkflowExecutionsRequest *req = ask_list(&r, &page, "");
    req->page_size = 2;
    RIG_SEND(&r, &page, list_workflows, req);
    CHECK_STR(ids(&page, text), "e d");
    CHECK(listed(&page)->next_page_token.len > 0);
    rig_start(&r, &a, "z"); /* before the place of the page: not seen */
    rig_terminate(&r, &a, "b"); /* behind it: seen, at its new place */
    req = ask_list(&r, &a, "");
    req->page_size = 2;
    req->next_page_token = make_bytes(ask_arena(&a), listed(&page)->next_page_token);
    RIG_SEND(&r, &a, list_workflows, req);
    CHECK_STR(ids(&a, text), "c a");
    req = ask_list(&r, &page, "");
    req->page_size = 2;
    req->next_page_token = make_bytes(ask_arena(&page), listed(&a)->next_page_token);
    RIG_SEND(&r, &page, list_workflows, req);
    CHECK_STR(ids(&page, text), "b");
    CHECK_INT(listed(&page)->next_page_token.len, 0);
}

TEST(lists_survive_a_restart_and_forget_what_is_deleted) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char text[256];
    rig_init(&r);
    rig_start(&r, &a, "a");
    rig_start(&r, &a, "b");
    rig_restart(&r);
    rig_list(&r, &a, "WorkflowId STARTS_WITH 'a'");
    CHECK_STR(ids(&a, text), "a");
    struct arena *arena = ask_begin(&r, &a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(arena, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(arena, "default");
    req->workflow_execution = make_execution(arena, "a", "");
    RIG_SEND(&r, &a, delete_workflow, req);
    CHECK_OK(&a);
    rig_list(&r, &a, "");
    CHECK_STR(ids(&a, text), "b");
}

TEST(counts_are_grouped_by_status) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "a");
    rig_start(&r, &a, "b");
    rig_start(&r, &a, "c");
    rig_terminate(&r, &a, "b");
    rig_count(&r, &a, "GROUP BY ExecutionStatus");
    CHECK_OK(&a);
    const Ws__CountWorkflowExecutionsResponse *resp = a.response;
    CHECK_INT(counted(&a), 3);
    if (CHECK(resp && resp->n_groups == 2)) {
        CHECK_INT(resp->groups[0]->count, 2);
        CHECK(str_is(pb_bytes(&resp->groups[0]->group_values[0]->data), "\"Running\""));
        CHECK_INT(resp->groups[1]->count, 1);
        CHECK(str_is(pb_bytes(&resp->groups[1]->group_values[0]->data), "\"Terminated\""));
    }
    rig_count(&r, &a, "WorkflowId = 'a'");
    CHECK_INT(counted(&a), 1);
}

TEST(bad_lists_are_refused) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_list(&r, &a, "GROUP BY ExecutionStatus");
    CHECK_FAILS(&a, ERR_INVALID, "invalid query: operation is not supported: 'GROUP BY' clause");
    rig_list(&r, &a, "WorkflowId");
    CHECK_FAILS(
        &a, ERR_INVALID,
        "invalid query: malformed SQL query: expected an operator at column 11, where the query ends");
    Ws__ListWorkflowExecutionsRequest *req = ask_list(&r, &a, "");
    req->next_page_token = (ProtobufCBinaryData){3, (uint8_t *)make_text(ask_arena(&a), "abc")};
    RIG_SEND(&r, &a, list_workflows, req);
    CHECK_FAILS(&a, ERR_INVALID, "Invalid NextPageToken.");
    req = ask_list(&r, &a, "");
    req->namespace_ = make_text(ask_arena(&a), "nowhere");
    RIG_SEND(&r, &a, list_workflows, req);
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
}
