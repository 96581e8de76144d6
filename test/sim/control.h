/* What clients do to activities and runs while they are under way: pause, unpause, reset, other options.
 *
 * One of these at a time for each activity, and for each run, so that what holds after an answer is known. A
 * paused one gets no worker until somebody unpauses it; in the calm phase everything is unpaused, and must go
 * on. */
#pragma once

#include "errand.h"
#include "rpc.h"

enum control_kind { CONTROL_PAUSE, CONTROL_UNPAUSE, CONTROL_RESET, CONTROL_OPTIONS, CONTROL_KIND_COUNT };

#define CONTROL_RUN UINT32_MAX /* instead of an activity: the run itself, pause and unpause only */

bool control_has_activity(const struct run_model *run); /* that seems to be under way */
/* Chooses what is done to the run or to one of its activities; false when nothing can be. */
bool control_choose(struct errand *e);
/* An unpause of something that may be paused; false when nothing of the run is. */
bool control_choose_unpause(struct errand *e);
const void *control_request(struct errand *e, struct arena *a, enum rpc_kind *ret_kind);
void control_ended(struct errand *e);
void control_on_ok(struct rpc *r);
/* Nothing that is paused is handed out. started_us: by the wall clock, from the task. */
void control_check_task(struct world *w, const struct run_model *run, uint32_t activity, int64_t started_us);
/* What a describe says of an activity is what was acknowledged. */
void control_check_describe(struct rpc *r);
