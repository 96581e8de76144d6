/* What DescribeWorkflowExecution and the lists both show of a run. */
#pragma once

#include "engine/runtime/engine_int.h"

/* For as long as the state stays as it is: parts of it are shared. NULL, or with parts missing, when it is exhausted (sticky there). */
Workflow__WorkflowExecutionInfo *execution_info(struct arena *a, const State__Execution *st);
