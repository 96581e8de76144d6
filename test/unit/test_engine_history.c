/* Reading histories: pages, long polls, the closing event, backwards, and what comes from the store. */
#include "engine/runtime/limits.h"
#include "engine_fixture.h"

#define SEC USEC_PER_SEC
#define FIRST_TASK "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3"

static bool is_backwards(const struct ask *a) {
    const ProtobufCMessage *m = a->response;
    return m->descriptor == &ws__get_workflow_execution_history_reverse_response__descriptor;
}

static ProtobufCBinaryData page_token(const struct ask *a) {
    if (!a->response)
        return (ProtobufCBinaryData){0, NULL};
    if (is_backwards(a))
        return ((const Ws__GetWorkflowExecutionHistoryReverseResponse *)a->response)->next_page_token;
    return ((const Ws__GetWorkflowExecutionHistoryResponse *)a->response)->next_page_token;
}

static const History__History *page_events(const struct ask *a) {
    if (is_backwards(a))
        return ((const Ws__GetWorkflowExecutionHistoryReverseResponse *)a->response)->history;
    return ((const Ws__GetWorkflowExecutionHistoryResponse *)a->response)->history;
}

/* What a test asks for beyond the workflow id. */
struct want {
    int32_t page_size;
    bool waits, is_close_only, replays;
    const struct ask *after; /* the page before */
    const char *run_id;
};

static void read_history(struct rig *r, struct ask *a, const struct want *w) {
    ProtobufCBinaryData token = w->after ? page_token(w->after) : (ProtobufCBinaryData){0, NULL};
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(r, a, "wf");
    req->maximum_page_size = w->page_size;
    req->wait_new_event = w->waits;
    if (w->is_close_only)
        req->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    req->next_page_token = make_bytes(ask_arena(a), token);
    if (w->run_id)
        req->execution->run_id = make_text(ask_arena(a), w->run_id);
    ask_call(a)->reads_unwritten = w->replays;
    RIG_SEND(r, a, get_history, req);
}

static void read_reverse(struct rig *r, struct ask *a, int32_t page_size, const struct ask *after) {
    ProtobufCBinaryData token = after ? page_token(after) : (ProtobufCBinaryData){0, NULL};
    struct arena *m = ask_begin(r, a);
    Ws__GetWorkflowExecutionHistoryReverseRequest *req =
        MAKE(m, Ws__GetWorkflowExecutionHistoryReverseRequest,
             ws__get_workflow_execution_history_reverse_request__init);
    req->namespace_ = make_text(m, "default");
    req->execution = make_execution(m, "wf", "");
    req->maximum_page_size = page_size;
    req->next_page_token = make_bytes(m, token);
    RIG_SEND(r, a, get_history_reverse, req);
}

TEST(history_shows_the_start_of_the_task_that_a_worker_has) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), FIRST_TASK);
    CHECK_INT(page_token(&a).len, 0);
    rig_finish(&r, &a, &p);
    CHECK_OK(&a);
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), FIRST_TASK " TASK_COMPLETED@4 RUN_COMPLETED@5");
}

TEST(history_shows_an_event_only_when_it_is_durable) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, h = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_history(&r, &h, "wf");
    CHECK(!h.is_done); /* it made the start be written */
    rig_commit(&r);
    CHECK_STR(ask_events(&h), FIRST_TASK);
}

TEST(history_hides_the_events_of_a_transient_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_fail_task(&r, &a, &p);
    rig_poll(&r, &p, "queue");
    CHECK_STR(ask_events(&p), FIRST_TASK " TASK_FAILED@4 TASK_SCHEDULED@5 TASK_STARTED@6");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), FIRST_TASK " TASK_FAILED@4");
}

/* Those who replay histories get them; to people they would look as if they were written. */
TEST(history_of_a_task_that_is_not_written_is_for_those_who_replay) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_fail_task(&r, &a, &p);
    read_history(&r, &a, &(struct want){.replays = true});
    CHECK_STR(ask_events(&a), FIRST_TASK " TASK_FAILED@4 TASK_SCHEDULED@5");
    read_history(&r, &a, &(struct want){.replays = true, .page_size = 3});
    CHECK_STR(ask_events(&a), FIRST_TASK); /* only the last page has them */
    read_history(&r, &p, &(struct want){.replays = true, .after = &a});
    CHECK_STR(ask_events(&p), "TASK_FAILED@4 TASK_SCHEDULED@5");
    rig_poll(&r, &p, "queue");
    read_history(&r, &a, &(struct want){.replays = true});
    CHECK_STR(ask_events(&a), FIRST_TASK " TASK_FAILED@4 TASK_SCHEDULED@5 TASK_STARTED@6");
    CHECK_INT(page_token(&a).len, 0);
    read_reverse(&r, &a, 0, NULL);
    CHECK_STR(ask_events(&a), "TASK_FAILED@4 TASK_STARTED@3 TASK_SCHEDULED@2 RUN_STARTED@1");
}

TEST(history_goes_on_where_it_was_written) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, h = {0}, more = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_fail_task(&r, &a, &p);
    read_history(&r, &h, &(struct want){.replays = true, .waits = true});
    CHECK_STR(ask_events(&h), FIRST_TASK " TASK_FAILED@4 TASK_SCHEDULED@5");
    read_history(&r, &more, &(struct want){.replays = true, .waits = true, .after = &h});
    CHECK(!more.is_done);
    rig_signal(&r, &a, "wf", ""); /* takes the number of the task that nobody has */
    CHECK_STR(ask_events(&more), "RUN_SIGNALED@5");
}

TEST(history_comes_in_pages) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, one = {0}, two = {0}, three = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &a, &p);
    read_history(&r, &one, &(struct want){.page_size = 2});
    CHECK_STR(ask_events(&one), "RUN_STARTED@1 TASK_SCHEDULED@2");
    read_history(&r, &two, &(struct want){.page_size = 2, .after = &one});
    CHECK_STR(ask_events(&two), "TASK_STARTED@3 TASK_COMPLETED@4");
    read_history(&r, &three, &(struct want){.page_size = 2, .after = &two});
    CHECK_STR(ask_events(&three), "RUN_COMPLETED@5");
    CHECK(page_token(&two).len > 0);
    CHECK_INT(page_token(&three).len, 0);
}

TEST(history_page_stays_with_its_run) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &one, &(struct want){.page_size = 1});
    rig_terminate(&r, &b, "wf");
    rig_start(&r, &b, "wf");
    CHECK_OK(&b);
    read_history(&r, &two, &(struct want){.after = &one});
    CHECK_STR(ask_events(&two), "TASK_SCHEDULED@2 RUN_TERMINATED@3");
    const Ws__StartWorkflowExecutionResponse *second = b.response;
    REQUIRE(second);
    read_history(&r, &two, &(struct want){.after = &one, .run_id = second->run_id});
    CHECK_FAILS(&two, ERR_INVALID, "RunId in the request does not match the NextPageToken.");
    const Ws__StartWorkflowExecutionResponse *first = a.response;
    REQUIRE(first);
    read_history(&r, &two, &(struct want){.run_id = first->run_id});
    CHECK_STR(ask_events(&two), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_TERMINATED@3");
}

TEST(history_token_made_by_a_client_does_no_harm) {
    static const struct {
        int64_t next, last;
        int code;
        const char *events;
    } cases[] = {
        {0, 0, ERR_INVALID, NULL},
        {-1, 0, ERR_INVALID, NULL},
        {1, -1, ERR_INVALID, NULL},
        {INT64_MAX, 0, 0, ""},
        {1, INT64_MAX, ERR_INVALID, NULL},
        {3, 0, 0, ""},
        {2, 0, 0, "TASK_SCHEDULED@2"},
        {2, 1, 0, ""},
        {1, INT64_MAX - 1, 0, "RUN_STARTED@1 TASK_SCHEDULED@2"},
    };
    cleanup(ask_done) struct ask a = {0}, start = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &start, "wf");
    const Ws__StartWorkflowExecutionResponse *s = start.response;
    REQUIRE(s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        State__HistoryToken t = STATE__HISTORY_TOKEN__INIT;
        uint8_t packed[128];
        t.run_id = s->run_id;
        t.next_event_id = cases[i].next;
        t.last_event_id = cases[i].last;
        size_t n = state__history_token__pack(&t, packed);
        Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &a, "wf");
        req->next_page_token = make_bytes(ask_arena(&a), (ProtobufCBinaryData){n, packed});
        RIG_SEND(&r, &a, get_history, req);
        CHECK_INT(a.err.code, cases[i].code);
        if (cases[i].events)
            CHECK_STR(ask_events(&a), cases[i].events);
        else
            CHECK_STR(a.err.text, "Invalid NextPageToken.");
    }
}

TEST(history_token_that_is_garbage_is_refused) {
    static const char *const tokens[] = {"x", "\x0a\x01x", "\xff\xff\xff"};
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &a, "wf");
        req->next_page_token.len = strlen(tokens[i]);
        req->next_page_token.data = (uint8_t *)make_text(ask_arena(&a), tokens[i]);
        RIG_SEND(&r, &a, get_history, req);
        CHECK_FAILS(&a, ERR_INVALID, "Invalid NextPageToken.");
    }
}

/* long polls */

TEST(history_waits_for_new_events) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0}, three = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &one, &(struct want){.waits = true});
    CHECK_STR(ask_events(&one), "RUN_STARTED@1 TASK_SCHEDULED@2");
    CHECK(page_token(&one).len > 0); /* there may be more */
    read_history(&r, &two, &(struct want){.waits = true, .after = &one});
    CHECK(!two.is_done);
    rig_signal(&r, &a, "wf", "");
    CHECK_STR(ask_events(&two), "RUN_SIGNALED@3");
    read_history(&r, &three, &(struct want){.waits = true, .after = &two});
    rig_terminate(&r, &a, "wf");
    CHECK_STR(ask_events(&three), "RUN_TERMINATED@4");
    CHECK_INT(page_token(&three).len, 0);
}

TEST(history_wait_ends_after_twenty_seconds) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0}, three = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &one, &(struct want){.waits = true});
    read_history(&r, &two, &(struct want){.waits = true, .after = &one});
    rig_advance(&r, 20 * SEC - 1);
    CHECK(!two.is_done);
    rig_advance(&r, 1);
    CHECK_STR(ask_events(&two), "");
    CHECK(page_token(&two).len > 0);
    read_history(&r, &three, &(struct want){.waits = true, .after = &two});
    rig_signal(&r, &a, "wf", "");
    CHECK_STR(ask_events(&three), "RUN_SIGNALED@3");
}

TEST(history_wait_ends_before_the_callers_deadline) {
    cleanup(ask_done) struct ask a = {0}, h = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &h, "wf");
    req->wait_new_event = true;
    req->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    ask_call(&h)->deadline.us = r.now.mono.us + 5 * SEC;
    RIG_SEND(&r, &h, get_history, req);
    rig_advance(&r, 5 * SEC - 201 * USEC_PER_MS);
    CHECK(!h.is_done);
    rig_advance(&r, USEC_PER_MS);
    CHECK_OK(&h);
}

TEST(history_waits_for_the_close) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, c = {0}, d = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &c, &(struct want){.waits = true, .is_close_only = true});
    CHECK(!c.is_done);
    rig_signal(&r, &a, "wf", "");
    CHECK(!c.is_done);
    rig_advance(&r, 20 * SEC);
    CHECK_STR(ask_events(&c), "");
    CHECK(page_token(&c).len > 0);
    read_history(&r, &d, &(struct want){.waits = true, .is_close_only = true, .after = &c});
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &a, &p);
    CHECK_STR(ask_events(&d), "RUN_COMPLETED@6");
    CHECK_INT(page_token(&d).len, 0);
}

/* A run that is busy all the time must not keep a caller without a deadline for ever. */
TEST(history_wait_for_the_close_is_not_prolonged_by_events) {
    cleanup(ask_done) struct ask a = {0}, h = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &h, "wf");
    req->wait_new_event = true;
    req->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    RIG_SEND(&r, &h, get_history, req);
    for (int i = 0; i < 4; i++) {
        CHECK(!h.is_done);
        rig_signal(&r, &a, "wf", "");
        rig_advance(&r, 5 * USEC_PER_SEC);
    }
    CHECK_OK(&h);
    const Ws__GetWorkflowExecutionHistoryResponse *resp = h.response;
    CHECK(resp && resp->next_page_token.len > 0); /* go on waiting with it */
}

TEST(history_close_filter_without_waiting) {
    cleanup(ask_done) struct ask a = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &c, &(struct want){.is_close_only = true});
    CHECK_STR(ask_events(&c), "");
    CHECK_INT(page_token(&c).len, 0);
    rig_terminate(&r, &a, "wf");
    read_history(&r, &c, &(struct want){.is_close_only = true});
    CHECK_STR(ask_events(&c), "RUN_TERMINATED@3");
    read_history(&r, &c, &(struct want){.is_close_only = true, .waits = true});
    CHECK_STR(ask_events(&c), "RUN_TERMINATED@3");
    CHECK_INT(page_token(&c).len, 0);
}

TEST(history_close_filter_of_a_paused_run) {
    cleanup(ask_done) struct ask a = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    struct arena *m = ask_begin(&r, &a);
    Ws__PauseWorkflowExecutionRequest *pause =
        MAKE(m, Ws__PauseWorkflowExecutionRequest, ws__pause_workflow_execution_request__init);
    pause->namespace_ = make_text(m, "default");
    pause->workflow_id = make_text(m, "wf");
    RIG_SEND(&r, &a, pause_workflow, pause);
    CHECK_OK(&a);
    read_history(&r, &c, &(struct want){.is_close_only = true});
    CHECK_STR(ask_events(&c), "RUN_PAUSED@3");
    CHECK_INT(page_token(&c).len, 0);
    read_history(&r, &c, &(struct want){.is_close_only = true, .waits = true});
    CHECK(!c.is_done); /* who waits for the result waits on */
    rig_terminate(&r, &a, "wf");
    CHECK_STR(ask_events(&c), "RUN_TERMINATED@4");
}

TEST(history_close_is_told_when_it_is_durable) {
    cleanup(ask_done) struct ask a = {0}, t = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    read_history(&r, &c, &(struct want){.waits = true, .is_close_only = true});
    rig_terminate(&r, &t, "wf");
    CHECK(!c.is_done && !t.is_done);
    rig_commit(&r);
    CHECK_STR(ask_events(&c), "RUN_TERMINATED@3");
}

TEST(history_reader_that_waits_survives_a_refused_step) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, h = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &c, &(struct want){.waits = true, .is_close_only = true});
    rig_poll(&r, &p, "queue");
    rig_history(&r, &h, "wf");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    add_command(&a, done, make_timer(ask_arena(&a), "", SEC)); /* undone: the state is another object now */
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_INT(a.err.code, ERR_INVALID);
    rig_signal(&r, &a, "wf", "");
    rig_terminate(&r, &a, "wf");
    CHECK_STR(ask_events(&c), "RUN_TERMINATED@6");
}

TEST(history_wait_is_answered_when_the_server_drains) {
    cleanup(ask_done) struct ask a = {0}, c = {0}, d = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    read_history(&r, &c, &(struct want){.waits = true, .is_close_only = true});
    engine_drain(r.engine);
    rig_turn(&r);
    CHECK_STR(ask_events(&c), "");
    CHECK(page_token(&c).len > 0);
    read_history(&r, &d, &(struct want){.waits = true, .is_close_only = true, .after = &c});
    CHECK_OK(&d);
}

/* backwards */

TEST(history_backwards) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, one = {0}, two = {0}, three = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &a, &p);
    read_reverse(&r, &one, 2, NULL);
    CHECK_STR(ask_events(&one), "RUN_COMPLETED@5 TASK_COMPLETED@4");
    read_reverse(&r, &two, 2, &one);
    CHECK_STR(ask_events(&two), "TASK_STARTED@3 TASK_SCHEDULED@2");
    read_reverse(&r, &three, 2, &two);
    CHECK_STR(ask_events(&three), "RUN_STARTED@1");
    CHECK_INT(page_token(&three).len, 0);
    read_reverse(&r, &three, 0, NULL);
    CHECK_STR(ask_events(&three),
              "RUN_COMPLETED@5 TASK_COMPLETED@4 TASK_STARTED@3 TASK_SCHEDULED@2 RUN_STARTED@1");
}

/* from the store */

/* A run with `count` markers of this size in its history, one task each; nothing is pending at the end. */
static void grow(struct rig *r, struct ask *a, int count, size_t bytes) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    for (int i = 0; i < count; i++) {
        rig_poll(r, &p, "queue");
        Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(r, a, &p);
        add_command(a, done, make_marker(ask_arena(a), bytes));
        done->force_create_new_workflow_task = i + 1 < count;
        RIG_SEND(r, a, complete_workflow_task, done);
        CHECK_OK(a);
    }
}

/* All pages from the first to the last; how many events there were and whether their ids were in order. */
static int64_t count_pages(struct rig *r, struct ask *page, bool backwards, int64_t last) {
    cleanup(ask_done) struct ask before = {0};
    int64_t want = backwards ? last : 1, seen = 0;
    for (int i = 0; i < 1000; i++) {
        if (backwards)
            read_reverse(r, page, 7, i ? &before : NULL);
        else
            read_history(r, page, &(struct want){.page_size = 7, .after = i ? &before : NULL});
        if (!page->response || is_backwards(page) != backwards)
            return -1;
        const History__History *h = page_events(page);
        for (size_t k = 0; k < h->n_events; k++, seen++, want += backwards ? -1 : 1)
            if (h->events[k]->event_id != want)
                return -2;
        if (!page_token(page).len)
            return seen;
        ask_done(&before);
        before = *page; /* moved */
        memset(page, 0, sizeof(*page));
    }
    return -3;
}

TEST(history_is_whole_when_most_of_it_is_on_disk_only) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    grow(&r, &a, 20, 40000); /* more than is kept in memory */
    rig_signal(&r, &a, "wf", "");
    rig_describe(&r, &a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    REQUIRE(d);
    int64_t last = d->workflow_execution_info->history_length;
    CHECK_INT(last, 1 + 20 * 4 + 2);
    CHECK_INT(count_pages(&r, &a, false, last), last);
    CHECK_INT(count_pages(&r, &a, true, last), last);
    rig_restart(&r);
    CHECK_INT(count_pages(&r, &a, false, last), last);
    rig_signal(&r, &a, "wf", ""); /* one event in memory, the rest on disk */
    CHECK_INT(count_pages(&r, &a, false, last + 1), last + 1);
    CHECK_INT(count_pages(&r, &a, true, last + 1), last + 1);
}

/* While the first page is read, an event comes that is too large to be kept in memory. */
TEST(history_backwards_of_a_run_that_grows) {
    cleanup(ask_done) struct ask a = {0}, page = {0}, rest = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    r.is_manual = true;
    rig_restart(&r);
    rig_settle(&r);
    read_reverse(&r, &page, 0, NULL);
    rig_read(&r); /* which run */
    REQUIRE(!page.is_done && mem_store_pending_reads(r.store) == 1); /* its events */
    struct arena *m = ask_begin(&r, &a);
    Ws__SignalWorkflowExecutionRequest *req =
        MAKE(m, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    req->signal_name = make_text(m, "signal");
    req->input = make_payloads(m, make_long_text(m, 2 * ENGINE_TAPE_BYTES));
    RIG_SEND(&r, &a, signal_workflow, req);
    rig_commit(&r);
    CHECK_OK(&a);
    rig_settle(&r);
    CHECK_STR(ask_events(&page), "TASK_SCHEDULED@2 RUN_STARTED@1"); /* as when it was asked for */
    CHECK_INT(page_token(&page).len, 0);
    read_reverse(&r, &rest, 0, NULL);
    rig_settle(&r);
    CHECK_STR(ask_events(&rest), "RUN_SIGNALED@3 TASK_SCHEDULED@2 RUN_STARTED@1");
}

TEST(history_of_a_task_is_whole_when_it_comes_from_disk) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    grow(&r, &a, 3, 10);
    rig_signal(&r, &a, "wf", "");
    rig_restart(&r);
    rig_poll(&r, &p, "queue");
    CHECK_STR(ask_events(&p),
              FIRST_TASK " TASK_COMPLETED@4 MARKER_RECORDED@5 TASK_SCHEDULED@6 TASK_STARTED@7 "
                         "TASK_COMPLETED@8 MARKER_RECORDED@9 TASK_SCHEDULED@10 TASK_STARTED@11 "
                         "TASK_COMPLETED@12 MARKER_RECORDED@13 RUN_SIGNALED@14 TASK_SCHEDULED@15 "
                         "TASK_STARTED@16");
}

TEST(history_of_a_task_that_is_too_long_is_paged) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, page = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    grow(&r, &a, 8, 500000);
    rig_signal(&r, &a, "wf", "");
    rig_poll(&r, &p, "queue");
    const Ws__PollWorkflowTaskQueueResponse *t = p.response;
    REQUIRE(t && t->history && t->next_page_token.len > 0);
    CHECK_INT(t->started_event_id, 36);
    int64_t next = (int64_t)t->history->n_events + 1;
    ProtobufCBinaryData token = t->next_page_token;
    for (int i = 0; i < 20 && token.len; i++) {
        Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &page, "wf");
        req->next_page_token = make_bytes(ask_arena(&page), token);
        RIG_SEND(&r, &page, get_history, req);
        const Ws__GetWorkflowExecutionHistoryResponse *resp = page.response;
        REQUIRE(resp && resp->history->n_events > 0);
        for (size_t k = 0; k < resp->history->n_events; k++)
            CHECK_INT(resp->history->events[k]->event_id, next++);
        token = resp->next_page_token;
    }
    CHECK_INT(next, 37); /* up to and with the start of this task, which is not in the stored history */
    rig_finish(&r, &a, &p);
    CHECK_OK(&a);
}
