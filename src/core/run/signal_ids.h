/* The request ids of the signals that a run has had: a signal that is sent again is not taken again.
 *
 * SDKs send UUIDs, and a run may have ten thousand of them, which are written with every change of its state.
 * So they are kept as sixteen bytes each, one behind the other; any other id is kept as text. */
#pragma once

#include "core/step/step.h"

bool signal_id_seen(const State__Execution *st, const char *request_id);
void signal_id_add(struct step *s, const char *request_id); /* "" is none */
