/* Parsing command lines by table.
 *
 * Happy path: the leading words choose the command (the longest path that
 * matches; flags that many commands have may stand before it), then each option is found by name or letter,
 * its value checked by its type and remembered in order. A value is looked up later, from the last to the
 * first time it was given, then in the environment, then in the table.
 *
 * What the user typed wrong ends the parse with one line that names the word,
 * the closest known one and the help command. */
#include "cli/opt.h"

#include "base/err.h"
#include "base/near.h"

#define WORD_MAX 64
#define GLEAN_BYTES_MAX (64u << 10)
#define NEAR_ENOUGH 3 /* edits between what was typed and what was probably meant */

struct parser {
    const struct opt_program *program;
    int argc;
    char *const *argv;
    int at;
    struct opt_args *args;
    struct buf *problem;
};

/* Suggestions. */

const char *opt_nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    size_t best_distance = NEAR_ENOUGH + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = near_distance(str_of(word), str_of(candidates[i]), false);
        /* A word that shares fewer than half of its letters was not a slip of the finger. */
        if (d < best_distance && 2 * d <= strlen(candidates[i])) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

static void opt_end_problem(struct parser *p) {
    const char *path = p->args->command->path;
    buf_printf(p->problem, "; see %s%s%s --help", p->program->name, *path ? " " : "", path);
}

static int opt_refuse_option(struct parser *p, const char *dashes, const char *name) {
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
    opt_end_problem(p);
    return ERR_INVALID;
}

static int opt_refuse_word(struct parser *p, const char *word) {
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
    opt_end_problem(p);
    return ERR_INVALID;
}

/* Values. */

/* Whether one of "ONE|OTHER" is the word. */
static bool opt_is_among(struct str word, const char *words) {
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (str_eq(word, str_bytes(at, strcspn(at, "|"))))
            return true;
    return false;
}

static bool opt_parse_flag(const char *text, bool *ret) {
    if (streq(text, "true") || streq(text, "1"))
        *ret = true;
    else if (streq(text, "false") || streq(text, "0"))
        *ret = false;
    else
        return false;
    return true;
}

/* Appends why the value does not fit and returns false. `from` is how the user gave it. */
bool opt_fits(const struct opt *o, const char *from, const char *text, struct buf *problem) {
    bool flag;
    int64_t number;
    switch (o->type) {
    case OPT_FLAG:
        if (opt_parse_flag(text, &flag))
            return true;
        buf_printf(problem, "%s is on or off: \"%s\" is neither true nor false", from, text);
        return false;
    case OPT_INT:
        if (str_to_i64(str_of(text), &number) == 0 && number >= o->min && number <= o->max)
            return true;
        buf_printf(problem, "%s needs a number from %lld to %lld, not \"%s\"", from, (long long)o->min,
                   (long long)o->max, text);
        return false;
    case OPT_CHOICE:
        if (opt_is_among(str_of(text), o->choices))
            return true;
        buf_printf(problem, "%s takes %s, not \"%s\"", from, o->choices, text);
        return false;
    case OPT_TEXT:
    case OPT_LIST:
    case OPT_WORD:
        if (*text)
            return true;
        buf_printf(problem, "%s needs a value that is not empty", from);
        return false;
    }
    return false;
}

static int opt_add_given(struct parser *p, const struct opt *o, const char *text) {
    char from[WORD_MAX + 3] = "--";
    struct opt_args *a = p->args;
    if (a->given_count == OPT_GIVEN_MAX) {
        buf_printf(p->problem, "more than %d options", OPT_GIVEN_MAX);
        opt_end_problem(p);
        return ERR_INVALID;
    }
    strncat(from, o->name, WORD_MAX);
    if (!opt_fits(o, from, text, p->problem)) {
        opt_end_problem(p);
        return ERR_INVALID;
    }
    a->given[a->given_count++] = (struct opt_given){o, text};
    return 0;
}

/* Options. */

const struct opt *opt_at(const struct opt_program *p, const struct opt_command *c, size_t i) {
    if (i < c->opt_count)
        return &c->opts[i];
    i -= c->opt_count;
    for (size_t k = 0; k < c->set_count; k++) {
        if (i < c->sets[k].count)
            return &c->sets[k].opts[i];
        i -= c->sets[k].count;
    }
    return i < p->global_count ? &p->globals[i] : NULL;
}

static bool opt_is_called(const struct opt *o, struct str name, char letter) {
    return letter ? o->letter == letter : str_is(name, o->name) || opt_is_among(name, o->alias);
}

/* Of two with the same name or letter the command's own counts. */
static const struct opt *opt_find_by(const struct opt_args *a, struct str name, char letter) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(a->program, a->command, i)); i++)
        if (opt_is_called(o, name, letter))
            return o;
    return NULL;
}

static const struct opt *opt_find_option(struct parser *p, struct str name, char letter) {
    return opt_find_by(p->args, name, letter);
}

/* An option called "ui-*" is every flag that begins so and is no other. */
static const struct opt *opt_find_wildcard(const struct parser *p, struct str name) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p->program, p->args->command, i)); i++) {
        struct str kind = str_of(o->name);
        if (kind.n && kind.p[kind.n - 1] == '*' && str_starts(name, str_bytes(kind.p, kind.n - 1)))
            return o;
    }
    return NULL;
}

/* Whether it takes a value is not known: a word behind it that is no flag is one. */
static int opt_take_wildcard(struct parser *p, const struct opt *o, const char *word) {
    if (!strchr(word, '=') && p->at < p->argc && p->argv[p->at][0] != '-')
        p->at++;
    return opt_add_given(p, o, word);
}

/* The option's value: what stood after '=' (or directly after the letter), or the next word. */
static int opt_take_value(struct parser *p, const struct opt *o, const char *attached) {
    if (attached)
        return opt_add_given(p, o, attached);
    if (o->type == OPT_FLAG)
        return opt_add_given(p, o, "true");
    if (p->at >= p->argc) {
        buf_printf(p->problem, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
        opt_end_problem(p);
        return ERR_INVALID;
    }
    return opt_add_given(p, o, p->argv[p->at++]);
}

static int opt_parse_long(struct parser *p, const char *word) {
    size_t n = strcspn(word, "=");
    const struct opt *o = opt_find_option(p, str_bytes(word, n), 0);
    const struct opt *kind = o ? NULL : opt_find_wildcard(p, str_bytes(word, n));
    if (kind)
        return opt_take_wildcard(p, kind, word);
    if (!o) {
        char name[WORD_MAX] = "";
        strncat(name, word, MIN(n, sizeof(name) - 1));
        return opt_refuse_option(p, "--", name);
    }
    return opt_take_value(p, o, word[n] ? word + n + 1 : NULL);
}

/* -p 7233, -p7233, -p=7233, -hv */
static int opt_parse_short(struct parser *p, const char *word) {
    for (; *word; word++) {
        const struct opt *o = opt_find_option(p, (struct str){NULL, 0}, *word);
        if (!o)
            return opt_refuse_option(p, "-", (const char[]){*word, 0});
        if (o->type == OPT_FLAG && word[1] != '=') {
            int rc = opt_add_given(p, o, "true");
            if (rc < 0)
                return rc;
            continue;
        }
        const char *rest = word[1] == '=' ? word + 2 : word + 1;
        return opt_take_value(p, o, *rest ? rest : NULL);
    }
    return 0;
}

/* A variable that is set to nothing counts as not set, as scripts leave them. */
static const char *opt_env_text(const struct opt_args *a, const struct opt *o) {
    const char *names = a->env && !(a->is_env_ignored && a->is_env_ignored(o)) ? o->env : NULL;
    while (!strempty(names)) {
        char name[WORD_MAX] = "";
        size_t n = strcspn(names, "|");
        strncat(name, names, MIN(n, sizeof(name) - 1));
        const char *text = a->env(name);
        if (!strempty(text))
            return text;
        names += n + (names[n] == '|');
    }
    return NULL;
}

/* Commands. */

/* How many words of argv the path covers; 0 if it does not match. */
static int opt_path_words(const char *path, int argc, char *const *argv) {
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
static const struct opt_command *opt_choose_command(const struct opt_program *p, int argc, char *const *argv,
                                                    int *ret_words) {
    const struct opt_command *best = &p->commands[0];
    *ret_words = 0;
    for (size_t i = 1; i < p->command_count; i++) {
        int words = opt_path_words(p->commands[i].path, argc, argv);
        if (words > *ret_words) {
            *ret_words = words;
            best = &p->commands[i];
        }
    }
    return best;
}

/* An option that may stand before the command: one of every command, or one that commands share. */
static const struct opt *opt_find_early(const struct opt_program *p, struct str name, char letter) {
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

/* How many words before the command are flags and their values. Ends at a flag that must not stand there. */
static int opt_early_words(const struct opt_program *p, int argc, char *const *argv) {
    int at = 0;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        const char *word = argv[at];
        bool is_long = word[1] == '-';
        size_t n = is_long ? strcspn(word + 2, "=") : 1;
        const struct opt *o =
            opt_find_early(p, str_bytes(word + (is_long ? 2 : 1), n), is_long ? 0 : word[1]);
        if (!o)
            break;
        bool has_value = is_long ? word[2 + n] != 0 : word[2] != 0;
        at += o->type == OPT_FLAG || has_value ? 1 : 2;
    }
    return argc > 0 ? MIN(at, argc) : 0;
}

const struct opt_command *opt_command_of(const struct opt_program *p, int argc, char *const *argv) {
    int words, early = opt_early_words(p, argc, argv);
    return opt_choose_command(p, argc - early, argv + early, &words);
}

static bool opt_asks_for_help(int argc, char *const *argv) {
    for (int i = 1; i < argc && !streq(argv[i], "--"); i++)
        if (streq(argv[i], "--help") || streq(argv[i], "-h"))
            return true;
    return false;
}

static int opt_check_env(struct parser *p) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(p->program, p->args->command, i)); i++) {
        const char *text = opt_env_text(p->args, o);
        if (text && !opt_fits(o, o->env, text, p->problem)) {
            opt_end_problem(p);
            return ERR_INVALID;
        }
    }
    return 0;
}

static bool opt_has_subcommands(const struct parser *p) {
    const char *path = p->args->command->path;
    size_t n = strlen(path);
    for (size_t i = 1; i < p->program->command_count; i++) {
        const char *other = p->program->commands[i].path;
        if (n == 0 || (strncmp(other, path, n) == 0 && other[n] == ' '))
            return true;
    }
    return false;
}

/* With --help in the line only the command and the output format matter; mistakes elsewhere must not hide the
 * help. */
static int opt_parse_for_help(struct parser *p) {
    const char *first = p->at < p->argc ? p->argv[p->at] : "-";
    if (*first != '-' && opt_has_subcommands(p))
        return opt_refuse_word(p, first);
    for (int at = 1; at < p->argc; at++) {
        const char *word = p->argv[at];
        const char *next = at + 1 < p->argc ? p->argv[at + 1] : "";
        if (((streq(word, "-o") || streq(word, "--output")) && streq(next, "json")) ||
            streq(word, "--output=json") || streq(word, "-ojson") || streq(word, "-o=json")) {
            const struct opt *output = opt_find_option(p, STR("output"), 0);
            if (output)
                p->args->given[p->args->given_count++] = (struct opt_given){output, "json"};
            break;
        }
    }
    p->args->given[p->args->given_count++] = (struct opt_given){&p->program->globals[0], "true"};
    return 0;
}

static bool opt_is_on_line(const struct opt_args *a, const struct opt *o) {
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].opt == o)
            return true;
    return false;
}

/* A word without a flag before it is the value of the first flag that takes one and has none. */
static int opt_parse_word(struct parser *p, const char *word) {
    const struct opt_command *c = p->args->command;
    for (size_t i = 0; i < c->opt_count; i++)
        if (c->opts[i].type == OPT_WORD && !opt_is_on_line(p->args, &c->opts[i]))
            return opt_add_given(p, &c->opts[i], word);
    return opt_refuse_word(p, word);
}

static int opt_parse_next(struct parser *p) {
    const char *word = p->argv[p->at++];
    if (streq(word, "--"))
        return p->at < p->argc ? opt_parse_word(p, p->argv[p->at++]) : 0;
    if (word[0] == '-' && word[1] == '-')
        return opt_parse_long(p, word + 2);
    return word[0] == '-' && word[1] ? opt_parse_short(p, word + 1) : opt_parse_word(p, word);
}

int opt_parse(const struct opt_program *program, int argc, char *const *argv,
              const char *(*env)(const char *name), struct opt_args *ret, struct buf *problem) {
    struct parser p = {program, argc, argv, 1, ret, problem};
    *ret = (struct opt_args){.program = program, .env = env};
    int words, begin = 1 + opt_early_words(program, argc - 1, argv + 1);
    ret->command = opt_choose_command(program, argc - begin, argv + begin, &words);
    p.at = begin + words;
    if (opt_asks_for_help(argc, argv))
        return opt_parse_for_help(&p);
    if (!words && begin < argc && argv[begin][0] != '-')
        return opt_refuse_word(&p, argv[begin]);
    int rc = 0;
    for (p.at = 1; rc == 0 && p.at < begin;)
        rc = opt_parse_next(&p);
    for (p.at = MAX(p.at, begin + words); rc == 0 && p.at < argc;)
        rc = opt_parse_next(&p);
    return rc < 0 ? rc : opt_check_env(&p);
}

void opt_parse_partial(const struct opt_program *program, int argc, char *const *argv,
                       const char *(*env)(const char *name), struct opt_args *ret) {
    struct buf ignored;
    struct parser p = {program, argc, argv, 0, ret, &ignored};
    *ret = (struct opt_args){.program = program, .env = env};
    int words, begin = opt_early_words(program, argc, argv);
    buf_init(&ignored, GLEAN_BYTES_MAX);
    ret->command = opt_choose_command(program, argc - begin, argv + begin, &words);
    while (p.at < begin)
        (void)opt_parse_next(&p); /* what is wrong is for the parse that counts */
    for (p.at = MAX(p.at, begin + words); p.at < argc;)
        (void)opt_parse_next(&p);
    buf_done(&ignored);
}

/* Taking values. */

static const char *opt_given_text(const struct opt_args *a, const struct opt *o) {
    for (size_t i = a->given_count; i-- > 0;)
        if (a->given[i].opt == o)
            return a->given[i].text;
    const char *text = opt_env_text(a, o);
    return text || !a->file ? text : a->file(a->file_ctx, o);
}

static const char *opt_value_text(const struct opt_args *a, const struct opt *o) {
    const char *text = opt_given_text(a, o);
    return text ? text : o->standard;
}

static bool opt_value_flag(const struct opt_args *a, const struct opt *o) {
    bool on = false;
    const char *text = opt_value_text(a, o);
    return text && opt_parse_flag(text, &on) && on;
}

static const struct opt *opt_row_of(const struct opt_args *a, size_t row) {
    ensure(row < a->command->opt_count);
    return &a->command->opts[row];
}

bool opt_is_given(const struct opt_args *a, size_t row) {
    return opt_given_text(a, opt_row_of(a, row)) != NULL;
}

bool opt_flag(const struct opt_args *a, size_t row) {
    return opt_value_flag(a, opt_row_of(a, row));
}

const char *opt_text(const struct opt_args *a, size_t row) {
    return opt_value_text(a, opt_row_of(a, row));
}

int64_t opt_int(const struct opt_args *a, size_t row) {
    const struct opt *o = opt_row_of(a, row);
    int64_t n = 0;
    ensure(o->type == OPT_INT);
    /* Checked when it was given; the table's default is a number too. */
    ensure(str_to_i64(str_of(opt_value_text(a, o)), &n) == 0);
    return n;
}

static const char *opt_value_list(const struct opt_args *a, const struct opt *o, size_t n) {
    size_t seen = 0;
    for (size_t i = 0; i < a->given_count; i++)
        if (a->given[i].opt == o && seen++ == n)
            return a->given[i].text;
    return seen || n ? NULL : opt_value_text(a, o);
}

const char *opt_list(const struct opt_args *a, size_t row, size_t n) {
    return opt_value_list(a, opt_row_of(a, row), n);
}

const struct opt *opt_find(const struct opt_args *a, const char *name) {
    return opt_find_by(a, str_of(name), 0);
}

const char *opt_named(const struct opt_args *a, const char *name) {
    const struct opt *o = opt_find(a, name);
    return o ? opt_value_text(a, o) : NULL;
}

bool opt_named_flag(const struct opt_args *a, const char *name) {
    const struct opt *o = opt_find(a, name);
    return o && opt_value_flag(a, o);
}

bool opt_named_given(const struct opt_args *a, const char *name) {
    const struct opt *o = opt_find(a, name);
    return o && opt_given_text(a, o);
}

const char *opt_named_list(const struct opt_args *a, const char *name, size_t n) {
    const struct opt *o = opt_find(a, name);
    return o ? opt_value_list(a, o, n) : NULL;
}

bool opt_global_flag(const struct opt_args *a, size_t row) {
    ensure(row < a->program->global_count);
    return opt_value_flag(a, &a->program->globals[row]);
}

const char *opt_global_text(const struct opt_args *a, size_t row) {
    ensure(row < a->program->global_count);
    return opt_value_text(a, &a->program->globals[row]);
}
