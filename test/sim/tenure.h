/* Tenures: the runs of one workflow id, in the order in which they were made.
 *
 * Whichever was made last is the one that the workflow id means, until it is deleted; so when everything is
 * known it can be said which run a start met, and what the policies for workflow ids wanted then. The order
 * is told by the wall clock, so worlds in which that jumps are left to what answers show at once. */
#pragma once

struct world;

void tenure_check_all(struct world *w);
