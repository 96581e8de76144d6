/* Builds the failures that stand in events which no worker wrote. */
#include "core/failure.h"

static Failure__Failure *failure_new(struct step *s, const char *message) {
    Failure__Failure *f = arena_new(s->arena, Failure__Failure);
    char *text = arena_strdup(s->arena, message);
    if (!f || !text) {
        s->failed = true;
        return NULL;
    }
    failure__failure__init(f);
    f->message = text;
    f->source = (char *)(uintptr_t) "Server";
    return f;
}

Failure__Failure *failure_server(struct step *s, const char *message) {
    Failure__Failure *f = failure_new(s, message);
    Failure__ServerFailureInfo *info = arena_new(s->arena, Failure__ServerFailureInfo);
    if (!f || !info) {
        s->failed = true;
        return NULL;
    }
    failure__server_failure_info__init(info);
    f->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO;
    f->server_failure_info = info;
    return f;
}

Failure__Failure *failure_timeout(struct step *s, const char *message, E__TimeoutType type,
                                  Common__Payloads *last_heartbeat_details, Failure__Failure *cause) {
    Failure__Failure *f = failure_new(s, message);
    Failure__TimeoutFailureInfo *info = arena_new(s->arena, Failure__TimeoutFailureInfo);
    if (!f || !info) {
        s->failed = true;
        return NULL;
    }
    failure__timeout_failure_info__init(info);
    info->timeout_type = type;
    info->last_heartbeat_details = last_heartbeat_details;
    f->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_TIMEOUT_FAILURE_INFO;
    f->timeout_failure_info = info;
    f->cause = cause;
    return f;
}
