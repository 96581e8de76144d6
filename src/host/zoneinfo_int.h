/* The data that tools/embed_tz.py generates. Only zoneinfo.c includes it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct zoneinfo_builtin {
    const char *name;
    uint32_t offset, size; /* in zoneinfo_bytes */
};

extern const char zoneinfo_version[];
extern const size_t zoneinfo_builtin_count;
extern const struct zoneinfo_builtin zoneinfo_builtins[]; /* in order of name */
extern const unsigned char zoneinfo_bytes[];
