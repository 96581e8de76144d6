/* `schedule explain`: shows a spec in words, with its warnings. With --time it explains why one time
 * belongs to the spec or not. */
#include "cal/civil.h"
#include "cal/words.h"
#include "command/connection.h"
#include "command/request/request.h"
#include "command/schedule/preview.h"
#include "command/schedule/schedule_show.h"
#include "core/schedule/holiday.h"
#include "host/loop.h"
#include "host/zoneinfo.h"
#include "json/writer.h"

#define WORDS_BYTES_MAX (1u << 20)

struct explanation {
    const char *text; /* the whole spec in one sentence */
    const char **times; /* one text for each part */
    const char **exclusions;
    size_t time_count, exclusion_count;
    struct preview ahead;
};

static const char *explain_take_words(struct command *c, struct buf *b) {
    const char *text = buf_ok(b) ? arena_strndup(&c->arena, (const char *)b->data, b->len) : NULL;
    buf_clear(b);
    return text;
}

/* Adds holiday calendars by name; their days would be a long list. */
static int explain_add_holidays(struct command *c, const struct subject *s, struct explanation *x) {
    const Rondo__ScheduleExtras *extras = s->schedule->extras;
    for (size_t i = 0; extras && i < extras->n_holiday_calendars; i++)
        x->exclusions[x->exclusion_count++] = arena_printf(
            &c->arena, "on the days of the holiday calendar \"%s\"%s", extras->holiday_calendars[i],
            holidays_find(&s->space, extras->holiday_calendars[i]) ? "" : ", which does not exist");
    return arena_failed(&c->arena) ? ERR_NO_MEMORY : 0;
}

static int explain_add_parts(struct command *c, const struct subject *s, struct explanation *x) {
    const Rondo__ScheduleExtras *extras = s->schedule->extras;
    struct buf words cleanup(buf_done);
    struct cal_spec own = s->spec;
    buf_init(&words, WORDS_BYTES_MAX);
    x->times = arena_array(&c->arena, const char *, own.calendar_count + own.interval_count + 1);
    x->exclusions = arena_array(&c->arena, const char *,
                                s->own_exclusions + (extras ? extras->n_holiday_calendars : 0) + 1);
    if (!x->times || !x->exclusions)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < own.calendar_count; i++) {
        words_calendar(&own.calendars[i], &c->arena, &words);
        x->times[x->time_count++] = explain_take_words(c, &words);
    }
    for (size_t i = 0; i < own.interval_count; i++) {
        words_interval(&own.intervals[i], &words);
        x->times[x->time_count++] = explain_take_words(c, &words);
    }
    for (size_t i = 0; i < s->own_exclusions; i++) {
        words_exclusion(&own.excludes[i], &c->arena, &words);
        x->exclusions[x->exclusion_count++] = explain_take_words(c, &words);
    }
    own.exclude_count = s->own_exclusions;
    words_spec(&own, &words);
    x->text = explain_take_words(c, &words);
    return explain_add_holidays(c, s, x);
}

/* Output. */

static void explain_add_array(struct json_writer *w, const char *key, const char *const *texts, size_t n) {
    writer_key(w, str_of(key));
    writer_open(w, '[');
    for (size_t i = 0; i < n; i++)
        writer_string(w, str_of(texts[i]));
    writer_close(w, ']');
}

static int explain_show_json(struct command *c, const struct subject *s, const struct explanation *x,
                             struct buf *out) {
    struct json_writer w;
    writer_init(&w, out, c->format == FORMAT_JSON);
    writer_open(&w, '{');
    writer_key(&w, STR("text"));
    writer_string(&w, str_of(x->text));
    explain_add_array(&w, "times", x->times, x->time_count);
    explain_add_array(&w, "exclusions", x->exclusions, x->exclusion_count);
    writer_key(&w, STR("warnings"));
    writer_open(&w, '[');
    for (size_t i = 0; i < x->ahead.warning_count; i++) {
        writer_open(&w, '{');
        writer_key(&w, STR("kind"));
        writer_string(&w, str_of(x->ahead.warnings[i].kind));
        writer_key(&w, STR("text"));
        writer_string(&w, str_of(x->ahead.warnings[i].text));
        writer_close(&w, '}');
    }
    writer_close(&w, ']');
    writer_key(&w, STR("next"));
    writer_open(&w, '[');
    for (size_t i = 0; i < x->ahead.next_count; i++) {
        const char *utc = moments_utc_text(&c->arena, x->ahead.next_s[i]),
                   *local = moments_local_text(&c->arena, cal_zone(s->cal), x->ahead.next_s[i]);
        if (!utc || !local)
            return ERR_NO_MEMORY;
        writer_open(&w, '{');
        writer_key(&w, STR("time"));
        writer_string(&w, str_of(utc));
        writer_key(&w, STR("local"));
        writer_string(&w, str_of(local));
        writer_close(&w, '}');
    }
    writer_close(&w, ']');
    writer_close(&w, '}');
    buf_add_u8(out, '\n');
    return 0;
}

static int explain_show_card(struct command *c, const struct subject *s, const struct explanation *x,
                             struct buf *out) {
    struct card d;
    card_init(&d, c, &c->arena);
    if (!x->time_count)
        card_add(&d, "When", "never");
    for (size_t i = 0; i < x->time_count; i++)
        card_add(&d, i ? "" : "When", x->times[i]);
    for (size_t i = 0; i < x->exclusion_count; i++)
        card_add(&d, i ? "" : "Not", x->exclusions[i]);
    schedule_add_bounds(&d, &s->spec);
    for (size_t i = 0; i < x->ahead.next_count; i++)
        card_add(&d, i ? "" : "Next", moments_local_text(&c->arena, cal_zone(s->cal), x->ahead.next_s[i]));
    for (size_t i = 0; i < x->ahead.warning_count; i++)
        card_add(&d, "Warning", x->ahead.warnings[i].text);
    return card_print(&d, out);
}

static enum command_exit explain_spec(struct command *c, const struct subject *s, int64_t now_us,
                                      struct buf *out) {
    struct explanation x = {0};
    int rc = preview_make(c, s, now_us, &x.ahead);
    if (rc == 0)
        rc = explain_add_parts(c, s, &x);
    if (rc == 0 && c->format == FORMAT_TABLE)
        rc = explain_show_card(c, s, &x, out);
    else if (rc == 0 && c->format != FORMAT_NONE)
        rc = explain_show_json(c, s, &x, out);
    if (rc < 0)
        command_print_error("out of memory");
    return rc < 0 ? COMMAND_REFUSED : COMMAND_DONE;
}

/* One time. */

/* Asks a Rondo server for the outcome of a time. NULL with COMMAND_DONE when the server has no such call. */
static enum command_exit explain_ask_time(struct command *c, int64_t at_us,
                                          Rondo__ExplainScheduleTimeResponse **ret) {
    ProtobufCMessage *found = NULL;
    Google__Protobuf__Timestamp time = pb_timestamp(at_us);
    Rondo__ExplainScheduleTimeRequest *r =
        (Rondo__ExplainScheduleTimeRequest *)request_new(c, CALL_ExplainScheduleTime);
    if (!r || !(r->schedule_id = arena_strdup(&c->arena, opt_named(c->args, "schedule-id"))))
        return COMMAND_REFUSED;
    r->time = &time;
    struct connection_ask ask = {
        .method = CALL_ExplainScheduleTime, .request = &r->base, .expected = GRPC_UNIMPLEMENTED};
    enum command_exit code = connection_call(c, &ask, &c->arena, &found);
    *ret = (Rondo__ExplainScheduleTimeResponse *)found;
    return code;
}

/* Explains a time by the spec alone, in the words of the server. NULL: out of memory. */
static Rondo__ExplainScheduleTimeResponse *explain_judge_time(struct command *c, const struct subject *s,
                                                              int64_t at_us) {
    size_t index = 0;
    int64_t at_s = civil_div(at_us, USEC_PER_SEC);
    enum cal_verdict verdict = cal_judge(s->cal, at_s, &index);
    struct verdict_text said = schedule_verdict(verdict);
    Rondo__ExplainScheduleTimeResponse *r =
        pb_arena_new(&rondo__explain_schedule_time_response__descriptor, &c->arena);
    const char *why = verdict != CAL_EXCLUDED     ? ""
                      : index < s->own_exclusions ? "the spec excludes it"
                                                  : holidays_reason(s->schedule->extras, &c->arena);
    const char *time = moments_utc_text(&c->arena, at_s);
    if (!r || !time || !(r->explanation = arena_printf(&c->arena, "%s %s%s.", time, said.sentence, why)) ||
        !(r->verdict = arena_strdup(&c->arena, said.word)))
        return NULL;
    return r;
}

static enum command_exit explain_time(struct command *c, const struct subject *s, int64_t at_us,
                                      struct buf *out) {
    static const struct command_rule rule = {CALL_ExplainScheduleTime, "",
                                             "Verdict=verdict|Explanation=explanation|Fate=entries"};
    Rondo__ExplainScheduleTimeResponse *r = NULL;
    enum command_exit code = COMMAND_DONE;
    if (*s->schedule_id)
        code = explain_ask_time(c, at_us, &r);
    if (code != COMMAND_DONE)
        return code;
    if (!r && !(r = explain_judge_time(c, s, at_us))) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    c->rule = &rule;
    return view_page(c, &r->base, out) < 0 ? COMMAND_REFUSED : COMMAND_DONE;
}

enum command_exit schedule_explain_run(struct command *c, struct buf *out) {
    struct subject s;
    int64_t now_us, at_us;
    if (subject_flag_time(c, "from", host_wall().us, &now_us) < 0 ||
        subject_flag_time(c, "time", 0, &at_us) < 0)
        return COMMAND_MISUSED;
    enum command_exit code = subject_load(c, &s);
    if (code != COMMAND_DONE)
        return code;
    code =
        opt_named_given(c->args, "time") ? explain_time(c, &s, at_us, out) : explain_spec(c, &s, now_us, out);
    subject_done(&s);
    return code;
}
