/* Named sets of properties, as in the env file (YAML) and the config file (TOML) of Temporal's CLI.
 *
 * Both files are read into the same list and written from it. Comments and the order of lines are not kept.
 * All texts belong to the arena. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define PROFILE_ENTRIES_MAX 4096

struct profile_entry {
    const char *profile;
    const char *key; /* "address", "tls.server_name", "grpc_meta.x"; NULL: the profile exists and is empty */
    const char *value;
    bool is_bare; /* true, false or a number, which TOML writes without quotes */
};

struct profiles {
    struct arena *arena;
    struct profile_entry *entries;
    size_t count, room;
    bool has_more; /* the file has data that this list cannot hold, so it must not be overwritten */
};

void profiles_init(struct profiles *p, struct arena *a);
const char *profiles_get(const struct profiles *p, const char *profile, const char *key); /* NULL: not set */
bool profiles_has(const struct profiles *p, const char *profile);
int profiles_set(struct profiles *p, const struct profile_entry *e) must_check; /* ERR_NO_MEMORY, ERR_FULL */
/* Removes a property, or without a key the whole profile. False: it did not exist. */
bool profiles_remove(struct profiles *p, const char *profile, const char *key);

/* Read a whole file. ERR_INVALID with the line and the reason, ERR_NO_MEMORY, ERR_FULL. */
int toml_read(struct profiles *p, struct str text, struct err *reterr) must_check;
void toml_write(const struct profiles *p, struct buf *out);
int yaml_read(struct profiles *p, struct str text, struct err *reterr) must_check;
void yaml_write(const struct profiles *p, struct buf *out);
