/* Where time zones come from: the system's zoneinfo directory, and the copy that is built into the program.
 *
 * A zone is read on first use and kept; they never change while the process runs. One thread. */
#pragma once

#include "base/base.h"
#include "base/str.h"
#include "cal/cal.h"

#define ZONEINFO_DIRECTORY "/usr/share/zoneinfo"
#define ZONEINFO_NAME_MAX 65

struct zoneinfo;

/* directory may be NULL: then only the built-in copy is used. NULL when there is no memory. */
struct zoneinfo *zoneinfo_new(const char *directory) must_check;
struct zoneinfo *zoneinfo_free(struct zoneinfo *z); /* returns NULL; the zones are gone with it */
void zoneinfo_freep(struct zoneinfo **z);

/* The directory's zone of that name, else the built-in one; NULL when there is neither. Owned by z. */
const struct zone *zoneinfo_find(struct zoneinfo *z, struct str name);
/* The same as what cal_new asks for. */
struct cal_zones zoneinfo_zones(struct zoneinfo *z);

/* The name of this machine's zone: what the variable TZ says (NULL: it is not set), else what /etc/localtime
 * leads to, else what /etc/timezone says. False when none of them names one. */
bool zoneinfo_local_name(const char *tz, char name[ZONEINFO_NAME_MAX]);
/* The zone that was probably meant by a name that is none; NULL when none is close. */
const char *zoneinfo_nearest(struct str name);

/* The built-in copy: its names in order, NULL past the last, and which release it is, "2025b". */
const char *zoneinfo_builtin_name(size_t i);
const char *zoneinfo_builtin_version(void);
