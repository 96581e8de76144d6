/* `schedule simulate`: the outcome of each time of a schedule when its runs take a given time.
 *
 * The simulation (simulation.h) uses the scheduler of the server, so the output is what the server would
 * write into its ledger. */
#include <inttypes.h>
#include <stdio.h>

#include "cal/civil.h"
#include "cal/duration.h"
#include "cal/words.h"
#include "command/request/request.h"
#include "command/schedule/schedule_show.h"
#include "command/schedule/simulation.h"
#include "command/schedule/subject.h"
#include "core/schedule/holiday.h"
#include "host/loop.h"
#include "json/json.h"
#include "json/moment.h"
#include "json/shape.h"
#include "json/writer.h"

#define LIMIT_MAX 10000
#define LIST_MAX 64 /* of --duration and of --outage */
#define DURATION_STANDARD_US (60 * USEC_PER_SEC)
#define PERCENT 100
#define FATE_COUNT (LEDGER_FATE_CANCELED + 1)

struct lists {
    int64_t durations_us[LIST_MAX];
    struct simulated_outage outages[LIST_MAX];
};

/* Flags. */

static int simulate_read_duration(const char *flag, const char *text, int64_t *ret_us) {
    if (duration_parse_units(str_of(text), ret_us) == 0 && *ret_us >= 0)
        return 0;
    command_print_error("--%s: \"%s\" is not a duration such as 90s, 25m or 1h30m", flag, text);
    return ERR_INVALID;
}

static int simulate_read_moment(struct command *c, const char *text, int64_t *ret_us) {
    int64_t seconds;
    int32_t nanos;
    struct err e;
    if (when_read(c, text, &seconds, &nanos, &e) < 0)
        return ERR_INVALID;
    *ret_us = seconds * USEC_PER_SEC + nanos / NSEC_PER_USEC;
    return 0;
}

static int simulate_read_outage(struct command *c, const char *text, struct simulated_outage *ret) {
    size_t n = strcspn(text, "/");
    const char *from = arena_strndup(&c->arena, text, n);
    if (from && text[n] && simulate_read_moment(c, from, &ret->from_us) == 0 &&
        simulate_read_moment(c, text + n + 1, &ret->to_us) == 0 && ret->from_us < ret->to_us)
        return 0;
    command_print_error("--outage: \"%s\" is not a period such as 2026-03-01T00:00:00Z/2026-03-01T06:00:00Z",
                        text);
    return ERR_INVALID;
}

static int simulate_read_lists(struct command *c, struct lists *l, struct simulation_plan *p) {
    const char *text;
    for (; (text = opt_named_list(c->args, "duration", p->duration_count)) && p->duration_count < LIST_MAX;
         p->duration_count++)
        if (simulate_read_duration("duration", text, &l->durations_us[p->duration_count]) < 0)
            return ERR_INVALID;
    for (; (text = opt_named_list(c->args, "outage", p->outage_count)) && p->outage_count < LIST_MAX;
         p->outage_count++)
        if (simulate_read_outage(c, text, &l->outages[p->outage_count]) < 0)
            return ERR_INVALID;
    if (!p->duration_count)
        l->durations_us[p->duration_count++] = DURATION_STANDARD_US;
    p->durations_us = l->durations_us;
    p->outages = l->outages;
    if (str_to_i64(str_of(opt_named(c->args, "fail-every")), &p->fail_every) < 0)
        return ERR_INVALID;
    return simulate_read_duration("cancel-takes", opt_named(c->args, "cancel-takes"), &p->cancel_us);
}

/* Finds the last nominal time to simulate: by --to, or by --limit. */
static int simulate_find_end(struct command *c, const struct subject *s, struct simulation_plan *p) {
    struct cal_spec raw = s->spec;
    struct cal_time t;
    struct cal *cal;
    struct err e;
    int64_t limit = LIMIT_MAX, to_us, after_us = p->from_us;
    if (subject_flag_time(c, "to", CAL_NO_END, &to_us) < 0)
        return ERR_INVALID;
    if ((opt_named_given(c->args, "limit") || !opt_named_given(c->args, "to")) &&
        str_to_i64(str_of(opt_named(c->args, "limit")), &limit) < 0)
        return ERR_INVALID;
    raw.exclude_count = 0;
    raw.jitter_us = 0;
    if (cal_new(&raw, &s->zones, &cal, &e) < 0) {
        command_print_error("%s", e.text);
        return ERR_INVALID;
    }
    p->to_us = p->from_us;
    for (int64_t i = 0;
         i < limit && cal_next(cal, STR(""), after_us, &t) == CAL_FOUND && t.actual_us <= to_us; i++)
        p->to_us = after_us = t.actual_us;
    cal_free(cal);
    return 0;
}

/* Drops deleted holiday calendars: they exclude nothing, and a new schedule could not name them. */
static void simulate_drop_missing(const struct subject *s) {
    Rondo__ScheduleExtras *extras = s->schedule->extras;
    size_t kept = 0;
    for (size_t i = 0; i < extras->n_holiday_calendars; i++)
        if (holidays_find(&s->space, extras->holiday_calendars[i]))
            extras->holiday_calendars[kept++] = extras->holiday_calendars[i];
    extras->n_holiday_calendars = kept;
}

/* Fills in what a server requires of a schedule, and removes what would stop the simulation. */
static int simulate_prepare_schedule(struct command *c, struct subject *s, const struct simulation_plan *p,
                                     struct err *e) {
    Schedule__Schedule *schedule = s->schedule;
    Workflow__NewWorkflowExecutionInfo *action = schedule->action ? schedule->action->start_workflow : NULL;
    int rc = 0;
    if (!action || cstr_is_empty(action->workflow_id))
        rc = request_set(c->request, "schedule.action.start_workflow.workflow_id", FORM_PLAIN, "simulated",
                         &c->arena, e);
    if (rc == 0 && (!action || !action->workflow_type))
        rc = request_set(c->request, "schedule.action.start_workflow.workflow_type.name", FORM_PLAIN,
                         "simulated", &c->arena, e);
    if (rc == 0 && (!action || !action->task_queue))
        rc = request_set(c->request, "schedule.action.start_workflow.task_queue.name", FORM_PLAIN,
                         "simulated", &c->arena, e);
    if (rc < 0)
        return rc;
    schedule->action->start_workflow->search_attributes = NULL; /* the simulated namespace has none */
    schedule->state->paused = false;
    if (schedule->extras) {
        schedule->extras->pause_until = NULL;
        simulate_drop_missing(s);
    }
    schedule->spec->end_time = pb_arena_timestamp(p->to_us, &c->arena);
    return schedule->spec->end_time ? 0 : err_std(e, ERR_NO_MEMORY);
}

/* Output. */

struct summary {
    size_t fates[FATE_COUNT];
    size_t times;
    int64_t longest_wait_us;
};

static struct summary simulate_sum_up(const struct simulation *r) {
    struct summary s = {0};
    for (size_t i = 0; i < r->count; i++) {
        const Rondo__LedgerEntry *e = r->entries[i];
        size_t n = e->count > 1 ? (size_t)e->count : 1;
        s.times += n;
        s.fates[e->fate] += n;
        if (e->lateness)
            s.longest_wait_us = MAX(s.longest_wait_us, pb_duration_us(e->lateness));
    }
    return s;
}

static void simulate_add_count(struct json_writer *w, const char *key, size_t n) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%zu", n);
    writer_key(w, str_of(key));
    writer_token(w, str_of(text));
}

static void simulate_add_seconds(struct json_writer *w, const char *key, int64_t us) {
    char text[MOMENT_TEXT_MAX];
    if (span_format(us / USEC_PER_SEC, (int32_t)(us % USEC_PER_SEC) * NSEC_PER_USEC, text) < 0)
        return;
    writer_key(w, str_of(key));
    writer_string(w, str_of(text));
}

/* LEDGER_FATE_OVERLAP_SKIPPED -> overlapSkipped */
static void simulate_fate_name(int fate, bool is_title, char name[SHAPE_NAME_MAX]) {
    char lower[SHAPE_NAME_MAX] = "";
    const char *full = shape_enum_name(&rondo__ledger_fate__descriptor, fate);
    strncat(lower, full + strlen("LEDGER_FATE_"), sizeof(lower) - 1);
    for (char *at = lower; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at | 0x20);
    shape_camel(lower, name);
    if (is_title)
        name[0] = (char)(name[0] & ~0x20);
}

static void simulate_add_summary(struct json_writer *w, const struct simulation *r,
                                 const struct simulation_plan *p) {
    struct summary s = simulate_sum_up(r);
    char name[SHAPE_NAME_MAX];
    writer_open(w, '{');
    simulate_add_count(w, "times", s.times);
    for (int i = 1; i < FATE_COUNT; i++) {
        if (!s.fates[i])
            continue;
        simulate_fate_name(i, false, name);
        simulate_add_count(w, name, s.fates[i]);
    }
    simulate_add_count(w, "mostRunning", r->peak_running);
    simulate_add_count(w, "mostWaiting", r->peak_waiting);
    simulate_add_seconds(w, "longestWait", s.longest_wait_us);
    simulate_add_seconds(w, "busy", r->busy_us);
    simulate_add_seconds(w, "length", r->end_us - p->from_us);
    writer_key(w, STR("pausedItself"));
    writer_token(w, r->is_paused ? STR("true") : STR("false"));
    writer_close(w, '}');
}

static int simulate_show_json(const struct command *c, const struct simulation *r,
                              const struct simulation_plan *p, struct buf *out) {
    struct json_style style = {.has_shorthand = true};
    struct json_writer w;
    struct err e;
    bool is_lines = c->format == FORMAT_JSONL;
    int rc = 0;
    buf_add_cstr(out, is_lines ? "" : "{\n  \"entries\": [");
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        buf_add_cstr(out, is_lines ? "" : i ? ",\n    " : "\n    ");
        rc = json_print(out, &r->entries[i]->base, style, &e);
        buf_add_cstr(out, is_lines ? "\n" : "");
    }
    buf_add_cstr(out, is_lines ? "{\"summary\":" : "\n  ],\n  \"summary\": ");
    writer_init(&w, out, false);
    simulate_add_summary(&w, r, p);
    buf_add_cstr(out, is_lines ? "}\n" : "\n}\n");
    return rc;
}

static const char *simulate_time_text(struct command *c, const Google__Protobuf__Timestamp *t) {
    return t ? moments_utc_text(&c->page, t->seconds) : "";
}

static const char *simulate_length_text(struct command *c, int64_t us) {
    struct buf words cleanup(buf_done);
    buf_init(&words, 1u << 10);
    if (us >= USEC_PER_SEC)
        words_length(us - us % USEC_PER_SEC, &words);
    return words.len ? arena_strndup(&c->page, (const char *)words.data, words.len) : "";
}

static int simulate_add_entry(struct command *c, struct rows *rows, const Rondo__LedgerEntry *e) {
    char name[SHAPE_NAME_MAX];
    simulate_fate_name((int)e->fate, true, name);
    const char *cells[] = {
        simulate_time_text(c, e->nominal_time),
        e->count > 1 ? arena_printf(&c->page, "%s x%" PRId64 " until %s", name, e->count,
                                    simulate_time_text(c, e->last_nominal_time))
                     : arena_strdup(&c->page, name),
        simulate_time_text(c, e->start_time),
        simulate_time_text(c, e->close_time),
        e->lateness ? simulate_length_text(c, pb_duration_us(e->lateness)) : "",
        view_text(c, &e->base, "status"),
        plain_text(&c->page, e->reason),
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(cells); i++)
        rc = rows_add(rows, cells[i]);
    return rc;
}

static void simulate_add_sentence(struct command *c, const struct simulation *r,
                                  const struct simulation_plan *p, struct buf *out) {
    struct summary s = simulate_sum_up(r);
    char name[SHAPE_NAME_MAX];
    int64_t length_us = r->end_us - p->from_us;
    buf_printf(out, "\n%zu times:", s.times);
    for (int i = 1, n = 0; i < FATE_COUNT; i++) {
        if (!s.fates[i])
            continue;
        simulate_fate_name(i, true, name);
        buf_printf(out, "%s %zu %s", n++ ? "," : "", s.fates[i], name);
    }
    buf_printf(out, "; at most %zu running and %zu waiting", r->peak_running, r->peak_waiting);
    if (s.longest_wait_us >= USEC_PER_SEC)
        buf_printf(out, "; the longest wait %s", simulate_length_text(c, s.longest_wait_us));
    if (length_us > 0)
        buf_printf(out, "; busy for %" PRId64 " %% of %s", (r->busy_us * PERCENT + length_us / 2) / length_us,
                   simulate_length_text(c, length_us));
    buf_add_cstr(out, r->is_paused ? "; it paused itself\n" : "\n");
}

static int simulate_show_table(struct command *c, const struct simulation *r, const struct simulation_plan *p,
                               struct buf *out) {
    static const char *const titles[] = {"NominalTime", "Fate", "Start", "End", "Waited", "Status", "Reason"};
    struct rows rows = {.arena = &c->page,
                        .columns = ARRAY_LEN(titles),
                        .titles = ARRAY_LEN(titles),
                        .has_color = c->style.has_color};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(titles); i++)
        rc = rows_add(&rows, titles[i]);
    for (size_t i = 0; rc == 0 && i < r->count; i++)
        rc = simulate_add_entry(c, &rows, r->entries[i]);
    if (rc == 0) {
        rows_print(&rows, out);
        simulate_add_sentence(c, r, p, out);
    }
    return rc;
}

static enum command_exit simulate_and_show(struct command *c, struct subject *s, struct simulation_plan *p,
                                           struct buf *out) {
    struct simulation r;
    struct err e;
    int rc = simulate_find_end(c, s, p);
    if (rc < 0)
        return COMMAND_MISUSED;
    rc = simulate_prepare_schedule(c, s, p, &e);
    p->schedule = s->schedule;
    p->space = &s->space;
    p->zones = &s->zones;
    p->schedule_id = *s->schedule_id ? s->schedule_id : "simulated";
    if (rc == 0)
        rc = simulation_run(p, &c->arena, &r, &e);
    if (rc < 0) {
        command_print_error("%s; see rondo schedule simulate --help", e.text);
        return rc == ERR_INVALID ? COMMAND_MISUSED : COMMAND_REFUSED;
    }
    if (c->format == FORMAT_TABLE)
        rc = simulate_show_table(c, &r, p, out);
    else if (c->format != FORMAT_NONE)
        rc = simulate_show_json(c, &r, p, out);
    if (rc < 0)
        command_print_error("out of memory");
    return rc < 0 ? COMMAND_REFUSED : COMMAND_DONE;
}

enum command_exit schedule_simulate_run(struct command *c, struct buf *out) {
    struct simulation_plan plan = {0};
    struct lists lists;
    struct subject s;
    if (subject_flag_time(c, "from", host_wall().us, &plan.from_us) < 0 ||
        simulate_read_lists(c, &lists, &plan) < 0)
        return COMMAND_MISUSED;
    plan.from_us--; /* includes a time at the start itself */
    enum command_exit code = subject_load(c, &s);
    if (code != COMMAND_DONE)
        return code;
    code = simulate_and_show(c, &s, &plan, out);
    subject_done(&s);
    return code;
}
