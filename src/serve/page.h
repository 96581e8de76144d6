/* The HTML page at /namespaces. */
#pragma once

#include "base/buf.h"

struct engine;

/* HTML that names the server and lists its namespaces. ERR_* when the engine does not answer. */
int page_namespaces(struct engine *e, struct buf *out) must_check;
