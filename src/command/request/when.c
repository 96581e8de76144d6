/* Times as people write them: 2026-03-01T09:00:00Z, 2026-03-01, now, yesterday, -1h.
 *
 * A time without an offset is in the zone of --time-zone if the command has that flag, else in UTC.
 * Durations count from now. "local" as a zone is the zone of this machine. */
#include "cal/civil.h"
#include "cal/duration.h"
#include "cal/zone.h"
#include "command/request/request.h"
#include "host/loop.h"
#include "host/zoneinfo.h"
#include "json/moment.h"

static const struct {
    const char *name;
    int days; /* from today */
} day_names[] = {{"yesterday", -1}, {"today", 0}, {"tomorrow", 1}};

int when_zone(struct command *c, const char *text, const char **ret, struct err *reterr) {
    static const char word[] = "local";
    size_t n = strcspn(text, ";");
    char name[ZONEINFO_NAME_MAX];
    *ret = text;
    if (n != sizeof(word) - 1 || strncmp(text, word, n) != 0)
        return 0;
    if (!zoneinfo_local_name(c->args->env ? c->args->env("TZ") : NULL, name))
        return err_set(reterr, ERR_INVALID,
                       "the time zone of this machine is not known; give a name such as Europe/Berlin");
    *ret = arena_printf(&c->arena, "%s%s", name, text + n);
    return *ret ? 0 : err_std(reterr, ERR_NO_MEMORY);
}

/* The zone of times without an offset, and the zone data that holds it. */
struct line_zone {
    struct zoneinfo *zoneinfo;
    const struct zone *zone; /* NULL: UTC */
};

static void when_zone_done(struct line_zone *z) {
    zoneinfo_free(z->zoneinfo);
}

static int when_zone_open(struct command *c, struct line_zone *ret, struct err *reterr) {
    const char *text = opt_named(c->args, "time-zone");
    struct zone_label label;
    *ret = (struct line_zone){0};
    if (!text)
        return 0;
    int rc = when_zone(c, text, &text, reterr);
    if (rc == 0)
        rc = zone_label_parse(str_of(text), &label, reterr);
    if (rc < 0 || !label.name.n || str_is(label.name, "UTC"))
        return rc;
    ret->zoneinfo = zoneinfo_new(ZONEINFO_DIRECTORY);
    if (!ret->zoneinfo)
        return err_std(reterr, ERR_NO_MEMORY);
    ret->zone = zoneinfo_find(ret->zoneinfo, label.name);
    struct cal_zones zones = zoneinfo_zones(ret->zoneinfo);
    return ret->zone ? 0 : cal_zone_unknown(&zones, "--time-zone: ", label.name, reterr);
}

/* The day in the zone that a word such as "tomorrow" means. */
static bool when_read_day(const struct line_zone *z, const char *text, int64_t *ret_day) {
    int64_t today = civil_day_of(zone_local(z->zone, host_wall().us / USEC_PER_SEC));
    for (size_t i = 0; i < ARRAY_LEN(day_names); i++)
        if (cstr_eq(text, day_names[i].name)) {
            *ret_day = today + day_names[i].days;
            return true;
        }
    return false;
}

static bool when_read_civil(const struct line_zone *z, const char *text, int64_t *ret_s) {
    struct civil_stamp stamp;
    char copy[CIVIL_TEXT_MAX] = "";
    size_t at;
    if (strlen(text) >= sizeof(copy))
        return false;
    strncat(copy, text, sizeof(copy) - 1);
    if (strlen(copy) > 11 && copy[10] == ' ')
        copy[10] = 'T';
    if (civil_parse(str_of(copy), &stamp, &at) < 0)
        return false;
    *ret_s = stamp.has_offset ? stamp.local_s - stamp.offset_s : zone_instant(z->zone, stamp.local_s);
    return true;
}

static bool when_read_moment(const struct line_zone *z, const char *text, int64_t *ret_s,
                             int32_t *ret_nanos) {
    int64_t us = 0, day;
    bool is_ago = text[0] == '-' || text[0] == '+';
    if (moment_read(str_of(text), ret_s, ret_nanos) == 0)
        return true;
    *ret_nanos = 0;
    if (cstr_eq(text, "now") || (is_ago && duration_parse_units(str_of(text), &us) == 0)) {
        if (__builtin_add_overflow(us, host_wall().us, &us))
            return false;
        *ret_s = civil_div(us, USEC_PER_SEC);
        *ret_nanos = (int32_t)civil_mod(us, USEC_PER_SEC) * NSEC_PER_USEC;
        return true;
    }
    if (when_read_day(z, text, &day)) {
        *ret_s = zone_instant(z->zone, day * CIVIL_DAY_S);
        return true;
    }
    return when_read_civil(z, text, ret_s);
}

int when_read(struct command *c, const char *text, int64_t *ret_seconds, int32_t *ret_nanos,
              struct err *reterr) {
    struct line_zone z cleanup(when_zone_done) = {0};
    char check[MOMENT_TEXT_MAX];
    int rc = when_zone_open(c, &z, reterr);
    if (rc < 0)
        return rc;
    if (!when_read_moment(&z, text, ret_seconds, ret_nanos) ||
        moment_format(*ret_seconds, *ret_nanos, check) < 0)
        return err_set(reterr, ERR_INVALID,
                       "\"%s\" is not a time such as 2026-03-01T09:00:00Z, 2026-03-01, now, yesterday or -1h",
                       text);
    return 0;
}

const char *when_text(struct command *c, const char *text, struct err *reterr) {
    int64_t seconds;
    int32_t nanos;
    char iso[MOMENT_TEXT_MAX];
    if (when_read(c, text, &seconds, &nanos, reterr) < 0 || moment_format(seconds, nanos, iso) < 0)
        return NULL;
    const char *kept = arena_strdup(&c->arena, iso);
    if (!kept)
        (void)err_std(reterr, ERR_NO_MEMORY);
    return kept;
}

const char *when_date(struct command *c, const char *text, struct err *reterr) {
    struct line_zone z cleanup(when_zone_done) = {0};
    char iso[CIVIL_TEXT_MAX];
    int64_t day;
    if (when_zone_open(c, &z, reterr) < 0)
        return NULL;
    if (!when_read_day(&z, text, &day))
        return text;
    civil_format(day * CIVIL_DAY_S, "", iso);
    iso[strlen("2026-03-01")] = '\0';
    const char *kept = arena_strdup(&c->arena, iso);
    if (!kept)
        (void)err_std(reterr, ERR_NO_MEMORY);
    return kept;
}
