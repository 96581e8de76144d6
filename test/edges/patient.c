/* The server is made, then the countdown begins, then the port is told and the loop runs. */
#include "patient.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "host/loop.h"
#include "main/startup.h"

#define LONG_POLL_US (2 * USEC_PER_SEC) /* nobody here waits for nothing for longer */
#define RESIDENT_RUNS 100

struct chart *chart_new(void) {
    struct chart *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ensure(c != MAP_FAILED);
    return c;
}

static noreturn_fn void serve(struct chart *chart, const char *file, unsigned long nth, int ready_fd) {
    static const char *const namespaces[] = {"default", NULL};
    struct server *server;
    struct log log;
    struct err e = {0};
    log_init(&log, STDERR_FILENO, LOG_SILENT, LOG_TEXT, host_wall);
    struct server_config cfg = {.grpc = {.host = "127.0.0.1"},
                                .http = {.host = "127.0.0.1"},
                                .has_http = true,
                                .namespaces = namespaces,
                                .retention_us = 24 * USEC_PER_HOUR,
                                .resident_runs_max = RESIDENT_RUNS,
                                .long_poll_us = LONG_POLL_US,
                                .minds_signals = true,
                                .log = &log};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* only in case that the test ends early */
    startup_choose_store(&cfg, file);
    if (server_new(&cfg, &server, &e) < 0) {
        fprintf(stderr, "no server: %s\n", e.text);
        exit(1);
    }
    chart->grpc_port = server_grpc_address(server).port;
    chart->http_port = server_http_address(server).port;
    ensure(write(ready_fd, "!", 1) == 1);
    close(ready_fd);
    fault_arm_alloc(nth);
    int rc = server_run(server);
    chart->has_fired = fault_fired();
    fault_disarm();
    server_free(server);
    exit(rc < 0); /* leaks are looked for now */
}

bool patient_start(struct patient *p, struct chart *chart, const char *file, unsigned long nth) {
    int words[2], ready[2];
    char mark;
    *p = (struct patient){0};
    *chart = (struct chart){0};
    ensure(pipe2(words, O_CLOEXEC) == 0 && pipe2(ready, O_CLOEXEC) == 0);
    fflush(NULL);
    p->pid = fork();
    if (p->pid == 0) {
        (void)dup2(words[1], STDERR_FILENO);
        close(words[0]);
        close(words[1]);
        close(ready[0]);
        serve(chart, file, nth, ready[1]);
    }
    ensure(p->pid > 0);
    close(words[1]);
    close(ready[1]);
    p->words_fd = words[0];
    bool is_ready = read(ready[0], &mark, 1) == 1;
    close(ready[0]);
    p->grpc_port = chart->grpc_port;
    p->http_port = chart->http_port;
    return is_ready;
}

/* Nobody else has the other end of the pipe. */
bool patient_is_dead(const struct patient *p) {
    struct pollfd words = {.fd = p->words_fd, .events = POLLIN};
    return poll(&words, 1, 0) > 0 && words.revents;
}

int patient_stop(struct patient *p) {
    int status = -1;
    size_t n = 0;
    ssize_t got;
    (void)kill(p->pid, SIGTERM); /* it may be dead */
    while (n < sizeof(p->words) - 1 && (got = read(p->words_fd, p->words + n, sizeof(p->words) - 1 - n)) > 0)
        n += (size_t)got;
    p->words[n] = 0;
    close(p->words_fd);
    ensure(waitpid(p->pid, &status, 0) == p->pid);
    return status;
}
