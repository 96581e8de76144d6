/* Warnings: what the author of a spec probably did not intend. It never acts, it does not act on the night of
 * a clock change, day of month and day of week must both match. Each kind is reported once, as a sentence. */
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
/* Checks the times after now_us, and three years of clock changes. Fails as cal_new(): ERR_INVALID,
 * ERR_NO_MEMORY. */
int warnings_of(const struct cal_spec *s, const struct cal_zones *zones, int64_t now_us, struct arena *arena,
                struct warning ret[WARNING_KINDS], size_t *ret_count, struct err *reterr) must_check;
