/* Ids are the workflow type, a dash and a number, so that a task tells which operation it belongs to. */
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

char *mutable_text(const char *s) {
    union {
        const char *in;
        char *out;
    } text = {.in = s};
    return text.out;
}

static ProtobufCBinaryData bytes_of(const char *s) {
    return (ProtobufCBinaryData){strlen(s), (uint8_t *)mutable_text(s)};
}

Common__Payloads *payloads_fill(struct payloads *p) {
    common__payloads__init(&p->all);
    common__payload__init(&p->one);
    common__payload__metadata_entry__init(&p->entry);
    p->entry.key = mutable_text("encoding");
    p->entry.value = bytes_of("json/plain");
    p->entries[0] = &p->entry;
    p->one.metadata = p->entries;
    p->one.n_metadata = 1;
    p->one.data = bytes_of(INPUT_TEXT);
    p->list[0] = &p->one;
    p->all.payloads = p->list;
    p->all.n_payloads = 1;
    return &p->all;
}

void start_request_fill(struct start_request *r, const char *type, size_t i) {
    ws__start_workflow_execution_request__init(&r->m);
    common__workflow_type__init(&r->type);
    taskqueue__task_queue__init(&r->queue);
    (void)snprintf(r->id, sizeof(r->id), "%s-%zu", type, i);
    (void)snprintf(r->request_id, sizeof(r->request_id), "start-%s-%zu", type, i);
    r->type.name = mutable_text(type);
    r->queue.name = mutable_text(QUEUE_NAME);
    r->m.namespace_ = mutable_text("default");
    r->m.workflow_id = r->id;
    r->m.request_id = r->request_id;
    r->m.identity = mutable_text("bench");
    r->m.workflow_type = &r->type;
    r->m.task_queue = &r->queue;
    r->m.input = payloads_fill(&r->input);
}

void signal_request_fill(struct signal_request *r, const char *type, size_t to, size_t i) {
    ws__signal_workflow_execution_request__init(&r->m);
    common__workflow_execution__init(&r->execution);
    (void)snprintf(r->id, sizeof(r->id), "%s-%zu", type, to);
    (void)snprintf(r->request_id, sizeof(r->request_id), "signal-%zu", i);
    r->execution.workflow_id = r->id;
    r->m.namespace_ = mutable_text("default");
    r->m.workflow_execution = &r->execution;
    r->m.signal_name = mutable_text("paid");
    r->m.request_id = r->request_id;
    r->m.identity = mutable_text("bench");
    r->m.input = payloads_fill(&r->input);
}

size_t index_of_id(const char *workflow_id) {
    const char *dash = strrchr(workflow_id, '-');
    if (!dash)
        die("a task for %s, which is none of ours", workflow_id);
    return strtoul(dash + 1, NULL, 10);
}
