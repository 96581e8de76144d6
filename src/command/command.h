/* The commands of the table commands.def: flags become a request, the response becomes text.
 *
 * main parses the command line and calls command_run(). stdout gets only data. An error is one line on
 * stderr. Everything runs on the calling thread. */
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

/* Rows of command_opts. FLAGS_OF_x is the first row of command x, FLAGS_END_x the row after its last one. */
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

/* Flags that commands share: SET_SETTINGS for all commands, SET_CLIENT for commands that call a server. */
enum { SET_SETTINGS, SET_CLIENT, SET_COUNT };
extern const struct opt_set command_sets[SET_COUNT];

enum command_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_JSONL, FORMAT_NONE };

struct command_style {
    enum command_format format;
    bool has_color;
    bool has_pager; /* long tables may go through a pager */
    char *const *environment; /* "NAME=value", the last is NULL */
    const char *identity; /* the identity of the caller unless --identity is given: user@host */
};

enum command_exit {
    COMMAND_DONE = 0,
    COMMAND_REFUSED = 1, /* the server refused, something failed on the way, or the awaited workflow failed */
    COMMAND_MISUSED = 2, /* the command line is wrong */
    COMMAND_UNREACHED = 3, /* no server answered */
    COMMAND_SKIPPED = 4, /* the server did nothing because of its rules: a skipped trigger */
};

/* Runs one command from its parsed line to its exit code. `a` and `style` are only read during the call,
 * except that flags from files are attached to `a`. */
enum command_exit command_run(enum command_id id, struct opt_args *a, const struct command_style *style);
/* Adds the values of an option that begin with `part`, for shells: lines of "word<TAB>description". Calls
 * the server of the line where needed, for one second at most. Adds nothing when that fails; errors go to
 * stderr only. */
void command_complete(enum command_id id, struct opt_args *a, const struct command_style *style,
                      const struct opt *o, const char *part, struct buf *out);
