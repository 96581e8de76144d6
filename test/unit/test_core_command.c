/* Each command: the event that it makes, and every way in which it is refused. */
#include "command_text.h"

/* Longer than any id may be. */
static char *long_text(struct core *f) {
    char *text = arena_alloc(&f->arena, LIMIT_ID_BYTES + 2);
    if (!text)
        return core_text(f, "");
    memset(text, 'x', LIMIT_ID_BYTES + 1);
    text[LIMIT_ID_BYTES + 1] = 0;
    return text;
}

static Google__Protobuf__Duration *bad_duration(struct core *f) {
    Google__Protobuf__Duration *d = core_duration(f, 0);
    if (d)
        d->seconds = -1;
    return d;
}

/* activities that are refused */

#define ACTIVITY(name, change)                                                                               \
    static void name(struct core *f) {                                                                       \
        Command__ScheduleActivityTaskCommandAttributes *a = core_add_activity(f, "a");                       \
        if (a)                                                                                               \
            change;                                                                                          \
    }

static Taskqueue__TaskQueue *long_queue(struct core *f) {
    Taskqueue__TaskQueue *q = core_queue(f, "");
    if (q)
        q->name = long_text(f);
    return q;
}

/* Waiting in the queue is limited, the work itself is not. */
static void limit_only_the_wait(struct core *f, Command__ScheduleActivityTaskCommandAttributes *a) {
    a->start_to_close_timeout = NULL;
    a->schedule_to_start_timeout = core_duration(f, USEC_PER_SEC);
}

ACTIVITY(activity_no_id, a->activity_id = core_text(f, ""))
ACTIVITY(activity_long_id, a->activity_id = long_text(f))
ACTIVITY(activity_no_type, a->activity_type = NULL)
ACTIVITY(activity_empty_type, a->activity_type->name = core_text(f, ""))
ACTIVITY(activity_long_type, a->activity_type->name = long_text(f))
ACTIVITY(activity_long_queue, a->task_queue = long_queue(f))
ACTIVITY(activity_no_timeout, a->start_to_close_timeout = NULL)
ACTIVITY(activity_only_schedule_to_start, limit_only_the_wait(f, a))
ACTIVITY(activity_bad_start_to_close, a->start_to_close_timeout = bad_duration(f))
ACTIVITY(activity_bad_schedule_to_close, a->schedule_to_close_timeout = bad_duration(f))
ACTIVITY(activity_bad_schedule_to_start, a->schedule_to_start_timeout = bad_duration(f))
ACTIVITY(activity_bad_heartbeat, a->heartbeat_timeout = bad_duration(f))

static void activity_with_policy(struct core *f, double coefficient, int32_t attempts, int64_t maximum_us) {
    Command__ScheduleActivityTaskCommandAttributes *a = core_add_activity(f, "a");
    Common__RetryPolicy *p = arena_new(&f->arena, Common__RetryPolicy);
    if (!a || !p)
        return;
    common__retry_policy__init(p);
    p->backoff_coefficient = coefficient;
    p->maximum_attempts = attempts;
    p->maximum_interval = core_duration(f, maximum_us);
    a->retry_policy = p;
}

static void activity_slow_policy(struct core *f) {
    activity_with_policy(f, 0.5, 0, 0);
}
static void activity_negative_attempts(struct core *f) {
    activity_with_policy(f, 2, -1, 0);
}
static void activity_short_maximum(struct core *f) {
    activity_with_policy(f, 2, 0, 1000);
}
static void activity_twice(struct core *f) {
    core_add_activity(f, "same");
    core_add_activity(f, "same");
}
static void cancel_unknown_activity(struct core *f) {
    core_add_cancel_activity(f, 77);
}

/* timers, markers and the rest */

static void timer_no_id(struct core *f) {
    core_add_timer(f, "", USEC_PER_SEC);
}
static void timer_long_id(struct core *f) {
    Command__StartTimerCommandAttributes *a = core_add_timer(f, "", USEC_PER_SEC);
    if (a)
        a->timer_id = long_text(f);
}
static void timer_no_duration(struct core *f) {
    Command__StartTimerCommandAttributes *a = core_add_timer(f, "t", 1);
    if (a)
        a->start_to_fire_timeout = NULL;
}
static void timer_zero(struct core *f) {
    core_add_timer(f, "t", 0);
}
static void timer_negative(struct core *f) {
    Command__StartTimerCommandAttributes *a = core_add_timer(f, "t", 1);
    if (a)
        a->start_to_fire_timeout = bad_duration(f);
}
static void timer_twice(struct core *f) {
    core_add_timer(f, "t", USEC_PER_SEC);
    core_add_timer(f, "t", USEC_PER_SEC);
}
static void cancel_timer_no_id(struct core *f) {
    core_add_cancel_timer(f, "");
}
static void cancel_timer_unknown(struct core *f) {
    core_add_cancel_timer(f, "nobody");
}
static void marker_no_name(struct core *f) {
    core_add_marker(f, "");
}
static void marker_long_name(struct core *f) {
    Command__RecordMarkerCommandAttributes *a = core_add_marker(f, "");
    if (a)
        a->marker_name = long_text(f);
}
static void fail_no_failure(struct core *f) {
    Command__FailWorkflowExecutionCommandAttributes *a = core_add_fail(f);
    if (a)
        a->failure = NULL;
}

static Command__UpsertWorkflowSearchAttributesCommandAttributes *add_upsert(struct core *f) {
    Command__UpsertWorkflowSearchAttributesCommandAttributes *a =
        arena_new(&f->arena, Command__UpsertWorkflowSearchAttributesCommandAttributes);
    Command__Command *cmd = core_add(f, COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);
    if (!a || !cmd)
        return NULL;
    command__upsert_workflow_search_attributes_command_attributes__init(a);
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES_COMMAND_ATTRIBUTES;
    cmd->upsert_workflow_search_attributes_command_attributes = a;
    return a;
}

static Command__ModifyWorkflowPropertiesCommandAttributes *add_modify(struct core *f) {
    Command__ModifyWorkflowPropertiesCommandAttributes *a =
        arena_new(&f->arena, Command__ModifyWorkflowPropertiesCommandAttributes);
    Command__Command *cmd = core_add(f, COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES);
    if (!a || !cmd)
        return NULL;
    command__modify_workflow_properties_command_attributes__init(a);
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_MODIFY_WORKFLOW_PROPERTIES_COMMAND_ATTRIBUTES;
    cmd->modify_workflow_properties_command_attributes = a;
    return a;
}

static void upsert_nothing(struct core *f) {
    (void)add_upsert(f);
}
static void upsert_none(struct core *f) {
    command_add(f, "{'commandType':'COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',"
                   "'upsertWorkflowSearchAttributesCommandAttributes':{'searchAttributes':{}}}");
}
static void modify_none(struct core *f) {
    command_add(f, "{'commandType':'COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES',"
                   "'modifyWorkflowPropertiesCommandAttributes':{'upsertedMemo':{}}}");
}
static void modify_nothing(struct core *f) {
    (void)add_modify(f);
}
static void schedule_nexus(struct core *f) {
    core_add(f, COMMAND_TYPE_SCHEDULE_NEXUS_OPERATION);
}
static void cancel_nexus(struct core *f) {
    core_add(f, COMMAND_TYPE_REQUEST_CANCEL_NEXUS_OPERATION);
}
static void unknown_type(struct core *f) {
    core_add(f, (E__CommandType)999);
}
static void timer_without_attributes(struct core *f) {
    core_add(f, COMMAND_TYPE_START_TIMER);
}

#define ACTIVITY_TEXT(what) what " on ScheduleActivityTaskCommand exceeds length limit."
#define TIMEOUT_TEXT "A timeout of ScheduleActivityTaskCommand is negative or malformed."
#define BAD(name) WORKFLOW_TASK_FAILED_CAUSE_##name

static const struct refusal {
    void (*add)(struct core *f);
    E__WorkflowTaskFailedCause cause;
    const char *name, *text;
} refusals[] = {
    {activity_no_id, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "ActivityId is not set on ScheduleActivityTaskCommand."},
    {activity_long_id, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     ACTIVITY_TEXT("ActivityId")},
    {activity_no_type, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "ActivityType is not set on ScheduleActivityTaskCommand."},
    {activity_empty_type, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "ActivityType is not set on ScheduleActivityTaskCommand."},
    {activity_long_type, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     ACTIVITY_TEXT("ActivityType")},
    {activity_long_queue, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     ACTIVITY_TEXT("TaskQueue")},
    {activity_no_timeout, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "A valid StartToClose or ScheduleToCloseTimeout is not set on ScheduleActivityTaskCommand."},
    {activity_only_schedule_to_start, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "A valid StartToClose or ScheduleToCloseTimeout is not set on ScheduleActivityTaskCommand."},
    {activity_bad_start_to_close, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     TIMEOUT_TEXT},
    {activity_bad_schedule_to_close, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     TIMEOUT_TEXT},
    {activity_bad_schedule_to_start, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     TIMEOUT_TEXT},
    {activity_bad_heartbeat, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     TIMEOUT_TEXT},
    {activity_slow_policy, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "BackoffCoefficient cannot be less than 1 on retry policy."},
    {activity_negative_attempts, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "MaximumAttempts cannot be negative on retry policy."},
    {activity_short_maximum, BAD(BAD_SCHEDULE_ACTIVITY_ATTRIBUTES), "BadScheduleActivityAttributes",
     "MaximumInterval cannot be less than InitialInterval on retry policy."},
    {activity_twice, BAD(SCHEDULE_ACTIVITY_DUPLICATE_ID), "ScheduleActivityDuplicateId",
     "An activity with this ActivityId is already pending."},
    {cancel_unknown_activity, BAD(BAD_REQUEST_CANCEL_ACTIVITY_ATTRIBUTES),
     "BadRequestCancelActivityAttributes",
     "ScheduledEventId on RequestCancelActivityTaskCommand names no pending activity."},
    {timer_no_id, BAD(BAD_START_TIMER_ATTRIBUTES), "BadStartTimerAttributes",
     "TimerId is not set on StartTimerCommand."},
    {timer_long_id, BAD(BAD_START_TIMER_ATTRIBUTES), "BadStartTimerAttributes",
     "TimerId on StartTimerCommand exceeds length limit."},
    {timer_no_duration, BAD(BAD_START_TIMER_ATTRIBUTES), "BadStartTimerAttributes",
     "A valid StartToFireTimeout is not set on StartTimerCommand."},
    {timer_zero, BAD(BAD_START_TIMER_ATTRIBUTES), "BadStartTimerAttributes",
     "A valid StartToFireTimeout is not set on StartTimerCommand."},
    {timer_negative, BAD(BAD_START_TIMER_ATTRIBUTES), "BadStartTimerAttributes",
     "A valid StartToFireTimeout is not set on StartTimerCommand."},
    {timer_twice, BAD(START_TIMER_DUPLICATE_ID), "StartTimerDuplicateId",
     "A timer with this TimerId is already running."},
    {cancel_timer_no_id, BAD(BAD_CANCEL_TIMER_ATTRIBUTES), "BadCancelTimerAttributes",
     "TimerId is not set on CancelTimerCommand."},
    {cancel_timer_unknown, BAD(BAD_CANCEL_TIMER_ATTRIBUTES), "BadCancelTimerAttributes",
     "The timer to cancel is not known."},
    {marker_no_name, BAD(BAD_RECORD_MARKER_ATTRIBUTES), "BadRecordMarkerAttributes",
     "MarkerName is not set on RecordMarkerCommand."},
    {marker_long_name, BAD(BAD_RECORD_MARKER_ATTRIBUTES), "BadRecordMarkerAttributes",
     "MarkerName on RecordMarkerCommand exceeds length limit."},
    {fail_no_failure, BAD(BAD_FAIL_WORKFLOW_EXECUTION_ATTRIBUTES), "BadFailWorkflowExecutionAttributes",
     "Failure is not set on FailWorkflowExecutionCommand."},
    {upsert_nothing, BAD(BAD_SEARCH_ATTRIBUTES), "BadSearchAttributes",
     "SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand."},
    {upsert_none, BAD(BAD_SEARCH_ATTRIBUTES), "BadSearchAttributes",
     "SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand."},
    {modify_none, BAD(BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES), "BadModifyWorkflowPropertiesAttributes",
     "UpsertedMemo is not set on ModifyWorkflowPropertiesCommand."},
    {modify_nothing, BAD(BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES), "BadModifyWorkflowPropertiesAttributes",
     "UpsertedMemo is not set on ModifyWorkflowPropertiesCommand."},
    {schedule_nexus, BAD(FEATURE_DISABLED), "FeatureDisabled",
     "command COMMAND_TYPE_SCHEDULE_NEXUS_OPERATION is not supported by this server"},
    {cancel_nexus, BAD(FEATURE_DISABLED), "FeatureDisabled",
     "command COMMAND_TYPE_REQUEST_CANCEL_NEXUS_OPERATION is not supported by this server"},
    {unknown_type, BAD(FEATURE_DISABLED), "FeatureDisabled",
     "command of an unknown type is not supported by this server"},
    {timer_without_attributes, BAD(UNSPECIFIED), "BadCommand",
     "The attributes of a command do not fit its type."},
};

TEST(command_refusals) {
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        (void)core_new(&f);
        core_add_marker(&f, "first"); /* nothing of what came before may stay */
        r->add(&f);
        CHECK_INT(core_complete(&f), ERR_INVALID);
        CHECK_STR(f.err.text, r->text);
        CHECK_INT(f.s.task_failed_cause, r->cause);
        CHECK_STR(command_cause_name(f.s.task_failed_cause), r->name);
        CHECK_STR(core_new(&f), "");
        CHECK(f.st && task_is_started(f.st) && f.st->n_timers == 0 && f.st->n_activities == 0);
    }
}

TEST(command_closes_tells_the_last_ones) {
    static const struct {
        E__CommandType type;
        bool closes;
    } cases[] = {{COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, true},
                 {COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, true},
                 {COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, true},
                 {COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION, true},
                 {COMMAND_TYPE_START_TIMER, false},
                 {COMMAND_TYPE_RECORD_MARKER, false},
                 {(E__CommandType)999, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Command__Command cmd = COMMAND__COMMAND__INIT;
        cmd.command_type = cases[i].type;
        CHECK_INT(command_closes(&cmd), cases[i].closes);
    }
}

/* what they write */

TEST(command_marker_keeps_its_details_and_metadata) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__RecordMarkerCommandAttributes *a = core_add_marker(&f, "core_local_activity");
    Command__RecordMarkerCommandAttributes__DetailsEntry
        entry = COMMAND__RECORD_MARKER_COMMAND_ATTRIBUTES__DETAILS_ENTRY__INIT,
        *entries[1] = {&entry};
    Sdk__UserMetadata metadata = SDK__USER_METADATA__INIT;
    REQUIRE(a && f.completion.n_commands == 1);
    entry.key = core_text(&f, "data");
    entry.value = core_payloads(&f, "detail");
    a->n_details = 1;
    a->details = entries;
    a->failure = core_failure(&f, "Local");
    metadata.summary = core_payload(&f, "json/plain", "\"why\"");
    f.commands[0]->user_metadata = &metadata;
    CHECK_INT(core_complete(&f), 0);
    const History__MarkerRecordedEventAttributes *m = core_attributes(&f, 5, EVENT_TYPE_MARKER_RECORDED);
    REQUIRE(m && m->n_details == 1 && m->details[0]->value && m->failure);
    CHECK_STR(m->marker_name, "core_local_activity");
    CHECK_STR(m->details[0]->key, "data");
    CHECK_SLICE(pb_bytes(&m->details[0]->value->payloads[0]->data), STR("detail"));
    CHECK_INT(m->workflow_task_completed_event_id, 4);
    const History__HistoryEvent *ev = core_event(&f, 5);
    REQUIRE(ev && ev->user_metadata && ev->user_metadata->summary);
    CHECK_SLICE(pb_bytes(&ev->user_metadata->summary->data), STR("\"why\""));
}

TEST(command_metadata_goes_onto_timers_and_activities) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Sdk__UserMetadata metadata = SDK__USER_METADATA__INIT;
    metadata.summary = core_payload(&f, "json/plain", "\"why\"");
    core_add_timer(&f, "t", USEC_PER_SEC);
    core_add_activity(&f, "a");
    REQUIRE(f.completion.n_commands == 2);
    f.commands[0]->user_metadata = f.commands[1]->user_metadata = &metadata;
    CHECK_INT(core_complete(&f), 0);
    for (int64_t id = 5; id <= 6; id++) {
        const History__HistoryEvent *ev = core_event(&f, id);
        CHECK(ev && ev->user_metadata && ev->user_metadata->summary);
    }
}

TEST(command_upserts_search_attributes) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__UpsertWorkflowSearchAttributesCommandAttributes *a = add_upsert(&f);
    Common__SearchAttributes sa = COMMON__SEARCH_ATTRIBUTES__INIT;
    Common__SearchAttributes__IndexedFieldsEntry entry =
                                                     COMMON__SEARCH_ATTRIBUTES__INDEXED_FIELDS_ENTRY__INIT,
                                                 *entries[1] = {&entry};
    REQUIRE(a);
    entry.key = core_text(&f, "TemporalChangeVersion");
    entry.value = core_payload(&f, "json/plain", "\"v\"");
    sa.n_indexed_fields = 1;
    sa.indexed_fields = entries;
    a->search_attributes = &sa;
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 UPSERT_WORKFLOW_SEARCH_ATTRIBUTES@5");
    const History__UpsertWorkflowSearchAttributesEventAttributes *ev =
        core_attributes(&f, 5, EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES);
    REQUIRE(ev && f.st && f.st->search_attributes);
    CHECK_INT(ev->workflow_task_completed_event_id, 4);
    REQUIRE(f.st->search_attributes->n_indexed_fields == 2); /* the completed task left the first */
    CHECK_STR(f.st->search_attributes->indexed_fields[0]->key, "BuildIds");
    CHECK_STR(f.st->search_attributes->indexed_fields[1]->key, "TemporalChangeVersion");
}

#define UPSERT(name)                                                                                         \
    "{'commandType':'COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',"                                       \
    "'upsertWorkflowSearchAttributesCommandAttributes':{'searchAttributes':"                                 \
    "{'indexedFields':{'" name "':['v']}}}}"

/* One after the other they add up. */
TEST(command_upserts_are_too_many_together) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.limits.values[SETTABLE_ATTRIBUTES] = 1;
    CHECK_INT(core_begin_run(&f), 0);
    command_add(&f, UPSERT("TemporalChangeVersion"));
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    command_add(&f, UPSERT("BinaryChecksums"));
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_STR(f.err.text, "number of search attributes 2 exceeds limit 1");
    CHECK(f.s.is_task_failure_final);
}

/* What the server wrote beside them is not theirs. */
TEST(command_upsert_beside_a_long_build_id) {
    cleanup(core_done) struct core f;
    Common__WorkerVersionStamp stamp = COMMON__WORKER_VERSION_STAMP__INIT;
    char build_id[3001];
    memset(build_id, 'b', sizeof build_id - 1);
    build_id[sizeof build_id - 1] = '\0';
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    stamp.build_id = build_id;
    f.completion.worker_version_stamp = &stamp;
    command_add(&f, UPSERT("TemporalChangeVersion"));
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(f.err.text, "");
}

TEST(command_modifies_the_memo) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ModifyWorkflowPropertiesCommandAttributes *a = add_modify(&f);
    Common__Memo memo = COMMON__MEMO__INIT;
    Common__Memo__FieldsEntry entry = COMMON__MEMO__FIELDS_ENTRY__INIT, *entries[1] = {&entry};
    REQUIRE(a);
    entry.key = core_text(&f, "note");
    entry.value = core_payload(&f, "json/plain", "1");
    memo.n_fields = 1;
    memo.fields = entries;
    a->upserted_memo = &memo;
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 WORKFLOW_PROPERTIES_MODIFIED@5");
    CHECK(f.st && f.st->memo && f.st->memo->n_fields == 1);
}

/* what an event carries of its command */

static Command__Command *with_metadata(struct core *f, Command__Command *c) {
    Sdk__UserMetadata *m = arena_new(&f->arena, Sdk__UserMetadata);
    Sdk__EventGroupMarker *marker = arena_new(&f->arena, Sdk__EventGroupMarker);
    Sdk__EventGroupMarker **markers = arena_array(&f->arena, Sdk__EventGroupMarker *, 1);
    if (!c || !m || !marker || !markers)
        return NULL;
    sdk__user_metadata__init(m);
    sdk__event_group_marker__init(marker);
    m->summary = core_payload(f, "json/plain", "\"why\"");
    markers[0] = marker;
    c->user_metadata = m;
    c->event_group_markers = markers;
    c->n_event_group_markers = 1;
    return c;
}

static void check_metadata(struct core *f, int64_t event_id, bool has_it) {
    const History__HistoryEvent *ev = core_event(f, event_id);
    REQUIRE(ev);
    CHECK_INT(ev->user_metadata && ev->user_metadata->summary, has_it);
    CHECK_INT(ev->n_event_group_markers, has_it);
}

TEST(command_metadata_is_on_the_first_event_that_it_makes) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "t", USEC_PER_SEC);
    core_add_activity(&f, "a");
    core_add_marker(&f, "m");
    for (size_t i = 0; i < f.completion.n_commands; i++)
        (void)with_metadata(&f, f.commands[i]);
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    for (int64_t id = 5; id <= 7; id++)
        check_metadata(&f, id, true);
    check_metadata(&f, 8, false);
    CHECK_INT(core_pick(&f), 0);
    core_add_cancel_timer(&f, "t");
    core_add_cancel_activity(&f, 6);
    for (size_t i = 0; i < f.completion.n_commands; i++)
        (void)with_metadata(&f, f.commands[i]);
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@9 TASK_COMPLETED@10 TIMER_CANCELED@11 "
                            "ACTIVITY_CANCEL_REQUESTED@12 ACTIVITY_CANCELED@13 TASK_SCHEDULED@14");
    check_metadata(&f, 10, false);
    check_metadata(&f, 11, true);
    check_metadata(&f, 12, true);
    check_metadata(&f, 13, false);
}

TEST(command_with_a_bad_priority_is_refused) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *a = core_add_activity(&f, "a");
    Common__Priority p = COMMON__PRIORITY__INIT;
    REQUIRE(a);
    p.priority_key = -1;
    a->priority = &p;
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES);
    CHECK_STR(f.err.text, "priority key can't be negative");
}

TEST(command_causes_have_names) {
    static const struct {
        E__WorkflowTaskFailedCause cause;
        const char *name;
    } causes[] = {
#define CAUSE(name, text) {WORKFLOW_TASK_FAILED_CAUSE_##name, text},
#include "core/run/causes.def"
#undef CAUSE
        {WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED, "BadCommand"},
    };
    for (size_t i = 0; i < ARRAY_LEN(causes); i++)
        CHECK_STR(command_cause_name(causes[i].cause), causes[i].name);
}

TEST(command_that_is_large_is_noticed) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    f.limits.values[SETTABLE_BLOB_BYTES_WARN] = 1;
    command_add(&f, "{'commandType':'COMMAND_TYPE_RECORD_MARKER','recordMarkerCommandAttributes':"
                    "{'markerName':'m','details':{'k':['v']}}}");
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.s.notice_count == 1);
    CHECK_STR(f.s.notices[0].what, "RecordMarkerCommandAttributes.Details");
}
