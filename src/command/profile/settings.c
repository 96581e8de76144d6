/* Values of flags from files, for flags that are neither on the line nor in the environment: first from the
 * chosen environment of the env file, by the names of flags, then from the chosen profile of the config
 * file, by the properties of shared.def.
 *
 * A file that does not exist is empty. A named environment or profile that does not exist, a line that
 * cannot be read, and a value that does not fit its flag are errors before any call is made. */
#include "command/profile/settings.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "command/request/request.h"

#define FILE_BYTES_MAX (1u << 20)
#define STANDARD_NAME "default"

static const struct {
    const char *flag, *property;
} properties[] = {
#define SHARED(set, id, name, letter, type, arg, standard, env, choices, property, help) {name, property},
#include "command/shared.def"
#undef SHARED
};

/* Files. */

const char *settings_path(struct command *c, enum settings_kind kind) {
    bool is_env = kind == SETTINGS_ENV;
    const char *path = opt_named(c->args, is_env ? "env-file" : "config-file");
    const char *home = c->args->env ? c->args->env("HOME") : NULL;
    const char *base = c->args->env ? c->args->env("XDG_CONFIG_HOME") : NULL;
    if (path)
        return path;
    if (cstr_is_empty(home) && (is_env || cstr_is_empty(base)))
        return NULL;
    if (is_env || cstr_is_empty(base))
        return arena_printf(&c->arena, "%s/.config/temporalio/temporal.%s", home, is_env ? "yaml" : "toml");
    return arena_printf(&c->arena, "%s/temporalio/temporal.toml", base);
}

int settings_read(struct command *c, enum settings_kind kind, struct profiles *ret) {
    bool is_env = kind == SETTINGS_ENV;
    const char *path = settings_path(c, kind);
    struct err e = {0};
    struct str text;
    profiles_init(ret, &c->arena);
    if (!path || (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)))
        return 0;
    if (input_read_file(path, FILE_BYTES_MAX, &c->arena, &text) < 0) {
        command_print_error("cannot read %s", path);
        return ERR_INVALID;
    }
    int rc = is_env ? yaml_read(ret, text, &e) : toml_read(ret, text, &e);
    if (rc < 0)
        command_print_error("%s: %s", path, e.text);
    return rc;
}

static int settings_make_parents(struct command *c, const char *path) {
    char *copy = arena_strdup(&c->arena, path);
    if (!copy)
        return ERR_NO_MEMORY;
    for (char *at = copy + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(copy, 0700) < 0 && errno != EEXIST)
                return ERR_INVALID;
            *at = '/';
        }
    return 0;
}

/* Writes a new file next to the old one and renames it, so that a reader never sees a partial file. */
static int settings_write_text(struct command *c, const char *path, struct str text) {
    const char *beside = arena_printf(&c->arena, "%s.new", path);
    if (!beside || settings_make_parents(c, path) < 0)
        return ERR_INVALID;
    mode_t before = umask(0077); /* the file may hold keys */
    FILE *f = fopen(beside, "wb");
    umask(before);
    if (!f)
        return ERR_INVALID;
    bool ok = (!text.n || fwrite(text.p, 1, text.n, f) == text.n) && fflush(f) == 0 && fsync(fileno(f)) == 0;
    ok = fclose(f) == 0 && ok;
    return ok && rename(beside, path) == 0 ? 0 : ERR_INVALID;
}

int settings_write(struct command *c, enum settings_kind kind, const struct profiles *p) {
    bool is_env = kind == SETTINGS_ENV;
    const char *path = settings_path(c, kind);
    struct buf text;
    if (!path) {
        command_print_error("there is no file to write, because HOME is not set; give --%s",
                            is_env ? "env-file" : "config-file");
        return ERR_INVALID;
    }
    if (p->has_more) {
        command_print_error("%s has lines that this program would lose; edit the file by hand", path);
        return ERR_INVALID;
    }
    buf_init(&text, FILE_BYTES_MAX);
    if (is_env)
        yaml_write(p, &text);
    else
        toml_write(p, &text);
    int rc = buf_ok(&text) ? settings_write_text(c, path, buf_str(&text)) : ERR_INVALID;
    buf_done(&text);
    if (rc < 0)
        command_print_error("cannot write %s", path);
    return rc;
}

/* Values. */

const char *settings_profile(const struct command *c) {
    const char *profile = opt_named(c->args, "profile");
    return profile ? profile : STANDARD_NAME;
}

/* A profile with any tls property uses TLS, unless tls.disabled is true. */
static const char *settings_tls(const struct settings *s) {
    const char *disabled = profiles_get(&s->config, s->profile, "tls.disabled");
    if (cstr_eq(disabled, "true"))
        return "false";
    for (size_t i = 0; i < s->config.count; i++)
        if (cstr_eq(s->config.entries[i].profile, s->profile) && s->config.entries[i].key &&
            strncmp(s->config.entries[i].key, "tls", 3) == 0)
            return "true";
    return NULL;
}

static const char *settings_flag_value(void *ctx, const struct opt *o) {
    const struct settings *s = ctx;
    const char *text = profiles_get(&s->env, s->env_name, o->name);
    if (text)
        return text;
    if (cstr_eq(o->name, "tls"))
        return settings_tls(s);
    for (size_t i = 0; i < ARRAY_LEN(properties); i++)
        if (properties[i].property && cstr_eq(properties[i].flag, o->name))
            return profiles_get(&s->config, s->profile, properties[i].property);
    return NULL;
}

#define ENV_META "TEMPORAL_GRPC_META_"

/* TEMPORAL_GRPC_META_SOME_NAME=value is the header some-name. */
static bool settings_env_meta(struct command *c, const char *entry, const char **ret_key,
                              const char **ret_value) {
    const size_t skip = sizeof(ENV_META) - 1;
    size_t n = strcspn(entry, "=");
    if (strncmp(entry, ENV_META, skip) != 0 || n == skip || !entry[n] || !entry[n + 1])
        return false;
    char *key = arena_strndup(&c->arena, entry + skip, n - skip);
    for (char *at = key; at && *at; at++)
        *at = *at == '_' ? '-' : *at >= 'A' && *at <= 'Z' ? (char)(*at | 0x20) : *at;
    *ret_key = key;
    *ret_value = entry + n + 1;
    return key;
}

bool settings_meta(struct command *c, size_t n, const char **ret_key, const char **ret_value) {
    const struct settings *s = c->settings;
    static const char prefix[] = "grpc_meta.";
    bool reads_env = c->style.environment && !opt_named_flag(c->args, "disable-config-env");
    for (char *const *at = reads_env ? c->style.environment : NULL; at && *at; at++)
        if (settings_env_meta(c, *at, ret_key, ret_value) && !n--)
            return true;
    for (size_t i = 0; i < s->config.count; i++) {
        const struct profile_entry *e = &s->config.entries[i];
        if (!cstr_eq(e->profile, s->profile) || !e->key || strncmp(e->key, prefix, sizeof(prefix) - 1) != 0 ||
            n--)
            continue;
        *ret_key = e->key + sizeof(prefix) - 1;
        *ret_value = e->value;
        return true;
    }
    return false;
}

static int settings_check_names(const struct command *c, const struct settings *s) {
    if (!cstr_eq(s->env_name, STANDARD_NAME) && !profiles_has(&s->env, s->env_name)) {
        command_print_error(
            "there is no environment \"%s\"; create it with: rondo env set --env %s -k KEY -v VALUE",
            s->env_name, s->env_name);
        return ERR_INVALID;
    }
    if (opt_named_given(c->args, "profile") && !profiles_has(&s->config, s->profile)) {
        command_print_error("there is no profile \"%s\"; create it with: rondo config set --profile %s "
                            "--prop KEY --value VALUE",
                            s->profile, s->profile);
        return ERR_INVALID;
    }
    return 0;
}

static int settings_check_values(struct command *c, struct settings *s) {
    struct buf problem;
    const struct opt *o;
    int rc = 0;
    buf_init(&problem, FILE_BYTES_MAX);
    for (size_t i = 0; rc == 0 && (o = opt_at(c->args->program, c->args->command, i)); i++) {
        const char *text = settings_flag_value(s, o);
        if (!text || opt_fits(o, o->name, text, &problem))
            continue;
        command_print_error("in the env or config file: %.*s", (int)problem.len, (const char *)problem.data);
        rc = ERR_INVALID;
    }
    buf_done(&problem);
    return rc;
}

/* Whether a profile can hold the value of this flag. */
static bool settings_is_profile_flag(const struct opt *o) {
    for (size_t i = 0; i < ARRAY_LEN(properties); i++)
        if (properties[i].property && cstr_eq(properties[i].flag, o->name))
            return true;
    return false;
}

int settings_load(struct command *c) {
    struct settings *s = arena_zalloc(&c->arena, sizeof(*s));
    if (!s) {
        command_print_error("out of memory");
        return ERR_NO_MEMORY;
    }
    c->settings = s;
    if (opt_named_flag(c->args, "disable-config-env"))
        c->args->is_env_ignored = settings_is_profile_flag;
    s->env_name = opt_named(c->args, "env");
    s->profile = settings_profile(c);
    profiles_init(&s->env, &c->arena);
    profiles_init(&s->config, &c->arena);
    if (c->rule->call == CALL_NONE)
        return 0;
    int rc = settings_read(c, SETTINGS_ENV, &s->env);
    if (rc == 0 && !opt_named_flag(c->args, "disable-config-file"))
        rc = settings_read(c, SETTINGS_CONFIG, &s->config);
    if (rc == 0)
        rc = settings_check_names(c, s);
    if (rc == 0)
        rc = settings_check_values(c, s);
    if (rc < 0)
        return rc;
    c->args->file = settings_flag_value;
    c->args->file_ctx = s;
    return 0;
}
