/* Times as text: relative to now, as in "3 minutes ago", or in full. */
#include "cal/civil.h"
#include "cal/zone.h"
#include "command/output/output.h"
#include "host/loop.h"
#include "json/moment.h"

static const struct {
    int64_t seconds;
    const char *name;
} units[] = {
    {365 * 86400, "year"}, {30 * 86400, "month"}, {7 * 86400, "week"}, {86400, "day"},
    {3600, "hour"},        {60, "minute"},        {1, "second"},
};

static void moments_add_relative(int64_t seconds, struct buf *out) {
    int64_t ago = host_wall().us / USEC_PER_SEC - seconds;
    int64_t length = ago < 0 ? -ago : ago;
    if (length == 0) {
        buf_add_cstr(out, "now");
        return;
    }
    size_t i = 0;
    while (length < units[i].seconds)
        i++;
    int64_t n = length / units[i].seconds;
    buf_printf(out, "%lld %s%s %s", (long long)n, units[i].name, n == 1 ? "" : "s",
               ago < 0 ? "from now" : "ago");
}

/* The form in which Go prints times. Scripts that ask for raw times expect it. */
static void moments_add_raw(const char *iso, struct buf *out) {
    buf_printf(out, "%.10s %.*s +0000 UTC", iso, (int)strlen(iso) - 12, iso + 11);
}

void moments_add_time(const struct command *c, int64_t seconds, int32_t nanos, enum moment_form form,
                      struct buf *out) {
    char iso[MOMENT_TEXT_MAX];
    const char *format = opt_named(c->args, "time-format");
    if (moment_format(seconds, nanos, iso) < 0)
        return;
    if (form == MOMENT_ISO || !format || cstr_eq(format, "iso"))
        buf_add_cstr(out, iso);
    else if (cstr_eq(format, "raw"))
        moments_add_raw(iso, out);
    else
        moments_add_relative(seconds, out);
}

const char *moments_local_text(struct arena *a, const struct zone *z, int64_t utc_s) {
    char text[CIVIL_TEXT_MAX];
    struct zone_span span = {.abbrev = "UTC"};
    if (z)
        span = zone_span_at(z, utc_s);
    civil_format(utc_s + span.offset_s, "", text);
    int32_t minutes = (span.offset_s < 0 ? -span.offset_s : span.offset_s) / 60;
    return arena_printf(a, "%s%c%02d:%02d %s", text, span.offset_s < 0 ? '-' : '+', minutes / 60,
                        minutes % 60, span.abbrev);
}

const char *moments_utc_text(struct arena *a, int64_t utc_s) {
    char text[CIVIL_TEXT_MAX];
    civil_format(utc_s, "Z", text);
    return arena_strdup(a, text);
}
