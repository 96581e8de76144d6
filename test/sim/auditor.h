/* The auditor: reads runs again after every crash, and all of them at the end.
 *
 * During the faults it audits runs that were touched, a few at a time. In the
 * calm phase the server starts once more and is left alone for a while: reading
 * a run would wake it. Then every run must be closed or wait for signals. The
 * auditor sends those, waits for every run to close (G1: what was acknowledged
 * is carried out) and audits each. */
#pragma once

#include "world.h"

struct auditor *auditor_new(struct world *w);
void auditor_free(struct world *w);
void auditor_begin(struct world *w); /* the calm phase */
void auditor_reopen(struct world *w); /* there are more runs to be audited */
bool auditor_is_done(struct world *w); /* every run that is known is closed and audited */
void auditor_check_all(struct world *w); /* what runs say of each other: once none is unknown any more */
void auditor_fail_liveness(struct world *w);
