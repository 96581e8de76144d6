/* The last look at a world: what lists show, and what retention leaves.
 *
 * When every run is closed and audited, the lists of each namespace must show exactly the runs that were not
 * deleted, each with the status that its history ends with. Then the clock moves past the retention, and
 * nothing may be left. */
#pragma once

#include "world.h"

struct survey *survey_new(struct world *w);
void survey_free(struct world *w);
/* Begins it, or says whether it is over. */
bool survey_is_done(struct world *w);
