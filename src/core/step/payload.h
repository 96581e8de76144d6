/* Payloads that the server itself makes. All are in the arena; NULL when it is full. */
#pragma once

#include "base/arena.h"
#include "common.pb-c.h"

/* A text as a JSON payload with its encoding and, when it is a search attribute, its type (or NULL). */
Common__Payload *payload_of_text(const char *text, const char *type, struct arena *arena);
/* One such payload, as details and results have them. */
Common__Payloads *payloads_of_text(const char *text, struct arena *arena);
