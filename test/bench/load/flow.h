/* `total` operations, `width` of them under way at a time; each has an index and a latency. */
#pragma once

#include "bench.h"

struct flow {
    struct bench *bench;
    size_t total;
    size_t width;
    void (*begin)(struct flow *f, size_t i); /* begins operation i; flow_end(f, i) later */
    void *owner;
    const char *type; /* workflow type, for those that start workflows */
    size_t begun;
    size_t ended;
    int64_t *begin_us;
    struct samples latency;
};

void flow_init(struct flow *f, struct bench *b, size_t total, size_t width,
               void (*begin)(struct flow *f, size_t i));
void flow_begin(struct flow *f); /* the first of them */
void flow_wait(struct flow *f); /* until all have ended */
void flow_run(struct flow *f); /* both */
void flow_end(struct flow *f, size_t i);
void flow_done(struct flow *f);

/* For operations that are one call: a reply ends the operation. */
void flow_call(struct flow *f, size_t i, enum client_method method, const ProtobufCMessage *request);
