/* Starts the server with fork and exec, reads its memory from /proc, and stops it with SIGTERM.
 *
 * Waiting is always for the process: it is ready when it answers, and when it
 * ends instead we know at once. A server that does not stop is killed and counts
 * as failed. */
#include "victim.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

#define START_TRIES 1000
#define START_STEP_MS 20
#define STOP_MS 20000
#define ADDRESS_MAX 32

static uint16_t free_port(void) {
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(any);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ensure(fd >= 0 && bind(fd, (struct sockaddr *)&any, len) == 0);
    ensure(getsockname(fd, (struct sockaddr *)&any, &len) == 0);
    close(fd);
    return ntohs(any.sin_port);
}

/* A sanitizer that keeps freed memory would hide what the server itself does with it. */
static void trim_sanitizer(void) {
    char options[512];
    const char *own = getenv("ASAN_OPTIONS");
    (void)snprintf(options, sizeof(options), "%s%squarantine_size_mb=1", own ? own : "", own ? ":" : "");
    (void)setenv("ASAN_OPTIONS", options, 1); /* without it the memory check is only stricter */
}

static noreturn_fn void victim_exec(const char *binary, const char *grpc, const char *http) {
    trim_sanitizer();
    (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* our own output is TAP */
    execl(binary, binary, "server", "--data", ":memory:", "--grpc", grpc, "--http", http, "--log-level",
          "error", (char *)NULL);
    perror(binary);
    _exit(127);
}

static bool wait_end(const struct victim *v, int timeout_ms) {
    struct pollfd end = {.fd = v->pid_fd, .events = POLLIN};
    return poll(&end, 1, timeout_ms) > 0;
}

bool victim_is_alive(const struct victim *v) {
    return !wait_end(v, 0);
}

static bool victim_wait_ready(struct victim *v) {
    for (int i = 0; i < START_TRIES; i++) {
        if (peer_gets_system_info(v->port))
            return true;
        if (wait_end(v, START_STEP_MS))
            return false;
    }
    return false;
}

bool victim_start(struct victim *v, const char *binary) {
    char grpc[ADDRESS_MAX];
    char http[ADDRESS_MAX];
    v->port = free_port();
    (void)snprintf(grpc, sizeof(grpc), "127.0.0.1:%u", v->port);
    v->http_port = free_port();
    (void)snprintf(http, sizeof(http), "127.0.0.1:%u", v->http_port);
    v->pid = fork();
    if (v->pid == 0)
        victim_exec(binary, grpc, http);
    if (v->pid < 0)
        return false;
    v->pid_fd = (int)syscall(SYS_pidfd_open, v->pid, 0);
    if (v->pid_fd < 0 || !victim_wait_ready(v))
        return false;
    return true;
}

long victim_rss_kib(const struct victim *v) {
    char path[64];
    char line[256];
    long kib = -1;
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)v->pid);
    FILE *status = fopen(path, "re");
    if (!status)
        return -1;
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    fclose(status);
    return kib;
}

bool victim_stop(struct victim *v) {
    int status = -1;
    if (v->pid <= 0)
        return false;
    (void)kill(v->pid, SIGTERM); /* it may be gone already; waitpid tells */
    if (v->pid_fd < 0 || !wait_end(v, STOP_MS))
        (void)kill(v->pid, SIGKILL);
    if (waitpid(v->pid, &status, 0) != v->pid)
        return false;
    if (v->pid_fd >= 0)
        close(v->pid_fd);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
