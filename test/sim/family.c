/* Parents and children are linked from both sides, as chains are. */
#include "family.h"

#include <inttypes.h>
#include <stdio.h>

#include "history_rules.h"
#include "names.h"
#include "program.h"
#include "world.h"

static void full_id(const struct run_model *run, const char *workflow_id, char *ret, size_t size) {
    const char *slash = strchr(run->workflow_id, '/');
    snprintf(ret, size, "%.*s/%s", (int)(slash - run->workflow_id), run->workflow_id, workflow_id);
}

/* the parent's side */

static void note_initiated(struct run_model *run, const History__HistoryEvent *e) {
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
        e->start_child_workflow_execution_initiated_event_attributes;
    run->children = model_grow(run->children, run->child_count, &run->child_cap, sizeof(*run->children));
    struct child_model *c = &run->children[run->child_count++];
    *c = (struct child_model){.initiated_event_id = e->event_id, .policy = (int)a->parent_close_policy};
    full_id(run, a->workflow_id, c->workflow_id, sizeof(c->workflow_id));
}

static void note_started(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__ChildWorkflowExecutionStartedEventAttributes *a =
        e->child_workflow_execution_started_event_attributes;
    struct child_model *c = model_find_child(run, a->initiated_event_id);
    if (!c || c->run || c->end_type) {
        world_fail(w, "child_starts_once", "run=%s event=%" PRId64 " starts child %" PRId64, run->run_id,
                   e->event_id, a->initiated_event_id);
        return;
    }
    c->run = model_meet(&w->model, a->workflow_execution->run_id, c->workflow_id);
    c->run->start_acked = true; /* G1: what a history says has begun, has begun */
    c->started_wall_us = event_wall_us(e);
}

/* The parent learns of the end once, after it has learnt of the start. */
static void check_child_ends_once(struct world *w, struct run_model *run, const History__HistoryEvent *e,
                                  const struct child_end *end) {
    struct child_model *c = model_find_child(run, end->initiated_event_id);
    if (!c || c->end_type || end->was_started != (c->run != NULL)) {
        world_fail(w, "child_ends_once", "run=%s event=%" PRId64 " ends child %" PRId64, run->run_id,
                   e->event_id, end->initiated_event_id);
        return;
    }
    c->end_type = (int32_t)e->event_type;
}

/* the child's side */

static void note_parent(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        e->workflow_execution_started_event_attributes;
    bool is_child = program_depth(run->workflow_id) > 0;
    if (is_child != (a->parent_workflow_execution != NULL)) {
        world_fail(w, "child_knows_parent", "run=%s workflow=%s", run->run_id, run->workflow_id);
        return;
    }
    if (!is_child)
        return;
    char id[MODEL_ID_MAX];
    full_id(run, a->parent_workflow_execution->workflow_id, id, sizeof(id));
    run->parent = model_meet(&w->model, a->parent_workflow_execution->run_id, id);
    run->parent_initiated_event_id = a->parent_initiated_event_id;
    if (!run->parent->is_deleted)
        run->parent->start_acked = true;
}

static void note_end(struct run_model *run, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED &&
        cstr_eq(e->workflow_execution_terminated_event_attributes->reason, "by parent close policy"))
        run->ended_by_parent = true;
}

static void note_cancel(struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowExecutionCancelRequestedEventAttributes *a =
        e->workflow_execution_cancel_requested_event_attributes;
    if (a->external_workflow_execution && a->external_initiated_event_id == 0)
        run->cancelled_by_parent = true;
}

/* letters */

static void note_letter_sent(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__SignalExternalWorkflowExecutionInitiatedEventAttributes *a =
        e->signal_external_workflow_execution_initiated_event_attributes;
    char id[UUID_TEXT_LEN + 16];
    payload_text(a->input, id, sizeof(id));
    struct letter_model *letter = model_letter(&w->model, id);
    if (strncmp(id, run->run_id, UUID_TEXT_LEN) != 0)
        return; /* a copy, in a run that was made by a reset */
    letter->sender = run;
    letter->initiated_event_id = e->event_id;
    full_id(run, a->workflow_execution->workflow_id, letter->workflow_id, sizeof(letter->workflow_id));
}

static void note_letter_end(struct world *w, const struct run_model *run, int64_t initiated_event_id,
                            bool is_delivered) {
    struct letter_model *letter;
    for (size_t i = 0; (letter = map_next(&w->model.letters, &i));) {
        if (letter->sender != run || letter->initiated_event_id != initiated_event_id)
            continue;
        if (letter->is_delivered || letter->is_failed)
            world_fail(w, "letter_ends_once", "letter=%s", letter->id);
        letter->is_delivered |= is_delivered;
        letter->is_failed |= !is_delivered;
    }
}

/* Two copies of one sender may both have what it left undone. The letter is the same, but only the run that
 * got it knows it again, and the next run of that workflow may be current by then. */
static bool was_sender_reset_again(const struct model *m, const char *letter_id) {
    const struct request_model *request;
    size_t count = 0;
    for (size_t i = 0; (request = map_next(&m->requests, &i));)
        count += request->base && strncmp(request->base->run_id, letter_id, UUID_TEXT_LEN) == 0;
    return count > 1;
}

void family_note_letter(struct world *w, struct run_model *run, const char *id, int64_t event_id) {
    struct letter_model *letter = model_letter(&w->model, id);
    bool is_copy = letter->found && (run->is_copy || letter->found->is_copy);
    if (letter->found && !is_copy && (letter->found == run || !was_sender_reset_again(&w->model, id)))
        world_fail(w, "letter_once", "letter=%s is in run=%s and in run=%s, event %" PRId64, id,
                   letter->found->run_id, run->run_id, event_id);
    if (!letter->found || letter->found->is_copy)
        letter->found = run;
}

void family_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    struct child_end end;
    switch ((int)e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        note_parent(w, run, e);
        break;
    case EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        note_initiated(run, e);
        break;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
        note_started(w, run, e);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
        note_end(run, e);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        note_cancel(run, e);
        break;
    case EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        note_letter_sent(w, run, e);
        break;
    case EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
        note_letter_end(w, run, e->external_workflow_execution_signaled_event_attributes->initiated_event_id,
                        true);
        break;
    case EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        note_letter_end(
            w, run, e->signal_external_workflow_execution_failed_event_attributes->initiated_event_id, false);
        break;
    default:
        if (child_end_of(e, &end))
            check_child_ends_once(w, run, e, &end);
        break;
    }
}

/* later */

const struct run_model *family_last_of_chain(const struct run_model *run) {
    for (;;) {
        const struct request_model *reset = run->ended_by_reset;
        if (run->after)
            run = run->after;
        else if (reset && reset->run && reset->run != run && reset->run->reset_from == run)
            run = reset->run;
        else
            return run;
    }
}

/* Or may have: of one that was deleted before its end was read nobody knows. */
static bool chain_heard_cancel(const struct run_model *first) {
    for (const struct run_model *run = first; run; run = run->after)
        if (run->cancel_recorded || run->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED ||
            (run->is_deleted && !run->close_type))
            return true;
    return false;
}

/* A parent that closed left its children to their policy. */
static void check_close_policy(struct world *w, const struct run_model *parent, const struct child_model *c) {
    const struct run_model *last = family_last_of_chain(c->run);
    const struct request_model *reset = parent->ended_by_reset;
    bool is_handed_over = reset && reset->run && reset->run->reset_from == parent;
    /* A copy may have made way, or be gone with the years, before anybody met it. */
    bool may_be = reset && (reset->has_any_base || !reset->run);
    if (last->is_deleted || c->end_type || is_handed_over || may_be)
        return;
    if (c->policy == PARENT_CLOSE_POLICY_TERMINATE && !last->close_type)
        world_fail(w, "close_policy", "run=%s is open, its parent=%s closed", last->run_id, parent->run_id);
    if (c->policy == PARENT_CLOSE_POLICY_REQUEST_CANCEL && !last->close_type && !chain_heard_cancel(c->run))
        world_fail(w, "close_policy", "run=%s was not asked to cancel, its parent=%s closed", last->run_id,
                   parent->run_id);
}

/* Whether a parent must have heard of the end of its child. A run that was deleted before its last event was
 * read, and that a reset copied, was ended by that reset, or had come to its own end before it: in either
 * case its parent must know of an end only when the copies have ended too. */
static bool chain_has_ended(const struct model *m, const struct run_model *first) {
    const struct run_model *last = family_last_of_chain(first);
    if (last->close_type)
        return !last->ended_by_reset;
    if (!last->delete_acked_us)
        return false;
    for (size_t i = 0; i < m->run_count; i++)
        if (m->in_order[i]->reset_from == last && !chain_has_ended(m, m->in_order[i]))
            return false;
    return true;
}

void family_check_settled(struct world *w, const struct run_model *run) {
    if (run->is_deleted)
        return;
    for (size_t i = 0; i < run->child_count; i++) {
        const struct child_model *c = &run->children[i];
        if (c->run && run->close_type)
            check_close_policy(w, run, c);
        if (!run->close_type && !c->run && !c->end_type)
            world_fail(w, "child_starts", "run=%s child %" PRId64 " neither started nor failed", run->run_id,
                       c->initiated_event_id);
        if (!run->close_type && c->run && !c->end_type && chain_has_ended(&w->model, c->run))
            world_fail(w, "child_end_told", "run=%s did not hear that its child run=%s ended", run->run_id,
                       family_last_of_chain(c->run)->run_id);
    }
}

/* No child works before its parent knows that it has started. */
static void check_parent_knows_first(struct world *w, const struct run_model *run) {
    const struct run_model *parent = run->parent;
    if (!parent || run->before || run->is_copy || parent->is_deleted || !run->first_task_wall_us ||
        world_clock_jumped(w))
        return;
    const struct child_model *c = model_find_child(parent, run->parent_initiated_event_id);
    if (!c || (c->run && c->run != run)) {
        world_fail(w, "child_knows_parent", "run=%s is no child of run=%s event %" PRId64, run->run_id,
                   parent->run_id, run->parent_initiated_event_id);
        return;
    }
    int64_t known_us = c->run ? c->started_wall_us : parent->close_wall_us;
    if (run->first_task_wall_us < known_us)
        world_fail(w, "parent_knows_first", "run=%s has a task %" PRId64 " us before its parent=%s knows it",
                   run->run_id, known_us - run->first_task_wall_us, parent->run_id);
}

/* The child that this run's base has started, by the event that both have; NULL: it has none. */
static const struct run_model *child_of_base(const struct model *m, const struct run_model *run,
                                             const struct child_model *c) {
    for (size_t i = 0; i < m->run_count; i++) {
        const struct run_model *child = m->in_order[i];
        if (child->parent == run->reset_from && !child->before && !child->is_copy &&
            child->parent_initiated_event_id == c->initiated_event_id &&
            cstr_eq(child->workflow_id, c->workflow_id))
            return child;
    }
    return NULL;
}

/* A copy does not fail to start a child because its base has started it. */
static void check_child_found(struct world *w, const struct run_model *run) {
    for (size_t i = 0; run->reset_from && i < run->child_count; i++) {
        const struct child_model *c = &run->children[i];
        bool is_refused = c->end_type == EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED;
        const struct child_model *same = model_find_child(run->reset_from, c->initiated_event_id);
        bool was_refused = same && same->end_type == EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED;
        if (!is_refused || was_refused || c->initiated_event_id >= run->reset_event_id)
            continue;
        const struct run_model *child = child_of_base(&w->model, run, c);
        if (child)
            world_fail(w, "child_found",
                       "run=%s cannot start child %" PRId64 ", which run=%s has started: run=%s", run->run_id,
                       c->initiated_event_id, run->reset_from->run_id, child->run_id);
    }
}

/* The policy spared those that it should have spared. */
static void check_policy_is_just(struct world *w, const struct run_model *run) {
    if (!run->ended_by_parent && !run->cancelled_by_parent)
        return;
    const struct run_model *first = run; /* that was read: one may have been deleted before */
    while (first->before && first->before->parent)
        first = first->before;
    const struct run_model *parent = first->parent;
    const struct child_model *c = parent ? model_find_child(parent, first->parent_initiated_event_id) : NULL;
    if (parent && parent->is_deleted)
        return;
    int wanted = run->ended_by_parent ? PARENT_CLOSE_POLICY_TERMINATE : PARENT_CLOSE_POLICY_REQUEST_CANCEL;
    if (!c || !parent->close_type || c->policy != wanted)
        world_fail(w, "policy_is_just",
                   "run=%s was ended by its parent=%s, policy %d, parent closed=%" PRId32, run->run_id,
                   parent ? parent->run_id : "", c ? c->policy : 0, parent ? parent->close_type : 0);
}

static bool some_run_may_lack(const struct model *m, const char *workflow_id) {
    for (const struct run_model *run = map_get(&m->latest, str_of(workflow_id)); run; run = run->older)
        if (run->is_deleted)
            return true;
    return false;
}

static void check_letter(struct world *w, const struct letter_model *letter) {
    if (!letter->sender || letter->sender->is_deleted)
        return;
    if (letter->is_delivered && !letter->found && !some_run_may_lack(&w->model, letter->workflow_id))
        world_fail(w, "letter_delivered", "letter=%s was delivered, but workflow=%s does not have it",
                   letter->id, letter->workflow_id);
    if (letter->is_failed && letter->found)
        world_fail(w, "letter_delivered", "letter=%s failed, but run=%s has it", letter->id,
                   letter->found->run_id);
}

void family_check_all(struct world *w) {
    for (size_t i = 0; i < w->model.run_count; i++) {
        if (w->model.in_order[i]->is_deleted)
            continue;
        check_parent_knows_first(w, w->model.in_order[i]);
        check_policy_is_just(w, w->model.in_order[i]);
        check_child_found(w, w->model.in_order[i]);
    }
    const struct letter_model *letter;
    for (size_t i = 0; (letter = map_next(&w->model.letters, &i));)
        check_letter(w, letter);
}
