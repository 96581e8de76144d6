/* The search for the next time.
 *
 * Between two changes of its clock, a zone is a constant offset. So calendars are searched span by span in
 * local time, and gaps and folds need no special cases: a local time in a gap lies in no span, a local time
 * in a fold lies in two. For zone_missing=shift the gap is one more span, with the offset from before it. For
 * zone_repeated, the search checks whether a neighbouring span has the same local time. Exclusions skip all
 * that they cover in one step. CAL_WORK_MAX bounds the work; the answer is then CAL_LIMIT. */
#include "cal/cal.h"

#include "base/clock.h"
#include "cal/civil.h"
#include "cal/compile.h"
#include "cal/jitter.h"

#define OFFSET_MAX_S (26 * CIVIL_HOUR_S)
#define NONE INT64_MAX
#define STRETCH_GROWTH 32

struct cal_search {
    const struct cal *cal;
    bool has_excludes;
    uint64_t work; /* done so far, see CAL_WORK_MAX */
    int64_t end_s; /* the search ends here */
};

/* The end of the exclusion that covers local_s, for candidates with these times of day. local_s itself when
 * it is not excluded. */
static int64_t cal_search_skip_excluded(struct cal_search *s, const struct rule_times *times, int64_t local_s,
                                        int64_t end_s) {
    const struct cal *c = s->cal;
    if (!s->has_excludes || c->united_count == 0)
        return local_s;
    struct rule_moment at = rule_moment(local_s);
    for (uint32_t i = 0; i < c->united_count; i++) {
        if (rule_matches(&c->united[i], &at)) {
            s->work += i + 1;
            return rule_run_end(&c->united[i], times, local_s, end_s);
        }
    }
    s->work += c->united_count;
    return local_s;
}

static bool cal_search_is_given_up(const struct cal_search *s) {
    return s->work >= s->cal->work_max;
}

/* The first match of any calendar in [from_s, end_s), or end_s. */
static int64_t cal_search_first_match(struct cal_search *s, int64_t from_s, int64_t end_s) {
    const struct cal *c = s->cal;
    uint64_t months = 0;
    int64_t best_s = end_s;
    for (uint32_t i = 0; i < c->rule_count; i++)
        best_s = MIN(best_s, rule_next(&c->rules[i], from_s, best_s, &months));
    s->work += c->rule_count + months * CAL_MONTH_WORK;
    return best_s;
}

/* The first time of the calendars in [from_s, end_s) of UTC when the clock shows UTC + offset. */
static int64_t cal_search_next_in_offset(struct cal_search *s, int32_t offset_s, int64_t from_s,
                                         int64_t end_s) {
    int64_t local_end_s = end_s + offset_s;
    for (int64_t at_s = from_s + offset_s; at_s < local_end_s && !cal_search_is_given_up(s);) {
        int64_t best_s = cal_search_first_match(s, at_s, local_end_s);
        if (best_s >= local_end_s)
            return NONE;
        at_s = cal_search_skip_excluded(s, &s->cal->rule_times, best_s, local_end_s);
        if (at_s == best_s)
            return best_s - offset_s;
    }
    return NONE;
}

/* The local end of the earlier span that also shows this local time; local_s when there is none. */
static int64_t cal_earlier_end(const struct zone *z, struct zone_span span, int64_t local_s) {
    while (span.begin_s > INT64_MIN && span.begin_s + OFFSET_MAX_S > local_s) {
        span = zone_span_at(z, span.begin_s - 1);
        bool has_begun = span.begin_s == INT64_MIN || local_s >= span.begin_s + span.offset_s;
        if (has_begun && local_s < span.end_s + span.offset_s)
            return span.end_s + span.offset_s;
    }
    return local_s;
}

/* The same for a later span. */
static int64_t cal_later_end(const struct zone *z, struct zone_span span, int64_t local_s) {
    while (span.end_s < INT64_MAX && span.end_s - OFFSET_MAX_S <= local_s) {
        span = zone_span_at(z, span.end_s);
        bool has_ended = span.end_s < INT64_MAX && local_s >= span.end_s + span.offset_s;
        if (!has_ended && local_s >= span.begin_s + span.offset_s)
            return span.end_s < INT64_MAX ? span.end_s + span.offset_s : NONE;
    }
    return local_s;
}

/* The end of the local times of which another instant counts; local_s itself when this instant counts. */
static int64_t cal_skip_repeated(const struct cal *c, const struct zone_span *span, int64_t local_s) {
    if (c->repeated == ZONE_REPEATED_FIRST)
        return cal_earlier_end(c->zone, *span, local_s);
    return c->repeated == ZONE_REPEATED_LAST ? cal_later_end(c->zone, *span, local_s) : local_s;
}

static int64_t cal_search_next_in_span(struct cal_search *s, const struct zone_span *span, int64_t from_s,
                                       int64_t end_s) {
    while (from_s < end_s) {
        int64_t at_s = cal_search_next_in_offset(s, span->offset_s, from_s, end_s);
        if (at_s == NONE || s->cal->repeated == ZONE_REPEATED_BOTH)
            return at_s;
        int64_t local_s = at_s + span->offset_s;
        int64_t skipped_s = cal_skip_repeated(s->cal, span, local_s);
        if (skipped_s == local_s)
            return at_s;
        from_s = skipped_s == NONE ? NONE : skipped_s - span->offset_s;
    }
    return NONE;
}

/* The length of the gap before this span, and the offset from before the gap; 0 when there is no gap. */
static int64_t cal_gap_before(const struct zone *z, const struct zone_span *span, int32_t *ret_offset_s) {
    if (span->begin_s == INT64_MIN)
        return 0;
    *ret_offset_s = zone_span_at(z, span->begin_s - 1).offset_s;
    return MAX(span->offset_s - *ret_offset_s, 0);
}

/* A lower bound of the next time: the next local match less the largest offset. Skips spans without times. */
static int64_t cal_search_skip_spans(struct cal_search *s, int64_t from_s, int64_t end_s) {
    return MAX(from_s, cal_search_first_match(s, from_s - OFFSET_MAX_S, end_s + OFFSET_MAX_S) - OFFSET_MAX_S);
}

static int64_t cal_search_next_of_calendars(struct cal_search *s, int64_t from_s, int64_t end_s) {
    const struct cal *c = s->cal;
    if (c->rule_count == 0)
        return NONE;
    if (!c->zone)
        return cal_search_next_in_offset(s, 0, from_s, end_s);
    while (from_s < end_s && !cal_search_is_given_up(s)) {
        struct zone_span span = zone_span_at(c->zone, from_s);
        int64_t span_end_s = MIN(span.end_s, end_s);
        int64_t best_s = cal_search_next_in_span(s, &span, from_s, span_end_s);
        if (c->missing == ZONE_MISSING_SHIFT) {
            int32_t offset_s = 0;
            int64_t gap_s = cal_gap_before(c->zone, &span, &offset_s);
            int64_t moved_end_s = MIN(MIN(span_end_s, best_s), gap_s > 0 ? span.begin_s + gap_s : from_s);
            if (from_s < moved_end_s)
                best_s = MIN(best_s, cal_search_next_in_offset(s, offset_s, from_s, moved_end_s));
        }
        if (best_s != NONE)
            return best_s;
        from_s = span_end_s < end_s ? cal_search_skip_spans(s, span_end_s, end_s) : end_s;
    }
    return NONE;
}

static int64_t cal_next_tick(const struct cal_ticks *t, int64_t from_s) {
    if (from_s <= t->first_s)
        return t->first_s;
    int64_t past_s = (from_s - t->first_s) % t->step_s;
    int64_t at_s = past_s > 0 ? from_s + t->step_s - past_s : from_s;
    return at_s <= t->last_s ? at_s : NONE;
}

static int64_t cal_next_single(const struct cal *c, int64_t from_s) {
    uint32_t low = 0, high = c->time_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->times[middle] < from_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->time_count ? c->times[low] : NONE;
}

/* The end of the exclusion that covers the instant, at most the next clock change; utc_s itself when it is
 * not excluded. */
static int64_t cal_search_skip_excluded_instant(struct cal_search *s, int64_t utc_s) {
    struct zone_span span = zone_span_at(s->cal->zone, utc_s);
    int64_t end_s = MIN(span.end_s, RULE_END_S);
    if (utc_s >= end_s)
        return utc_s;
    return cal_search_skip_excluded(s, &rule_any_time, utc_s + span.offset_s, end_s + span.offset_s) -
           span.offset_s;
}

static int64_t cal_search_next_of_instants(struct cal_search *s, int64_t from_s, int64_t end_s) {
    const struct cal *c = s->cal;
    while (from_s < end_s && !cal_search_is_given_up(s)) {
        int64_t at_s = cal_next_single(c, from_s);
        for (uint32_t i = 0; i < c->tick_count; i++)
            at_s = MIN(at_s, cal_next_tick(&c->ticks[i], from_s));
        s->work += c->tick_count + 1;
        if (at_s >= end_s)
            return NONE;
        if (!s->has_excludes || c->exclude_count == 0)
            return at_s;
        from_s = cal_search_skip_excluded_instant(s, at_s);
        if (from_s == at_s)
            return at_s;
    }
    return NONE;
}

/* Calendars and instants, up to end_s. */
static int64_t cal_search_next_of_both(struct cal_search *s, int64_t from_s, int64_t end_s) {
    int64_t instant_s = cal_search_next_of_instants(s, from_s, end_s);
    return MIN(instant_s, cal_search_next_of_calendars(s, from_s, MIN(instant_s, end_s)));
}

/* Exclusions can refuse all times of one kind for decades while the other kind has a time tomorrow. So both
 * are searched in stretches that grow. The first stretch is too short to reach CAL_WORK_MAX. */
static int64_t cal_search_next_in_stretches(struct cal_search *s, int64_t from_s) {
    for (int64_t stretch_s = CIVIL_DAY_S; from_s < s->end_s && !cal_search_is_given_up(s);
         stretch_s *= STRETCH_GROWTH) {
        int64_t end_s = MIN(from_s + stretch_s, s->end_s);
        int64_t at_s = cal_search_next_of_both(s, from_s, end_s);
        if (at_s != NONE)
            return at_s;
        from_s = end_s;
    }
    return NONE;
}

static int64_t cal_search_next(struct cal_search *s, int64_t from_s) {
    const struct cal *c = s->cal;
    if (c->tick_count + c->time_count == 0)
        return cal_search_next_of_calendars(s, from_s, s->end_s);
    if (c->rule_count == 0)
        return cal_search_next_of_instants(s, from_s, s->end_s);
    return s->has_excludes && c->exclude_count > 0 ? cal_search_next_in_stretches(s, from_s)
                                                   : cal_search_next_of_both(s, from_s, s->end_s);
}

static int64_t cal_search_raw_counted(const struct cal *c, int64_t from_s, uint64_t *work) {
    struct cal_search s = {.cal = c, .end_s = RULE_END_S};
    int64_t at_s = cal_search_next(&s, from_s);
    *work += s.work;
    return at_s;
}

int64_t cal_search_raw(const struct cal *c, int64_t from_s) {
    uint64_t work = 0;
    return cal_search_raw_counted(c, from_s, &work);
}

/* The jitter ends before the next time, even if that one is excluded. */
static int64_t cal_jitter_us(const struct cal *c, struct str seed, int64_t nominal_s, uint64_t *work) {
    if (c->jitter_us == 0)
        return 0;
    int64_t next_s = cal_search_raw_counted(c, nominal_s + 1, work);
    int64_t max_us = next_s == NONE ? c->jitter_us : MIN(c->jitter_us, (next_s - nominal_s) * USEC_PER_SEC);
    return jitter_us(nominal_s, seed, max_us);
}

static int64_t cal_end_s(const struct cal *c) {
    return MIN(RULE_END_S, civil_div(c->end_us, USEC_PER_SEC) + 1);
}

enum cal_answer cal_next_counted(const struct cal *c, struct str seed, int64_t after_us, struct cal_time *ret,
                                 uint64_t *work) {
    struct cal_search s = {.cal = c, .has_excludes = true, .end_s = cal_end_s(c)};
    int64_t at_s = cal_search_next(&s, MAX(civil_div(after_us, USEC_PER_SEC) + 1, c->start_s));
    *work += s.work;
    if (cal_search_is_given_up(&s)) /* an earlier time can exist */
        return CAL_LIMIT;
    if (at_s == NONE)
        return CAL_NONE;
    *ret = (struct cal_time){at_s, at_s * USEC_PER_SEC + cal_jitter_us(c, seed, at_s, work)};
    return CAL_FOUND;
}

enum cal_answer cal_next(const struct cal *c, struct str seed, int64_t after_us, struct cal_time *ret) {
    uint64_t work = 0;
    return cal_next_counted(c, seed, after_us, ret, &work);
}

static bool cal_is_instant(const struct cal *c, int64_t utc_s) {
    if (cal_next_single(c, utc_s) == utc_s)
        return true;
    for (uint32_t i = 0; i < c->tick_count; i++)
        if (cal_next_tick(&c->ticks[i], utc_s) == utc_s)
            return true;
    return false;
}

static bool cal_has_rule_match(const struct cal *c, int64_t local_s) {
    struct rule_moment at = rule_moment(local_s);
    for (uint32_t i = 0; i < c->rule_count; i++)
        if (rule_matches(&c->rules[i], &at))
            return true;
    return false;
}

static bool cal_has_exclude_match(const struct cal *c, int64_t local_s, size_t *ret_index) {
    struct rule_moment at = rule_moment(local_s);
    bool is_excluded = false;
    for (uint32_t i = 0; i < c->united_count && !is_excluded; i++)
        is_excluded = rule_matches(&c->united[i], &at);
    for (uint32_t i = 0; is_excluded && ret_index && i < c->exclude_count; i++) {
        if (rule_matches(&c->excludes[i], &at)) {
            *ret_index = i;
            break;
        }
    }
    return is_excluded;
}

uint64_t cal_judge_work(const struct cal *c) {
    return (uint64_t)c->rule_count + c->tick_count + c->united_count + 1;
}

enum cal_verdict cal_judge(const struct cal *c, int64_t utc_s, size_t *ret_index) {
    struct zone_span span = zone_span_at(c->zone, utc_s);
    int64_t local_s = utc_s + span.offset_s;
    int32_t old_offset_s = 0;
    int64_t gap_s = c->missing == ZONE_MISSING_SHIFT ? cal_gap_before(c->zone, &span, &old_offset_s) : 0;
    bool is_moved = gap_s > 0 && utc_s < span.begin_s + gap_s && cal_has_rule_match(c, utc_s + old_offset_s);
    bool is_asked = cal_has_rule_match(c, local_s);
    bool is_repeat = is_asked && cal_skip_repeated(c, &span, local_s) != local_s;
    if (utc_s < c->start_s)
        return CAL_BEFORE_START;
    if (utc_s >= RULE_END_S || utc_s * USEC_PER_SEC > c->end_us)
        return CAL_AFTER_END;
    if (is_moved && !cal_has_exclude_match(c, utc_s + old_offset_s, ret_index))
        return CAL_IS_TIME;
    if (!cal_is_instant(c, utc_s) && !(is_asked && !is_repeat))
        return is_moved ? CAL_EXCLUDED : is_repeat ? CAL_REPEATED : CAL_NOT_ASKED;
    return cal_has_exclude_match(c, local_s, ret_index) ? CAL_EXCLUDED : CAL_IS_TIME;
}

const struct zone *cal_zone(const struct cal *c) {
    return c->zone;
}
