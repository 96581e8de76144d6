/* The command line of the `rondo` program: its tables, and a function for each command.
 *
 * Exit codes: 0 done, 1 the program could not start or continue or the server refused, 2 the command line
 * is wrong, 3 no server responded, 4 a trigger was skipped. */
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

/* Parses argv and runs the command. Returns the exit code of the process. */
int program_main(int argc, char *const *argv);

/* Run `rondo server` and `rondo server start-dev` until they stop. Return the exit code. */
int server_cmd_run(const struct opt_args *a);
int dev_cmd_run(const struct opt_args *a);

/* The format of results: -o. */
enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_NONE };
enum output program_output_of(const struct opt_args *a);
