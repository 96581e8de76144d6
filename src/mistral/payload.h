/* JSON of the dialect to payloads and back: what a workflow gets is the JSON as it was written. */
#pragma once

#include "common.pb-c.h"
#include "failure.pb-c.h"
#include "json/writer.h"
#include "mistral/dialog.h"

/* One argument; none for null and for what was not given. NULL then, or when memory is short. */
Common__Payloads *payload_input(struct arena *a, struct given input);
Common__Payloads *payload_words(struct arena *a, struct given text); /* the same for TEXT */
/* The same for what may be an encoded input, {"b64payload": ...}. False with a complaint at `place`. */
bool payload_message(struct dialog *x, const char *place, struct given input, Common__Payloads **ret);

/* The value: one payload is itself, none is null, several are a list. */
void payload_write(struct json_writer *w, const Common__Payloads *p);
void payload_write_one(struct json_writer *w, const Common__Payload *p);

/* A token of a page from a query; false with a complaint when it is none. */
bool read_token(struct dialog *x, const char *place, const struct given *given, ProtobufCBinaryData *ret);

/* Members of objects. An empty text is null. */
void write_text(struct json_writer *w, const char *key, const char *text);
void write_whole(struct json_writer *w, const char *key, int64_t n);
void write_bool(struct json_writer *w, const char *key, bool is_true);
void write_null(struct json_writer *w, const char *key);
void write_time(struct json_writer *w, const char *key,
                const Google__Protobuf__Timestamp *t); /* NULL: null */
void write_span(struct json_writer *w, const char *key, int64_t us); /* PT1H30M */
void write_token(struct json_writer *w, const char *key, struct str token); /* of a next page; empty: null */
void write_raw(struct json_writer *w, const char *key, const char *json);
