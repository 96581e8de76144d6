/* Maps errors to gRPC codes and typed details.
 *
 * Both follow from the error's row in statuses.def. SDKs choose the exception by the detail, not by the text.
 * The detail is packed into an Any inside a google.rpc.Status, in the request's arena. When the arena is
 * exhausted, the client gets the code and the text alone. */
#include "wire/status.h"

#include <assert.h>

#include "errordetails.pb-c.h"
#include "failure.pb-c.h"
#include "names.h"
#include "rpc.pb-c.h"
#include "wire/encode.h"

#define TYPE_URL_PREFIX "type.googleapis.com/"
#define QUERY_FAILED_FIELD 1 /* QueryFailedFailure.failure */
#define PREFIX_BYTES_MAX 16 /* a tag and a length, with room to spare */

enum status_detail {
    DETAIL_NONE,
    DETAIL_QUERY_FAILED,
    DETAIL_NOT_FOUND,
    DETAIL_NAMESPACE_NOT_FOUND,
    DETAIL_ALREADY_STARTED,
    DETAIL_NAMESPACE_EXISTS,
    DETAIL_NAMESPACE_STATE,
    DETAIL_NOT_READY,
    DETAIL_PERMISSION_DENIED,
    DETAIL_EXHAUSTED,
    DETAIL_MULTI,
    DETAIL_MULTI_ABORTED,
};

struct status_row {
    enum grpc_code code;
    enum status_detail detail;
};

static const struct status_row status_rows[ERR_COUNT] = {
    [ERR_OK_] = {GRPC_OK, DETAIL_NONE},
#define STATUS(name, grpc, detail) [ERR_INDEX_##name] = {GRPC_##grpc, DETAIL_##detail},
#include "wire/statuses.def"
#undef STATUS
};

enum {
    STATUS_COUNT = 0
#define STATUS(name, grpc, detail) +1
#include "wire/statuses.def"
#undef STATUS
};
/* Names that errors.def does not have, and names given twice, do not compile either. */
static_assert(STATUS_COUNT == ERR_COUNT - 1, "each row of errors.def has one row in statuses.def");

static struct status_row status_row_of(int err) {
    bool is_known = err <= 0 && err > -ERR_COUNT;
    return is_known ? status_rows[-err] : (struct status_row){GRPC_INTERNAL, DETAIL_NONE};
}

/* A call with several operations has the code of the first operation that failed by itself. */
enum grpc_code status_code(const struct err *e) {
    for (size_t i = 0; i < e->operation_count; i++)
        if (e->operations[i].code && e->operations[i].code != ERR_MULTI_ABORTED)
            return status_row_of(e->operations[i].code).code;
    return status_row_of(e->code).code;
}

int status_http(const struct err *e) {
    static const int statuses[] = {
        [GRPC_OK] = 200,
        [GRPC_CANCELLED] = 499,
        [GRPC_UNKNOWN] = 500,
        [GRPC_INVALID_ARGUMENT] = 400,
        [GRPC_DEADLINE_EXCEEDED] = 504,
        [GRPC_NOT_FOUND] = 404,
        [GRPC_ALREADY_EXISTS] = 409,
        [GRPC_PERMISSION_DENIED] = 403,
        [GRPC_RESOURCE_EXHAUSTED] = 429,
        [GRPC_FAILED_PRECONDITION] = 400,
        [GRPC_ABORTED] = 409,
        [GRPC_OUT_OF_RANGE] = 400,
        [GRPC_UNIMPLEMENTED] = 501,
        [GRPC_INTERNAL] = 500,
        [GRPC_UNAVAILABLE] = 503,
        [GRPC_DATA_LOSS] = 500,
        [GRPC_UNAUTHENTICATED] = 401,
    };
    return statuses[status_code(e)];
}

static struct str status_pack(struct arena *a, const ProtobufCMessage *m) {
    size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t *out = arena_alloc(a, size);
    return out ? str_bytes(out, protobuf_c_message_pack(m, out)) : (struct str){NULL, 0};
}

static struct str status_pack_already_started(struct arena *a, const struct err *e) {
    Detail__WorkflowExecutionAlreadyStartedFailure d;
    detail__workflow_execution_already_started_failure__init(&d);
    d.start_request_id = arena_strdup(a, e->subject);
    d.run_id = arena_strdup(a, e->run_id.s);
    d.first_execution_run_id = arena_strdup(a, e->first_run_id.s);
    return status_pack(a, &d.base);
}

static struct str status_pack_namespace_not_found(struct arena *a, const struct err *e) {
    Detail__NamespaceNotFoundFailure d;
    detail__namespace_not_found_failure__init(&d);
    d.namespace_ = arena_strdup(a, e->subject);
    return status_pack(a, &d.base);
}

/* Names the states that allow the call: a deprecated namespace refuses new workflows only. */
static struct str status_pack_namespace_state(struct arena *a, const struct err *e) {
    E__NamespaceState allowed[] = {NAMESPACE_STATE_REGISTERED, NAMESPACE_STATE_DEPRECATED};
    Detail__NamespaceInvalidStateFailure d;
    detail__namespace_invalid_state_failure__init(&d);
    d.namespace_ = arena_strdup(a, e->subject);
    d.state = (E__NamespaceState)e->cause;
    d.allowed_states = allowed;
    d.n_allowed_states = e->cause == NAMESPACE_STATE_DEPRECATED ? 1 : ARRAY_LEN(allowed);
    return status_pack(a, &d.base);
}

static struct str status_pack_permission_denied(struct arena *a, const struct err *e) {
    Detail__PermissionDeniedFailure d;
    detail__permission_denied_failure__init(&d);
    d.reason = arena_strdup(a, e->subject);
    return status_pack(a, &d.base);
}

/* Without a cause, the server itself ran out of a resource. */
static struct str status_pack_exhausted(struct arena *a, const struct err *e) {
    Detail__ResourceExhaustedFailure d;
    detail__resource_exhausted_failure__init(&d);
    d.cause = e->cause ? (E__ResourceExhaustedCause)e->cause : RESOURCE_EXHAUSTED_CAUSE_SYSTEM_OVERLOADED;
    return status_pack(a, &d.base);
}

/* The failure came packed from a worker and is sent unchanged. */
static struct str status_pack_query_failed(struct arena *a, const struct err *e) {
    struct buf b cleanup(buf_done);
    buf_init(&b, e->failure_len + PREFIX_BYTES_MAX);
    if (!e->failure)
        return STR("");
    wire_add_bytes_field(&b, QUERY_FAILED_FIELD, str_bytes(e->failure, e->failure_len));
    const void *copy = buf_ok(&b) ? arena_dup(a, b.data, b.len) : NULL;
    return copy ? str_bytes(copy, b.len) : (struct str){NULL, 0};
}

static bool status_pack_any(struct arena *a, const struct err *e, Google__Protobuf__Any *ret);

static struct str status_pack_multi(struct arena *a, const struct err *e) {
    Detail__MultiOperationExecutionFailure d;
    detail__multi_operation_execution_failure__init(&d);
    d.statuses =
        arena_array(a, Detail__MultiOperationExecutionFailure__OperationStatus *, e->operation_count);
    for (size_t i = 0; d.statuses && i < e->operation_count; i++) {
        Detail__MultiOperationExecutionFailure__OperationStatus *s =
            arena_new(a, Detail__MultiOperationExecutionFailure__OperationStatus);
        Google__Protobuf__Any *any = arena_new(a, Google__Protobuf__Any);
        Google__Protobuf__Any **details = arena_array(a, Google__Protobuf__Any *, 1);
        if (!s || !any || !details)
            return (struct str){NULL, 0};
        detail__multi_operation_execution_failure__operation_status__init(s);
        s->code = (int32_t)status_code(&e->operations[i]);
        s->message = arena_strdup(a, e->operations[i].text);
        if (status_pack_any(a, &e->operations[i], any)) {
            details[0] = any;
            s->details = details;
            s->n_details = 1;
        }
        d.statuses[d.n_statuses++] = s;
    }
    return arena_failed(a) ? (struct str){NULL, 0} : status_pack(a, &d.base);
}

/* The packed detail; p is NULL when memory is exhausted. A detail without fields packs to no bytes. */
static struct str status_pack_detail(struct arena *a, enum status_detail detail, const struct err *e,
                                     const ProtobufCMessageDescriptor **ret_type) {
    switch (detail) {
    case DETAIL_QUERY_FAILED:
        *ret_type = &detail__query_failed_failure__descriptor;
        return status_pack_query_failed(a, e);
    case DETAIL_NOT_FOUND:
        *ret_type = &detail__not_found_failure__descriptor;
        return STR("");
    case DETAIL_NAMESPACE_NOT_FOUND:
        *ret_type = &detail__namespace_not_found_failure__descriptor;
        return status_pack_namespace_not_found(a, e);
    case DETAIL_ALREADY_STARTED:
        *ret_type = &detail__workflow_execution_already_started_failure__descriptor;
        return status_pack_already_started(a, e);
    case DETAIL_NAMESPACE_EXISTS:
        *ret_type = &detail__namespace_already_exists_failure__descriptor;
        return STR("");
    case DETAIL_NAMESPACE_STATE:
        *ret_type = &detail__namespace_invalid_state_failure__descriptor;
        return status_pack_namespace_state(a, e);
    case DETAIL_NOT_READY:
        *ret_type = &detail__workflow_not_ready_failure__descriptor;
        return STR("");
    case DETAIL_PERMISSION_DENIED:
        *ret_type = &detail__permission_denied_failure__descriptor;
        return status_pack_permission_denied(a, e);
    case DETAIL_EXHAUSTED:
        *ret_type = &detail__resource_exhausted_failure__descriptor;
        return status_pack_exhausted(a, e);
    case DETAIL_MULTI:
        *ret_type = &detail__multi_operation_execution_failure__descriptor;
        return status_pack_multi(a, e);
    case DETAIL_MULTI_ABORTED:
        *ret_type = &failure__multi_operation_execution_aborted__descriptor;
        return STR("");
    case DETAIL_NONE:
        break;
    }
    return (struct str){NULL, 0};
}

/* False when the error has no detail or memory is exhausted. */
static bool status_pack_any(struct arena *a, const struct err *e, Google__Protobuf__Any *ret) {
    const ProtobufCMessageDescriptor *type = NULL;
    struct str value = status_pack_detail(a, status_row_of(e->code).detail, e, &type);
    if (!value.p)
        return false;
    google__protobuf__any__init(ret);
    ret->type_url = arena_printf(a, TYPE_URL_PREFIX "%s", type->name);
    ret->value.data = arena_dup(a, value.p, value.n);
    ret->value.len = value.n;
    return !arena_failed(a);
}

struct str status_details(struct arena *a, const struct err *e) {
    Google__Protobuf__Any any;
    if (!status_pack_any(a, e, &any))
        return (struct str){NULL, 0};
    Rpc__Status status;
    rpc__status__init(&status);
    status.code = (int32_t)status_code(e);
    status.message = arena_strdup(a, e->text);
    status.n_details = 1;
    status.details = (Google__Protobuf__Any *[]){&any};
    return arena_failed(a) ? (struct str){NULL, 0} : status_pack(a, &status.base);
}
