/* Bytes as a request: what decodes must come through packing and decoding again unchanged.
 *
 * The first byte chooses the message. The guard's verdict and protobuf-c's must agree: what the guard
 * lets through may fail for lack of memory only. */
#include "fuzz.h"

#include "base/buf.h"
#include "failure.pb-c.h"
#include "history.pb-c.h"
#include "rpc.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define BUDGET_BYTES ((size_t)16 << 20)

static const ProtobufCMessageDescriptor *const types[] = {
    &ws__start_workflow_execution_request__descriptor,
    &ws__respond_workflow_task_completed_request__descriptor,
    &ws__poll_workflow_task_queue_request__descriptor,
    &ws__respond_activity_task_failed_request__descriptor,
    &ws__shutdown_worker_request__descriptor,
    &ws__create_schedule_request__descriptor,
    &ws__execute_multi_operation_request__descriptor,
    &history__history__descriptor,
    &failure__failure__descriptor,
    &rpc__status__descriptor,
};

/* Decodes and packs again; false when the bytes are refused. */
static bool round_trip(const ProtobufCMessageDescriptor *type, struct str bytes, size_t budget,
                       struct buf *ret) {
    struct arena a cleanup(arena_done);
    struct err e = {0};
    ProtobufCMessage *m = NULL;

    arena_init(&a, budget);
    int guarded = wire_guard(type, bytes, &e);
    ensure(guarded == 0 || (guarded == ERR_INVALID && e.code == ERR_INVALID && e.text[0]));
    int r = wire_decode(type, bytes, &a, &m, &e);
    ensure(guarded == 0 ? r == 0 || r == ERR_NO_MEMORY : r == guarded);
    if (r == 0)
        wire_encode(ret, m);
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf once cleanup(buf_done), twice cleanup(buf_done);

    buf_init(&once, BUDGET_BYTES);
    buf_init(&twice, BUDGET_BYTES);
    if (size == 0)
        return 0;
    const ProtobufCMessageDescriptor *type = types[data[0] % ARRAY_LEN(types)];
    if (!round_trip(type, str_bytes(data + 1, size - 1), BUDGET_BYTES, &once))
        return 0;
    ensure(buf_ok(&once));
    ensure(round_trip(type, buf_str(&once), 2 * BUDGET_BYTES, &twice));
    ensure(str_eq(buf_str(&once), buf_str(&twice)));
    return 0;
}
