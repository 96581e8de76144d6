/* What a schedule orders, and what it learns from the answer and from the end. */
#include "schedule_fixture.h"

#include "core/message/letter.h"
#include "message_text.h"

/* the order */

static bool order_first(struct sched *f, struct action_order *ret) {
    if (!f->c.st || !f->c.st->n_outbox)
        return false;
    return schedule_order(f->c.st, f->c.st->outbox[0]->event_id, "default", (struct wall){f->c.now_us},
                          &f->c.arena, ret) == 0;
}

static struct str attribute_value(const Common__SearchAttributes *a, const char *name) {
    for (size_t i = 0; a && i < a->n_indexed_fields; i++)
        if (cstr_eq(a->indexed_fields[i]->key, name))
            return pb_bytes(&a->indexed_fields[i]->value->data);
    return STR("none");
}

static void create_held(struct sched *f) {
    f->holds_letters = true;
    CHECK_INT(sched_create(f), 0);
    sched_go(f, "00:05");
}

TEST(the_order_names_the_time_and_the_schedule) {
    cleanup(sched_done) struct sched f;
    struct action_order order;
    sched_init(&f);
    f.create.schedule_id = core_text(&f.c, "my \"schedule\"");
    create_held(&f);
    if (!order_first(&f, &order))
        return;
    const Ws__StartWorkflowExecutionRequest *r = order.request;
    CHECK_STR(r->workflow_id, "wf-2022-06-01T00:05:00Z");
    CHECK_STR(r->workflow_type->name, "Type");
    CHECK_STR(r->task_queue->name, "queue");
    CHECK_STR(r->identity, "temporal-scheduler-default-my \"schedule\"");
    CHECK_INT(r->workflow_id_reuse_policy, WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE);
    CHECK_INT(r->input->n_payloads, 1);
    CHECK_SLICE(attribute_value(r->search_attributes, "TemporalScheduledStartTime"),
                STR("\"2022-06-01T00:05:00Z\""));
    CHECK_SLICE(attribute_value(r->search_attributes, "TemporalScheduledById"),
                STR("\"my \\\"schedule\\\"\""));
    CHECK_STR(order.scheduled_by->schedule_id, "my \"schedule\"");
    CHECK_INT(order.scheduled_by->start_id, f.c.st->outbox[0]->event_id);
    CHECK(!order.last_completion_result && !order.continued_failure);
}

TEST(the_action_may_get_its_times_as_arguments) {
    cleanup(sched_done) struct sched f;
    struct action_order order;
    sched_init(&f);
    f.schedule->extras->passes_times = true;
    create_held(&f);
    f.c.now_us += 1234567;
    if (!order_first(&f, &order))
        return;
    CHECK_INT(order.request->input->n_payloads, 2);
    CHECK_SLICE(pb_bytes(&order.request->input->payloads[0]->data), STR("\"2022-06-01T00:05:00.000Z\""));
    CHECK_SLICE(pb_bytes(&order.request->input->payloads[1]->data), STR("\"2022-06-01T00:05:01.234Z\""));
}

static const char *id_with(const char *format, bool keeps, struct sched *f) {
    struct action_order order;
    sched_init(f);
    f->schedule->extras->workflow_id_format = core_text(&f->c, format);
    f->schedule->policies->keep_original_workflow_id = keeps;
    int rc = arena_failed(&f->c.arena) ? ERR_NO_MEMORY : 0;
    f->holds_letters = true;
    rc = rc < 0 ? rc : sched_create(f);
    sched_go(f, "00:05");
    const char *id = rc == 0 && order_first(f, &order) ? core_text(&f->c, order.request->workflow_id) : "";
    return id ? id : "";
}

TEST(ids_can_be_kept_or_formatted) {
    static const struct {
        const char *format, *want;
    } cases[] = {
        {"", "wf-2022-06-01T00:05:00Z"},
        {"{id}", "wf"},
        {"{schedule}/{time}", "myschedule/2022-06-01T00:05:00Z"},
        {"{id}_%Y%m%d_%H-%M-%S_%s_100%%", "wf_20220601_00-05-00_1654041900_100%"},
        {"{nothing}", ""},
        {"{id", ""},
        {"%q", ""},
        {"%", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(sched_done) struct sched f;
        CHECK_STR(id_with(cases[i].format, false, &f), cases[i].want);
    }
    cleanup(sched_done) struct sched f;
    struct action_order order;
    CHECK_STR(id_with("", true, &f), "wf");
    CHECK(order_first(&f, &order) &&
          order.request->workflow_id_reuse_policy == WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE);
}

TEST(an_update_while_it_waits_changes_what_is_ordered) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:10");
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "5m");
    if (changed) {
        changed->policies->overlap_policy = POLICY(BUFFER_ALL);
        changed->action->start_workflow->workflow_id = core_text(&f.c, "other");
    }
    CHECK_INT(sched_update(&f, changed), 0);
    sched_close(&f, "00:05", STATUS(COMPLETED));
    struct sched_run *run = sched_run_at(&f, "00:10");
    CHECK_STR(run ? run->workflow_id : "", "other-2022-06-01T00:10:00Z");
}

/* the answer */

TEST(a_start_is_tried_ten_times) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1h");
    f.refusal = (struct action_outcome){.error = "no room", .is_retryable = true};
    f.refusals_left = 9;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "01:10");
    CHECK_STR(sched_begun(&f), "01:00@01:04:03"); /* 1 2 4 8 16 32 60 60 60 seconds later */
    CHECK_INT(sched_state(&f)->start_failed, 0);
    sched_close(&f, "01:00", STATUS(COMPLETED));
    f.refusals_left = 10;
    sched_go(&f, "02:10");
    CHECK_STR(sched_begun(&f), "");
    CHECK_INT(sched_state(&f)->start_failed, 1);
    CHECK_STR(sched_ledger(&f), "01:00 STARTED/COMPLETED, 02:00 START_FAILED");
    const Rondo__LedgerEntry *e = f.ledger_count > 1 ? f.ledger[1] : NULL;
    CHECK_STR(e ? e->reason : "", "no room");
    CHECK_INT(sched_state(&f)->action_count, 1);
}

TEST(a_start_that_cannot_succeed_is_tried_once) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.refusal = (struct action_outcome){.error = "no such thing"};
    f.refusals_left = 1;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:10");
    CHECK_STR(sched_begun(&f), "00:10");
    CHECK_STR(sched_ledger(&f), "00:05 START_FAILED, 00:10 STARTED/RUNNING");
}

TEST(an_id_that_is_taken_is_no_error) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.refusal = (struct action_outcome){.is_taken = true};
    f.refusals_left = 1;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:10");
    CHECK_STR(sched_ledger(&f), "00:05 ALREADY_RUN, 00:10 STARTED/RUNNING");
    CHECK_INT(sched_state(&f)->start_failed, 0);
    CHECK_INT(sched_state(&f)->action_count, 1);
}

TEST(lateness_is_in_the_ledger) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:05:02.500");
    sched_tick(&f);
    const Rondo__LedgerEntry *e = f.ledger_count ? f.ledger[0] : NULL;
    CHECK(e && pb_duration_us(e->lateness) == 2500000);
    CHECK(e && e->origin == LEDGER_ORIGIN_SPEC && e->overlap_policy == POLICY(SKIP));
    CHECK_STR(e ? e->workflow_id : "", "wf-2022-06-01T00:05:00Z");
    CHECK_STR(e ? e->run_id : "", "run-1");
}

struct report {
    bool is_end;
    int64_t start_id;
    struct action_outcome outcome;
    struct action_end end;
};

static int tell(struct step *s, const struct report *r) {
    if (r->is_end)
        schedule_action_closed(s, r->start_id, &r->end);
    else
        schedule_action_started(s, r->start_id, &r->outcome);
    return 0;
}

TEST(the_end_may_come_before_the_answer_and_both_twice) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    create_held(&f);
    struct report answer = {.start_id = 1, .outcome = {.run_id = "run"}};
    struct report end = {.is_end = true,
                         .start_id = 1,
                         .end = {.workflow_id = "wf-2022-06-01T00:05:00Z",
                                 .first_run_id = "run",
                                 .status = STATUS(COMPLETED),
                                 .close_us = f.c.now_us}};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(SCHED(&f, tell(&f.c.s, &end)), 0);
        CHECK_INT(SCHED(&f, tell(&f.c.s, &answer)), 0);
        CHECK_INT(sched_state(&f)->action_count, 1);
        CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED");
    }
    answer.start_id = end.start_id = 99; /* nobody's */
    CHECK_INT(SCHED(&f, tell(&f.c.s, &answer)), 0);
    CHECK_INT(SCHED(&f, tell(&f.c.s, &end)), 0);
    CHECK_INT(sched_state(&f)->action_count, 1);
}

TEST(an_order_that_is_no_longer_wanted_is_void) {
    cleanup(sched_done) struct sched f;
    struct action_order order;
    sched_init(&f);
    create_held(&f);
    CHECK(!f.c.st ||
          schedule_order(f.c.st, 99, "default", (struct wall){0}, &f.c.arena, &order) == ERR_NOT_FOUND);
}

/* the end */

static const char *result_of(const Common__Payloads *p) {
    return p && p->n_payloads ? (const char *)p->payloads[0]->data.data : "";
}

static bool result_is(const struct sched_run *run, const char *want) {
    const char *got = run ? result_of(run->last_result) : "";
    return run && strlen(want) == (run->last_result ? run->last_result->payloads[0]->data.len : 0) &&
           memcmp(got, want, strlen(want)) == 0;
}

/* The example of the documentation: four runs that overlap. */
TEST(a_b_c_d) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05"); /* A */
    sched_go(&f, "00:10"); /* B */
    sched_jump(&f, "00:12");
    struct sched_run *b = sched_run_at(&f, "00:10");
    if (b)
        sched_close_run(&f, b, STATUS(COMPLETED), "B");
    sched_go(&f, "00:15"); /* C */
    CHECK(result_is(sched_run_at(&f, "00:15"), "B"));
    sched_jump(&f, "00:16");
    struct sched_run *a = sched_run_at(&f, "00:05");
    if (a)
        sched_close_run(&f, a, STATUS(COMPLETED), "A");
    sched_go(&f, "00:20"); /* D */
    sched_jump(&f, "00:22");
    struct sched_run *c = sched_run_at(&f, "00:15");
    if (c)
        sched_close_run(&f, c, STATUS(COMPLETED), "C");
    CHECK(result_is(sched_run_at(&f, "00:20"), "A"));
}

TEST(failures_are_passed_on_until_a_success) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    struct sched_run *run;
    sched_go(&f, "00:05");
    if ((run = sched_run_at(&f, "00:05")))
        sched_close_run(&f, run, STATUS(COMPLETED), "one");
    sched_go(&f, "00:10");
    sched_close(&f, "00:10", STATUS(FAILED));
    sched_go(&f, "00:15");
    run = sched_run_at(&f, "00:15");
    CHECK(result_is(run, "one") && run->last_failure && cstr_eq(run->last_failure->message, "it failed"));
    sched_close(&f, "00:15", STATUS(CANCELED));
    sched_go(&f, "00:20");
    run = sched_run_at(&f, "00:20");
    CHECK(result_is(run, "one") && run->last_failure);
    sched_close(&f, "00:20", STATUS(TERMINATED));
    sched_go(&f, "00:25");
    run = sched_run_at(&f, "00:25");
    CHECK(result_is(run, "one") && run->last_failure);
    if (run)
        sched_close_run(&f, run, STATUS(COMPLETED), "two");
    sched_go(&f, "00:30");
    run = sched_run_at(&f, "00:30");
    CHECK(result_is(run, "two") && !run->last_failure);
    sched_close(&f, "00:30", STATUS(TIMED_OUT));
    sched_go(&f, "00:35");
    run = sched_run_at(&f, "00:35");
    CHECK(result_is(run, "two") && run->last_failure &&
          cstr_eq(run->last_failure->message, "workflow timeout") && run->last_failure->timeout_failure_info &&
          run->last_failure->timeout_failure_info->timeout_type == TIMEOUT_TYPE_START_TO_CLOSE);
}

static const char *note_after(struct sched *f, E__WorkflowExecutionStatus status) {
    sched_init(f);
    f->schedule->policies->pause_on_failure = true;
    f->schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    CHECK_INT(sched_create(f), 0);
    sched_go(f, "00:10");
    int64_t token = sched_state(f)->conflict_token;
    sched_close(f, "00:05", status);
    const State__Schedule *sch = sched_state(f);
    if (!sch->schedule || !sch->schedule->state->paused)
        return "";
    CHECK_INT(sch->conflict_token, token + 1);
    return sch->schedule->state->notes;
}

TEST(a_failure_pauses) {
    cleanup(sched_done) struct sched f;
    CHECK_STR(note_after(&f, STATUS(FAILED)),
              "paused due to workflow failure: wf-2022-06-01T00:05:00Z: it failed");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/FAILED, 00:10 PAUSED");
}

TEST(a_timeout_pauses) {
    cleanup(sched_done) struct sched f;
    CHECK_STR(note_after(&f, STATUS(TIMED_OUT)), "paused due to workflow timeout: wf-2022-06-01T00:05:00Z");
}

/* The note of a failure can be read and handed back like any other. */
TEST(a_failure_with_a_long_message_pauses) {
    cleanup(sched_done) struct sched f;
    char id[900] = "", message[2000] = "";
    sched_init(&f);
    memset(id, 'i', sizeof(id) - 1);
    for (size_t i = 0; i + 3 < sizeof(message); i += 3)
        memcpy(message + i, "\xe2\x82\xac", 3);
    f.schedule->policies->pause_on_failure = true;
    f.schedule->action->start_workflow->workflow_id = core_text(&f.c, id);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    struct sched_run *run = sched_run_at(&f, "00:05");
    REQUIRE(f.c.st && run);
    Failure__Failure *failure = core_failure(&f.c, "Broken");
    REQUIRE(failure);
    failure->message = message;
    struct action_end end = {.workflow_id = run->workflow_id,
                             .first_run_id = "run",
                             .status = STATUS(FAILED),
                             .failure = failure,
                             .close_us = f.c.now_us};
    int64_t start_id = run->start_id;
    CHECK_INT(SCHED(&f, (schedule_action_closed(&f.c.s, start_id, &end), 0)), 0);
    REQUIRE(f.c.st);
    const Schedule__ScheduleState *state = sched_state(&f)->schedule->state;
    CHECK(state->paused);
    CHECK(utf8_valid(str_of(state->notes)));
    CHECK_INT(strlen(state->notes), LIMIT_SCHEDULE_NOTES_BYTES - 1);
    Schedule__Schedule *shown = schedule_shown(f.c.st, &f.c.arena);
    CHECK_INT(sched_update(&f, shown), shown ? 0 : ERR_NO_MEMORY);
}

TEST(nothing_else_pauses) {
    static const E__WorkflowExecutionStatus others[] = {STATUS(COMPLETED), STATUS(CANCELED),
                                                        STATUS(TERMINATED)};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        cleanup(sched_done) struct sched f;
        CHECK_STR(note_after(&f, others[i]), "");
    }
}

/* what describe shows of it */

TEST(recent_actions_are_all_that_run_and_the_last_ten) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:10"); /* two that stay */
    f.closes_at_once = true;
    sched_go(&f, "01:30");
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    if (!info)
        return;
    CHECK_INT(info->action_count, 18);
    CHECK_INT(info->n_recent_actions, 12);
    CHECK_INT(info->n_running_workflows, 2);
    if (info->n_recent_actions != 12 || info->n_running_workflows != 2)
        return;
    CHECK_STR(info->running_workflows[0]->workflow_id, "wf-2022-06-01T00:05:00Z");
    CHECK_INT(info->recent_actions[0]->start_workflow_status, STATUS(RUNNING));
    CHECK_INT(info->recent_actions[11]->start_workflow_status, STATUS(COMPLETED));
    CHECK_STR(info->recent_actions[11]->start_workflow_result->workflow_id, "wf-2022-06-01T01:30:00Z");
    for (size_t i = 1; i < info->n_recent_actions; i++)
        CHECK(pb_timestamp_us(info->recent_actions[i]->actual_time) >
              pb_timestamp_us(info->recent_actions[i - 1]->actual_time));
    const Schedule__ScheduleListEntry *e = schedule_list_entry(f.c.st, 1, &f.c.arena);
    CHECK(e && e->info->n_recent_actions == 5 && e->info->n_future_action_times == 5);
    CHECK(e &&
          cstr_eq(e->info->recent_actions[4]->start_workflow_result->workflow_id, "wf-2022-06-01T01:30:00Z"));
    CHECK_STR(e ? e->schedule_id : "", "myschedule");
    CHECK_STR(e ? e->info->workflow_type->name : "", "Type");
}

/* The two attributes are the schedule's to say; the action's others go along. */
TEST(the_order_keeps_the_attributes_of_the_action) {
    cleanup(sched_done) struct sched f;
    struct action_order order;
    sched_init(&f);
    f.create.schedule_id = core_text(&f.c, "a\\b\n");
    f.schedule->action->start_workflow->search_attributes =
        message_of(&f.c.arena, &common__search_attributes__descriptor,
                   "{'indexedFields':{'BatcherUser':'me','TemporalScheduledById':'somebody',"
                   "'TemporalScheduledStartTime':'2020-01-01T00:00:00Z','BatcherNamespace':'n'}}");
    const Common__SearchAttributes *own = f.schedule->action->start_workflow->search_attributes;
    REQUIRE(own);
    own->indexed_fields[3]->value = NULL; /* removes what is not there */
    create_held(&f);
    if (!order_first(&f, &order))
        return;
    const Common__SearchAttributes *a = order.request->search_attributes;
    CHECK_INT(a->n_indexed_fields, 4);
    CHECK_SLICE(attribute_value(a, "BatcherUser"), STR("\"me\""));
    CHECK_SLICE(attribute_value(a, "TemporalScheduledById"), STR("\"a\\\\b\\u000a\""));
    CHECK_SLICE(attribute_value(a, "TemporalScheduledStartTime"), STR("\"2022-06-01T00:05:00Z\""));
}

/* A letter that was delivered before has nothing to order. */
TEST(an_action_that_has_started_is_not_ordered_again) {
    cleanup(sched_done) struct sched f;
    struct action_order order;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    REQUIRE(f.c.st && sched_state(&f)->n_starts == 1);
    CHECK_INT(schedule_order(f.c.st, sched_state(&f)->starts[0]->id, "default", (struct wall){f.c.now_us},
                             &f.c.arena, &order),
              ERR_NOT_FOUND);
}

/* A failure that says nothing pauses too; a close without a time has one all the same. */
TEST(an_end_that_says_little) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->pause_on_failure = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    REQUIRE(f.c.st && sched_state(&f)->n_starts == 1);
    struct action_end end = {.status = STATUS(FAILED), .workflow_id = "wf", .first_run_id = "r"};
    CHECK_INT(SCHED(&f, (schedule_action_closed(&f.c.s, sched_state(&f)->starts[0]->id, &end), 0)), 0);
    REQUIRE(f.c.st);
    CHECK(sched_state(&f)->schedule->state->paused);
    CHECK_STR(sched_state(&f)->schedule->state->notes, "paused due to workflow failure: wf: ");
    CHECK_INT(sched_state(&f)->starts[0]->close_us, 1);
}

/* steps whose arena is full */

TEST(a_failure_that_cannot_be_noted) {
    cleanup(sched_done) struct sched f;
    cleanup(arena_done) struct arena none;
    arena_init(&none, 0);
    sched_init(&f);
    f.schedule->policies->pause_on_failure = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    REQUIRE(f.c.st && sched_state(&f)->n_starts == 1 && core_begin(&f.c));
    struct action_end end = {.status = STATUS(FAILED), .workflow_id = "wf", .first_run_id = "r"};
    f.c.s.arena = &none;
    schedule_action_closed(&f.c.s, sched_state(&f)->starts[0]->id, &end);
    CHECK(step_failed(&f.c.s));
    CHECK(!f.c.st->schedule->schedule->state->paused);
    CHECK_INT(core_end(&f.c, ERR_NO_MEMORY), ERR_NO_MEMORY);
}
