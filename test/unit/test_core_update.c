/* Updates: what a worker's messages do, and the tasks that exist only to carry updates. */
#include "core/run/update.h"

#include "core/run/pause.h"
#include "core_fixture.h"
#include "message_text.h"
#include "wire/encode.h"

#define PREFIX "type.googleapis.com/temporal.api.update.v1."
#define MESSAGES_MAX 8

struct mail {
    Protocol__Message *messages[MESSAGES_MAX];
    size_t count;
    struct update_offer offers[MESSAGES_MAX];
    size_t offer_count;
};

static void add_message(struct core *f, struct mail *m, const char *update_id, const char *kind,
                        const char *type, const ProtobufCMessage *body) {
    Protocol__Message *msg = arena_new(&f->arena, Protocol__Message);
    Google__Protobuf__Any *any = arena_new(&f->arena, Google__Protobuf__Any);
    size_t n = protobuf_c_message_get_packed_size(body);
    uint8_t *packed = arena_alloc(&f->arena, n + 1);
    if (!msg || !any || !packed)
        return;
    protocol__message__init(msg);
    google__protobuf__any__init(any);
    any->type_url = core_text(f, type);
    any->value = (ProtobufCBinaryData){protobuf_c_message_pack(body, packed), packed};
    msg->id = arena_printf(&f->arena, "%s/%s", update_id, kind);
    msg->protocol_instance_id = core_text(f, update_id);
    msg->body = any;
    m->messages[m->count++] = msg;
}

static void add_accept(struct core *f, struct mail *m, const char *id) {
    Update__Acceptance body = UPDATE__ACCEPTANCE__INIT;
    body.accepted_request_message_id = arena_printf(&f->arena, "%s/request", id);
    body.accepted_request_sequencing_event_id = 5;
    add_message(f, m, id, "accept", PREFIX "Acceptance", &body.base);
}

static void add_complete(struct core *f, struct mail *m, const char *id) {
    Update__Response body = UPDATE__RESPONSE__INIT;
    Update__Outcome outcome = UPDATE__OUTCOME__INIT;
    outcome.value_case = UPDATE__OUTCOME__VALUE_SUCCESS;
    outcome.success = core_payloads(f, "done");
    body.outcome = &outcome;
    add_message(f, m, id, "complete", PREFIX "Response", &body.base);
}

static void add_reject(struct core *f, struct mail *m, const char *id) {
    Update__Rejection body = UPDATE__REJECTION__INIT;
    body.rejected_request_message_id = arena_printf(&f->arena, "%s/request", id);
    body.failure = core_failure(f, "Bad");
    add_message(f, m, id, "reject", PREFIX "Rejection", &body.base);
}

static void add_placed(struct core *f, const char *message_id) {
    Command__Command *cmd = core_add(f, COMMAND_TYPE_PROTOCOL_MESSAGE);
    Command__ProtocolMessageCommandAttributes *a =
        arena_new(&f->arena, Command__ProtocolMessageCommandAttributes);
    if (!cmd || !a)
        return;
    command__protocol_message_command_attributes__init(a);
    a->message_id = core_text(f, message_id);
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_PROTOCOL_MESSAGE_COMMAND_ATTRIBUTES;
    cmd->protocol_message_command_attributes = a;
}

/* An update that callers wait for. */
static void offer(struct core *f, struct mail *m, const char *id, bool is_sent) {
    Update__Request *r = arena_new(&f->arena, Update__Request);
    Update__Input *input = arena_new(&f->arena, Update__Input);
    if (!r || !input)
        return;
    update__request__init(r);
    update__input__init(input);
    input->name = core_text(f, "handler");
    r->input = input;
    m->offers[m->offer_count++] =
        (struct update_offer){.id = core_text(f, id), .request = r, .is_sent = is_sent};
}

/* core_complete() with messages; uses the mail up. */
static int complete(struct core *f, struct mail *m) {
    State__TaskToken token = core_token(f);
    if (!core_begin(f))
        return ERR_NO_MEMORY;
    f->completion.messages = m->messages;
    f->completion.n_messages = m->count;
    f->s.ctx.updates = m->offers;
    f->s.ctx.update_count = m->offer_count;
    int rc = core_end(f, task_complete(&f->s, &token, &f->completion, &f->done));
    f->completion.n_messages = f->completion.n_commands = 0;
    f->completion.force_create_new_workflow_task = f->completion.return_new_workflow_task = false;
    f->completion.capabilities = NULL;
    m->count = 0;
    return rc;
}

/* Events 1 to 4 are written, nothing is pending. */
static int begin_idle(struct core *f) {
    int rc = core_begin_run(f);
    if (rc == 0)
        rc = core_complete(f);
    (void)core_new(f);
    return rc;
}

/* And a worker has a task that only carries updates: events 5 and 6, if they are ever written. */
static int begin_speculative(struct core *f) {
    int rc = begin_idle(f);
    if (rc == 0)
        rc = STEP_VOID(f, task_schedule_speculative(&f->s));
    return rc == 0 ? core_pick(f) : rc;
}

/* messages */

TEST(update_is_accepted_and_completed_behind_the_task) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    offer(&f, &m, "u", true);
    add_accept(&f, &m, "u");
    add_complete(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_UPDATE_ACCEPTED@5 RUN_UPDATE_COMPLETED@6");
    CHECK_INT(m.offers[0].verdict, UPDATE_ACCEPTED);
    const History__WorkflowExecutionUpdateAcceptedEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    const History__WorkflowExecutionUpdateCompletedEventAttributes *c =
        core_attributes(&f, 6, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
    REQUIRE(a && a->accepted_request && a->accepted_request->input && c && c->meta && c->outcome);
    CHECK_STR(a->protocol_instance_id, "u");
    CHECK_STR(a->accepted_request_message_id, "u/request");
    CHECK_INT(a->accepted_request_sequencing_event_id, 5);
    CHECK_STR(a->accepted_request->input->name, "handler"); /* the server's own copy */
    CHECK_INT(c->accepted_event_id, 5);
    CHECK_STR(c->meta->update_id, "u");
    CHECK_INT(c->outcome->value_case, UPDATE__OUTCOME__VALUE_SUCCESS);
    const State__Update *u = f.st ? update_find(f.st, "u") : NULL;
    REQUIRE(u);
    CHECK_INT(u->accepted_event_id, 5);
    CHECK_INT(u->completed_event_id, 6);
    CHECK_INT(update_open_count(f.st), 0);
}

TEST(update_is_completed_by_a_later_task) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    offer(&f, &m, "u", true);
    add_accept(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK(f.st && update_open_count(f.st) == 1);
    m.offer_count = 0;
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    add_complete(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@8 TASK_COMPLETED@9 RUN_UPDATE_COMPLETED@10");
    CHECK(f.st && update_open_count(f.st) == 0);
}

TEST(update_messages_stand_where_their_commands_are) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    offer(&f, &m, "u", true);
    offer(&f, &m, "v", true);
    add_accept(&f, &m, "v");
    add_accept(&f, &m, "u");
    add_placed(&f, "u/accept");
    core_add_timer(&f, "t", USEC_PER_SEC);
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f),
              "TASK_STARTED@3 TASK_COMPLETED@4 RUN_UPDATE_ACCEPTED@5 TIMER_STARTED@6 RUN_UPDATE_ACCEPTED@7");
    CHECK(f.st && f.st->n_updates == 2 && cstr_eq(f.st->updates[0]->update_id, "u"));
}

TEST(update_that_is_forgotten_is_accepted_by_what_the_worker_has) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Update__Request request = UPDATE__REQUEST__INIT;
    Update__Acceptance body = UPDATE__ACCEPTANCE__INIT;
    body.accepted_request_message_id = core_text(&f, "u/request");
    body.accepted_request = &request;
    add_message(&f, &m, "u", "accept", PREFIX "Acceptance", &body.base);
    CHECK_INT(complete(&f, &m), 0);
    CHECK(f.st && update_find(f.st, "u"));
}

TEST(update_messages_after_the_end_are_not_heard) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    offer(&f, &m, "u", true);
    offer(&f, &m, "v", true);
    add_accept(&f, &m, "u");
    add_reject(&f, &m, "v");
    core_add_complete(&f);
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_COMPLETED@5");
    CHECK_INT(m.offers[0].verdict, UPDATE_UNANSWERED);
    CHECK_INT(m.offers[1].verdict, UPDATE_REJECTED);
}

/* Each of these completions is refused as a whole. */
static void bad_id(struct core *f, struct mail *m) {
    offer(f, m, "u", true);
    add_accept(f, m, "u");
    if (m->count)
        m->messages[0]->protocol_instance_id = core_text(f, "");
}
static void bad_type(struct core *f, struct mail *m) {
    Update__Response body = UPDATE__RESPONSE__INIT;
    add_message(f, m, "u", "x", PREFIX "Request", &body.base);
}
static void bad_body(struct core *f, struct mail *m) {
    add_accept(f, m, "u");
    if (m->count)
        m->messages[0]->body->value = (ProtobufCBinaryData){1, (uint8_t *)core_text(f, "\xff")};
}
static void bad_no_body(struct core *f, struct mail *m) {
    add_accept(f, m, "u");
    if (m->count)
        m->messages[0]->body = NULL;
}
static void bad_unknown(struct core *f, struct mail *m) {
    add_accept(f, m, "u");
}
static void bad_unaccepted(struct core *f, struct mail *m) {
    offer(f, m, "u", true);
    add_complete(f, m, "u");
}
static void bad_twice(struct core *f, struct mail *m) {
    offer(f, m, "u", true);
    add_accept(f, m, "u");
    add_accept(f, m, "u");
}
static void bad_completed_twice(struct core *f, struct mail *m) {
    offer(f, m, "u", true);
    add_accept(f, m, "u");
    add_complete(f, m, "u");
    add_complete(f, m, "u");
}
static void bad_late_rejection(struct core *f, struct mail *m) {
    offer(f, m, "u", true);
    add_accept(f, m, "u");
    add_reject(f, m, "u");
}
static void bad_unknown_rejection(struct core *f, struct mail *m) {
    add_reject(f, m, "u");
}
static void bad_command(struct core *f, struct mail *m unused_arg) {
    add_placed(f, "u/accept");
}
static void bad_outcome(struct core *f, struct mail *m) {
    Update__Response body = UPDATE__RESPONSE__INIT;
    add_message(f, m, "u", "complete", PREFIX "Response", &body.base);
}

TEST(update_messages_that_do_not_fit_fail_the_task) {
    static const struct {
        int line;
        void (*fill)(struct core *f, struct mail *m);
    } cases[] = {
        {__LINE__, bad_id},
        {__LINE__, bad_type},
        {__LINE__, bad_body},
        {__LINE__, bad_no_body},
        {__LINE__, bad_unknown},
        {__LINE__, bad_unaccepted},
        {__LINE__, bad_twice},
        {__LINE__, bad_completed_twice},
        {__LINE__, bad_late_rejection},
        {__LINE__, bad_unknown_rejection},
        {__LINE__, bad_command},
        {__LINE__, bad_outcome},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        (void)core_new(&f);
        cases[i].fill(&f, &m);
        test_check_int(complete(&f, &m), ERR_INVALID, __FILE__, cases[i].line, "refused");
        test_check_int(f.s.task_failed_cause,
                       WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE, __FILE__,
                       cases[i].line, "cause");
        CHECK_STR(core_new(&f), "");
        CHECK(f.st && f.st->n_updates == 0);
    }
}

/* speculative tasks */

TEST(speculative_task_writes_nothing_until_it_has_something_to_say) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(begin_idle(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK_STR(core_effects(&f), "TASK@5");
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_pick(&f), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && !task_owes_start(f.st) && f.st->task && f.st->task->started_event_id == 6);
    offer(&f, &m, "u", true);
    add_accept(&f, &m, "u");
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_COMPLETED@7 RUN_UPDATE_ACCEPTED@8");
    CHECK(!f.done.is_discarded);
    CHECK_INT(core_event_us(&f, 6) - core_event_us(&f, 5), USEC_PER_SEC);
}

TEST(speculative_task_whose_updates_are_rejected_leaves_no_trace) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    offer(&f, &m, "u", true);
    add_reject(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.done.is_discarded);
    CHECK_INT(f.done.reset_event_id, 3);
    CHECK_INT(m.offers[0].verdict, UPDATE_REJECTED);
    REQUIRE(f.st);
    CHECK(!f.st->task);
    CHECK_INT(f.st->next_event_id, 5);
    CHECK_INT(f.st->last_started_event_id, 3);
}

TEST(speculative_task_with_commands_or_heartbeats_is_written) {
    for (int i = 0; i < 2; i++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        core_init(&f);
        CHECK_INT(begin_speculative(&f), 0);
        if (i == 0)
            core_add_timer(&f, "t", USEC_PER_SEC);
        else
            f.completion.force_create_new_workflow_task = true;
        CHECK_INT(complete(&f, &m), 0);
        CHECK(!f.done.is_discarded);
        CHECK_STR(core_new(&f), i == 0 ? "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_COMPLETED@7 TIMER_STARTED@8"
                                       : "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_COMPLETED@7 TASK_SCHEDULED@8");
    }
}

/* A marker stands behind the last completed task: the worker must be able to go back over it. */
TEST(speculative_task_behind_other_events_is_discarded_only_by_workers_that_can) {
    for (int can = 0; can < 2; can++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        Ws__RespondWorkflowTaskCompletedRequest__Capabilities caps =
            WS__RESPOND_WORKFLOW_TASK_COMPLETED_REQUEST__CAPABILITIES__INIT;
        caps.discard_speculative_workflow_task_with_events = can;
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        core_add_marker(&f, "m");
        CHECK_INT(core_complete(&f), 0);
        CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
        CHECK_INT(core_pick(&f), 0);
        (void)core_new(&f);
        offer(&f, &m, "u", true);
        add_reject(&f, &m, "u");
        f.completion.capabilities = &caps;
        CHECK_INT(complete(&f, &m), 0);
        CHECK_STR(core_new(&f), can ? "" : "TASK_SCHEDULED@6 TASK_STARTED@7 TASK_COMPLETED@8");
    }
}

TEST(speculative_task_with_buffered_events_is_followed_by_an_ordinary_one) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "");
    offer(&f, &m, "u", true);
    add_reject(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK(f.done.is_discarded);
}

TEST(speculative_task_that_is_not_taken_becomes_ordinary_with_the_next_event) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_idle(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_effects(&f), "TASK@6");
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK(f.st && f.st->task && !f.st->task->is_speculative);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_COMPLETED@8");
}

TEST(speculative_task_that_nobody_takes_is_written_down) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_idle(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    core_advance(&f, LIMIT_SPECULATIVE_WAIT_MS * USEC_PER_MS - 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    core_advance(&f, 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@5 TASK_TIMED_OUT@6 TASK_SCHEDULED@7");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1 && !f.st->task->is_speculative);
}

TEST(speculative_task_that_fails_or_times_out_is_written_down) {
    for (int i = 0; i < 2; i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(begin_speculative(&f), 0);
        core_advance(&f, i ? LIMIT_DEFAULT_TASK_TIMEOUT_MS * USEC_PER_MS : 0);
        CHECK_INT(i ? core_tick(&f) : core_fail_task(&f), 0);
        CHECK_STR(core_new(&f), i ? "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_TIMED_OUT@7"
                                  : "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_FAILED@7");
        CHECK(f.st && f.st->task && f.st->task->attempt == 2 && !f.st->task->is_speculative);
    }
}

TEST(speculative_task_that_comes_back_is_offered_again) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    State__TaskToken token = core_token(&f);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, token.scheduled_event_id, token.started_us)), 0);
    CHECK_STR(core_effects(&f), "TASK@5");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    token = core_token(&f);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, token.scheduled_event_id, token.started_us)), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK_STR(core_effects(&f), "TASK@6");
}

TEST(speculative_task_ends_with_its_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_FAILED@7 RUN_TERMINATED@8");
}

/* The task is not kept over a restart; what waited for its end must not wait for ever. */
TEST(buffered_events_outlive_a_forgotten_speculative_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    REQUIRE(f.st);
    CHECK_INT(STEP_VOID(&f, task_forget_speculative(f.st)), 0);
    REQUIRE(f.st);
    CHECK(run_due_us(f.st) <= f.now_us);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
}

/* what comes next */

TEST(update_that_came_meanwhile_gets_a_task) {
    for (int inline_ = 0; inline_ < 2; inline_++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        (void)core_new(&f);
        offer(&f, &m, "u", false);
        f.completion.return_new_workflow_task = inline_;
        CHECK_INT(complete(&f, &m), 0);
        CHECK_STR(core_new(&f), inline_ ? "TASK_STARTED@3 TASK_COMPLETED@4"
                                        : "TASK_STARTED@3 TASK_COMPLETED@4 TASK_SCHEDULED@5");
        REQUIRE(f.st && f.st->task);
        CHECK_INT(f.done.is_new_started, inline_);
        CHECK_INT(f.st->task->is_speculative, inline_);
        CHECK_INT(f.st->task->started_event_id, inline_ ? 6 : 0);
    }
}

TEST(many_updates_suggest_to_continue_as_new) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    bool failed = false;
    for (int i = 0; i < LIMIT_SUGGEST_UPDATES && !failed; i++) {
        void *u = pb_new(&state__update__descriptor, &failed);
        if (u)
            pb_append_message(&f.st->n_updates, &f.st->updates, u, &failed);
    }
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    const History__WorkflowTaskStartedEventAttributes *a =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_TASK_STARTED);
    REQUIRE(a && a->n_suggest_continue_as_new_reasons == 1);
    CHECK_INT(a->suggest_continue_as_new_reasons[0], SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_UPDATES);
}

/* updates that a reset brought along */

static Update__Request *make_request(struct core *f, const char *id) {
    Update__Request *r = arena_new(&f->arena, Update__Request);
    Update__Meta *meta = arena_new(&f->arena, Update__Meta);
    if (!r || !meta)
        return NULL;
    update__request__init(r);
    update__meta__init(meta);
    meta->update_id = core_text(f, id);
    r->meta = meta;
    return r;
}

/* Events 5 and 6 admit and schedule; 7 is the start of the task that a worker has. */
static int begin_readmitted(struct core *f) {
    int rc = begin_idle(f);
    Update__Request *r = make_request(f, "u");
    if (rc == 0)
        rc = r ? STEP_VOID(f, (update_readmit(&f->s, r), task_schedule(&f->s))) : ERR_NO_MEMORY;
    return rc == 0 ? core_pick(f) : rc;
}

TEST(update_of_a_reset_is_admitted_by_an_event_and_accepted_without_its_request) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(begin_readmitted(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UPDATE_ADMITTED@5 TASK_SCHEDULED@6");
    const History__WorkflowExecutionUpdateAdmittedEventAttributes *admitted =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED);
    REQUIRE(admitted);
    CHECK_INT(admitted->origin, UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY);
    add_complete(&f, &m, "u");
    CHECK_INT(complete(&f, &m), ERR_INVALID); /* not accepted yet */
    add_accept(&f, &m, "u");
    add_complete(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_COMPLETED@8 RUN_UPDATE_ACCEPTED@9 RUN_UPDATE_COMPLETED@10");
    const History__WorkflowExecutionUpdateAcceptedEventAttributes *accepted =
        core_attributes(&f, 9, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED);
    REQUIRE(accepted && f.st);
    CHECK(!accepted->accepted_request);
    CHECK_INT(f.st->n_updates, 1);
    CHECK_INT(f.st->updates[0]->completed_event_id, 10);
}

TEST(update_of_a_reset_is_admitted_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_readmitted(&f), 0);
    Update__Request *r = make_request(&f, "u");
    REQUIRE(r);
    (void)core_new(&f);
    CHECK_INT(STEP_VOID(&f, update_readmit(&f.s, r)), 0);
    CHECK_INT(STEP_VOID(&f, update_readmit(&f.s, NULL)), 0);
    CHECK_STR(core_new(&f), "");
}

TEST(update_of_a_reset_can_be_rejected) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(begin_readmitted(&f), 0);
    add_reject(&f, &m, "u");
    CHECK_INT(complete(&f, &m), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->n_updates, 0);
}

/* messages that lack something, or come when it is too late */

static int answer(struct core *f, const char *type, const char *body, const char *id) {
    struct mail m = {0};
    const ProtobufCMessageDescriptor *d = cstr_eq(type, "Acceptance") ? &update__acceptance__descriptor
                                          : cstr_eq(type, "Response") ? &update__response__descriptor
                                                                    : &update__rejection__descriptor;
    char *url = arena_printf(&f->arena, PREFIX "%s", type);
    const ProtobufCMessage *message = message_of(&f->arena, d, body);
    if (!url || !message)
        return ERR_NO_MEMORY;
    offer(f, &m, "u", true);
    add_message(f, &m, id, "m", url, message);
    return complete(f, &m);
}

TEST(update_messages_that_lack_something) {
    static const struct {
        const char *type, *body, *text;
    } cases[] = {
        {"Acceptance", "{}", "accepted_request_message_id is not set on Acceptance."},
        {"Response", "{}", "outcome is not set on Response."},
        {"Response", "{'outcome':{}}", "outcome is not set on Response."},
        {"Rejection", "{}", "rejected_request_message_id is not set on Rejection."},
        {"Rejection", "{'rejectedRequestMessageId':'u/request'}", "failure is not set on Rejection."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        CHECK_INT(answer(&f, cases[i].type, cases[i].body, "u"), ERR_INVALID);
        CHECK(strncmp(f.err.text, cases[i].text, strlen(cases[i].text)) == 0);
    }
}

TEST(update_messages_of_a_wrong_size) {
    cleanup(core_done) struct core f;
    char id[LIMIT_ID_BYTES + 2];
    memset(id, 'x', sizeof(id) - 1);
    id[sizeof(id) - 1] = 0;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(answer(&f, "Acceptance", "{'acceptedRequestMessageId':'m'}", id), ERR_INVALID);
    CHECK(strncmp(f.err.text, "protocol_instance_id exceeds length limit.", 42) == 0);
    f.limits.values[SETTABLE_BLOB_BYTES] = 40;
    CHECK_INT(answer(&f, "Acceptance", "{'acceptedRequestMessageId':'m'}", "u"), ERR_INVALID);
    CHECK(strncmp(f.err.text, "A message exceeds size limit.", 29) == 0);
    CHECK(f.s.is_task_failure_final);
}

/* A body that is no such message, in each place where one is read. */
TEST(update_messages_that_cannot_be_read) {
    static const char *const types[] = {"Acceptance", "Response", "Rejection"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        char *url = arena_printf(&f.arena, PREFIX "%s", types[i]);
        REQUIRE(url);
        Update__Acceptance none = UPDATE__ACCEPTANCE__INIT;
        add_message(&f, &m, "u", "m", url, &none.base);
        REQUIRE(m.count == 1);
        m.messages[0]->body->value = (ProtobufCBinaryData){1, (uint8_t *)core_text(&f, "\xff")};
        CHECK_INT(complete(&f, &m), ERR_INVALID);
        CHECK(strncmp(f.err.text, "The body of a message cannot be read.", 37) == 0);
    }
}

/* An offer that has its answer gets no second one, although the state knows nothing of a rejection. */
TEST(update_is_answered_once) {
    static const char *const types[] = {"Acceptance", "Rejection"};
    static const char *const bodies[] = {
        "{'acceptedRequestMessageId':'u/request'}",
        "{'rejectedRequestMessageId':'u/request','failure':{'message':'no'}}"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        offer(&f, &m, "u", false);
        REQUIRE(m.offer_count == 1);
        m.offers[0].verdict = UPDATE_REJECTED;
        CHECK(!update_is_waiting(&(struct step){.ctx = {.updates = m.offers, .update_count = 1}}));
        char *url = arena_printf(&f.arena, PREFIX "%s", types[i]);
        const ProtobufCMessage *body = message_of(
            &f.arena, i ? &update__rejection__descriptor : &update__acceptance__descriptor, bodies[i]);
        REQUIRE(url && body);
        add_message(&f, &m, "u", "m", url, body);
        CHECK_INT(complete(&f, &m), ERR_INVALID);
    }
}

/* A rejection of an update that the server has forgotten is heard, and nobody waits for it. */
TEST(update_that_is_forgotten_is_rejected_by_what_the_worker_has) {
    cleanup(core_done) struct core f;
    struct mail m = {0};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    const ProtobufCMessage *body = message_of(
        &f.arena, &update__rejection__descriptor,
        "{'rejectedRequestMessageId':'u/request','rejectedRequest':{},'failure':{'message':'no'}}");
    REQUIRE(body);
    add_message(&f, &m, "u", "reject", PREFIX "Rejection", body);
    CHECK_INT(complete(&f, &m), 0);
    CHECK(f.st && f.st->n_updates == 0);
}

TEST(update_of_a_reset_without_a_name_is_left_out) {
    cleanup(core_done) struct core f;
    Update__Request request = UPDATE__REQUEST__INIT;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(STEP_VOID(&f, update_readmit(&f.s, &request)), 0);
    CHECK(f.st && f.st->n_updates == 0);
}

/* Too far back for a worker, whatever it says it can do; or it says nothing. */
TEST(speculative_task_far_behind_is_written) {
    static const int markers[] = {1, CORE_COMMANDS_MAX};
    for (size_t k = 0; k < ARRAY_LEN(markers); k++) {
        cleanup(core_done) struct core f;
        struct mail m = {0};
        Ws__RespondWorkflowTaskCompletedRequest__Capabilities caps =
            WS__RESPOND_WORKFLOW_TASK_COMPLETED_REQUEST__CAPABILITIES__INIT;
        caps.discard_speculative_workflow_task_with_events = true;
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        for (int i = 0; i < markers[k]; i++)
            core_add_marker(&f, "m");
        CHECK_INT(core_complete(&f), 0);
        CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
        CHECK_INT(core_pick(&f), 0);
        offer(&f, &m, "u", true);
        add_reject(&f, &m, "u");
        f.completion.capabilities = k ? &caps : NULL;
        CHECK_INT(complete(&f, &m), 0);
        CHECK(!f.done.is_discarded);
    }
}

/* Nothing of its own is offered to a run that has a task, is paused or is over. */
TEST(speculative_task_is_not_always_made) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st && f.st->task);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK(f.st && f.st->task && !f.st->task->is_speculative);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule(&f.s)), 0);
    CHECK(f.st && !f.st->task);
}

/* A paused run gets none; events that wait for their ids make it an ordinary one. */
TEST(speculative_task_of_a_run_that_was_left_behind) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_speculative(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    REQUIRE(f.st);
    CHECK_INT(STEP_VOID(&f, task_forget_speculative(f.st)), 0);
    CHECK_INT(STEP_VOID(&f, (pause_begin(&f.s, f.now_us, "me", "", "r"), task_schedule_speculative(&f.s))),
              0);
    CHECK(f.st && !f.st->task);
    CHECK_INT(STEP_VOID(&f, (pause_end(&f.s), task_schedule_speculative(&f.s))), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(!f.st->task->is_speculative);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
}

/* Each message is looked for among all that came with it. */
TEST(update_messages_of_one_completion_are_bounded) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Protocol__Message one = PROTOCOL__MESSAGE__INIT;
    Protocol__Message **many = arena_array(&f.arena, Protocol__Message *, LIMIT_MESSAGES + 1);
    State__TaskToken token = core_token(&f);
    REQUIRE(many && core_begin(&f));
    for (size_t i = 0; i <= LIMIT_MESSAGES; i++)
        many[i] = &one;
    f.completion.messages = many;
    f.completion.n_messages = LIMIT_MESSAGES + 1;
    CHECK_INT(core_end(&f, task_complete(&f.s, &token, &f.completion, &f.done)), ERR_INVALID);
    CHECK(f.err.text[0] && strstr(f.err.text, "too many messages"));
    f.completion.n_messages = 0;
}
