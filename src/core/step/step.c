/* The step context: where events get their ids, and where they wait for them.
 *
 * While a workflow task is with a worker, events from outside are kept packed
 * and without an id in the state. When the task ends they are written behind
 * the events that the worker's commands made. While commands are applied the same is done with the events
 * that no command asked for by itself. */
#include "core/step/step.h"

#include <string.h>

#include "core/run/signal_ids.h"
#include "core/run/task.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define STEP_EVENT_BYTES_MAX (64u << 20) /* what one step may write; far above any legal completion */

enum event_how { DIRECT, BUFFER, FINISH };

struct event_rule {
    E__EventType type;
    History__HistoryEvent__AttributesCase attributes;
    enum event_how how;
    bool is_for_operators;
};

static const struct event_rule event_rules[] = {
#define EVENT(name, how)                                                                                     \
    {EVENT_TYPE_##name, HISTORY__HISTORY_EVENT__ATTRIBUTES_##name##_EVENT_ATTRIBUTES, how, false},
#define OPERATORS_EVENT(name, how)                                                                           \
    {EVENT_TYPE_##name, HISTORY__HISTORY_EVENT__ATTRIBUTES_##name##_EVENT_ATTRIBUTES, how, true},
#include "core/step/events.def"
#undef EVENT
#undef OPERATORS_EVENT
};

static const struct event_rule *event_rule(E__EventType type) {
    size_t i = 0;
    while (event_rules[i].type != type) {
        i++;
        ensure(i < ARRAY_LEN(event_rules)); /* every type that is written is in events.def */
    }
    return &event_rules[i];
}

bool event_fits(const History__HistoryEvent *ev) {
    for (size_t i = 0; i < ARRAY_LEN(event_rules); i++)
        if (event_rules[i].type == ev->event_type)
            return event_rules[i].attributes == ev->attributes_case;
    return false;
}

void step_init(struct step *s, State__Execution *st, struct wall now, struct rng *rng, struct arena *arena,
               struct err *err) {
    memset(s, 0, sizeof(*s));
    s->st = st;
    s->ctx.namespace_name = s->ctx.identity = "";
    s->now = s->judged = now;
    s->rng = rng;
    s->arena = arena;
    s->err = err;
    buf_init(&s->events, STEP_EVENT_BYTES_MAX);
}

void step_done(struct step *s) {
    buf_done(&s->events);
    map_done(&s->timers);
    if (s->next) {
        pb_free(s->next->st); /* unless the engine took it */
        step_done(s->next);
    }
}

void step_effect(struct step *s, enum effect_kind kind, int64_t event_id) {
    if (s->effect_count == s->effect_cap) {
        size_t cap = s->effect_cap ? s->effect_cap * 2 : 4;
        struct effect *bigger = cap <= STEP_EFFECTS_MAX ? arena_array(s->arena, struct effect, cap) : NULL;
        if (!bigger) {
            s->failed = true;
            return;
        }
        if (s->effect_count)
            memcpy(bigger, s->effects, s->effect_count * sizeof(*bigger));
        s->effects = bigger;
        s->effect_cap = cap;
    }
    s->effects[s->effect_count++] = (struct effect){kind, event_id};
}

void step_notice(struct step *s, enum notice_kind kind, const char *what, int64_t size) {
    if (s->notice_count < STEP_NOTICES_MAX)
        s->notices[s->notice_count++] = (struct notice){kind, what, size};
}

void step_news(struct step *s, enum schedule_turn turn, const char *reason, const char *workflow_id,
               const char *run_id) {
    if (s->news_count < STEP_NEWS_MAX)
        s->news[s->news_count++] = (struct schedule_news){
            turn, reason ? reason : "", workflow_id ? workflow_id : "", run_id ? run_id : ""};
}

bool step_fits(struct step *s, const void *message, const char *what, enum settable limit,
               enum settable warn) {
    int64_t size = message ? (int64_t)protobuf_c_message_get_packed_size(message) : 0;
    if (size > step_limit(s, warn))
        step_notice(s, NOTICE_PAYLOAD_LARGE, what, size);
    return size <= step_limit(s, limit);
}

/* A request that was attached to the run is found by its event, which may have waited for its id. */
static void note_attached(State__Execution *st, const History__HistoryEvent *ev) {
    const char *id = ev->workflow_execution_options_updated_event_attributes->attached_request_id;
    for (size_t i = 0; i < st->n_attached_requests; i++)
        if (cstr_eq(st->attached_requests[i]->request_id, id))
            st->attached_requests[i]->event_id = ev->event_id;
}

/* So is an update that a reset has admitted again. */
static void note_admitted(State__Execution *st, const History__HistoryEvent *ev) {
    const Update__Request *r = ev->workflow_execution_update_admitted_event_attributes->request;
    for (size_t i = 0; i < st->n_updates; i++)
        if (cstr_eq(st->updates[i]->update_id, r->meta->update_id))
            st->updates[i]->admitted_event_id = ev->event_id;
}

static int64_t write_event(struct step *s, History__HistoryEvent *ev) {
    ev->event_id = s->st->next_event_id++;
    ev->task_id = s->st->task_id_base + ev->event_id;
    if (!s->first_event_id)
        s->first_event_id = ev->event_id;
    size_t before = s->events.len;
    wire_add_message_field(&s->events, 1, &ev->base);
    if (ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED)
        note_attached(s->st, ev);
    if (ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED)
        note_admitted(s->st, ev);
    if (ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
        signal_id_written(s->st, ev->workflow_execution_signaled_event_attributes->request_id, ev->event_id);
    s->st->history_bytes += (int64_t)(s->events.len - before);
    return ev->event_id;
}

static void buffer_event(struct step *s, const History__HistoryEvent *ev) {
    struct buf packed;
    buf_init(&packed, STEP_EVENT_BYTES_MAX);
    wire_encode(&packed, &ev->base);
    if (buf_ok(&packed)) {
        pb_append_bytes(&s->st->n_buffered, &s->st->buffered, buf_str(&packed), &s->failed);
        s->st->buffered_bytes += (int64_t)packed.len;
        s->held_count += s->holds_events;
    } else {
        s->failed = true;
    }
    buf_done(&packed);
}

int64_t step_event(struct step *s, E__EventType type, void *attributes, const struct event_extra *extra) {
    static const struct event_extra nothing;
    const struct event_rule *rule = event_rule(type);
    if (!extra)
        extra = &nothing;
    Google__Protobuf__Timestamp time = pb_timestamp(extra->time_us ? extra->time_us : s->now.us);
    History__HistoryEvent ev = HISTORY__HISTORY_EVENT__INIT;
    ev.event_type = type;
    ev.event_time = &time;
    ev.attributes_case = rule->attributes;
    ev.worker_may_ignore = rule->is_for_operators;
    /* Every member of the union is a pointer to an attributes message. */
    ev.timer_fired_event_attributes = attributes;
    ev.user_metadata = (Sdk__UserMetadata *)(uintptr_t)extra->user_metadata;
    ev.links = extra->links;
    ev.n_links = extra->link_count;
    if (s->command) {
        ev.user_metadata = s->command->user_metadata;
        ev.event_group_markers = s->command->event_group_markers;
        ev.n_event_group_markers = s->command->n_event_group_markers;
        s->command = NULL;
    }
    if (rule->how != DIRECT && (s->holds_events || task_is_started(s->st))) {
        buffer_event(s, &ev);
        return 0;
    }
    return write_event(s, &ev);
}

static History__HistoryEvent *unpack_buffered(struct step *s, size_t i, struct arena *arena) {
    ProtobufCAllocator alloc = wire_arena_allocator(arena);
    const ProtobufCBinaryData *d = &s->st->buffered[i];
    History__HistoryEvent *ev = history__history_event__unpack(&alloc, d->len, d->data);
    if (!ev)
        s->failed = true;
    ensure(!ev || event_fits(ev)); /* as this server wrote it */
    return ev;
}

/* An activity's start and end were buffered together, so the end could not know the start's id. */
struct started_id {
    int64_t scheduled_event_id;
    int64_t started_event_id;
};

static int64_t *finish_started_field(History__HistoryEvent *ev, int64_t *ret_scheduled) {
    switch ((int)ev->event_type) {
    case EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
        *ret_scheduled = ev->activity_task_completed_event_attributes->scheduled_event_id;
        return &ev->activity_task_completed_event_attributes->started_event_id;
    case EVENT_TYPE_ACTIVITY_TASK_FAILED:
        *ret_scheduled = ev->activity_task_failed_event_attributes->scheduled_event_id;
        return &ev->activity_task_failed_event_attributes->started_event_id;
    case EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
        *ret_scheduled = ev->activity_task_timed_out_event_attributes->scheduled_event_id;
        return &ev->activity_task_timed_out_event_attributes->started_event_id;
    case EVENT_TYPE_ACTIVITY_TASK_CANCELED:
        *ret_scheduled = ev->activity_task_canceled_event_attributes->scheduled_event_id;
        return &ev->activity_task_canceled_event_attributes->started_event_id;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        *ret_scheduled = ev->child_workflow_execution_completed_event_attributes->initiated_event_id;
        return &ev->child_workflow_execution_completed_event_attributes->started_event_id;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
        *ret_scheduled = ev->child_workflow_execution_failed_event_attributes->initiated_event_id;
        return &ev->child_workflow_execution_failed_event_attributes->started_event_id;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
        *ret_scheduled = ev->child_workflow_execution_canceled_event_attributes->initiated_event_id;
        return &ev->child_workflow_execution_canceled_event_attributes->started_event_id;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
        *ret_scheduled = ev->child_workflow_execution_timed_out_event_attributes->initiated_event_id;
        return &ev->child_workflow_execution_timed_out_event_attributes->started_event_id;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
        *ret_scheduled = ev->child_workflow_execution_terminated_event_attributes->initiated_event_id;
        return &ev->child_workflow_execution_terminated_event_attributes->started_event_id;
    default:
        return NULL;
    }
}

/* For an event that says that something has started: which event asked for it. A child that is still
 * pending learns the id of its started event. */
static int64_t started_of(State__Execution *st, const History__HistoryEvent *ev, int64_t id) {
    if (ev->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED)
        return ev->activity_task_started_event_attributes->scheduled_event_id;
    if (ev->event_type != EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED)
        return 0;
    int64_t initiated = ev->child_workflow_execution_started_event_attributes->initiated_event_id;
    for (size_t i = 0; i < st->n_children; i++)
        if (st->children[i]->initiated_event_id == initiated)
            st->children[i]->started_event_id = id;
    return initiated;
}

static void patch_started_id(History__HistoryEvent *ev, const struct started_id *ids, size_t count) {
    int64_t scheduled = 0;
    int64_t *field = finish_started_field(ev, &scheduled);
    ensure(field);
    for (size_t i = 0; i < count; i++)
        if (ids[i].scheduled_event_id == scheduled)
            *field = ids[i].started_event_id;
}

bool step_flush_buffered(struct step *s) {
    size_t count = s->st->n_buffered;
    ensure_inv(I4, !task_is_started(s->st) && !s->holds_events);
    s->held_count = 0;
    if (!count)
        return false;
    History__HistoryEvent **events = arena_array(s->arena, History__HistoryEvent *, count);
    struct started_id *ids = arena_array(s->arena, struct started_id, count);
    size_t id_count = 0;
    for (size_t i = 0; events && i < count; i++)
        events[i] = unpack_buffered(s, i, s->arena);
    if (!events || !ids || s->failed) {
        s->failed = true;
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (event_rule(events[i]->event_type)->how == FINISH)
            continue;
        int64_t id = write_event(s, events[i]);
        int64_t origin = started_of(s->st, events[i], id);
        if (origin)
            ids[id_count++] = (struct started_id){origin, id};
    }
    for (size_t i = 0; i < count; i++) {
        if (event_rule(events[i]->event_type)->how != FINISH)
            continue;
        patch_started_id(events[i], ids, id_count);
        write_event(s, events[i]);
    }
    pb_clear_bytes(&s->st->n_buffered, &s->st->buffered);
    s->st->buffered_bytes = 0;
    return true;
}

/* One after the other, because a completion may look through them once for each of its commands. */
static History__HistoryEvent *look_at_buffered(struct step *s, size_t i, struct arena *one) {
    arena_clear(one);
    return unpack_buffered(s, i, one);
}

bool step_drop_buffered_timer(struct step *s, const char *timer_id, int64_t *ret_started_event_id) {
    cleanup(arena_done) struct arena one;
    arena_init(&one, STEP_EVENT_BYTES_MAX);
    for (size_t i = 0; i < s->st->n_buffered; i++) {
        History__HistoryEvent *ev = look_at_buffered(s, i, &one);
        if (!ev)
            return false;
        if (ev->event_type != EVENT_TYPE_TIMER_FIRED ||
            !cstr_eq(ev->timer_fired_event_attributes->timer_id, timer_id))
            continue;
        *ret_started_event_id = ev->timer_fired_event_attributes->started_event_id;
        s->st->buffered_bytes -= (int64_t)s->st->buffered[i].len;
        pb_remove_bytes(&s->st->n_buffered, s->st->buffered, i);
        return true;
    }
    return false;
}

bool step_has_buffered_finish(struct step *s, int64_t scheduled_event_id) {
    cleanup(arena_done) struct arena one;
    arena_init(&one, STEP_EVENT_BYTES_MAX);
    for (size_t i = 0; i < s->st->n_buffered; i++) {
        History__HistoryEvent *ev = look_at_buffered(s, i, &one);
        int64_t scheduled = 0;
        if (ev && finish_started_field(ev, &scheduled) && scheduled == scheduled_event_id)
            return true;
    }
    return false;
}
