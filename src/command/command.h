/* Commands that ask a server, from the table commands.def: flags become a request, the response becomes text.
 *
 * main hands in what was parsed; stdout gets data and nothing else, stderr one line for what went wrong. */
#pragma once

#include "cli/opt.h"

enum command_id {
#define GROUP(id, ...) COMMAND_##id,
#define COMMAND(id, ...) COMMAND_##id,
#define LOCAL(id, ...) COMMAND_##id,
#define FLAG(...)
#define END(...)
#include "command/commands.def"
#undef GROUP
#undef COMMAND
#undef LOCAL
#undef FLAG
#undef END
    COMMAND_IDS,
};

/* Rows of command_opts. FLAGS_OF_x is the first one of a command, FLAGS_END_x the first after it. */
enum command_flag {
#define GROUP(...)
#define COMMAND(id, ...) FLAGS_OF_##id, FLAGS_OF_##id##_ = FLAGS_OF_##id - 1,
#define LOCAL(id, ...) FLAGS_OF_##id, FLAGS_OF_##id##_ = FLAGS_OF_##id - 1,
#define FLAG(command, id, ...) FLAG_##command##_##id,
#define END(id) FLAGS_END_##id, FLAGS_END_##id##_ = FLAGS_END_##id - 1,
#include "command/commands.def"
#undef GROUP
#undef COMMAND
#undef LOCAL
#undef FLAG
#undef END
    FLAG_ROWS,
};

extern const struct opt command_opts[FLAG_ROWS];
extern const struct opt_example command_examples[COMMAND_IDS];

/* The flags that they share: for all of them, and for those that ask a server. */
enum { SET_SETTINGS, SET_CLIENT, SET_COUNT };
extern const struct opt_set command_sets[SET_COUNT];

enum command_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_JSONL, FORMAT_NONE };

struct command_style {
    enum command_format format;
    bool has_color;
    bool has_pager; /* long tables may go through one */
    char *const *environment; /* "NAME=value", the last is NULL */
    const char *identity; /* who asks, unless --identity says it: user@host */
};

enum command_exit {
    COMMAND_DONE = 0,
    COMMAND_REFUSED = 1, /* the server said no, something failed on the way, or what was waited for failed */
    COMMAND_MISUSED = 2, /* the command line is wrong */
    COMMAND_UNREACHED = 3, /* no server answered */
    COMMAND_SKIPPED = 4, /* the server did nothing, since its rules say so: a trigger that was skipped */
};

enum command_exit command_run(enum command_id id, struct opt_args *a, const struct command_style *style);
/* What could stand as the value of an option, for shells: lines of "word<TAB>what it is" that begin with
 * `part`. Asks the server of the line when it must, for a second at most; nothing when that fails. Says
 * nothing of what went wrong, unless on stderr. */
void command_complete(enum command_id id, struct opt_args *a, const struct command_style *style,
                      const struct opt *o, const char *part, struct buf *out);
