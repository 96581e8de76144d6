/* Bytes as a config and as an env file: read, or refused with a line; what was read and is written again
 * reads the same. */
#include "fuzz.h"

#include "command/profile/profiles.h"

static void check_same(const struct profiles *a, const struct profiles *b) {
    for (size_t i = 0; i < a->count; i++) {
        const struct profile_entry *e = &a->entries[i];
        ensure(profiles_has(b, e->profile));
        ensure(!e->key || cstr_eq(profiles_get(b, e->profile, e->key), e->value));
    }
}

static void check(struct str text, int (*read)(struct profiles *, struct str, struct err *),
                  void (*write)(const struct profiles *, struct buf *)) {
    struct arena a cleanup(arena_done);
    struct profiles first, second;
    struct err e = {0};
    struct buf out cleanup(buf_done);
    arena_init(&a, (size_t)64 << 20);
    buf_init(&out, (size_t)64 << 20);
    profiles_init(&first, &a);
    profiles_init(&second, &a);
    if (read(&first, text, &e) < 0) {
        ensure(e.text[0]);
        return;
    }
    if (first.has_more) /* such a file is not written */
        return;
    write(&first, &out);
    ensure(buf_ok(&out));
    ensure(read(&second, buf_str(&out), &e) == 0);
    check_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text = str_bytes(data, size);
    if (memchr(data ? (const void *)data : "", '\0', size)) /* no text file has one */
        return 0;
    check(text, toml_read, toml_write);
    check(text, yaml_read, yaml_write);
    return 0;
}
