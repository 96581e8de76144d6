/* Finding one run. */
#pragma once

#include "mistral/dialog.h"

/* Finds the run with the id x->id in any execution and calls found() with texts of the answer; answers 404
 * when there is none. */
void runs_find_by_id(struct dialog *x,
                     void (*found)(struct dialog *x, const char *workflow_id, const char *run_id));
