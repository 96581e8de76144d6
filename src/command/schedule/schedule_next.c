/* `schedule next`: computes the next times of a spec.
 *
 * The parser is the server's; zones come from the system or from the copy in the program. The times are
 * therefore those of the server, before jitter. A note marks times that a clock change affects. It is found
 * by computing the times under both policies for missing local times, and comparing. */
#include "cal/civil.h"
#include "command/request/request.h"
#include "command/schedule/schedule_show.h"
#include "command/schedule/subject.h"
#include "host/loop.h"
#include "host/zoneinfo.h"
#include "json/moment.h"
#include "json/writer.h"

#define ZONES_MAX 8 /* of --also-in */

/* Clock changes. */

/* The spec under both policies for missing local times; NULL in UTC, which has no clock changes. */
struct variants {
    struct cal *skipping, *shifting;
};

static int next_new_variant(struct command *c, const struct subject *s, const char *missing,
                            struct cal **ret) {
    struct cal_spec spec = s->spec;
    struct zone_label label;
    struct err e;
    if (zone_label_parse(spec.zone_name, &label, &e) < 0)
        return ERR_INVALID;
    const char *name = arena_printf(&c->arena, "%.*s;missing=%s;repeated=%s", (int)label.name.n, label.name.p,
                                    missing, zone_repeated_name(label.repeated));
    spec.zone_name = str_of(name ? name : "");
    return name ? cal_new(&spec, &s->zones, ret, &e) : ERR_NO_MEMORY;
}

static int next_new_variants(struct command *c, const struct subject *s, struct variants *ret) {
    *ret = (struct variants){0};
    if (!cal_zone(s->cal) || s->spec.zone_data.n)
        return 0;
    int rc = next_new_variant(c, s, zone_missing_name(ZONE_MISSING_SKIP), &ret->skipping);
    return rc < 0 ? rc : next_new_variant(c, s, zone_missing_name(ZONE_MISSING_SHIFT), &ret->shifting);
}

static bool next_is_time(const struct cal *cal, int64_t utc_s) {
    size_t index;
    return cal_judge(cal, utc_s, &index) == CAL_IS_TIME;
}

/* The local time by the offset before the last clock change. */
static int64_t next_local_before_change(const struct zone *z, int64_t utc_s) {
    struct zone_span span = zone_span_at(z, utc_s);
    return utc_s + zone_span_at(z, span.begin_s - 1).offset_s;
}

static const char *next_fold_note(const struct zone *z, int64_t utc_s) {
    struct zone_span span = zone_span_at(z, utc_s);
    int64_t local_s = utc_s + span.offset_s;
    if (span.begin_s > INT64_MIN / 2 && local_s < span.begin_s + zone_span_at(z, span.begin_s - 1).offset_s)
        return "the clocks show it twice: the second";
    if (span.end_s < INT64_MAX / 2 && local_s >= span.end_s + zone_span_at(z, span.end_s).offset_s)
        return "the clocks show it twice: the first";
    return "";
}

/* The note about a clock change for this time, or for a time between the previous one and this. "" for
 * none. */
static const char *next_note_of(struct command *c, const struct subject *s, const struct variants *v,
                                int64_t before_s, int64_t utc_s) {
    const struct zone *z = cal_zone(s->cal);
    char text[CIVIL_TEXT_MAX];
    struct cal_time t;
    if (!v->shifting)
        return "";
    if (!next_is_time(v->skipping, utc_s)) {
        civil_format(next_local_before_change(z, utc_s), "", text);
        return arena_printf(&c->arena, "the clocks jump over %s: moved", text);
    }
    if (cal_next(v->shifting, STR(""), before_s * USEC_PER_SEC, &t) == CAL_FOUND && t.nominal_s < utc_s &&
        !next_is_time(s->cal, t.nominal_s)) {
        civil_format(next_local_before_change(z, t.nominal_s), "", text);
        return arena_printf(&c->arena, "the clocks jump over %s: left out", text);
    }
    return next_fold_note(z, utc_s);
}

/* Output. */

struct times_view {
    const struct zone *zones[ZONES_MAX];
    const char *names[ZONES_MAX];
    size_t zone_count;
    struct json_writer w;
};

struct time_line {
    const char *utc, *local, *note;
    const char *also[ZONES_MAX];
};

static int next_read_zone(struct command *c, const struct subject *s, const char *name,
                          const struct zone **ret, struct err *e) {
    int rc = when_zone(c, name, &name, e);
    if (rc < 0)
        return rc;
    *ret = cstr_eq(name, "UTC") ? NULL : zoneinfo_find(s->zoneinfo, str_of(name));
    return *ret || cstr_eq(name, "UTC") ? 0 : cal_zone_unknown(&s->zones, "", str_of(name), e);
}

static int next_read_zones(struct command *c, const struct subject *s, struct times_view *v) {
    struct err e;
    const char *name;
    for (; (name = opt_named_list(c->args, "also-in", v->zone_count)); v->zone_count++) {
        int rc = v->zone_count == ZONES_MAX ? err_set(&e, ERR_INVALID, "more than %d zones", ZONES_MAX)
                                            : next_read_zone(c, s, name, &v->zones[v->zone_count], &e);
        if (rc < 0) {
            command_print_error("--also-in: %s; see rondo schedule next --help", e.text);
            return ERR_INVALID;
        }
        v->names[v->zone_count] = name;
    }
    return 0;
}

static void next_add_json(const struct command *c, struct times_view *v, const struct time_line *l,
                          struct buf *out) {
    if (c->format == FORMAT_JSONL)
        writer_init(&v->w, out, false);
    writer_open(&v->w, '{');
    writer_key(&v->w, STR("time"));
    writer_string(&v->w, str_of(l->utc));
    writer_key(&v->w, STR("local"));
    writer_string(&v->w, str_of(l->local));
    if (v->zone_count) {
        writer_key(&v->w, STR("also"));
        writer_open(&v->w, '{');
        for (size_t i = 0; i < v->zone_count; i++) {
            writer_key(&v->w, str_of(v->names[i]));
            writer_string(&v->w, str_of(l->also[i]));
        }
        writer_close(&v->w, '}');
    }
    if (*l->note) {
        writer_key(&v->w, STR("note"));
        writer_string(&v->w, str_of(l->note));
    }
    writer_close(&v->w, '}');
    if (c->format == FORMAT_JSONL)
        buf_add_u8(out, '\n');
}

static int next_add_rows(struct command *c, const struct times_view *v, const struct time_line *lines,
                         struct buf *out) {
    struct rows rows = {.arena = &c->arena, .has_color = c->style.has_color};
    bool has_notes = false;
    for (size_t i = 0; i < c->shown; i++)
        has_notes |= *lines[i].note != 0;
    rows.columns = rows.titles = 2 + v->zone_count + has_notes;
    int rc = rows_add(&rows, "UTC");
    if (rc == 0)
        rc = rows_add(&rows, "Local");
    for (size_t k = 0; rc == 0 && k < v->zone_count; k++)
        rc = rows_add(&rows, v->names[k]);
    if (rc == 0 && has_notes)
        rc = rows_add(&rows, "Note");
    for (size_t i = 0; rc == 0 && i < c->shown; i++) {
        rc = rows_add(&rows, lines[i].utc);
        if (rc == 0)
            rc = rows_add(&rows, lines[i].local);
        for (size_t k = 0; rc == 0 && k < v->zone_count; k++)
            rc = rows_add(&rows, lines[i].also[k]);
        if (rc == 0 && has_notes)
            rc = rows_add(&rows, lines[i].note);
    }
    if (rc == 0)
        rows_print(&rows, out);
    return rc;
}

static int next_add_times(struct command *c, const struct subject *s, struct times_view *v, int64_t after_us,
                          struct buf *out) {
    size_t limit = (size_t)opt_int(c->args, FLAG_SCHEDULE_NEXT_LIMIT - FLAGS_OF_SCHEDULE_NEXT);
    struct time_line *lines = arena_array(&c->arena, struct time_line, limit);
    int64_t before_s = civil_div(after_us, USEC_PER_SEC);
    struct variants variants;
    struct cal_time t;
    int rc = lines ? next_new_variants(c, s, &variants) : ERR_NO_MEMORY;
    if (rc < 0)
        return rc;
    writer_init(&v->w, out, true);
    if (c->format == FORMAT_JSON)
        writer_open(&v->w, '[');
    for (; c->shown < limit && cal_next(s->cal, STR(""), after_us, &t) == CAL_FOUND; c->shown++) {
        struct time_line *l = &lines[c->shown];
        *l = (struct time_line){moments_utc_text(&c->arena, t.nominal_s),
                                moments_local_text(&c->arena, cal_zone(s->cal), t.nominal_s),
                                next_note_of(c, s, &variants, before_s, t.nominal_s),
                                {0}};
        for (size_t k = 0; k < v->zone_count; k++)
            l->also[k] = moments_local_text(&c->arena, v->zones[k], t.nominal_s);
        if (arena_failed(&c->arena))
            break;
        if (c->format == FORMAT_JSON || c->format == FORMAT_JSONL)
            next_add_json(c, v, l, out);
        after_us = t.actual_us;
        before_s = t.nominal_s;
    }
    if (c->format == FORMAT_JSON) {
        writer_close(&v->w, ']');
        buf_add_u8(out, '\n');
    }
    cal_free(variants.skipping);
    cal_free(variants.shifting);
    if (arena_failed(&c->arena))
        return ERR_NO_MEMORY;
    return c->format == FORMAT_TABLE && c->shown ? next_add_rows(c, v, lines, out) : 0;
}

enum command_exit schedule_next_run(struct command *c, struct buf *out) {
    struct subject s;
    struct times_view v = {0};
    int64_t after_us;
    if (subject_flag_time(c, "from", host_wall().us, &after_us) < 0)
        return COMMAND_MISUSED;
    enum command_exit code = subject_load(c, &s);
    if (code != COMMAND_DONE)
        return code;
    if (next_read_zones(c, &s, &v) < 0) {
        code = COMMAND_MISUSED;
    } else if (next_add_times(c, &s, &v, after_us, out) < 0) {
        command_print_error("out of memory");
        code = COMMAND_REFUSED;
    } else if (!c->shown && c->format != FORMAT_NONE) {
        command_print_error("no times follow");
    } else if (c->format == FORMAT_TABLE && s.schedule->state->paused && opt_named(c->args, "schedule-id")) {
        command_print_error("the schedule is paused: until it is unpaused, it acts at none of these times");
    }
    if (c->format == FORMAT_NONE)
        buf_clear(out);
    subject_done(&s);
    return code;
}
