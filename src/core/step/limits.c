/* Settable limits by their keys. */
#include "core/step/limits.h"

static const struct {
    const char *key;
    int64_t value;
} settables[] = {
#define LIMIT(name, value, why)
#define SETTABLE(name, value, key, why) [SETTABLE_##name] = {key, value},
#include "core/step/limits.def"
#undef LIMIT
#undef SETTABLE
};

int64_t limit_of(const struct core_limits *l, enum settable which) {
    return l && l->values[which] ? l->values[which] : settables[which].value;
}

enum settable limit_by_key(struct str key) {
    int i = 0;
    while (i < SETTABLE_COUNT && !str_is(key, settables[i].key))
        i++;
    return (enum settable)i;
}
