/* Times and durations as people write them; the filter's own tests are in test_filter.c. */
#include "core/schedule/instant.h"

#include <stdio.h>

#include "base/err.h"
#include "harness.h"

#define REFUSED INT64_MIN

struct line {
    const char *text;
    int64_t want; /* nanoseconds, or REFUSED */
};

static void check(int (*parse)(struct str, int64_t *), const struct line *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t got;
        int rc = parse(str_of(lines[i].text), &got);
        if (!CHECK_INT(rc < 0 ? REFUSED : got, lines[i].want))
            printf("# \"%s\"\n", lines[i].text);
    }
}

TEST(instants) {
    static const struct line lines[] = {
        {"1970-01-01T00:00:01Z", NSEC_PER_SEC},
        {"1970-01-01t00:00:01z", NSEC_PER_SEC},
        {"1970-01-01 00:00:01.000000001Z", NSEC_PER_SEC + 1},
        {"1970-01-01T00:00:00.1234567891Z", 123456789},
        {"1970-01-01T01:30:00+01:30", 0},
        {"1969-12-31T22:30:00-01:30", 0},
        {"1969-12-31T23:59:60Z", 0}, /* a leap second */
        {"2000-02-29T00:00:00Z", INT64_C(951782400) * NSEC_PER_SEC},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800) * NSEC_PER_SEC},
        {"1900-02-28T00:00:00Z", INT64_C(-2203977600) * NSEC_PER_SEC},
    };
    check(instant_parse, lines, ARRAY_LEN(lines));
}

/* What does not fit becomes the nearest time that does. */
TEST(instants_saturate) {
    int64_t got = 0;
    CHECK_INT(instant_parse(STR("9999-12-31T23:59:59Z"), &got), 0);
    CHECK_INT(got, INT64_MAX);
    CHECK_INT(instant_parse(STR("2262-04-11T23:47:16.999999999Z"), &got), 0);
    CHECK_INT(got, INT64_MAX);
    CHECK_INT(instant_parse(STR("0001-01-01T00:00:00Z"), &got), 0);
    CHECK_INT(got, INT64_MIN);
    CHECK_INT(instant_parse(STR("0000-01-01T00:00:00Z"), &got), 0);
    CHECK_INT(got, INT64_MIN);
}

TEST(instants_that_are_none) {
    static const char *const texts[] = {
        "",
        "1970",
        "197x-01-01T00:00:00Z",
        "1970/01-01T00:00:00Z",
        "1970-0",
        "1970-01/01T00:00:00Z",
        "1970-01-",
        "1970-00-01T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "1970-01-01",
        "1970-01-01_00:00:00Z",
        "1970-01-01T0",
        "1970-01-01T00-00:00Z",
        "1970-01-01T00:0",
        "1970-01-01T00:00-00Z",
        "1970-01-01T00:00:0",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.",
        "1970-01-01T00:00:00.:Z",
        "1970-01-01T00:00:00./Z",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00:00ZZ",
        "1970-01-01T00:00:00+1:00",
        "1970-01-01T00:00:00+0100",
        "1970-01-01T00:00:00+01:0",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00-00:60",
    };
    int64_t got;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!CHECK_INT(instant_parse(str_of(texts[i]), &got), ERR_INVALID))
            printf("# \"%s\"\n", texts[i]);
}

TEST(spans) {
    static const struct line lines[] = {
        {"+1s", NSEC_PER_SEC},
        {"1h0.5m", 3630 * NSEC_PER_SEC},
        {"2562047h", INT64_C(2562047) * 3600 * NSEC_PER_SEC},
        {"2562047:47:16.854775807", INT64_MAX},
        {"0:00:59", 59 * NSEC_PER_SEC},
    };
    check(span_parse, lines, ARRAY_LEN(lines));
}

TEST(spans_that_are_none) {
    static const struct line lines[] = {
        {"+", REFUSED},
        {"1", REFUSED},
        {".", REFUSED},
        {"1.s", REFUSED},
        {"1.", REFUSED},
        {"1d", REFUSED},
        {"1s2", REFUSED},
        {"99999999999999999999s", REFUSED},
        {"9223372036854775808ns", REFUSED},
        {"2562048h", REFUSED},
        {"2562047h2562047h", REFUSED},
        {"9223372036854775807.9s", REFUSED},
        {"9223372036.9s", REFUSED},
        {"1:0:00", REFUSED},
        {"1:00", REFUSED},
        {"1:00:0", REFUSED},
        {"1:00:00.", REFUSED},
        {"1:00:00x", REFUSED},
        {"1:60:00", REFUSED},
        {"1:00:60", REFUSED},
        {"9223372036854775807:00:00", REFUSED},
        {"2562047788015215:59:00", REFUSED},
        {"9223372036854775:00:00", REFUSED},
        {"2562048:00:00", REFUSED},
        {"1h-", REFUSED},
        {"2562047:47:16.9", REFUSED},
    };
    check(span_parse, lines, ARRAY_LEN(lines));
}
