/* Parsing command lines by table.
 *
 * Happy path: the leading words choose the command, the longest path that matches; flags that many commands
 * have may stand before it. Then each option is found by its name or letter, its value is checked by its type
 * and appended to the list of given options.
 *
 * A wrong word ends the parse with one line for the user: the word, the closest known one, and the command
 * that shows the help. */
#include "base/err.h"
#include "cli/opt_int.h"

#define PARTIAL_BYTES_MAX (64u << 10)

struct parser {
    const struct opt_program *program;
    int argc;
    char *const *argv;
    int at;
    struct opt_args *args;
    struct buf *problem;
};

static void parse_end_problem(struct parser *p) {
    const char *path = p->args->command->path;
    buf_printf(p->problem, "; see %s%s%s --help", p->program->name, *path ? " " : "", path);
}

static int parse_refuse_option(struct parser *p, const char *dashes, const char *name) {
    const char *names[128];
    size_t n = 0;
    const struct opt_command *c = p->args->command;
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p->program, c, i)) && n < ARRAY_LEN(names); i++)
        names[n++] = o->name;
    const char *near = opt_nearest(name, names, n);
    buf_printf(p->problem, "unknown flag %s%s", dashes, name);
    if (near)
        buf_printf(p->problem, " (did you mean --%s?)", near);
    parse_end_problem(p);
    return ERR_INVALID;
}

static int parse_refuse_word(struct parser *p, const char *word) {
    const char *names[64] = {0};
    size_t n = 0;
    const char *path = p->args->command->path;
    size_t skip = strlen(path) ? strlen(path) + 1 : 0;
    for (size_t i = 1; i < p->program->command_count && n < ARRAY_LEN(names); i++) {
        const char *other = p->program->commands[i].path;
        if (strlen(other) > skip && strncmp(other, path, strlen(path)) == 0 && !strchr(other + skip, ' '))
            names[n++] = other + skip;
    }
    const char *near = opt_nearest(word, names, n);
    buf_printf(p->problem, n ? "unknown command \"%s\"" : "unexpected argument \"%s\"", word);
    if (near)
        buf_printf(p->problem, " (did you mean %s?)", near);
    parse_end_problem(p);
    return ERR_INVALID;
}

static int parse_add_given(struct parser *p, const struct opt *o, const char *text) {
    char from[OPT_WORD_MAX + 3] = "--";
    struct opt_args *a = p->args;
    if (a->given_count == OPT_GIVEN_MAX) {
        buf_printf(p->problem, "more than %d options on the command line", OPT_GIVEN_MAX);
        parse_end_problem(p);
        return ERR_INVALID;
    }
    strncat(from, o->name, OPT_WORD_MAX);
    if (!opt_fits(o, from, text, p->problem)) {
        parse_end_problem(p);
        return ERR_INVALID;
    }
    a->given[a->given_count++] = (struct opt_given){o, text};
    return 0;
}

/* An option named "ui-*" stands for every flag that begins with ui- and has no row of its own. */
static const struct opt *parse_find_wildcard(const struct parser *p, struct str name) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p->program, p->args->command, i)); i++) {
        struct str kind = str_of(o->name);
        if (kind.n && kind.p[kind.n - 1] == '*' && str_starts(name, str_bytes(kind.p, kind.n - 1)))
            return o;
    }
    return NULL;
}

/* It is not known whether such a flag takes a value. A following word that is no flag counts as its value. */
static int parse_take_wildcard(struct parser *p, const struct opt *o, const char *word) {
    if (!strchr(word, '=') && p->at < p->argc && p->argv[p->at][0] != '-')
        p->at++;
    return parse_add_given(p, o, word);
}

/* Takes the value of an option: the text after "=" or after the letter, or the next word. */
static int parse_take_value(struct parser *p, const struct opt *o, const char *attached) {
    if (attached)
        return parse_add_given(p, o, attached);
    if (o->type == OPT_FLAG)
        return parse_add_given(p, o, "true");
    if (p->at >= p->argc) {
        buf_printf(p->problem, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
        parse_end_problem(p);
        return ERR_INVALID;
    }
    return parse_add_given(p, o, p->argv[p->at++]);
}

static int parse_long_flag(struct parser *p, const char *word) {
    size_t n = strcspn(word, "=");
    const struct opt *o = opt_find_by(p->args, str_bytes(word, n), 0);
    const struct opt *kind = o ? NULL : parse_find_wildcard(p, str_bytes(word, n));
    if (kind)
        return parse_take_wildcard(p, kind, word);
    if (!o) {
        char name[OPT_WORD_MAX] = "";
        strncat(name, word, MIN(n, sizeof(name) - 1));
        return parse_refuse_option(p, "--", name);
    }
    return parse_take_value(p, o, word[n] ? word + n + 1 : NULL);
}

/* Parses -p 7233, -p7233, -p=7233 and -hv. */
static int parse_short_flags(struct parser *p, const char *word) {
    for (; *word; word++) {
        const struct opt *o = opt_find_by(p->args, (struct str){NULL, 0}, *word);
        if (!o)
            return parse_refuse_option(p, "-", (const char[]){*word, 0});
        if (o->type == OPT_FLAG && word[1] != '=') {
            int rc = parse_add_given(p, o, "true");
            if (rc < 0)
                return rc;
            continue;
        }
        const char *rest = word[1] == '=' ? word + 2 : word + 1;
        return parse_take_value(p, o, *rest ? rest : NULL);
    }
    return 0;
}

/* The number of words of argv that the path covers; 0 if it does not match. */
static int parse_path_words(const char *path, int argc, char *const *argv) {
    int words = 0;
    while (*path) {
        size_t n = strcspn(path, " ");
        if (words >= argc || strlen(argv[words]) != n || strncmp(argv[words], path, n) != 0)
            return 0;
        words++;
        path += n + (path[n] == ' ');
    }
    return words;
}

/* The command with the longest path that the words begin with. */
static const struct opt_command *parse_choose_command(const struct opt_program *p, int argc,
                                                      char *const *argv, int *ret_words) {
    const struct opt_command *best = &p->commands[0];
    *ret_words = 0;
    for (size_t i = 1; i < p->command_count; i++) {
        int words = parse_path_words(p->commands[i].path, argc, argv);
        if (words > *ret_words) {
            *ret_words = words;
            best = &p->commands[i];
        }
    }
    return best;
}

/* An option that may stand before the command: a global one, or one of a set that commands share. */
static const struct opt *parse_find_early(const struct opt_program *p, struct str name, char letter) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p, &p->commands[0], i)); i++)
        if (opt_is_called(o, name, letter))
            return o;
    for (size_t c = 1; c < p->command_count; c++)
        for (size_t k = 0; k < p->commands[c].set_count; k++)
            for (size_t i = 0; i < p->commands[c].sets[k].count; i++)
                if (opt_is_called(&p->commands[c].sets[k].opts[i], name, letter))
                    return &p->commands[c].sets[k].opts[i];
    return NULL;
}

/* The number of words before the command: flags and their values. Stops at a flag that may not stand there.
 */
static int parse_early_words(const struct opt_program *p, int argc, char *const *argv) {
    int at = 0;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        const char *word = argv[at];
        bool is_long = word[1] == '-';
        size_t n = is_long ? strcspn(word + 2, "=") : 1;
        const struct opt *o =
            parse_find_early(p, str_bytes(word + (is_long ? 2 : 1), n), is_long ? 0 : word[1]);
        if (!o)
            break;
        bool has_value = is_long ? word[2 + n] != 0 : word[2] != 0;
        at += o->type == OPT_FLAG || has_value ? 1 : 2;
    }
    return argc > 0 ? MIN(at, argc) : 0;
}

const struct opt_command *opt_command_of(const struct opt_program *p, int argc, char *const *argv) {
    int words, early = parse_early_words(p, argc, argv);
    return parse_choose_command(p, argc - early, argv + early, &words);
}

static bool parse_asks_for_help(int argc, char *const *argv) {
    for (int i = 1; i < argc && !cstr_eq(argv[i], "--"); i++)
        if (cstr_eq(argv[i], "--help") || cstr_eq(argv[i], "-h"))
            return true;
    return false;
}

static int parse_check_env(struct parser *p) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p->program, p->args->command, i)); i++) {
        const char *text = opt_env_text(p->args, o);
        if (text && !opt_fits(o, o->env, text, p->problem)) {
            parse_end_problem(p);
            return ERR_INVALID;
        }
    }
    return 0;
}

static bool parse_has_subcommands(const struct parser *p) {
    const char *path = p->args->command->path;
    size_t n = strlen(path);
    for (size_t i = 1; i < p->program->command_count; i++) {
        const char *other = p->program->commands[i].path;
        if (n == 0 || (strncmp(other, path, n) == 0 && other[n] == ' '))
            return true;
    }
    return false;
}

/* With --help only the command and the output format count. Mistakes elsewhere must not hide the help. */
static int parse_for_help(struct parser *p) {
    const char *first = p->at < p->argc ? p->argv[p->at] : "-";
    if (*first != '-' && parse_has_subcommands(p))
        return parse_refuse_word(p, first);
    for (int at = 1; at < p->argc; at++) {
        const char *word = p->argv[at];
        const char *next = at + 1 < p->argc ? p->argv[at + 1] : "";
        if (((cstr_eq(word, "-o") || cstr_eq(word, "--output")) && cstr_eq(next, "json")) ||
            cstr_eq(word, "--output=json") || cstr_eq(word, "-ojson") || cstr_eq(word, "-o=json")) {
            const struct opt *output = opt_find_by(p->args, STR("output"), 0);
            if (output)
                p->args->given[p->args->given_count++] = (struct opt_given){output, "json"};
            break;
        }
    }
    p->args->given[p->args->given_count++] = (struct opt_given){&p->program->globals[0], "true"};
    return 0;
}

static bool parse_is_on_line(const struct opt_args *a, const struct opt *o) {
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].opt == o)
            return true;
    return false;
}

/* A word without a flag is the value of the first WORD option that has none. */
static int parse_bare_word(struct parser *p, const char *word) {
    const struct opt_command *c = p->args->command;
    for (size_t i = 0; i < c->opt_count; i++)
        if (c->opts[i].type == OPT_WORD && !parse_is_on_line(p->args, &c->opts[i]))
            return parse_add_given(p, &c->opts[i], word);
    return parse_refuse_word(p, word);
}

static int parse_next_word(struct parser *p) {
    const char *word = p->argv[p->at++];
    if (cstr_eq(word, "--"))
        return p->at < p->argc ? parse_bare_word(p, p->argv[p->at++]) : 0;
    if (word[0] == '-' && word[1] == '-')
        return parse_long_flag(p, word + 2);
    return word[0] == '-' && word[1] ? parse_short_flags(p, word + 1) : parse_bare_word(p, word);
}

int opt_parse(const struct opt_program *program, int argc, char *const *argv,
              const char *(*env)(const char *name), struct opt_args *ret, struct buf *problem) {
    struct parser p = {program, argc, argv, 1, ret, problem};
    *ret = (struct opt_args){.program = program, .env = env};
    int words, begin = 1 + parse_early_words(program, argc - 1, argv + 1);
    ret->command = parse_choose_command(program, argc - begin, argv + begin, &words);
    p.at = begin + words;
    if (parse_asks_for_help(argc, argv))
        return parse_for_help(&p);
    if (!words && begin < argc && argv[begin][0] != '-')
        return parse_refuse_word(&p, argv[begin]);
    int rc = 0;
    for (p.at = 1; rc == 0 && p.at < begin;)
        rc = parse_next_word(&p);
    for (p.at = MAX(p.at, begin + words); rc == 0 && p.at < argc;)
        rc = parse_next_word(&p);
    return rc < 0 ? rc : parse_check_env(&p);
}

void opt_parse_partial(const struct opt_program *program, int argc, char *const *argv,
                       const char *(*env)(const char *name), struct opt_args *ret) {
    struct buf ignored;
    struct parser p = {program, argc, argv, 0, ret, &ignored};
    *ret = (struct opt_args){.program = program, .env = env};
    int words, begin = parse_early_words(program, argc, argv);
    buf_init(&ignored, PARTIAL_BYTES_MAX);
    ret->command = parse_choose_command(program, argc - begin, argv + begin, &words);
    while (p.at < begin)
        (void)parse_next_word(&p); /* a later opt_parse reports errors */
    for (p.at = MAX(p.at, begin + words); p.at < argc;)
        (void)parse_next_word(&p);
    buf_done(&ignored);
}
