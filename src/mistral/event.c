/* From history events to the dialect's.
 *
 * The first event of a run tells what each later one repeats. Events about an
 * activity name it only by the number of the event that scheduled it, so the
 * open ones are remembered; closed ones leave their place to others, and there
 * are never more than a workflow may have open.
 *
 * An activity is told of when it is scheduled: the history has its start only
 * when it has ended. */
#include "mistral/event.h"

#include <stdio.h>

#include "base/uuid.h"
#include "core/step/pb.h"
#include "json/moment.h"
#include "mistral/execution.h"
#include "mistral/payload.h"
#include "names.h"

/* Learning. */

static struct activity *free_place(struct dialog *x, struct event_context *c) {
    for (size_t i = 0; i < c->activity_count; i++)
        if (!c->activities[i].scheduled_id)
            return &c->activities[i];
    size_t n = c->activity_count ? c->activity_count * 2 : 8;
    struct activity *more = arena_array(&x->kept, struct activity, n);
    if (!more)
        return NULL;
    if (c->activity_count)
        memcpy(more, c->activities, c->activity_count * sizeof(*more));
    struct activity *place = &more[c->activity_count];
    c->activities = more;
    c->activity_count = n;
    return place;
}

/* There are few names and many activities, so a name is kept once; free places remember theirs. */
static char *same_name(struct dialog *x, const struct event_context *c, const char *name) {
    for (size_t i = 0; i < c->activity_count; i++)
        if (c->activities[i].name && streq(c->activities[i].name, name))
            return c->activities[i].name;
    return arena_strdup(&x->kept, name);
}

static struct activity *find_activity(const struct event_context *c, int64_t scheduled_id) {
    for (size_t i = 0; scheduled_id && i < c->activity_count; i++)
        if (c->activities[i].scheduled_id == scheduled_id)
            return &c->activities[i];
    return NULL;
}

static char *keep(struct dialog *x, const char *text) {
    return strempty(text) ? NULL : arena_strdup(&x->kept, text);
}

/* The text of a search attribute. */
static char *attribute(struct dialog *x, const Common__SearchAttributes *all, const char *name) {
    for (size_t i = 0; all && i < all->n_indexed_fields; i++) {
        struct str data = pb_bytes(&all->indexed_fields[i]->value->data);
        struct json_reader r;
        struct str text;
        reader_init(&r, data);
        if (streq(all->indexed_fields[i]->key, name) && reader_kind(&r) == JSON_STRING &&
            reader_string(&r, &x->kept, &text) == 0)
            return arena_strndup(&x->kept, text.p, text.n);
    }
    return NULL;
}

static void learn_start(struct dialog *x, struct event_context *c,
                        const History__WorkflowExecutionStartedEventAttributes *a) {
    const Common__WorkflowExecution *root = a->root_workflow_execution,
                                    *parent = a->parent_workflow_execution;
    c->workflow_name = keep(x, a->workflow_type ? a->workflow_type->name : "");
    c->parent_id = keep(x, parent ? parent->workflow_id : NULL);
    c->root_id = keep(x, root && !strempty(root->workflow_id) ? root->workflow_id : c->workflow_id);
    c->continued_run_id = keep(x, a->continued_execution_run_id);
    c->first_run_id = keep(x, a->first_execution_run_id);
    c->schedule_id = attribute(x, a->search_attributes, "TemporalScheduledById");
    c->attempt = a->attempt ? a->attempt : 1;
}

static int64_t closed_activity(const History__HistoryEvent *e) {
    switch (e->attributes_case) {
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_COMPLETED_EVENT_ATTRIBUTES:
        return e->activity_task_completed_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_FAILED_EVENT_ATTRIBUTES:
        return e->activity_task_failed_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_TIMED_OUT_EVENT_ATTRIBUTES:
        return e->activity_task_timed_out_event_attributes->scheduled_event_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_ACTIVITY_TASK_CANCELED_EVENT_ATTRIBUTES:
        return e->activity_task_canceled_event_attributes->scheduled_event_id;
    default: /* no other event closes one */
        return 0;
    }
}

void event_learn(struct dialog *x, struct event_context *c, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
        learn_start(x, c, e->workflow_execution_started_event_attributes);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) {
        const Common__ActivityType *type = e->activity_task_scheduled_event_attributes->activity_type;
        char *name = same_name(x, c, type ? type->name : "");
        struct activity *place = free_place(x, c);
        if (place)
            *place = (struct activity){e->event_id, name, 1};
    }
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED) {
        struct activity *a = find_activity(c, e->activity_task_started_event_attributes->scheduled_event_id);
        if (a)
            a->attempt = e->activity_task_started_event_attributes->attempt;
    }
}

void event_forget(struct event_context *c, const History__HistoryEvent *e) {
    struct activity *a = find_activity(c, closed_activity(e));
    if (a)
        a->scheduled_id = 0;
}

/* Writing. */

static void write_json(struct json_writer *w, const char *key, const Common__Payloads *p) {
    writer_key(w, str_of(key));
    writer_open(w, '{');
    write_text(w, "type", "json");
    writer_key(w, STR("value"));
    payload_write(w, p);
    writer_close(w, '}');
}

static void write_failure(struct json_writer *w, const char *text) {
    writer_key(w, STR("failure"));
    writer_open(w, '{');
    write_text(w, "message", text);
    writer_close(w, '}');
}

static const char *timeout_word(E__TimeoutType type) {
    static const char *const words[] = {NULL, "START_TO_CLOSE", "SCHEDULE_TO_START", "SCHEDULE_TO_CLOSE",
                                        "HEARTBEAT"};
    return (size_t)type < ARRAY_LEN(words) ? words[type] : NULL;
}

static const char *word_of(const History__HistoryEvent *e) {
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
    default: /* the dialect does not tell of the others */
        return NULL;
    }
}

/* What an activity's events say. */
static void write_activity(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e) {
    struct json_writer *w = &x->w;
    const struct activity *a = find_activity(c, closed_activity(e));
    switch (e->event_type) {
    case EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: {
        const History__ActivityTaskScheduledEventAttributes *s = e->activity_task_scheduled_event_attributes;
        write_text(w, "activity_name", s->activity_type ? s->activity_type->name : "");
        write_json(w, "input", s->input);
        return;
    }
    case EVENT_TYPE_ACTIVITY_TASK_STARTED: {
        const History__ActivityTaskStartedEventAttributes *s = e->activity_task_started_event_attributes;
        a = find_activity(c, s->scheduled_event_id);
        write_text(w, "activity_name", a ? a->name : "unknown");
        write_whole(w, "attempt", s->attempt);
        write_failure(w, failure_text(dialog_scratch(x), s->last_failure));
        return;
    }
    default:
        break;
    }
    write_text(w, "activity_name", a ? a->name : "unknown");
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_COMPLETED) {
        write_json(w, "result", e->activity_task_completed_event_attributes->result);
        return;
    }
    write_whole(w, "attempt", a ? a->attempt : 1);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_FAILED)
        write_failure(w, failure_text(dialog_scratch(x), e->activity_task_failed_event_attributes->failure));
    else if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
        write_failure(w,
                      failure_text(dialog_scratch(x), e->activity_task_timed_out_event_attributes->failure));
    else
        write_failure(w, "the activity was cancelled");
}

static void write_workflow(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e) {
    struct json_writer *w = &x->w;
    const struct outcome o = {.close = e};
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        write_text(w, "workflow_name", c->workflow_name);
        write_text(w, "display_name", c->workflow_name);
        write_json(w, "input", e->workflow_execution_started_event_attributes->input);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        write_json(w, "result", e->workflow_execution_completed_event_attributes->result);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: {
        const History__WorkflowExecutionContinuedAsNewEventAttributes *a =
            e->workflow_execution_continued_as_new_event_attributes;
        write_text(w, "new_execution_run_id", a->new_execution_run_id);
        write_text(w, "workflow_name", a->workflow_type ? a->workflow_type->name : c->workflow_name);
        write_json(w, "input", a->input);
        return;
    }
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        write_null(w, "reason");
        break;
    case EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        write_text(w, "timeout_type",
                   timeout_word(e->workflow_task_timed_out_event_attributes->timeout_type));
        return;
    case EVENT_TYPE_WORKFLOW_TASK_FAILED:
        write_failure(w, failure_text(dialog_scratch(x), e->workflow_task_failed_event_attributes->failure));
        return;
    default:
        write_failure(w, outcome_text(dialog_scratch(x), &o));
        break;
    }
    write_whole(w, "attempt", c->attempt);
}

/* The task that an event is about: an activity by the event that scheduled it, or the run itself. */
static void write_task_id(struct json_writer *w, const struct event_context *c,
                          const History__HistoryEvent *e) {
    int64_t scheduled = closed_activity(e);
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        scheduled = e->event_id;
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED)
        scheduled = e->activity_task_started_event_attributes->scheduled_event_id;
    if (!scheduled) {
        write_text(w, "task_id", c->run_id);
        return;
    }
    char text[64];
    (void)snprintf(text, sizeof(text), "%.36s:%lld", c->run_id, (long long)scheduled);
    write_text(w, "task_id", text);
}

static bool is_of_activity(const History__HistoryEvent *e) {
    return e->event_type == EVENT_TYPE_ACTIVITY_TASK_SCHEDULED ||
           e->event_type == EVENT_TYPE_ACTIVITY_TASK_STARTED || closed_activity(e) > 0;
}

/* The client says nanoseconds and refuses numbers that large, so these are microseconds. */
static void write_event(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e,
                        const char *id) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("data"));
    writer_open(w, '{');
    write_text(w, "event_id", id);
    write_whole(w, "event_timestamp", pb_timestamp_us(e->event_time));
    write_text(w, "root_workflow_exec_id", c->root_id ? c->root_id : c->workflow_id);
    write_text(w, "parent_workflow_exec_id", c->parent_id);
    write_text(w, "continued_run_id", c->continued_run_id);
    write_text(w, "first_execution_run_id", c->first_run_id);
    write_text(w, "schedule_id", c->schedule_id);
    write_text(w, "workflow_exec_id", c->workflow_id);
    write_text(w, "workflow_run_id", c->run_id);
    write_text(w, "workflow_name", c->workflow_name ? c->workflow_name : "unknown");
    write_text(w, "event_type", word_of(e));
    writer_key(w, STR("attributes"));
    writer_open(w, '{');
    write_task_id(w, c, e);
    (is_of_activity(e) ? write_activity : write_workflow)(x, c, e);
    writer_close(w, '}');
    writer_close(w, '}');
}

static void write_context(struct dialog *x, const struct event_context *c) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("workflow_context"));
    writer_open(w, '{');
    write_text(w, "namespace", x->namespace);
    write_text(w, "workflow_name", c->workflow_name ? c->workflow_name : "unknown");
    write_text(w, "workflow_exec_id", c->workflow_id);
    write_text(w, "parent_workflow_exec_id", c->parent_id);
    write_text(w, "root_workflow_exec_id", c->root_id);
    writer_close(w, '}');
}

void event_write(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e) {
    const char *word = word_of(e);
    char id[64];
    if (!word)
        return;
    (void)snprintf(id, sizeof(id), "%.36s:%lld", c->run_id, (long long)e->event_id);
    buf_printf(&x->out, "id: %s\nevent: %s\ndata: ", id, word);
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    write_text(&x->w, "stream", c->workflow_id);
    write_time(&x->w, "timestamp", e->event_time);
    write_event(x, c, e, id);
    write_context(x, c);
    write_raw(&x->w, "metadata", "{}");
    write_whole(&x->w, "broker_sequence", e->event_id);
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
