/* What fields of messages look like in text: words, times, sizes, lists; never JSON but for payloads. */
#pragma once

#include "command/schedule_show.h"

#define CELL_BYTES_MAX (4u << 20)

struct cell_style {
    const struct command *command;
    bool is_iso, is_first_only;
};

/* What the path leads to; nothing when a message on the way is not there. */
void cell_add_field(struct buf *out, const ProtobufCMessage *m, struct str path, struct cell_style style);
/* WORKFLOW_EXECUTION_STATUS_TIMED_OUT is TimedOut; what stands for nothing is nothing. */
void cell_add_enum(struct buf *out, const ProtobufCEnumDescriptor *d, int value);
void cell_add_bytes(struct buf *out, int64_t n); /* 512 bytes, 1.5 KiB */
