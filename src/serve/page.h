/* The page that shows what this server holds. */
#pragma once

#include "base/buf.h"

struct engine;

/* HTML that names the server and lists its namespaces. ERR_* when the engine does not answer. */
int page_namespaces(struct engine *e, struct buf *out) must_check;
