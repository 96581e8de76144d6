/* The env and the config file, for flags that are not given; and for the commands that change them. */
#pragma once

#include "command/profiles.h"

struct command;

struct settings {
    const char *env_name, *profile;
    struct profiles env, config;
};

/* Where the file is: as the flag says, or in the home directory. NULL when there is none. */
const char *settings_path(struct command *c, bool is_env);
/* All of a file; nothing when it is not there. ERR_INVALID after a line on stderr. */
int settings_read(struct command *c, bool is_env, struct profiles *ret) must_check;
int settings_write(struct command *c, bool is_env, const struct profiles *p) must_check;
const char *settings_profile(const struct command *c); /* the chosen one's name */
/* The n-th header for each call that the environment or the profile names. */
bool settings_meta(struct command *c, size_t n, const char **ret_key, const char **ret_value);
