/* Updates: accepted once, completed once, the same outcome for everyone who asks; rejected ones leave no
 * trace. */
#pragma once

#include "history.pb-c.h"
#include "model.h"
#include "workflowservice.pb-c.h"

struct rpc;
struct world;

void update_on_answer(struct world *w, struct request_model *update, const char *namespace_name,
                      const Ws__UpdateWorkflowExecutionResponse *m);
void update_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);
/* What can be said when the whole history of every run is known. */
void update_check_all(struct world *w);
