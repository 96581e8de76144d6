/* Seconds are walked only in half hours that have a time. */
#include "spec_model.h"

#define HOUR_S 3600
#define CELL_S 1800 /* a clock changes where one of these begins, and shows one hour in each */
#define DAY_S INT64_C(86400)
#define MINUTES 60

const char *zone_model_name(enum zone_model z) {
    static const char *const names[ZONE_MODEL_COUNT] = {"UTC", "Europe/Berlin", "America/New_York",
                                                        "Australia/Lord_Howe"};
    return names[z];
}

static bool is_leap_year(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The first day of a month, counted from 1970. */
static int64_t month_day(int64_t year, int month) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1, leap_days = past / 4 - past / 100 + past / 400 - 477; /* since 1970 */
    return (year - 1970) * 365 + leap_days + before[month - 1] + (month > 2 && is_leap_year(year));
}

static int64_t year_of(int64_t utc_s) {
    int64_t year = 1970 + utc_s / DAY_S / 366;
    while (month_day(year + 1, 1) * DAY_S <= utc_s)
        year++;
    return year;
}

/* The first Sunday on or after a day; 1970 began with a Thursday. */
static int64_t sunday_from(int64_t day) {
    return day + (7 - (day + 4) % 7) % 7;
}

static bool is_summer(enum zone_model z, int64_t utc_s) {
    int64_t year = year_of(utc_s);
    if (z == ZONE_BERLIN) { /* the last Sundays of March and October, at 1 o'clock UTC */
        int64_t begin_s = sunday_from(month_day(year, 3) + 24) * DAY_S + HOUR_S;
        int64_t end_s = sunday_from(month_day(year, 10) + 24) * DAY_S + HOUR_S;
        return utc_s >= begin_s && utc_s < end_s;
    }
    if (z == ZONE_LORD_HOWE) { /* the first Sundays of October and April, at 2 o'clock local time */
        int64_t begin_s = sunday_from(month_day(year, 10)) * DAY_S + 2 * HOUR_S - 21 * CELL_S;
        int64_t end_s = sunday_from(month_day(year, 4)) * DAY_S + 2 * HOUR_S - 22 * CELL_S;
        return utc_s >= begin_s || utc_s < end_s;
    }
    /* the second Sunday of March and the first of November, at 2 o'clock local time */
    int64_t begin_s = (sunday_from(month_day(year, 3)) + 7) * DAY_S + 7 * HOUR_S;
    int64_t end_s = sunday_from(month_day(year, 11)) * DAY_S + 6 * HOUR_S;
    return utc_s >= begin_s && utc_s < end_s;
}

int64_t zone_model_offset_s(enum zone_model z, int64_t utc_s) {
    static const struct {
        int64_t winter_s;
        int64_t summer_s;
    } offsets[ZONE_MODEL_COUNT] = {[ZONE_BERLIN] = {HOUR_S, 2 * HOUR_S},
                                   [ZONE_NEW_YORK] = {-5 * HOUR_S, -4 * HOUR_S},
                                   [ZONE_LORD_HOWE] = {21 * CELL_S, 22 * CELL_S}};
    if (z == ZONE_UTC)
        return 0;
    return is_summer(z, utc_s) ? offsets[z].summer_s : offsets[z].winter_s;
}

bool zone_model_changes(enum zone_model z, int64_t from_s, int64_t until_s) {
    return zone_model_offset_s(z, from_s) != zone_model_offset_s(z, until_s);
}

int64_t zone_model_last_change(enum zone_model z, int64_t before_s) {
    int64_t at_s = before_s - before_s % CELL_S;
    if (z == ZONE_UTC)
        return at_s;
    while (!zone_model_changes(z, at_s - DAY_S, at_s))
        at_s -= DAY_S;
    while (!zone_model_changes(z, at_s - CELL_S, at_s))
        at_s -= CELL_S;
    return at_s;
}

int64_t spec_local_day(const struct spec_model *spec, int64_t at_s) {
    return (at_s + zone_model_offset_s(spec->zone, at_s)) / DAY_S;
}

/* How clocks read in a cell: to their offset, and, where they have just been put forward, to the one that
 * they had before, by which they would read what they have jumped over. */
struct cell {
    int64_t offset_s;
    int64_t old_offset_s;
    bool is_read; /* as it is: it is no repetition that is not wanted */
    bool is_read_old;
};

static bool has_hour(const struct spec_model *spec, int64_t local_s) {
    int64_t hour = local_s / HOUR_S % 24;
    return hour >= spec->from_hour && hour <= spec->to_hour;
}

static struct cell cell_at(const struct spec_model *spec, int64_t begin_s) {
    struct cell c = {.offset_s = zone_model_offset_s(spec->zone, begin_s)};
    int64_t before_s = zone_model_offset_s(spec->zone, begin_s - HOUR_S);
    int64_t after_s = zone_model_offset_s(spec->zone, begin_s + HOUR_S);
    /* What is shown now is shown again when so much time has passed, or was before. */
    int64_t back_s = before_s - c.offset_s, ahead_s = c.offset_s - after_s;
    bool is_second = back_s > 0 && zone_model_offset_s(spec->zone, begin_s - back_s) == before_s;
    bool is_first = ahead_s > 0 && zone_model_offset_s(spec->zone, begin_s + ahead_s) == after_s;
    bool is_after_gap = back_s < 0 && zone_model_offset_s(spec->zone, begin_s + back_s) == before_s;
    c.is_read = has_hour(spec, begin_s + c.offset_s) && !(spec->repeats == REPEAT_FIRST && is_second) &&
                !(spec->repeats == REPEAT_LAST && is_first);
    c.old_offset_s = before_s;
    c.is_read_old = spec->shifts && is_after_gap && has_hour(spec, begin_s + before_s);
    return c;
}

static bool has_second(const struct spec_model *spec, int64_t local_s) {
    int64_t second = local_s % MINUTES, minute = local_s / MINUTES % MINUTES;
    return second >= spec->first_s && (second - spec->first_s) % spec->step_s == 0 &&
           minute >= spec->first_min && (minute - spec->first_min) % spec->step_min == 0;
}

static bool cell_has(const struct spec_model *spec, const struct cell *c, int64_t at_s) {
    return (c->is_read && has_second(spec, at_s + c->offset_s)) ||
           (c->is_read_old && has_second(spec, at_s + c->old_offset_s));
}

bool spec_has(const struct spec_model *spec, int64_t at_s) {
    if (spec->every_s && at_s % spec->every_s == spec->phase_s)
        return true;
    if (!spec->step_s)
        return false;
    struct cell c = cell_at(spec, at_s - at_s % CELL_S);
    return cell_has(spec, &c, at_s);
}

bool spec_excludes(const struct spec_model *spec, int64_t at_s) {
    return at_s % MINUTES >= spec->out_from_s && at_s % MINUTES <= spec->out_to_s;
}

bool spec_is_holiday(const struct spec_model *spec, const struct holidays_model *h, int64_t at_s) {
    int64_t day = spec_local_day(spec, at_s);
    for (unsigned c = 0; c < HOLIDAY_CALENDARS; c++)
        for (unsigned i = 0; i < HOLIDAY_DAYS && (spec->holidays >> c & 1); i++)
            if (h->days[c][i] == day)
                return true;
    return false;
}

/* The times of a cell. */
static int64_t count_cell(const struct spec_model *spec, const struct holidays_model *h, int64_t from_s,
                          int64_t until_s) {
    struct cell c = {0};
    if (spec->step_s)
        c = cell_at(spec, from_s - from_s % CELL_S);
    bool has_calendar = c.is_read || c.is_read_old;
    int64_t count = 0, at_s = from_s, step_s = 1;
    if (!has_calendar) { /* from one multiple of the interval to the next */
        if (!spec->every_s)
            return 0;
        int64_t over_s = (from_s - spec->phase_s) % spec->every_s;
        at_s = over_s ? from_s + spec->every_s - over_s : from_s;
        step_s = spec->every_s;
    }
    for (; at_s <= until_s; at_s += step_s) {
        bool is_time = !has_calendar || cell_has(spec, &c, at_s) ||
                       (spec->every_s && at_s % spec->every_s == spec->phase_s);
        bool is_out = is_time && h && (spec_excludes(spec, at_s) || spec_is_holiday(spec, h, at_s));
        count += is_time && !is_out;
    }
    return count;
}

static int64_t count_all(const struct spec_model *spec, const struct holidays_model *h, int64_t from_s,
                         int64_t until_s) {
    int64_t count = 0;
    while (from_s <= until_s) {
        int64_t last_s = MIN(until_s, from_s - from_s % CELL_S + CELL_S - 1);
        count += count_cell(spec, h, from_s, last_s);
        from_s = last_s + 1;
    }
    return count;
}

int64_t spec_count(const struct spec_model *spec, int64_t from_s, int64_t until_s) {
    return count_all(spec, NULL, from_s, until_s);
}

int64_t spec_count_real(const struct spec_model *spec, const struct holidays_model *h, int64_t from_s,
                        int64_t until_s) {
    return count_all(spec, h, from_s, until_s);
}
