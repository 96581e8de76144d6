/* What proto3 JSON needs to know of a message type that its descriptor does not say outright. */
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
    SHAPE_WRAPPER, /* its one field alone */
    SHAPE_ANY,
    SHAPE_PAYLOAD, /* these two have a shorthand */
    SHAPE_PAYLOADS,
};

enum shape shape_of(const ProtobufCMessageDescriptor *d);
/* Whether the field is a map: protobuf-c has it as repeated entries with a key and a value. */
bool shape_is_map(const ProtobufCMessageDescriptor *owner, const ProtobufCFieldDescriptor *f);

#define SHAPE_NAME_MAX 96
/* workflow_id -> workflowId, as protoc makes JSON names. */
void shape_camel(const char *name, char camel[SHAPE_NAME_MAX]);
/* The field that a name means, in either form; NULL when there is none. */
const ProtobufCFieldDescriptor *shape_field(const ProtobufCMessageDescriptor *d, struct str name);
/* The value that a name means: WORKFLOW_TASK_FAILED_CAUSE_X in full, or without what all of its values begin
 * with, in any case and with or without underscores. NULL when there is none. */
const ProtobufCEnumValue *shape_enum_value(const ProtobufCEnumDescriptor *d, struct str name);
const char *shape_enum_name(const ProtobufCEnumDescriptor *d, int value); /* NULL when there is none */
/* The type of proto/ with this full name; NULL when there is none. */
const ProtobufCMessageDescriptor *shape_type(struct str full_name);
/* The i-th type of proto/, NULL past the end. */
const ProtobufCMessageDescriptor *shape_type_at(size_t i);
