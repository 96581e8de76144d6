/* Builds the failures that stand in events which no worker wrote. */
#include "core/step/failure.h"

#include <string.h>

#define MESSAGE_SHARE 2 /* of the limit, 1/n is for the message of a failure that was cut */

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

Failure__Failure *failure_final(struct step *s, const char *message) {
    Failure__Failure *f = failure_server(s, message);
    if (f)
        f->server_failure_info->non_retryable = 1;
    return f;
}

Failure__Failure *failure_application(struct arena *a, const char *message, const char *type) {
    Failure__Failure *f = arena_new(a, Failure__Failure);
    Failure__ApplicationFailureInfo *info = arena_new(a, Failure__ApplicationFailureInfo);
    if (!f || !info)
        return NULL;
    failure__failure__init(f);
    failure__application_failure_info__init(info);
    f->message = arena_strdup(a, message);
    f->source = arena_strdup(a, "Server");
    info->type = arena_strdup(a, type);
    info->non_retryable = true;
    f->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    f->application_failure_info = info;
    return arena_failed(a) ? NULL : f;
}

/* A prefix that ends where a character ends. */
static char *cut_text(struct step *s, const char *text, size_t bytes_max) {
    size_t n = strlen(text);
    if (n > bytes_max)
        for (n = bytes_max; n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80; n--)
            ;
    return arena_strndup(s->arena, text, n);
}

static Failure__ApplicationFailureInfo *cut_application(struct step *s,
                                                        const Failure__ApplicationFailureInfo *in,
                                                        size_t bytes_max) {
    Failure__ApplicationFailureInfo *info = arena_new(s->arena, Failure__ApplicationFailureInfo);
    if (!info)
        return NULL;
    failure__application_failure_info__init(info);
    info->type = cut_text(s, in->type, MIN(bytes_max, (size_t)LIMIT_ID_BYTES));
    info->non_retryable = in->non_retryable;
    return info;
}

Failure__Failure *failure_cut(struct step *s, const Failure__Failure *in, size_t message_bytes_max) {
    Failure__Failure *f = arena_new(s->arena, Failure__Failure);
    if (f) {
        failure__failure__init(f);
        f->message = cut_text(s, in->message, message_bytes_max);
        f->source = cut_text(s, in->source, LIMIT_ID_BYTES);
    }
    if (f && in->failure_info_case == FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO) {
        f->failure_info_case = in->failure_info_case;
        f->application_failure_info = cut_application(s, in->application_failure_info, message_bytes_max);
    }
    if (arena_failed(s->arena))
        s->failed = true;
    return s->failed ? NULL : f;
}

static Failure__Failure *stand_in(struct step *s, const Failure__Failure *in, enum settable limit) {
    Failure__Failure *cause = failure_cut(s, in, (size_t)step_limit(s, limit) / MESSAGE_SHARE);
    Failure__Failure *f = failure_server(s, "Failure exceeds size limit.");
    if (f)
        f->cause = cause;
    return s->failed ? NULL : f;
}

Failure__Failure *failure_too_large(struct step *s, const Failure__Failure *in) {
    Failure__Failure *f = stand_in(s, in, SETTABLE_BLOB_BYTES);
    if (f)
        f->server_failure_info->non_retryable = 1;
    return f;
}

Failure__Failure *failure_between_attempts(struct step *s, Failure__Failure *in) {
    int64_t bytes = (int64_t)protobuf_c_message_get_packed_size(&in->base);
    return bytes <= step_limit(s, SETTABLE_ACTIVITY_FAILURE_BYTES)
               ? in
               : stand_in(s, in, SETTABLE_ACTIVITY_FAILURE_BYTES);
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
