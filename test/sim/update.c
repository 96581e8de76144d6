/* What callers were told is compared with what the worker must have said, and later with the histories. */
#include "update.h"

#include <inttypes.h>
#include <stdio.h>

#include "history_rules.h"
#include "names.h"
#include "program.h"
#include "world.h"

static uint64_t number_of(const struct request_model *update) {
    uint64_t number = 0;
    ensure(update_parse(update->id, &number));
    return number;
}

static void expected_result(const struct request_model *update, char *ret, size_t size) {
    snprintf(ret, size, "%s done", update->id);
}

/* The outcome is what the worker said. A failure is a rejection, or the run ended first. An update that comes
 * with a start may meet another run when it is sent again, which has an outcome of its own. */
static void check_outcome(struct world *w, struct request_model *update, const char *run_id,
                          const Update__Outcome *outcome) {
    char text[64], wanted[64];
    bool is_rejected = update_is_rejected(number_of(update));
    if (outcome->value_case == UPDATE__OUTCOME__VALUE_SUCCESS) {
        payload_text(outcome->success, text, sizeof(text));
        expected_result(update, wanted, sizeof(wanted));
        if (is_rejected || !cstr_eq(text, wanted))
            world_fail(w, "update_outcome", "%s has the result '%s'", update->id, text);
        update->is_completed = true;
        return;
    }
    const char *message = outcome->failure ? outcome->failure->message : "";
    if (update->is_completed && cstr_eq(update->run->run_id, run_id))
        world_fail(w, "update_outcome", "%s had a result, and now fails: %s", update->id, message);
    if (cstr_eq(message, "rejected") && !is_rejected)
        world_fail(w, "update_outcome", "%s is rejected, but the worker accepts it", update->id);
}

void update_on_answer(struct world *w, struct request_model *update, const char *namespace_name,
                      const Ws__UpdateWorkflowExecutionResponse *m) {
    bool is_completed = m->stage == UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED;
    if (is_completed != (m->outcome != NULL) || !m->update_ref || !m->update_ref->workflow_execution) {
        world_fail(w, "update_outcome", "%s stage=%d outcome=%d", update->id, (int)m->stage,
                   m->outcome != NULL);
        return;
    }
    if (is_completed)
        check_outcome(w, update, m->update_ref->workflow_execution->run_id, m->outcome);
    bool is_accepted = m->stage == UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED || update->is_completed;
    if (!is_accepted || update->is_acked)
        return;
    w->tally.updates++;
    update->is_acked = true;
    update->acked_us = w->now.mono.us;
    update->run = model_meet_in(&w->model, namespace_name, m->update_ref->workflow_execution->run_id,
                                m->update_ref->workflow_execution->workflow_id);
    update->run->audit_wanted = true;
}

static void check_accepted_once(struct world *w, struct run_model *run, const char *id) {
    struct request_model *update = model_find_request(&w->model, str_of(id));
    if (!update || !update->is_update || update_is_rejected(number_of(update))) {
        world_fail(w, "update_accepted_once", "run=%s accepts '%s'", run->run_id, id);
        return;
    }
    if (model_is_holder(update, run))
        world_fail(w, "update_accepted_once", "run=%s accepts %s twice", run->run_id, id);
    model_add_holder(update, run);
}

static void check_completed_once(struct world *w, struct run_model *run,
                                 const History__WorkflowExecutionUpdateCompletedEventAttributes *a) {
    struct request_model *update = model_find_request(&w->model, str_of(a->meta ? a->meta->update_id : ""));
    char text[64], wanted[64];
    if (!update || !model_is_holder(update, run) || update->completed_in == run) {
        world_fail(w, "update_completed_once", "run=%s completes '%s'", run->run_id,
                   a->meta ? a->meta->update_id : "");
        return;
    }
    payload_text(a->outcome ? a->outcome->success : NULL, text, sizeof(text));
    expected_result(update, wanted, sizeof(wanted));
    if (!cstr_eq(text, wanted))
        world_fail(w, "update_outcome", "run=%s %s completes with '%s'", run->run_id, update->id, text);
    if (!update->completed_in || update->run == run)
        update->completed_in = run;
}

void update_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
        check_accepted_once(w, run,
                            e->workflow_execution_update_accepted_event_attributes->protocol_instance_id);
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
        check_completed_once(w, run, e->workflow_execution_update_completed_event_attributes);
}

/* G8: what a caller was told is in the history of the run that it was told about. */
static void check_update_kept(struct world *w, const struct request_model *update) {
    const struct run_model *run = update->run;
    if (!update->is_update || !update->is_acked || run->is_deleted)
        return;
    if (!model_is_holder(update, run))
        world_fail(w, "update_kept", "%s was accepted by run=%s, whose history does not know it", update->id,
                   run->run_id);
    if (update->is_completed && !update->completed_in)
        world_fail(w, "update_kept", "%s was completed by run=%s, whose history does not know it", update->id,
                   run->run_id);
}

void update_check_all(struct world *w) {
    const struct request_model *request;
    for (size_t i = 0; (request = map_next(&w->model.requests, &i));)
        check_update_kept(w, request);
}
