/* Where a process may end on purpose when memory is short: torture_ends.def, and how often each was met. */
#pragma once

#include "base/base.h"

enum {
#define END(file, words) +1
    ENDS_COUNT = 0
#include "torture_ends.def"
#undef END
};

/* Whether a process that ended with this status, and with these last words, did so on purpose; then it counts. */
bool ends_take(unsigned long counts[ENDS_COUNT], int status, const char *words);
void ends_print(const unsigned long counts[ENDS_COUNT]);
