/* Payloads that the server itself makes: texts as JSON. */
#include "core/step/payload.h"

#include "core/step/pb.h"

#define JSON_CHAR_MAX 6 /* \u00xx */

static char *put_json_char(char *at, char c) {
    static const char hex[] = "0123456789abcdef";
    if ((unsigned char)c < ' ') {
        memcpy(at, "\\u00", 4);
        at[4] = hex[c >> 4];
        at[5] = hex[c & 15];
        return at + JSON_CHAR_MAX;
    }
    if (c == '"' || c == '\\')
        *at++ = '\\';
    *at++ = c;
    return at;
}

static ProtobufCBinaryData json_string(const char *text, struct arena *arena) {
    char *json = arena_alloc(arena, JSON_CHAR_MAX * strlen(text) + 2), *at = json;
    if (!json)
        return (ProtobufCBinaryData){0};
    *at++ = '"';
    for (; *text; text++)
        at = put_json_char(at, *text);
    *at++ = '"';
    return (ProtobufCBinaryData){(size_t)(at - json), (uint8_t *)json};
}

Common__Payload *payload_of_text(const char *text, const char *type, struct arena *arena) {
    Common__Payload *payload = pb_arena_new(&common__payload__descriptor, arena);
    const char *metadata[][2] = {{"encoding", "json/plain"}, {"type", type}};
    size_t n = type ? 2 : 1;
    if (!payload || !(payload->metadata = arena_array(arena, Common__Payload__MetadataEntry *, n)))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        Common__Payload__MetadataEntry *m = pb_arena_new(&common__payload__metadata_entry__descriptor, arena);
        if (!m)
            return NULL;
        m->key = arena_strdup(arena, metadata[i][0]);
        m->value =
            (ProtobufCBinaryData){strlen(metadata[i][1]), (uint8_t *)arena_strdup(arena, metadata[i][1])};
        payload->metadata[payload->n_metadata++] = m;
    }
    payload->data = json_string(text, arena);
    return arena_failed(arena) ? NULL : payload;
}

Common__Payloads *payloads_of_text(const char *text, struct arena *arena) {
    Common__Payloads *all = pb_arena_new(&common__payloads__descriptor, arena);
    if (!all || !(all->payloads = arena_array(arena, Common__Payload *, 1)))
        return NULL;
    all->payloads[0] = payload_of_text(text, NULL, arena);
    all->n_payloads = 1;
    return all->payloads[0] ? all : NULL;
}
