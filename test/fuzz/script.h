/* An input as calls, one after the other: each a method, two bytes of length and the packed request. Instead
 * of a method there may be time that passes, or a crash from which the engine comes back.
 *
 * A method is a byte, its place in src/wire/methods.def. */
#pragma once

#include "world.h"

struct script {
    const uint8_t *p, *end;
};

/* Does what comes next; false at the end. The call, if it was one that could be decoded, is *ret_ask, which
 * the world keeps; else NULL. */
bool script_step(struct script *s, struct world *w, struct ask **ret_ask);
