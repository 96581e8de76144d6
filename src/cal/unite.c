/* Merges rules.
 *
 * Two rules that differ in one field only match the same as one rule with the bits of both in that field. So,
 * for each field in turn, the rules are sorted by all other fields, and equal ones become one. 1,440
 * exclusions of one minute each become one exclusion of the whole day, which a search skips in one step.
 * Rules with rule_more stay as they are.
 *
 * When memory is exhausted the rules stay separate, which is only slower. */
#include "cal/unite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum unite_field {
    UNITE_MINUTES, /* first the fields in which the entries of a spec differ most */
    UNITE_HOURS,
    UNITE_SECONDS,
    UNITE_DAYS,
    UNITE_MONTHS,
    UNITE_WEEKDAYS,
    UNITE_YEARS,
    UNITE_FIELD_COUNT,
};

/* The bits of a rule without one field, and the index of the rule. Compared as bytes. */
struct unite_key {
    uint64_t seconds, minutes, years[2];
    uint32_t hours, days;
    uint16_t months;
    uint8_t weekdays;
    uint8_t flags;
    uint32_t index;
};

static_assert(sizeof(struct unite_key) == 48, "padding would take part in comparisons");

static struct unite_key unite_make_key(const struct rule *r, uint32_t index, enum unite_field left_out) {
    struct unite_key k = {
        .seconds = left_out == UNITE_SECONDS ? 0 : r->seconds,
        .minutes = left_out == UNITE_MINUTES ? 0 : r->minutes,
        .hours = left_out == UNITE_HOURS ? 0 : r->hours,
        .days = left_out == UNITE_DAYS ? 0 : r->days,
        .months = left_out == UNITE_MONTHS ? 0 : r->months,
        .weekdays = left_out == UNITE_WEEKDAYS ? 0 : r->weekdays,
        .flags = (uint8_t)(r->is_any_year | r->is_either << 1),
        .index = index,
    };
    if (left_out != UNITE_YEARS)
        memcpy(k.years, r->years, sizeof(k.years));
    return k;
}

static int unite_compare_bits(const struct unite_key *a, const struct unite_key *b) {
    return memcmp(a, b, offsetof(struct unite_key, index));
}

static int unite_compare_keys(const void *a, const void *b) {
    const struct unite_key *x = a, *y = b;
    int order = unite_compare_bits(x, y);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void unite_merge_bits(struct rule *to, const struct rule *from) {
    to->seconds |= from->seconds;
    to->minutes |= from->minutes;
    to->hours |= from->hours;
    to->days |= from->days;
    to->months |= from->months;
    to->weekdays |= from->weekdays;
    to->years[0] |= from->years[0];
    to->years[1] |= from->years[1];
}

/* Removes merged rules, which have no months, and keeps the order of the others. */
static uint32_t unite_drop_merged(struct rule *rules, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rules[i].months || rules[i].more)
            rules[kept++] = rules[i];
    return kept;
}

static uint32_t unite_field(struct rule *rules, uint32_t count, struct unite_key *keys,
                            enum unite_field field) {
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!rules[i].more)
            keys[n++] = unite_make_key(&rules[i], i, field);
    if (n < 2)
        return count;
    qsort(keys, n, sizeof(*keys), unite_compare_keys);
    for (uint32_t i = 1; i < n; i++) {
        if (unite_compare_bits(&keys[first], &keys[i]) == 0) {
            unite_merge_bits(&rules[keys[first].index], &rules[keys[i].index]);
            rules[keys[i].index].months = 0;
        } else {
            first = i;
        }
    }
    return unite_drop_merged(rules, count);
}

/* Removes rules that never match. Merging would add their bits to other rules. */
static uint32_t unite_drop_empty(struct rule *rules, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rules[i].first_tod >= 0 || rules[i].more)
            rules[kept++] = rules[i];
    return kept;
}

uint32_t rules_unite(struct rule *rules, uint32_t count) {
    count = unite_drop_empty(rules, count);
    if (count < 2)
        return count;
    struct unite_key *keys = mem_alloc(count * sizeof(*keys));
    if (!keys)
        return count;
    for (int field = 0; field < UNITE_FIELD_COUNT; field++)
        count = unite_field(rules, count, keys, (enum unite_field)field);
    mem_free(keys);
    for (uint32_t i = 0; i < count; i++)
        if (!rules[i].more)
            rule_seal(&rules[i]);
    return count;
}
