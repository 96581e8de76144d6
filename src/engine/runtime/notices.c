/* What core noticed and an operator should know, as log lines. Clients cause them, so their rate is bounded.
 */
#include "engine/runtime/engine_int.h"

#define NOTICE_INTERVAL_US USEC_PER_SEC

void notice_log(struct engine *e, const struct run *run, const struct notice *n) {
    static const enum log_event lines[NOTICE_COUNT] = {
        [NOTICE_PAYLOAD_LARGE] = LOG_payload_large,
        [NOTICE_HISTORY_LONG] = LOG_history_long,
        [NOTICE_HISTORY_LARGE] = LOG_history_large,
    };
    if (e->now.mono.us < e->next_notice_us[n->kind])
        return;
    e->next_notice_us[n->kind] = usec_add(e->now.mono.us, NOTICE_INTERVAL_US);
    const State__Execution *st = run->body->st;
    log_emit(e->log, lines[n->kind], log_str("what", n->what), log_int("size", n->size),
             log_str("namespace", run->space->st->name), log_str("workflow_id", st->workflow_id),
             log_str("workflow_type", st->workflow_type ? st->workflow_type : ""),
             log_str("run_id", st->run_id));
}

/* names in a request */

#define SEARCH_DEPTH 4 /* a payload lies no deeper in a request */

static const ProtobufCMessage *message_at(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    bool is_one = f->type == PROTOBUF_C_TYPE_MESSAGE && f->label != PROTOBUF_C_LABEL_REPEATED &&
                  (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
                   *(const uint32_t *)((const char *)m + f->quantifier_offset) == f->id);
    return is_one ? *(const ProtobufCMessage *const *)((const char *)m + f->offset) : NULL;
}

/* The name of the field that holds `part`; NULL when it is not in m. */
static const char *notice_field_of(const ProtobufCMessage *m, const ProtobufCMessage *part, int depth) {
    for (unsigned i = 0; depth && i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        const ProtobufCMessage *in = message_at(m, f);
        const char *name = in == part ? f->name : in ? notice_field_of(in, part, depth - 1) : NULL;
        if (in && name)
            return name;
    }
    return NULL;
}

static const char *text_at(const ProtobufCMessage *m, const char *name) {
    const ProtobufCFieldDescriptor *f =
        m ? protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name) : NULL;
    bool is_text = f && f->type == PROTOBUF_C_TYPE_STRING && f->label != PROTOBUF_C_LABEL_REPEATED;
    const char *text = is_text ? *(char *const *)((const char *)m + f->offset) : NULL;
    return text ? text : "";
}

static const ProtobufCMessage *part_of(const ProtobufCMessage *m, const char *name) {
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
    return f ? message_at(m, f) : NULL;
}

void notice_log_request(struct engine *e, const ProtobufCMessage *req, const ProtobufCMessage *part,
                        int64_t size) {
    const ProtobufCMessage *execution = part_of(req, "workflow_execution");
    const char *field = part == req ? NULL : notice_field_of(req, part, SEARCH_DEPTH);
    if (e->now.mono.us < e->next_notice_us[NOTICE_PAYLOAD_LARGE])
        return;
    e->next_notice_us[NOTICE_PAYLOAD_LARGE] = usec_add(e->now.mono.us, NOTICE_INTERVAL_US);
    if (!execution)
        execution = part_of(req, "execution");
    const char *id = execution ? text_at(execution, "workflow_id") : text_at(req, "workflow_id");
    log_emit(e->log, LOG_payload_large, log_str("method", req->descriptor->short_name),
             log_str("what", field ? field : "request"), log_int("size", size),
             log_str("namespace", text_at(req, "namespace")), log_str("workflow_id", id),
             log_str("workflow_type", text_at(part_of(req, "workflow_type"), "name")),
             log_str("run_id", execution ? text_at(execution, "run_id") : ""),
             log_str("schedule_id", text_at(req, "schedule_id")));
}
