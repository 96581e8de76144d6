/* Progress, on the terminal behind stderr. */
#include <stdio.h>
#include <unistd.h>

#include "command/command_int.h"

#define PROGRESS_BYTES_MAX 256
#define WIPE "\r\x1b[K"

bool prompt_is_terminal(void) {
    return isatty(STDERR_FILENO) == 1;
}

void progress_line(unused_arg const struct command *c, const char *fmt, ...) {
    char line[PROGRESS_BYTES_MAX];
    va_list args;
    if (!prompt_is_terminal())
        return;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args); /* cut when longer */
    va_end(args);
    fprintf(stderr, WIPE "%s", line);
    (void)fflush(stderr);
}

void progress_end(void) {
    if (!prompt_is_terminal())
        return;
    fprintf(stderr, WIPE);
    (void)fflush(stderr);
}

static void on_time(void *ctx) {
    loop_stop(session_loop(ctx));
}

static void on_signal(void *ctx) {
    struct command *c = ctx;
    c->is_interrupted = true;
    loop_stop(session_loop(c));
}

bool pause_for(struct command *c, int64_t us) {
    struct loop *loop = session_loop(c);
    struct timer *timer;
    if (c->is_interrupted || loop_on_stop_signal(loop, on_signal, c) < 0 ||
        timer_new(loop, on_time, c, &timer) < 0)
        return false;
    timer_set(timer, us);
    bool ok = loop_run(loop) == 0;
    timer_free(timer);
    return ok && !c->is_interrupted;
}
