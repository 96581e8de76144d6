/* What a start leaves with a run that was there before it. One event says all of it. */
#include "core/run/attach.h"

#include "core/message/callback.h"
#include "core/run/run.h"

int attach_validate(const Ws__StartWorkflowExecutionRequest *req, struct err *err) {
    const Workflow__OnConflictOptions *o = req->on_conflict_options;
    if (o && o->attach_completion_callbacks && !o->attach_request_id)
        return err_set(err, ERR_INVALID,
                       "attaching request ID is required for attaching completion callbacks");
    return 0;
}

State__AttachedRequest *attach_find(const State__Execution *st, const char *request_id) {
    for (size_t i = 0; i < st->n_attached_requests; i++)
        if (cstr_eq(st->attached_requests[i]->request_id, request_id))
            return st->attached_requests[i];
    return NULL;
}

bool attach_is_wanted(const State__Execution *st, const Ws__StartWorkflowExecutionRequest *req,
                      const char *request_id) {
    const Workflow__OnConflictOptions *o = req->on_conflict_options;
    if (!o || !run_is_open(st) || attach_find(st, request_id))
        return false;
    return o->attach_request_id || (o->attach_links && req->n_links);
}

static void note_request(struct step *s, const char *request_id, int64_t event_id) {
    State__AttachedRequest *r = pb_new(&state__attached_request__descriptor, &s->failed);
    if (!r)
        return;
    pb_set_string(&r->request_id, request_id, &s->failed);
    r->event_id = event_id;
    pb_append_message(&s->st->n_attached_requests, &s->st->attached_requests, r, &s->failed);
}

int attach_apply(struct step *s, const History__WorkflowExecutionOptionsUpdatedEventAttributes *a,
                 int64_t event_id) {
    if (cstr_is_empty(a->attached_request_id) || attach_find(s->st, a->attached_request_id))
        return 0;
    note_request(s, a->attached_request_id, event_id);
    return callback_attach(s, a->attached_completion_callbacks, a->n_attached_completion_callbacks,
                           a->attached_request_id);
}

int attach_start(struct step *s, const Ws__StartWorkflowExecutionRequest *req, const char *request_id) {
    const Workflow__OnConflictOptions *o = req->on_conflict_options;
    if (s->st->n_attached_requests >= LIMIT_ATTACHED_REQUESTS)
        return err_set(s->err, ERR_INVALID, "cannot attach more than %d requests to a workflow",
                       LIMIT_ATTACHED_REQUESTS);
    History__WorkflowExecutionOptionsUpdatedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_OPTIONS_UPDATED_EVENT_ATTRIBUTES__INIT;
    struct event_extra extra = {0};
    a.identity = req->identity;
    if (o->attach_request_id)
        a.attached_request_id = (char *)(uintptr_t)request_id;
    if (o->attach_links) {
        extra.links = req->links;
        extra.link_count = req->n_links;
    }
    if (o->attach_request_id)
        note_request(s, request_id, 0);
    if (o->attach_completion_callbacks) {
        int rc = callback_attach(s, req->completion_callbacks, req->n_completion_callbacks, request_id);
        if (rc < 0)
            return rc;
        a.attached_completion_callbacks = req->completion_callbacks;
        a.n_attached_completion_callbacks = req->n_completion_callbacks;
    }
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED, &a, &extra);
    return 0;
}
