/* Pausing a run and letting it go on. */
#include "core/run/pause.h"

#include "core/activity/activity.h"
#include "core/step/merge.h"
#include "core/run/run.h"
#include "core/run/task.h"

#define SHOWN_BYTES_MAX                                                                                      \
    (64u << 10) /* of the search attribute: names and reasons have limits of their own                       \
                 */

/* what lists can ask for */

static void pause_add_quoted(struct buf *b, const char *prefix, const char *text) {
    buf_add_cstr(b, b->len == 1 ? "\"" : ",\"");
    buf_add_cstr(b, prefix);
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(b, "\\%c", *p);
        else if ((unsigned char)*p < ' ')
            buf_printf(b, "\\u%04x", (unsigned)(unsigned char)*p);
        else
            buf_add(b, p, 1);
    }
    buf_add_cstr(b, "\"");
}

/* The type of each paused activity, once. */
static void pause_list_types(struct step *s, struct buf *b) {
    const State__Execution *st = s->st;
    struct map types;
    map_init(&types, st->n_activities, rng_u64(s->rng));
    for (size_t i = 0; i < st->n_activities && buf_ok(b); i++) {
        State__Activity *a = st->activities[i];
        if (!a->is_paused || map_get(&types, str_of(a->activity_type)))
            continue;
        s->failed |= map_put(&types, str_of(a->activity_type), a) < 0;
        pause_add_quoted(b, "property:activityType=", a->activity_type);
    }
    map_done(&types);
}

/* A list of JSON strings; empty when nothing is paused. */
static void pause_list_paused(struct step *s, struct buf *b) {
    const State__Execution *st = s->st;
    buf_add_cstr(b, "[");
    if (st->pause)
        pause_add_quoted(b, "Workflow:", st->workflow_id);
    if (st->pause && !cstr_is_empty(st->pause->reason))
        pause_add_quoted(b, "Reason:", st->pause->reason);
    if (st->n_activities)
        pause_list_types(s, b);
    buf_add_cstr(b, "]");
}

void pause_show(struct step *s) {
    struct buf b;
    bool has_paused = s->st->pause != NULL;
    for (size_t i = 0; i < s->st->n_activities; i++)
        has_paused |= s->st->activities[i]->is_paused;
    if (!has_paused && !s->st->search_attributes)
        return;
    buf_init(&b, SHOWN_BYTES_MAX);
    pause_list_paused(s, &b);
    if (buf_ok(&b))
        merge_json_attribute(s, "TemporalPauseInfo", buf_str(&b));
    else
        s->failed = true;
    buf_done(&b);
}

/* the state */

void pause_begin(struct step *s, int64_t paused_us, const char *identity, const char *reason,
                 const char *request_id) {
    State__Execution *st = s->st;
    State__Pause *p = pb_new(&state__pause__descriptor, &s->failed);
    if (!p)
        return;
    p->paused_us = paused_us;
    pb_set_string(&p->identity, identity, &s->failed);
    pb_set_string(&p->reason, reason, &s->failed);
    pb_set_string(&p->request_id, request_id, &s->failed);
    pb_free(st->pause);
    st->pause = p;
    st->status = WORKFLOW_EXECUTION_STATUS_PAUSED;
    pause_show(s);
}

void pause_end(struct step *s) {
    if (!s->st->pause)
        return;
    pb_free(s->st->pause);
    s->st->pause = NULL;
    s->st->status = WORKFLOW_EXECUTION_STATUS_RUNNING;
    pause_show(s);
}

/* the requests */

int run_pause(struct step *s, const Ws__PauseWorkflowExecutionRequest *req) {
    State__Execution *st = s->st;
    if (!run_is_open(st))
        return err_std(s->err, ERR_CLOSED);
    if (run_is_paused(st)) {
        if (!cstr_is_empty(req->request_id) && cstr_eq(st->pause->request_id, req->request_id))
            return 0;
        return err_set(s->err, ERR_PRECONDITION, "workflow is already paused.");
    }
    History__WorkflowExecutionPausedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_PAUSED_EVENT_ATTRIBUTES__INIT;
    a.identity = req->identity;
    a.reason = req->reason;
    a.request_id = req->request_id;
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_PAUSED, &a, NULL);
    pause_begin(s, s->now.us, req->identity, req->reason, req->request_id);
    task_hold(s);
    return 0;
}

/* Whatever a worker could have had meanwhile. */
static void pause_offer_all(struct step *s) {
    State__Execution *st = s->st;
    if (st->task && !st->task->started_event_id)
        step_effect(s, EFFECT_WORKFLOW_TASK, st->task->scheduled_event_id);
    activity_offer_all(s);
}

int run_unpause(struct step *s, const Ws__UnpauseWorkflowExecutionRequest *req) {
    State__Execution *st = s->st;
    if (!run_is_open(st))
        return err_std(s->err, ERR_CLOSED);
    if (!run_is_paused(st))
        return err_set(s->err, ERR_PRECONDITION, "workflow is not paused.");
    History__WorkflowExecutionUnpausedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_UNPAUSED_EVENT_ATTRIBUTES__INIT;
    a.identity = req->identity;
    a.reason = req->reason;
    a.request_id = req->request_id;
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_UNPAUSED, &a, NULL);
    pause_end(s);
    pause_offer_all(s);
    run_wake(s);
    return 0;
}
