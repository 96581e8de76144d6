/* Runs $PAGER as a child process that reads what this program prints.
 *
 * As with git, less exits at once when the text fits the screen, keeps colours, and does not clear the
 * screen (LESS=FRX, unless the user has set LESS). When the user quits the pager early, the rest of the
 * output is discarded without an error: SIGPIPE is ignored while a pager runs. */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define PAGER_STANDARD "if command -v less >/dev/null; then exec less; else exec cat; fi"

static void pager_run_child(const char *command, const int pipe_fds[2]) {
    signal(SIGPIPE, SIG_DFL);
    dup2(pipe_fds[0], STDIN_FILENO);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void pager_open(struct pager *p, const char *(*env)(const char *name)) {
    int fds[2];
    *p = (struct pager){0};
    const char *command = env ? env("PAGER") : NULL;
    if (!command)
        command = PAGER_STANDARD;
    if (!isatty(STDOUT_FILENO) || !*command || cstr_eq(command, "cat") || pipe(fds) < 0)
        return;
    fflush(stdout);
    p->pid = fork();
    if (p->pid == 0)
        pager_run_child(command, fds);
    if (p->pid > 0) {
        signal(SIGPIPE, SIG_IGN);
        dup2(fds[1], STDOUT_FILENO);
    } else {
        p->pid = 0;
    }
    close(fds[0]);
    close(fds[1]);
}

void pager_close(struct pager *p) {
    if (!p->pid)
        return;
    fflush(stdout);
    close(STDOUT_FILENO);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    p->pid = 0;
}
