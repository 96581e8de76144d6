/* Facts for proto3 JSON that a message type implies but its descriptor does not state. Any thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/base.h"
#include "base/str.h"

/* Types that are not written as an object of their fields. */
enum shape {
    SHAPE_OBJECT,
    SHAPE_TIMESTAMP,
    SHAPE_DURATION,
    SHAPE_MASK,
    SHAPE_WRAPPER, /* written as its one field */
    SHAPE_ANY,
    SHAPE_PAYLOAD, /* this and the next have a shorthand */
    SHAPE_PAYLOADS,
};

enum shape shape_of(const ProtobufCMessageDescriptor *d);
/* Whether the field is a map, which protobuf-c has as repeated entries with a key and a value. */
bool shape_is_map(const ProtobufCMessageDescriptor *owner, const ProtobufCFieldDescriptor *f);

#define SHAPE_NAME_MAX 96
/* workflow_id -> workflowId, as protoc makes JSON names. */
void shape_camel(const char *name, char camel[SHAPE_NAME_MAX]);
/* The field with this name, in snake_case or camelCase; NULL when there is none. */
const ProtobufCFieldDescriptor *shape_field(const ProtobufCMessageDescriptor *d, struct str name);
/* The enum value with this name: in full, or without the prefix that its values share, in any case and with
 * or without underscores. NULL when there is none. */
const ProtobufCEnumValue *shape_enum_value(const ProtobufCEnumDescriptor *d, struct str name);
const char *shape_enum_name(const ProtobufCEnumDescriptor *d, int value); /* NULL when there is none */
/* The type of proto/ with this full name; NULL when there is none. */
const ProtobufCMessageDescriptor *shape_type(struct str full_name);
/* The i-th type of proto/, NULL past the end. */
const ProtobufCMessageDescriptor *shape_type_at(size_t i);
