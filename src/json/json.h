/* Messages as JSON and back: the proto3 JSON mapping, driven by protobuf-c's
 * descriptors, with Temporal's shorthand for payloads.
 *
 * Written: names in camelCase, enums by name, 64-bit integers as strings, bytes
 * in base64, times as RFC 3339, durations as "1.500s", field masks as one
 * string, wrappers as their value, Any with "@type", maps as objects. Fields
 * that have their default are left out. Unknown fields are not shown.
 *
 * Read: all of that, names also as in the .proto file, enums also as numbers
 * and without their prefix, numbers also as strings. A field that is not known,
 * given twice, out of range or of the wrong type is refused with a text that
 * begins with its path: "schedule.spec.interval[2].every: unknown field".
 *
 * The shorthand: a payload of plain JSON is that JSON, and a list of them is an
 * array. A payload's bytes are the text as it was written, without the space
 * around it; no number in it changes. docs/decisions/0004 says why that takes a
 * reader of our own. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_TEXT_BYTES_MAX (16u << 20) /* four times what a message may have */

struct json_style {
    bool is_pretty; /* indented by two; otherwise one line without spaces */
    bool has_defaults; /* also fields that have their default, except messages and oneofs that are not set */
    bool has_shorthand;
};

/* Appends the message; no line end. ERR_INVALID when it holds a time that has no text; then, and when the
 * buffer is full (buf_ok), what was appended is of no use. */
int json_print(struct buf *out, const ProtobufCMessage *m, struct json_style style,
               struct err *reterr) must_check;

/* The text as a message of type d, in the arena. ERR_INVALID for what is wrong with the text, ERR_TOO_LARGE
 * above JSON_TEXT_BYTES_MAX, ERR_NO_MEMORY past the arena's budget. */
int json_parse(const ProtobufCMessageDescriptor *d, struct str text, bool has_shorthand, struct arena *a,
               ProtobufCMessage **ret, struct err *reterr) must_check;

/* False: the path leads to a name that no message of type d has. */
bool json_has_field(const ProtobufCMessageDescriptor *d, struct str path);

enum json_set { JSON_SET_OVER, JSON_SET_ONCE };
/* Sets one field of m from text that stands outside of JSON, as in a URL. The path leads through messages:
 * "execution.workflow_id" or "execution.workflowId". A value for a repeated field is added to it; what was
 * there before is written over, or with JSON_SET_ONCE refused. ERR_INVALID, ERR_NO_MEMORY. */
int json_set(ProtobufCMessage *m, struct str path, struct str value, enum json_set mode, struct arena *a,
             struct err *reterr) must_check;
