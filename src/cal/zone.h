/* Time zones: the offset of the local clock for any second of UTC.
 *
 * A zone is made from the bytes of a TZif file (RFC 8536, versions 1 to 4) and never changes; any thread may
 * read it. It is a sequence of spans with a constant offset from UTC. Between two spans the local clock
 * jumps: forward over a gap, or back into a fold. After the table of the file, the rule in its footer holds
 * forever. Files with leap seconds ("right/") are refused, since all times here are POSIX times.
 *
 * NULL is UTC in every function here. */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define ZONE_FILE_BYTES_MAX ((size_t)64 << 10)
#define ZONE_ABBREV_MAX 16

struct zone;

struct zone_span {
    int64_t begin_s; /* first second, INT64_MIN for the first span */
    int64_t end_s; /* first second after it, INT64_MAX for the last span */
    int32_t offset_s; /* local = UTC + offset */
    bool is_dst;
    char abbrev[ZONE_ABBREV_MAX]; /* "CET"; cut when longer */
};

/* ERR_INVALID with the reason, ERR_NO_MEMORY. The zone keeps no pointer into data. */
int zone_new(struct str data, struct zone **ret, struct err *reterr) must_check;
struct zone *zone_free(struct zone *z); /* returns NULL */
void zone_freep(struct zone **z);

/* The span that contains this second. The next span contains end_s, the previous one begin_s - 1. */
struct zone_span zone_span_at(const struct zone *z, int64_t utc_s);
static inline int64_t zone_local(const struct zone *z, int64_t utc_s) {
    return z ? utc_s + zone_span_at(z, utc_s).offset_s : utc_s;
}

/* The instant of a local time. In a fold, the first of the two. In a gap, by the offset from before the gap,
 * so that 02:30 becomes 03:30. */
int64_t zone_instant(const struct zone *z, int64_t local_s);

/* A zone name with options: "Europe/Berlin;missing=shift;repeated=first". The options are a part of the name
 * because clients return names unchanged. */
enum zone_missing { ZONE_MISSING_SKIP, ZONE_MISSING_SHIFT, ZONE_MISSING_COUNT };
enum zone_repeated { ZONE_REPEATED_BOTH, ZONE_REPEATED_FIRST, ZONE_REPEATED_LAST, ZONE_REPEATED_COUNT };

struct zone_label {
    struct str name; /* a slice of the text; empty and "UTC" both mean UTC */
    enum zone_missing missing;
    enum zone_repeated repeated;
};

/* ERR_INVALID for an unknown option. The name is not looked up. */
int zone_label_parse(struct str text, struct zone_label *ret, struct err *reterr) must_check;
const char *zone_missing_name(enum zone_missing missing);
const char *zone_repeated_name(enum zone_repeated repeated);
