/* An override holds from its event on. One that came while a worker had the task has its event behind the end
 * of that task; so what is between two such events is what it was when the task began. */
#include "override.h"

#include <inttypes.h>
#include <stdio.h>

#include "batcher.h"
#include "errand.h"
#include "names.h"
#include "request.h"
#include "rpc.h"

/* requests */

struct override_choice override_draw(uint64_t number) {
    static const enum override_kind kinds[] = {OVERRIDE_PIN,  OVERRIDE_PIN,  OVERRIDE_PIN,
                                               OVERRIDE_NONE, OVERRIDE_ONCE, OVERRIDE_UPGRADE};
    struct override_choice c = {.kind = kinds[number % ARRAY_LEN(kinds)]};
    if (c.kind == OVERRIDE_PIN || c.kind == OVERRIDE_ONCE)
        snprintf(c.build_id, sizeof(c.build_id), "b%u", (unsigned)(number >> 16) % ROLLOUT_BUILDS);
    return c;
}

static Deployment__WorkerDeploymentVersion *make_version(struct arena *a, const char *build_id) {
    Deployment__WorkerDeploymentVersion *v =
        MAKE(a, Deployment__WorkerDeploymentVersion, deployment__worker_deployment_version__init);
    v->deployment_name = make_text(a, ROLLOUT_DEPLOYMENT);
    v->build_id = make_text(a, "%s", build_id);
    return v;
}

static Workflow__VersioningOverride *make_override(struct arena *a, const struct override_choice *c) {
    Workflow__VersioningOverride *o =
        MAKE(a, Workflow__VersioningOverride, workflow__versioning_override__init);
    switch (c->kind) {
    case OVERRIDE_PIN:
        o->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
        o->pinned = MAKE(a, Workflow__VersioningOverride__PinnedOverride,
                         workflow__versioning_override__pinned_override__init);
        o->pinned->behavior =
            WORKFLOW__VERSIONING_OVERRIDE__PINNED_OVERRIDE_BEHAVIOR__PINNED_OVERRIDE_BEHAVIOR_PINNED;
        o->pinned->version = make_version(a, c->build_id);
        return o;
    case OVERRIDE_ONCE:
        o->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME;
        o->one_time = MAKE(a, Workflow__VersioningOverride__OneTimeOverride,
                           workflow__versioning_override__one_time_override__init);
        o->one_time->target_deployment_version = make_version(a, c->build_id);
        return o;
    case OVERRIDE_UPGRADE:
        o->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_AUTO_UPGRADE;
        o->auto_upgrade = true;
        return o;
    default:
        return NULL; /* the mask says that there shall be none */
    }
}

Workflow__WorkflowExecutionOptions *override_options(struct arena *a, const struct override_choice *c,
                                                     const char *id) {
    Workflow__WorkflowExecutionOptions *o =
        MAKE(a, Workflow__WorkflowExecutionOptions, workflow__workflow_execution_options__init);
    o->versioning_override = make_override(a, c);
    o->priority = MAKE(a, Common__Priority, common__priority__init);
    o->priority->fairness_key = make_text(a, "%s", id);
    return o;
}

Google__Protobuf__FieldMask *override_mask(struct arena *a) {
    Google__Protobuf__FieldMask *m = MAKE(a, Google__Protobuf__FieldMask, google__protobuf__field_mask__init);
    m->paths = arena_array(a, char *, 2);
    ensure(m->paths);
    m->paths[m->n_paths++] = make_text(a, "versioning_override");
    m->paths[m->n_paths++] = make_text(a, "priority.fairness_key");
    return m;
}

const void *override_request(const struct errand *e, struct arena *a) {
    Ws__UpdateWorkflowExecutionOptionsRequest *q = MAKE(a, Ws__UpdateWorkflowExecutionOptionsRequest,
                                                        ws__update_workflow_execution_options_request__init);
    struct override_choice c = override_draw(e->request->program);
    q->namespace_ = make_namespace(a, e->workflow_id);
    q->workflow_execution = make_execution(a, e->workflow_id, e->run->run_id);
    q->workflow_execution_options = override_options(a, &c, e->request->id);
    q->update_mask = override_mask(a);
    q->identity = make_text(a, "%s", e->request->id);
    return q;
}

/* what the history says */

static struct override_choice choice_of(const Workflow__VersioningOverride *o) {
    struct override_choice c = {OVERRIDE_NONE, ""};
    const Deployment__WorkerDeploymentVersion *v = NULL;
    if (!o)
        return c;
    if (o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED) {
        c.kind = OVERRIDE_PIN;
        v = o->pinned->version;
    } else if (o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_ONE_TIME) {
        c.kind = OVERRIDE_ONCE;
        v = o->one_time->target_deployment_version;
    } else if (o->override_case == WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_AUTO_UPGRADE) {
        c.kind = OVERRIDE_UPGRADE;
    }
    snprintf(c.build_id, sizeof(c.build_id), "%s", v ? v->build_id : "");
    return c;
}

static void put(struct run_model *run, const struct override_choice *c) {
    run->override_kind = (int)c->kind;
    memcpy(run->override_build, c->build_id, sizeof(run->override_build));
}

void override_note_start(struct run_model *run, const Workflow__VersioningOverride *o) {
    struct override_choice c = choice_of(o);
    put(run, &c);
}

/* The event tells what was asked for. */
static void check_override_recorded(struct world *w, const struct run_model *run,
                                    const struct override_choice *asked, const struct override_choice *said,
                                    const char *id) {
    if (asked->kind != said->kind || !cstr_eq(asked->build_id, said->build_id))
        world_fail(w, "override_kept", "run=%s %s asked for %d '%s', its event says %d '%s'", run->run_id, id,
                   (int)asked->kind, asked->build_id, (int)said->kind, said->build_id);
}

void override_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowExecutionOptionsUpdatedEventAttributes *a =
        e->workflow_execution_options_updated_event_attributes;
    struct request_model *request = model_find_request(&w->model, str_of(a->identity));
    struct override_choice said = choice_of(a->versioning_override), asked = said;
    if (request) {
        asked = override_draw(request->program);
        model_add_holder(request, run);
    } else if (!batchers_note_options(w, run, a->identity, &asked)) {
        if (a->versioning_override || a->unset_versioning_override)
            world_fail(w, "override_kept", "run=%s has an override of '%s', who asked for none", run->run_id,
                       a->identity);
        return; /* it is about callbacks */
    }
    check_override_recorded(w, run, &asked, &said, a->identity);
    /* One for a single task may be over when its event comes: the task was out when it was asked for. */
    run->is_override_doubtful = said.kind == OVERRIDE_ONCE && cstr_eq(run->completed_build, said.build_id);
    put(run, &said);
}

void override_note_completion(struct run_model *run, const char *build_id) {
    snprintf(run->completed_build, sizeof(run->completed_build), "%s", build_id);
    if (run->override_kind == OVERRIDE_ONCE && cstr_eq(run->override_build, build_id)) {
        run->override_kind = OVERRIDE_NONE;
        run->is_override_doubtful = false;
    }
}

const char *override_build(const struct run_model *run) {
    if (run->override_kind == OVERRIDE_NONE)
        return NULL;
    return run->override_kind == OVERRIDE_UPGRADE || run->is_override_doubtful ? "" : run->override_build;
}

/* answers */

/* G8: the answer says what holds from now on, and the history will say so. */
void override_on_ok(struct rpc *r) {
    const Ws__UpdateWorkflowExecutionOptionsResponse *m = (const void *)r->response;
    struct request_model *request = r->subject.request;
    struct override_choice asked = override_draw(request->program);
    struct override_choice said =
        choice_of(m->workflow_execution_options ? m->workflow_execution_options->versioning_override : NULL);
    check_override_recorded(r->w, r->subject.run, &asked, &said, request->id);
    r->w->tally.overrides += !request->is_acked;
    request->is_acked = true;
    request->run = r->subject.run;
}

static void check_override_kept(struct world *w, const struct request_model *request) {
    const struct run_model *run = request->run;
    if (request->is_acked && run && !run->is_deleted && !model_is_holder(request, run))
        world_fail(w, "override_kept", "run=%s has no event of %s, which was acknowledged", run->run_id,
                   request->id);
}

void override_check_all(struct world *w) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&w->model.requests, &i));)
        if (str_starts(str_of(request->id), STR("override-")))
            check_override_kept(w, request);
}
