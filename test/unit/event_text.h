/* A history as one line of text: "RUN_STARTED@1 TASK_SCHEDULED@2".
 *
 * Event types lose their longest words: RUN_ is WORKFLOW_EXECUTION_, TASK_ is WORKFLOW_TASK_,
 * ACTIVITY_ is ACTIVITY_TASK_. */
#pragma once

#include <inttypes.h>

#include "base/buf.h"
#include "history.pb-c.h"

static inline void event_text(struct buf *b, const History__HistoryEvent *ev) {
    static const struct {
        const char *prefix, *instead;
    } words[] = {
        {"WORKFLOW_EXECUTION_", "RUN_"}, {"WORKFLOW_TASK_", "TASK_"}, {"ACTIVITY_TASK_", "ACTIVITY_"}};
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&e__event_type__descriptor, (int)ev->event_type);
    const char *name = v ? v->name + strlen("EVENT_TYPE_") : "UNKNOWN";
    if (b->len)
        buf_add_u8(b, ' ');
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!str_starts(str_of(name), str_of(words[i].prefix)))
            continue;
        buf_add_cstr(b, words[i].instead);
        name += strlen(words[i].prefix);
        break;
    }
    buf_printf(b, "%s@%" PRId64, name, ev->event_id);
}
