/* Questions before operations that cannot be undone, and progress lines. Both use stderr, so that stdout
 * has only data. */
#include "command/prompt.h"

#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256

bool prompt_is_terminal(void) {
    return isatty(STDERR_FILENO);
}

enum command_exit prompt_confirm(const struct command *c, const char *question) {
    char answer[LINE_MAX_BYTES] = "";
    if (opt_named_flag(c->args, "yes"))
        return COMMAND_DONE;
    if (!isatty(STDIN_FILENO) || !prompt_is_terminal()) {
        command_print_error("%s There is no terminal to ask on; add --yes", question);
        return COMMAND_MISUSED;
    }
    fprintf(stderr, "%s y/N ", question);
    fflush(stderr);
    const char *line = fgets(answer, sizeof(answer), stdin);
    if (line && ((answer[0] | 0x20) == 'y') && (answer[1] == '\n' || strncmp(answer + 1, "es", 2) == 0))
        return COMMAND_DONE;
    command_print_error("canceled; nothing was done");
    return COMMAND_REFUSED;
}

void prompt_show_progress(const char *fmt, ...) {
    char line[LINE_MAX_BYTES];
    va_list args;
    if (!prompt_is_terminal())
        return;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args); /* cut when longer */
    va_end(args);
    fprintf(stderr, "\r\x1b[K%s", line);
    fflush(stderr);
}

void prompt_clear_progress(void) {
    if (prompt_is_terminal())
        fprintf(stderr, "\r\x1b[K");
}
