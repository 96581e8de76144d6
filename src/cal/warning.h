/* What the author of a spec may not have meant: it never acts, it does not act on the night when the clocks
 * change, day of month and day of week must both match. Each kind at most once, with a sentence for a person.
 */
#pragma once

#include "cal/cal.h"

enum warning_kind {
#define WARNING(id, word) WARNING_##id,
#include "cal/warnings.def"
#undef WARNING
    WARNING_KINDS,
};

struct warning {
    enum warning_kind kind;
    const char *text; /* in the arena; ends with a full stop */
};

const char *warning_word(enum warning_kind kind);
/* Looks at the times after now_us; clock changes for three years. 0, or ERR_INVALID and ERR_NO_MEMORY as
 * cal_new. */
int warnings_of(const struct cal_spec *s, const struct cal_zones *zones, int64_t now_us, struct arena *arena,
                struct warning ret[WARNING_KINDS], size_t *ret_count, struct err *reterr) must_check;
