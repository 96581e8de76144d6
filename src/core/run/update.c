/* What a worker's messages do to updates. Happy path: Acceptance, then in the
 * same or a later completion Response. Everything that does not fit the state
 * of its update is refused, and with it the whole completion. */
#include "core/run/update.h"

#include "core/run/run.h"
#include "wire/guard.h"

#define ACCEPTANCE "temporal.api.update.v1.Acceptance"
#define REJECTION "temporal.api.update.v1.Rejection"
#define RESPONSE "temporal.api.update.v1.Response"

/* finding */

State__Update *update_find(const State__Execution *st, const char *id) {
    for (size_t i = 0; i < st->n_updates; i++)
        if (cstr_eq(st->updates[i]->update_id, id))
            return st->updates[i];
    return NULL;
}

size_t update_open_count(const State__Execution *st) {
    size_t count = 0;
    for (size_t i = 0; i < st->n_updates; i++)
        if (!st->updates[i]->completed_event_id)
            count++;
    return count;
}

static struct update_offer *update_find_offer(const struct step *s, const char *id) {
    for (size_t i = 0; i < s->ctx.update_count; i++)
        if (cstr_eq(s->ctx.updates[i].id, id))
            return &s->ctx.updates[i];
    return NULL;
}

bool update_is_waiting(const struct step *s) {
    for (size_t i = 0; i < s->ctx.update_count; i++)
        if (!s->ctx.updates[i].is_sent && s->ctx.updates[i].verdict == UPDATE_UNANSWERED)
            return true;
    return false;
}

/* reading messages */

static int update_refuse(struct step *s, const Protocol__Message *m, const char *text) {
    s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE;
    return err_set(s->err, ERR_INVALID, "%s (message \"%.64s\" of update \"%.64s\")", text, m->id,
                   m->protocol_instance_id);
}

/* The name behind the last slash of the type URL. */
static const char *update_body_type(const Protocol__Message *m) {
    const char *url = m->body ? m->body->type_url : "";
    const char *slash = strrchr(url, '/');
    return slash ? slash + 1 : url;
}

bool update_is_rejection(const Protocol__Message *m) {
    return cstr_eq(update_body_type(m), REJECTION);
}

static int update_read_body(struct step *s, const Protocol__Message *m,
                            const ProtobufCMessageDescriptor *type, void *ret) {
    ProtobufCMessage *body;
    int rc = wire_decode(type, pb_bytes(&m->body->value), s->arena, &body, NULL);
    if (rc == ERR_NO_MEMORY)
        return err_std(s->err, rc);
    if (rc < 0)
        return update_refuse(s, m, "The body of a message cannot be read.");
    *(ProtobufCMessage **)ret = body;
    return 0;
}

/* applying them */

static State__Update *update_add(struct step *s, const char *id) {
    State__Update *u = pb_new(&state__update__descriptor, &s->failed);
    if (!u)
        return NULL;
    pb_set_string(&u->update_id, id, &s->failed);
    pb_append_message(&s->st->n_updates, &s->st->updates, u, &s->failed);
    return s->failed ? NULL : u;
}

static bool update_is_admitted_only(const State__Update *u) {
    return u && !u->accepted_event_id;
}

void update_readmit(struct step *s, Update__Request *request) {
    if (!request || !request->meta || update_find(s->st, request->meta->update_id))
        return;
    History__WorkflowExecutionUpdateAdmittedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_UPDATE_ADMITTED_EVENT_ATTRIBUTES__INIT;
    a.request = request;
    a.origin = UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY;
    struct event_extra extra = {.links = request->links, .link_count = request->n_links};
    if (update_add(s, request->meta->update_id))
        step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED, &a, &extra);
}

static int update_accept(struct step *s, const Protocol__Message *m) {
    Update__Acceptance *in;
    int rc = update_read_body(s, m, &update__acceptance__descriptor, &in);
    if (rc < 0)
        return rc;
    struct update_offer *offer = update_find_offer(s, m->protocol_instance_id);
    State__Update *u = update_find(s->st, m->protocol_instance_id);
    /* The server may have forgotten it meanwhile; what the worker has seen is enough to go on. */
    Update__Request *request = offer ? offer->request : in->accepted_request;
    if (cstr_is_empty(in->accepted_request_message_id))
        return update_refuse(s, m, "accepted_request_message_id is not set on Acceptance.");
    if (update_is_admitted_only(u))
        request = NULL; /* it stands in the event that admitted it */
    else if (u || (offer && offer->verdict != UPDATE_UNANSWERED))
        return update_refuse(s, m, "An update can be accepted only once.");
    else if (!request)
        return update_refuse(s, m, "The accepted update is not known.");
    if (!u && (int64_t)s->st->n_updates >= 2 * step_limit(s, SETTABLE_UPDATES))
        return update_refuse(s, m, "The run has too many updates.");
    if (!u && !(u = update_add(s, m->protocol_instance_id)))
        return err_std(s->err, ERR_NO_MEMORY);
    History__WorkflowExecutionUpdateAcceptedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_UPDATE_ACCEPTED_EVENT_ATTRIBUTES__INIT;
    a.protocol_instance_id = m->protocol_instance_id;
    a.accepted_request_message_id = in->accepted_request_message_id;
    a.accepted_request_sequencing_event_id = in->accepted_request_sequencing_event_id;
    a.accepted_request = request;
    struct event_extra extra = {0};
    if (request) {
        extra.links = request->links;
        extra.link_count = request->n_links;
    }
    u->accepted_event_id = step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, &a, &extra);
    if (offer)
        offer->verdict = UPDATE_ACCEPTED;
    return 0;
}

static int update_respond(struct step *s, const Protocol__Message *m) {
    Update__Response *in;
    int rc = update_read_body(s, m, &update__response__descriptor, &in);
    if (rc < 0)
        return rc;
    State__Update *u = update_find(s->st, m->protocol_instance_id);
    if (!in->outcome || in->outcome->value_case == UPDATE__OUTCOME__VALUE__NOT_SET)
        return update_refuse(s, m, "outcome is not set on Response.");
    if (!u || update_is_admitted_only(u))
        return update_refuse(s, m, "The completed update was never accepted.");
    if (u->completed_event_id)
        return update_refuse(s, m, "An update can be completed only once.");
    Update__Meta meta = UPDATE__META__INIT;
    meta.update_id = u->update_id;
    meta.identity = in->meta ? in->meta->identity : meta.identity;
    History__WorkflowExecutionUpdateCompletedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_UPDATE_COMPLETED_EVENT_ATTRIBUTES__INIT;
    a.meta = &meta;
    a.accepted_event_id = u->accepted_event_id;
    a.outcome = in->outcome;
    u->completed_event_id = step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, &a, NULL);
    return 0;
}

static int update_reject(struct step *s, const Protocol__Message *m) {
    Update__Rejection *in;
    int rc = update_read_body(s, m, &update__rejection__descriptor, &in);
    if (rc < 0)
        return rc;
    struct update_offer *offer = update_find_offer(s, m->protocol_instance_id);
    if (cstr_is_empty(in->rejected_request_message_id))
        return update_refuse(s, m, "rejected_request_message_id is not set on Rejection.");
    if (!in->failure)
        return update_refuse(s, m, "failure is not set on Rejection.");
    State__Update *known = update_find(s->st, m->protocol_instance_id);
    if (update_is_admitted_only(known)) {
        pb_remove_item(&s->st->n_updates, s->st->updates, known);
        return 0;
    }
    if (known || (offer && offer->verdict != UPDATE_UNANSWERED))
        return update_refuse(s, m, "An update that was answered cannot be rejected.");
    if (!offer && !in->rejected_request)
        return update_refuse(s, m, "The rejected update is not known.");
    if (offer) { /* nobody waits for one that the server has forgotten */
        offer->verdict = UPDATE_REJECTED;
        offer->rejection = in->failure;
    }
    return 0;
}

static int update_apply(struct step *s, const Protocol__Message *m) {
    const char *type = update_body_type(m);
    if (cstr_is_empty(m->protocol_instance_id))
        return update_refuse(s, m, "protocol_instance_id is not set on a message.");
    if (strlen(m->protocol_instance_id) > LIMIT_ID_BYTES)
        return update_refuse(s, m, "protocol_instance_id exceeds length limit.");
    if (!step_blob_fits(s, m->body, "update message")) {
        s->is_task_failure_final = true;
        return update_refuse(s, m, "A message exceeds size limit.");
    }
    if (cstr_eq(type, ACCEPTANCE))
        return update_accept(s, m);
    if (cstr_eq(type, RESPONSE))
        return update_respond(s, m);
    if (cstr_eq(type, REJECTION))
        return update_reject(s, m);
    return update_refuse(s, m, "A message of this type is not known.");
}

/* in their order */

int update_inbox_init(struct step *s, struct update_inbox *in, Protocol__Message **messages, size_t count) {
    if ((int64_t)count > MAX(LIMIT_MESSAGES, 4 * step_limit(s, SETTABLE_UPDATES_IN_FLIGHT)))
        return update_refuse(s, messages[0], "The completion has too many messages.");
    *in = (struct update_inbox){messages, count, arena_array(s->arena, bool, count)};
    return count && !in->is_applied ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

int update_apply_named(struct step *s, struct update_inbox *in, const char *message_id) {
    for (size_t i = 0; i < in->count; i++) {
        if (in->is_applied[i] || !cstr_eq(in->messages[i]->id, message_id))
            continue;
        in->is_applied[i] = true;
        return update_apply(s, in->messages[i]);
    }
    s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_UPDATE_WORKFLOW_EXECUTION_MESSAGE;
    return err_set(s->err, ERR_INVALID, "ProtocolMessageCommand referenced absent message ID %.64s",
                   message_id);
}

int update_apply_rest(struct step *s, struct update_inbox *in) {
    for (size_t i = 0; i < in->count; i++) {
        if (in->is_applied[i] || (!run_is_open(s->st) && !update_is_rejection(in->messages[i])))
            continue;
        in->is_applied[i] = true;
        int rc = update_apply(s, in->messages[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}
