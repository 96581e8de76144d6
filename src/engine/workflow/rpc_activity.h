/* What the requests about activities share. */
#pragma once

#include "engine/runtime/engine_int.h"

/* Finds the run that a request wants to change: op->run, as op_need_execution does. */
int activity_need_run(struct op *op, const char *namespace_name,
                      const Common__WorkflowExecution *ex) must_check;
