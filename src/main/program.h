/* The command line of the `rondo` program: its tables, and a function for each command.
 *
 * Exit codes: 0 done, 1 it could not start or go on or the server said no, 2 the command line is wrong,
 * 3 no server answered. */
#pragma once

#include "cli/opt.h"

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 }; /* and those of command/command.h */

enum { GLOBAL_HELP, GLOBAL_OUTPUT, GLOBAL_COLOR, GLOBAL_NO_PAGER };

enum { ROOT_VERSION };

enum {
#define SETTING(id, ...) SETTING_##id,
#include "main/settings.def"
#undef SETTING
    SETTING_COUNT,
};

enum {
#define DEV_FLAG(id, ...) DEV_##id,
#include "main/dev_flags.def"
#undef DEV_FLAG
    DEV_COUNT,
};

/* Everything behind main(): parses and runs. */
int program_main(int argc, char *const *argv);

/* `rondo server` and `rondo server start-dev`. */
int server_cmd_run(const struct opt_args *a);
int dev_cmd_run(const struct opt_args *a);

/* How results are to be printed: -o. */
enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_NONE };
enum output program_output_of(const struct opt_args *a);
