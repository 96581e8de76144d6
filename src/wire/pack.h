/* Packs a message in one pass, from its end to its beginning.
 *
 * A nested message is preceded by its length. Writing forwards needs every length in advance, so protobuf-c
 * walks each message once to measure and once to write, and nested messages again at each level. Writing
 * backwards, the length is known when its place comes. The bytes are the same as protobuf-c's.
 *
 *   struct packer p;
 *   packer_init(&p);
 *   packer_message(&p, m);            // then, in front of it:
 *   packer_prefix(&p, 1, length);
 *   if (packer_ok(&p)) ... packer_str(&p) ...
 *   packer_done(&p); */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/base.h"
#include "base/str.h"

#define PACKER_FIRST_BYTES 1536 /* most messages fit and need no allocation */

struct packer {
    uint8_t *space; /* `first`, or a block on the heap */
    size_t at; /* the packed bytes are [at, size) */
    size_t size;
    bool failed; /* sticky: no memory */
    uint8_t first[PACKER_FIRST_BYTES];
};

void packer_init(struct packer *p);
void packer_done(struct packer *p);
/* Puts the packed message in front of the bytes. Returns its length; 0 after a failure. */
size_t packer_message(struct packer *p, const ProtobufCMessage *m);
/* Puts the tag of a length-delimited field and the length of its content in front of the bytes. */
void packer_prefix(struct packer *p, uint32_t field, size_t length);

static inline bool packer_ok(const struct packer *p) {
    return !p->failed;
}
/* The packed bytes; valid until the next call. */
static inline struct str packer_str(const struct packer *p) {
    return str_bytes(p->space + p->at, p->size - p->at);
}
