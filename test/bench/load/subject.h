/* The server under test: the real program, in a process and a directory of its own. */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct subject {
    pid_t pid; /* 0: not running */
    int out; /* its stdout, where it says that it is ready */
    char grpc[64]; /* "127.0.0.1:40123" */
    char http[64];
    int64_t ready_us; /* from fork until it said so */
};

/* What the kernel counts for it. */
struct usage {
    int64_t cpu_us;
    int64_t written_bytes; /* sent to the disk, not to sockets */
    int64_t rss_bytes;
};

/* On this data file; waits until it is ready. Ends the program with a message when it is not. */
void subject_start(struct subject *s, const char *binary, const char *file);
void subject_stop(struct subject *s); /* as an operator does: SIGTERM, and it must exit with 0 */
void subject_kill(struct subject *s); /* as a power failure does: SIGKILL */
struct usage subject_usage(const struct subject *s);
