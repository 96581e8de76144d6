/* An update is rejected, accepted and completed at once, or accepted now and completed with the next task;
 * its number decides. Before the workflow ends every update must be answered. */
#include "update_answer.h"

#include <inttypes.h>

#include "base/buf.h"
#include "names.h"
#include "request.h"
#include "wire/encode.h"

#define BODY_BYTES_MAX (1u << 20)
#define TYPE_URL "type.googleapis.com/temporal.api.update.v1."

struct answer {
    struct arena *arena;
    Ws__RespondWorkflowTaskCompletedRequest *q;
};

static Google__Protobuf__Any *pack(struct arena *a, const char *type, const ProtobufCMessage *body) {
    Google__Protobuf__Any *any = MAKE(a, Google__Protobuf__Any, google__protobuf__any__init);
    struct buf packed;
    buf_init(&packed, BODY_BYTES_MAX);
    wire_encode(&packed, body);
    ensure(buf_ok(&packed));
    any->type_url = make_text(a, TYPE_URL "%s", type);
    any->value = make_bytes(a, (ProtobufCBinaryData){.len = packed.len, .data = packed.data});
    buf_done(&packed);
    return any;
}

/* Rejections have no place among the commands. */
static void say(struct answer *to, uint64_t number, const char *type, const ProtobufCMessage *body,
                bool has_place) {
    struct arena *a = to->arena;
    Protocol__Message *m = MAKE(a, Protocol__Message, protocol__message__init);
    m->id = make_text(a, "update-%" PRIu64 "/%s", number, type);
    m->protocol_instance_id = make_text(a, "update-%" PRIu64, number);
    m->body = pack(a, type, body);
    to->q->messages[to->q->n_messages++] = m;
    if (!has_place)
        return;
    Command__Command *c = MAKE(a, Command__Command, command__command__init);
    c->command_type = COMMAND_TYPE_PROTOCOL_MESSAGE;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_PROTOCOL_MESSAGE_COMMAND_ATTRIBUTES;
    c->protocol_message_command_attributes = MAKE(a, Command__ProtocolMessageCommandAttributes,
                                                  command__protocol_message_command_attributes__init);
    c->protocol_message_command_attributes->message_id = m->id;
    to->q->commands[to->q->n_commands++] = c;
}

static void accept(struct answer *to, uint64_t number, const Protocol__Message *request) {
    Update__Acceptance body = UPDATE__ACCEPTANCE__INIT;
    body.accepted_request_message_id = request->id;
    body.accepted_request_sequencing_event_id = request->event_id;
    say(to, number, "Acceptance", &body.base, true);
}

static void reject(struct answer *to, uint64_t number, const Protocol__Message *request) {
    Update__Rejection body = UPDATE__REJECTION__INIT;
    body.rejected_request_message_id = request->id;
    body.rejected_request_sequencing_event_id = request->event_id;
    body.failure = make_failure(to->arena, "rejected", true);
    say(to, number, "Rejection", &body.base, false);
}

static void complete(struct answer *to, uint64_t number) {
    Update__Response body = UPDATE__RESPONSE__INIT;
    Update__Meta meta = UPDATE__META__INIT;
    Update__Outcome outcome = UPDATE__OUTCOME__INIT;
    meta.update_id = make_text(to->arena, "update-%" PRIu64, number);
    outcome.value_case = UPDATE__OUTCOME__VALUE_SUCCESS;
    outcome.success = make_payloads(to->arena, make_text(to->arena, "update-%" PRIu64 " done", number));
    body.meta = &meta;
    body.outcome = &outcome;
    say(to, number, "Response", &body.base, true);
}

bool update_answer(const struct workflow_slot *s, struct arena *a,
                   Ws__RespondWorkflowTaskCompletedRequest *q) {
    struct answer to = {a, q};
    size_t room = 2 * s->task->n_messages + s->program.update_count;
    bool leaves_some = false;
    q->messages = arena_array(a, Protocol__Message *, room + 1);
    ensure(q->messages);
    for (uint32_t i = 0; i < s->program.update_count; i++)
        complete(&to, s->program.updates[i]);
    for (size_t i = 0; i < s->task->n_messages; i++) {
        const Protocol__Message *request = s->task->messages[i];
        uint64_t number = 0;
        ensure(update_parse(request->protocol_instance_id, &number));
        if (update_is_rejected(number)) {
            reject(&to, number, request);
            continue;
        }
        accept(&to, number, request);
        if (update_is_slow(number) && !s->program.is_over)
            leaves_some = true;
        else
            complete(&to, number);
    }
    return leaves_some;
}
