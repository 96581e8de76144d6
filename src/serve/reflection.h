/* The files of proto/ as the binary knows them, for clients that have none: descriptors, made at build time.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct reflected_file {
    const char *name; /* "workflowservice.proto" */
    const char *package;
    size_t bytes; /* of the descriptor */
    struct str packed; /* the descriptor with gzip */
};

const struct reflected_file *reflection_at(size_t i); /* NULL past the end */
const struct reflected_file *reflection_by_name(const char *name); /* NULL: none has it */
/* The file that defines a message, field, oneof, enum, service or method, by its full name. NULL when none
 * does; the arena tells whether that was for lack of memory. */
const struct reflected_file *reflection_by_symbol(const char *symbol, struct arena *a);
/* Its FileDescriptorProto, in the arena; empty when there is no memory. */
struct str reflection_unpack(const struct reflected_file *f, struct arena *a);
/* The next file that a descriptor imports, behind *at, which begins with 0. NULL: no more. */
const struct reflected_file *reflection_next_import(struct str descriptor, size_t *at);
