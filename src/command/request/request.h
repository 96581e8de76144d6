/* From the flags of a command to its request. Everything is allocated from the command's arena.
 *
 * Paths name fields with dots between them ("schedule.spec.jitter"). They come from the tables; a path that
 * is no field of the message stops the program (ensure). */
#pragma once

#include "command/command_int.h"

/* request.c: builds c->request from all flags of the line. ERR_INVALID after a line on stderr. */
int request_build(struct command *c) must_check;
/* The same on top of the fields that c->request has already. */
int request_apply(struct command *c) must_check;
/* A request for the call with the fields that every request has: namespace, identity, request id. NULL after
 * a line on stderr. */
ProtobufCMessage *request_new(struct command *c, enum client_method call);
/* Sets the field at the path; makes messages on the way; appends to a list. ERR_INVALID, ERR_TOO_LARGE,
 * ERR_NO_MEMORY. */
int request_set(ProtobufCMessage *m, const char *path, enum flag_form form, const char *text, struct arena *a,
                struct err *reterr) must_check;
/* The message at the path, made if it is missing. NULL: out of memory. */
ProtobufCMessage *request_message(ProtobufCMessage *m, const char *path, struct arena *a);
bool request_has_field(const ProtobufCMessage *m, const char *field);
/* The descriptor of the field at the path. */
const ProtobufCFieldDescriptor *request_leaf(const ProtobufCMessageDescriptor *d, const char *path);
bool request_is_timestamp(const ProtobufCFieldDescriptor *f);
/* Copies the page token of the response into the request. False when there is no further page, or no memory
 * (arena_failed tells which). */
bool request_copy_page_token(ProtobufCMessage *request, const ProtobufCMessage *response, struct arena *a);
const char *request_random_id(struct command *c); /* a UUID; NULL: out of memory */
const char *request_identity(const struct command *c); /* --identity, or user@host */

/* special.c: fields that follow from more than one flag. ERR_INVALID after a line on stderr. */
int request_set_special(struct command *c) must_check;

/* input.c: the arguments of --input, --input-file, --input-meta and --input-base64 as the payloads at the
 * path. `prefix` is the name of the first flag: "input", "signal-input". */
int input_set(struct command *c, const char *prefix, ProtobufCMessage *m, const char *path,
              struct err *reterr) must_check;
/* Reads a whole file into the arena; "-" is stdin. ERR_INVALID when it cannot be read or is larger. */
int input_read_file(const char *path, size_t bytes_max, struct arena *a, struct str *ret) must_check;

/* when.c: times as people write them. ERR_INVALID, or NULL, with the reason in reterr. */
int when_read(struct command *c, const char *text, int64_t *ret_seconds, int32_t *ret_nanos,
              struct err *reterr) must_check;
const char *when_text(struct command *c, const char *text, struct err *reterr); /* 2026-03-01T09:00:00Z */
/* "tomorrow" as a date in the zone of --time-zone; any other text unchanged. */
const char *when_date(struct command *c, const char *text, struct err *reterr);
/* The zone's name; "local" becomes the zone of this machine. */
int when_zone(struct command *c, const char *text, const char **ret, struct err *reterr) must_check;
