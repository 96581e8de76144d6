/* Makes a schedule from flags.
 *
 * The table fills most fields. This file does the rest: strings that are rewritten (--at, --dialect),
 * dates, the policies for clock changes in the name of the zone, and flags that depend on each other. On
 * top of an existing schedule a flag replaces only its own property: all times together, all exclusions
 * together, all arguments together, maps key by key. */
#include "command/schedule/schedule_draft.h"

#include "cal/civil.h"
#include "command/request/request.h"
#include "core/step/pb.h"
#include "host/zoneinfo.h"
#include "json/shape.h"
#include "wire/value.h"

#define EXTRAS_PATH "schedule.extras."

static const char *const time_flags[] = {"cron", "calendar", "interval", "rrule", "at"};
static const char *const input_flags[] = {"input", "input-file"};
static const char *const exclude_flags[] = {"exclude-calendar", "exclude-cron", "exclude-date"};

static bool draft_any_given(const struct command *c, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (opt_named_given(c->args, names[i]))
            return true;
    return false;
}

static Schedule__Schedule **draft_schedule_slot(struct command *c) {
    const ProtobufCFieldDescriptor *f = shape_field(c->request->descriptor, STR("schedule"));
    ensure(f); /* all commands that come here have a request with a schedule */
    return (void *)((char *)c->request + f->offset);
}

Schedule__Schedule *draft_schedule(struct command *c) {
    return *draft_schedule_slot(c);
}

static int draft_set_field(struct command *c, const char *path, enum flag_form form, const char *text,
                           struct err *e) {
    return text ? request_set(c->request, path, form, text, &c->arena, e) : err_std(e, ERR_NO_MEMORY);
}

/* Adds the messages that the flags did not make, empty. */
static int draft_make_parts(struct command *c, struct err *e) {
    Schedule__Schedule **slot = draft_schedule_slot(c), *s = *slot;
    if (!s)
        s = *slot = pb_arena_new(&schedule__schedule__descriptor, &c->arena);
    if (s && !s->spec)
        s->spec = pb_arena_new(&schedule__schedule_spec__descriptor, &c->arena);
    if (s && !s->policies)
        s->policies = pb_arena_new(&schedule__schedule_policies__descriptor, &c->arena);
    if (s && !s->state)
        s->state = pb_arena_new(&schedule__schedule_state__descriptor, &c->arena);
    return s && s->spec && s->policies && s->state ? 0 : err_std(e, ERR_NO_MEMORY);
}

/* Times. */

/* Reads the string as the server would, so that the error names the flag and quotes what was typed. */
static int draft_check_string(struct command *c, const char *flag, const char *text, bool is_dbos,
                              struct err *e) {
    static const char prefix[] = "invalid cron string ";
    struct cal_spec alone;
    struct err why;
    cal_spec_init(&alone, &c->arena, STR("id"));
    int rc = is_dbos ? cal_spec_add_dbos(&alone, str_of(text), &why)
                     : cal_spec_add_cron(&alone, str_of(text), &why);
    if (rc == 0 || rc == ERR_NO_MEMORY)
        return rc == 0 ? 0 : err_std(e, rc);
    bool is_usual = strncmp(why.text, prefix, sizeof(prefix) - 1) == 0;
    return err_set(e, ERR_INVALID, "--%s: %s", flag, why.text + (is_usual ? sizeof(prefix) - 1 : 0));
}

static int draft_check_strings(struct command *c, const char *flag, struct err *e) {
    bool is_dbos = cstr_eq(flag, "cron") && cstr_eq(opt_named(c->args, "dialect"), "dbos");
    const char *text;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, flag, i)); i++)
        rc = draft_check_string(c, flag, text, is_dbos, e);
    return rc;
}

/* Adds one time. A time in the zone of the spec stays as typed; other forms are written in UTC, in whole
 * seconds. */
static int draft_add_at(struct command *c, const char *text, struct err *e) {
    struct civil_stamp stamp;
    struct err why;
    int64_t seconds;
    int32_t nanos;
    size_t at;
    if (civil_parse(str_of(text), &stamp, &at) < 0) {
        char iso[CIVIL_TEXT_MAX];
        if (when_read(c, text, &seconds, &nanos, &why) < 0)
            return err_set(e, ERR_INVALID, "--at: %s", why.text);
        civil_format(seconds + (nanos > 0), "Z", iso);
        text = arena_strdup(&c->arena, iso);
    }
    return draft_set_field(c, "schedule.spec.cron_string", FORM_PLAIN,
                           text ? arena_printf(&c->arena, "@at %s", text) : NULL, e);
}

static int draft_add_crons(struct command *c, struct err *e) {
    bool is_dbos = cstr_eq(opt_named(c->args, "dialect"), "dbos");
    const char *text;
    int rc = draft_check_strings(c, "cron", e);
    if (rc == 0)
        rc = draft_check_strings(c, "rrule", e);
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "cron", i)); i++) {
        const char *string = is_dbos ? arena_printf(&c->arena, "@dbos %s", text) : text;
        rc = draft_set_field(c, "schedule.spec.cron_string", FORM_PLAIN, string, e);
    }
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "at", i)); i++)
        rc = draft_add_at(c, text, e);
    return rc;
}

static int draft_exclude_date(struct command *c, const char *text, struct err *e) {
    struct civil_stamp stamp;
    size_t at;
    const char *day = when_date(c, text, e);
    if (!day)
        return ERR_INVALID;
    if (civil_parse(str_of(day), &stamp, &at) < 0 || stamp.has_time)
        return err_set(e, ERR_INVALID, "--exclude-date: \"%s\" is not a date such as 2026-12-25 or tomorrow",
                       text);
    struct civil_date date = civil_date_of(civil_day_of(stamp.local_s));
    return draft_set_field(
        c, "schedule.spec.exclude_calendar", FORM_JSON,
        arena_printf(
            &c->arena,
            "{\"year\":\"%lld\",\"month\":\"%d\",\"dayOfMonth\":\"%d\",\"hour\":\"*\",\"minute\":\"*\","
            "\"second\":\"*\"}",
            (long long)date.year, date.month, date.day),
        e);
}

static int draft_add_exclusions(struct command *c, struct err *e) {
    const char *text;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "exclude-date", i)); i++)
        rc = draft_exclude_date(c, text, e);
    if (rc == 0)
        rc = draft_check_strings(c, "exclude-cron", e);
    for (size_t i = 0; rc == 0 && (text = opt_named_list(c->args, "exclude-cron", i)); i++)
        rc = schedule_exclude_cron(&c->arena, draft_schedule(c)->spec, text, e);
    return rc;
}

/* Refuses a zone that looks like a misspelled known one. The server may know others. */
static int draft_check_zone(struct str name, struct err *e) {
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(ZONEINFO_DIRECTORY);
    if (!z)
        return err_std(e, ERR_NO_MEMORY);
    struct cal_zones zones = zoneinfo_zones(z);
    if (!name.n || str_is(name, "UTC") || zoneinfo_find(z, name) || !zoneinfo_nearest(name))
        return 0;
    return cal_zone_unknown(&zones, "--time-zone: ", name, e);
}

/* Sets the zone. The policies for clock changes are part of its name, and stay until a flag changes them. */
static int draft_set_zone(struct command *c, const char *before, struct err *e) {
    Schedule__ScheduleSpec *spec = draft_schedule(c)->spec;
    const char *missing = opt_named(c->args, "dst-missing"), *repeated = opt_named(c->args, "dst-repeated");
    struct zone_label old, now;
    if (zone_label_parse(str_of(before), &old, e) < 0)
        return ERR_INVALID;
    if (zone_label_parse(str_of(spec->timezone_name), &now, e) < 0)
        return ERR_INVALID;
    if (opt_named_given(c->args, "time-zone")) {
        spec->timezone_data = (ProtobufCBinaryData){0};
        if (draft_check_zone(now.name, e) < 0)
            return ERR_INVALID;
    }
    const char *name = spec->timezone_name;
    bool says_itself = strchr(name, ';') != NULL;
    if (!missing)
        missing = zone_missing_name(says_itself ? now.missing : old.missing);
    if (!repeated)
        repeated = zone_repeated_name(says_itself ? now.repeated : old.repeated);
    bool is_usual = cstr_eq(missing, zone_missing_name(ZONE_MISSING_SKIP)) &&
                    cstr_eq(repeated, zone_repeated_name(ZONE_REPEATED_BOTH));
    if (is_usual && !says_itself)
        return 0;
    if (!now.name.n)
        return err_set(e, ERR_INVALID,
                       "--dst-missing and --dst-repeated need --time-zone: UTC has no clock changes");
    spec->timezone_name = is_usual ? arena_strndup(&c->arena, now.name.p, now.name.n)
                                   : arena_printf(&c->arena, "%.*s;missing=%s;repeated=%s", (int)now.name.n,
                                                  now.name.p, missing, repeated);
    return spec->timezone_name ? 0 : err_std(e, ERR_NO_MEMORY);
}

/* State. */

static int draft_finish_state(struct command *c, struct err *e) {
    Schedule__Schedule *s = draft_schedule(c);
    int rc = 0;
    if (opt_named_given(c->args, "remaining-actions"))
        s->state->limited_actions = s->state->remaining_actions > 0;
    if (opt_named_given(c->args, "paused") && s->extras && !opt_named_given(c->args, "pause-until"))
        s->extras->pause_until = NULL; /* or the server would pause the schedule again */
    if (c->id != COMMAND_SCHEDULE_CREATE)
        return 0;
    const char *id = s->action && s->action->start_workflow ? s->action->start_workflow->workflow_id : "";
    if (cstr_is_empty(id))
        rc = draft_set_field(c, "schedule.action.start_workflow.workflow_id", FORM_PLAIN,
                             opt_named(c->args, "schedule-id"), e);
    if (rc == 0 && opt_named_flag(c->args, "trigger-immediately"))
        rc = draft_set_field(c, "initial_patch.trigger_immediately", FORM_JSON, "{}", e);
    return rc;
}

/* Maps: the last value of a key counts. In an update null removes the key. */

static bool draft_is_null(const Common__Payload *p) {
    return !p || (p->n_metadata == 1 && str_is(pb_bytes(&p->metadata[0]->value), "binary/null"));
}

static bool draft_is_repeated(Common__Memo__FieldsEntry *const *fields, size_t n, size_t i) {
    for (size_t k = i + 1; k < n; k++)
        if (cstr_eq(fields[k]->key, fields[i]->key))
            return true;
    return false;
}

static size_t draft_merge_entries(const struct command *c, Common__Memo__FieldsEntry **fields, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_removed = c->id == COMMAND_SCHEDULE_UPDATE && draft_is_null(fields[i]->value);
        if (!draft_is_repeated(fields, n, i) && !is_removed)
            fields[kept++] = fields[i];
    }
    return kept;
}

/* The entries of these three maps have the same two fields: a key and a payload. */
static_assert(offsetof(Common__Memo__FieldsEntry, value) ==
                  offsetof(Common__SearchAttributes__IndexedFieldsEntry, value),
              "");
static_assert(offsetof(Common__Memo__FieldsEntry, value) == offsetof(Common__Header__FieldsEntry, value), "");

static void draft_merge_maps(const struct command *c, Common__Memo *memo,
                             Common__SearchAttributes *attributes, Common__Header *header) {
    if (memo)
        memo->n_fields = draft_merge_entries(c, memo->fields, memo->n_fields);
    if (attributes)
        attributes->n_indexed_fields =
            draft_merge_entries(c, (void *)attributes->indexed_fields, attributes->n_indexed_fields);
    if (header)
        header->n_fields = draft_merge_entries(c, (void *)header->fields, header->n_fields);
}

static void draft_finish_maps(struct command *c) {
    Workflow__NewWorkflowExecutionInfo *action =
        draft_schedule(c)->action ? draft_schedule(c)->action->start_workflow : NULL;
    if (action)
        draft_merge_maps(c, action->memo, action->search_attributes, action->header);
    if (c->id == COMMAND_SCHEDULE_UPDATE) {
        Ws__UpdateScheduleRequest *r = (Ws__UpdateScheduleRequest *)c->request;
        draft_merge_maps(c, r->memo, r->search_attributes, NULL);
    }
}

/* The whole draft. */

static int draft_finish_over(struct command *c, const char *zone_before) {
    struct err e;
    int rc = draft_make_parts(c, &e);
    if (rc == 0)
        rc = draft_add_crons(c, &e);
    if (rc == 0)
        rc = draft_add_exclusions(c, &e);
    if (rc == 0)
        rc = draft_set_zone(c, zone_before, &e);
    if (rc == 0)
        rc = draft_finish_state(c, &e);
    if (rc < 0)
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
    else
        draft_finish_maps(c);
    return rc;
}

int draft_finish(struct command *c) {
    return draft_finish_over(c, "");
}

const char *draft_own_flag(const struct command *c) {
    for (size_t i = 0; i < c->args->command->opt_count; i++) {
        const struct opt *o = &c->args->command->opts[i];
        if (str_starts(str_of(flag_rules[o - command_opts].field), STR(EXTRAS_PATH)) &&
            opt_is_given(c->args, i))
            return o->name;
    }
    return NULL;
}

/* On top of an existing schedule. */

static void draft_clear_replaced(struct command *c, Schedule__Schedule *s) {
    if (draft_any_given(c, time_flags, ARRAY_LEN(time_flags)))
        s->spec->n_calendar = s->spec->n_structured_calendar = s->spec->n_interval = s->spec->n_cron_string =
            0;
    if (draft_any_given(c, exclude_flags, ARRAY_LEN(exclude_flags)))
        s->spec->n_exclude_calendar = s->spec->n_exclude_structured_calendar = 0;
    if (opt_named_given(c->args, "holiday-calendar") && s->extras)
        s->extras->n_holiday_calendars = 0;
    if (draft_any_given(c, input_flags, ARRAY_LEN(input_flags)) && s->action && s->action->start_workflow)
        s->action->start_workflow->input = NULL;
}

static void draft_clear_field(ProtobufCMessage *m, const char *path) {
    for (;;) {
        size_t n = strcspn(path, ".");
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, str_bytes(path, n));
        ensure(f);
        char *slot = (char *)m + f->offset;
        if (path[n]) {
            m = *(ProtobufCMessage **)(void *)slot;
            if (!m)
                return;
            path += n + 1;
        } else if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            *(size_t *)(void *)((char *)m + f->quantifier_offset) = 0;
            return;
        } else if (f->type == PROTOBUF_C_TYPE_STRING) {
            *(char **)(void *)slot = (char *)(uintptr_t)protobuf_c_empty_string;
            return;
        } else {
            memset(slot, 0, wire_value_size(f->type));
            return;
        }
    }
}

static bool draft_is_among(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (cstr_eq(name, names[i]))
            return true;
    return false;
}

static int draft_clear_flag(struct command *c, const char *name) {
    Schedule__Schedule *s = draft_schedule(c);
    for (size_t i = 0; i < c->args->command->opt_count; i++) {
        const struct opt *o = &c->args->command->opts[i];
        const char *field = flag_rules[o - command_opts].field;
        bool is_exclusion = draft_is_among(name, exclude_flags, ARRAY_LEN(exclude_flags));
        if (!cstr_eq(o->name, name))
            continue;
        if (draft_is_among(name, time_flags, ARRAY_LEN(time_flags)))
            break;
        if (is_exclusion)
            s->spec->n_exclude_calendar = s->spec->n_exclude_structured_calendar = 0;
        else if (!str_starts(str_of(field), STR("schedule.")))
            break;
        else
            draft_clear_field(c->request, field);
        if (cstr_eq(name, "remaining-actions"))
            s->state->limited_actions = false;
        return 0;
    }
    command_print_error("--clear: \"%s\" is not a flag whose value can be removed, such as end-time, jitter, "
                        "notes, memo or exclude-date",
                        name);
    return ERR_INVALID;
}

static int draft_clear_flags(struct command *c) {
    const char *name;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (name = opt_named_list(c->args, "clear", i)); i++)
        rc = draft_clear_flag(c, name);
    return rc;
}

/* Starts from the schedule's own memo and search attributes when flags change them. */
static int draft_keep_maps(struct command *c, const Ws__DescribeScheduleResponse *base) {
    if (c->id != COMMAND_SCHEDULE_UPDATE)
        return 0;
    Ws__UpdateScheduleRequest *r = (Ws__UpdateScheduleRequest *)c->request;
    r->conflict_token = base->conflict_token;
    if (opt_named_given(c->args, "schedule-memo"))
        r->memo = pb_arena_clone(base->memo, &c->arena);
    if (opt_named_given(c->args, "schedule-search-attribute"))
        r->search_attributes = pb_arena_clone(base->search_attributes, &c->arena);
    return arena_failed(&c->arena) ? ERR_NO_MEMORY : 0;
}

int draft_over(struct command *c, const Ws__DescribeScheduleResponse *base) {
    struct err e;
    c->request = request_new(c, c->rule->call);
    if (!c->request)
        return ERR_NO_MEMORY;
    *draft_schedule_slot(c) = pb_arena_clone(base->schedule, &c->arena);
    if (draft_make_parts(c, &e) < 0 || draft_keep_maps(c, base) < 0) {
        command_print_error("out of memory");
        return ERR_NO_MEMORY;
    }
    const char *zone = draft_schedule(c)->spec->timezone_name;
    if (draft_clear_flags(c) < 0)
        return ERR_INVALID;
    draft_clear_replaced(c, draft_schedule(c));
    int rc = request_apply(c);
    return rc < 0 ? rc : draft_finish_over(c, zone);
}
