/* Converts days to dates and back, and parses times in the extended and basic forms of ISO 8601.
 *
 * The conversions count in eras of 400 years that begin on 1 March. The leap day is then the last day of a
 * year, and no table of leap years is needed. They hold for any year; only civil_parse() can fail. */
#include "cal/civil.h"

#include "base/err.h"

#define ERA_YEARS 400
#define ERA_DAYS 146097
#define EPOCH_SHIFT_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

/* Days before each month of a year that begins in March. */
static const uint16_t march_days[] = {306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275};

int64_t civil_day(int64_t year, int month, int day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = civil_is_near(y) ? (int64_t)((uint32_t)y / ERA_YEARS) : civil_div(y, ERA_YEARS);
    uint32_t year_of_era = (uint32_t)(y - era * ERA_YEARS);
    uint32_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + march_days[month - 1];
    return era * ERA_DAYS + day_of_era + day - 1 - EPOCH_SHIFT_DAYS;
}

struct civil_date civil_date_of(int64_t day) {
    int64_t z = day + EPOCH_SHIFT_DAYS;
    int64_t era = civil_is_near(z) ? (int64_t)((uint32_t)z / ERA_DAYS) : civil_div(z, ERA_DAYS);
    uint32_t day_of_era = (uint32_t)(z - era * ERA_DAYS);
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t m = (5 * day_of_year + 2) / 153;
    int month = (int)(m < 10 ? m + 3 : m - 9);
    return (struct civil_date){
        .year = era * ERA_YEARS + year_of_era + (month <= 2),
        .month = month,
        .day = (int)(day_of_year - (153 * m + 2) / 5 + 1),
    };
}

bool civil_is_leap(int64_t year) {
    return (year & 3) == 0 &&
           (year % 100 != 0 || (year & 15) == 0); /* centuries: only those that 400 divides */
}

int civil_month_len(int64_t year, int month) {
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return lengths[month - 1] + (month == 2 && civil_is_leap(year));
}

/* Stops at the first place where the text is not as expected. */
struct civil_reader {
    struct str text;
    size_t at;
    bool failed;
};

static bool civil_reader_sees(const struct civil_reader *r, char c) {
    return !r->failed && r->at < r->text.n && r->text.p[r->at] == c;
}

static bool civil_reader_take(struct civil_reader *r, char c) {
    bool sees = civil_reader_sees(r, c);
    r->at += sees;
    return sees;
}

static void civil_reader_expect(struct civil_reader *r, char c) {
    if (!civil_reader_take(r, c))
        r->failed = true;
}

/* Reads exactly `count` digits. For a number out of bounds, the mistake is at its first digit. */
static int civil_reader_number(struct civil_reader *r, int count, int min, int max) {
    int value = 0;
    size_t begin = r->at;
    for (int i = 0; i < count && !r->failed; i++) {
        char c = r->at < r->text.n ? r->text.p[r->at] : '\0';
        r->failed = c < '0' || c > '9';
        if (!r->failed) {
            value = value * 10 + (c - '0');
            r->at++;
        }
    }
    if (!r->failed && (value < min || value > max)) {
        r->failed = true;
        r->at = begin;
    }
    return value;
}

static int64_t civil_read_date(struct civil_reader *r, bool *ret_extended) {
    int year = civil_reader_number(r, 4, 1, 9999);
    *ret_extended = civil_reader_take(r, '-');
    int month = civil_reader_number(r, 2, 1, CIVIL_YEAR_MONTHS);
    if (*ret_extended)
        civil_reader_expect(r, '-');
    int day = civil_reader_number(r, 2, 1, r->failed ? 31 : civil_month_len(year, month));
    return r->failed ? 0 : civil_day(year, month, day) * CIVIL_DAY_S;
}

static int64_t civil_read_time(struct civil_reader *r, bool extended) {
    int64_t s = civil_reader_number(r, 2, 0, 23) * CIVIL_HOUR_S;
    if (extended)
        civil_reader_expect(r, ':');
    s += civil_reader_number(r, 2, 0, 59) * CIVIL_MINUTE_S;
    bool has_seconds =
        extended ? civil_reader_take(r, ':')
                 : !r->failed && r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9';
    return has_seconds ? s + civil_reader_number(r, 2, 0, 59) : s;
}

static void civil_read_offset(struct civil_reader *r, struct civil_stamp *stamp) {
    bool is_west = civil_reader_sees(r, '-');
    if (civil_reader_take(r, 'Z')) {
        stamp->has_offset = true;
    } else if (civil_reader_take(r, '+') || civil_reader_take(r, '-')) {
        int32_t s = (int32_t)(civil_reader_number(r, 2, 0, 23) * CIVIL_HOUR_S);
        (void)civil_reader_take(r, ':'); /* +0100 is the basic form */
        s += (int32_t)(civil_reader_number(r, 2, 0, 59) * CIVIL_MINUTE_S);
        stamp->offset_s = is_west ? -s : s;
        stamp->has_offset = true;
    }
}

int civil_parse(struct str text, struct civil_stamp *ret, size_t *ret_at) {
    struct civil_reader r = {.text = text};
    struct civil_stamp stamp = {0};
    bool extended;

    stamp.local_s = civil_read_date(&r, &extended);
    stamp.has_time = civil_reader_take(&r, 'T');
    if (stamp.has_time) {
        stamp.local_s += civil_read_time(&r, extended);
        civil_read_offset(&r, &stamp);
    }
    if (r.failed || r.at < text.n) {
        *ret_at = r.at;
        return ERR_INVALID;
    }
    *ret = stamp;
    return 0;
}

#define STAMP_LEN 19 /* YYYY-MM-DDTHH:MM:SS */

static char *civil_put_digits(char *at, int64_t number, int digits) {
    for (int i = digits; i-- > 0; number /= 10)
        at[i] = (char)('0' + number % 10);
    return at + digits;
}

/* Formatted without snprintf, for speed: every action of a schedule has its time in several places. */
void civil_format(int64_t local_s, const char *suffix, char text[CIVIL_TEXT_MAX]) {
    int64_t day = civil_div(local_s, CIVIL_DAY_S);
    int64_t s = local_s - day * CIVIL_DAY_S;
    struct civil_date d = civil_date_of(day);
    ensure(strlen(suffix) < CIVIL_TEXT_MAX - STAMP_LEN);
    char *at = civil_put_digits(text, civil_mod(d.year, 10000), 4); /* the years of callers are 1 to 9999 */
    *at++ = '-';
    at = civil_put_digits(at, d.month, 2);
    *at++ = '-';
    at = civil_put_digits(at, d.day, 2);
    *at++ = 'T';
    at = civil_put_digits(at, s / CIVIL_HOUR_S, 2);
    *at++ = ':';
    at = civil_put_digits(at, s / CIVIL_MINUTE_S % 60, 2);
    *at++ = ':';
    at = civil_put_digits(at, s % 60, 2);
    memcpy(at, suffix, strlen(suffix) + 1);
}
