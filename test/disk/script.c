/* The life, step by step. A step is a call that was answered with OK; what the clock brings is no step, but
 * is in the store like everything else. */
#include "script.h"

#include <stdio.h>

#define SCHEDULE "quarterly"
#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)
#define WORKFLOWS 6
#define TASKS_MAX 400 /* more than there are */
#define PAYLOAD_BYTES 9000 /* a few pages of overflow */

void script_init(struct script *s, struct witness *w, const char *path) {
    *s = (struct script){.witness = w, .path = path};
}

static void tell(struct script *s, enum trace_kind kind, int64_t at) {
    if (s->witness->disk)
        disk_note(s->witness->disk, kind, at);
    if (s->on_step)
        s->on_step(s);
}

static void add_fact(struct script *s, enum fact_kind kind, const char *workflow_id, const char *signal) {
    ensure(s->fact_count < SCRIPT_FACTS_MAX);
    struct fact *f = &s->facts[s->fact_count++];
    *f = (struct fact){.kind = kind, .step = s->steps};
    (void)snprintf(f->workflow_id, sizeof f->workflow_id, "%s", workflow_id);
    (void)snprintf(f->signal, sizeof f->signal, "%s", signal);
}

static bool goes_on(const struct script *s) {
    return !s->is_refused && !s->has_failed;
}

/* The call was answered, or the life is over. */
static bool accept(struct script *s, const struct ask *a) {
    if (!a->is_done || a->err.code || s->rig.fatal_count) {
        s->has_failed = true;
        (void)snprintf(s->text, sizeof s->text, "%s", a->is_done ? a->err.text : "not answered");
        return false;
    }
    s->steps++;
    tell(s, TRACE_STEP, s->steps);
    return true;
}

/* a server's life */

static void begin(struct script *s) {
    struct err e = {0};
    if (witness_open(s->witness, s->path, &e) < 0) {
        s->is_refused = true;
        (void)snprintf(s->text, sizeof s->text, "%s", e.text);
        return;
    }
    if (s->on_open)
        s->on_open(s);
    if (s->has_failed) {
        store_close(&s->witness->base);
        s->is_refused = true;
        return;
    }
    rig_init_on(&s->rig, &s->witness->base, s->now, witness_wait, s->witness);
    if (!s->rig.is_ready || s->rig.fatal_count)
        s->has_failed = true;
}

static void end(struct script *s) {
    if (s->is_refused)
        return;
    rig_stop(&s->rig);
}

static void advance(struct script *s, int64_t us) {
    if (!goes_on(s))
        return;
    s->now.wall.us += us;
    s->now.mono.us += us;
    tell(s, TRACE_CLOCK, s->now.wall.us);
    rig_advance(&s->rig, us);
    s->has_failed |= !s->is_refused && s->rig.fatal_count > 0;
}

/* calls */

static void start(struct script *s, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    Ws__StartWorkflowExecutionRequest *req = ask_start(&s->rig, &a, workflow_id);
    req->request_id = make_text(ask_arena(&a), workflow_id);
    req->input = make_payloads(ask_arena(&a), make_long_text(ask_arena(&a), PAYLOAD_BYTES));
    RIG_SEND(&s->rig, &a, start_workflow, req);
    if (accept(s, &a))
        add_fact(s, FACT_STARTED, workflow_id, "");
    ask_cancel(&s->rig, &a);
}

static void send_signal(struct script *s, const char *workflow_id, const char *name) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    struct arena *m = ask_begin(&s->rig, &a);
    Ws__SignalWorkflowExecutionRequest *req =
        MAKE(m, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, workflow_id, "");
    req->signal_name = make_text(m, name);
    req->request_id = make_text(m, name);
    req->input = make_payloads(m, make_long_text(m, PAYLOAD_BYTES));
    RIG_SEND(&s->rig, &a, signal_workflow, req);
    if (accept(s, &a))
        add_fact(s, FACT_SIGNALLED, workflow_id, name);
    ask_cancel(&s->rig, &a);
}

/* The workflow's next task, with commands: a timer and an activity, or its end. */
static void work(struct script *s, bool is_last) {
    cleanup(ask_done) struct ask poll = {0}, answer = {0};
    if (!goes_on(s))
        return;
    rig_poll(&s->rig, &poll, "queue");
    if (accept(s, &poll)) {
        Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(&s->rig, &answer, &poll);
        struct arena *m = ask_arena(&answer);
        const Ws__PollWorkflowTaskQueueResponse *task = poll.response;
        if (is_last) {
            add_command(&answer, req, make_complete(m));
        } else {
            add_command(&answer, req, make_timer(m, "t", HOUR_US));
            add_command(&answer, req, make_activity(m, "a"));
        }
        RIG_SEND(&s->rig, &answer, complete_workflow_task, req);
        if (accept(s, &answer) && is_last)
            add_fact(s, FACT_CLOSED, task->workflow_execution->workflow_id, "");
    }
    ask_cancel(&s->rig, &answer);
    ask_cancel(&s->rig, &poll);
}

static void act(struct script *s) {
    cleanup(ask_done) struct ask poll = {0}, answer = {0};
    if (!goes_on(s))
        return;
    rig_poll_activity(&s->rig, &poll);
    if (accept(s, &poll)) {
        rig_complete_activity(&s->rig, &answer, &poll);
        accept(s, &answer);
    }
    ask_cancel(&s->rig, &answer);
    ask_cancel(&s->rig, &poll);
}

static Ws__CreateScheduleRequest *ask_schedule(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__CreateScheduleRequest *req = MAKE(m, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    Schedule__Schedule *s = MAKE(m, Schedule__Schedule, schedule__schedule__init);
    Workflow__NewWorkflowExecutionInfo *w =
        MAKE(m, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    req->namespace_ = make_text(m, "default");
    req->schedule_id = make_text(m, SCHEDULE);
    req->request_id = make_text(m, "create");
    req->schedule = s;
    s->spec = MAKE(m, Schedule__ScheduleSpec, schedule__schedule_spec__init);
    s->spec->cron_string = arena_array(m, char *, 1);
    ensure(s->spec->cron_string);
    s->spec->cron_string[s->spec->n_cron_string++] = make_text(m, "0 */6 * * *");
    s->policies = MAKE(m, Schedule__SchedulePolicies, schedule__schedule_policies__init);
    s->policies->overlap_policy = SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
    s->action = MAKE(m, Schedule__ScheduleAction, schedule__schedule_action__init);
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = w;
    w->workflow_id = make_text(m, "fired");
    w->workflow_type = MAKE(m, Common__WorkflowType, common__workflow_type__init);
    w->workflow_type->name = make_text(m, "type");
    w->task_queue = make_queue(m, "queue");
    return req;
}

static void create_schedule(struct script *s) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    RIG_SEND(&s->rig, &a, create_schedule, ask_schedule(&s->rig, &a));
    accept(s, &a);
    ask_cancel(&s->rig, &a);
}

static void terminate(struct script *s, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    rig_terminate(&s->rig, &a, workflow_id);
    if (accept(s, &a))
        add_fact(s, FACT_CLOSED, workflow_id, "");
    ask_cancel(&s->rig, &a);
}

static void remove_workflow(struct script *s, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    struct arena *m = ask_begin(&s->rig, &a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(m, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, workflow_id, "");
    RIG_SEND(&s->rig, &a, delete_workflow, req);
    if (accept(s, &a))
        add_fact(s, FACT_GONE, workflow_id, "");
    ask_cancel(&s->rig, &a);
}

/* A list comes from a thread of its own. */
static void list(struct script *s) {
    cleanup(ask_done) struct ask a = {0};
    if (!goes_on(s))
        return;
    struct arena *m = ask_begin(&s->rig, &a);
    Ws__ListWorkflowExecutionsRequest *req =
        MAKE(m, Ws__ListWorkflowExecutionsRequest, ws__list_workflow_executions_request__init);
    req->namespace_ = make_text(m, "default");
    RIG_SEND(&s->rig, &a, list_workflows, req);
    while (!a.is_done)
        witness_wait(s->witness);
    accept(s, &a);
}

/* the life */

static const char *numbered(char (*space)[16], const char *name, int n) {
    (void)snprintf(*space, sizeof *space, "%s%d", name, n);
    return *space;
}

static void first_day(struct script *s) {
    char id[16], signal[16];
    for (int i = 0; i < WORKFLOWS; i++) {
        start(s, numbered(&id, "wf", i));
        send_signal(s, id, numbered(&signal, "s", i));
    }
    for (int i = 0; i < WORKFLOWS; i++)
        work(s, i % 3 == 2);
    create_schedule(s);
    act(s);
    act(s);
    send_signal(s, "wf0", "again");
    list(s);
    advance(s, 2 * HOUR_US); /* a quarter begins at midnight; timers fire */
    terminate(s, "wf1");
    remove_workflow(s, "wf1");
}

/* What has closed by now is removed within a day. */
static void expire(struct script *s) {
    for (size_t i = 0, count = s->fact_count; i < count; i++)
        if (s->facts[i].kind == FACT_CLOSED)
            add_fact(s, FACT_EXPIRED, s->facts[i].workflow_id, "");
}

static void second_day(struct script *s) {
    expire(s);
    for (int i = 0; i < 4; i++)
        advance(s, 6 * HOUR_US);
    work(s, true);
    start(s, "late");
    work(s, true);
    expire(s);
    advance(s, 26 * HOUR_US);
    send_signal(s, "wf4", "last");
}

static void set_clock(struct script *s, int64_t clock_us) {
    s->now = (struct now){{clock_us}, {clock_us - RIG_T0 + USEC_PER_SEC}};
    tell(s, TRACE_CLOCK, clock_us);
}

void script_run(struct script *s) {
    set_clock(s, RIG_T0);
    begin(s);
    first_day(s);
    end(s);
    if (!goes_on(s))
        return;
    if (s->witness->disk)
        disk_forgive(s->witness->disk);
    begin(s);
    second_day(s);
    end(s);
}

/* carrying on */

/* One task of either kind; false when there was none. */
static bool drain_one(struct script *s, bool is_activity) {
    cleanup(ask_done) struct ask poll = {0}, answer = {0};
    if (is_activity)
        rig_poll_activity(&s->rig, &poll);
    else
        rig_poll(&s->rig, &poll, "queue");
    bool has_task = poll.is_done && ask_token(&poll).n > 0;
    if (has_task && is_activity)
        rig_complete_activity(&s->rig, &answer, &poll);
    else if (has_task)
        rig_finish(&s->rig, &answer, &poll);
    if (has_task)
        accept(s, &answer);
    ask_cancel(&s->rig, &poll);
    return has_task && goes_on(s);
}

static void drain(struct script *s) {
    int tasks = 0;
    while (tasks++ < TASKS_MAX && (drain_one(s, false) || drain_one(s, true)))
        ;
    CHECK(tasks < TASKS_MAX);
}

/* Everyone is woken, so that everyone can end. */
static void finish_all(struct script *s) {
    advance(s, HOUR_US);
    for (int i = 0; i < WORKFLOWS && goes_on(s); i++) {
        cleanup(ask_done) struct ask a = {0};
        char id[16];
        rig_signal(&s->rig, &a, numbered(&id, "wf", i), "wake");
        ask_cancel(&s->rig, &a); /* those that are gone do not hear it */
    }
    if (goes_on(s))
        drain(s);
}

void script_carry_on(struct script *s, int64_t clock_us) {
    set_clock(s, clock_us);
    begin(s);
    if (goes_on(s))
        finish_all(s);
    end(s);
}

/* the audit */

/* A call that may have been under way can have removed it. */
static bool is_promised(const struct script *told, const struct fact *f, int64_t steps) {
    for (size_t i = 0; i < told->fact_count; i++) {
        const struct fact *other = &told->facts[i];
        bool removes = other->kind == FACT_GONE || other->kind == FACT_EXPIRED;
        if (removes && other != f && other->step <= steps + 1 && cstr_eq(other->workflow_id, f->workflow_id))
            return false;
    }
    return f->step <= steps && f->kind != FACT_EXPIRED;
}

static int64_t count_signals(struct rig *r, const struct fact *f) {
    cleanup(ask_done) struct ask a = {0};
    int64_t n = 0;
    rig_history(r, &a, f->workflow_id);
    const Ws__GetWorkflowExecutionHistoryResponse *h = a.response;
    for (size_t i = 0; h && i < h->history->n_events; i++) {
        const History__HistoryEvent *ev = h->history->events[i];
        if (ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED &&
            cstr_eq(ev->workflow_execution_signaled_event_attributes->signal_name, f->signal))
            n++;
    }
    return n;
}

static void audit_fact(struct script *s, const struct fact *f) {
    cleanup(ask_done) struct ask a = {0};
    rig_describe(&s->rig, &a, f->workflow_id);
    if (f->kind == FACT_GONE) {
        CHECK_INT(a.err.code, ERR_NOT_FOUND);
        return;
    }
    CHECK_OK(&a);
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    if (f->kind == FACT_CLOSED && d)
        CHECK(d->workflow_execution_info->status != WORKFLOW_EXECUTION_STATUS_RUNNING);
    if (f->kind == FACT_SIGNALLED)
        CHECK_INT(count_signals(&s->rig, f), 1);
}

void script_audit(struct script *s, int64_t clock_us, const struct script *told, int64_t steps) {
    set_clock(s, clock_us);
    begin(s);
    if (!CHECK(goes_on(s))) {
        printf("# %s\n", s->text);
    } else {
        for (size_t i = 0; i < told->fact_count; i++)
            if (is_promised(told, &told->facts[i], steps))
                audit_fact(s, &told->facts[i]);
        finish_all(s);
        CHECK(goes_on(s));
    }
    end(s);
}
