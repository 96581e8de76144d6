/* usec_add: sums that end at the edges instead of overflowing. */
#include "base/clock.h"

#include "harness.h"

TEST(clock_usec_add) {
    static const struct {
        int line;
        int64_t a, b, sum;
    } cases[] = {
        {__LINE__, 1, 2, 3},
        {__LINE__, -5, 3, -2},
        {__LINE__, CLOCK_NEVER, 0, CLOCK_NEVER},
        {__LINE__, CLOCK_NEVER, 1, CLOCK_NEVER},
        {__LINE__, CLOCK_NEVER, CLOCK_NEVER, CLOCK_NEVER},
        {__LINE__, CLOCK_NEVER - 1, 1, CLOCK_NEVER},
        {__LINE__, INT64_MIN, -1, INT64_MIN},
        {__LINE__, INT64_MIN, INT64_MIN, INT64_MIN},
        {__LINE__, CLOCK_NEVER, INT64_MIN, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        test_check_int(usec_add(cases[i].a, cases[i].b), cases[i].sum, __FILE__, cases[i].line, "sum");
}
