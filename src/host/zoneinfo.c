/* Finds time zones by name: in files, then in the built-in copy.
 *
 * A file that is missing, unreadable or no time zone is ignored, so a broken directory is no worse than none.
 * Names are checked before they become a part of a path. */
#include "host/zoneinfo.h"

#include <stdio.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/near.h"
#include "host/zoneinfo_int.h"

#define NAME_BYTES_MAX (ZONEINFO_NAME_MAX - 1)
#define PATH_BYTES_MAX 4096
#define ZONES_MAX 2000
#define NEAREST_EDITS_MAX 2
#define NEAREST_BYTES_MIN 5 /* shorter names are close to too many others */

struct zoneinfo_entry {
    struct zone *zone;
    char name[NAME_BYTES_MAX + 1];
};

struct zoneinfo {
    struct map entries;
    char directory[]; /* empty: only the built-in copy */
};

struct zoneinfo *zoneinfo_new(const char *directory) {
    size_t n = directory ? strlen(directory) : 0;
    struct zoneinfo *z = mem_zalloc(sizeof(*z) + n + 1);
    if (!z)
        return NULL;
    map_init(&z->entries, ZONES_MAX, 0);
    if (n > 0)
        memcpy(z->directory, directory, n);
    return z;
}

struct zoneinfo *zoneinfo_free(struct zoneinfo *z) {
    struct zoneinfo_entry *e;
    for (size_t i = 0; z && (e = map_next(&z->entries, &i));) {
        (void)zone_free(e->zone); /* always NULL */
        mem_free(e);
    }
    if (z)
        map_done(&z->entries);
    mem_free(z);
    return NULL;
}

void zoneinfo_freep(struct zoneinfo **z) {
    *z = zoneinfo_free(*z);
}

/* Letters, digits and _ + - between single slashes. No dots: a name cannot leave the directory. */
static bool zoneinfo_is_name(struct str name) {
    bool at_start = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '+' || c == '-';
        if (!is_word && (c != '/' || at_start))
            return false;
        at_start = c == '/';
    }
    return name.n > 0 && name.n <= NAME_BYTES_MAX && !at_start;
}

static struct zone *zoneinfo_read_file(const struct zoneinfo *z, struct str name) {
    char path[PATH_BYTES_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.*s", z->directory, (int)name.n, name.p);
    struct zone *zone = NULL;
    if (!z->directory[0] || n >= (int)sizeof(path))
        return NULL;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return NULL;
    char *data = mem_alloc(ZONE_FILE_BYTES_MAX + 1);
    size_t size =
        data ? fread(data, 1, ZONE_FILE_BYTES_MAX + 1, file) : 0; /* reading a directory gives no bytes */
    if (data && zone_new(str_bytes(data, size), &zone, NULL) < 0)
        zone = NULL;
    mem_free(data);
    (void)fclose(file); /* nothing was written */
    return zone;
}

static const struct zoneinfo_builtin *zoneinfo_find_builtin(struct str name) {
    size_t low = 0, high = zoneinfo_builtin_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct zoneinfo_builtin *b = &zoneinfo_builtins[middle];
        size_t n = strlen(b->name);
        int order = memcmp(name.p, b->name, MIN(n, name.n));
        if (order == 0 && n == name.n)
            return b;
        if (order < 0 || (order == 0 && name.n < n))
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static struct zone *zoneinfo_read_builtin(struct str name) {
    const struct zoneinfo_builtin *b = zoneinfo_find_builtin(name);
    struct zone *zone = NULL;
    if (!b || zone_new(str_bytes(zoneinfo_bytes + b->offset, b->size), &zone, NULL) < 0)
        return NULL;
    return zone;
}

static bool zoneinfo_take_name(struct str text, char name[ZONEINFO_NAME_MAX]) {
    while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == ' '))
        text.n--;
    if (!zoneinfo_is_name(text))
        return false;
    memcpy(name, text.p, text.n);
    name[text.n] = '\0';
    return true;
}

static bool zoneinfo_read_name(const char *path, char name[ZONEINFO_NAME_MAX]) {
    char text[2 * ZONEINFO_NAME_MAX];
    FILE *file = fopen(path, "rbe");
    size_t n = file ? fread(text, 1, sizeof(text), file) : 0;
    if (file)
        (void)fclose(file); /* nothing was written */
    return zoneinfo_take_name(str_bytes(text, n), name);
}

bool zoneinfo_local_name(const char *tz, char name[ZONEINFO_NAME_MAX]) {
    static const char mark[] = "zoneinfo/";
    char path[PATH_BYTES_MAX];
    if (tz)
        return zoneinfo_take_name(str_of(*tz == ':' ? tz + 1 : *tz ? tz : "UTC"), name);
    ssize_t n = readlink("/etc/localtime", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    const char *at = strstr(path, mark);
    if (at && zoneinfo_take_name(str_of(at + sizeof(mark) - 1), name))
        return true;
    return zoneinfo_read_name("/etc/timezone", name);
}

/* Unknown names are not cached: clients could fill the memory with them. */
const struct zone *zoneinfo_find(struct zoneinfo *z, struct str name) {
    struct zoneinfo_entry *e = map_get(&z->entries, name);
    if (e || !zoneinfo_is_name(name))
        return e ? e->zone : NULL;
    struct zone *zone cleanup(zone_freep) = zoneinfo_read_file(z, name);
    if (!zone)
        zone = zoneinfo_read_builtin(name);
    e = zone ? mem_zalloc(sizeof(*e)) : NULL;
    if (!e)
        return NULL;
    memcpy(e->name, name.p, name.n);
    if (map_put(&z->entries, str_bytes(e->name, name.n), e) < 0) {
        mem_free(e);
        return NULL;
    }
    e->zone = take(&zone);
    return e->zone;
}

static const struct zone *zoneinfo_find_cb(void *ctx, struct str name) {
    return zoneinfo_find(ctx, name);
}

/* "Berlin" of "Europe/Berlin". */
static struct str zoneinfo_place_of(const char *name) {
    const char *slash = strrchr(name, '/');
    return str_of(slash ? slash + 1 : name);
}

/* Searches the built-in names only. Prefers a name that differs in case alone, then one with the same last
 * part, then one within NEAREST_EDITS_MAX edits. */
const char *zoneinfo_nearest(struct str name) {
    const char *best = NULL, *other;
    size_t best_distance = NEAREST_EDITS_MAX + 1;
    for (size_t i = 0; (other = zoneinfo_builtin_name(i)); i++) {
        size_t d = near_distance(name, str_of(other), NEAR_CASE_FOLDED);
        if (d && near_distance(name, zoneinfo_place_of(other), NEAR_CASE_FOLDED) == 0)
            d = 1;
        if (d < best_distance && (d == 0 || name.n >= NEAREST_BYTES_MIN)) {
            best_distance = d;
            best = other;
        }
    }
    return best;
}

static const char *zoneinfo_nearest_cb(unused_arg void *ctx, struct str name) {
    return zoneinfo_nearest(name);
}

struct cal_zones zoneinfo_zones(struct zoneinfo *z) {
    return (struct cal_zones){zoneinfo_find_cb, z, zoneinfo_nearest_cb};
}

const char *zoneinfo_builtin_name(size_t i) {
    return i < zoneinfo_builtin_count ? zoneinfo_builtins[i].name : NULL;
}

const char *zoneinfo_builtin_version(void) {
    return zoneinfo_version;
}
