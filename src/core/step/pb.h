/* Building and changing protobuf-c trees that live on the heap, and times.
 *
 * The state of a run is a generated message. Its strings, arrays and
 * submessages are owned by the tree and freed with it. All functions that
 * allocate take the step's failure flag: once it is set they still leave the
 * tree valid, and the caller checks once at the end. */
#pragma once

#include <google/protobuf/duration.pb-c.h>
#include <google/protobuf/timestamp.pb-c.h>
#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/clock.h"
#include "base/str.h"
#include "core/step/limits.h"

void pb_set_string(char **field, const char *value, bool *failed);
void pb_set_bytes(ProtobufCBinaryData *field, struct str value, bool *failed);
void *pb_clone(const ProtobufCMessage *m, bool *failed); /* NULL for NULL */
/* Frees the old value (may be NULL) and stores a copy of the new one (may be NULL). */
void pb_set_message(void *field, const void *m, bool *failed);
void *pb_new(const ProtobufCMessageDescriptor *d, bool *failed);
void pb_free(void *m); /* any message from these functions; NULL is fine */

/* Arrays of messages or strings. Items appended are owned by the tree, also on failure (then freed). */
void pb_append_message(size_t *n, void *array, void *item, bool *failed);
void pb_append_string(size_t *n, char ***array, const char *value, bool *failed);
void pb_append_int64(size_t *n, int64_t **array, int64_t value, bool *failed);
void pb_append_bytes(size_t *n, ProtobufCBinaryData **array, struct str bytes, bool *failed);
void pb_remove_message(size_t *n, void *array, size_t i);
void pb_remove_item(size_t *n, void *array, const void *item); /* which is in the array */
void pb_remove_string(size_t *n, char **array, size_t i);
void pb_remove_bytes(size_t *n, ProtobufCBinaryData *array, size_t i);
void pb_clear_messages(size_t *n, void *array);
void pb_clear_bytes(size_t *n, ProtobufCBinaryData **array);

struct str pb_bytes(const ProtobufCBinaryData *d);

/* Microseconds; what is finer is cut, what does not fit is capped. NULL is 0. */
int64_t pb_duration_us(const Google__Protobuf__Duration *d);
#define PB_WAIT_US_MAX (LIMIT_DURATION_DAYS * INT64_C(86400) * USEC_PER_SEC)
/* How long something waits: a century at most, since clients and JSON cannot tell of much longer. */
int64_t pb_wait_us(const Google__Protobuf__Duration *d);
/* The same as a message: d itself, or room with a century; NULL for NULL. */
Google__Protobuf__Duration *pb_wait(Google__Protobuf__Duration *d, Google__Protobuf__Duration *room);
bool pb_duration_valid(const Google__Protobuf__Duration *d); /* NULL is valid; negative is not */
Google__Protobuf__Duration pb_duration(int64_t us);
Google__Protobuf__Timestamp pb_timestamp(int64_t us);
int64_t pb_timestamp_us(const Google__Protobuf__Timestamp *t); /* floored, capped; NULL is 0 */
bool pb_timestamp_valid(const Google__Protobuf__Timestamp *t); /* NULL is valid */

/* The same for what is shown and not kept; NULL when the arena is full. */
void *pb_arena_new(const ProtobufCMessageDescriptor *d, struct arena *arena);
void *pb_arena_clone(const void *m, struct arena *arena); /* NULL for NULL */
Google__Protobuf__Timestamp *pb_arena_timestamp(int64_t us, struct arena *arena);
Google__Protobuf__Duration *pb_arena_duration(int64_t us, struct arena *arena);
