/* Starts the server with fork and exec and reads the address that it prints when it is ready. What it costs
 * is read from /proc: CPU time of all its threads, bytes written, resident memory. */
#include "subject.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "base/clock.h"

#define BANNER_MAX 4096
#define GRPC_LABEL "Server:"
#define HTTP_LABEL "HTTP:    http://"

static noreturn_fn void subject_exec(const char *binary, const char *file, int out) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a benchmark that gave up leaves no server behind */
    (void)dup2(out, STDOUT_FILENO);
    execl(binary, binary, "server", "--data", file, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
          "--log-level", "warn", (char *)NULL);
    perror(binary);
    _exit(127);
}

/* The word behind the label, once its line is complete. */
static bool find_word(const char *text, const char *label, char ret[64]) {
    const char *at = strstr(text, label);
    return at && strchr(at, '\n') && sscanf(at + strlen(label), " %63s", ret) == 1;
}

/* Reads until the lines with the addresses have come. */
static bool read_addresses(struct subject *s) {
    char text[BANNER_MAX + 1];
    size_t n = 0;
    ssize_t got;
    while (n < BANNER_MAX && (got = read(s->out, text + n, BANNER_MAX - n)) > 0) {
        n += (size_t)got;
        text[n] = 0;
        if (find_word(text, GRPC_LABEL, s->grpc) && find_word(text, HTTP_LABEL, s->http))
            return true;
    }
    return false;
}

void subject_start(struct subject *s, const char *binary, const char *file) {
    int pipe_fd[2];
    int64_t begin = now_us();
    *s = (struct subject){0};
    if (pipe2(pipe_fd, O_CLOEXEC) < 0)
        die("no pipe");
    s->pid = fork();
    if (s->pid == 0)
        subject_exec(binary, file, pipe_fd[1]);
    close(pipe_fd[1]);
    s->out = pipe_fd[0];
    if (s->pid < 0 || !read_addresses(s))
        die("the server did not start");
    s->ready_us = now_us() - begin;
}

static int subject_end(struct subject *s, int signal) {
    int status = -1;
    if (s->pid <= 0)
        return 0;
    (void)kill(s->pid, signal); /* it may be gone already; waitpid tells */
    if (waitpid(s->pid, &status, 0) != s->pid)
        die("the server cannot be waited for");
    close(s->out);
    s->pid = 0;
    return status;
}

void subject_stop(struct subject *s) {
    int status = subject_end(s, SIGTERM);
    if (status != 0)
        die("the server did not stop cleanly");
}

void subject_kill(struct subject *s) {
    (void)subject_end(s, SIGKILL); /* its status is the signal */
}

/* The number behind `key` in /proc/PID/NAME, or -1. */
static int64_t proc_number(const struct subject *s, const char *name, const char *key) {
    char path[64], line[256];
    int64_t value = -1;
    (void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)s->pid, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    while (value < 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoll(line + strlen(key), NULL, 10);
    fclose(f);
    return value;
}

/* In nanoseconds for each thread; /proc/PID/stat counts in hundredths of a second. */
static int64_t cpu_us(const struct subject *s) {
    char path[320];
    int64_t total_ns = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)s->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (struct dirent *d; (d = readdir(tasks));) {
        int64_t ns = 0;
        (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/schedstat", (long)s->pid, d->d_name);
        FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (f && fscanf(f, "%" SCNd64, &ns) == 1)
            total_ns += ns;
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return total_ns / NSEC_PER_USEC;
}

struct usage subject_usage(const struct subject *s) {
    return (struct usage){.cpu_us = cpu_us(s),
                          .written_bytes = proc_number(s, "io", "write_bytes:"),
                          .rss_bytes = proc_number(s, "status", "VmRSS:") * 1024};
}
