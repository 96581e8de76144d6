/* Command lines from tables: parsing, help, completion and suggestions all read the same rows.
 *
 * A program is an array of commands; a command has an array of options. Values are read by the index of the
 * option in its table:
 *
 *   struct opt_args args;
 *   if (opt_parse(&program, argc, argv, getenv, &args, &problem) < 0)
 *       ... print buf_str(&problem), exit 2 ...
 *   const char *data = opt_text(&args, SERVER_DATA);
 *
 * A value comes from the command line, else from the environment variable of the option, else from a file,
 * else from the default. Nothing here prints, reads the environment by itself, or allocates; buffers are the
 * caller's. */
#pragma once

#include "base/base.h"
#include "base/buf.h"

enum opt_type {
    OPT_FLAG, /* --headless, --headless=false */
    OPT_TEXT, /* --data FILE */
    OPT_INT, /* --port N, between min and max */
    OPT_CHOICE, /* --log-level LEVEL, one of `choices` */
    OPT_LIST, /* --namespace NAME, may be repeated */
    OPT_WORD, /* TEXT that can also be given without its name: env get KEY */
};

struct opt {
    const char *name; /* without dashes; "ui-*" stands for all other flags that begin with ui-, as a LIST */
    char letter; /* -p, or 0 */
    enum opt_type type;
    const char *arg; /* the name of the value in help */
    const char *standard; /* the default, or NULL */
    const char *env; /* environment variable, or NULL; of "ONE|OTHER" the first set one counts */
    const char *choices; /* CHOICE: "debug|info|warn" */
    int64_t min, max; /* INT */
    const char *help; /* sentences; help wraps them */
    const char *alias; /* other names, "ONE|OTHER", or NULL */
};

struct opt_example {
    const char *line;
    const char *what;
};

/* Options that several commands share. */
struct opt_set {
    const char *title; /* the heading in help */
    const struct opt *opts;
    size_t count;
};

struct opt_command {
    const char *path; /* "server start-dev"; "" is the program without a command */
    const char *summary; /* one line, in the list of commands */
    const char *text; /* the description in its own help */
    const struct opt *opts;
    size_t opt_count;
    const struct opt_example *examples;
    size_t example_count;
    const struct opt_set *sets;
    size_t set_count;
};

struct opt_program {
    const char *name;
    const struct opt_command *commands; /* [0] has the empty path */
    size_t command_count;
    const struct opt *globals; /* options of every command; [0] is --help */
    size_t global_count;
    const char *exit_codes, *files; /* sections of the manual page */
};

struct opt_given {
    const struct opt *opt;
    const char *text;
};

#define OPT_GIVEN_MAX 512 /* options on one command line */

/* A parsed command line. The texts belong to argv, the environment and the tables, and must outlive it. */
struct opt_args {
    const struct opt_program *program;
    const struct opt_command *command;
    const char *(*env)(const char *name);
    bool (*is_env_ignored)(
        const struct opt *o); /* options for which the environment is ignored; NULL: none */
    /* Gives values from a file for options that are neither on the line nor in the environment; may be
     * NULL. */
    const char *(*file)(void *ctx, const struct opt *o);
    void *file_ctx;
    size_t given_count;
    struct opt_given given[OPT_GIVEN_MAX];
};

/* Parses a command line. ERR_INVALID with one line for the user in `problem`: what is wrong, and which help
 * to read. With --help on the line nothing else is checked. env may be NULL. */
int opt_parse(const struct opt_program *p, int argc, char *const *argv, const char *(*env)(const char *name),
              struct opt_args *ret, struct buf *problem) must_check;

/* Parses an incomplete line, as far as it can be read, without errors. argv begins with the first word
 * after the name of the program. */
void opt_parse_partial(const struct opt_program *p, int argc, char *const *argv,
                       const char *(*env)(const char *name), struct opt_args *ret);

/* Values, by the row of the option in its command's table. The row must exist. */
bool opt_is_given(const struct opt_args *a,
                  size_t row); /* on the command line, in the environment, or in a file */
bool opt_flag(const struct opt_args *a, size_t row);
int64_t opt_int(const struct opt_args *a, size_t row);
const char *opt_text(const struct opt_args *a, size_t row); /* NULL: not given and no default */
/* The n-th value of a list, NULL past the end. */
const char *opt_list(const struct opt_args *a, size_t row, size_t n);
/* Values of global options, by their row. */
bool opt_global_flag(const struct opt_args *a, size_t row);
const char *opt_global_text(const struct opt_args *a, size_t row);

/* The option with this name or alias: of the command, of its sets, or a global one. NULL when there is
 * none. */
const struct opt *opt_find(const struct opt_args *a, const char *name);
/* Values by name. NULL, or false, when there is no such option, or it is not given and has no default. */
const char *opt_named(const struct opt_args *a, const char *name);
bool opt_named_flag(const struct opt_args *a, const char *name);
bool opt_named_given(const struct opt_args *a, const char *name);
const char *opt_named_list(const struct opt_args *a, const char *name, size_t n);
/* Whether the text is a valid value of the option; if not, `problem` gets the reason. `from` names the
 * source of the value in that text, such as "--port". */
bool opt_fits(const struct opt *o, const char *from, const char *text, struct buf *problem) must_check;

/* The i-th option of a command: its own first, then those of its sets, then the globals. NULL past the end.
 */
const struct opt *opt_at(const struct opt_program *p, const struct opt_command *c, size_t i);

/* Appends the complete help of the chosen command, as text or as one JSON object. */
void opt_help(const struct opt_args *a, struct buf *out);
void opt_help_json(const struct opt_args *a, struct buf *out);

/* The command that the words begin with; commands[0] when they name none. */
const struct opt_command *opt_command_of(const struct opt_program *p, int argc, char *const *argv);
/* A source of values for options without choices. Adds lines of "word<TAB>description" for values that
 * begin with `part`. `a` is the rest of the line, as far as it can be read. */
struct opt_source {
    void (*values)(void *ctx, const struct opt_args *a, const struct opt *o, const char *part,
                   struct buf *out);
    void *ctx;
};
/* Adds the words that can follow on a command line, for shells: lines of "word<TAB>description". The last
 * word of argv is the typed part of the word, maybe empty. Adds none where any text, such as a file name,
 * can follow. env and source may be NULL. */
void opt_complete(const struct opt_program *p, int argc, char *const *argv,
                  const char *(*env)(const char *name), const struct opt_source *source, struct buf *out);
/* The manual page, for man(1). */
void opt_man(const struct opt_program *p, struct buf *out);

/* The candidate closest to `word`, or NULL when none is close. */
const char *opt_nearest(const char *word, const char *const *candidates, size_t count);
/* Appends s as a JSON string with its quotes. */
void opt_json_string(struct buf *out, const char *s);
