/* Between the JSON of the dialect and payloads. A workflow receives the JSON as the client wrote it. */
#pragma once

#include "common.pb-c.h"
#include "json/writer.h"
#include "mistral/dialog.h"

/* One argument, copied into the arena. Returns NULL for JSON null, for a value that was not given, and when
 * memory is short (the arena remembers that). */
Common__Payloads *payload_from_json(struct arena *a, struct field_value json);
Common__Payloads *payload_from_text(struct arena *a, struct field_value text); /* of a FIELD_TEXT */
/* An argument that may be encoded: {"b64payload": ...}. *ret is NULL when there is no argument. Returns false
 * after adding a complaint at `place`. */
bool payload_read_input(struct dialog *x, const char *place, struct field_value input,
                        Common__Payloads **ret);

/* Writes the value: null for none, the value itself for one payload, a list for several. */
void payload_write(struct json_writer *w, const Common__Payloads *p);
