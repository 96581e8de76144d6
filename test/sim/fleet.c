/* A world that dies (a failed ensure, a sanitizer report, a hang) must not take the others with it: each runs
 * in a forked child, which sends its report through a pipe. A child that ends without one has failed. */
#include "fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

#define WORLD_SECONDS_MAX 600 /* real ones; a world that needs more hangs */

struct ship {
    pid_t pid; /* 0: free */
    int fd;
    uint64_t seed;
};

static noreturn_fn void fleet_child(const struct world_config *cfg, int fd) {
    struct world *w;
    alarm(WORLD_SECONDS_MAX);
    if (world_new(cfg, &w) < 0)
        exit(2);
    world_run(w);
    struct report rep;
    report_fill(&rep, w);
    world_free(w);
    fflush(stdout);
    bool sent = write(fd, &rep, sizeof(rep)) == (ssize_t)sizeof(rep);
    close(fd);
    exit(sent ? 0 : 2);
}

static void fleet_launch(const struct fleet *f, struct ship *ship, uint64_t seed) {
    int ends[2];
    ensure(pipe(ends) == 0);
    fflush(stdout);
    pid_t pid = fork();
    ensure(pid >= 0);
    if (pid == 0) {
        struct world_config cfg = f->cfg;
        cfg.seed = seed;
        close(ends[0]);
        fleet_child(&cfg, ends[1]);
    }
    close(ends[1]);
    *ship = (struct ship){.pid = pid, .fd = ends[0], .seed = seed};
}

static void fleet_receive(struct ship *ship, int status, struct report *rep) {
    bool has_report = read(ship->fd, rep, sizeof(*rep)) == (ssize_t)sizeof(*rep);
    close(ship->fd);
    if (!has_report)
        *rep = (struct report){.seed = ship->seed, .ok = true};
    bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (rep->ok && (!has_report || !ended_well)) {
        rep->ok = false;
        snprintf(rep->check, sizeof(rep->check), "process_survives");
        snprintf(rep->detail, sizeof(rep->detail), "%s %d", WIFSIGNALED(status) ? "signal" : "exit code",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    ship->pid = 0;
}

/* Waits for one child; true when its world failed. */
static bool fleet_wait(const struct fleet *f, struct ship *ships, struct report *total) {
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    ensure(pid > 0);
    for (unsigned i = 0; i < f->jobs; i++) {
        if (ships[i].pid != pid)
            continue;
        struct report rep;
        fleet_receive(&ships[i], status, &rep);
        report_add(total, &rep);
        if (f->print_each || !rep.ok)
            report_print(&rep, &f->cfg);
        return !rep.ok;
    }
    return false;
}

uint64_t fleet_run(const struct fleet *f, struct report *ret) {
    struct ship ships[FLEET_JOBS_MAX] = {0};
    ensure(f->jobs > 0 && f->jobs <= FLEET_JOBS_MAX);
    uint64_t next = f->first_seed, failed = 0, under_way = 0;
    while (next <= f->last_seed || under_way > 0) {
        if (failed > 0 && f->stops_at_failure)
            next = f->last_seed + 1;
        for (unsigned i = 0; i < f->jobs && next <= f->last_seed; i++) {
            if (ships[i].pid)
                continue;
            fleet_launch(f, &ships[i], next++);
            under_way++;
        }
        if (under_way == 0)
            break;
        failed += fleet_wait(f, ships, ret);
        under_way--;
    }
    return failed;
}
