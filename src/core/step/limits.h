/* The numbers of limits.def as constants, and those of them that an operator may set. */
#pragma once

#include "base/limit.h"
#include "base/str.h"

enum {
#define LIMIT(name, value, why) LIMIT_##name = LIMIT_NUMBER(core, name, value),
#define SETTABLE(name, value, key, why) LIMIT_##name = (value),
#include "core/step/limits.def"
#undef LIMIT
#undef SETTABLE
};

enum settable {
#define LIMIT(name, value, why)
#define SETTABLE(name, value, key, why) SETTABLE_##name,
#include "core/step/limits.def"
#undef LIMIT
#undef SETTABLE
    SETTABLE_COUNT,
};

/* What an operator set. */
struct core_limits {
    int64_t values[SETTABLE_COUNT]; /* 0: as in limits.def */
    bool allows_callbacks; /* clients may have completions sent to addresses of their choice */
    bool is_eager_activity_off; /* no activity rides in the answer to a workflow task */
};

/* The number that holds. NULL: nothing was set. */
int64_t limit_of(const struct core_limits *l, enum settable which);
/* Which one the key names; SETTABLE_COUNT when it names none. */
enum settable limit_by_key(struct str key);
