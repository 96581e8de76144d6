/* The workflow ids of a schedule's actions.
 *
 * Without a format it is the action's own id, a dash, and the nominal time. A format may contain {id}, {time}
 * and {schedule}, and %Y %m %d %H %M %S %s (seconds since 1970) and %%, all of the nominal time in UTC. */
#include "core/schedule/schedule_int.h"

#include "cal/civil.h"

#define FORMAT_DEFAULT "{id}-{time}"
#define ACTION_ID_BYTES_MAX (4 * LIMIT_ID_BYTES)

struct naming {
    const char *id;
    const char *schedule_id;
    int64_t nominal_s;
};

static bool action_id_add_word(struct buf *b, const struct naming *n, struct str word) {
    char time[CIVIL_TEXT_MAX];
    bool is_time = str_is(word, "time");
    if (is_time)
        civil_format(n->nominal_s, "Z", time);
    if (is_time)
        buf_add_cstr(b, time);
    else if (str_is(word, "id"))
        buf_add_cstr(b, n->id);
    else if (str_is(word, "schedule"))
        buf_add_cstr(b, n->schedule_id);
    else
        return false;
    return true;
}

static bool add_piece(struct buf *b, const struct naming *n, char letter) {
    struct civil_date date = civil_date_of(civil_div(n->nominal_s, CIVIL_DAY_S));
    int64_t second = civil_mod(n->nominal_s, CIVIL_DAY_S);
    switch (letter) {
    case 'Y':
        buf_printf(b, "%04lld", (long long)date.year);
        return true;
    case 'm':
        buf_printf(b, "%02d", date.month);
        return true;
    case 'd':
        buf_printf(b, "%02d", date.day);
        return true;
    case 'H':
        buf_printf(b, "%02d", (int)(second / CIVIL_HOUR_S));
        return true;
    case 'M':
        buf_printf(b, "%02d", (int)(second % CIVIL_HOUR_S / CIVIL_MINUTE_S));
        return true;
    case 'S':
        buf_printf(b, "%02d", (int)(second % CIVIL_MINUTE_S));
        return true;
    case 's':
        buf_printf(b, "%lld", (long long)n->nominal_s);
        return true;
    case '%':
        buf_add_u8(b, '%');
        return true;
    default:
        return false;
    }
}

/* False when the format has something that does not exist. */
static bool add_formatted(struct buf *b, const char *format, const struct naming *n) {
    for (const char *p = format; *p; p++) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (*p == '{') {
            if (!end || !action_id_add_word(b, n, str_bytes(p + 1, (size_t)(end - p - 1))))
                return false;
            p = end;
        } else if (*p == '%') {
            if (!add_piece(b, n, p[1]))
                return false;
            p++;
        } else {
            buf_add_u8(b, (uint8_t)*p);
        }
    }
    return true;
}

char *action_id(const State__Schedule *sch, int64_t nominal_s, struct arena *arena) {
    const Schedule__Schedule *schedule = sch->schedule;
    const char *id = schedule->action->start_workflow->workflow_id;
    const char *format = schedule->extras ? schedule->extras->workflow_id_format : "";
    struct naming naming = {id, sch->schedule_id, nominal_s};
    if (schedule->policies->keep_original_workflow_id)
        return arena_strdup(arena, id);
    struct buf b cleanup(buf_done);
    buf_init(&b, ACTION_ID_BYTES_MAX);
    add_formatted(&b, cstr_is_empty(format) ? FORMAT_DEFAULT : format, &naming);
    return buf_ok(&b) ? arena_strndup(arena, (const char *)b.data, b.len) : NULL;
}

int action_id_validate(const char *format, const char *id, const char *schedule_id, struct err *err) {
    struct naming naming = {id, schedule_id, 0};
    struct buf b cleanup(buf_done);
    buf_init(&b, ACTION_ID_BYTES_MAX);
    if (!add_formatted(&b, cstr_is_empty(format) ? FORMAT_DEFAULT : format, &naming))
        return err_set(
            err, ERR_INVALID,
            "workflow_id_format may contain {id}, {time}, {schedule}, %%Y, %%m, %%d, %%H, %%M, %%S, %%s "
            "and %%%%, and nothing else that begins with { or %%: \"%.200s\"",
            format);
    if (!buf_ok(&b) && b.len + LIMIT_ID_BYTES < ACTION_ID_BYTES_MAX)
        return err_std(err, ERR_NO_MEMORY);
    if (!buf_ok(&b) || b.len > LIMIT_ID_BYTES)
        return err_set(err, ERR_INVALID, "WorkflowId length exceeds limit.");
    return 0;
}
