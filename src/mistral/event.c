/* Writes history events as events of the dialect.
 *
 * Every event of the dialect repeats facts from the first event of its run.
 * Events about an activity name it by the id of the event that scheduled it,
 * so the context holds the open activities. A closed activity's entry is used
 * again, so there are never more entries than a workflow may have open.
 *
 * ACTIVITY_TASK_STARTED is written when the activity is scheduled, because the
 * history has its start only after its end. A lack of memory stays in x->kept
 * and in the output buffer. */
#include "mistral/event.h"

#include <stdio.h>

#include "base/uuid.h"
#include "core/step/pb.h"
#include "json/moment.h"
#include "mistral/execution.h"
#include "mistral/member.h"
#include "mistral/outcome.h"
#include "mistral/payload.h"
#include "names.h"

/* The context. */

static struct event_activity *event_get_free_activity(struct dialog *x, struct event_context *c) {
    for (size_t i = 0; i < c->activity_count; i++)
        if (!c->activities[i].scheduled_id)
            return &c->activities[i];
    size_t n = c->activity_count ? c->activity_count * 2 : 8;
    struct event_activity *more = arena_array(&x->kept, struct event_activity, n);
    if (!more)
        return NULL;
    if (c->activity_count)
        memcpy(more, c->activities, c->activity_count * sizeof(*more));
    struct event_activity *place = &more[c->activity_count];
    c->activities = more;
    c->activity_count = n;
    return place;
}

/* Many activities share few names, so each name is stored once; free entries keep their names for this. */
static char *event_share_name(struct dialog *x, const struct event_context *c, const char *name) {
    for (size_t i = 0; i < c->activity_count; i++)
        if (c->activities[i].name && cstr_eq(c->activities[i].name, name))
            return c->activities[i].name;
    return arena_strdup(&x->kept, name);
}

static struct event_activity *event_find_activity(const struct event_context *c, int64_t scheduled_id) {
    for (size_t i = 0; scheduled_id && i < c->activity_count; i++)
        if (c->activities[i].scheduled_id == scheduled_id)
            return &c->activities[i];
    return NULL;
}

static char *event_keep_text(struct dialog *x, const char *text) {
    return cstr_is_empty(text) ? NULL : arena_strdup(&x->kept, text);
}

/* The value of a search attribute that is text; NULL when there is none. */
static char *event_find_attribute(struct dialog *x, const Common__SearchAttributes *all, const char *name) {
    for (size_t i = 0; all && i < all->n_indexed_fields; i++) {
        struct str data = pb_bytes(&all->indexed_fields[i]->value->data);
        struct json_reader r;
        struct str text;
        reader_init(&r, data);
        if (cstr_eq(all->indexed_fields[i]->key, name) && reader_kind(&r) == JSON_STRING &&
            reader_string(&r, &x->kept, &text) == 0)
            return arena_strndup(&x->kept, text.p, text.n);
    }
    return NULL;
}

static void event_learn_start(struct dialog *x, struct event_context *c,
                              const History__WorkflowExecutionStartedEventAttributes *a) {
    const Common__WorkflowExecution *root = a->root_workflow_execution,
                                    *parent = a->parent_workflow_execution;
    c->workflow_name = event_keep_text(x, a->workflow_type ? a->workflow_type->name : "");
    c->parent_id = event_keep_text(x, parent ? parent->workflow_id : NULL);
    c->root_id =
        event_keep_text(x, root && !cstr_is_empty(root->workflow_id) ? root->workflow_id : c->workflow_id);
    c->continued_run_id = event_keep_text(x, a->continued_execution_run_id);
    c->first_run_id = event_keep_text(x, a->first_execution_run_id);
    c->schedule_id = event_find_attribute(x, a->search_attributes, "TemporalScheduledById");
    c->attempt = a->attempt ? a->attempt : 1;
}

/* The id of the event that scheduled the activity which this event closes; 0 when it closes none. */
static int64_t event_closed_activity_id(const History__HistoryEvent *e) {
    switch (e->attributes_case) {
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_COMPLETED_EVENT_ATTRIBUTES:
        return e->activity_task_completed_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_FAILED_EVENT_ATTRIBUTES:
        return e->activity_task_failed_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_TIMED_OUT_EVENT_ATTRIBUTES:
        return e->activity_task_timed_out_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_CANCELED_EVENT_ATTRIBUTES:
        return e->activity_task_canceled_event_attributes->scheduled_event_id;
    default: /* no other event closes an activity */
        return 0;
    }
}

void event_learn(struct dialog *x, struct event_context *c, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
        event_learn_start(x, c, e->workflow_execution_started_event_attributes);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) {
        const Common__ActivityType *type = e->activity_task_scheduled_event_attributes->activity_type;
        char *name = event_share_name(x, c, type ? type->name : "");
        struct event_activity *place = event_get_free_activity(x, c);
        if (place)
            *place = (struct event_activity){e->event_id, name, 1};
    }
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED) {
        struct event_activity *a =
            event_find_activity(c, e->activity_task_started_event_attributes->scheduled_event_id);
        if (a)
            a->attempt = e->activity_task_started_event_attributes->attempt;
    }
}

void event_forget(struct event_context *c, const History__HistoryEvent *e) {
    struct event_activity *a = event_find_activity(c, event_closed_activity_id(e));
    if (a)
        a->scheduled_id = 0;
}

/* Writing. */

static void event_write_json(struct json_writer *w, const char *key, const Common__Payloads *p) {
    writer_key(w, str_of(key));
    writer_open(w, '{');
    member_write_text(w, "type", "json");
    writer_key(w, STR("value"));
    payload_write(w, p);
    writer_close(w, '}');
}

static void event_write_failure(struct json_writer *w, const char *text) {
    writer_key(w, STR("failure"));
    writer_open(w, '{');
    member_write_text(w, "message", text);
    writer_close(w, '}');
}

static const char *event_timeout_name(E__TimeoutType type) {
    static const char *const words[] = {NULL, "START_TO_CLOSE", "SCHEDULE_TO_START", "SCHEDULE_TO_CLOSE",
                                        "HEARTBEAT"};
    return (size_t)type < ARRAY_LEN(words) ? words[type] : NULL;
}

/* The type in the dialect; NULL when the dialect has no such event. */
static const char *event_type_name(const History__HistoryEvent *e) {
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        return "WORKFLOW_EXECUTION_STARTED";
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        return "WORKFLOW_EXECUTION_COMPLETED";
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
        return "WORKFLOW_EXECUTION_FAILED";
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return "WORKFLOW_EXECUTION_CANCELED";
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return "WORKFLOW_EXECUTION_CONTINUED_AS_NEW";
    case EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        return "WORKFLOW_TASK_TIMED_OUT";
    case EVENT_TYPE_WORKFLOW_TASK_FAILED:
        return "WORKFLOW_TASK_FAILED";
    case EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        return "ACTIVITY_TASK_STARTED";
    case EVENT_TYPE_ACTIVITY_TASK_STARTED:
        return e->activity_task_started_event_attributes->attempt > 1 ? "ACTIVITY_TASK_RETRYING" : NULL;
    case EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
        return "ACTIVITY_TASK_COMPLETED";
    case EVENT_TYPE_ACTIVITY_TASK_FAILED:
    case EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
    case EVENT_TYPE_ACTIVITY_TASK_CANCELED:
        return "ACTIVITY_TASK_FAILED";
    default: /* the dialect leaves the others out */
        return NULL;
    }
}

/* The attributes of an event of an activity. */
static void event_write_activity(struct dialog *x, const struct event_context *c,
                                 const History__HistoryEvent *e) {
    struct json_writer *w = &x->w;
    const struct event_activity *a = event_find_activity(c, event_closed_activity_id(e));
    switch (e->event_type) {
    case EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: {
        const History__ActivityTaskScheduledEventAttributes *s = e->activity_task_scheduled_event_attributes;
        member_write_text(w, "activity_name", s->activity_type ? s->activity_type->name : "");
        event_write_json(w, "input", s->input);
        return;
    }
    case EVENT_TYPE_ACTIVITY_TASK_STARTED: {
        const History__ActivityTaskStartedEventAttributes *s = e->activity_task_started_event_attributes;
        a = event_find_activity(c, s->scheduled_event_id);
        member_write_text(w, "activity_name", a ? a->name : "unknown");
        member_write_whole(w, "attempt", s->attempt);
        event_write_failure(w, execution_failure_text(dialog_answer_arena(x), s->last_failure));
        return;
    }
    default:
        break;
    }
    member_write_text(w, "activity_name", a ? a->name : "unknown");
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_COMPLETED) {
        event_write_json(w, "result", e->activity_task_completed_event_attributes->result);
        return;
    }
    member_write_whole(w, "attempt", a ? a->attempt : 1);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_FAILED)
        event_write_failure(w, execution_failure_text(dialog_answer_arena(x),
                                                      e->activity_task_failed_event_attributes->failure));
    else if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
        event_write_failure(w, execution_failure_text(dialog_answer_arena(x),
                                                      e->activity_task_timed_out_event_attributes->failure));
    else
        event_write_failure(w, "the activity was cancelled");
}

/* The attributes of an event of the workflow. */
static void event_write_workflow(struct dialog *x, const struct event_context *c,
                                 const History__HistoryEvent *e) {
    struct json_writer *w = &x->w;
    const struct outcome o = {.close = e};
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        member_write_text(w, "workflow_name", c->workflow_name);
        member_write_text(w, "display_name", c->workflow_name);
        event_write_json(w, "input", e->workflow_execution_started_event_attributes->input);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        event_write_json(w, "result", e->workflow_execution_completed_event_attributes->result);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: {
        const History__WorkflowExecutionContinuedAsNewEventAttributes *a =
            e->workflow_execution_continued_as_new_event_attributes;
        member_write_text(w, "new_execution_run_id", a->new_execution_run_id);
        member_write_text(w, "workflow_name", a->workflow_type ? a->workflow_type->name : c->workflow_name);
        event_write_json(w, "input", a->input);
        return;
    }
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        member_write_null(w, "reason");
        break;
    case EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        member_write_text(w, "timeout_type",
                          event_timeout_name(e->workflow_task_timed_out_event_attributes->timeout_type));
        return;
    case EVENT_TYPE_WORKFLOW_TASK_FAILED:
        event_write_failure(w, execution_failure_text(dialog_answer_arena(x),
                                                      e->workflow_task_failed_event_attributes->failure));
        return;
    default:
        event_write_failure(w, outcome_text(dialog_answer_arena(x), &o));
        break;
    }
    member_write_whole(w, "attempt", c->attempt);
}

/* The task of an event: "run id:scheduled event id" for an activity, else the run id. */
static void event_write_task_id(struct json_writer *w, const struct event_context *c,
                                const History__HistoryEvent *e) {
    int64_t scheduled = event_closed_activity_id(e);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        scheduled = e->event_id;
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED)
        scheduled = e->activity_task_started_event_attributes->scheduled_event_id;
    if (!scheduled) {
        member_write_text(w, "task_id", c->run_id);
        return;
    }
    char text[64];
    (void)snprintf(text, sizeof(text), "%.36s:%lld", c->run_id, (long long)scheduled);
    member_write_text(w, "task_id", text);
}

static bool event_is_of_activity(const History__HistoryEvent *e) {
    return e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED ||
           e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED || event_closed_activity_id(e) > 0;
}

/* The client documents event_timestamp in nanoseconds but rejects numbers that large: microseconds are sent.
 */
static void event_write_data(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e,
                             const char *id) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("data"));
    writer_open(w, '{');
    member_write_text(w, "event_id", id);
    member_write_whole(w, "event_timestamp", pb_timestamp_us(e->event_time));
    member_write_text(w, "root_workflow_exec_id", c->root_id ? c->root_id : c->workflow_id);
    member_write_text(w, "parent_workflow_exec_id", c->parent_id);
    member_write_text(w, "continued_run_id", c->continued_run_id);
    member_write_text(w, "first_execution_run_id", c->first_run_id);
    member_write_text(w, "schedule_id", c->schedule_id);
    member_write_text(w, "workflow_exec_id", c->workflow_id);
    member_write_text(w, "workflow_run_id", c->run_id);
    member_write_text(w, "workflow_name", c->workflow_name ? c->workflow_name : "unknown");
    member_write_text(w, "event_type", event_type_name(e));
    writer_key(w, STR("attributes"));
    writer_open(w, '{');
    event_write_task_id(w, c, e);
    (event_is_of_activity(e) ? event_write_activity : event_write_workflow)(x, c, e);
    writer_close(w, '}');
    writer_close(w, '}');
}

static void event_write_context(struct dialog *x, const struct event_context *c) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("workflow_context"));
    writer_open(w, '{');
    member_write_text(w, "namespace", x->namespace);
    member_write_text(w, "workflow_name", c->workflow_name ? c->workflow_name : "unknown");
    member_write_text(w, "workflow_exec_id", c->workflow_id);
    member_write_text(w, "parent_workflow_exec_id", c->parent_id);
    member_write_text(w, "root_workflow_exec_id", c->root_id);
    writer_close(w, '}');
}

void event_write(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e) {
    const char *word = event_type_name(e);
    char id[64];
    if (!word)
        return;
    (void)snprintf(id, sizeof(id), "%.36s:%lld", c->run_id, (long long)e->event_id);
    buf_printf(&x->out, "id: %s\nevent: %s\ndata: ", id, word);
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    member_write_text(&x->w, "stream", c->workflow_id);
    member_write_time(&x->w, "timestamp", e->event_time);
    event_write_data(x, c, e, id);
    event_write_context(x, c);
    member_write_raw(&x->w, "metadata", "{}");
    member_write_whole(&x->w, "broker_sequence", e->event_id);
    writer_close(&x->w, '}');
    buf_add_cstr(&x->out, "\n\n");
}

bool event_id_parse(struct str text, struct str *ret_run_id, int64_t *ret_event_id) {
    struct uuid id;
    if (text.n < UUID_TEXT_LEN + 2 || text.p[UUID_TEXT_LEN] != ':' ||
        uuid_parse(str_bytes(text.p, UUID_TEXT_LEN), &id) < 0 ||
        str_to_i64(str_bytes(text.p + UUID_TEXT_LEN + 1, text.n - UUID_TEXT_LEN - 1), ret_event_id) < 0 ||
        *ret_event_id < 0)
        return false;
    *ret_run_id = str_bytes(text.p, UUID_TEXT_LEN);
    return true;
}
