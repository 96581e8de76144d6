/* Named sets of properties, as the env file (YAML) and the config file (TOML) of Temporal's CLI hold them.
 *
 * Both are read into the same list and written back from it; comments and the order of lines are not kept.
 * Everything belongs to the arena. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define PROFILE_ENTRIES_MAX 4096

struct profile_entry {
    const char *profile;
    const char *
        key; /* "address", "tls.server_name", "grpc_meta.x"; NULL: the profile is there, with nothing in it */
    const char *value;
    bool is_bare; /* true, false or a number in TOML */
};

struct profiles {
    struct arena *arena;
    struct profile_entry *entries;
    size_t count, room;
    bool has_more; /* the file says things that are not kept here, so it must not be written */
};

void profiles_init(struct profiles *p, struct arena *a);
const char *profiles_get(const struct profiles *p, const char *profile,
                         const char *key); /* NULL: not there */
bool profiles_has(const struct profiles *p, const char *profile);
int profiles_set(struct profiles *p, const struct profile_entry *e) must_check; /* ERR_NO_MEMORY, ERR_FULL */
/* Without a key the whole profile. False: it was not there. */
bool profiles_remove(struct profiles *p, const char *profile, const char *key);

/* ERR_INVALID with the line and what is wrong with it. */
int toml_read(struct profiles *p, struct str text, struct err *reterr) must_check;
void toml_write(const struct profiles *p, struct buf *out);
int yaml_read(struct profiles *p, struct str text, struct err *reterr) must_check;
void yaml_write(const struct profiles *p, struct buf *out);
