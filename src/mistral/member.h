/* Members of JSON objects in answers: one key and one value into the object that is open.
 *
 * Keys and texts are UTF-8 and are copied. Failures stay in the writer's buffer. */
#pragma once

#include "google/protobuf/timestamp.pb-c.h"
#include "json/writer.h"
#include "mistral/dialog.h"

void member_write_text(struct json_writer *w, const char *key, const char *text); /* NULL and "": null */
void member_write_whole(struct json_writer *w, const char *key, int64_t n);
void member_write_bool(struct json_writer *w, const char *key, bool is_true);
void member_write_null(struct json_writer *w, const char *key);
void member_write_time(struct json_writer *w, const char *key,
                       const Google__Protobuf__Timestamp *t); /* RFC 3339; NULL: null */
void member_write_duration(struct json_writer *w, const char *key, int64_t us); /* ISO 8601 */
void member_write_raw(struct json_writer *w, const char *key,
                      const char *json); /* json is written as it is */

/* The token of the next page, in base64; an empty token is null. */
void member_write_token(struct json_writer *w, const char *key, struct str token);
/* The token from the query parameter `place`, into the dialog's arena; unset when it was not given. Returns
 * false after adding a complaint when the text is not base64. */
bool member_read_token(struct dialog *x, const char *place, const struct field_value *given,
                       ProtobufCBinaryData *ret);
