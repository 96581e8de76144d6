/* The request ids of the signals that a run has had: a signal that is sent again is not taken again, and one
 * that a link names is found.
 *
 * SDKs send UUIDs, and a run may have ten thousand of them, which are written with every change of its state.
 * So they are kept as sixteen bytes each, one behind the other; any other id is kept as text. The ids of the
 * events stand beside them, in the same order; the first signals of older states have none. */
#pragma once

#include "base/uuid.h"
#include "core/step/step.h"

bool signal_id_seen(const State__Execution *st, const char *request_id);
/* "" is none. Event 0: it will be written later. */
void signal_id_add(struct step *s, const char *request_id, int64_t event_id);
/* Its event has got an id. */
void signal_id_written(State__Execution *st, const char *request_id, int64_t event_id);

/* Those whose events are known, from 0. */
struct signal_id {
    struct uuid_text uuid;
    const char *text; /* NULL: it is the UUID */
    int64_t event_id; /* 0: buffered */
};
size_t signal_id_count(const State__Execution *st);
struct signal_id signal_id_get(const State__Execution *st, size_t i);
