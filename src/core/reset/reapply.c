/* One case for each event that outlives a reset. */
#include "core/reset/reapply.h"

#include "core/run/attach.h"
#include "core/run/child.h"
#include "core/run/external.h"
#include "core/message/letter.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/run/update.h"

void reapply_begin(struct step *s) {
    s->holds_events = true;
}

void reapply_end(struct step *s) {
    s->holds_events = false;
    task_schedule(s);
}

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
    if (cstr_is_empty(a->attached_request_id) || attach_find(s->st, a->attached_request_id))
        return 0;
    struct event_extra extra = {.links = ev->links, .link_count = ev->n_links};
    int rc = attach_apply(s, a, 0);
    if (rc == 0)
        step_event(s, ev->event_type, a, &extra);
    return rc;
}

static void reapply_external(struct step *s, const History__HistoryEvent *ev) {
    switch ((int)ev->event_type) {
    case EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
        external_resolved(s, ev->external_workflow_execution_signaled_event_attributes->initiated_event_id,
                          0);
        break;
    case EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        external_resolved(s,
                          ev->signal_external_workflow_execution_failed_event_attributes->initiated_event_id,
                          (int)ev->signal_external_workflow_execution_failed_event_attributes->cause);
        break;
    case EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        external_resolved(
            s, ev->external_workflow_execution_cancel_requested_event_attributes->initiated_event_id, 0);
        break;
    case EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        external_resolved(
            s, ev->request_cancel_external_workflow_execution_failed_event_attributes->initiated_event_id,
            (int)ev->request_cancel_external_workflow_execution_failed_event_attributes->cause);
        break;
    default:
        break;
    }
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
        if (choice->is_base) {
            child_reapply(s, ev);
            reapply_external(s, ev);
        }
        return 0;
    }
}

void reapply_answers(struct step *s, const State__Execution *base) {
    for (size_t i = 0; i < base->n_externals; i++)
        if (base->externals[i]->is_answered)
            external_resolved(s, base->externals[i]->initiated_event_id, base->externals[i]->cause);
}

/* Letters */

static char **external_request_id(const State__Execution *st, int64_t event_id) {
    for (size_t i = 0; i < st->n_externals; i++)
        if (st->externals[i]->initiated_event_id == event_id)
            return &st->externals[i]->request_id;
    return NULL;
}

/* Where a run keeps the request id of a letter that it has handed over; NULL for letters that stay. */
static char **reapply_kept_request_id(const State__Execution *st, const State__Letter *l) {
    switch (l->kind) {
    case LETTER_START_CHILD: {
        State__Child *c = child_find(st, l->event_id);
        return c ? &c->request_id : NULL;
    }
    case LETTER_SIGNAL:
    case LETTER_CANCEL:
        return external_request_id(st, l->event_id);
    default:
        return NULL;
    }
}

static const char *reapply_request_id_in(const State__Execution *base, const State__Letter *what) {
    for (size_t i = 0; i < base->n_outbox; i++)
        if (base->outbox[i]->kind == what->kind && base->outbox[i]->event_id == what->event_id)
            return base->outbox[i]->request_id;
    char **kept = reapply_kept_request_id(base, what);
    return kept ? *kept : "";
}

static void reapply_letter(struct step *s, const State__Execution *base, const State__Letter *what) {
    State__Execution *st = s->st;
    const char *request_id = reapply_request_id_in(base, what);
    letter_send(s, (enum letter_kind)what->kind, what->workflow_id, what->run_id, what->event_id);
    if (!s->failed && !cstr_is_empty(request_id))
        pb_set_string(&st->outbox[st->n_outbox - 1]->request_id, request_id, &s->failed);
}

void reapply_letters(struct step *s, const State__Execution *base) {
    const State__Execution *st = s->st;
    State__Letter what = STATE__LETTER__INIT;
    for (size_t i = 0; i < st->n_children; i++) {
        const State__Child *c = st->children[i];
        what.kind = c->is_started ? LETTER_ASK_CHILD : LETTER_START_CHILD;
        what.workflow_id = c->workflow_id;
        what.run_id = c->run_id;
        what.event_id = c->initiated_event_id;
        reapply_letter(s, base, &what);
    }
    for (size_t i = 0; i < st->n_externals; i++) {
        const State__External *x = st->externals[i];
        what.kind = x->is_signal ? LETTER_SIGNAL : LETTER_CANCEL;
        what.workflow_id = x->workflow_id;
        what.run_id = x->run_id;
        what.event_id = x->initiated_event_id;
        reapply_letter(s, base, &what);
    }
}

void reapply_hand_over(struct step *s, const char *run_id, int64_t until_event_id) {
    State__Execution *st = s->st;
    pb_set_string(&st->copy_run_id, run_id, &s->failed);
    for (size_t i = 0; i < st->n_outbox;) {
        const State__Letter *l = st->outbox[i];
        char **kept = l->event_id < until_event_id ? reapply_kept_request_id(st, l) : NULL;
        if (!kept) {
            i++;
            continue;
        }
        pb_set_string(kept, l->request_id, &s->failed);
        pb_remove_message(&st->n_outbox, st->outbox, i);
    }
}
