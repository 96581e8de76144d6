/* The first step of each call in routes.def. */
#pragma once

#include "mistral/dialog.h"

#define ROUTE(name, verb, path, status, body, query, begin) dialog_step begin_##begin;
#include "mistral/routes.def"
#undef ROUTE
