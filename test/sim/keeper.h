/* Keepers: clients that each look after one schedule at a time.
 *
 * A keeper does one thing after the other and repeats a call until it knows its
 * outcome, so what the schedule was asked for is always known; after each
 * change it reads the ledger. In the calm phase it lets the schedule act for a while,
 * pauses it, compares everything, and deletes it. */
#pragma once

#include "world.h"

struct keeper *keepers_new(struct world *w);
void keepers_free(struct world *w);
void keepers_rest(struct world *w); /* the calm phase: no new schedules, and an end for those that are */
bool keepers_are_done(const struct world *w);
void keepers_check_all(struct world *w); /* when every history is known */
