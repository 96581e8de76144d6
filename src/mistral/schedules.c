/* The calls for schedules.
 *
 * A schedule of the dialect is a schedule of the API that starts a workflow.
 * An update describes the schedule, changes the description and sends it back
 * with its conflict token; when another client was faster, it starts over. A
 * list describes each of its schedules. Mistakes in a definition are answered
 * 422. */
#include "core/step/pb.h"
#include "mistral/definition.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/condition.h"
#include "mistral/routing.h"

#define PAGE_MAX 1000
#define UPDATE_TRIES 20 /* before a conflict with other updates is an error */

static void schedules_on_done(struct dialog *x) {
    dialog_reply(x);
}

static void schedules_reply_id(struct dialog *x, const char *id) {
    writer_open(&x->w, '{');
    member_write_text(&x->w, "schedule_id", id);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

/* Create. */

struct schedule_creation {
    struct routing routing;
    char *id;
    Schedule__Schedule *schedule;
};

static void schedules_on_created(struct dialog *x) {
    const struct schedule_creation *c = x->state;
    schedules_reply_id(x, c->id);
}

/* The workflow id of the action is the schedule's; the server appends the time of each start. */
static void schedules_fill_action(struct dialog *x, Workflow__NewWorkflowExecutionInfo *a,
                                  const struct schedule_creation *c) {
    struct arena *arena = &x->arena;
    a->workflow_id = c->id;
    if ((a->workflow_type = dialog_new_message(arena, &common__workflow_type__descriptor)))
        a->workflow_type->name = dialog_text(x, c->routing.workflow);
    if ((a->task_queue = dialog_new_message(arena, &taskqueue__task_queue__descriptor)))
        a->task_queue->name = dialog_text(x, c->routing.queue);
}

static void schedules_on_routed(struct dialog *x) {
    struct schedule_creation *c = x->state;
    Ws__CreateScheduleRequest *q = dialog_new_message(&x->arena, &ws__create_schedule_request__descriptor);
    if (q) {
        schedules_fill_action(x, c->schedule->action->start_workflow, c);
        q->namespace_ = dialog_namespace(x);
        q->schedule_id = c->id;
        q->schedule = c->schedule;
        q->identity = dialog_identity(x);
        q->request_id = dialog_new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, schedules_on_created);
}

static Schedule__Schedule *schedules_new_schedule(struct dialog *x) {
    struct arena *a = &x->arena;
    Schedule__Schedule *s = dialog_new_message(a, &schedule__schedule__descriptor);
    if (!s || !(s->action = dialog_new_message(a, &schedule__schedule_action__descriptor)))
        return NULL;
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = dialog_new_message(a, &workflow__new_workflow_execution_info__descriptor);
    return s->action->start_workflow ? s : NULL;
}

/* Two names for one field: returns the value that was given. Two different values are a complaint. */
static struct str schedules_choose_text(struct dialog *x, struct field_value a, struct field_value b,
                                        const char *name) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = str_of(name)};
    if (a.text.n && b.text.n && !str_eq(a.text, b.text))
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, this is given twice, with different values");
    return a.text.n ? a.text : b.text;
}

static void schedules_check_workflow(struct dialog *x, const struct schedule_creation *c) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("workflow_identifier")};
    if (!c->routing.workflow.n && !c->routing.registration.n)
        complaints_add(&x->complaints, &at, "missing", "Field required");
}

void mistral_begin_create_schedule(struct dialog *x) {
    const struct field_value *v = x->body->v;
    const struct record *definition = v[schedule_request_schedule].records[0];
    struct schedule_creation *c = x->state = arena_new(&x->arena, struct schedule_creation);
    if (!c || !(c->schedule = schedules_new_schedule(x))) {
        dialog_out_of_memory(x);
        return;
    }
    c->routing.found = schedules_on_routed;
    c->routing.workflow = v[schedule_request_workflow_identifier].text;
    c->routing.registration =
        schedules_choose_text(x, v[schedule_request_workflow_registration_id],
                              v[schedule_request_workflow_version_id], "workflow_version_id");
    c->routing.queue = schedules_choose_text(x, v[schedule_request_deployment_name],
                                             v[schedule_request_workflow_task_queue], "workflow_task_queue");
    struct str id = schedules_choose_text(x, v[schedule_request_schedule_id],
                                          definition->v[definition_schedule_id], "schedule_id");
    c->id = id.n ? dialog_text(x, id) : dialog_new_id(x);
    schedules_check_workflow(x, c);
    definition_read(x, definition, c->schedule);
    if (arena_failed(&x->arena))
        dialog_out_of_memory(x);
    else if (x->complaints.count)
        dialog_refuse_invalid(x);
    else
        routing_find(x, &c->routing);
}

/* One schedule. */

static void schedules_ask_description(struct dialog *x, const char *id, dialog_step *next) {
    Ws__DescribeScheduleRequest *q =
        dialog_new_message(&x->arena, &ws__describe_schedule_request__descriptor);
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->schedule_id = dialog_copy_text(&x->arena, str_of(id));
    }
    dialog_ask(x, q ? &q->base : NULL, next);
}

static void schedules_on_described(struct dialog *x) {
    definition_write(x, dialog_text(x, x->id), dialog_answer(x));
    dialog_reply(x);
}

void mistral_begin_get_schedule(struct dialog *x) {
    schedules_ask_description(x, dialog_text(x, x->id), schedules_on_described);
}

static void schedules_on_updated(struct dialog *x) {
    schedules_reply_id(x, dialog_text(x, x->id));
}

struct schedule_change {
    int tries;
};

static void schedules_on_old_definition(struct dialog *x);

/* After a conflict the change is applied to the new definition, so neither update is lost. */
static void schedules_on_update_failed(struct dialog *x) {
    struct schedule_change *c = x->state;
    if (x->err.code == ERR_PRECONDITION && c->tries++ < UPDATE_TRIES)
        schedules_ask_description(x, dialog_text(x, x->id), schedules_on_old_definition);
    else
        dialog_fail(x, &x->err);
}

/* Applies the change to the old definition and sends it back with its conflict token. */
static void schedules_on_old_definition(struct dialog *x) {
    const Ws__DescribeScheduleResponse *r = dialog_answer(x);
    Ws__UpdateScheduleRequest *q = dialog_new_message(&x->arena, &ws__update_schedule_request__descriptor);
    if (!q || !r->schedule->action ||
        r->schedule->action->action_case != SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW) {
        dialog_out_of_memory(x);
        return;
    }
    definition_read(x, x->body->v[schedule_update_schedule].records[0], r->schedule);
    if (x->complaints.count) {
        dialog_refuse_invalid(x);
        return;
    }
    q->namespace_ = dialog_namespace(x);
    q->schedule_id = dialog_text(x, x->id);
    q->schedule = r->schedule;
    q->conflict_token = r->conflict_token;
    q->identity = dialog_identity(x);
    q->request_id = dialog_new_id(x);
    dialog_try(x, &q->base, schedules_on_updated, schedules_on_update_failed);
}

void mistral_begin_patch_schedule(struct dialog *x) {
    x->state = arena_new(&x->arena, struct schedule_change);
    schedules_ask_description(x, dialog_text(x, x->id), schedules_on_old_definition);
}

void mistral_begin_delete_schedule(struct dialog *x) {
    Ws__DeleteScheduleRequest *q = dialog_new_message(&x->arena, &ws__delete_schedule_request__descriptor);
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->schedule_id = dialog_text(x, x->id);
        q->identity = dialog_identity(x);
    }
    dialog_ask(x, q ? &q->base : NULL, schedules_on_done);
}

/* A request with an empty patch; NULL when memory is short. */
static Ws__PatchScheduleRequest *schedules_patch_request(struct dialog *x) {
    Ws__PatchScheduleRequest *q = dialog_new_message(&x->arena, &ws__patch_schedule_request__descriptor);
    if (!q || !(q->patch = dialog_new_message(&x->arena, &schedule__schedule_patch__descriptor)))
        return NULL;
    q->namespace_ = dialog_namespace(x);
    q->schedule_id = dialog_text(x, x->id);
    q->identity = dialog_identity(x);
    q->request_id = dialog_new_id(x);
    return q;
}

/* The server takes an empty note for "no change", so there is always a note. */
static char *schedules_pause_note(struct dialog *x, struct str otherwise) {
    struct str note = x->body->v[pause_request_note].text;
    return dialog_text(x, note.n ? note : otherwise);
}

void mistral_begin_pause_schedule(struct dialog *x) {
    Ws__PatchScheduleRequest *q = schedules_patch_request(x);
    if (q)
        q->patch->pause = schedules_pause_note(x, STR("Paused over HTTP"));
    dialog_ask(x, q ? &q->base : NULL, schedules_on_done);
}

void mistral_begin_resume_schedule(struct dialog *x) {
    Ws__PatchScheduleRequest *q = schedules_patch_request(x);
    if (q)
        q->patch->unpause = schedules_pause_note(x, STR("Resumed over HTTP"));
    dialog_ask(x, q ? &q->base : NULL, schedules_on_done);
}

void mistral_begin_trigger_schedule(struct dialog *x) {
    Ws__PatchScheduleRequest *q = schedules_patch_request(x);
    if (q && (q->patch->trigger_immediately =
                  dialog_new_message(&x->arena, &schedule__trigger_immediately_request__descriptor)))
        q->patch->trigger_immediately->overlap_policy =
            (E__ScheduleOverlapPolicy)x->body->v[trigger_request_overlap].whole;
    dialog_ask(x, q ? &q->base : NULL, schedules_on_done);
}

/* Lists. */

struct schedule_listing {
    size_t wanted; /* schedules in the answer */
    size_t shown; /* schedules written so far */
    const Ws__ListSchedulesResponse *page; /* of the server */
    size_t at; /* the next schedule in the page */
    ProtobufCBinaryData token; /* of the server's next page */
};

static void schedules_ask_page(struct dialog *x);

static void schedules_end_list(struct dialog *x, const struct schedule_listing *l) {
    writer_close(&x->w, ']');
    member_write_token(&x->w, "next_page_token", pb_bytes(&l->token));
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static bool schedules_is_wanted(const struct dialog *x, const Schedule__ScheduleListEntry *e) {
    const struct field_value *v = x->query->v;
    struct str name = str_of(e->info && e->info->workflow_type ? e->info->workflow_type->name : "");
    if (v[schedules_query_workflow_name].is_given && !str_eq(name, v[schedules_query_workflow_name].text))
        return false;
    return !v[schedules_query_search].is_given || str_starts(name, v[schedules_query_search].text);
}

static void schedules_ask_next(struct dialog *x);

/* A schedule that was deleted after it was listed is left out. */
static void schedules_on_missing(struct dialog *x) {
    if (x->err.code == ERR_NOT_FOUND)
        schedules_ask_next(x);
    else
        dialog_fail(x, &x->err);
}

static void schedules_on_next(struct dialog *x) {
    struct schedule_listing *l = x->state;
    definition_write(x, l->page->schedules[l->at - 1]->schedule_id, dialog_answer(x));
    l->shown++;
    schedules_ask_next(x);
}

static void schedules_ask_next(struct dialog *x) {
    struct schedule_listing *l = x->state;
    while (l->at < l->page->n_schedules && !schedules_is_wanted(x, l->page->schedules[l->at]))
        l->at++;
    if (l->at == l->page->n_schedules) {
        l->token = l->page->next_page_token;
        if (!l->token.len || l->shown >= l->wanted)
            schedules_end_list(x, l);
        else
            schedules_ask_page(x);
        return;
    }
    struct arena *a = dialog_next_arena(x);
    Ws__DescribeScheduleRequest *q = dialog_new_message(a, &ws__describe_schedule_request__descriptor);
    if (q) {
        q->namespace_ = dialog_copy_text(a, str_of(x->namespace));
        q->schedule_id = l->page->schedules[l->at]->schedule_id;
    }
    l->at++;
    dialog_try(x, q ? &q->base : NULL, schedules_on_next, schedules_on_missing);
}

static void schedules_on_page(struct dialog *x) {
    struct schedule_listing *l = x->state;
    l->page = dialog_answer(x);
    l->at = 0;
    schedules_ask_next(x);
}

/* Asks for as many schedules as are still wanted, so that the server's token is also the answer's. */
static void schedules_ask_page(struct dialog *x) {
    struct schedule_listing *l = x->state;
    Ws__ListSchedulesRequest *q = dialog_new_message(&x->arena, &ws__list_schedules_request__descriptor);
    struct field_value status = x->query->v[schedules_query_status];
    dialog_use_own_arena(x);
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->maximum_page_size = (int32_t)MIN(l->wanted - l->shown, (size_t)PAGE_MAX);
        q->next_page_token = l->token;
        q->query = arena_strdup(&x->arena, !status.is_given ? ""
                                           : status.whole   ? "TemporalSchedulePaused = true"
                                                            : "NOT TemporalSchedulePaused = true");
    }
    dialog_ask(x, q ? &q->base : NULL, schedules_on_page);
}

void mistral_begin_list_schedules(struct dialog *x) {
    const struct field_value *v = x->query->v;
    struct schedule_listing *l = x->state = arena_new(&x->arena, struct schedule_listing);
    if (!l) {
        dialog_out_of_memory(x);
        return;
    }
    if (!member_read_token(x, "next_page_token", &v[schedules_query_next_page_token], &l->token)) {
        dialog_refuse_invalid(x);
        return;
    }
    l->wanted = v[schedules_query_page_size].is_given ? (size_t)v[schedules_query_page_size].whole : SIZE_MAX;
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("schedules"));
    writer_open(&x->w, '[');
    schedules_ask_page(x);
}
