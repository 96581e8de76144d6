/* Packing a message in one pass, from its end to its beginning.
 *
 * A nested message is preceded by its length. Written forwards, every length has to be known before, so
 * protobuf-c walks each message once to measure and once to write, and messages inside messages again.
 * Written backwards, the length is known when its place comes. The bytes are the same as protobuf-c's.
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

#define PACKER_FIRST_BYTES 1536 /* most messages fit, and then nothing is allocated */

struct packer {
    uint8_t *space; /* `first`, or on the heap */
    size_t at; /* the packed bytes are [at, size) */
    size_t size;
    bool failed; /* sticky: no memory */
    uint8_t first[PACKER_FIRST_BYTES];
};

void packer_init(struct packer *p);
void packer_done(struct packer *p);
/* Puts the packed message in front of what is there; returns its length. */
size_t packer_message(struct packer *p, const ProtobufCMessage *m);
/* Puts the tag of a length-delimited field and the length of its content in front of that content. */
void packer_prefix(struct packer *p, uint32_t field, size_t length);

static inline bool packer_ok(const struct packer *p) {
    return !p->failed;
}
static inline struct str packer_str(const struct packer *p) {
    return str_bytes(p->space + p->at, p->size - p->at);
}
