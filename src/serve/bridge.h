/* The server as Mistral's dialect sees it: calls of methods by their request message, through ingress. */
#pragma once

#include "mistral/mistral.h"

struct ingress;

/* `in` must outlive it. */
struct mistral_server bridge_server(struct ingress *in);
