/* Command lines from tables: parsing, help and suggestions all read the same rows.
 *
 * A program is an array of commands, a command has an array of options. Take
 * the values by the option's index in its table:
 *
 *   struct opt_args args;
 *   if (opt_parse(&program, argc, argv, getenv, &args, &problem) < 0)
 *       ... print buf_str(&problem), exit 2 ...
 *   const char *data = opt_text(&args, SERVER_DATA);
 *
 * A value comes from the command line, else from the environment variable of
 * the option, else from its default. Nothing here prints or reads the
 * environment by itself. */
#pragma once

#include "base/base.h"
#include "base/buf.h"

enum opt_type {
    OPT_FLAG, /* --headless, --headless=false */
    OPT_TEXT, /* --data FILE */
    OPT_INT, /* --port N, between min and max */
    OPT_CHOICE, /* --log-level LEVEL, one of `choices` */
    OPT_LIST, /* --namespace NAME, may be repeated */
    OPT_WORD, /* TEXT that may also stand without its name: env get KEY */
};

struct opt {
    const char *name; /* without dashes; "ui-*" is every other flag that begins with ui-, a LIST of them */
    char letter; /* -p, or 0 */
    enum opt_type type;
    const char *arg; /* how help calls the value */
    const char *standard; /* the default, or NULL */
    const char *env; /* environment variable, or NULL; of "ONE|OTHER" the first that is set counts */
    const char *choices; /* CHOICE: "debug|info|warn" */
    int64_t min, max; /* INT */
    const char *help; /* sentences; help wraps them */
    const char *alias; /* other names for it, "ONE|OTHER", or NULL */
};

struct opt_example {
    const char *line;
    const char *what;
};

/* Options that several commands share. */
struct opt_set {
    const char *title; /* over them in help */
    const struct opt *opts;
    size_t count;
};

struct opt_command {
    const char *path; /* "server start-dev"; "" is the program without a command */
    const char *summary; /* one line, in the list of commands */
    const char *text; /* what it does, for its own help */
    const struct opt *opts;
    size_t opt_count;
    const struct opt_example *examples;
    size_t example_count;
    const struct opt_set *sets;
    size_t set_count;
};

struct opt_program {
    const char *name;
    const struct opt_command *commands; /* [0] is the one with the empty path */
    size_t command_count;
    const struct opt *globals; /* options that every command takes; index 0 is --help */
    size_t global_count;
    const char *exit_codes, *files; /* sections of the manual page */
};

struct opt_given {
    const struct opt *opt;
    const char *text;
};

#define OPT_GIVEN_MAX 512 /* options on one command line; more is a mistake */

/* What was asked for. The texts belong to argv, the environment and the tables. */
struct opt_args {
    const struct opt_program *program;
    const struct opt_command *command;
    const char *(*env)(const char *name);
    bool (*is_env_ignored)(
        const struct opt *o); /* the environment does not count for these; NULL: for all it does */
    /* What is neither on the line nor in the environment may be in a file; NULL: there is none. */
    const char *(*file)(void *ctx, const struct opt *o);
    void *file_ctx;
    size_t given_count;
    struct opt_given given[OPT_GIVEN_MAX];
};

/* 0, or ERR_INVALID with one line for the user in `problem`: what is wrong and what to do next.
 * With --help among the options the rest is not checked. env may be NULL. */
int opt_parse(const struct opt_program *p, int argc, char *const *argv, const char *(*env)(const char *name),
              struct opt_args *ret, struct buf *problem) must_check;

/* The same of a line that is not complete: what can be read of it, without complaints. argv begins with the
 * first word after the program's name. */
void opt_parse_partial(const struct opt_program *p, int argc, char *const *argv,
                       const char *(*env)(const char *name), struct opt_args *ret);

/* Values by the option's row in its command's table. */
bool opt_is_given(const struct opt_args *a, size_t row); /* on the command line or in the environment */
bool opt_flag(const struct opt_args *a, size_t row);
int64_t opt_int(const struct opt_args *a, size_t row);
const char *opt_text(const struct opt_args *a, size_t row); /* NULL: not given and no default */
/* The n-th value of a list, NULL past the end. */
const char *opt_list(const struct opt_args *a, size_t row, size_t n);
/* The same by name; NULL, or false, when the command has no such option. */
const char *opt_named(const struct opt_args *a, const char *name);
bool opt_named_flag(const struct opt_args *a, const char *name);
bool opt_named_given(const struct opt_args *a, const char *name);
const char *opt_named_list(const struct opt_args *a, const char *name, size_t n);
/* The same for rows of the program's globals. */
bool opt_global_flag(const struct opt_args *a, size_t row);
const char *opt_global_text(const struct opt_args *a, size_t row);

/* The option that a name or an alias means here: the command's own, one of its sets, or a global; NULL. */
const struct opt *opt_find(const struct opt_args *a, const char *name);
/* Its value; NULL when there is no such option, or it is not given and has no default. */
const char *opt_named(const struct opt_args *a, const char *name);
bool opt_named_flag(const struct opt_args *a, const char *name);
bool opt_named_given(const struct opt_args *a, const char *name);
const char *opt_named_list(const struct opt_args *a, const char *name, size_t n);
/* Whether the text is a value for the option; if not, `problem` says why not. `from` is how it was given. */
bool opt_fits(const struct opt *o, const char *from, const char *text, struct buf *problem) must_check;

/* Walks the options of a command, its own first, then those of its sets, then the globals. NULL past the end.
 */
const struct opt *opt_at(const struct opt_program *p, const struct opt_command *c, size_t i);

/* The complete help of the command that was asked for, as text or as one JSON object. */
void opt_help(const struct opt_args *a, struct buf *out);
void opt_help_json(const struct opt_args *a, struct buf *out);

/* The command that the words begin with; the one without a path if with none. */
const struct opt_command *opt_command_of(const struct opt_program *p, int argc, char *const *argv);
/* Who knows values of options that have no choices. Adds lines of "word<TAB>what it is" for those that begin
 * with `part`; `a` is the rest of the line, as far as it can be read. */
struct opt_source {
    void (*values)(void *ctx, const struct opt_args *a, const struct opt *o, const char *part,
                   struct buf *out);
    void *ctx;
};
/* What could stand next on a command line, for shells: lines of "word<TAB>what it is". The last of argv is
 * what was typed so far of that word, maybe nothing. No lines where a file, or anything, may be meant.
 * env and source may be NULL. */
void opt_complete(const struct opt_program *p, int argc, char *const *argv,
                  const char *(*env)(const char *name), const struct opt_source *source, struct buf *out);
/* The manual page, for man(1). */
void opt_man(const struct opt_program *p, struct buf *out);

/* The candidate closest to `word`, or NULL when none is close enough to be what was meant. */
const char *opt_nearest(const char *word, const char *const *candidates, size_t count);
/* Appends s as a JSON string with its quotes. */
void opt_json_string(struct buf *out, const char *s);
