/* One call after the other, each on a connection of its own, until told to stop. */
#include "witness.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define PAUSE_MS 5 /* between two calls: a client, not a load */
#define WAIT_MS 10
#define WAITS_MAX 3000

static long now_us(void) {
    struct timespec t;
    ensure(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (long)(t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

static noreturn_fn void testify(struct testimony *seen, uint16_t port) {
    for (;;) {
        long begin_us = now_us();
        if (peer_gets_system_info(port))
            seen->answered++;
        else
            seen->failed++;
        seen->slowest_us = MAX(seen->slowest_us, now_us() - begin_us);
        (void)poll(NULL, 0, PAUSE_MS);
    }
}

void witness_start(struct witness *w, uint16_t port) {
    w->seen = mmap(NULL, sizeof(*w->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ensure(w->seen != MAP_FAILED);
    w->pid = fork();
    ensure(w->pid >= 0);
    if (w->pid == 0)
        testify(w->seen, port);
}

struct testimony witness_stop(struct witness *w) {
    for (int i = 0; i < WAITS_MAX && *(volatile unsigned long *)&w->seen->answered == 0; i++)
        (void)poll(NULL, 0, WAIT_MS);
    (void)kill(w->pid, SIGKILL); /* a call that is under way does not count */
    (void)waitpid(w->pid, NULL, 0);
    struct testimony seen = *w->seen;
    (void)munmap(w->seen, sizeof(*w->seen));
    return seen;
}
