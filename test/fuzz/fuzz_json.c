/* Bytes as JSON for messages of several types, with and without shorthand.
 *
 * The first byte chooses the type and the style. What is accepted can be printed, unless it holds no time
 * that has a text, and what was printed is read again as the same bytes. */
#include "fuzz.h"

#include "common.pb-c.h"
#include "failure.pb-c.h"
#include "history.pb-c.h"
#include "json/json.h"
#include "rpc.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)
#define BUDGET_BYTES ((size_t)64 << 20)
#define SHORTHAND_BIT 0x80
#define PRETTY_BIT 0x40

static const ProtobufCMessageDescriptor *const types[] = {
    &ws__create_schedule_request__descriptor,
    &ws__start_workflow_execution_request__descriptor,
    &history__history__descriptor,
    &failure__failure__descriptor,
    &rpc__status__descriptor,
    &common__payloads__descriptor,
    &ws__describe_task_queue_response__descriptor,
    &ws__update_workflow_execution_options_request__descriptor,
};

/* Any keeps the bytes of types that are not ours, and those need not be the shortest form. */
static bool is_stable(const ProtobufCMessageDescriptor *d) {
    return d != &rpc__status__descriptor;
}

static void check_again(const ProtobufCMessage *m, struct json_style style, struct arena *a) {
    struct buf text cleanup(buf_done), want cleanup(buf_done), got cleanup(buf_done);
    struct err e = {0};
    ProtobufCMessage *again;
    buf_init(&text, BUDGET_BYTES);
    buf_init(&want, BUDGET_BYTES);
    buf_init(&got, BUDGET_BYTES);
    wire_encode(&want, m);
    ensure(wire_guard(m->descriptor, buf_str(&want), &e) == 0);
    ensure(json_print(&text, m, style, &e) == 0 && buf_ok(&text));
    int rc = json_parse(m->descriptor, buf_str(&text), style.has_shorthand, a, &again, &e);
    ensure(rc == 0 || arena_failed(a));
    if (rc < 0 || !is_stable(m->descriptor))
        return;
    wire_encode(&got, again);
    ensure(str_eq(buf_str(&got), buf_str(&want)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);
    struct err e = {0};
    ProtobufCMessage *m;
    arena_init(&a, BUDGET_BYTES);
    if (size == 0 || size > TEXT_BYTES_MAX)
        return 0;
    struct json_style style = {.has_shorthand = data[0] & SHORTHAND_BIT, .is_pretty = data[0] & PRETTY_BIT};
    const ProtobufCMessageDescriptor *type = types[data[0] % ARRAY_LEN(types)];
    int rc = json_parse(type, str_bytes(data + 1, size - 1), style.has_shorthand, &a, &m, &e);
    ensure(rc == 0 || (rc == e.code && e.text[0]));
    if (rc == 0)
        check_again(m, style, &a);
    return 0;
}
