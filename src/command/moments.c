/* Times for people: how long ago, or from now, as in "3 minutes ago"; or in full. */
#include "command/command_int.h"
#include "host/loop.h"
#include "json/moment.h"

static const struct {
    int64_t seconds;
    const char *name;
} units[] = {
    {365 * 86400, "year"}, {30 * 86400, "month"}, {7 * 86400, "week"}, {86400, "day"},
    {3600, "hour"},        {60, "minute"},        {1, "second"},
};

static void add_relative(int64_t seconds, struct buf *out) {
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

/* As Go prints times, which is what scripts that ask for raw ones expect. */
static void add_raw(const char *iso, struct buf *out) {
    buf_printf(out, "%.10s %.*s +0000 UTC", iso, (int)strlen(iso) - 12, iso + 11);
}

void add_moment(const struct command *c, int64_t seconds, int32_t nanos, bool is_iso, struct buf *out) {
    char iso[MOMENT_TEXT_MAX];
    const char *format = opt_named(c->args, "time-format");
    if (moment_format(seconds, nanos, iso) < 0)
        return;
    if (is_iso || !format || streq(format, "iso"))
        buf_add_cstr(out, iso);
    else if (streq(format, "raw"))
        add_raw(iso, out);
    else
        add_relative(seconds, out);
}
