/* Deep copies of messages into an arena. NULL when memory runs out (or for NULL). */
#pragma once

#include "base/arena.h"
#include "common.pb-c.h"
#include "query.pb-c.h"

void *message_copy(struct arena *a, const ProtobufCMessage *m);
static inline Common__Payloads *payloads_copy(struct arena *a, const Common__Payloads *p) {
    return p ? message_copy(a, &p->base) : NULL;
}
static inline Query__WorkflowQuery *query_copy(struct arena *a, const Query__WorkflowQuery *q) {
    return q ? message_copy(a, &q->base) : NULL;
}
