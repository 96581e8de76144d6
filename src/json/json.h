/* Messages as JSON and back: the proto3 JSON mapping, driven by protobuf-c's descriptors, with Temporal's
 * shorthand for payloads.
 *
 * Printed: names in camelCase, enums by name, 64-bit integers as strings, bytes in base64, times as RFC 3339,
 * durations as "1.500s", field masks as one string, wrappers as their value, Any with "@type", maps as
 * objects. Fields with their default value are left out. Unknown fields are not printed.
 *
 * Parsed: all of that, names also as in the .proto file, enums also as numbers and without their prefix,
 * numbers also as strings. A field that is unknown, given twice, out of range or of the wrong type is refused
 * with a text that begins with its path: "schedule.spec.interval[2].every: unknown field".
 *
 * The shorthand: a payload of plain JSON is that JSON, and a list of such payloads is an array. The payload's
 * bytes are the text as written, without the surrounding space; numbers keep their digits.
 * docs/decisions/0004 explains why this needs a reader of its own.
 *
 * Pure functions; any thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_TEXT_BYTES_MAX (16u << 20) /* four times the largest message */

struct json_style {
    bool is_pretty; /* indented by two; otherwise one line without spaces */
    bool has_defaults; /* print fields with their default value, too, except unset messages and oneofs */
    bool has_shorthand; /* payloads in shorthand */
};

/* Appends the message without a line end. ERR_INVALID for a time that has no text. Discard the appended text
 * then, and when the buffer has failed (buf_ok). */
int json_print(struct buf *out, const ProtobufCMessage *m, struct json_style style,
               struct err *reterr) must_check;

/* Whether parsing accepts payloads in shorthand, too. */
enum json_payloads { JSON_PAYLOADS_FULL, JSON_PAYLOADS_SHORTHAND };
/* Parses the text as a message of type d into the arena. ERR_INVALID for a wrong text, ERR_TOO_LARGE above
 * JSON_TEXT_BYTES_MAX, ERR_NO_MEMORY past the arena's budget. */
int json_parse(const ProtobufCMessageDescriptor *d, struct str text, enum json_payloads payloads,
               struct arena *a, ProtobufCMessage **ret, struct err *reterr) must_check;

/* Whether a message of type d has the field at this path. */
bool json_has_field(const ProtobufCMessageDescriptor *d, struct str path);

enum json_set { JSON_SET_OVER, JSON_SET_ONCE };
/* Sets one field of m from text outside of JSON, such as a URL parameter. The path leads through messages:
 * "execution.workflow_id" or "execution.workflowId". A repeated field gets one more value. An earlier value
 * of any other field is replaced, or refused with JSON_SET_ONCE. ERR_INVALID, ERR_NO_MEMORY. */
int json_set(ProtobufCMessage *m, struct str path, struct str value, enum json_set mode, struct arena *a,
             struct err *reterr) must_check;
