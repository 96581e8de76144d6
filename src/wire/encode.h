/* Packing messages, and splicing bytes that are already packed. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* Appends the packed message. */
void wire_encode(struct buf *b, const ProtobufCMessage *m);
/* Appends `field` as a length-delimited field with these bytes as its content. */
void wire_add_bytes_field(struct buf *b, uint32_t field, struct str bytes);
/* Appends a message packed as the length-delimited field `field`. */
void wire_add_message_field(struct buf *b, uint32_t field, const ProtobufCMessage *m);
void wire_add_varint(struct buf *b, uint64_t v);

/* Walks the top-level fields of packed bytes. For length-delimited fields `content` is the inside,
 * `whole` includes tag and length. False at the end; *ok tells whether the end was clean. */
struct wire_field {
    uint32_t number;
    uint8_t type; /* wire type */
    uint64_t varint; /* the value, for varints and both fixed widths */
    struct str content;
    struct str whole;
};
bool wire_next_field(struct str *rest, struct wire_field *f, bool *ok);
/* Whether the content of a packed field is a row of whole varints. */
bool wire_is_varints(struct str packed);
