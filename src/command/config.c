/* `rondo config` and `rondo env`: the files that hold flags for later. */
#include "command/command_int.h"
#include "command/settings.h"

static const char *const property_titles[] = {"Property", "Value"};
static const char *const name_titles[] = {"Name"};

static const struct {
    const char *name;
    bool is_bool;
} known[] = {
    {"address", false},
    {"namespace", false},
    {"api_key", false},
    {"authority", false},
    {"tls", true},
    {"tls.disabled", true},
    {"tls.client_cert_path", false},
    {"tls.client_cert_data", false},
    {"tls.client_key_path", false},
    {"tls.client_key_data", false},
    {"tls.server_ca_cert_path", false},
    {"tls.server_ca_cert_data", false},
    {"tls.server_name", false},
    {"tls.disable_host_verification", true},
    {"codec.endpoint", false},
    {"codec.auth", false},
};

/* 1: a text, 2: true or false, 0 after a line on stderr: there is no such property. */
static int kind_of(const char *prop) {
    const char *names[ARRAY_LEN(known)];
    if (strncmp(prop, "grpc_meta.", 10) == 0 && prop[10])
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (streq(known[i].name, prop))
            return known[i].is_bool ? 2 : 1;
        names[i] = known[i].name;
    }
    const char *near = opt_nearest(prop, names, ARRAY_LEN(names));
    say("there is no property \"%s\"%s%s; rondo config set --help names them", prop,
        near ? ", did you mean " : "", near ? near : "");
    return 0;
}

static enum command_exit refused(const char *what, const char *name) {
    say("there is no %s \"%s\"", what, name);
    return COMMAND_REFUSED;
}

/* Properties of one profile, or the one of that key. */
static enum command_exit show(struct command *c, const struct profiles *p, const char *profile,
                              const char *key, struct buf *out) {
    struct sheet sheet;
    int rc = 0;
    sheet_init(&sheet, c, property_titles, ARRAY_LEN(property_titles));
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        const struct profile_entry *e = &p->entries[i];
        if (!streq(e->profile, profile) || !e->key || (key && !streq(e->key, key)))
            continue;
        rc = sheet_add(&sheet, e->key);
        if (rc == 0)
            rc = sheet_add(&sheet, e->value);
    }
    sheet_print(&sheet, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

static enum command_exit show_names(struct command *c, const struct profiles *p, struct buf *out) {
    struct sheet sheet;
    int rc = 0;
    sheet_init(&sheet, c, name_titles, ARRAY_LEN(name_titles));
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i; k++)
            is_new = is_new && !streq(p->entries[k].profile, p->entries[i].profile);
        if (is_new)
            rc = sheet_add(&sheet, p->entries[i].profile);
    }
    sheet_print(&sheet, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

static enum command_exit save(struct command *c, bool is_env, const struct profiles *p) {
    return settings_write(c, is_env, p) == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

/* A flag that this command cannot do without. */
static const char *needed(const struct command *c, const char *flag) {
    const char *text = opt_named(c->args, flag);
    if (!text)
        say("--%s is needed; see rondo %s --help", flag, c->args->command->path);
    return text;
}

/* Profiles. */

enum command_exit config_get(struct command *c, struct buf *out) {
    struct profiles p;
    const char *profile = settings_profile(c);
    const char *prop = opt_named(c->args, "prop");
    if (prop && !kind_of(prop))
        return COMMAND_MISUSED;
    if (settings_read(c, false, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_has(&p, profile))
        return refused("profile", profile);
    if (prop && !profiles_get(&p, profile, prop))
        return refused("value for property", prop);
    return show(c, &p, profile, prop, out);
}

enum command_exit config_list(struct command *c, struct buf *out) {
    struct profiles p;
    return settings_read(c, false, &p) < 0 ? COMMAND_REFUSED : show_names(c, &p, out);
}

enum command_exit config_set(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *prop = needed(c, "prop");
    const char *value = prop ? needed(c, "value") : NULL;
    int kind = value ? kind_of(prop) : 0;
    if (!kind)
        return COMMAND_MISUSED;
    if (kind == 2 && !streq(value, "true") && !streq(value, "false")) {
        say("%s is true or false, not \"%s\"", prop, value);
        return COMMAND_MISUSED;
    }
    if (settings_read(c, false, &p) < 0)
        return COMMAND_REFUSED;
    struct profile_entry e = {settings_profile(c), prop, value, kind == 2};
    /* A profile without TLS has no table for it. */
    if (streq(prop, "tls") && streq(value, "false"))
        profiles_remove(&p, e.profile, prop);
    else if (profiles_set(&p, &e) < 0)
        return COMMAND_REFUSED;
    return save(c, false, &p);
}

enum command_exit config_delete(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *prop = needed(c, "prop");
    if (!prop || !kind_of(prop))
        return COMMAND_MISUSED;
    if (settings_read(c, false, &p) < 0)
        return COMMAND_REFUSED;
    struct profile_entry kept = {.profile = settings_profile(c)};
    if (!profiles_remove(&p, kept.profile, prop))
        return refused("value for property", prop);
    if (!profiles_has(&p, kept.profile) && profiles_set(&p, &kept) < 0)
        return COMMAND_REFUSED;
    return save(c, false, &p);
}

enum command_exit config_delete_profile(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    if (!opt_named_given(c->args, "profile")) {
        say("--profile is needed: a whole profile is deleted only by its name");
        return COMMAND_MISUSED;
    }
    if (settings_read(c, false, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_remove(&p, settings_profile(c), NULL))
        return refused("profile", settings_profile(c));
    return save(c, false, &p);
}

/* Environments. */

/* "prod.address", or --env prod --key address. */
static int name_and_key(struct command *c, const char **ret_name, const char **ret_key) {
    const char *word = opt_named(c->args, "name");
    *ret_name = opt_named(c->args, "env");
    *ret_key = opt_named(c->args, "key");
    if (word) {
        const char *dot = strchr(word, '.');
        *ret_name = dot ? arena_strndup(&c->arena, word, (size_t)(dot - word)) : word;
        *ret_key = dot ? dot + 1 : *ret_key;
    }
    if (*ret_name && !(*ret_key && strchr(*ret_key, '.')))
        return 0;
    say("a property is a word without dots: NAME.KEY, or --env NAME --key KEY");
    return ERR_INVALID;
}

enum command_exit env_get(struct command *c, struct buf *out) {
    struct profiles p;
    const char *name, *key;
    if (name_and_key(c, &name, &key) < 0)
        return COMMAND_MISUSED;
    if (settings_read(c, true, &p) < 0)
        return COMMAND_REFUSED;
    return profiles_has(&p, name) ? show(c, &p, name, key, out) : refused("environment", name);
}

enum command_exit env_list(struct command *c, struct buf *out) {
    struct profiles p;
    return settings_read(c, true, &p) < 0 ? COMMAND_REFUSED : show_names(c, &p, out);
}

enum command_exit env_set(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    struct profile_entry e = {.value = opt_named(c->args, "value")};
    if (name_and_key(c, &e.profile, &e.key) < 0)
        return COMMAND_MISUSED;
    if (!e.key || !e.value) {
        say("a property and its value are needed: --key KEY --value VALUE; see rondo env set --help");
        return COMMAND_MISUSED;
    }
    if (settings_read(c, true, &p) < 0 || profiles_set(&p, &e) < 0)
        return COMMAND_REFUSED;
    return save(c, true, &p);
}

enum command_exit env_delete(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *name, *key;
    if (name_and_key(c, &name, &key) < 0)
        return COMMAND_MISUSED;
    if (settings_read(c, true, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_remove(&p, name, key))
        return refused(key ? "property" : "environment", key ? key : name);
    return save(c, true, &p);
}
