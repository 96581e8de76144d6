/* Whom the server tells how a run has ended: some starts bring a callback, and this is its other end.
 *
 * An answer may be a failure that asks for another attempt, or get lost. Each callback must arrive when the
 * chain of runs has ended, with the truth about its end, and no more once the server knows that it arrived.
 */
#pragma once

#include "engine/engine.h"
#include "world.h"

struct callback_desk;

struct callback_desk *callbacks_new(struct world *w);
void callbacks_drop(struct world *w); /* the process that sent is gone */
void callbacks_done(struct world *w);
void callbacks_receive(void *ctx, struct callback_send *send); /* for the engine */
void callbacks_check_all(struct world *w);
