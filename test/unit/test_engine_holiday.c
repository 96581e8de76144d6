/* Holiday calendars through the engine: put, list, delete, what is refused, and that nothing is lost. */
#include "engine_fixture.h"

#include <stdio.h>

#include "engine/runtime/limits.h"

static Rondo__PutHolidayCalendarRequest *ask_put(struct rig *r, struct ask *a, const char *name,
                                                 const char *date) {
    struct arena *arena = ask_begin(r, a);
    Rondo__PutHolidayCalendarRequest *req =
        MAKE(arena, Rondo__PutHolidayCalendarRequest, rondo__put_holiday_calendar_request__init);
    req->namespace_ = make_text(arena, "default");
    req->calendar = MAKE(arena, Rondo__HolidayCalendar, rondo__holiday_calendar__init);
    req->calendar->name = make_text(arena, name);
    req->calendar->dates = arena_array(arena, char *, 1);
    ensure(req->calendar->dates);
    req->calendar->dates[req->calendar->n_dates++] = make_text(arena, date);
    return req;
}

static void put(struct rig *r, struct ask *a, const char *name, const char *date) {
    RIG_SEND(r, a, put_holiday_calendar, ask_put(r, a, name, date));
}

static void drop(struct rig *r, struct ask *a, const char *name) {
    struct arena *arena = ask_begin(r, a);
    Rondo__DeleteHolidayCalendarRequest *req =
        MAKE(arena, Rondo__DeleteHolidayCalendarRequest, rondo__delete_holiday_calendar_request__init);
    req->namespace_ = make_text(arena, "default");
    req->name = make_text(arena, name);
    RIG_SEND(r, a, delete_holiday_calendar, req);
}

static void list(struct rig *r, struct ask *a, const char *namespace) {
    struct arena *arena = ask_begin(r, a);
    Rondo__ListHolidayCalendarsRequest *req =
        MAKE(arena, Rondo__ListHolidayCalendarsRequest, rondo__list_holiday_calendars_request__init);
    req->namespace_ = make_text(arena, namespace);
    RIG_SEND(r, a, list_holiday_calendars, req);
}

/* "name date" of each. */
static void check_list(const struct ask *a, const char *want) {
    char got[400] = "";
    CHECK_OK(a);
    const Rondo__ListHolidayCalendarsResponse *resp = a->response;
    for (size_t i = 0; resp && i < resp->n_calendars; i++) {
        const Rondo__HolidayCalendar *c = resp->calendars[i];
        size_t n = strlen(got);
        (void)snprintf(got + n, sizeof got - n, "%s%s %s", n ? ", " : "", c->name,
                       c->n_dates ? c->dates[0] : "-");
    }
    CHECK_STR(got, want);
}

TEST(holidays_are_put_listed_and_deleted) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    list(&r, &a, "default");
    check_list(&a, "");
    put(&r, &a, "de", "2026-12-25");
    CHECK_OK(&a);
    put(&r, &a, "fr", "2026-07-14");
    put(&r, &a, "us", "2026-07-04");
    CHECK_OK(&a);
    list(&r, &a, "default");
    check_list(&a, "de 2026-12-25, fr 2026-07-14, us 2026-07-04");
    put(&r, &a, "fr", "2027-07-14");
    CHECK_OK(&a);
    drop(&r, &a, "de");
    CHECK_OK(&a);
    list(&r, &a, "default");
    check_list(&a, "fr 2027-07-14, us 2026-07-04");
    list(&r, &a, "other");
    check_list(&a, "");
    rig_restart(&r);
    list(&r, &a, "default");
    check_list(&a, "fr 2027-07-14, us 2026-07-04");
}

TEST(holidays_that_are_wrong_change_nothing) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    put(&r, &a, "de", "2026-12-25");
    put(&r, &a, "de", "Christmas");
    CHECK_FAILS(&a, ERR_INVALID, "Invalid holiday calendar de: \"Christmas\" is not a date like 2026-12-25");
    put(&r, &a, "", "2026-12-25");
    CHECK_FAILS(&a, ERR_INVALID, "Calendar name is not set on request.");
    Rondo__PutHolidayCalendarRequest *req = ask_put(&r, &a, "x", "2026-12-25");
    req->calendar = NULL;
    RIG_SEND(&r, &a, put_holiday_calendar, req);
    CHECK_FAILS(&a, ERR_INVALID, "Calendar is not set on request.");
    req = ask_put(&r, &a, "x", "2026-12-25");
    req->namespace_ = make_text(ask_arena(&a), "nowhere");
    RIG_SEND(&r, &a, put_holiday_calendar, req);
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
    drop(&r, &a, "fr");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "holiday calendar \"fr\" not found");
    drop(&r, &a, "");
    CHECK_FAILS(&a, ERR_INVALID, "Calendar name is not set on request.");
    list(&r, &a, "default");
    check_list(&a, "de 2026-12-25");
}

TEST(holidays_have_limits) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Rondo__PutHolidayCalendarRequest *req = ask_put(&r, &a, "", "2026-12-25");
    req->calendar->name = make_long_text(ask_arena(&a), 200);
    RIG_SEND(&r, &a, put_holiday_calendar, req);
    CHECK_OK(&a);
    req = ask_put(&r, &a, "", "2026-12-25");
    req->calendar->name = make_long_text(ask_arena(&a), 201);
    RIG_SEND(&r, &a, put_holiday_calendar, req);
    CHECK_FAILS(&a, ERR_INVALID, "Calendar name length exceeds limit.");
    for (size_t n = 1000; n <= 1001; n++) {
        req = ask_put(&r, &a, "many", "2026-12-25");
        req->calendar->dates = arena_array(ask_arena(&a), char *, n);
        ensure(req->calendar->dates);
        for (size_t i = 0; i < n; i++)
            req->calendar->dates[i] = make_text(ask_arena(&a), "2026-12-25");
        req->calendar->n_dates = n;
        RIG_SEND(&r, &a, put_holiday_calendar, req);
        if (n == 1000)
            CHECK_OK(&a);
        else
            CHECK_FAILS(&a, ERR_INVALID, "A holiday calendar may have at most 1000 days.");
    }
    req = ask_put(&r, &a, "large", "2026-12-25");
    req->calendar->description = make_long_text(ask_arena(&a), 128 << 10);
    RIG_SEND(&r, &a, put_holiday_calendar, req);
    CHECK_FAILS(&a, ERR_INVALID, "A holiday calendar may have at most 131072 bytes.");
    for (int i = 2; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        put(&r, &a, name, "2026-12-25");
        CHECK_OK(&a);
    }
    put(&r, &a, "one more", "2026-12-25");
    CHECK_FAILS(&a, ERR_PRECONDITION, "A namespace may have at most 100 holiday calendars.");
    put(&r, &a, "c7", "2027-12-25"); /* another day for one that is there */
    CHECK_OK(&a);
}

TEST(holidays_are_answered_when_they_are_on_disk) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    put(&r, &a, "de", "2026-12-25");
    CHECK(!a.is_done);
    list(&r, &b, "default"); /* must not tell what a crash could still take back */
    CHECK(!b.is_done);
    rig_settle(&r);
    CHECK_OK(&a);
    check_list(&b, "de 2026-12-25");
}

TEST(holidays_of_a_crash_before_the_disk_are_not_there) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    put(&r, &a, "de", "2026-12-25");
    rig_restart(&r);
    rig_settle(&r);
    list(&r, &a, "default");
    rig_settle(&r);
    check_list(&a, "");
}

/* schedules: "noon" acts at 12:00 UTC; the rig begins at 2023-11-14T22:13:20Z */

#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)

static void create_with(struct rig *r, struct ask *a, const char *schedule_id, const char *calendar) {
    struct arena *arena = ask_begin(r, a);
    Ws__CreateScheduleRequest *req =
        MAKE(arena, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    Schedule__Schedule *s = MAKE(arena, Schedule__Schedule, schedule__schedule__init);
    Workflow__NewWorkflowExecutionInfo *w =
        MAKE(arena, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, schedule_id);
    req->request_id = make_text(arena, schedule_id);
    req->schedule = s;
    s->spec = MAKE(arena, Schedule__ScheduleSpec, schedule__schedule_spec__init);
    s->spec->cron_string = arena_array(arena, char *, 1);
    s->spec->cron_string[s->spec->n_cron_string++] = make_text(arena, "0 12 * * *");
    s->action = MAKE(arena, Schedule__ScheduleAction, schedule__schedule_action__init);
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = w;
    w->workflow_id = make_text(arena, "wf");
    w->workflow_type = MAKE(arena, Common__WorkflowType, common__workflow_type__init);
    w->workflow_type->name = make_text(arena, "type");
    w->task_queue = make_queue(arena, "queue");
    s->extras = MAKE(arena, Rondo__ScheduleExtras, rondo__schedule_extras__init);
    s->extras->holiday_calendars = arena_array(arena, char *, 1);
    s->extras->holiday_calendars[s->extras->n_holiday_calendars++] = make_text(arena, calendar);
    RIG_SEND(r, a, create_schedule, req);
}

static void create(struct rig *r, struct ask *a, const char *schedule_id) {
    create_with(r, a, schedule_id, "de");
}

static void describe(struct rig *r, struct ask *a, const char *schedule_id) {
    struct arena *arena = ask_begin(r, a);
    Ws__DescribeScheduleRequest *req =
        MAKE(arena, Ws__DescribeScheduleRequest, ws__describe_schedule_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, schedule_id);
    RIG_SEND(r, a, describe_schedule, req);
}

static int64_t next_us(const struct ask *a) {
    const Ws__DescribeScheduleResponse *resp = a->response;
    CHECK_OK(a);
    return resp && resp->info->n_future_action_times
               ? resp->info->future_action_times[0]->seconds * USEC_PER_SEC
               : 0;
}

/* 12:00 of that day in November 2023. */
static int64_t noon_us(int day) {
    return (INT64_C(1700049600) + (day - 15) * INT64_C(86400)) * USEC_PER_SEC;
}

static void check_next(struct rig *r, const char *schedule_id, int day) {
    cleanup(ask_done) struct ask a = {0};
    describe(r, &a, schedule_id);
    if (r->is_manual)
        rig_settle(r);
    CHECK_INT(next_us(&a), noon_us(day));
}

static int64_t action_count(struct rig *r, const char *schedule_id) {
    cleanup(ask_done) struct ask a = {0};
    describe(r, &a, schedule_id);
    CHECK_OK(&a);
    const Ws__DescribeScheduleResponse *resp = a.response;
    return resp ? resp->info->action_count : -1;
}

TEST(schedules_hear_of_new_holidays) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    put(&r, &a, "de", "2023-11-20");
    create(&r, &a, "noon");
    CHECK_OK(&a);
    check_next(&r, "noon", 15);
    put(&r, &a, "de", "2023-11-15");
    CHECK_OK(&a);
    check_next(&r, "noon", 16);
    rig_advance(&r, noon_us(15) - r.now.wall.us + HOUR_US);
    CHECK_INT(action_count(&r, "noon"), 0);
    rig_advance(&r, noon_us(16) - r.now.wall.us + HOUR_US);
    CHECK_INT(action_count(&r, "noon"), 1);
}

static void check_explanation(struct rig *r, int64_t us, const char *want) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *arena = ask_begin(r, &a);
    Rondo__ExplainScheduleTimeRequest *req =
        MAKE(arena, Rondo__ExplainScheduleTimeRequest, rondo__explain_schedule_time_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, "noon");
    req->time = MAKE(arena, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
    req->time->seconds = us / USEC_PER_SEC;
    RIG_SEND(r, &a, explain_schedule_time, req);
    CHECK_OK(&a);
    const Rondo__ExplainScheduleTimeResponse *resp = a.response;
    if (resp)
        CHECK_STR(resp->explanation, want);
}

/* The wake-up that was set is too late when a day is no holiday any more. */
TEST(schedules_hear_that_a_day_is_no_holiday) {
    for (int is_deleted = 0; is_deleted < 2; is_deleted++) {
        cleanup(ask_done) struct ask a = {0};
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        put(&r, &a, "de", "2023-11-15");
        create(&r, &a, "noon");
        check_next(&r, "noon", 16);
        is_deleted ? drop(&r, &a, "de") : put(&r, &a, "de", "2023-11-16");
        CHECK_OK(&a);
        check_next(&r, "noon", 15);
        rig_advance(&r, noon_us(15) - r.now.wall.us + 1);
        CHECK_INT(action_count(&r, "noon"), 1);
        CHECK_INT(r.fatal_count, 0);
        check_explanation(&r, noon_us(20),
                          is_deleted
                              ? "2023-11-20T12:00:00Z is a time of this schedule; it is still to come. The "
                                "holiday calendar \"de\" does not exist: it excludes nothing."
                              : "2023-11-20T12:00:00Z is a time of this schedule; it is still to come.");
    }
}

/* Dead between the commit of the change and the schedules: the next start tells them. */
TEST(schedules_hear_of_holidays_after_a_crash) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    put(&r, &a, "de", "2023-11-15");
    rig_settle(&r);
    create(&r, &a, "noon");
    rig_settle(&r);
    CHECK_OK(&a);
    put(&r, &a, "de", "2023-11-16");
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK(mem_store_pending_reads(r.store) > 0); /* the walk has begun and gets no further */
    rig_restart(&r);
    rig_settle(&r);
    check_next(&r, "noon", 15);
}

/* It is in no list yet when the calendar changes. */
TEST(schedules_made_just_before_hear_of_holidays) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    put(&r, &a, "de", "2023-11-15");
    rig_settle(&r);
    rig_start(&r, &b, "workflow");
    rig_read(&r); /* on its way to disk: what follows waits for the next commit */
    create(&r, &a, "noon");
    rig_read(&r);
    put(&r, &c, "de", "2023-11-16");
    CHECK(!a.is_done && !b.is_done && !c.is_done);
    rig_settle(&r);
    CHECK_OK(&a);
    CHECK_OK(&c);
    check_next(&r, "noon", 15);
}

/* More than one page of them, and more than stay in memory; then the calendar changes once more on the way.
 */
TEST(all_schedules_hear_of_holidays_even_when_they_change_meanwhile) {
    enum { COUNT = 250 };
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char id[16];
    rig_init(&r);
    put(&r, &a, "de", "2023-11-20");
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(id, sizeof id, "s%d", i);
        create(&r, &a, id);
        CHECK_OK(&a);
    }
    put(&r, &a, "de", "2023-11-15");
    rig_advance(&r, 1); /* two pages of three */
    put(&r, &a, "de", "2023-11-16");
    CHECK_OK(&a);
    for (int i = 0; i < 10; i++)
        rig_advance(&r, 1);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(id, sizeof id, "s%d", i);
        check_next(&r, id, 15);
    }
    uint64_t before = mem_disk_hash(r.disk);
    rig_restart(&r); /* nothing is left to be told */
    rig_advance(&r, 1);
    CHECK(mem_disk_hash(r.disk) == before);
}

/* A schedule that was deleted, or that names no calendar, is passed by. */
TEST(holidays_pass_by_what_does_not_need_them) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "workflow");
    put(&r, &a, "de", "2023-11-15");
    create(&r, &a, "noon");
    put(&r, &a, "fr", "2023-11-16");
    CHECK_OK(&a);
    check_next(&r, "noon", 16);
    CHECK_INT(r.fatal_count, 0);
}

/* None but those that name the calendar are read from the store. */
TEST(holidays_load_no_schedule_without_them) {
    enum { COUNT = 20 };
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char id[16];
    rig_init_manual(&r);
    put(&r, &a, "de", "2023-11-15");
    rig_settle(&r);
    put(&r, &a, "fr", "2023-11-15");
    rig_settle(&r);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(id, sizeof id, "s%d", i);
        create_with(&r, &a, id, "fr");
        rig_settle(&r);
        CHECK_OK(&a);
    }
    create(&r, &a, "noon");
    rig_settle(&r);
    rig_restart(&r);
    rig_settle(&r);
    put(&r, &a, "de", "2023-11-16");
    rig_commit(&r);
    int reads = 0;
    for (; mem_store_pending_reads(r.store) > 0; reads++)
        rig_read(&r);
    CHECK_INT(reads, 2); /* which they are, and the one */
    rig_settle(&r);
    check_next(&r, "noon", 15);
    check_next(&r, "s0", 16);
}

/* Two calendars changed, and the process died before anyone was told. */
TEST(holidays_of_several_calendars_are_told_after_a_crash) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    put(&r, &a, "de", "2023-11-15");
    put(&r, &b, "fr", "2023-11-15");
    rig_settle(&r);
    create(&r, &a, "noon");
    create_with(&r, &b, "midi", "fr");
    rig_settle(&r);
    put(&r, &a, "de", "2023-11-16");
    put(&r, &b, "fr", "2023-11-17");
    rig_commit(&r);
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK_OK(&b);
    rig_restart(&r);
    rig_settle(&r);
    check_next(&r, "noon", 15);
    check_next(&r, "midi", 15);
}

TEST(a_describe_names_the_holidays_that_are_missing) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    put(&r, &a, "de", "2023-11-15");
    create(&r, &a, "noon");
    describe(&r, &a, "noon");
    CHECK_OK(&a);
    const Ws__DescribeScheduleResponse *resp = a.response;
    CHECK_INT(resp ? resp->info->n_missing_holiday_calendars : 1, 0);
    drop(&r, &b, "de");
    describe(&r, &a, "noon");
    CHECK_OK(&a);
    resp = a.response;
    if (CHECK_INT(resp ? resp->info->n_missing_holiday_calendars : 0, 1))
        CHECK_STR(resp->info->missing_holiday_calendars[0], "de");
}

/* The walk still waits for the store when its namespace is removed. */
TEST(a_namespace_may_go_while_its_schedules_are_told) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_sweep(&r);
    Rondo__PutHolidayCalendarRequest *put_request = ask_put(&r, &a, "de", "2023-11-15");
    put_request->namespace_ = make_text(ask_arena(&a), "other");
    RIG_SEND(&r, &a, put_holiday_calendar, put_request);
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK_INT(mem_store_pending_reads(r.store), 1);
    struct arena *arena = ask_begin(&r, &b);
    Ops__DeleteNamespaceRequest *req =
        MAKE(arena, Ops__DeleteNamespaceRequest, ops__delete_namespace_request__init);
    req->namespace_ = make_text(arena, "other");
    RIG_SEND(&r, &b, delete_namespace, req);
    rig_commit(&r);
    CHECK_OK(&b);
    rig_advance(&r, USEC_PER_SEC);
    if (CHECK_INT(mem_store_pending_reads(r.store), 2)) {
        mem_store_answer(r.store, 1, 0); /* nothing is in it, so it goes */
        rig_turn(&r);
    }
    rig_settle(&r);
    list(&r, &a, "other");
    CHECK_INT(a.err.code, ERR_NO_NAMESPACE);
    CHECK_INT(r.fatal_count, 0);
}

/* As many days as a calendar may have, all of them in years to come. */
static void put_many(struct rig *r, struct ask *a) {
    Rondo__PutHolidayCalendarRequest *req = ask_put(r, a, "de", "2030-01-01");
    struct arena *m = ask_arena(a);
    req->calendar->dates = arena_array(m, char *, ENGINE_HOLIDAY_DAYS);
    ensure(req->calendar->dates);
    req->calendar->n_dates = 0;
    for (int i = 0; i < ENGINE_HOLIDAY_DAYS; i++)
        req->calendar->dates[req->calendar->n_dates++] =
            arena_printf(m, "%d-%02d-%02d", 2030 + i / 336, i % 12 + 1, i / 12 % 28 + 1);
    RIG_SEND(r, a, put_holiday_calendar, req);
    CHECK_OK(a);
}

/* What one schedule needs for it is given back before the next. */
TEST(many_schedules_hear_of_a_long_calendar) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char id[32];
    rig_init(&r);
    put(&r, &a, "de", "2023-11-15");
    for (int i = 0; i < 150; i++) {
        (void)snprintf(id, sizeof id, "noon-%d", i);
        create(&r, &a, id);
        CHECK_OK(&a);
    }
    put_many(&r, &a);
    for (int i = 0; i < 10; i++)
        rig_advance(&r, USEC_PER_SEC);
    for (int i = 0; i < 150; i++) {
        (void)snprintf(id, sizeof id, "noon-%d", i);
        check_next(&r, id, 15);
    }
}
