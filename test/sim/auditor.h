/* The auditor: reads runs again after every crash, and all of them at the end.
 *
 * During the faults it audits runs that were touched, a few at a time. In the
 * calm phase it ends what waits for signals, waits for every run to close (G1:
 * what was acknowledged is carried out) and audits each. */
#pragma once

#include "world.h"

struct auditor *auditor_new(struct world *w);
void auditor_free(struct world *w);
void auditor_begin(struct world *w); /* the calm phase */
bool auditor_is_done(const struct world *w);
void auditor_fail_liveness(struct world *w);
