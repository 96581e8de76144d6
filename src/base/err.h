/* Errors: one negative code for each cause, from errors.def, and what the
 * client should read. The place that knows fills struct err once; everyone
 * above only returns the code. */
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
    char subject[ERR_SUBJECT_MAX]; /* what a typed detail names: a namespace, a start request id */
    struct uuid_text run_id;       /* for ALREADY_STARTED */
    struct uuid_text first_run_id; /* for ALREADY_STARTED */
    int cause;                     /* for EXHAUSTED: ResourceExhaustedCause; for NAMESPACE_STATE: its state */
    const void *failure;           /* packed temporal Failure message, for QUERY_FAILED */
    size_t failure_len;
    const struct err *operations;  /* for MULTI: how each of them went; code 0 is success */
    size_t operation_count;
};

/* Fills e (which may be NULL) and returns code. The two-argument form uses the table's text. */
int err_set(struct err *e, int code, const char *fmt, ...) printf_like(3, 4);
int err_std(struct err *e, int code);
const char *err_name(int code); /* "NOT_FOUND" */
const char *err_text(int code); /* the table's text */
