/* Checks of tasks that the server hands out. */
#pragma once

struct rpc;

/* An OK answer to a poll, or to a completion that may hold the next task. */
void checker_on_task(struct rpc *r);
