/* Fields of messages as text: words, times, sizes, lists. Only payloads are shown as JSON. */
#pragma once

#include "command/command_int.h"

#define CELL_BYTES_MAX (4u << 20)

struct cell_style {
    const struct command *command; /* its --time-format counts */
    bool is_iso; /* times in full, whatever --time-format says */
    bool is_first_only; /* of a list only the first item */
};

/* Appends the field at the path; nothing when it, or a message on the way, is not set. "*" as a path is the
 * field that the oneof of the message holds. */
void cell_add_field(struct buf *out, const ProtobufCMessage *m, struct str path, struct cell_style style);
/* WORKFLOW_EXECUTION_STATUS_TIMED_OUT is TimedOut; nothing for UNSPECIFIED and for unknown values. */
void cell_add_enum(struct buf *out, const ProtobufCEnumDescriptor *d, int value);
void cell_add_bytes(struct buf *out, int64_t n); /* 512 bytes, 1.5 KiB */
