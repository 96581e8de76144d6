/* The calls for schedules. A schedule of the dialect is a schedule like any other. */
#include "core/step/pb.h"
#include "mistral/definition.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "mistral/query_text.h"
#include "mistral/routing.h"

#define PAGE_MAX 1000
#define UPDATE_TRIES 20 /* against others that update the same schedule at the same time */

static void on_done(struct dialog *x) {
    dialog_reply(x);
}

static void reply_id(struct dialog *x, const char *id) {
    writer_open(&x->w, '{');
    write_text(&x->w, "schedule_id", id);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

/* Creating. */

struct creation {
    struct routing routing;
    char *id;
    Schedule__Schedule *schedule;
};

static void on_created(struct dialog *x) {
    const struct creation *c = x->state;
    reply_id(x, c->id);
}

/* Runs are called after the schedule, with their time behind it. */
static void fill_action(struct dialog *x, Workflow__NewWorkflowExecutionInfo *a, const struct creation *c) {
    struct arena *arena = &x->arena;
    a->workflow_id = c->id;
    if ((a->workflow_type = message_new(arena, &common__workflow_type__descriptor)))
        a->workflow_type->name = own_text(x, c->routing.workflow);
    if ((a->task_queue = message_new(arena, &taskqueue__task_queue__descriptor)))
        a->task_queue->name = own_text(x, c->routing.queue);
}

static void on_routed(struct dialog *x) {
    struct creation *c = x->state;
    Ws__CreateScheduleRequest *q = message_new(&x->arena, &ws__create_schedule_request__descriptor);
    if (q) {
        fill_action(x, c->schedule->action->start_workflow, c);
        q->namespace_ = own_namespace(x);
        q->schedule_id = c->id;
        q->schedule = c->schedule;
        q->identity = own_identity(x);
        q->request_id = new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, on_created);
}

static Schedule__Schedule *schedule_new(struct dialog *x) {
    struct arena *a = &x->arena;
    Schedule__Schedule *s = message_new(a, &schedule__schedule__descriptor);
    if (!s || !(s->action = message_new(a, &schedule__schedule_action__descriptor)))
        return NULL;
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = message_new(a, &workflow__new_workflow_execution_info__descriptor);
    return s->action->start_workflow ? s : NULL;
}

/* The first of two that was given; both are fine when they say the same. */
static struct str one_of(struct dialog *x, struct given a, struct given b, const char *name) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = str_of(name)};
    if (a.text.n && b.text.n && !str_eq(a.text, b.text))
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, this is given twice, with different values");
    return a.text.n ? a.text : b.text;
}

static void check_workflow(struct dialog *x, const struct creation *c) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("workflow_identifier")};
    if (!c->routing.workflow.n && !c->routing.registration.n)
        complaints_add(&x->complaints, &at, "missing", "Field required");
}

void begin_create_schedule(struct dialog *x) {
    const struct given *v = x->body->v;
    const struct record *definition = v[schedule_request_schedule].records[0];
    struct creation *c = x->state = arena_new(&x->arena, struct creation);
    if (!c || !(c->schedule = schedule_new(x))) {
        dialog_out_of_memory(x);
        return;
    }
    c->routing.found = on_routed;
    c->routing.workflow = v[schedule_request_workflow_identifier].text;
    c->routing.registration = one_of(x, v[schedule_request_workflow_registration_id],
                                     v[schedule_request_workflow_version_id], "workflow_version_id");
    c->routing.queue = one_of(x, v[schedule_request_deployment_name], v[schedule_request_workflow_task_queue],
                              "workflow_task_queue");
    struct str id =
        one_of(x, v[schedule_request_schedule_id], definition->v[definition_schedule_id], "schedule_id");
    c->id = id.n ? own_text(x, id) : new_id(x);
    check_workflow(x, c);
    definition_read(x, definition, c->schedule);
    if (arena_failed(&x->arena))
        dialog_out_of_memory(x);
    else if (x->complaints.count)
        dialog_complain(x);
    else
        routing_find(x, &c->routing);
}

/* One schedule. */

static void describe(struct dialog *x, const char *id, dialog_step *next) {
    Ws__DescribeScheduleRequest *q = message_new(&x->arena, &ws__describe_schedule_request__descriptor);
    if (q) {
        q->namespace_ = own_namespace(x);
        q->schedule_id = message_text(&x->arena, str_of(id));
    }
    dialog_ask(x, q ? &q->base : NULL, next);
}

static void on_described(struct dialog *x) {
    definition_write(x, own_text(x, x->id), dialog_answer(x));
    dialog_reply(x);
}

void begin_get_schedule(struct dialog *x) {
    describe(x, own_text(x, x->id), on_described);
}

static void on_updated(struct dialog *x) {
    reply_id(x, own_text(x, x->id));
}

struct change {
    int tries;
};

static void on_to_be_updated(struct dialog *x);

/* Someone else was faster: what they made is changed instead, so that nothing of either is lost. */
static void on_not_updated(struct dialog *x) {
    struct change *c = x->state;
    if (x->err.code == ERR_PRECONDITION && c->tries++ < UPDATE_TRIES)
        describe(x, own_text(x, x->id), on_to_be_updated);
    else
        dialog_fail(x, &x->err);
}

/* What was described is sent back with the changes, and its token. */
static void on_to_be_updated(struct dialog *x) {
    const Ws__DescribeScheduleResponse *r = dialog_answer(x);
    Ws__UpdateScheduleRequest *q = message_new(&x->arena, &ws__update_schedule_request__descriptor);
    if (!q || !r->schedule->action ||
        r->schedule->action->action_case != SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW) {
        dialog_out_of_memory(x);
        return;
    }
    definition_read(x, x->body->v[schedule_update_schedule].records[0], r->schedule);
    if (x->complaints.count) {
        dialog_complain(x);
        return;
    }
    q->namespace_ = own_namespace(x);
    q->schedule_id = own_text(x, x->id);
    q->schedule = r->schedule;
    q->conflict_token = r->conflict_token;
    q->identity = own_identity(x);
    q->request_id = new_id(x);
    dialog_try(x, &q->base, on_updated, on_not_updated);
}

void begin_patch_schedule(struct dialog *x) {
    x->state = arena_new(&x->arena, struct change);
    describe(x, own_text(x, x->id), on_to_be_updated);
}

void begin_delete_schedule(struct dialog *x) {
    Ws__DeleteScheduleRequest *q = message_new(&x->arena, &ws__delete_schedule_request__descriptor);
    if (q) {
        q->namespace_ = own_namespace(x);
        q->schedule_id = own_text(x, x->id);
        q->identity = own_identity(x);
    }
    dialog_ask(x, q ? &q->base : NULL, on_done);
}

/* An empty note would say nothing, so there is always one. */
static void patch(struct dialog *x, bool is_pause) {
    struct str note = x->body->v[pause_request_note].text;
    Ws__PatchScheduleRequest *q = message_new(&x->arena, &ws__patch_schedule_request__descriptor);
    if (q && (q->patch = message_new(&x->arena, &schedule__schedule_patch__descriptor))) {
        q->namespace_ = own_namespace(x);
        q->schedule_id = own_text(x, x->id);
        q->identity = own_identity(x);
        q->request_id = new_id(x);
        *(is_pause ? &q->patch->pause : &q->patch->unpause) =
            own_text(x, note.n     ? note
                        : is_pause ? STR("Paused over HTTP")
                                   : STR("Resumed over HTTP"));
    }
    dialog_ask(x, q ? &q->base : NULL, on_done);
}

void begin_pause_schedule(struct dialog *x) {
    patch(x, true);
}

void begin_resume_schedule(struct dialog *x) {
    patch(x, false);
}

void begin_trigger_schedule(struct dialog *x) {
    Ws__PatchScheduleRequest *q = message_new(&x->arena, &ws__patch_schedule_request__descriptor);
    if (q && (q->patch = message_new(&x->arena, &schedule__schedule_patch__descriptor)) &&
        (q->patch->trigger_immediately =
             message_new(&x->arena, &schedule__trigger_immediately_request__descriptor))) {
        q->namespace_ = own_namespace(x);
        q->schedule_id = own_text(x, x->id);
        q->identity = own_identity(x);
        q->request_id = new_id(x);
        q->patch->trigger_immediately->overlap_policy =
            (E__ScheduleOverlapPolicy)x->body->v[trigger_request_overlap].whole;
    }
    dialog_ask(x, q ? &q->base : NULL, on_done);
}

/* Lists. */

struct listing {
    size_t wanted; /* on this page */
    size_t shown;
    const Ws__ListSchedulesResponse *page;
    size_t at; /* in the page */
    ProtobufCBinaryData token; /* of what follows the page */
};

static void read_more(struct dialog *x);

static void end_list(struct dialog *x, const struct listing *l) {
    writer_close(&x->w, ']');
    write_token(&x->w, "next_page_token", pb_bytes(&l->token));
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static bool is_wanted(const struct dialog *x, const Schedule__ScheduleListEntry *e) {
    const struct given *v = x->query->v;
    struct str name = str_of(e->info && e->info->workflow_type ? e->info->workflow_type->name : "");
    if (v[schedules_query_workflow_name].is_given && !str_eq(name, v[schedules_query_workflow_name].text))
        return false;
    return !v[schedules_query_search].is_given || str_starts(name, v[schedules_query_search].text);
}

static void show_next(struct dialog *x);

/* One that is deleted at this moment is not there any more. */
static void on_missing(struct dialog *x) {
    if (x->err.code == ERR_NOT_FOUND)
        show_next(x);
    else
        dialog_fail(x, &x->err);
}

static void on_shown(struct dialog *x) {
    struct listing *l = x->state;
    definition_write(x, l->page->schedules[l->at - 1]->schedule_id, dialog_answer(x));
    l->shown++;
    show_next(x);
}

static void show_next(struct dialog *x) {
    struct listing *l = x->state;
    while (l->at < l->page->n_schedules && !is_wanted(x, l->page->schedules[l->at]))
        l->at++;
    if (l->at == l->page->n_schedules) {
        l->token = l->page->next_page_token;
        if (!l->token.len || l->shown >= l->wanted)
            end_list(x, l);
        else
            read_more(x);
        return;
    }
    struct arena *a = dialog_turn(x);
    Ws__DescribeScheduleRequest *q = message_new(a, &ws__describe_schedule_request__descriptor);
    if (q) {
        q->namespace_ = message_text(a, str_of(x->namespace));
        q->schedule_id = l->page->schedules[l->at]->schedule_id;
    }
    l->at++;
    dialog_try(x, q ? &q->base : NULL, on_shown, on_missing);
}

static void on_page(struct dialog *x) {
    struct listing *l = x->state;
    l->page = dialog_answer(x);
    l->at = 0;
    show_next(x);
}

/* As many as are still wanted, so that the token of the page is that of the whole. */
static void read_more(struct dialog *x) {
    struct listing *l = x->state;
    Ws__ListSchedulesRequest *q = message_new(&x->arena, &ws__list_schedules_request__descriptor);
    struct given status = x->query->v[schedules_query_status];
    dialog_keep(x);
    if (q) {
        q->namespace_ = own_namespace(x);
        q->maximum_page_size = (int32_t)MIN(l->wanted - l->shown, (size_t)PAGE_MAX);
        q->next_page_token = l->token;
        q->query = arena_strdup(&x->arena, !status.is_given ? ""
                                           : status.whole   ? "TemporalSchedulePaused = true"
                                                            : "NOT TemporalSchedulePaused = true");
    }
    dialog_ask(x, q ? &q->base : NULL, on_page);
}

void begin_list_schedules(struct dialog *x) {
    const struct given *v = x->query->v;
    struct listing *l = x->state = arena_new(&x->arena, struct listing);
    if (!l) {
        dialog_out_of_memory(x);
        return;
    }
    if (!read_token(x, "next_page_token", &v[schedules_query_next_page_token], &l->token)) {
        dialog_complain(x);
        return;
    }
    l->wanted = v[schedules_query_page_size].is_given ? (size_t)v[schedules_query_page_size].whole : SIZE_MAX;
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("schedules"));
    writer_open(&x->w, '[');
    read_more(x);
}
