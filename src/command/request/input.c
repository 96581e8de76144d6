/* Arguments of workflows, signals, queries and updates: --input, --input-file, --input-meta,
 * --input-base64, and the same with a prefix (--signal-input-file).
 *
 * Each --input, then each --input-file, is one payload. --input-meta KEY=VALUE is metadata: the n-th value
 * of a key is for the n-th payload, and the first value is for payloads without one of their own. The
 * default encoding is json/plain; text with a json encoding must be JSON. */
#include <stdio.h>

#include "command/request/request.h"
#include "common.pb-c.h"
#include "json/base64.h"
#include "json/json.h"

#define INPUTS_MAX 128
#define INPUT_BYTES_MAX (4u << 20)
#define ENCODING "encoding"

struct input {
    struct command *command;
    const char *prefix; /* "input", "signal-input" */
    struct arena *arena;
    struct err *err;
};

/* The n-th value of a flag that belongs to the prefix: "file" is --input-file. */
static const char *input_related_value(const struct input *in, const char *suffix, size_t n) {
    const char *name = arena_printf(in->arena, "%s-%s", in->prefix, suffix);
    return name ? opt_named_list(in->command->args, name, n) : NULL;
}

int input_read_file(const char *path, size_t bytes_max, struct arena *a, struct str *ret) {
    struct buf text;
    char block[4096];
    size_t n;
    FILE *f = cstr_eq(path, "-") ? stdin : fopen(path, "rb");
    if (!f)
        return ERR_INVALID;
    buf_init(&text, bytes_max);
    while ((n = fread(block, 1, sizeof(block), f)) > 0)
        buf_add(&text, block, n);
    bool is_read = !ferror(f) && buf_ok(&text);
    if (f != stdin)
        fclose(f);
    const char *kept = is_read ? arena_strndup(a, text.len ? (const char *)text.data : "", text.len) : NULL;
    *ret = str_bytes(kept, text.len);
    buf_done(&text);
    return kept ? 0 : ERR_INVALID;
}

static int input_read_argument(const struct input *in, const char *path, struct str *ret) {
    if (input_read_file(path, INPUT_BYTES_MAX, in->arena, ret) == 0)
        return 0;
    return err_set(in->err, ERR_INVALID, "--%s-file: cannot read %s, or it is larger than 4 MiB", in->prefix,
                   path);
}

/* The metadata value of a key for the n-th payload: the n-th value, else the first. */
static const char *input_meta_for(const struct input *in, struct str key, size_t n) {
    const char *text, *first = NULL, *own = NULL;
    size_t seen = 0;
    for (size_t i = 0; (text = input_related_value(in, "meta", i)); i++) {
        size_t length = strcspn(text, "=");
        if (!str_eq(key, str_bytes(text, length)))
            continue;
        if (!first)
            first = text + length + 1;
        if (seen++ == n)
            own = text + length + 1;
    }
    return own ? own : first;
}

static int input_add_meta(const struct input *in, Common__Payload *p, const char *key, const char *value) {
    Common__Payload__MetadataEntry *entry = arena_alloc(in->arena, sizeof(*entry));
    if (!entry)
        return err_std(in->err, ERR_NO_MEMORY);
    common__payload__metadata_entry__init(entry);
    entry->key = arena_strdup(in->arena, key);
    entry->value = (ProtobufCBinaryData){strlen(value), (uint8_t *)arena_strdup(in->arena, value)};
    if (!entry->key || !entry->value.data)
        return err_std(in->err, ERR_NO_MEMORY);
    p->metadata[p->n_metadata++] = entry;
    return 0;
}

static int input_set_meta(const struct input *in, Common__Payload *p, size_t n) {
    const char *text;
    int rc = 0;
    p->metadata = arena_array(in->arena, Common__Payload__MetadataEntry *, INPUTS_MAX);
    if (!p->metadata)
        return err_std(in->err, ERR_NO_MEMORY);
    for (size_t i = 0; rc == 0 && i < INPUTS_MAX - 1 && (text = input_related_value(in, "meta", i)); i++) {
        size_t length = strcspn(text, "=");
        if (!length || !text[length])
            return err_set(in->err, ERR_INVALID, "--%s-meta: \"%s\" is not KEY=VALUE", in->prefix, text);
        char *key = arena_strndup(in->arena, text, length);
        bool is_there = false;
        for (size_t k = 0; key && k < p->n_metadata; k++)
            is_there = is_there || cstr_eq(p->metadata[k]->key, key);
        if (!is_there)
            rc = key ? input_add_meta(in, p, key, input_meta_for(in, str_of(key), n))
                     : err_std(in->err, ERR_NO_MEMORY);
    }
    if (rc == 0 && !input_meta_for(in, STR(ENCODING), n))
        rc = input_add_meta(in, p, ENCODING, "json/plain");
    return rc;
}

static int input_check_json(const struct input *in, struct str text) {
    ProtobufCMessage *ignored;
    struct err e;
    if (json_parse(&common__payload__descriptor, text, true, in->arena, &ignored, &e) < 0)
        return err_set(in->err, ERR_INVALID, "--%s: %s", in->prefix, e.text);
    return 0;
}

static int input_set_data(const struct input *in, Common__Payload *p, struct str text) {
    const char *name = arena_printf(in->arena, "%s-base64", in->prefix);
    if (name && opt_named_flag(in->command->args, name)) {
        struct str bytes;
        if (base64_read(in->arena, text, &bytes) < 0)
            return err_set(in->err, ERR_INVALID, "--%s: \"%.40s\" is not base64", in->prefix, text.p);
        p->data = (ProtobufCBinaryData){bytes.n, (uint8_t *)arena_dup(in->arena, bytes.p, bytes.n)};
        return 0;
    }
    const char *encoding = input_related_value(in, "meta", 0) ? input_meta_for(in, STR(ENCODING), 0) : NULL;
    p->data = (ProtobufCBinaryData){text.n, (uint8_t *)arena_dup(in->arena, text.p, text.n)};
    return !encoding || strncmp(encoding, "json/", 5) == 0 ? input_check_json(in, text) : 0;
}

static int input_add_payload(const struct input *in, Common__Payloads *list, struct str text) {
    Common__Payload *p = arena_alloc(in->arena, sizeof(*p));
    if (!p)
        return err_std(in->err, ERR_NO_MEMORY);
    if (list->n_payloads == INPUTS_MAX)
        return err_set(in->err, ERR_INVALID, "--%s: at most %d arguments can be sent", in->prefix,
                       INPUTS_MAX);
    common__payload__init(p);
    int rc = input_set_meta(in, p, list->n_payloads);
    if (rc == 0)
        rc = input_set_data(in, p, text);
    list->payloads[list->n_payloads++] = p;
    return rc;
}

static int input_fill_payloads(const struct input *in, Common__Payloads *list) {
    const char *text;
    struct str file;
    int rc = 0;
    list->payloads = arena_array(in->arena, Common__Payload *, INPUTS_MAX);
    if (!list->payloads)
        return err_std(in->err, ERR_NO_MEMORY);
    for (size_t i = 0; rc == 0 && (text = opt_named_list(in->command->args, in->prefix, i)); i++)
        rc = input_add_payload(in, list, str_of(text));
    for (size_t i = 0; rc == 0 && (text = input_related_value(in, "file", i)); i++) {
        rc = input_read_argument(in, text, &file);
        if (rc == 0)
            rc = input_add_payload(in, list, file);
    }
    return rc;
}

int input_set(struct command *c, const char *prefix, ProtobufCMessage *m, const char *path,
              struct err *reterr) {
    struct input in = {c, prefix, &c->arena, reterr};
    if (!opt_named_list(c->args, prefix, 0) && !input_related_value(&in, "file", 0))
        return 0;
    ProtobufCMessage *list = request_message(m, path, &c->arena);
    if (!list)
        return err_std(reterr, ERR_NO_MEMORY);
    ensure(list->descriptor == &common__payloads__descriptor);
    return input_fill_payloads(&in, (Common__Payloads *)list);
}
