/* Messages of a test as text: JSON with ' for ", in which LONG is a text that is longer than any id may be.
 */
#pragma once

#include <string.h>

#include "core/step/limits.h"
#include "harness.h"
#include "json/json.h"

static inline void message_spell(struct buf *out, const char *text) {
    static const char word[] = "LONG";
    for (const char *p = text; *p; p++) {
        if (strncmp(p, word, sizeof(word) - 1) == 0) {
            for (int i = 0; i <= LIMIT_ID_BYTES; i++)
                buf_add_u8(out, 'x');
            p += sizeof(word) - 2;
        } else {
            buf_add_u8(out, (uint8_t)(*p == '\'' ? '"' : *p));
        }
    }
}

/* In the arena; NULL when there is no memory for it. */
static inline void *message_of(struct arena *a, const ProtobufCMessageDescriptor *d, const char *text) {
    struct buf json cleanup(buf_done);
    struct err e = {0};
    ProtobufCMessage *m = NULL;
    buf_init(&json, JSON_TEXT_BYTES_MAX);
    message_spell(&json, text);
    if (!buf_ok(&json))
        return NULL;
    int rc = json_parse(d, buf_str(&json), JSON_PAYLOADS_SHORTHAND, a, &m, &e);
    CHECK_STR(e.code == ERR_INVALID ? e.text : "", "");
    return rc < 0 ? NULL : m;
}
