/* Completion for shells: the words that can follow on a command line.
 *
 * The words before the last one choose the command, as in parsing. After a flag with a value come its
 * choices, or the values that the caller knows. After a dash come the flags. Otherwise come the commands
 * below the chosen one, and values that need no flag. Wrong words earlier on the line are ignored. */
#include "cli/opt.h"

#define WORD_MAX 64
#define VALUES_BYTES_MAX (256u << 10)

static bool complete_begins_with(const char *word, const char *part) {
    return strncmp(word, part, strlen(part)) == 0;
}

static void complete_add_word(struct buf *out, const char *dashes, struct str word, const char *what) {
    size_t n = strcspn(what, ".\n");
    buf_add_cstr(out, dashes);
    buf_add_str(out, word);
    buf_printf(out, "\t%.*s\n", (int)n, what);
}

static void complete_add_choices(struct buf *out, const struct opt *o, const char *part) {
    for (const char *at = o->choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (complete_begins_with(at, part))
            complete_add_word(out, "", str_bytes(at, strcspn(at, "|")), o->help);
}

static void complete_add_flags(const struct opt_args *a, struct buf *out, const char *part) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(a->program, a->command, i)); i++)
        if (!strchr(o->name, '*') && (strlen(part) < 3 || complete_begins_with(o->name, part + 2)))
            complete_add_word(out, "--", str_of(o->name), o->help);
}

/* Adds the commands and groups directly below the chosen command. */
static void complete_add_commands(const struct opt_args *a, struct buf *out, const char *part) {
    size_t skip = strlen(a->command->path);
    for (size_t i = 1; i < a->program->command_count; i++) {
        const struct opt_command *c = &a->program->commands[i];
        const char *next = c->path + skip + (skip > 0);
        bool is_below = strlen(c->path) > skip && complete_begins_with(c->path, a->command->path) &&
                        (!skip || c->path[skip] == ' ');
        if (is_below && !strchr(next, ' ') && complete_begins_with(next, part))
            complete_add_word(out, "", str_of(next), c->summary);
    }
}

/* The flag whose value follows this word, or NULL. */
static const struct opt *complete_open_flag(const struct opt_args *a, const char *word) {
    const struct opt *o;
    if (word[0] != '-' || strchr(word, '='))
        return NULL;
    if (word[1] == '-') {
        o = opt_find(a, word + 2);
        return o && o->type != OPT_FLAG ? o : NULL;
    }
    for (size_t i = 0; (o = opt_at(a->program, a->command, i)); i++)
        if (o->letter && o->letter == word[1] && !word[2])
            return o->type != OPT_FLAG ? o : NULL;
    return NULL;
}

static void complete_add_values(const struct opt_args *a, const struct opt *o, const char *part,
                                const struct opt_source *source, struct buf *out) {
    if (o->choices)
        complete_add_choices(out, o, part);
    else if (o->type == OPT_FLAG)
        complete_add_choices(out, &(struct opt){.choices = "true|false", .help = o->help}, part);
    else if (source)
        source->values(source->ctx, a, o, part, out);
}

/* --flag=part: prefixes each value with the flag. */
static void complete_add_attached(const struct opt_args *a, const char *word, const struct opt_source *source,
                                  struct buf *out) {
    size_t n = strcspn(word, "=");
    char name[WORD_MAX] = "";
    struct buf values;
    strncat(name, word + 2, MIN(n - 2, sizeof(name) - 1));
    const struct opt *o = opt_find(a, name);
    if (!o)
        return;
    buf_init(&values, VALUES_BYTES_MAX);
    complete_add_values(a, o, word + n + 1, source, &values);
    struct str rest = buf_ok(&values) ? buf_str(&values) : (struct str){NULL, 0};
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t length = end ? (size_t)(end - rest.p) + 1 : rest.n;
        buf_add(out, word, n + 1);
        buf_add(out, rest.p, length);
        rest = str_bytes(rest.p + length, rest.n - length);
    }
    buf_done(&values);
}

/* The first option that needs no flag name and has no value yet, or NULL. */
static const struct opt *complete_next_word(const struct opt_args *a) {
    for (size_t i = 0; i < a->command->opt_count; i++) {
        bool is_given = false;
        for (size_t k = 0; k < a->given_count; k++)
            is_given = is_given || a->given[k].opt == &a->command->opts[i];
        if (a->command->opts[i].type == OPT_WORD && !is_given)
            return &a->command->opts[i];
    }
    return NULL;
}

void opt_complete(const struct opt_program *p, int argc, char *const *argv,
                  const char *(*env)(const char *name), const struct opt_source *source, struct buf *out) {
    struct opt_args a;
    const char *part = argc > 0 ? argv[argc - 1] : "";
    opt_parse_partial(p, argc > 0 ? argc - 1 : 0, argv, env, &a);
    const struct opt *waiting = argc > 1 ? complete_open_flag(&a, argv[argc - 2]) : NULL;
    if (waiting) {
        complete_add_values(&a, waiting, part, source, out);
    } else if (part[0] == '-' && part[1] == '-' && strchr(part, '=')) {
        complete_add_attached(&a, part, source, out);
    } else if (*part == '-') {
        complete_add_flags(&a, out, part);
    } else {
        const struct opt *word = complete_next_word(&a);
        complete_add_commands(&a, out, part);
        if (word)
            complete_add_values(&a, word, part, source, out);
    }
}
