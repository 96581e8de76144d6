/* The checks: each compares one answer of the server with what was promised before.
 *
 * The names in the failure line are those of the functions, without
 * "check_". G1 to G11 are the promises that README.md lists; every check cites
 * the one that it defends. */
#pragma once

#include "model.h"

struct rpc;
struct world;

/* Called when the server answers, before the caller hears of it. */
void checker_on_ok(struct rpc *r);
void checker_on_error(struct rpc *r);
/* All promises about a run whose history was just read to its end. Only what was acknowledged before
 * began_us counts: the reading may have missed the rest. is_settled: no workflow task was started when the
 * reading began, so that nothing can be buffered. */
void checker_promises(struct world *w, struct run_model *run, int64_t began_us, bool is_settled);
/* Promises that name no run: signals to whatever run was the current one. */
void checker_loose_promises(struct world *w);
