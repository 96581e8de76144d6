/* The file of --settings: settings that can change while the server runs.
 *
 * Lines are "name = value", with the names of flags; empty lines and lines that begin with # are skipped.
 * The command line and the environment override the file. All functions run on the loop thread. */
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
/* Reads the file. ERR_INVALID with the wrong line, or with the reason why the file cannot be read; the
 * values are unchanged then. */
int settings_file_read(struct settings_file *f, struct err *reterr) must_check;
/* For opt_args.file: the value of an option, or NULL. ctx is the settings_file. */
const char *settings_file_text(void *ctx, const struct opt *o);
/* For server_config.reread: reads the file again, applies its values, and logs them. */
void settings_file_reread(void *ctx);
