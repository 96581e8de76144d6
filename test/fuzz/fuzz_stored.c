/* Bytes as rows of the store.
 *
 * The first byte chooses the row: a namespace, a run, a batch of its history, a deployment. What the guard
 * lets through comes through packing unchanged; it need not make sense, so it is not given to an engine. What
 * protobuf does not take is: the engine says that the store cannot be read, and goes on to be closed. Nothing
 * ends the program. */
#include "fuzz.h"
#include "names.h"
#include "state.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "world.h"

#define INPUT_BYTES_MAX 4096
#define BUDGET_BYTES ((size_t)16 << 20)

enum stored { STORED_NAMESPACE, STORED_RUN, STORED_HISTORY, STORED_DEPLOYMENT, STORED_COUNT };

static const struct {
    const ProtobufCMessageDescriptor *type;
    enum write_kind kind;
} rows[STORED_COUNT] = {
    [STORED_NAMESPACE] = {&state__namespace__descriptor, WRITE_NAMESPACE},
    [STORED_RUN] = {&state__execution__descriptor, WRITE_EXECUTION},
    [STORED_HISTORY] = {&history__history__descriptor, WRITE_HISTORY},
    [STORED_DEPLOYMENT] = {&state__deployment__descriptor, WRITE_DEPLOYMENT},
};

static char *text_of(const char *s) {
    return (char *)(uintptr_t)s;
}

static void start(struct world *w) {
    Ws__StartWorkflowExecutionRequest r = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    type.name = text_of("Type");
    queue.name = text_of("queue");
    r.namespace_ = text_of("default");
    r.workflow_id = text_of("wf");
    r.request_id = text_of("request");
    r.workflow_type = &type;
    r.task_queue = &queue;
    ensure(world_send(w, "StartWorkflowExecution", &r.base)->code == 0);
}

static void describe(struct world *w) {
    Ws__GetWorkflowExecutionHistoryRequest r = WS__GET_WORKFLOW_EXECUTION_HISTORY_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    execution.workflow_id = text_of("wf");
    execution.run_id = w->run_id;
    r.namespace_ = text_of("default");
    r.execution = &execution;
    (void)world_send(w, "GetWorkflowExecutionHistory", &r.base); /* the world sees what comes of it */
}

static void on_namespace(struct read *r, const struct row *row) {
    *(struct uuid *)r->owner = row->namespace_id;
}

static void on_done(struct read *r unused_arg, int rc) {
    ensure(rc == 0);
}

static void on_durable(struct batch *b unused_arg) {}

/* Puts the bytes where the row was. */
static void damage(struct world *w, enum stored what, struct str bytes) {
    struct batch b;
    struct uuid namespace_id = {{0}}, run_id = {{0}};
    struct read read = {
        .kind = READ_NAMESPACES, .row = on_namespace, .done = on_done, .owner = &namespace_id};
    store_read(w->store, &read);
    ensure(uuid_parse(str_of(w->run_id), &run_id) == 0);
    batch_init(&b, BUDGET_BYTES);
    b.done = on_durable;
    struct write *row = batch_add(&b, rows[what].kind);
    ensure(row);
    row->namespace_id = namespace_id;
    row->run_id = run_id;
    row->workflow_id = STR("wf");
    row->name = what == STORED_NAMESPACE ? STR("default") : STR("deployment");
    row->body = bytes;
    row->is_ready = true;
    row->first_event_id = 3; /* the first two are there */
    row->last_event_id = 3;
    store_commit(w->store, &b);
    batch_done(&b);
}

static void check_damage(enum stored what, struct str bytes) {
    struct world w;
    world_open(&w);
    start(&w);
    damage(&w, what, bytes);
    world_crash(&w);
    if (w.is_ready)
        describe(&w);
    ensure(w.is_damaged || what == STORED_HISTORY);
    world_close(&w);
}

static void check_same(const ProtobufCMessageDescriptor *type, const ProtobufCMessage *m) {
    struct buf once cleanup(buf_done), twice cleanup(buf_done);
    buf_init(&once, BUDGET_BYTES);
    buf_init(&twice, BUDGET_BYTES);
    wire_encode(&once, m);
    ProtobufCMessage *again = protobuf_c_message_unpack(type, &wire_heap_allocator, once.len, once.data);
    ensure(again);
    wire_encode(&twice, again);
    protobuf_c_message_free_unpacked(again, &wire_heap_allocator);
    ensure(str_eq(buf_str(&once), buf_str(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    enum stored what = data[0] % STORED_COUNT;
    const ProtobufCMessageDescriptor *type = rows[what].type;
    struct str bytes = str_bytes(data + 1, size - 1);
    ProtobufCMessage *m =
        protobuf_c_message_unpack(type, &wire_heap_allocator, bytes.n, (const uint8_t *)bytes.p);
    if (!m)
        check_damage(what, bytes);
    else if (wire_guard(type, bytes, NULL) == 0)
        check_same(type, m);
    if (m)
        protobuf_c_message_free_unpacked(m, &wire_heap_allocator);
    return 0;
}
