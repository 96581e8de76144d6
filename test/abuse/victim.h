/* The server under attack: a process that we start, watch and stop. */
#pragma once

#include <sys/types.h>

#include "base/base.h"

struct victim {
    pid_t pid;
    int pid_fd; /* readable once the process has ended */
    uint16_t port, http_port;
};

/* Starts `binary server` on free loopback ports with data in memory, and waits until it answers. */
bool victim_start(struct victim *v, const char *binary);
bool victim_is_alive(const struct victim *v);
long victim_rss_kib(const struct victim *v); /* -1 when it is gone */
/* SIGTERM; true when the process ended with status 0. */
bool victim_stop(struct victim *v);
