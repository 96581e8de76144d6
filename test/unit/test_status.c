/* Codes and typed details, as a client would unpack them. */
#include "wire/status.h"

#include <stdio.h>

#include "errordetails.pb-c.h"
#include "failure.pb-c.h"
#include "harness.h"
#include "names.h"
#include "rpc.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define DETAILS "type.googleapis.com/temporal.api.errordetails.v1."

TEST(codes_follow_the_table) {
    static const struct {
        int line;
        int err;
        enum grpc_code code;
    } cases[] = {
        {__LINE__, 0, GRPC_OK},
        {__LINE__, ERR_INVALID, GRPC_INVALID_ARGUMENT},
        {__LINE__, ERR_NOT_FOUND, GRPC_NOT_FOUND},
        {__LINE__, ERR_ALREADY_STARTED, GRPC_ALREADY_EXISTS},
        {__LINE__, ERR_DENIED, GRPC_PERMISSION_DENIED},
        {__LINE__, ERR_TOO_LARGE, GRPC_RESOURCE_EXHAUSTED},
        {__LINE__, ERR_NOT_READY, GRPC_FAILED_PRECONDITION},
        {__LINE__, ERR_UNIMPLEMENTED, GRPC_UNIMPLEMENTED},
        {__LINE__, ERR_MAYBE, GRPC_UNAVAILABLE},
        {__LINE__, ERR_DEADLINE, GRPC_DEADLINE_EXCEEDED},
        {__LINE__, ERR_CANCELLED, GRPC_CANCELLED},
        {__LINE__, 7, GRPC_INTERNAL},
        {__LINE__, -ERR_COUNT, GRPC_INTERNAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        test_check_int(status_code(&(struct err){.code = cases[i].err}), cases[i].code, __FILE__,
                       cases[i].line, "code");
}

TEST(http_statuses_follow_the_code) {
    static const struct {
        int err, status;
    } cases[] = {{0, 200},
                 {ERR_INVALID, 400},
                 {ERR_NOT_READY, 400},
                 {ERR_DENIED, 403},
                 {ERR_NOT_FOUND, 404},
                 {ERR_ALREADY_STARTED, 409},
                 {ERR_MULTI, 409},
                 {ERR_TOO_LARGE, 429},
                 {ERR_CANCELLED, 499},
                 {ERR_INTERNAL, 500},
                 {ERR_STORE_CORRUPT, 500},
                 {ERR_UNIMPLEMENTED, 501},
                 {ERR_MAYBE, 503},
                 {ERR_DEADLINE, 504}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(status_http(&(struct err){.code = cases[i].err}), cases[i].status);
}

TEST(code_numbers_are_those_of_grpc) {
    CHECK_INT(GRPC_INVALID_ARGUMENT, 3);
    CHECK_INT(GRPC_RESOURCE_EXHAUSTED, 8);
    CHECK_INT(GRPC_UNAVAILABLE, 14);
    CHECK_INT(GRPC_UNAUTHENTICATED, 16);
}

/* The detail of e, unpacked as `type` into the arena; NULL when the status is not as it should be. */
static ProtobufCMessage *unpack_detail(struct arena *a, const struct err *e, const char *type_url,
                                       const ProtobufCMessageDescriptor *type) {
    ProtobufCMessage *m = NULL;
    struct str packed = status_details(a, e);

    CHECK(packed.p != NULL);
    if (!packed.p || !CHECK(wire_decode(&rpc__status__descriptor, packed, a, &m, NULL) == 0))
        return NULL;
    const Rpc__Status *s = (const Rpc__Status *)m;
    CHECK_INT(s->code, status_code(e));
    CHECK_STR(s->message, e->text);
    if (!CHECK_INT(s->n_details, 1))
        return NULL;
    CHECK_STR(s->details[0]->type_url, type_url);
    struct str value = str_bytes(s->details[0]->value.data, s->details[0]->value.len);
    return CHECK(wire_decode(type, value, a, &m, NULL) == 0) ? m : NULL;
}

TEST(already_started_names_the_run) {
    struct arena a cleanup(arena_done);
    struct err e = {0};

    arena_init(&a, 1 << 16);
    (void)err_std(&e, ERR_ALREADY_STARTED);
    snprintf(e.subject, sizeof(e.subject), "request-1");
    snprintf(e.run_id.s, sizeof(e.run_id.s), "11111111-2222-4333-8444-555555555555");
    snprintf(e.first_run_id.s, sizeof(e.first_run_id.s), "aaaaaaaa-2222-4333-8444-555555555555");
    const Detail__WorkflowExecutionAlreadyStartedFailure *d =
        (const void *)unpack_detail(&a, &e, DETAILS "WorkflowExecutionAlreadyStartedFailure",
                                    &detail__workflow_execution_already_started_failure__descriptor);
    REQUIRE(d);
    CHECK_STR(d->start_request_id, "request-1");
    CHECK_STR(d->run_id, e.run_id.s);
    CHECK_STR(d->first_execution_run_id, e.first_run_id.s);
}

TEST(unknown_namespace_is_named) {
    struct arena a cleanup(arena_done);
    struct err e = {0};

    arena_init(&a, 1 << 16);
    (void)err_set(&e, ERR_NO_NAMESPACE, "Namespace %s is not found.", "nämlich");
    snprintf(e.subject, sizeof(e.subject), "nämlich");
    const Detail__NamespaceNotFoundFailure *d = (const void *)unpack_detail(
        &a, &e, DETAILS "NamespaceNotFoundFailure", &detail__namespace_not_found_failure__descriptor);
    REQUIRE(d);
    CHECK_STR(d->namespace_, "nämlich");
}

TEST(exhausted_carries_its_cause) {
    static const struct {
        int line;
        int cause;
        int want;
    } cases[] = {
        {__LINE__, RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW, RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW},
        {__LINE__, RESOURCE_EXHAUSTED_CAUSE_UNSPECIFIED, RESOURCE_EXHAUSTED_CAUSE_SYSTEM_OVERLOADED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct err e = {0};

        arena_init(&a, 1 << 16);
        (void)err_std(&e, ERR_BUSY);
        e.cause = cases[i].cause;
        const Detail__ResourceExhaustedFailure *d = (const void *)unpack_detail(
            &a, &e, DETAILS "ResourceExhaustedFailure", &detail__resource_exhausted_failure__descriptor);
        test_check(d && (int)d->cause == cases[i].want, __FILE__, cases[i].line, "cause");
    }
}

TEST(denied_gives_a_reason) {
    struct arena a cleanup(arena_done);
    struct err e = {0};

    arena_init(&a, 1 << 16);
    (void)err_std(&e, ERR_DENIED);
    snprintf(e.subject, sizeof(e.subject), "read only");
    const Detail__PermissionDeniedFailure *d = (const void *)unpack_detail(
        &a, &e, DETAILS "PermissionDeniedFailure", &detail__permission_denied_failure__descriptor);
    REQUIRE(d);
    CHECK_STR(d->reason, "read only");
}

TEST(failed_query_carries_the_workers_failure) {
    struct arena a cleanup(arena_done);
    struct err e = {0};
    struct str failure = STR("\x0a\x04oops\xaa\x06\x01x"); /* message, and a field nobody knows */

    arena_init(&a, 1 << 16);
    (void)err_set(&e, ERR_QUERY_FAILED, "oops");
    e.failure = failure.p;
    e.failure_len = failure.n;
    const Detail__QueryFailedFailure *d = (const void *)unpack_detail(
        &a, &e, DETAILS "QueryFailedFailure", &detail__query_failed_failure__descriptor);
    REQUIRE(d && d->failure);
    CHECK_STR(d->failure->message, "oops");
    CHECK_INT(d->failure->base.n_unknown_fields, 1);
}

TEST(a_namespace_in_the_wrong_state_says_which_would_do) {
    static const struct {
        E__NamespaceState state;
        size_t allowed;
    } cases[] = {{NAMESPACE_STATE_DELETED, 2}, {NAMESPACE_STATE_DEPRECATED, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct err e = {.code = ERR_NAMESPACE_STATE, .subject = "old", .cause = (int)cases[i].state};
        arena_init(&a, 4096);
        CHECK_INT(status_code(&e), GRPC_FAILED_PRECONDITION);
        const Detail__NamespaceInvalidStateFailure *d =
            (const void *)unpack_detail(&a, &e, DETAILS "NamespaceInvalidStateFailure",
                                        &detail__namespace_invalid_state_failure__descriptor);
        if (!CHECK(d != NULL))
            return;
        CHECK_STR(d->namespace_, "old");
        CHECK_INT(d->state, cases[i].state);
        CHECK_INT(d->n_allowed_states, cases[i].allowed);
        CHECK_INT(d->allowed_states[0], NAMESPACE_STATE_REGISTERED);
    }
}

TEST(details_without_fields_are_there) {
    static const struct {
        int err;
        const char *type_url;
        const ProtobufCMessageDescriptor *type;
    } cases[] = {
        {ERR_NOT_FOUND, DETAILS "NotFoundFailure", &detail__not_found_failure__descriptor},
        {ERR_CLOSED, DETAILS "NotFoundFailure", &detail__not_found_failure__descriptor},
        {ERR_NAMESPACE_EXISTS, DETAILS "NamespaceAlreadyExistsFailure",
         &detail__namespace_already_exists_failure__descriptor},
        {ERR_NOT_READY, DETAILS "WorkflowNotReadyFailure", &detail__workflow_not_ready_failure__descriptor},
        {ERR_QUERY_FAILED, DETAILS "QueryFailedFailure", &detail__query_failed_failure__descriptor},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct err e = {0};
        arena_init(&a, 1 << 16);
        (void)err_std(&e, cases[i].err);
        CHECK(unpack_detail(&a, &e, cases[i].type_url, cases[i].type) != NULL);
    }
}

TEST(errors_without_detail_have_none) {
    struct arena a cleanup(arena_done);
    struct err e = {0};

    arena_init(&a, 1 << 16);
    CHECK(status_details(&a, &e).p == NULL);
    (void)err_std(&e, ERR_INVALID);
    CHECK(status_details(&a, &e).p == NULL);
}

TEST(a_full_arena_leaves_the_detail_out) {
    for (size_t budget = 0; budget < 400; budget += 8) {
        struct arena a cleanup(arena_done);
        struct err e = {0};
        arena_init(&a, budget);
        (void)err_std(&e, ERR_ALREADY_STARTED);
        struct str packed = status_details(&a, &e);
        CHECK(arena_failed(&a) ? packed.p == NULL : packed.n > 0);
    }
}

TEST(several_operations_fail_as_the_one_that_failed) {
    struct arena a cleanup(arena_done);
    struct err parts[2] = {0}, e = {0};

    arena_init(&a, 1 << 16);
    (void)err_std(&parts[0], ERR_MULTI_ABORTED);
    (void)err_set(&parts[1], ERR_BUSY, "too many");
    (void)err_std(&e, ERR_MULTI);
    e.operations = parts;
    e.operation_count = 2;
    CHECK_INT(status_code(&e), GRPC_RESOURCE_EXHAUSTED);
    const Detail__MultiOperationExecutionFailure *d =
        (const void *)unpack_detail(&a, &e, DETAILS "MultiOperationExecutionFailure",
                                    &detail__multi_operation_execution_failure__descriptor);
    REQUIRE(d && d->n_statuses == 2);
    CHECK_INT(d->statuses[0]->code, GRPC_ABORTED);
    REQUIRE(d->statuses[0]->n_details == 1);
    CHECK_STR(d->statuses[0]->details[0]->type_url,
              "type.googleapis.com/temporal.api.failure.v1.MultiOperationExecutionAborted");
    CHECK_INT(d->statuses[1]->code, GRPC_RESOURCE_EXHAUSTED);
    CHECK_STR(d->statuses[1]->message, "too many");
    CHECK_INT(d->statuses[1]->n_details, 1);
}

TEST(an_operation_that_went_well_does_not_decide_the_code) {
    struct err parts[2] = {0}, e = {0};
    (void)err_std(&parts[1], ERR_NOT_FOUND);
    (void)err_std(&e, ERR_MULTI);
    e.operations = parts;
    e.operation_count = ARRAY_LEN(parts);
    CHECK_INT(status_code(&e), GRPC_NOT_FOUND);
}
