/* The list of properties of env and config files. It is searched linearly; a file has few entries. */
#include "command/profile/profiles.h"

#define ROOM_FIRST 32

void profiles_init(struct profiles *p, struct arena *a) {
    *p = (struct profiles){.arena = a};
}

static struct profile_entry *profiles_find_entry(const struct profiles *p, const char *profile,
                                                 const char *key) {
    for (size_t i = 0; i < p->count; i++)
        if (cstr_eq(p->entries[i].profile, profile) && cstr_eq(p->entries[i].key, key))
            return &p->entries[i];
    return NULL;
}

const char *profiles_get(const struct profiles *p, const char *profile, const char *key) {
    const struct profile_entry *e = profiles_find_entry(p, profile, key);
    return e ? e->value : NULL;
}

bool profiles_has(const struct profiles *p, const char *profile) {
    for (size_t i = 0; i < p->count; i++)
        if (cstr_eq(p->entries[i].profile, profile))
            return true;
    return false;
}

static int profiles_grow_list(struct profiles *p) {
    size_t room = p->room ? 2 * p->room : ROOM_FIRST;
    if (room > PROFILE_ENTRIES_MAX)
        return ERR_FULL;
    struct profile_entry *entries = arena_array(p->arena, struct profile_entry, room);
    if (!entries)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < p->count; i++)
        entries[i] = p->entries[i];
    p->entries = entries;
    p->room = room;
    return 0;
}

int profiles_set(struct profiles *p, const struct profile_entry *e) {
    struct profile_entry *old = profiles_find_entry(p, e->profile, e->key);
    if (old) {
        *old = *e;
        return 0;
    }
    int rc = p->count == p->room ? profiles_grow_list(p) : 0;
    if (rc == 0)
        p->entries[p->count++] = *e;
    return rc;
}

bool profiles_remove(struct profiles *p, const char *profile, const char *key) {
    size_t kept = 0, before = p->count;
    for (size_t i = 0; i < p->count; i++)
        if (!cstr_eq(p->entries[i].profile, profile) || (key && !cstr_eq(p->entries[i].key, key)))
            p->entries[kept++] = p->entries[i];
    p->count = kept;
    return kept < before;
}
