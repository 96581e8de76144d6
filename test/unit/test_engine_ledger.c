/* Ledgers through the engine: order, pages, filters, what is refused, and that rows are kept as the scheduler
 * writes them. For what is only read, schedules are put on the disk as the scheduler leaves them. */
#include "core/schedule/schedule.h"
#include "engine_fixture.h"

#include <stdio.h>

#define SCHEDULE "nightly"

/* planting */

static void note_namespace(struct read *r, const struct row *row) {
    if (str_is(row->name, "default"))
        *(struct uuid *)r->owner = row->namespace_id;
}

static void ignore_done(struct read *r unused_arg, int rc) {
    CHECK_INT(rc, 0);
}

static struct uuid namespace_of(struct rig *r) {
    struct uuid id = {{0}};
    struct read read = {.kind = READ_NAMESPACES, .row = note_namespace, .done = ignore_done, .owner = &id};
    store_read(r->store, &read);
    if (r->is_manual)
        mem_store_answer(r->store, 0, 0);
    return id;
}

static void ignore_batch(struct batch *b unused_arg) {}

static struct write *plant(struct batch *b, enum write_kind kind, struct uuid namespace_id, uint8_t run) {
    struct write *w = batch_add(b, kind);
    ensure(w);
    w->namespace_id = namespace_id;
    w->run_id = (struct uuid){{[15] = run}};
    return w;
}

static struct str pack(struct batch *b, const ProtobufCMessage *m) {
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *bytes = arena_alloc(&b->arena, n);
    ensure(bytes);
    protobuf_c_message_pack(m, bytes);
    return str_bytes(bytes, n);
}

static void plant_schedule(struct batch *b, struct uuid namespace_id, uint8_t run, const char *id,
                           bool is_closed) {
    State__Execution st = STATE__EXECUTION__INIT;
    State__Schedule schedule = STATE__SCHEDULE__INIT;
    Schedule__Schedule asked = SCHEDULE__SCHEDULE__INIT;
    struct uuid_text namespace_text = uuid_format(namespace_id);
    struct write *w = plant(b, WRITE_EXECUTION, namespace_id, run);
    struct uuid_text run_text = uuid_format(w->run_id);
    schedule.schedule_id = (char *)(uintptr_t)id;
    schedule.schedule = &asked;
    st.schedule = &schedule;
    st.namespace_id = namespace_text.s;
    st.run_id = run_text.s;
    st.workflow_id = arena_printf(&b->arena, "%s%s", SCHEDULE_ID_PREFIX, id);
    st.status = is_closed ? WORKFLOW_EXECUTION_STATUS_COMPLETED : WORKFLOW_EXECUTION_STATUS_RUNNING;
    st.close_us = is_closed ? RIG_T0 : 0;
    st.next_event_id = 1;
    w->workflow_id = str_of(st.workflow_id);
    w->body = pack(b, &st.base);
    w = plant(b, WRITE_CURRENT, namespace_id, run);
    w->workflow_id = str_of(st.workflow_id);
}

static void plant_row(struct batch *b, struct uuid namespace_id, uint8_t run, struct ledger_columns columns) {
    Rondo__LedgerEntry e = RONDO__LEDGER_ENTRY__INIT;
    Google__Protobuf__Timestamp nominal = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    nominal.seconds = columns.nominal_s;
    e.id = columns.id;
    e.fate = (Rondo__LedgerFate)columns.fate;
    e.nominal_time = &nominal;
    struct write *w = plant(b, WRITE_LEDGER, namespace_id, run);
    w->ledger = columns;
    w->body = pack(b, &e.base);
}

/* Schedule "nightly" with five rows, "other" with one, "over" that has ended, with one. */
static void plant_all(struct rig *r) {
    struct uuid id = namespace_of(r);
    struct batch b;
    batch_init(&b, 1 << 20);
    b.done = ignore_batch;
    plant_schedule(&b, id, 1, SCHEDULE, false);
    plant_schedule(&b, id, 2, "other", false);
    plant_schedule(&b, id, 3, "over", true);
    plant_row(&b, id, 1, (struct ledger_columns){1, 100, 100, 1, 2});
    plant_row(&b, id, 1, (struct ledger_columns){2, 200, 200, 2, 3});
    plant_row(&b, id, 1, (struct ledger_columns){3, 300, 500, 3, 5}); /* several times */
    plant_row(&b, id, 1, (struct ledger_columns){4, 600, 600, 4, 2});
    plant_row(&b, id, 1, (struct ledger_columns){9, 150, 150, 5, 9});
    plant_row(&b, id, 2, (struct ledger_columns){1, 100, 100, 1, 2});
    plant_row(&b, id, 3, (struct ledger_columns){7, 100, 100, 1, 2});
    store_commit(r->store, &b);
    if (r->is_manual)
        mem_store_commit_one(r->store);
    batch_done(&b);
}

/* asking */

static Rondo__ListScheduleLedgerRequest *ask_ledger(struct rig *r, struct ask *a, const char *schedule_id) {
    struct arena *arena = ask_begin(r, a);
    Rondo__ListScheduleLedgerRequest *req =
        MAKE(arena, Rondo__ListScheduleLedgerRequest, rondo__list_schedule_ledger_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, schedule_id);
    return req;
}

static Google__Protobuf__Timestamp *make_time(struct ask *a, int64_t seconds, int32_t nanos) {
    Google__Protobuf__Timestamp *t =
        MAKE(ask_arena(a), Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
    t->seconds = seconds;
    t->nanos = nanos;
    return t;
}

static void check_ids(const struct ask *a, const char *want) {
    char got[100] = "";
    CHECK_OK(a);
    const Rondo__ListScheduleLedgerResponse *resp = a->response;
    for (size_t i = 0; resp && i < resp->n_entries; i++) {
        size_t n = strlen(got);
        (void)snprintf(got + n, sizeof got - n, "%s%lld", n ? " " : "", (long long)resp->entries[i]->id);
    }
    CHECK_STR(got, want);
}

static ProtobufCBinaryData token_of(const struct ask *a) {
    const Rondo__ListScheduleLedgerResponse *resp = a->response;
    return resp ? resp->next_page_token : (ProtobufCBinaryData){0};
}

TEST(ledger_is_read_last_entry_first_in_pages) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &a, SCHEDULE);
    req->maximum_page_size = 2;
    RIG_SEND(&r, &a, list_schedule_ledger, req);
    check_ids(&a, "9 4");
    CHECK(token_of(&a).len > 0);
    req = ask_ledger(&r, &b, SCHEDULE);
    req->maximum_page_size = 2;
    req->next_page_token = make_bytes(ask_arena(&b), token_of(&a));
    RIG_SEND(&r, &b, list_schedule_ledger, req);
    check_ids(&b, "3 2");
    req = ask_ledger(&r, &c, SCHEDULE);
    req->maximum_page_size = 2;
    req->next_page_token = make_bytes(ask_arena(&c), token_of(&b));
    RIG_SEND(&r, &c, list_schedule_ledger, req);
    check_ids(&c, "1");
    CHECK_INT(token_of(&c).len, 0);
    const Rondo__ListScheduleLedgerResponse *resp = c.response;
    if (CHECK(resp && resp->n_entries == 1)) {
        CHECK_INT(resp->entries[0]->fate, 2);
        CHECK_INT(resp->entries[0]->nominal_time->seconds, 100);
    }
}

TEST(ledger_page_that_holds_all_has_no_token) {
    static const int32_t sizes[] = {0, -1, 5, 1000, 1001, INT32_MAX};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        cleanup(ask_done) struct ask a = {0};
        Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &a, SCHEDULE);
        req->maximum_page_size = sizes[i];
        RIG_SEND(&r, &a, list_schedule_ledger, req);
        check_ids(&a, "9 4 3 2 1");
        CHECK_INT(token_of(&a).len, 0);
    }
}

TEST(ledger_of_another_schedule_is_another) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    RIG_SEND(&r, &a, list_schedule_ledger, ask_ledger(&r, &a, "other"));
    check_ids(&a, "1");
}

TEST(ledger_of_a_schedule_that_has_ended_is_read) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    RIG_SEND(&r, &a, list_schedule_ledger, ask_ledger(&r, &a, "over"));
    check_ids(&a, "7");
    const Rondo__ListScheduleLedgerResponse *resp = a.response;
    CHECK_INT(resp ? (int)resp->status : 0, WORKFLOW_EXECUTION_STATUS_COMPLETED);
}

TEST(ledger_is_filtered_by_nominal_time) {
    static const struct {
        int64_t from_s, to_s;
        int32_t from_nanos, to_nanos;
        const char *want;
    } cases[] = {
        {100, 200, 0, 0, "9 2 1"},
        {100, 200, 1, 0, "9 2"},
        {101, 199, 0, 999999999, "9"},
        {350, 400, 0, 0, "3"},
        {500, 600, 0, 0, "4 3"},
        {501, 599, 0, 0, ""},
        {600, 600, 0, 0, "4"},
        {600, 600, 1, 2, ""},
        {-100, 100, 0, 0, "1"},
        {601, INT64_MAX, 0, 0, ""},
        {INT64_MAX, INT64_MAX, 1, 2, ""},
    };
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(ask_done) struct ask a = {0};
        Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &a, SCHEDULE);
        req->start_time = make_time(&a, cases[i].from_s, cases[i].from_nanos);
        req->end_time = make_time(&a, cases[i].to_s, cases[i].to_nanos);
        RIG_SEND(&r, &a, list_schedule_ledger, req);
        check_ids(&a, cases[i].want);
    }
}

TEST(ledger_is_filtered_by_fate) {
    Rondo__LedgerFate fates[] = {2, 9};
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &a, SCHEDULE);
    req->fates = fates;
    req->n_fates = 2;
    RIG_SEND(&r, &a, list_schedule_ledger, req);
    check_ids(&a, "9 4 1");
    req = ask_ledger(&r, &b, SCHEDULE);
    req->fates = fates;
    req->n_fates = 1;
    req->maximum_page_size = 1;
    RIG_SEND(&r, &b, list_schedule_ledger, req);
    check_ids(&b, "4");
    CHECK(token_of(&b).len > 0);
}

/* what is refused */

TEST(ledger_refuses_bad_filters) {
    static const struct {
        Rondo__LedgerFate fate;
        const char *text;
    } cases[] = {{99, "Fates has 99, which is no fate."},
                 {0, "Fates has 0, which is no fate."},
                 {-1, "Fates has -1, which is no fate."}};
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    Rondo__ListScheduleLedgerRequest *req;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Rondo__LedgerFate fate = cases[i].fate;
        req = ask_ledger(&r, &a, SCHEDULE);
        req->fates = &fate;
        req->n_fates = 1;
        RIG_SEND(&r, &a, list_schedule_ledger, req);
        CHECK_FAILS(&a, ERR_INVALID, cases[i].text);
    }
    req = ask_ledger(&r, &a, SCHEDULE);
    req->start_time = make_time(&a, 5, 1);
    req->end_time = make_time(&a, 5, 0);
    RIG_SEND(&r, &a, list_schedule_ledger, req);
    CHECK_FAILS(&a, ERR_INVALID, "StartTime should not be larger than EndTime.");
    req = ask_ledger(&r, &a, SCHEDULE);
    req->start_time = make_time(&a, 5, -1);
    RIG_SEND(&r, &a, list_schedule_ledger, req);
    CHECK_FAILS(&a, ERR_INVALID, "StartTime or EndTime is not a valid time.");
}

TEST(ledger_refuses_tokens_that_are_not_its_own) {
    cleanup(ask_done) struct ask first = {0}, garbage = {0}, stolen = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &first, SCHEDULE);
    req->maximum_page_size = 1;
    RIG_SEND(&r, &first, list_schedule_ledger, req);
    req = ask_ledger(&r, &garbage, SCHEDULE);
    req->next_page_token = (ProtobufCBinaryData){3, (uint8_t *)make_text(ask_arena(&garbage), "xyz")};
    RIG_SEND(&r, &garbage, list_schedule_ledger, req);
    CHECK_FAILS(&garbage, ERR_INVALID, "Invalid NextPageToken.");
    req = ask_ledger(&r, &stolen, "other");
    req->next_page_token = make_bytes(ask_arena(&stolen), token_of(&first));
    CHECK(req->next_page_token.len > 0);
    RIG_SEND(&r, &stolen, list_schedule_ledger, req);
    CHECK_FAILS(&stolen, ERR_INVALID, "Invalid NextPageToken.");
}

TEST(schedules_that_are_not_there_are_not_found) {
    cleanup(ask_done) struct ask missing = {0}, empty = {0}, longest = {0}, too_long = {0}, no_space = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    plant_all(&r);
    RIG_SEND(&r, &missing, list_schedule_ledger, ask_ledger(&r, &missing, "nobody"));
    CHECK_FAILS(&missing, ERR_NOT_FOUND, "schedule \"nobody\" not found");
    RIG_SEND(&r, &empty, list_schedule_ledger, ask_ledger(&r, &empty, ""));
    CHECK_FAILS(&empty, ERR_INVALID, "ScheduleId is not set on request.");
    Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &longest, "");
    req->schedule_id = make_long_text(ask_arena(&longest), 977);
    RIG_SEND(&r, &longest, list_schedule_ledger, req);
    CHECK_INT(longest.err.code, ERR_NOT_FOUND);
    req = ask_ledger(&r, &too_long, "");
    req->schedule_id = make_long_text(ask_arena(&too_long), 978);
    RIG_SEND(&r, &too_long, list_schedule_ledger, req);
    CHECK_FAILS(&too_long, ERR_INVALID, "ScheduleId length exceeds limit.");
    req = ask_ledger(&r, &no_space, SCHEDULE);
    req->namespace_ = make_text(ask_arena(&no_space), "nowhere");
    RIG_SEND(&r, &no_space, list_schedule_ledger, req);
    CHECK_INT(no_space.err.code, ERR_NO_NAMESPACE);
}

/* A workflow of that name is no schedule, and a schedule is no workflow. */
TEST(a_workflow_is_not_found_as_a_schedule) {
    cleanup(ask_done) struct ask start = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &start, SCHEDULE);
    CHECK_OK(&start);
    RIG_SEND(&r, &a, list_schedule_ledger, ask_ledger(&r, &a, SCHEDULE));
    CHECK_FAILS(&a, ERR_NOT_FOUND, "schedule \"nightly\" not found");
}

/* rows that the scheduler wrote */

static void create_minutely(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__CreateScheduleRequest *req =
        MAKE(arena, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    Schedule__Schedule *s = MAKE(arena, Schedule__Schedule, schedule__schedule__init);
    Workflow__NewWorkflowExecutionInfo *w =
        MAKE(arena, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->request_id = make_text(arena, "request");
    req->schedule = s;
    s->spec = MAKE(arena, Schedule__ScheduleSpec, schedule__schedule_spec__init);
    s->spec->cron_string = arena_array(arena, char *, 1);
    ensure(s->spec->cron_string);
    s->spec->cron_string[s->spec->n_cron_string++] = make_text(arena, "* * * * *");
    s->action = MAKE(arena, Schedule__ScheduleAction, schedule__schedule_action__init);
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = w;
    w->workflow_id = make_text(arena, "wf");
    w->workflow_type = MAKE(arena, Common__WorkflowType, common__workflow_type__init);
    w->workflow_type->name = make_text(arena, "type");
    w->task_queue = make_queue(arena, "queue");
    RIG_SEND(r, a, create_schedule, req);
}

/* The first one runs for ever, so all others are skipped, and share a row. */
static void check_minutes(struct rig *r, int64_t count) {
    cleanup(ask_done) struct ask a = {0};
    RIG_SEND(r, &a, list_schedule_ledger, ask_ledger(r, &a, SCHEDULE));
    CHECK_OK(&a);
    const Rondo__ListScheduleLedgerResponse *resp = a.response;
    if (!resp || !CHECK_INT(resp->n_entries, MIN(count, 2)) || !count)
        return;
    const Rondo__LedgerEntry *first = resp->entries[resp->n_entries - 1], *rest = resp->entries[0];
    CHECK_INT(first->id, 1);
    CHECK_INT(first->nominal_time->seconds, 1700000040);
    CHECK_INT(first->fate, LEDGER_FATE_STARTED);
    if (count == 1)
        return;
    CHECK_INT(rest->id, 2);
    CHECK_INT(rest->nominal_time->seconds, 1700000100);
    CHECK_INT(rest->fate, LEDGER_FATE_OVERLAP_SKIPPED);
    CHECK_INT(rest->count, count - 1);
    CHECK_INT(rest->last_nominal_time ? rest->last_nominal_time->seconds : 0,
              count > 2 ? 1700000040 + 60 * (count - 1) : 0);
}

TEST(ledger_is_written_with_the_steps_that_decide) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    CHECK_OK(&a);
    check_minutes(&r, 0);
    for (int64_t i = 1; i <= 5; i++) {
        rig_advance(&r, 60 * USEC_PER_SEC);
        check_minutes(&r, i);
    }
    rig_restart(&r);
    check_minutes(&r, 5);
    rig_advance(&r, 60 * USEC_PER_SEC);
    check_minutes(&r, 6);
}

/* Until something waits to be committed. */
static void advance_to_commit(struct rig *r, int64_t us) {
    rig_advance(r, us);
    while (mem_store_pending_reads(r->store) > 0 && mem_store_pending_commits(r->store) == 0)
        rig_read(r);
    ensure(mem_store_pending_commits(r->store) > 0);
}

/* The disk has the row, or the state that would write it again, never something between. */
TEST(ledger_row_and_its_state_are_one_commit) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    create_minutely(&r, &a);
    rig_settle(&r);
    CHECK_OK(&a);
    for (int64_t i = 0; i < 3; i++) {
        advance_to_commit(&r, 60 * USEC_PER_SEC);
        rig_restart(&r); /* lost: considered again */
        rig_settle(&r);
        advance_to_commit(&r, 1);
        mem_store_commit_unannounced(r.store);
        rig_restart(&r); /* kept, and nobody was told */
        rig_settle(&r);
        r.is_manual = false;
        mem_store_set_auto(r.store, true);
        rig_advance(&r, 1);
        check_minutes(&r, i + 1);
        mem_store_set_auto(r.store, false);
        r.is_manual = true;
    }
}

static Rondo__ExplainScheduleTimeRequest *ask_explain(struct rig *r, struct ask *a, int64_t seconds) {
    struct arena *arena = ask_begin(r, a);
    Rondo__ExplainScheduleTimeRequest *req =
        MAKE(arena, Rondo__ExplainScheduleTimeRequest, rondo__explain_schedule_time_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->time = make_time(a, seconds, 0);
    return req;
}

static void check_explained(struct rig *r, int64_t seconds, const char *verdict, const char *fates) {
    cleanup(ask_done) struct ask a = {0};
    char got[100] = "";
    RIG_SEND(r, &a, explain_schedule_time, ask_explain(r, &a, seconds));
    CHECK_OK(&a);
    const Rondo__ExplainScheduleTimeResponse *resp = a.response;
    if (!resp)
        return;
    CHECK_STR(resp->verdict, verdict);
    for (size_t i = 0; i < resp->n_entries; i++) {
        size_t n = strlen(got);
        (void)snprintf(got + n, sizeof got - n, "%s%d", n ? " " : "", (int)resp->entries[i]->fate);
    }
    CHECK_STR(got, fates);
}

TEST(a_time_is_explained_with_its_rows) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    rig_advance(&r, 60 * USEC_PER_SEC);
    rig_advance(&r, 60 * USEC_PER_SEC);
    check_explained(&r, 1700000040, "time", "2");
    check_explained(&r, 1700000100, "time", "3");
    check_explained(&r, 1700000160, "time", ""); /* still to come */
    check_explained(&r, 1700000101, "not_asked", "");
    Schedule__SchedulePatch *patch;
    Ws__PatchScheduleRequest *req =
        MAKE(ask_begin(&r, &a), Ws__PatchScheduleRequest, ws__patch_schedule_request__init);
    req->namespace_ = make_text(ask_arena(&a), "default");
    req->schedule_id = make_text(ask_arena(&a), SCHEDULE);
    req->patch = patch = MAKE(ask_arena(&a), Schedule__SchedulePatch, schedule__schedule_patch__init);
    patch->pause = make_text(ask_arena(&a), "a while");
    RIG_SEND(&r, &a, patch_schedule, req);
    CHECK_OK(&a);
    rig_advance(&r, 3600 * USEC_PER_SEC);
    rig_advance(&r, 3600 * USEC_PER_SEC);
    check_explained(&r, 1700000160 + 600, "time", "5"); /* one of many in a row */
    check_explained(&r, 1700000160 + 601, "not_asked", "");
    Rondo__ExplainScheduleTimeRequest *bad = ask_explain(&r, &a, 0);
    bad->time = NULL;
    RIG_SEND(&r, &a, explain_schedule_time, bad);
    CHECK_INT(a.err.code, ERR_INVALID);
    bad = ask_explain(&r, &a, 0);
    bad->schedule_id = make_text(ask_arena(&a), "nobody");
    RIG_SEND(&r, &a, explain_schedule_time, bad);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
}

struct tally {
    size_t count;
    int64_t first_id, second_id;
};

static void tally_row(struct read *r, const struct row *row) {
    struct tally *t = r->owner;
    t->count++;
    t->second_id = t->first_id;
    t->first_id = row->ledger.id;
}

/* What the disk has of every ledger of the namespace whose run is known by this row of its id. */
static struct tally tally_of(struct rig *r, struct uuid run_id) {
    struct tally t = {0};
    struct read read = {.kind = READ_LEDGER,
                        .namespace_id = namespace_of(r),
                        .run_id = run_id,
                        .ledger = {INT64_MAX, INT64_MIN, INT64_MAX, 0},
                        .limit = SIZE_MAX,
                        .row = tally_row,
                        .done = ignore_done,
                        .owner = &t};
    store_read(r->store, &read);
    return t;
}

static void note_run(struct read *r, const struct row *row) {
    *(struct uuid *)r->owner = row->run_id;
}

static struct uuid run_of(struct rig *r) {
    struct uuid run_id = {{0}};
    struct read read = {.kind = READ_CURRENT,
                        .namespace_id = namespace_of(r),
                        .workflow_id = STR(SCHEDULE_ID_PREFIX SCHEDULE),
                        .row = note_run,
                        .done = ignore_done,
                        .owner = &run_id};
    store_read(r->store, &read);
    return run_id;
}

/* A trigger has a row of its own. While the first action runs, it is skipped. */
static void trigger_often(struct rig *r, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        cleanup(ask_done) struct ask a = {0};
        struct arena *arena = ask_begin(r, &a);
        Rondo__TriggerScheduleRequest *req =
            MAKE(arena, Rondo__TriggerScheduleRequest, rondo__trigger_schedule_request__init);
        req->namespace_ = make_text(arena, "default");
        req->schedule_id = make_text(arena, SCHEDULE);
        RIG_SEND(r, &a, trigger_schedule, req);
        CHECK_OK(&a);
    }
}

/* A day without a worker. */
TEST(ledger_of_a_stuck_day_is_two_rows) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    for (int64_t i = 0; i < 24 * 60; i++)
        rig_advance(&r, 60 * USEC_PER_SEC);
    check_minutes(&r, 24 * 60);
    check_explained(&r, 1700000040, "time", "2");
    check_explained(&r, 1700000040 + 12 * 3600, "time", "3");
}

TEST(ledger_range_may_begin_within_a_row) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    for (int64_t i = 0; i < 10; i++)
        rig_advance(&r, 60 * USEC_PER_SEC);
    Rondo__ListScheduleLedgerRequest *req = ask_ledger(&r, &a, SCHEDULE);
    req->start_time = make_time(&a, 1700000040 + 300, 0);
    req->end_time = make_time(&a, 1700000040 + 330, 0);
    RIG_SEND(&r, &a, list_schedule_ledger, req);
    check_ids(&a, "2");
}

TEST(ledger_keeps_the_last_rows_and_that_of_an_open_action) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    rig_advance(&r, 60 * USEC_PER_SEC);
    trigger_often(&r, LIMIT_LEDGER_ROWS + 3 * LIMIT_LEDGER_SLACK);
    struct tally t = tally_of(&r, run_of(&r));
    CHECK(t.count >= LIMIT_LEDGER_ROWS && t.count <= LIMIT_LEDGER_ROWS + LIMIT_LEDGER_SLACK);
    CHECK_INT(t.first_id, 1);
    check_explained(&r, 1700000040, "time", "2");
    CHECK_INT(t.second_id, 1 + LIMIT_LEDGER_ROWS + 3 * LIMIT_LEDGER_SLACK - (int64_t)t.count + 2);
}

/* A row that was removed takes no more times. */
TEST(ledger_begins_a_row_when_the_last_one_was_removed) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create_minutely(&r, &a);
    rig_advance(&r, 60 * USEC_PER_SEC);
    rig_advance(&r, 60 * USEC_PER_SEC);
    check_explained(&r, 1700000100, "time", "3");
    trigger_often(&r, LIMIT_LEDGER_ROWS + 2 * LIMIT_LEDGER_SLACK);
    check_explained(&r, 1700000100, "time", "");
    rig_advance(&r, 60 * USEC_PER_SEC);
    check_explained(&r, 1700000100, "time", "");
    check_explained(&r, 1700000160, "time", "3");
}

TEST(ledger_is_as_long_as_the_operator_says) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    enum { ROWS = 20 };
    rig_init_limited(&r, SETTABLE_LEDGER_ROWS, ROWS);
    create_minutely(&r, &a);
    rig_advance(&r, 60 * USEC_PER_SEC);
    trigger_often(&r, ROWS + 2 * LIMIT_LEDGER_SLACK);
    struct tally t = tally_of(&r, run_of(&r));
    CHECK(t.count >= ROWS && t.count <= ROWS + LIMIT_LEDGER_SLACK);
}

/* a slow store */

TEST(ledger_waits_for_the_store) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    plant_all(&r);
    RIG_SEND(&r, &a, list_schedule_ledger, ask_ledger(&r, &a, SCHEDULE));
    CHECK(!a.is_done);
    rig_settle(&r);
    check_ids(&a, "9 4 3 2 1");
}

TEST(ledger_callers_may_leave_at_any_time) {
    for (int reads = 0; reads < 3; reads++) {
        cleanup(ask_done) struct ask a = {0}, b = {0};
        cleanup(rig_done) struct rig r;
        rig_init_manual(&r);
        plant_all(&r);
        RIG_SEND(&r, &a, list_schedule_ledger, ask_ledger(&r, &a, SCHEDULE));
        for (int i = 0; i < reads; i++)
            rig_read(&r);
        CHECK(!a.is_done);
        ask_cancel(&r, &a);
        rig_settle(&r);
        RIG_SEND(&r, &b, list_schedule_ledger, ask_ledger(&r, &b, SCHEDULE));
        rig_settle(&r);
        check_ids(&b, "9 4 3 2 1");
    }
}
