/* What the dialects borrow: calls of methods by their request, counted like all others. */
#pragma once

#include "mistral/mistral.h"

struct dispatch;

struct mistral_server bridge_server(struct dispatch *d);
