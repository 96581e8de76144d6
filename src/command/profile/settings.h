/* The two files that hold flags: the env file (YAML, by the names of flags) and the config file (TOML, by the
 * properties of shared.def). Read for every command; changed by `rondo env` and `rondo config`. */
#pragma once

#include "command/profile/profiles.h"

struct command;

enum settings_kind {
    SETTINGS_ENV, /* temporal.yaml */
    SETTINGS_CONFIG, /* temporal.toml */
};

struct settings {
    const char *env_name, *profile; /* the chosen ones */
    struct profiles env, config;
};

/* Reads both files and makes their values count for flags that are neither on the line nor in the
 * environment. ERR_INVALID or ERR_NO_MEMORY after a line on stderr. */
int settings_load(struct command *c) must_check;
/* The path that the flag gives, else the one in the home directory. NULL when neither is known. */
const char *settings_path(struct command *c, enum settings_kind kind);
/* Reads a whole file; a file that does not exist is empty. ERR_INVALID or ERR_NO_MEMORY after a line on
 * stderr. */
int settings_read(struct command *c, enum settings_kind kind, struct profiles *ret) must_check;
/* Replaces the file, so that a reader sees the old or the new one. Errors as settings_read. */
int settings_write(struct command *c, enum settings_kind kind, const struct profiles *p) must_check;
const char *settings_profile(const struct command *c); /* the name of the chosen profile */
/* The n-th header for each call that the environment or the profile gives; false past the last one. */
bool settings_meta(struct command *c, size_t n, const char **ret_key, const char **ret_value);
