/* What the two server commands share. */
#pragma once

#include "main/program.h"
#include "serve/server.h"

#define USEC_PER_HOUR (3600 * USEC_PER_SEC)

void startup_print_error(const char *fmt, ...) printf_like(1, 2); /* one line on stderr */
int startup_usage_error(const char *flag, const struct err *e); /* EXIT_USAGE, after saying what is wrong */

/* The words come from option tables, so they are known; "pretty" is text. */
void startup_open_log(struct log *log, const char *level, const char *format);

#define NAMESPACES_MAX 64
/* "default" and what the list names, without duplicates; ret is NULL-terminated. ERR_FULL after a
 * line on stderr. */
/* A name that came with a flag. ERR_INVALID after a line on stderr. */
int startup_check_name(const char *flag, struct str name) must_check;
int startup_read_namespaces(const struct opt_args *a, size_t row,
                            const char *ret[NAMESPACES_MAX + 2]) must_check;

/* The store for what --data says. */
void startup_choose_store(struct server_config *cfg, const char *data);

/* The flags to name when a part of the server cannot start. */
struct server_flags {
    const char *data, *grpc, *http;
};
/* The exit code of the process. */
int startup_serve(const struct server_config *cfg, const struct server_flags *flags, enum output output);
