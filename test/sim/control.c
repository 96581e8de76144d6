/* See control.h. Times of an answer and of a task are compared only where the clock does not jump. */
#include "control.h"

#include <inttypes.h>

#include "history_rules.h"
#include "names.h"
#include "program.h"
#include "request.h"

/* choices */

static struct activity_model *activity_of(const struct errand *e) {
    return e->activity == CONTROL_RUN ? NULL : &e->run->activities[e->activity];
}

/* From now on it may hold, and what it takes back does not hold for sure. */
static void control_begin(struct errand *e) {
    struct activity_model *a = activity_of(e);
    bool pauses = e->control == CONTROL_PAUSE;
    bool resets = e->control == CONTROL_RESET || (e->control == CONTROL_UNPAUSE && e->control_flags & 1);
    if (!a) {
        e->run->control_busy = true;
        e->run->may_be_paused |= pauses;
        e->run->was_paused |= pauses;
        e->run->paused_acked_us = 0;
        return;
    }
    a->control_busy = a->is_touched = true;
    a->may_be_paused |= pauses;
    a->was_reset |= resets;
    a->heartbeat_dropped |= resets;
    a->options_us = 0;
    if (e->control != CONTROL_OPTIONS)
        a->paused_acked_us = 0;
}

static bool control_is_open(const struct activity_model *a) {
    return (a->handed_attempt || a->scheduled_event_id) && !a->close_type && !a->completion_acked &&
           !a->cancel_acked;
}

bool control_has_activity(const struct run_model *run) {
    for (uint32_t i = 0; i < MODEL_ACTIVITIES_MAX; i++)
        if (control_is_open(&run->activities[i]))
            return true;
    return false;
}

bool control_choose(struct errand *e) {
    struct rng *r = &e->w->rng;
    uint32_t open[MODEL_ACTIVITIES_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < MODEL_ACTIVITIES_MAX; i++)
        if (control_is_open(&e->run->activities[i]) && !e->run->activities[i].control_busy)
            open[count++] = i;
    e->control_flags = (unsigned)rng_below(r, 8);
    e->value_us = (5 + (int64_t)rng_below(r, 20)) * USEC_PER_SEC;
    if (count > 0 && !rng_chance(r, 4)) {
        e->activity = open[rng_below(r, count)];
        e->control = (enum control_kind)rng_below(r, CONTROL_KIND_COUNT);
    } else {
        if (e->run->control_busy || e->run->close_type)
            return false;
        e->activity = CONTROL_RUN;
        e->control = e->run->may_be_paused ? CONTROL_UNPAUSE : CONTROL_PAUSE;
    }
    control_begin(e);
    return true;
}

bool control_choose_unpause(struct errand *e) {
    e->control = CONTROL_UNPAUSE;
    e->control_flags = 0;
    e->activity = CONTROL_RUN;
    if (e->run->may_be_paused && !e->run->control_busy) {
        control_begin(e);
        return true;
    }
    for (e->activity = 0; e->activity < MODEL_ACTIVITIES_MAX; e->activity++) {
        const struct activity_model *a = &e->run->activities[e->activity];
        if (!a->may_be_paused || a->control_busy || a->close_type)
            continue;
        control_begin(e);
        return true;
    }
    return false;
}

void control_ended(struct errand *e) {
    struct activity_model *a = activity_of(e);
    bool unpauses = e->control == CONTROL_UNPAUSE || (e->control == CONTROL_RESET && !(e->control_flags & 2));
    if (a) {
        a->control_busy = false;
        if (unpauses && e->is_settled)
            a->may_be_paused = false;
    } else {
        e->run->control_busy = false;
        if (unpauses && e->is_settled)
            e->run->may_be_paused = false;
    }
}

/* requests */

static const void *pause_run(struct errand *e, struct arena *a, enum rpc_kind *ret_kind) {
    if (e->control == CONTROL_UNPAUSE) {
        Ws__UnpauseWorkflowExecutionRequest *q =
            MAKE(a, Ws__UnpauseWorkflowExecutionRequest, ws__unpause_workflow_execution_request__init);
        *ret_kind = RPC_unpause_workflow;
        q->namespace_ = make_namespace(a, e->workflow_id);
        q->workflow_id = make_workflow_id(a, e->workflow_id);
        q->run_id = make_text(a, "%s", e->run->run_id);
        q->request_id = make_text(a, "%s", e->request->id);
        return q;
    }
    Ws__PauseWorkflowExecutionRequest *q =
        MAKE(a, Ws__PauseWorkflowExecutionRequest, ws__pause_workflow_execution_request__init);
    *ret_kind = RPC_pause_workflow;
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_id = make_workflow_id(a, e->workflow_id);
    q->run_id = make_text(a, "%s", e->run->run_id);
    q->request_id = make_text(a, "%s", e->request->id);
    return q;
}

static const void *pause_activity(struct errand *e, struct arena *a) {
    Ws__PauseActivityRequest *q = MAKE(a, Ws__PauseActivityRequest, ws__pause_activity_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->activity_case = WS__PAUSE_ACTIVITY_REQUEST__ACTIVITY_ID;
    q->id = make_text(a, "a%" PRIu32, e->activity);
    q->request_id = make_text(a, "%s", e->request->id);
    return q;
}

/* The same in the other form. */
static const void *pause_activity_execution(struct errand *e, struct arena *a) {
    Ws__PauseActivityExecutionRequest *q =
        MAKE(a, Ws__PauseActivityExecutionRequest, ws__pause_activity_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_id = make_workflow_id(a, e->workflow_id);
    q->run_id = make_text(a, "%s", e->run->run_id);
    q->activity_id = make_text(a, "a%" PRIu32, e->activity);
    q->request_id = make_text(a, "%s", e->request->id);
    return q;
}

static const void *unpause_activity(struct errand *e, struct arena *a) {
    Ws__UnpauseActivityRequest *q = MAKE(a, Ws__UnpauseActivityRequest, ws__unpause_activity_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->activity_case = WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_ID;
    q->id = make_text(a, "a%" PRIu32, e->activity);
    q->reset_attempts = e->control_flags & 1;
    q->reset_heartbeat = e->control_flags & 1;
    return q;
}

static const void *reset_activity(struct errand *e, struct arena *a) {
    Ws__ResetActivityRequest *q = MAKE(a, Ws__ResetActivityRequest, ws__reset_activity_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->activity_case = WS__RESET_ACTIVITY_REQUEST__ACTIVITY_ID;
    q->id = make_text(a, "a%" PRIu32, e->activity);
    q->reset_heartbeat = e->control_flags & 1;
    q->keep_paused = e->control_flags & 2;
    return q;
}

static const void *reset_activity_execution(struct errand *e, struct arena *a) {
    Ws__ResetActivityExecutionRequest *q =
        MAKE(a, Ws__ResetActivityExecutionRequest, ws__reset_activity_execution_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_id = make_workflow_id(a, e->workflow_id);
    q->run_id = make_text(a, "%s", e->run->run_id);
    q->activity_id = make_text(a, "a%" PRIu32, e->activity);
    q->reset_heartbeat = e->control_flags & 1;
    q->keep_paused = e->control_flags & 2;
    return q;
}

static const void *update_options(struct errand *e, struct arena *a) {
    Ws__UpdateActivityOptionsRequest *q =
        MAKE(a, Ws__UpdateActivityOptionsRequest, ws__update_activity_options_request__init);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->activity_case = WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_ID;
    q->id = make_text(a, "a%" PRIu32, e->activity);
    q->activity_options = MAKE(a, Activity__ActivityOptions, activity__activity_options__init);
    q->activity_options->start_to_close_timeout = make_duration(a, e->value_us);
    q->update_mask = MAKE(a, Google__Protobuf__FieldMask, google__protobuf__field_mask__init);
    q->update_mask->paths = arena_array(a, char *, 1);
    ensure(q->update_mask->paths);
    q->update_mask->paths[q->update_mask->n_paths++] = make_text(a, "start_to_close_timeout");
    return q;
}

const void *control_request(struct errand *e, struct arena *a, enum rpc_kind *ret_kind) {
    bool is_second_form = e->control_flags & 4;
    if (e->activity == CONTROL_RUN)
        return pause_run(e, a, ret_kind);
    switch (e->control) {
    case CONTROL_PAUSE:
        *ret_kind = is_second_form ? RPC_pause_activity_execution : RPC_pause_activity;
        return is_second_form ? pause_activity_execution(e, a) : pause_activity(e, a);
    case CONTROL_UNPAUSE:
        *ret_kind = RPC_unpause_activity;
        return unpause_activity(e, a);
    case CONTROL_RESET:
        *ret_kind = is_second_form ? RPC_reset_activity_execution : RPC_reset_activity;
        return is_second_form ? reset_activity_execution(e, a) : reset_activity(e, a);
    case CONTROL_OPTIONS:
    case CONTROL_KIND_COUNT:
        break;
    }
    *ret_kind = RPC_update_activity_options;
    return update_options(e, a);
}

/* answers */

static void options_acknowledged(struct rpc *r, struct activity_model *a) {
    const Ws__UpdateActivityOptionsRequest *q = r->request;
    const Ws__UpdateActivityOptionsResponse *m = (const void *)r->response;
    int64_t asked_us = duration_us(q->activity_options->start_to_close_timeout);
    int64_t got_us = m->activity_options ? duration_us(m->activity_options->start_to_close_timeout) : 0;
    if (got_us <= 0 || got_us > asked_us) /* the timeouts of the whole bound it */
        world_fail(r->w, "activity_options",
                   "run=%s activity=%" PRIu32 " asked for %" PRId64 ", got %" PRId64, r->subject.run->run_id,
                   r->subject.activity, asked_us, got_us);
    a->options_us = got_us;
}

void control_on_ok(struct rpc *r) {
    struct run_model *run = r->subject.run;
    bool is_run = r->subject.activity == CONTROL_RUN;
    struct activity_model *a = is_run ? NULL : &run->activities[r->subject.activity];
    r->w->tally.controls++;
    bool is_pause = r->kind == RPC_pause_activity || r->kind == RPC_pause_activity_execution;
    if (is_pause && a->control_busy)
        a->paused_acked_us = r->w->now.wall.us;
    else if (r->kind == RPC_pause_workflow && run->control_busy)
        run->paused_acked_us = r->w->now.wall.us;
    else if (r->kind == RPC_update_activity_options)
        options_acknowledged(r, a);
}

void control_check_task(struct world *w, const struct run_model *run, uint32_t activity, int64_t started_us) {
    const struct activity_model *a = activity < MODEL_ACTIVITIES_MAX ? &run->activities[activity] : NULL;
    if (world_clock_jumped(w))
        return;
    if (run->paused_acked_us && started_us > run->paused_acked_us)
        world_fail(w, "pause_kept", "run=%s is paused, but a task of it is handed out", run->run_id);
    if (a && a->paused_acked_us && started_us > a->paused_acked_us)
        world_fail(w, "pause_kept", "run=%s activity=%" PRIu32 " is paused, but handed out", run->run_id,
                   activity);
}

void control_check_describe(struct rpc *r) {
    const Ws__DescribeWorkflowExecutionResponse *m = (const void *)r->response;
    const struct run_model *run = r->subject.run;
    for (size_t i = 0; i < m->n_pending_activities; i++) {
        const Workflow__PendingActivityInfo *info = m->pending_activities[i];
        uint32_t n = program_number(info->activity_id);
        if (n >= MODEL_ACTIVITIES_MAX)
            continue;
        const struct activity_model *a = &run->activities[n];
        if (a->paused_acked_us && !info->paused)
            world_fail(r->w, "pause_kept", "run=%s activity=%" PRIu32 " is not described as paused",
                       run->run_id, n);
        int64_t got_us =
            info->activity_options ? duration_us(info->activity_options->start_to_close_timeout) : 0;
        if (a->options_us && info->activity_options && got_us != a->options_us)
            world_fail(r->w, "activity_options",
                       "run=%s activity=%" PRIu32 " has %" PRId64 ", %" PRId64 " was acknowledged",
                       run->run_id, n, got_us, a->options_us);
    }
}
