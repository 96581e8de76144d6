/* The present state of the server as lines of the log, written on SIGUSR1. */
#pragma once

#include "base/clock.h"
#include "base/log.h"

struct engine;
struct h2_server;
struct http1_server;

struct report_subject {
    const char *phase; /* "starting", "serving" or "stopping" */
    struct mono begin; /* when the server was made */
    struct now now;
    const struct engine *engine; /* these three: NULL when there is none yet */
    const struct h2_server *h2;
    const struct http1_server *http;
};

/* The lines server_state, server_connections, server_work and server_commits. */
void report_emit(const struct report_subject *r, struct log *log);
