/* Shared by `rondo server` and `rondo server start-dev`. */
#pragma once

#include "main/program.h"
#include "serve/server.h"

#define USEC_PER_HOUR (3600 * USEC_PER_SEC)

void startup_print_error(const char *fmt, ...) printf_like(1, 2); /* prints one line on stderr */
int startup_usage_error(const char *flag,
                        const struct err *e); /* prints the error of a flag; returns EXIT_USAGE */

/* Opens the log on stderr. The words come from option tables and are valid; "pretty" is the same as text. */
void startup_open_log(struct log *log, const char *level, const char *format);

#define NAMESPACES_MAX 64
/* Checks a name that a flag gives. ERR_INVALID after a line on stderr. */
int startup_check_name(const char *flag, struct str name) must_check;
/* "default" and the names of the list, without duplicates; ret ends with NULL. ERR_INVALID for a wrong name,
 * ERR_FULL for too many, after a line on stderr. */
int startup_read_namespaces(const struct opt_args *a, size_t row,
                            const char *ret[NAMESPACES_MAX + 2]) must_check;

/* Sets the store that --data names. */
void startup_choose_store(struct server_config *cfg, const char *data);

/* The flags that an error names when a part of the server cannot start. */
struct server_flags {
    const char *data, *grpc, *http;
};
/* Runs the server until it stops. Returns the exit code of the process. */
int startup_serve(const struct server_config *cfg, const struct server_flags *flags, enum output output);
