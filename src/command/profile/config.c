/* `rondo config` and `rondo env`: show and change the files that hold flags. A changed file is written as a
 * whole. */
#include "command/output/output.h"
#include "command/profile/settings.h"

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

enum property_kind { PROPERTY_UNKNOWN, PROPERTY_TEXT, PROPERTY_BOOL };

/* PROPERTY_UNKNOWN after a line on stderr. */
static enum property_kind config_property_kind(const char *prop) {
    const char *names[ARRAY_LEN(known)];
    if (strncmp(prop, "grpc_meta.", 10) == 0 && prop[10])
        return PROPERTY_TEXT;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (cstr_eq(known[i].name, prop))
            return known[i].is_bool ? PROPERTY_BOOL : PROPERTY_TEXT;
        names[i] = known[i].name;
    }
    const char *near = opt_nearest(prop, names, ARRAY_LEN(names));
    command_print_error("there is no property \"%s\"%s%s; rondo config set --help lists the properties", prop,
                        near ? ", did you mean " : "", near ? near : "");
    return PROPERTY_UNKNOWN;
}

static enum command_exit config_report_missing(const char *what, const char *name) {
    command_print_error("there is no %s \"%s\"", what, name);
    return COMMAND_REFUSED;
}

/* Shows all properties of a profile, or the one with that key. */
static enum command_exit config_show_properties(struct command *c, const struct profiles *p,
                                                const char *profile, const char *key, struct buf *out) {
    struct sheet sheet;
    int rc = 0;
    sheet_init(&sheet, c, property_titles, ARRAY_LEN(property_titles));
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        const struct profile_entry *e = &p->entries[i];
        if (!cstr_eq(e->profile, profile) || !e->key || (key && !cstr_eq(e->key, key)))
            continue;
        rc = sheet_add(&sheet, e->key);
        if (rc == 0)
            rc = sheet_add(&sheet, e->value);
    }
    sheet_print(&sheet, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

static enum command_exit config_show_names(struct command *c, const struct profiles *p, struct buf *out) {
    struct sheet sheet;
    int rc = 0;
    sheet_init(&sheet, c, name_titles, ARRAY_LEN(name_titles));
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i; k++)
            is_new = is_new && !cstr_eq(p->entries[k].profile, p->entries[i].profile);
        if (is_new)
            rc = sheet_add(&sheet, p->entries[i].profile);
    }
    sheet_print(&sheet, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

static enum command_exit config_save_file(struct command *c, enum settings_kind kind,
                                          const struct profiles *p) {
    return settings_write(c, kind, p) == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

/* The value of a flag that the command needs; NULL after a line on stderr. */
static const char *config_needed_flag(const struct command *c, const char *flag) {
    const char *text = opt_named(c->args, flag);
    if (!text)
        command_print_error("--%s is needed; see rondo %s --help", flag, c->args->command->path);
    return text;
}

/* Profiles. */

enum command_exit config_get_run(struct command *c, struct buf *out) {
    struct profiles p;
    const char *profile = settings_profile(c);
    const char *prop = opt_named(c->args, "prop");
    if (prop && config_property_kind(prop) == PROPERTY_UNKNOWN)
        return COMMAND_MISUSED;
    if (settings_read(c, SETTINGS_CONFIG, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_has(&p, profile))
        return config_report_missing("profile", profile);
    if (prop && !profiles_get(&p, profile, prop))
        return config_report_missing("value for property", prop);
    return config_show_properties(c, &p, profile, prop, out);
}

enum command_exit config_list_run(struct command *c, struct buf *out) {
    struct profiles p;
    return settings_read(c, SETTINGS_CONFIG, &p) < 0 ? COMMAND_REFUSED : config_show_names(c, &p, out);
}

enum command_exit config_set_run(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *prop = config_needed_flag(c, "prop");
    const char *value = prop ? config_needed_flag(c, "value") : NULL;
    enum property_kind kind = value ? config_property_kind(prop) : PROPERTY_UNKNOWN;
    if (kind == PROPERTY_UNKNOWN)
        return COMMAND_MISUSED;
    if (kind == PROPERTY_BOOL && !cstr_eq(value, "true") && !cstr_eq(value, "false")) {
        command_print_error("%s must be true or false, not \"%s\"", prop, value);
        return COMMAND_MISUSED;
    }
    if (settings_read(c, SETTINGS_CONFIG, &p) < 0)
        return COMMAND_REFUSED;
    struct profile_entry e = {settings_profile(c), prop, value, kind == PROPERTY_BOOL};
    /* tls = false is stored by removing the property. */
    if (cstr_eq(prop, "tls") && cstr_eq(value, "false"))
        profiles_remove(&p, e.profile, prop);
    else if (profiles_set(&p, &e) < 0)
        return COMMAND_REFUSED;
    return config_save_file(c, SETTINGS_CONFIG, &p);
}

enum command_exit config_delete_run(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *prop = config_needed_flag(c, "prop");
    if (!prop || config_property_kind(prop) == PROPERTY_UNKNOWN)
        return COMMAND_MISUSED;
    if (settings_read(c, SETTINGS_CONFIG, &p) < 0)
        return COMMAND_REFUSED;
    struct profile_entry kept = {.profile = settings_profile(c)};
    if (!profiles_remove(&p, kept.profile, prop))
        return config_report_missing("value for property", prop);
    if (!profiles_has(&p, kept.profile) && profiles_set(&p, &kept) < 0)
        return COMMAND_REFUSED;
    return config_save_file(c, SETTINGS_CONFIG, &p);
}

enum command_exit config_delete_profile_run(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    if (!opt_named_given(c->args, "profile")) {
        command_print_error("--profile is needed: the profile to delete must be named");
        return COMMAND_MISUSED;
    }
    if (settings_read(c, SETTINGS_CONFIG, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_remove(&p, settings_profile(c), NULL))
        return config_report_missing("profile", settings_profile(c));
    return config_save_file(c, SETTINGS_CONFIG, &p);
}

/* Environments. */

/* Reads "prod.address", or --env prod --key address. ERR_INVALID after a line on stderr. */
static int config_name_and_key(struct command *c, const char **ret_name, const char **ret_key) {
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
    command_print_error("a property is a name without dots: give NAME.KEY, or --env NAME --key KEY");
    return ERR_INVALID;
}

enum command_exit env_get_run(struct command *c, struct buf *out) {
    struct profiles p;
    const char *name, *key;
    if (config_name_and_key(c, &name, &key) < 0)
        return COMMAND_MISUSED;
    if (settings_read(c, SETTINGS_ENV, &p) < 0)
        return COMMAND_REFUSED;
    return profiles_has(&p, name) ? config_show_properties(c, &p, name, key, out)
                                  : config_report_missing("environment", name);
}

enum command_exit env_list_run(struct command *c, struct buf *out) {
    struct profiles p;
    return settings_read(c, SETTINGS_ENV, &p) < 0 ? COMMAND_REFUSED : config_show_names(c, &p, out);
}

enum command_exit env_set_run(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    struct profile_entry e = {.value = opt_named(c->args, "value")};
    if (config_name_and_key(c, &e.profile, &e.key) < 0)
        return COMMAND_MISUSED;
    if (!e.key || !e.value) {
        command_print_error(
            "--key and --value are needed: --key KEY --value VALUE; see rondo env set --help");
        return COMMAND_MISUSED;
    }
    if (settings_read(c, SETTINGS_ENV, &p) < 0 || profiles_set(&p, &e) < 0)
        return COMMAND_REFUSED;
    return config_save_file(c, SETTINGS_ENV, &p);
}

enum command_exit env_delete_run(struct command *c, unused_arg struct buf *out) {
    struct profiles p;
    const char *name, *key;
    if (config_name_and_key(c, &name, &key) < 0)
        return COMMAND_MISUSED;
    if (settings_read(c, SETTINGS_ENV, &p) < 0)
        return COMMAND_REFUSED;
    if (!profiles_remove(&p, name, key))
        return config_report_missing(key ? "property" : "environment", key ? key : name);
    return config_save_file(c, SETTINGS_ENV, &p);
}
