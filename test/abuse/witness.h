/* A well-behaved client in a process of its own, which goes on asking while an attack runs. */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct testimony {
    unsigned long answered, failed;
    long slowest_us;
};

struct witness {
    pid_t pid;
    struct testimony *seen; /* shared with it */
};

void witness_start(struct witness *w, uint16_t port);
struct testimony witness_stop(struct witness *w); /* after at least one call */
