/* The preview that `schedule create` and `schedule update` print, and `schedule explain` uses.
 *
 * This program computes it from the spec, as `schedule next` does. A spec that it cannot read, because
 * another kind of server accepted it, has no preview. */
#include "command/schedule/preview.h"

#include "cal/civil.h"
#include "command/schedule/schedule_show.h"
#include "host/loop.h"
#include "json/writer.h"

static void preview_add_warning(struct preview *p, const char *kind, const char *text) {
    p->warnings[p->warning_count++] = (struct preview_warning){kind, text};
}

/* The time from which the schedule acts, in microseconds; INT64_MAX for never. */
static int64_t preview_acts_from(const Schedule__Schedule *s, int64_t now_us) {
    const Google__Protobuf__Timestamp *until = s->extras ? s->extras->pause_until : NULL;
    if (s->state->limited_actions && s->state->remaining_actions <= 0)
        return INT64_MAX;
    if (until) /* the server pauses the schedule until then */
        return MAX(now_us, pb_timestamp_us(until));
    return s->state->paused ? INT64_MAX : now_us;
}

static void preview_find_times(const struct subject *s, int64_t now_us, struct preview *p) {
    const Schedule__ScheduleState *state = s->schedule->state;
    int64_t after_us = preview_acts_from(s->schedule, now_us);
    size_t limit = state->limited_actions ? (size_t)MIN(MAX(state->remaining_actions, 0), PREVIEW_TIMES_MAX)
                                          : PREVIEW_TIMES_MAX;
    struct cal_time t;
    while (after_us != INT64_MAX && p->next_count < limit &&
           cal_next(s->cal, STR(""), after_us, &t) == CAL_FOUND) {
        p->next_s[p->next_count++] = t.nominal_s;
        after_us = t.actual_us;
    }
}

int preview_make(struct command *c, const struct subject *s, int64_t now_us, struct preview *ret) {
    const Schedule__ScheduleState *state = s->schedule->state;
    struct warning found[WARNING_KINDS];
    struct err e;
    size_t n;
    *ret = (struct preview){0};
    int rc = warnings_of(&s->spec, &s->zones, now_us, &c->arena, found, &n, &e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        preview_add_warning(ret, warning_word(found[i].kind), found[i].text);
    if (state->paused)
        preview_add_warning(ret, "paused", "The schedule is paused: it starts nothing until it is unpaused.");
    if (state->limited_actions && state->remaining_actions <= 0)
        preview_add_warning(ret, "exhausted", "No actions remain: the schedule starts nothing.");
    preview_find_times(s, now_us, ret);
    return rc;
}

/* Output. */

static void preview_add_json(struct command *c, const struct preview *p, struct buf *out) {
    struct json_writer w;
    writer_init(&w, out, c->format == FORMAT_JSON);
    writer_open(&w, '{');
    writer_key(&w, STR("scheduleId"));
    writer_string(&w, str_of(opt_named(c->args, "schedule-id")));
    writer_key(&w, STR("nextTimes"));
    writer_open(&w, '[');
    for (size_t i = 0; i < p->next_count; i++) {
        const char *time = moments_utc_text(&c->arena, p->next_s[i]);
        writer_string(&w, str_of(time ? time : ""));
    }
    writer_close(&w, ']');
    writer_key(&w, STR("warnings"));
    writer_open(&w, '[');
    for (size_t i = 0; i < p->warning_count; i++) {
        writer_open(&w, '{');
        writer_key(&w, STR("kind"));
        writer_string(&w, str_of(p->warnings[i].kind));
        writer_key(&w, STR("text"));
        writer_string(&w, str_of(p->warnings[i].text));
        writer_close(&w, '}');
    }
    writer_close(&w, ']');
    writer_close(&w, '}');
    buf_add_u8(out, '\n');
}

static int preview_add_card(struct command *c, const struct subject *s, const struct preview *p,
                            struct buf *out) {
    struct card d;
    card_init(&d, c, &c->arena);
    card_add(&d, "ScheduleId", opt_named(c->args, "schedule-id"));
    for (size_t i = 0; i < p->next_count; i++)
        card_add(&d, i ? "" : "NextTimes", moments_local_text(&c->arena, cal_zone(s->cal), p->next_s[i]));
    for (size_t i = 0; i < p->warning_count; i++)
        card_add(&d, "Warning", p->warnings[i].text);
    return card_print(&d, out);
}

enum command_exit preview_show(struct command *c, struct buf *out) {
    struct subject s;
    struct preview p = {0};
    bool is_known = subject_from_draft(c, &s) == 0;
    int rc = is_known ? preview_make(c, &s, host_wall().us, &p) : 0;
    if (rc == 0 && c->format == FORMAT_TABLE)
        rc = preview_add_card(c, &s, &p, out);
    else if (rc == 0 && c->format != FORMAT_NONE)
        preview_add_json(c, &p, out);
    subject_done(&s);
    if (rc < 0 || arena_failed(&c->arena)) {
        command_print_error("the schedule was stored, but its next times cannot be shown: out of memory");
        return COMMAND_REFUSED;
    }
    return COMMAND_DONE;
}
