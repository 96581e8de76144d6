/* The file of --settings: what can change while the server runs.
 *
 * Lines are "name = value", with the names of the flags; empty ones and those that begin with # do not count.
 * What is given on the command line or in the environment wins over the file. */
#pragma once

#include "base/err.h"
#include "base/log.h"
#include "main/program.h"

#define SETTINGS_VALUE_MAX 128

struct settings_file {
    const struct opt_args *given; /* the command line and the environment */
    const char *path; /* NULL: there is no file */
    struct log *log;
    char values[SETTING_COUNT][SETTINGS_VALUE_MAX]; /* empty: not in the file */
};

void settings_file_init(struct settings_file *f, const struct opt_args *given, struct log *log);
/* ERR_INVALID with the line that is wrong, or why the file cannot be read; then nothing has changed. */
int settings_file_read(struct settings_file *f, struct err *reterr) must_check;
/* For opt_args.file: its value, or NULL. ctx is the settings_file. */
const char *settings_file_text(void *ctx, const struct opt *o);
/* For server_config.reread: reads the file again, changes what it says, and logs that. */
void settings_file_reread(void *ctx);
