/* The commands of the program, and the way from argv to one of them.
 *
 * Happy path: parse by the tables, then print help or the version, run a server, or run a command of
 * commands.def. A wrong command line is one line on stderr and exit code 2. Results go to stdout. */
#include "main/program.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/pager.h"
#include "cli/shell.h"
#include "command/command.h"
#include "main/startup.h"

#define HELP_BYTES_MAX (256u << 10)
#define MAN_BYTES_MAX (4u << 20)
#define HELP_WORDS_MAX 16
#define WORDS_BYTES_MAX (1u << 20)
#define HOST_BYTES_MAX 256
#define IDENTITY_BYTES_MAX 512

static const struct opt globals[] = {
    [GLOBAL_HELP] = {.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Show this help."},
    [GLOBAL_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .type = OPT_CHOICE,
                       .arg = "FORMAT",
                       .standard = "text",
                       .choices = "text|table|json|jsonl|none",
                       .help = "The format of the output."},
    [GLOBAL_COLOR] = {.name = "color",
                      .type = OPT_CHOICE,
                      .arg = "WHEN",
                      .standard = "auto",
                      .choices = "auto|always|never",
                      .help = "When tables have colours. auto: on a terminal, unless NO_COLOR is set."},
    [GLOBAL_NO_PAGER] = {.name = "no-pager",
                         .type = OPT_FLAG,
                         .env = "RONDO_NO_PAGER",
                         .help = "Do not show long lists and help through $PAGER on a terminal."},
};

static const struct opt root_flags[] = {
    [ROOT_VERSION] = {.name = "version", .letter = 'v', .type = OPT_FLAG, .help = "Show the version."},
};

static const struct opt server_settings[] = {
#define SETTING(id, name_, letter_, type_, arg_, standard_, env_, choices_, min_, max_, help_, ...)          \
    [SETTING_##id] = {name_, letter_, OPT_##type_, arg_, standard_, env_, choices_, min_, max_, help_},
#include "main/settings.def"
#undef SETTING
};

static const struct opt dev_flags[] = {
#define DEV_FLAG(id, effect_, name_, letter_, type_, arg_, standard_, choices_, min_, max_, help_)           \
    [DEV_##id] = {name_, letter_, OPT_##type_, arg_, standard_, NULL, choices_, min_, max_, help_},
#include "main/dev_flags.def"
#undef DEV_FLAG
};

static const struct opt_example root_examples[] = {
    {"rondo server start-dev", "A server for development: data in memory, gRPC on 7233, HTTP on 8233"},
    {"rondo server --data /var/lib/rondo/rondo.db", "A server that keeps its data"},
    {"rondo --version -o json", "The version, for a program"},
};
static const struct opt_example server_examples[] = {
    {"rondo server", "Keep everything in ./rondo.db"},
    {"rondo server --data /var/lib/rondo/rondo.db --log-format json",
     "As a service, with logs for a collector"},
    {"rondo server --grpc 0.0.0.0:7233 --allow-plaintext-remote", "Reachable from a private network"},
    {"RONDO_DATA=:memory: rondo server --http off", "Nothing kept, gRPC only; set by the program_read_env"},
};
static const struct opt_example dev_examples[] = {
    {"rondo server start-dev", "Data in memory, gRPC on 7233, HTTP on 8233"},
    {"rondo server start-dev --db-filename dev.db --namespace orders", "Keep the data, and make a namespace"},
    {"rondo server start-dev --port 0 --headless -o json", "For a test: any free port, named on stdout"},
};

static const struct opt_example bash_examples[] = {
    {"source <(rondo completion bash)", "For this shell; in ~/.bashrc for every one"}};
static const struct opt_example zsh_examples[] = {
    {"source <(rondo completion zsh)", "For this shell; in ~/.zshrc, after compinit, for every one"}};
static const struct opt_example fish_examples[] = {
    {"rondo completion fish | source", "For this shell; in ~/.config/fish/config.fish for every one"}};
static const struct opt_example man_examples[] = {{"rondo man > rondo.1", "A page for man -l rondo.1"}};

enum {
    COMMAND_ROOT,
    COMMAND_SERVER,
    COMMAND_START_DEV,
    COMMAND_VERSION,
    COMMAND_HELP,
    COMMAND_COMPLETION,
    COMMAND_BASH,
    COMMAND_ZSH,
    COMMAND_FISH,
    COMMAND_MAN,
    COMMAND_TABLE,
};

#define ROWS(a) (a), ARRAY_LEN(a)
static const struct opt_command commands[] = {
    [COMMAND_ROOT] = {"", "", "Rondo: durable workflows in one small server, for Temporal's SDKs.",
                      ROWS(root_flags), ROWS(root_examples)},
    [COMMAND_SERVER] = {"server", "Run the server",
                        "Runs the server until it gets SIGTERM or SIGINT. It then ends waiting calls, "
                        "finishes the other calls, for 10 seconds at most, and exits with 0; a second signal "
                        "ends it at once. Everything that was acknowledged is on disk. SIGHUP rereads the "
                        "file of --settings, SIGUSR1 logs what the server is doing. Exit codes: 0 stopped by "
                        "a signal, 1 it could not start or the store failed, 2 a setting is wrong.",
                        ROWS(server_settings), ROWS(server_examples)},
    [COMMAND_START_DEV] =
        {"server start-dev", "Run a server for development",
         "Runs a server for development and tests, with the flags of Temporal's CLI dev server.",
         ROWS(dev_flags), ROWS(dev_examples)},
    [COMMAND_VERSION] = {"version", "Show the version", "Shows the version.", NULL, 0, NULL, 0},
    [COMMAND_HELP] = {"help", "Show the help of a command", "Shows the help of a command: rondo help server",
                      NULL, 0, NULL, 0},
    [COMMAND_COMPLETION] = {.path = "completion",
                            .summary = "Complete commands and flags in a shell",
                            .text = "Prints a script that makes a shell complete commands and flags."},
    [COMMAND_BASH] = {"completion bash", "Complete in bash", "Prints the script for bash.", NULL, 0,
                      ROWS(bash_examples)},
    [COMMAND_ZSH] = {"completion zsh", "Complete in zsh", "Prints the script for zsh.", NULL, 0,
                     ROWS(zsh_examples)},
    [COMMAND_FISH] = {"completion fish", "Complete in fish", "Prints the script for fish.", NULL, 0,
                      ROWS(fish_examples)},
    [COMMAND_MAN] = {"man", "Print the manual page", "Prints the manual page of all commands, for man(1).",
                     NULL, 0, ROWS(man_examples)},
#define GROUP(id, path_, summary_)                                                                           \
    [COMMAND_TABLE + COMMAND_##id] = {.path = path_, .summary = summary_, .text = summary_ "."},
#define COMMAND(id, path_, call, items, columns, summary_, text_, example, what)                             \
    [COMMAND_TABLE + COMMAND_##id] = {path_,                                                                 \
                                      summary_,                                                              \
                                      text_,                                                                 \
                                      &command_opts[FLAGS_OF_##id],                                          \
                                      FLAGS_END_##id - FLAGS_OF_##id,                                        \
                                      &command_examples[COMMAND_##id],                                       \
                                      1,                                                                     \
                                      command_sets,                                                          \
                                      SET_COUNT},
#define LOCAL(id, path_, items, columns, summary_, text_, example, what)                                     \
    [COMMAND_TABLE + COMMAND_##id] = {path_,                                                                 \
                                      summary_,                                                              \
                                      text_,                                                                 \
                                      &command_opts[FLAGS_OF_##id],                                          \
                                      FLAGS_END_##id - FLAGS_OF_##id,                                        \
                                      &command_examples[COMMAND_##id],                                       \
                                      1,                                                                     \
                                      command_sets,                                                          \
                                      SET_CLIENT},
#define FLAG(...)
#define END(...)
#include "command/commands.def"
#undef GROUP
#undef COMMAND
#undef LOCAL
#undef FLAG
#undef END
};

static const char exit_codes[] =
    "0: done.\n1: the server refused, did not respond in time, or the awaited workflow failed.\n2: the "
    "command line, or a file of flags, is wrong; nothing was sent.\n3: no server could be reached; nothing "
    "was done.\n4: nothing was started, because of the overlap policy or the state of the schedule (schedule "
    "trigger).";
static const char files[] = "~/.config/temporalio/temporal.toml: profiles (rondo config).\n"
                            "~/.config/temporalio/temporal.yaml: environments (rondo env).";

static const struct opt_program program = {"rondo", ROWS(commands), ROWS(globals), exit_codes, files};

enum output program_output_of(const struct opt_args *a) {
    const char *text = opt_global_text(a, GLOBAL_OUTPUT);
    if (cstr_eq(text, "none"))
        return OUTPUT_NONE;
    return cstr_eq(text, "text") || cstr_eq(text, "table") ? OUTPUT_TEXT : OUTPUT_JSON;
}

static int program_print_buf(struct buf *out) {
    bool ok = buf_ok(out) && (!out->len || fwrite(out->data, 1, out->len, stdout) == out->len) &&
              fflush(stdout) == 0;
    buf_done(out);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int program_print_help(const struct opt_args *a) {
    struct pager pager = {0};
    struct buf out;
    buf_init(&out, HELP_BYTES_MAX);
    if (program_output_of(a) == OUTPUT_JSON)
        opt_help_json(a, &out);
    else
        opt_help(a, &out);
    if (program_output_of(a) == OUTPUT_TEXT && !opt_global_flag(a, GLOBAL_NO_PAGER))
        pager_open(&pager, a->env);
    int code = program_print_buf(&out);
    bool is_paged = pager.pid != 0;
    pager_close(&pager);
    return is_paged ? EXIT_DONE : code; /* the user may have closed the pager before the end */
}

static int program_print_man(void) {
    struct buf out;
    buf_init(&out, MAN_BYTES_MAX);
    opt_man(&program, &out);
    return program_print_buf(&out);
}

static int program_print_script(const char *shell) {
    return fputs(shell_script(shell), stdout) >= 0 && fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int program_print_version(const struct opt_args *a) {
    int n = 1;
    switch (program_output_of(a)) {
    case OUTPUT_TEXT:
        n = printf("rondo %s\n", RONDO_VERSION);
        break;
    case OUTPUT_JSON:
        n = printf("{\"name\":\"rondo\",\"version\":\"%s\"}\n", RONDO_VERSION);
        break;
    case OUTPUT_NONE:
        break;
    }
    return n > 0 && fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED;
}

static enum command_format program_format_of(const struct opt_args *a) {
    if (program_output_of(a) == OUTPUT_NONE)
        return FORMAT_NONE;
    if (program_output_of(a) == OUTPUT_TEXT)
        return FORMAT_TABLE;
    return cstr_eq(opt_global_text(a, GLOBAL_OUTPUT), "jsonl") ? FORMAT_JSONL : FORMAT_JSON;
}

/* --color always and never decide; auto means a terminal that shows colours, and NO_COLOR is not set. */
static bool program_has_color(const struct opt_args *a) {
    const char *when = opt_global_text(a, GLOBAL_COLOR);
    if (!cstr_eq(when, "auto"))
        return cstr_eq(when, "always");
    return isatty(STDOUT_FILENO) && cstr_is_empty(a->env("NO_COLOR")) && !cstr_eq(a->env("TERM"), "dumb");
}

static struct command_style program_style_of(const struct opt_args *a) {
    return (struct command_style){.format = program_format_of(a),
                                  .has_color = program_has_color(a),
                                  .has_pager = !opt_global_flag(a, GLOBAL_NO_PAGER),
                                  .environment = environ};
}

/* Writes user@host, the identity that histories show. */
static void program_write_identity(const struct opt_args *a, char text[IDENTITY_BYTES_MAX]) {
    char host[HOST_BYTES_MAX] = "";
    const struct passwd *entry = getpwuid(geteuid());
    const char *user = entry ? entry->pw_name : a->env("USER");
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    (void)snprintf(text, IDENTITY_BYTES_MAX, "%s@%s", cstr_is_empty(user) ? "unknown" : user,
                   *host ? host : "unknown"); /* cut when longer */
}

static int program_run_command(struct opt_args *a) {
    struct command_style style = program_style_of(a);
    char identity[IDENTITY_BYTES_MAX];
    program_write_identity(a, identity);
    style.identity = identity;
    return (int)command_run((enum command_id)(a->command - &commands[COMMAND_TABLE]), a, &style);
}

static int program_run_args(struct opt_args *a) {
    if (opt_global_flag(a, GLOBAL_HELP))
        return program_print_help(a);
    /* A group has no flags and runs nothing; it prints its help below. */
    if (a->command >= &commands[COMMAND_TABLE] && a->command->set_count)
        return program_run_command(a);
    switch (a->command - commands) {
    case COMMAND_SERVER:
        return server_cmd_run(a);
    case COMMAND_START_DEV:
        return dev_cmd_run(a);
    case COMMAND_VERSION:
        return program_print_version(a);
    case COMMAND_BASH:
        return program_print_script("bash");
    case COMMAND_ZSH:
        return program_print_script("zsh");
    case COMMAND_FISH:
        return program_print_script("fish");
    case COMMAND_MAN:
        return program_print_man();
    default:
        return a->command == &commands[COMMAND_ROOT] && opt_flag(a, ROOT_VERSION) ? program_print_version(a)
                                                                                  : program_print_help(a);
    }
}

static const char *program_read_env(const char *name) {
    return getenv(name);
}

/* Completes values that only the command, or its server, knows. */
static void program_complete_values(unused_arg void *ctx, const struct opt_args *a, const struct opt *o,
                                    const char *part, struct buf *out) {
    struct command_style style = {.format = FORMAT_NONE, .environment = environ, .identity = "completion"};
    struct opt_args *line = mem_alloc(sizeof(*line));
    if (line && a->command >= &commands[COMMAND_TABLE] && a->command->set_count) {
        *line = *a;
        command_complete((enum command_id)(a->command - &commands[COMMAND_TABLE]), line, &style, o, part,
                         out);
    }
    mem_free(line);
}

/* Answers a completion script. Errors are not shown: the shell gets words, or none. */
static int program_print_completions(int argc, char *const *argv) {
    static const struct opt_source source = {program_complete_values, NULL};
    struct buf out;
    if (!freopen("/dev/null", "w", stderr))
        return EXIT_FAILED;
    buf_init(&out, WORDS_BYTES_MAX);
    opt_complete(&program, argc, argv, program_read_env, &source, &out);
    return program_print_buf(&out);
}

/* "rondo help server" is "rondo server --help". */
static int program_help_words(int argc, char *const *argv, char *help, char *words[HELP_WORDS_MAX]) {
    int n = 0;
    words[n++] = argv[0];
    for (int i = 2; i < argc && n < HELP_WORDS_MAX - 1; i++)
        words[n++] = argv[i];
    words[n++] = help;
    return n;
}

int program_main(int argc, char *const *argv) {
    char help[] = "--help";
    if (argc > 1 && cstr_eq(argv[1], SHELL_COMPLETE))
        return program_print_completions(argc - 2, argv + 2);
    char *words[HELP_WORDS_MAX];
    if (argc > 1 && cstr_eq(argv[1], "help")) {
        argc = program_help_words(argc, argv, help, words);
        argv = words;
    }
    struct opt_args *a = mem_alloc(sizeof(*a));
    if (!a) {
        startup_print_error("out of memory");
        return EXIT_FAILED;
    }
    struct buf problem;
    buf_init(&problem, HELP_BYTES_MAX);
    int code = EXIT_USAGE;
    if (opt_parse(&program, argc, argv, program_read_env, a, &problem) == 0)
        code = program_run_args(a);
    else
        startup_print_error("%.*s", (int)problem.len, (const char *)problem.data);
    buf_done(&problem);
    mem_free(a);
    return code;
}
