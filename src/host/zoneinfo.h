/* Time zones from the system's zoneinfo directory and from the copy that is built into the program.
 *
 * A zone is read on first use and kept until zoneinfo_free(). Files that change later have no effect. A
 * zoneinfo belongs to one thread. */
#pragma once

#include "base/base.h"
#include "base/str.h"
#include "cal/cal.h"

#define ZONEINFO_DIRECTORY "/usr/share/zoneinfo"
#define ZONEINFO_NAME_MAX 65

struct zoneinfo;

/* Without a directory (NULL) only the built-in copy is used. NULL when memory is exhausted. */
struct zoneinfo *zoneinfo_new(const char *directory) must_check;
struct zoneinfo *zoneinfo_free(struct zoneinfo *z); /* returns NULL; frees the zones, too */
void zoneinfo_freep(struct zoneinfo **z);

/* The zone of that name from the directory, else the built-in one; NULL when there is neither. Owned by z. */
const struct zone *zoneinfo_find(struct zoneinfo *z, struct str name);
/* The same as a callback for cal_new(); valid as long as z. */
struct cal_zones zoneinfo_zones(struct zoneinfo *z);

/* The name of this machine's time zone: the value of TZ (NULL: not set), else the target of /etc/localtime,
 * else the content of /etc/timezone. False when none of them names a zone. */
bool zoneinfo_local_name(const char *tz, char name[ZONEINFO_NAME_MAX]);
/* The zone that an unknown name probably means; NULL when no name is close. */
const char *zoneinfo_nearest(struct str name);

/* The i-th name of the built-in copy, in order; NULL past the last. Its release: "2025b". */
const char *zoneinfo_builtin_name(size_t i);
const char *zoneinfo_builtin_version(void);
