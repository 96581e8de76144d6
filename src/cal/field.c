/* Parses the fields of calendar and cron strings.
 *
 * A field becomes the same ranges as upstream's, so that a describe shows the same. The marks that upstream
 * does not have are L, W, # and H. H becomes ranges at once; the others go to struct field_marks. Fails with
 * ERR_INVALID and a mistake that names the field, and with ERR_NO_MEMORY. */
#include "cal/field.h"

#include "cal/jitter.h"
#include "cal/word.h"

#define SUNDAY_TOO 7
#define SPREAD_DAY_MAX 28 /* H gives a day that every month has */
#define NTH_MAX 5

static const struct field_kind kinds[CAL_FIELD_COUNT] = {
    [CAL_SECOND] = {"Second", 0, 59, 59, "0"},    [CAL_MINUTE] = {"Minute", 0, 59, 59, "0"},
    [CAL_HOUR] = {"Hour", 0, 23, 23, "0"},        [CAL_DAY_OF_MONTH] = {"DayOfMonth", 1, 31, 31, "*"},
    [CAL_MONTH] = {"Month", 1, 12, 12, "*"},      [CAL_DAY_OF_WEEK] = {"DayOfWeek", 0, SUNDAY_TOO, 6, "*"},
    [CAL_YEAR] = {"Year", 2000, 2100, 2100, "*"},
};

static const char *const month_names[] = {"january",   "february", "march",    "april",
                                          "may",       "june",     "july",     "august",
                                          "september", "october",  "november", "december"};
static const char *const day_names[] = {"sunday",   "monday", "tuesday", "wednesday",
                                        "thursday", "friday", "saturday"};

const struct field_kind *field_kind(enum cal_field field) {
    return &kinds[field];
}

bool field_has_marks(const struct field_marks *m) {
    uint8_t nth = m->last;
    for (int i = 0; i < NTH_MAX; i++)
        nth |= m->nth[i];
    return m->from_end || m->near || m->is_last_workday || nth;
}

static int field_name_value(struct str word, const char *const *names, int count, size_t letters_min) {
    if (word.n < letters_min)
        return -1;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(names[i]), k = 0;
        while (k < word.n && k < n && word_lower(word.p[k]) == names[i][k])
            k++;
        if (k == word.n)
            return i;
    }
    return -1;
}

int field_value(enum cal_field field, struct str word, int64_t *ret) {
    int by_name = -1;
    if (field == CAL_MONTH) {
        by_name = field_name_value(word, month_names, ARRAY_LEN(month_names), 3);
        by_name += by_name >= 0;
    } else if (field == CAL_DAY_OF_WEEK) {
        by_name = field_name_value(word, day_names, ARRAY_LEN(day_names), 2);
    }
    if (by_name >= 0) {
        *ret = by_name;
        return 0;
    }
    return word_int(word, ret);
}

struct field_list {
    struct cal_range *v;
    size_t n, max;
};

static int field_list_add(struct field_list *list, int64_t first, int64_t last, int64_t step) {
    ensure(list->n < list->max);
    /* The compact form, as stored: a single value has no last, a step of one is 0. */
    struct cal_range r = {(int32_t)first, first == last ? 0 : (int32_t)last,
                          step == 1 || first == last ? 0 : (int32_t)step};
    if (first == 0 && last == 0)
        r = (struct cal_range){0};
    list->v[list->n++] = r;
    return 0;
}

/* A range of weekdays up to 7: Sunday, and the rest of the range up to Saturday. */
static int field_list_add_to_sunday(struct field_list *list, int64_t first, int64_t step) {
    if (first == SUNDAY_TOO)
        return field_list_add(list, 0, 0, 1);
    if (step == 1 && first <= 1)
        return field_list_add(list, 0, SUNDAY_TOO - 1, 1);
    if ((SUNDAY_TOO - first) % step == 0)
        (void)field_list_add(list, 0, 0, 1); /* cannot fail: each part has room for two */
    return field_list_add(list, first, SUNDAY_TOO - 1, step);
}

#define DIVISOR_MIN 2 /* of DBOS crontabs, as in their manual; the maximum is that of the field */

/* Cuts "/step" off a part. Without one the step is 0. */
static int field_cut_step(const struct field_reader *r, enum cal_field field, struct str *part,
                          int64_t *ret_step) {
    const char *name = kinds[field].name;
    bool has_step;
    struct str whole = *part, rest = *part;
    if (word_count_char(whole, '/') > 1)
        return mistakes_add(r->mistakes, whole, "%s has too many slashes", name);
    *part = word_cut(&rest, '/', &has_step);
    *ret_step = 0;
    if (!has_step)
        return 0;
    if (rest.n == 0)
        return mistakes_add(r->mistakes, whole, "%s missing step value", name);
    if (word_int(rest, ret_step) < 0)
        return mistakes_add(r->mistakes, rest, "%s has a step that is not a number", name);
    if (*ret_step < 1 || *ret_step > INT32_MAX)
        return mistakes_add(r->mistakes, rest, "%s has invalid Step", name);
    return 0;
}

static bool field_value_in_range(enum cal_field field, struct str word, int64_t *ret) {
    return field_value(field, word, ret) == 0 && *ret >= kinds[field].min && *ret <= kinds[field].max;
}

/* The end of a range that is a single value without a dash: the value itself, or the maximum, as in 5/10. */
enum field_end { FIELD_END_AT_VALUE, FIELD_END_OPEN };

static int field_cut_range(const struct field_reader *r, enum cal_field field, struct str part,
                           enum field_end end, int64_t *first, int64_t *last) {
    const struct field_kind *k = &kinds[field];
    bool has_dash;
    struct str rest = part;
    *first = k->min;
    *last = k->max;
    if (str_is(part, "*"))
        return 0;
    if (word_count_char(part, '-') > 1)
        return mistakes_add(r->mistakes, part, "%s has too many dashes", k->name);
    struct str word = word_cut(&rest, '-', &has_dash);
    if (!field_value_in_range(field, word, first))
        return has_dash
                   ? mistakes_add(r->mistakes, part, "%s Start is not in range [%d-%d]", k->name, k->min,
                                  k->max)
                   : mistakes_add(r->mistakes, part, "%s is not in range [%d-%d]", k->name, k->min, k->max);
    if (!has_dash)
        *last = end == FIELD_END_OPEN ? k->max : *first;
    else if (!field_value_in_range(field, rest, last) || *last < *first)
        return mistakes_add(r->mistakes, part, "%s End is before Start or not in range [%d-%d]", k->name,
                            k->min, k->max);
    return 0;
}

/* H, H/n, H(a-b), H(a-b)/n: a value, or the start of a step, that depends only on the seed. */
static int field_parse_spread(const struct field_reader *r, enum cal_field field, struct str part,
                              struct field_list *list) {
    const struct field_kind *k = &kinds[field];
    int64_t step, first = k->min, last = field == CAL_DAY_OF_MONTH ? SPREAD_DAY_MAX : k->range_max;
    struct str whole = part;
    int e = field_cut_step(r, field, &part, &step);
    if (e < 0)
        return e;
    struct str inside = word_from(part, 1);
    if (inside.n > 0) {
        if (inside.n < 2 || inside.p[0] != '(' || inside.p[inside.n - 1] != ')')
            return mistakes_add(r->mistakes, whole, "%s has an H that is not like H, H/10 or H(0-29)",
                                k->name);
        e = field_cut_range(r, field, (struct str){inside.p + 1, inside.n - 2}, FIELD_END_AT_VALUE, &first,
                            &last);
        if (e < 0)
            return e;
        last = MIN(last, k->range_max);
    }
    if (field == CAL_YEAR || first > last)
        return mistakes_add(r->mistakes, whole, "%s cannot be spread with H", k->name);
    char prefix[] = "spread of schedule field ?";
    prefix[sizeof(prefix) - 2] = (char)('0' + field);
    uint32_t hash = jitter_hash(str_of(prefix), r->seed);
    r->marks->has_spread = true;
    int64_t size = last - first + 1;
    int64_t at = first + (int64_t)(hash % (uint64_t)(step > 0 ? MIN(step, size) : size));
    return step > 0 ? field_list_add(list, at, last - (last - at) % step, step)
                    : field_list_add(list, at, at, 1);
}

static bool field_mark_month_day(struct field_marks *m, struct str part) {
    int64_t n;
    if (word_same(part, "l"))
        m->from_end |= 1;
    else if (word_same(part, "lw"))
        m->is_last_workday = true;
    else if (part.n > 2 && word_lower(part.p[0]) == 'l' && part.p[1] == '-' &&
             word_int(word_from(part, 2), &n) == 0 && n <= 30)
        m->from_end |= UINT32_C(1) << n;
    else if (part.n > 1 && word_lower(part.p[part.n - 1]) == 'w' &&
             word_int((struct str){part.p, part.n - 1}, &n) == 0 && n >= 1 && n <= 31)
        m->near |= UINT32_C(1) << n;
    else
        return false;
    return true;
}

static bool field_mark_weekday(struct field_marks *m, struct str part) {
    bool has_hash;
    struct str rest = part;
    struct str word = word_cut(&rest, '#', &has_hash);
    int64_t day, nth;
    if (has_hash) {
        if (!field_value_in_range(CAL_DAY_OF_WEEK, word, &day) || word_int(rest, &nth) < 0 || nth < 1 ||
            nth > NTH_MAX)
            return false;
        m->nth[nth - 1] |= (uint8_t)(1 << day % 7);
        return true;
    }
    if (part.n < 2 || word_lower(part.p[part.n - 1]) != 'l' ||
        !field_value_in_range(CAL_DAY_OF_WEEK, (struct str){part.p, part.n - 1}, &day))
        return false;
    m->last |= (uint8_t)(1 << day % 7);
    return true;
}

static bool field_take_mark(const struct field_reader *r, enum cal_field field, struct str part) {
    if (field == CAL_DAY_OF_MONTH)
        return field_mark_month_day(r->marks, part);
    return field == CAL_DAY_OF_WEEK && field_mark_weekday(r->marks, part);
}

static int field_parse_part(const struct field_reader *r, enum cal_field field, struct str part,
                            struct field_list *list) {
    int64_t first, last, step;
    struct str whole = part;
    if (part.n > 0 && (part.p[0] == 'H' || part.p[0] == 'h'))
        return field_parse_spread(r, field, part, list);
    if (field_take_mark(r, field, part))
        return 0;
    if ((field == CAL_DAY_OF_MONTH || field == CAL_DAY_OF_WEEK) && str_is(part, "?"))
        part = STR("*");
    if (field == CAL_DAY_OF_WEEK && word_same(part, "l"))
        return mistakes_add(r->mistakes, whole,
                            "DayOfWeek has an L without a day: 5L is the last Friday of a month");
    int e = field_cut_step(r, field, &part, &step);
    if (e == 0)
        e = field_cut_range(r, field, part, step > 0 ? FIELD_END_OPEN : FIELD_END_AT_VALUE, &first, &last);
    if (e < 0)
        return e;
    step = MAX(step, 1);
    if (field == CAL_DAY_OF_WEEK && last == SUNDAY_TOO)
        return field_list_add_to_sunday(list, first, step);
    return field_list_add(list, first, last, step);
}

static int field_list_init(struct arena *a, struct field_list *list, size_t max, struct mistakes *mistakes,
                           struct str text) {
    if (max > CAL_RANGES_MAX)
        return mistakes_add(mistakes, text, "a field has more than %d values", CAL_RANGES_MAX / 2);
    *list = (struct field_list){arena_array(a, struct cal_range, max), 0, max};
    return list->v ? 0 : ERR_NO_MEMORY;
}

int field_parse(const struct field_reader *r, enum cal_field field, struct str text, struct cal_ranges *ret) {
    struct field_list list = {0};
    *ret = (struct cal_ranges){0};
    if (field == CAL_YEAR && str_is(text, "*"))
        return 0;
    int e = field_list_init(r->arena, &list, 2 * (word_count_char(text, ',') + 1), r->mistakes, text);
    for (bool more = true; more && e == 0;)
        e = field_parse_part(r, field, word_cut(&text, ',', &more), &list);
    if (e == 0)
        *ret = (struct cal_ranges){list.v, list.n};
    return e;
}

int field_ranges_of_bits(struct arena *a, uint64_t bits, struct cal_ranges *ret) {
    struct field_list list = {arena_array(a, struct cal_range, 64), 0, 64};
    if (!list.v)
        return ERR_NO_MEMORY;
    while (bits) {
        int first = __builtin_ctzll(bits), last = first;
        while (bits >> last >> 1 & 1)
            last++;
        bits &= ~(((UINT64_C(2) << last) - 1) ^ ((UINT64_C(1) << first) - 1));
        (void)field_list_add(&list, first, last, 1); /* at most 32 runs fit into 64 bits */
    }
    *ret = (struct cal_ranges){list.v, list.n};
    return 0;
}

int field_parse_dbos(const struct field_reader *r, enum cal_field field, struct str text,
                     struct cal_ranges *ret) {
    int64_t divisor, first, last;
    uint64_t bits = 0;
    struct str whole = text;
    *ret = (struct cal_ranges){0};
    int e = field_cut_step(r, field, &text, &divisor);
    if (e == 0 && text.n < whole.n && (divisor < DIVISOR_MIN || divisor > kinds[field].max))
        return mistakes_add(r->mistakes, whole, "%s has a divisor that is not between %d and %d",
                            kinds[field].name, DIVISOR_MIN, kinds[field].max);
    divisor = MAX(divisor, 1);
    for (bool more = true; more && e == 0;) {
        e = field_cut_range(r, field, word_cut(&text, ',', &more), FIELD_END_AT_VALUE, &first, &last);
        for (int64_t v = first; e == 0 && v <= last; v++)
            if (v % divisor == 0)
                bits |= UINT64_C(1) << (field == CAL_DAY_OF_WEEK ? v % SUNDAY_TOO : v);
    }
    if (e == 0 && !bits)
        return mistakes_add(r->mistakes, whole, "%s has no value that %lld divides", kinds[field].name,
                            (long long)divisor);
    return e < 0 ? e : field_ranges_of_bits(r->arena, bits, ret);
}
