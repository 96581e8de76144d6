/* Reads TZif bytes into a table of spans and looks up seconds in it.
 *
 * The 64-bit block is used if the file has one. The rule of the footer is expanded up to 2101, so that every
 * lookup of a schedule is one binary search; later times are computed from the rule. Every count and index of
 * the file is checked before use. Fails with ERR_INVALID and the reason, and with ERR_NO_MEMORY. */
#include "cal/zone.h"

#include <limits.h>
#include <stdio.h>

#include "base/mem.h"
#include "cal/civil.h"
#include "cal/tzrule.h"

#define TZIF_HEADER_BYTES 44
#define TZIF_TYPE_BYTES 6
#define TYPES_MAX 256
#define OFFSET_MAX_S (26 * (int32_t)CIVIL_HOUR_S)
/* The spans of the footer: two changes a year from the end of the table, at the earliest from 1900. */
#define RULE_FIRST_S INT64_C(-2208988800) /* 1900 */
#define RULE_LAST_S INT64_C(4165516800) /* 2102 */
#define RULE_SPANS_MAX 512

struct zone_kind {
    int32_t offset_s;
    bool is_dst;
    char abbrev[ZONE_ABBREV_MAX];
};

struct zone {
    struct tzrule rule;
    bool has_rule; /* at least one span exists then: zone_fill_rule_spans() */
    size_t kind_count;
    size_t count; /* of spans after the first */
    struct zone_kind *kinds; /* [kind_count] */
    int64_t *begins; /* [count], ascending */
    uint16_t *kind_of; /* [count] */
    uint16_t first_kind; /* before begins[0] */
};

struct zone_header {
    int version;
    uint32_t ut_count, std_count, leap_count, time_count, type_count, char_count;
};

/* One data block, checked and sliced. */
struct zone_block {
    const uint8_t *times, *indices, *types, *chars;
    size_t time_bytes;
    size_t size;
};

static uint32_t zone_read_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t zone_read_time(const uint8_t *p, size_t bytes) {
    if (bytes == 4)
        return (int32_t)zone_read_u32(p);
    return (int64_t)((uint64_t)zone_read_u32(p) << 32 | zone_read_u32(p + 4));
}

static int zone_refuse_data(struct err *reterr, const char *what) {
    return err_set(reterr, ERR_INVALID, "the time zone data is not valid: %s", what);
}

static int zone_read_header(struct str data, struct zone_header *ret, struct err *reterr) {
    const uint8_t *p = (const uint8_t *)data.p;
    if (data.n < TZIF_HEADER_BYTES || memcmp(p, "TZif", 4) != 0)
        return zone_refuse_data(reterr, "it does not begin with a TZif header");
    *ret = (struct zone_header){p[4] == 0 ? 1 : p[4] - '0', zone_read_u32(p + 20), zone_read_u32(p + 24),
                                zone_read_u32(p + 28),      zone_read_u32(p + 32), zone_read_u32(p + 36),
                                zone_read_u32(p + 40)};
    if (p[4] != 0 && (ret->version < 2 || ret->version > 9))
        return zone_refuse_data(reterr, "its version is unknown");
    return 0;
}

static int zone_read_block(struct str data, const struct zone_header *h, size_t time_bytes,
                           struct zone_block *ret, struct err *reterr) {
    /* Counts are 32 bits each, so the sum cannot overflow 64. */
    uint64_t size = (uint64_t)h->time_count * (time_bytes + 1) + (uint64_t)h->type_count * TZIF_TYPE_BYTES +
                    h->char_count + (uint64_t)h->leap_count * (time_bytes + 4) + h->std_count + h->ut_count;
    if (size > data.n)
        return zone_refuse_data(reterr, "it ends early");
    const uint8_t *p = (const uint8_t *)data.p;
    ret->time_bytes = time_bytes;
    ret->size = (size_t)size;
    ret->times = p;
    ret->indices = ret->times + (size_t)h->time_count * time_bytes;
    ret->types = ret->indices + h->time_count;
    ret->chars = ret->types + (size_t)h->type_count * TZIF_TYPE_BYTES;
    return 0;
}

static int zone_check_block(const struct zone_header *h, const struct zone_block *b, struct err *reterr) {
    if (h->type_count == 0 || h->type_count > TYPES_MAX || h->char_count == 0)
        return zone_refuse_data(reterr, "it has no local time types, or too many");
    if (h->leap_count > 0)
        return zone_refuse_data(reterr, "it counts leap seconds, and times here do not");
    for (uint32_t i = 0; i < h->time_count; i++) {
        if (b->indices[i] >= h->type_count)
            return zone_refuse_data(reterr, "a transition names a type that is not there");
        if (i > 0 && zone_read_time(b->times + i * b->time_bytes, b->time_bytes) <=
                         zone_read_time(b->times + (i - 1) * b->time_bytes, b->time_bytes))
            return zone_refuse_data(reterr, "its transitions are not in order");
    }
    for (uint32_t i = 0; i < h->type_count; i++) {
        const uint8_t *type = b->types + i * TZIF_TYPE_BYTES;
        int32_t offset_s = (int32_t)zone_read_u32(type);
        if (offset_s < -OFFSET_MAX_S || offset_s > OFFSET_MAX_S)
            return zone_refuse_data(reterr, "an offset is more than 26 hours");
        if (type[4] > 1 || type[5] >= h->char_count ||
            !memchr(b->chars + type[5], 0, h->char_count - type[5]))
            return zone_refuse_data(reterr, "a local time type is broken");
    }
    return 0;
}

static int zone_read_footer(struct str data, struct zone *z, struct err *reterr) {
    if (data.n < 2 || data.p[0] != '\n' || !memchr(data.p + 1, '\n', data.n - 1))
        return zone_refuse_data(reterr, "its footer is missing");
    const char *end = memchr(data.p + 1, '\n', data.n - 1);
    struct str text = {data.p + 1, (size_t)(end - data.p - 1)};
    if (text.n == 0)
        return 0;
    z->has_rule = true;
    if (tzrule_parse(text, &z->rule) < 0)
        return zone_refuse_data(reterr, "its footer is not a rule for summer time");
    return 0;
}

/* Allocates the kinds of the file and two for the rule, and the spans of both. */
static int zone_reserve(struct zone *z, const struct zone_header *h, struct err *reterr) {
    size_t spans = (size_t)h->time_count + RULE_SPANS_MAX;
    z->kinds = mem_zalloc((h->type_count + 2) * sizeof(*z->kinds));
    z->begins = mem_alloc(spans * sizeof(*z->begins));
    z->kind_of = mem_alloc(spans * sizeof(*z->kind_of));
    return z->kinds && z->begins && z->kind_of ? 0 : err_std(reterr, ERR_NO_MEMORY);
}

static void zone_fill_kinds(struct zone *z, const struct zone_header *h, const struct zone_block *b) {
    for (uint32_t i = 0; i < h->type_count; i++) {
        const uint8_t *type = b->types + i * TZIF_TYPE_BYTES;
        struct zone_kind *kind = &z->kinds[i];
        kind->offset_s = (int32_t)zone_read_u32(type);
        kind->is_dst = type[4];
        (void)snprintf(kind->abbrev, sizeof(kind->abbrev), "%.*s", ZONE_ABBREV_MAX - 1,
                       (const char *)b->chars + type[5]); /* cut when longer */
    }
    z->kind_count = h->type_count;
    for (uint32_t i = 0; i < h->time_count; i++) {
        z->begins[i] = zone_read_time(b->times + i * b->time_bytes, b->time_bytes);
        z->kind_of[i] = b->indices[i];
    }
    z->count = h->time_count;
}

static void zone_add_span(struct zone *z, const struct zone_span *span) {
    uint16_t kind = 0;
    while (kind < z->kind_count &&
           !(z->kinds[kind].offset_s == span->offset_s && z->kinds[kind].is_dst == span->is_dst &&
             cstr_eq(z->kinds[kind].abbrev, span->abbrev)))
        kind++;
    if (kind == z->kind_count) {
        struct zone_kind *k = &z->kinds[z->kind_count++];
        k->offset_s = span->offset_s;
        k->is_dst = span->is_dst;
        memcpy(k->abbrev, span->abbrev, sizeof(k->abbrev));
    }
    z->begins[z->count] = span->begin_s;
    z->kind_of[z->count++] = kind;
}

/* Appends the spans of the rule to the table. The rule holds from the last transition on; without a table,
 * from the start. */
static void zone_fill_rule_spans(struct zone *z) {
    int64_t begin_s = z->count == 0 ? RULE_FIRST_S : z->begins[z->count - 1];
    struct zone_span span = tzrule_span_at(&z->rule, MAX(begin_s, RULE_FIRST_S));
    struct zone_span first = span;
    first.begin_s = begin_s;
    if (z->count > 0)
        z->count--;
    zone_add_span(z, &first);
    for (size_t i = 0; span.end_s < RULE_LAST_S && i + 2 < RULE_SPANS_MAX; i++) {
        span = tzrule_span_at(&z->rule, span.end_s);
        zone_add_span(z, &span);
    }
}

/* Frees the room that zone_reserve() took for unused spans. */
static void zone_shrink(struct zone *z) {
    size_t spans = MAX(z->count, (size_t)1);
    int64_t *begins = mem_resize(z->begins, spans * sizeof(*begins));
    uint16_t *kind_of = mem_resize(z->kind_of, spans * sizeof(*kind_of));
    z->begins = begins ? begins : z->begins;
    z->kind_of = kind_of ? kind_of : z->kind_of;
}

static int zone_read(struct zone *z, struct str data, struct err *reterr) {
    struct zone_header h;
    struct zone_block b = {0};
    int r = zone_read_header(data, &h, reterr);
    if (r == 0)
        r = zone_read_block(str_bytes(data.p + TZIF_HEADER_BYTES, data.n - TZIF_HEADER_BYTES), &h, 4, &b,
                            reterr);
    if (r == 0 && h.version >= 2) {
        struct str rest = {data.p + TZIF_HEADER_BYTES + b.size, data.n - TZIF_HEADER_BYTES - b.size};
        r = zone_read_header(rest, &h, reterr);
        if (r == 0)
            r = zone_read_block(str_bytes(rest.p + TZIF_HEADER_BYTES, rest.n - TZIF_HEADER_BYTES), &h, 8, &b,
                                reterr);
        size_t used = TZIF_HEADER_BYTES + b.size;
        if (r == 0)
            r = zone_read_footer(str_bytes(rest.p + used, rest.n - used), z, reterr);
    }
    if (r == 0)
        r = zone_check_block(&h, &b, reterr);
    if (r == 0)
        r = zone_reserve(z, &h, reterr);
    if (r < 0)
        return r;
    zone_fill_kinds(z, &h, &b);
    if (z->has_rule)
        zone_fill_rule_spans(z);
    zone_shrink(z);
    return 0;
}

int zone_new(struct str data, struct zone **ret, struct err *reterr) {
    struct zone *z cleanup(zone_freep) = mem_zalloc(sizeof(*z));
    if (!z)
        return err_std(reterr, ERR_NO_MEMORY);
    if (data.n > ZONE_FILE_BYTES_MAX)
        return zone_refuse_data(reterr, "it is larger than 64 KiB");
    int r = zone_read(z, data, reterr);
    if (r == 0)
        *ret = take(&z);
    return r;
}

struct zone *zone_free(struct zone *z) {
    if (z) {
        mem_free(z->kinds);
        mem_free(z->begins);
        mem_free(z->kind_of);
        mem_free(z);
    }
    return NULL;
}

void zone_freep(struct zone **z) {
    *z = zone_free(*z);
}

/* The number of spans that begin at or before this second. A binary search without branches. */
static size_t zone_spans_until(const struct zone *z, int64_t utc_s) {
    const int64_t *base = z->begins;
    size_t n = z->count;
    if (n == 0)
        return 0;
    while (n > 1) {
        size_t half = n / 2;
        base += base[half] <= utc_s ? half : 0;
        n -= half;
    }
    return (size_t)(base - z->begins) + (*base <= utc_s);
}

struct zone_span zone_span_at(const struct zone *z, int64_t utc_s) {
    if (!z)
        return (struct zone_span){INT64_MIN, INT64_MAX, 0, false, "UTC"};
    if (z->has_rule && utc_s >= RULE_LAST_S && utc_s >= z->begins[z->count - 1]) {
        struct zone_span span = tzrule_span_at(&z->rule, utc_s);
        span.begin_s = MAX(span.begin_s, z->begins[z->count - 1]);
        return span;
    }
    size_t i = zone_spans_until(z, utc_s);
    const struct zone_kind *kind = &z->kinds[i > 0 ? z->kind_of[i - 1] : z->first_kind];
    struct zone_span span = {
        .begin_s = i > 0 ? z->begins[i - 1] : INT64_MIN,
        .end_s = i < z->count ? z->begins[i] : INT64_MAX,
        .offset_s = kind->offset_s,
        .is_dst = kind->is_dst,
    };
    memcpy(span.abbrev, kind->abbrev, sizeof(span.abbrev));
    if (i == z->count && z->has_rule) /* the rule continues after the table */
        span.end_s = tzrule_span_at(&z->rule, MAX(span.begin_s, RULE_FIRST_S)).end_s;
    return span;
}

int64_t zone_instant(const struct zone *z, int64_t local_s) {
    if (!z)
        return local_s;
    struct zone_span span = zone_span_at(z, local_s - OFFSET_MAX_S);
    for (;;) {
        int64_t utc_s = local_s - span.offset_s;
        if (utc_s < span.end_s)
            return utc_s;
        struct zone_span next = zone_span_at(z, span.end_s);
        if (local_s - next.offset_s < next.begin_s)
            return utc_s; /* in the gap: the offset from before it */
        span = next;
    }
}

static const char *const missing_names[ZONE_MISSING_COUNT] = {"skip", "shift"};
static const char *const repeated_names[ZONE_REPEATED_COUNT] = {"both", "first", "last"};

const char *zone_missing_name(enum zone_missing missing) {
    return missing_names[missing];
}

const char *zone_repeated_name(enum zone_repeated repeated) {
    return repeated_names[repeated];
}

static int zone_name_index(struct str text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (str_is(text, names[i]))
            return i;
    return -1;
}

static bool zone_label_option(struct str option, struct zone_label *label) {
    const char *equals = option.n ? memchr(option.p, '=', option.n) : NULL;
    if (!equals)
        return false;
    struct str key = {option.p, (size_t)(equals - option.p)};
    struct str value = {equals + 1, option.n - key.n - 1};
    int i = -1;
    if (str_is(key, "missing")) {
        i = zone_name_index(value, missing_names, ZONE_MISSING_COUNT);
        label->missing = (enum zone_missing)MAX(i, 0);
    } else if (str_is(key, "repeated")) {
        i = zone_name_index(value, repeated_names, ZONE_REPEATED_COUNT);
        label->repeated = (enum zone_repeated)MAX(i, 0);
    }
    return i >= 0;
}

int zone_label_parse(struct str text, struct zone_label *ret, struct err *reterr) {
    if (text.n == 0)
        text = STR("");
    struct zone_label label = {.name = text};
    const char *semicolon = text.n ? memchr(text.p, ';', text.n) : NULL;
    if (semicolon)
        label.name.n = (size_t)(semicolon - text.p);
    for (const char *p = semicolon, *end = text.p + text.n; p;) {
        const char *option = p + 1;
        const char *next = memchr(option, ';', (size_t)(end - option));
        struct str slice = {option, (size_t)((next ? next : end) - option)};
        if (!zone_label_option(slice, &label))
            return err_set(reterr, ERR_INVALID,
                           "time zone \"%.*s\": \"%.*s\" is none of missing=skip, missing=shift, "
                           "repeated=both, repeated=first, repeated=last",
                           (int)MIN(text.n, 80), text.p, (int)MIN(slice.n, 40), slice.p);
        p = next;
    }
    *ret = label;
    return 0;
}
