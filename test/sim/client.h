/* Clients: they start workflows, signal, cancel, terminate, query and read them.
 *
 * Each client owns a few workflow ids and is the only one to start them, one
 * request id after the other; so all answers to one request id must name one
 * run. A call whose outcome is unknown is sent again with the same request id. */
#pragma once

#include "world.h"

struct client *clients_new(struct world *w);
void clients_free(struct world *w);
void clients_rest(struct world *w); /* nothing new; what is under way goes on */
void clients_unpause(struct world *w); /* all that may be paused; again and again in the calm phase */
bool clients_are_done(const struct world *w);
/* A signal that lets the run's program pass every wait for signals. */
void clients_send_end_signal(struct world *w, struct run_model *run);
