/* What a client asks, one step a line:
 *
 *   grpc METHOD JSON           a call, its request as JSON
 *   http METHOD PATH [JSON]    a request of HTTP/1.1
 *   look METHOD PATH           the same; its answer differs each time
 *   once METHOD PATH [JSON]    the same; it has no request id, so asked again it may be refused because it was done
 *
 * Lines that begin with # are for people. In what is sent, @run stands for the run id, @task for the task token
 * and @page for the page token that an answer named last. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define STEPS_MAX 64
#define VALUE_BYTES_MAX 1024

enum step_kind { STEP_GRPC, STEP_HTTP, STEP_LOOK, STEP_ONCE };

struct step {
    enum step_kind kind;
    struct str method; /* of gRPC, or of HTTP */
    struct str path;
    struct str body;
};

struct script {
    struct step steps[STEPS_MAX];
    size_t count;
};

/* Slices of the text. False when a line is none of these. */
bool script_parse(struct script *s, struct str text);

/* What answers named, for those who come after. */
struct memory {
    char run[VALUE_BYTES_MAX], task[VALUE_BYTES_MAX], page[VALUE_BYTES_MAX];
};
void memory_note(struct memory *m, struct str answer);
void memory_fill(const struct memory *m, struct str text, struct buf *out);
bool memory_is_asked_for(struct str text, const char *sign); /* "@task" */

/* The answer without what differs each time: ids, times, tokens, numbers. */
void answer_mask(struct str answer, struct buf *out);
