/* Time zones: what the clocks on the wall show, for any second of UTC.
 *
 * A zone is made from the bytes of a TZif file (RFC 8536, versions 1 to 4) and never changes; any thread may
 * read it. A zone is a row of spans in which the offset from UTC is constant. Between two spans the local
 * clock jumps: forward over a gap, or back into a fold. Past the end of the file's table the rule in its
 * footer goes on for ever. Files with leap seconds ("right/") are refused: this server's seconds are POSIX
 * seconds.
 *
 * NULL stands for UTC in every function here. */
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

/* ERR_INVALID with what is wrong with the bytes, or ERR_NO_MEMORY. Nothing refers to data afterwards. */
int zone_new(struct str data, struct zone **ret, struct err *reterr) must_check;
struct zone *zone_free(struct zone *z); /* returns NULL */
void zone_freep(struct zone **z);

/* The span that holds this second. The one after it holds end_s, the one before it begin_s - 1. */
struct zone_span zone_span_at(const struct zone *z, int64_t utc_s);
static inline int64_t zone_local(const struct zone *z, int64_t utc_s) {
    return z ? utc_s + zone_span_at(z, utc_s).offset_s : utc_s;
}

/* The instant of one local time: the first of two in a fold; in a gap, shifted by the gap's length
 * (02:30 becomes 03:30), as if the clock had not been changed yet. */
int64_t zone_instant(const struct zone *z, int64_t local_s);

/* A zone's name with what this server adds to it: "Europe/Berlin;missing=shift;repeated=first". The additions
 * stand in the name because that is what clients hand back unchanged. */
enum zone_missing { ZONE_MISSING_SKIP, ZONE_MISSING_SHIFT, ZONE_MISSING_COUNT };
enum zone_repeated { ZONE_REPEATED_BOTH, ZONE_REPEATED_FIRST, ZONE_REPEATED_LAST, ZONE_REPEATED_COUNT };

struct zone_label {
    struct str name; /* a slice of the text; empty and "UTC" both mean UTC */
    enum zone_missing missing;
    enum zone_repeated repeated;
};

int zone_label_parse(struct str text, struct zone_label *ret, struct err *reterr) must_check;
const char *zone_missing_name(enum zone_missing missing);
const char *zone_repeated_name(enum zone_repeated repeated);
