/* Seconds are walked only in hours that have a time. */
#include "spec_model.h"

#define HOUR_S 3600
#define DAY_S INT64_C(86400)
#define MINUTES 60

const char *zone_model_name(enum zone_model z) {
    static const char *const names[ZONE_MODEL_COUNT] = {"UTC", "Europe/Berlin", "America/New_York"};
    return names[z];
}

static bool is_leap_year(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The first day of a month, counted from 1970. */
static int64_t month_day(int64_t year, int month) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t days = 0;
    for (int64_t y = 1970; y < year; y++)
        days += is_leap_year(y) ? 366 : 365;
    return days + before[month - 1] + (month > 2 && is_leap_year(year));
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
    /* the second Sunday of March and the first of November, at 2 o'clock local time */
    int64_t begin_s = (sunday_from(month_day(year, 3)) + 7) * DAY_S + 7 * HOUR_S;
    int64_t end_s = sunday_from(month_day(year, 11)) * DAY_S + 6 * HOUR_S;
    return utc_s >= begin_s && utc_s < end_s;
}

int64_t zone_model_offset_s(enum zone_model z, int64_t utc_s) {
    if (z == ZONE_UTC)
        return 0;
    return ((z == ZONE_BERLIN ? 1 : -5) + is_summer(z, utc_s)) * HOUR_S;
}

int64_t spec_local_day(const struct spec_model *spec, int64_t at_s) {
    return (at_s + zone_model_offset_s(spec->zone, at_s)) / DAY_S;
}

static bool has_hour(const struct spec_model *spec, int64_t hour) {
    return hour >= spec->from_hour && hour <= spec->to_hour;
}

/* Whether the calendar has the hour of UTC that begins then. */
static bool calendar_has_hour(const struct spec_model *spec, int64_t begin_s) {
    int64_t offset_s = zone_model_offset_s(spec->zone, begin_s);
    int64_t hour = (begin_s + offset_s) / HOUR_S % 24;
    int64_t before_s = zone_model_offset_s(spec->zone, begin_s - HOUR_S);
    int64_t after_s = zone_model_offset_s(spec->zone, begin_s + HOUR_S);
    bool is_in = has_hour(spec, hour);
    if ((spec->repeats == REPEAT_FIRST && offset_s < before_s) ||
        (spec->repeats == REPEAT_LAST && after_s < offset_s))
        is_in = false;
    return is_in || (spec->shifts && offset_s > before_s && has_hour(spec, (hour + 23) % 24));
}

static bool has_second(const struct spec_model *spec, int64_t at_s) {
    int64_t second = at_s % MINUTES, minute = at_s / MINUTES % MINUTES;
    return second >= spec->first_s && (second - spec->first_s) % spec->step_s == 0 &&
           minute >= spec->first_min && (minute - spec->first_min) % spec->step_min == 0;
}

bool spec_has(const struct spec_model *spec, int64_t at_s) {
    bool in_interval = spec->every_s && at_s % spec->every_s == spec->phase_s;
    return in_interval ||
           (spec->step_s && has_second(spec, at_s) && calendar_has_hour(spec, at_s - at_s % HOUR_S));
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

/* The times of an hour, handed to whoever counts. */
static int64_t count_hour(const struct spec_model *spec, const struct holidays_model *h, int64_t from_s,
                          int64_t until_s) {
    bool has_calendar = spec->step_s && calendar_has_hour(spec, from_s - from_s % HOUR_S);
    int64_t count = 0, at_s = from_s, step_s = 1;
    if (!has_calendar) { /* from one multiple of the interval to the next */
        if (!spec->every_s)
            return 0;
        int64_t over_s = (from_s - spec->phase_s) % spec->every_s;
        at_s = over_s ? from_s + spec->every_s - over_s : from_s;
        step_s = spec->every_s;
    }
    for (; at_s <= until_s; at_s += step_s) {
        bool is_time = !has_calendar || has_second(spec, at_s) ||
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
        int64_t last_s = MIN(until_s, from_s - from_s % HOUR_S + HOUR_S - 1);
        count += count_hour(spec, h, from_s, last_s);
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
