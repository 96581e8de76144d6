/* One case for each event that outlives a reset. */
#include "core/reapply.h"

#include "core/attach.h"
#include "core/child.h"
#include "core/run.h"
#include "core/update.h"

static int reapply_signal(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowExecutionSignaledEventAttributes *a =
        ev->workflow_execution_signaled_event_attributes;
    Ws__SignalWorkflowExecutionRequest signal = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    struct run_caller caller = {.execution = a->external_workflow_execution};
    signal.signal_name = a->signal_name;
    signal.input = a->input;
    signal.identity = a->identity;
    signal.header = a->header;
    signal.request_id = a->request_id;
    signal.links = ev->links;
    signal.n_links = ev->n_links;
    return run_signal(s, &signal, a->external_workflow_execution ? &caller : NULL);
}

/* Whoever was promised to hear of the end will hear of it. */
static int reapply_attached(struct step *s, const History__HistoryEvent *ev) {
    History__WorkflowExecutionOptionsUpdatedEventAttributes *a =
        ev->workflow_execution_options_updated_event_attributes;
    if (strempty(a->attached_request_id) || attach_find(s->st, a->attached_request_id))
        return 0;
    struct event_extra extra = {.links = ev->links, .link_count = ev->n_links};
    int rc = attach_apply(s, a, 0);
    if (rc == 0)
        step_event(s, ev->event_type, a, &extra);
    return rc;
}

int reapply_event(struct step *s, const History__HistoryEvent *ev, const struct reapply_choice *choice) {
    switch ((int)ev->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        return choice->no_signals ? 0 : reapply_signal(s, ev);
    case EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED:
        if (!choice->no_updates)
            update_readmit(s, ev->workflow_execution_update_admitted_event_attributes->request);
        return 0;
    case EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        /* Without a request when it was admitted by an event, which is the one to repeat then. */
        if (!choice->no_updates)
            update_readmit(s, ev->workflow_execution_update_accepted_event_attributes->accepted_request);
        return 0;
    case EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED:
        return reapply_attached(s, ev);
    default:
        if (choice->is_base)
            child_reapply(s, ev);
        return 0;
    }
}
