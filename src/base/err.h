/* Errors: one negative code for each cause, from errors.def, and the text for the client.
 *
 * The function that detects the error fills struct err once. Its callers pass the code and the struct on. How
 * an error looks on the wire (gRPC code, typed detail) is decided by wire/status.h; the members below `text`
 * carry what the typed details need, and base does not interpret them. */
#pragma once

#include "base/base.h"
#include "base/uuid.h"

enum err_code {
    ERR_OK_ = 0,
#define ERR(name, text) ERR_INDEX_##name,
#include "base/errors.def"
#undef ERR
    ERR_COUNT,
};

enum {
#define ERR(name, text) ERR_##name = -ERR_INDEX_##name,
#include "base/errors.def"
#undef ERR
};

#define ERR_TEXT_MAX 512
#define ERR_SUBJECT_MAX 1024

struct err {
    int code; /* 0, or ERR_* */
    char text[ERR_TEXT_MAX];
    char subject[ERR_SUBJECT_MAX]; /* what the error is about: a namespace, a start request id */
    struct uuid_text run_id; /* for ALREADY_STARTED: the existing run */
    struct uuid_text first_run_id; /* for ALREADY_STARTED: the first run of its chain */
    int cause; /* BUSY, FULL, NO_MEMORY: why, or 0; NAMESPACE_STATE: the state */
    const void *failure; /* for QUERY_FAILED: a packed Failure; belongs to the caller */
    size_t failure_len;
    const struct err *operations; /* for MULTI: the outcome of each; code 0 is success */
    size_t operation_count;
};

/* Fill e, which may be NULL, and return code. err_std uses the text of the table. A text that is too long is
 * cut after a whole character; the other members become empty. */
int err_set(struct err *e, int code, const char *fmt, ...) printf_like(3, 4);
int err_std(struct err *e, int code);
const char *err_name(int code); /* "NOT_FOUND" */
const char *err_text(int code); /* the table's text */
