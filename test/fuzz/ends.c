/* The table of ends, as it appears in the last words of a process. */
#include "ends.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct {
    const char *file, *words;
} ends[ENDS_COUNT] = {
#define END(file, words) {"/" file ".c:", ": ensure failed: " words "\n"},
#include "torture_ends.def"
#undef END
};

bool ends_take(unsigned long counts[ENDS_COUNT], int status, const char *words) {
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        return false;
    for (size_t i = 0; i < ENDS_COUNT; i++)
        if (strstr(words, ends[i].file) && strstr(words, ends[i].words)) {
            counts[i]++;
            return true;
        }
    return false;
}

void ends_print(const unsigned long counts[ENDS_COUNT]) {
    for (size_t i = 0; i < ENDS_COUNT; i++)
        if (counts[i])
            printf("# ended on purpose %lu times: %s%s", counts[i], ends[i].file, ends[i].words);
}
