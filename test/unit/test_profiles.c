/* Env and config files: what is understood of TOML and YAML, what is refused, and that what is written reads
 * the same. */
#include "command/profile/profiles.h"
#include "harness.h"

struct row {
    int line;
    const char *text;
    const char *want; /* "profile/key=value;..." or the start of the error */
};

static void summary(const struct profiles *p, struct buf *out) {
    for (size_t i = 0; i < p->count; i++) {
        const struct profile_entry *e = &p->entries[i];
        if (e->key)
            buf_printf(out, "%s/%s=%s;", e->profile, e->key, e->value);
    }
    buf_add_u8(out, '\0');
}

static void check_row(const struct row *r, int (*read)(struct profiles *, struct str, struct err *)) {
    struct arena arena;
    struct profiles p;
    struct err e = {0};
    struct buf got;
    arena_init(&arena, 1u << 20);
    buf_init(&got, 1u << 16);
    profiles_init(&p, &arena);
    if (read(&p, str_of(r->text), &e) < 0)
        buf_printf(&got, "%s%c", e.text, '\0');
    else
        summary(&p, &got);
    if (buf_ok(&got) && !arena_failed(&arena) &&
        !test_check_str(str_of((const char *)got.data), str_of(r->want), __FILE__, r->line, r->text))
        CHECK(false);
    buf_done(&got);
    arena_done(&arena);
}

TEST(profiles_toml) {
    static const struct row rows[] = {
        {__LINE__, "", ""},
        {__LINE__, "# only a comment\n\n", ""},
        {__LINE__, "[profile.a]\naddress = \"x:1\"\n", "a/address=x:1;"},
        {__LINE__, "[ profile . \"a b\" ] # here\r\naddress='x\\n' # there\r\n", "a b/address=x\\n;"},
        {__LINE__, "[profile.a.tls]\n", "a/tls=true;"},
        {__LINE__, "[profile.a.tls]\nclient_cert_data = \"\"\"\none\ntwo\"\"\"\n",
         "a/tls=true;a/tls.client_cert_data=one\ntwo;"},
        {__LINE__, "[profile.a]\ntls = {disabled=true, server_name = 's' }\n",
         "a/tls=true;a/tls.disabled=true;a/tls.server_name=s;"},
        {__LINE__, "[profile.a.grpc_meta]\n\"x.y\" = \"q\\\"\\\\\\t\"\n", "a/grpc_meta.x.y=q\"\\\t;"},
        {__LINE__, "[profile.a]\ntls = false\naddress = \"\\u00e4\\U0001F600\\ud800\"",
         "a/address=\xc3\xa4\xf0\x9f\x98\x80;"},
        {__LINE__, "[profile.a]\naddress = yes\n", "line 2 is not TOML"},
        {__LINE__, "[profile.a]\naddress = '\xff'\n", "the file is not UTF-8"},
        {__LINE__, "profile.a.address = 'x'\nprofile.a.address = 'y'", "a/address=y;"},
        {__LINE__, "other = [1, \"]\", [2]]\n[profile.a]\nnamespace='n'\n", "a/namespace=n;"},
        {__LINE__, "[profile.a]\naddress\n", "line 2 is not TOML"},
        {__LINE__, "[profile.a\n", "line 1 is not TOML"},
        {__LINE__, "[profile.a]\naddress = \"x\n", "line 2 is not TOML"},
        {__LINE__, "[profile.a]\naddress = 'x' y\n", "line 2 is not TOML"},
        {__LINE__, "[profile.a]\nx = {a = 1\n", "line 2 is not TOML"},
        {__LINE__, "\n\n= 1", "line 3 is not TOML"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i], toml_read);
    CHECK(true);
}

TEST(profiles_yaml) {
    static const struct row rows[] = {
        {__LINE__, "", ""},
        {__LINE__, "env: {}\n", ""},
        {__LINE__, "env:\n  a:\n    address: x:1\n    n: \"q\\\"\\n\" # c\n  b: {}\n",
         "a/address=x:1;a/n=q\"\n;"},
        {__LINE__, "---\n# c\nenv:\n    'a b':\n        k: 'it''s' \n\n        u: http://h:1/x#y # z\n",
         "a b/k=it's;a b/u=http://h:1/x#y;"},
        {__LINE__, "version: 1\nenv:\n  a:\n    k: v\n", "a/k=v;"},
        {__LINE__, "env:\n  a: 1\n",
         "line 2 cannot be read: expected env:, below it names, below them KEY: VALUE"},
        {__LINE__, "env:\n  a:\n    k: [1]\n",
         "line 3 cannot be read: expected env:, below it names, below them KEY: VALUE"},
        {__LINE__, "env:\n  a:\n    k: \"open\n",
         "line 3 cannot be read: expected env:, below it names, below them KEY: VALUE"},
        {__LINE__, "env:\n  a:\n    k: 'x' y\n",
         "line 3 cannot be read: expected env:, below it names, below them KEY: VALUE"},
        {__LINE__, "env:\n  'a:\n",
         "line 2 cannot be read: expected env:, below it names, below them KEY: VALUE"},
        {__LINE__, "env:\n  - a\n",
         "line 2 cannot be read: expected env:, below it names, below them KEY: VALUE"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&rows[i], yaml_read);
    CHECK(true);
}

static void check_again(struct profiles *p, int (*read)(struct profiles *, struct str, struct err *),
                        void (*write)(const struct profiles *, struct buf *)) {
    struct arena arena;
    struct profiles again;
    struct err e;
    struct buf text, one, two;
    arena_init(&arena, 1u << 20);
    buf_init(&text, 1u << 16);
    buf_init(&one, 1u << 16);
    buf_init(&two, 1u << 16);
    profiles_init(&again, &arena);
    write(p, &text);
    int rc = buf_ok(&text) ? read(&again, buf_str(&text), &e) : ERR_NO_MEMORY;
    summary(p, &one);
    summary(&again, &two);
    if (rc != ERR_NO_MEMORY && buf_ok(&one) && buf_ok(&two)) {
        CHECK_INT(rc, 0);
        CHECK_SLICE(buf_str(&two), buf_str(&one));
        CHECK(!again.has_more);
    }
    buf_done(&text);
    buf_done(&one);
    buf_done(&two);
    arena_done(&arena);
}

TEST(profiles_written_are_read_again) {
    static const struct profile_entry entries[] = {
        {"default", "address", "127.0.0.1:7233", false},
        {"default", "namespace", "it's \"quoted\"\\ and\nlong: #x", false},
        {"a.b c", "tls", "true", true},
        {"a.b c", "tls.server_name", "s", false},
        {"a.b c", "grpc_meta.x.y", "true", false},
        {"a.b c", "codec.auth", "", false},
        {"default", "api_key", "0123", false},
        {"empty", NULL, NULL, false},
    };
    struct arena arena;
    struct profiles p;
    int rc = 0;
    arena_init(&arena, 1u << 20);
    profiles_init(&p, &arena);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(entries); i++)
        rc = profiles_set(&p, &entries[i]);
    if (rc == 0) {
        /* Files keep what belongs together in one place, so put it there first. */
        struct profile_entry moved = p.entries[6];
        CHECK(profiles_remove(&p, "default", "api_key"));
        CHECK(!profiles_remove(&p, "default", "api_key"));
        CHECK_STR(profiles_get(&p, "a.b c", "grpc_meta.x.y"), "true");
        CHECK(!profiles_get(&p, "a.b c", "address") && profiles_has(&p, "empty") && !profiles_has(&p, "b"));
        CHECK_STR(moved.value, "0123");
        check_again(&p, yaml_read, yaml_write);
        CHECK(profiles_remove(&p, "a.b c", "codec.auth")); /* in a file it stands before grpc_meta */
        check_again(&p, toml_read, toml_write);
        CHECK(profiles_remove(&p, "a.b c", NULL) && !profiles_has(&p, "a.b c"));
    }
    CHECK(rc == 0 || arena_failed(&arena));
    arena_done(&arena);
}
