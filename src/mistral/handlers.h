/* The first step of each call: the last column of routes.def names it, and the calls define it. */
#pragma once

#include "mistral/dialog.h"

#define ROUTE(name, verb, path, status, body, query, begin) dialog_step begin;
#include "mistral/routes.def"
#undef ROUTE
