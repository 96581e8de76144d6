/* Links to a run and to its events, as answers carry them. */
#include "engine/workflow/links.h"

static Common__Link__WorkflowEvent *new_event_link(struct op *op, Common__Link **ret) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Common__Link *link = arena_new(a, Common__Link);
    Common__Link__WorkflowEvent *ev = arena_new(a, Common__Link__WorkflowEvent);
    if (!link || !ev)
        return NULL;
    common__link__init(link);
    common__link__workflow_event__init(ev);
    ev->namespace_ = arena_strdup(a, op->run->space->st->name);
    ev->workflow_id = arena_strdup(a, st->workflow_id);
    ev->run_id = arena_strdup(a, st->run_id);
    link->variant_case = COMMON__LINK__VARIANT_WORKFLOW_EVENT;
    link->workflow_event = ev;
    *ret = link;
    return ev;
}

Common__Link *event_link(struct op *op, E__EventType type, int64_t event_id) {
    Common__Link *link;
    Common__Link__WorkflowEvent *ev = new_event_link(op, &link);
    Common__Link__WorkflowEvent__EventReference *ref =
        arena_new(op->call->arena, Common__Link__WorkflowEvent__EventReference);
    if (!ev || !ref)
        return NULL;
    common__link__workflow_event__event_reference__init(ref);
    ref->event_id = event_id;
    ref->event_type = type;
    ev->reference_case = COMMON__LINK__WORKFLOW_EVENT__REFERENCE_EVENT_REF;
    ev->event_ref = ref;
    return link;
}

Common__Link *request_link(struct op *op, E__EventType type, const char *request_id) {
    Common__Link *link;
    Common__Link__WorkflowEvent *ev = new_event_link(op, &link);
    Common__Link__WorkflowEvent__RequestIdReference *ref =
        arena_new(op->call->arena, Common__Link__WorkflowEvent__RequestIdReference);
    if (!ev || !ref)
        return NULL;
    common__link__workflow_event__request_id_reference__init(ref);
    ref->request_id = (char *)(uintptr_t)request_id;
    ref->event_type = type;
    ev->reference_case = COMMON__LINK__WORKFLOW_EVENT__REFERENCE_REQUEST_ID_REF;
    ev->request_id_ref = ref;
    return link;
}

Common__Link *workflow_link(struct op *op, const char *reason) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Common__Link *link = arena_new(a, Common__Link);
    Common__Link__Workflow *wf = arena_new(a, Common__Link__Workflow);
    if (!link || !wf)
        return NULL;
    common__link__init(link);
    common__link__workflow__init(wf);
    wf->namespace_ = arena_strdup(a, op->run->space->st->name);
    wf->workflow_id = arena_strdup(a, st->workflow_id);
    wf->run_id = arena_strdup(a, st->run_id);
    wf->reason = (char *)(uintptr_t)reason;
    link->variant_case = COMMON__LINK__VARIANT_WORKFLOW;
    link->workflow = wf;
    return link;
}
