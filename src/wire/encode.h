/* Packing messages into buffers, and reading single fields of packed bytes. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* Appends the packed message. Fails as the buffer does (sticky), like the functions below. */
void wire_encode(struct buf *b, const ProtobufCMessage *m);
/* Appends a length-delimited field with these bytes as its content. */
void wire_add_bytes_field(struct buf *b, uint32_t field, struct str bytes);
/* Appends a message, packed, as a length-delimited field. */
void wire_add_message_field(struct buf *b, uint32_t field, const ProtobufCMessage *m);
void wire_add_varint(struct buf *b, uint64_t v);

/* One top-level field of packed bytes. The slices point into those bytes. */
struct wire_field {
    uint32_t number;
    uint8_t type; /* wire type */
    uint64_t varint; /* the value, for varints and both fixed widths */
    struct str content; /* without tag, and without the length of a length-delimited field */
    struct str whole; /* with tag and length */
};
/* Takes the next field from the front of *rest. False at the end, and at bytes that are no field; *ok is
 * false in the second case. */
bool wire_next_field(struct str *rest, struct wire_field *f, bool *ok);
/* Whether the content of a packed repeated field consists of whole varints. */
bool wire_is_varints(struct str packed);
