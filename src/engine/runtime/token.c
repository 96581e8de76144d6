/* Task tokens: what a worker sends back to say which task it means. */
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

ProtobufCBinaryData token_pack(struct arena *a, const ProtobufCMessage *m) {
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *p = arena_alloc(a, n ? n : 1);
    if (!p)
        return (ProtobufCBinaryData){0, NULL};
    protobuf_c_message_pack(m, p);
    return (ProtobufCBinaryData){n, p};
}

static State__TaskToken token_of(const State__Execution *st) {
    State__TaskToken t = STATE__TASK_TOKEN__INIT;
    t.namespace_id = st->namespace_id;
    t.workflow_id = st->workflow_id;
    t.run_id = st->run_id;
    t.workflow_type = st->workflow_type;
    return t;
}

ProtobufCBinaryData token_for_task(struct arena *a, const State__Execution *st) {
    State__TaskToken t = token_of(st);
    t.scheduled_event_id = st->task->scheduled_event_id;
    t.started_event_id = st->task->started_event_id;
    t.attempt = st->task->attempt;
    t.started_us = st->task->started_us;
    return token_pack(a, &t.base);
}

ProtobufCBinaryData token_for_activity(struct arena *a, const State__Execution *st,
                                       const State__Activity *act) {
    State__TaskToken t = token_of(st);
    t.scheduled_event_id = act->scheduled_event_id;
    t.attempt = act->attempt;
    t.stamp = act->stamp;
    t.activity_id = act->activity_id;
    t.activity_type = act->activity_type;
    t.started_us = act->started_us;
    return token_pack(a, &t.base);
}

ProtobufCBinaryData token_for_query(struct arena *a, const struct space *s, const char *queue,
                                    const char *id) {
    State__QueryToken t = STATE__QUERY_TOKEN__INIT;
    t.namespace_id = s->st->id;
    t.task_queue = (char *)(uintptr_t)queue;
    t.task_id = (char *)(uintptr_t)id;
    return token_pack(a, &t.base);
}

int token_read(struct op *op, const ProtobufCMessageDescriptor *type, const ProtobufCBinaryData *bytes,
               int code, const char *text, ProtobufCMessage **ret) {
    int rc = wire_decode(type, pb_bytes(bytes), op->call->arena, ret, NULL);
    if (rc == ERR_NO_MEMORY)
        return op_out_of_memory(op);
    return rc < 0 ? err_set(&op->err, code, "%s", text) : 0;
}

int op_need_token_space(struct op *op, const char *name, const char *namespace_id, struct space **ret) {
    int rc;
    if (!cstr_is_empty(name))
        rc = op_need_space(op, name, ret);
    else if (cstr_is_empty(namespace_id))
        rc = err_set(&op->err, ERR_INVALID, "Namespace is not set on request.");
    else if ((rc = op_need_space_id(op, namespace_id, ret)) == 0)
        rc = op_need_space(op, (*ret)->st->name, ret);
    if (rc == 0 && !cstr_eq(namespace_id, (*ret)->st->id))
        rc = err_set(&op->err, ERR_INVALID, "Operation requested with a token from a different namespace.");
    return rc;
}

int op_need_token_run(struct op *op, const ProtobufCBinaryData *bytes, const char *namespace_name,
                      State__TaskToken **ret) {
    ProtobufCMessage *m;
    struct space *space;
    struct uuid run_id;
    if (!bytes->len)
        return err_set(&op->err, ERR_INVALID, "Task token not set on request.");
    int rc =
        token_read(op, &state__task_token__descriptor, bytes, ERR_BAD_TOKEN, err_text(ERR_BAD_TOKEN), &m);
    if (rc < 0)
        return rc;
    *ret = (State__TaskToken *)m;
    rc = op_need_token_space(op, namespace_name, (*ret)->namespace_id, &space);
    if (rc == 0 && group_is_full(op->e))
        rc = err_std(&op->err, ERR_BUSY);
    if (rc == 0 && uuid_parse(str_of((*ret)->run_id), &run_id) < 0)
        rc = err_set(&op->err, ERR_NOT_FOUND, "workflow execution not found");
    if (rc == 0)
        rc = op_need_run(op, space, run_id);
    if (rc == 0 && !cstr_eq(op->run->body->st->workflow_id, (*ret)->workflow_id))
        rc = err_set(&op->err, ERR_NOT_FOUND, "workflow execution not found");
    return rc;
}
