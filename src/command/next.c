/* `schedule next`: the coming times of a spec, reckoned here.
 *
 * Strings are read by the same parser as the server's, zones come from the
 * system or from the copy in the program, so the times are those that the
 * server would have, before jitter. */
#include "cal/cal.h"
#include "command/command_int.h"
#include "host/loop.h"
#include "host/zoneinfo.h"
#include "json/moment.h"

static int add_times(struct command *c, struct cal_spec *spec) {
    const char *text;
    struct err e;
    for (size_t i = 0; (text = opt_list(c->args, FLAG_SCHEDULE_NEXT_CRON - FLAGS_OF_SCHEDULE_NEXT, i)); i++)
        if (cal_spec_add_cron(spec, str_of(text), &e) < 0) {
            say("--cron: %s", e.text);
            return ERR_INVALID;
        }
    for (size_t i = 0; (text = opt_list(c->args, FLAG_SCHEDULE_NEXT_INTERVAL - FLAGS_OF_SCHEDULE_NEXT, i));
         i++) {
        const char *every = arena_printf(&c->arena, "@every %s", text);
        if (!every || cal_spec_add_cron(spec, str_of(every), &e) < 0) {
            say("--interval: \"%s\" is not an interval such as 90m or 1h/15m", text);
            return ERR_INVALID;
        }
    }
    if (spec->calendar_count || spec->interval_count)
        return 0;
    say("no times are given: add --cron or --interval; see rondo schedule next --help");
    return ERR_INVALID;
}

static int read_from(struct command *c, int64_t *ret_us) {
    const char *text = flag_text(c->args, FLAG_SCHEDULE_NEXT_FROM);
    int32_t nanos;
    int64_t seconds;
    if (!text) {
        *ret_us = host_wall().us;
        return 0;
    }
    if (moment_read(str_of(text), &seconds, &nanos) < 0) {
        say("--from: \"%s\" is not a time such as 2026-03-01T09:00:00Z", text);
        return ERR_INVALID;
    }
    *ret_us = seconds * USEC_PER_SEC + nanos / NSEC_PER_USEC;
    return 0;
}

/* "2026-03-02T09:00:00+01:00", and the zone's own short name. */
static const char *local_text(struct command *c, const struct cal *cal, int64_t utc_s) {
    char text[MOMENT_TEXT_MAX];
    struct zone_span span = {.abbrev = "UTC"};
    if (cal_zone(cal))
        span = zone_span_at(cal_zone(cal), utc_s);
    if (moment_format(utc_s + span.offset_s, 0, text) < 0)
        return NULL;
    int32_t minutes = (span.offset_s < 0 ? -span.offset_s : span.offset_s) / 60;
    return arena_printf(&c->arena, "%.*s%c%02d:%02d %s", (int)strlen(text) - 1, text,
                        span.offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60, span.abbrev);
}

static void add_json(const struct command *c, struct buf *out, const char *utc, const char *local) {
    bool is_array = c->format == FORMAT_JSON;
    if (is_array)
        buf_add_cstr(out, c->shown ? ",\n  " : "\n  ");
    buf_add_cstr(out, "{\"time\":");
    opt_json_string(out, utc);
    buf_add_cstr(out, ",\"local\":");
    opt_json_string(out, local);
    buf_add_cstr(out, is_array ? "}" : "}\n");
}

static int add_time(struct command *c, const struct cal *cal, int64_t utc_s, struct rows *rows,
                    struct buf *out) {
    char text[MOMENT_TEXT_MAX];
    const char *local = local_text(c, cal, utc_s);
    const char *utc = moment_format(utc_s, 0, text) < 0 ? NULL : arena_strdup(&c->arena, text);
    if (!local || !utc)
        return ERR_NO_MEMORY;
    if (c->format != FORMAT_TABLE) {
        add_json(c, out, utc, local);
        return 0;
    }
    int rc = rows_add(rows, utc);
    return rc < 0 ? rc : rows_add(rows, local);
}

static int add_all(struct command *c, const struct cal *cal, int64_t after_us, struct buf *out) {
    struct rows rows = {.arena = &c->arena, .columns = 2, .titles = 2, .has_color = c->style.has_color};
    struct cal_time t;
    size_t limit = (size_t)opt_int(c->args, FLAG_SCHEDULE_NEXT_LIMIT - FLAGS_OF_SCHEDULE_NEXT);
    int rc = rows_add(&rows, "UTC");
    if (rc == 0)
        rc = rows_add(&rows, "Local");
    buf_add_cstr(out, c->format == FORMAT_JSON ? "[" : "");
    for (; rc == 0 && c->shown < limit && cal_next(cal, STR(""), after_us, &t) == CAL_FOUND; c->shown++) {
        rc = add_time(c, cal, t.nominal_s, &rows, out);
        after_us = t.actual_us;
    }
    buf_add_cstr(out, c->format == FORMAT_JSON ? "\n]\n" : "");
    if (rc == 0 && c->format == FORMAT_TABLE && c->shown)
        rows_print(&rows, out);
    return rc;
}

static enum command_exit reckon(struct command *c, struct zoneinfo *zoneinfo, struct buf *out) {
    struct cal_zones zones = zoneinfo_zones(zoneinfo);
    struct cal_spec spec;
    struct cal *cal;
    struct err e;
    int64_t after_us;
    const char *zone = flag_text(c->args, FLAG_SCHEDULE_NEXT_TIME_ZONE);
    cal_spec_init(&spec, &c->arena, STR("next"));
    spec.zone_name = str_of(zone ? zone : "");
    if (read_from(c, &after_us) < 0 || add_times(c, &spec) < 0)
        return COMMAND_MISUSED;
    if (cal_spec_finish(&spec, &e) < 0 || cal_new(&spec, &zones, &cal, &e) < 0) {
        say("%s", e.text);
        return COMMAND_MISUSED;
    }
    int rc = c->format == FORMAT_NONE ? 0 : add_all(c, cal, after_us, out);
    cal_free(cal);
    if (rc < 0) {
        say("out of memory");
        return COMMAND_REFUSED;
    }
    if (!c->shown && c->format != FORMAT_NONE)
        say("no time follows");
    return COMMAND_DONE;
}

enum command_exit next_run(struct command *c, struct buf *out) {
    struct zoneinfo *zoneinfo = zoneinfo_new(ZONEINFO_DIRECTORY);
    if (!zoneinfo) {
        say("out of memory");
        return COMMAND_REFUSED;
    }
    enum command_exit code = reckon(c, zoneinfo, out);
    zoneinfo_free(zoneinfo);
    return code;
}
