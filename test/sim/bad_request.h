/* Requests that must be refused: tokens and ids that nobody gave out, or that belong to another namespace. */
#pragma once

#include "rpc.h"

/* A request in the arena, and which call it is for. */
const void *bad_request(struct world *w, struct arena *a, enum rpc_kind *ret_kind);
