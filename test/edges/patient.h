/* A whole server in a process of its own, with one allocation of its loop thread failing.
 *
 * It listens on ports that the system picks. Its last words are what it wrote to stderr. */
#pragma once

#include <sys/types.h>

#include "base/base.h"

#define WORDS_BYTES_MAX 4096

struct patient {
    pid_t pid;
    int words_fd;
    uint16_t grpc_port, http_port;
    char words[WORDS_BYTES_MAX];
};

/* What the process tells about itself. */
struct chart {
    uint16_t grpc_port, http_port;
    bool has_fired;
};

struct chart *chart_new(void); /* one for all patients of a program */
/* On that file; the nth allocation from when it is ready fails. False when it did not start. */
bool patient_start(struct patient *p, struct chart *chart, const char *file, unsigned long nth);
/* Whether it has ended by itself. */
bool patient_is_dead(const struct patient *p);
/* SIGTERM, then what became of it: a status as of waitpid(). */
int patient_stop(struct patient *p);
