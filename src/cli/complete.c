/* What shells ask: which words could stand next.
 *
 * The words before the last one choose the command, as in parsing. After a flag
 * that takes a value its choices follow, if it has any; after a dash the flags;
 * else the commands below the one that was chosen. */
#include "cli/opt.h"

static bool begins(const char *word, const char *part) {
    return strncmp(word, part, strlen(part)) == 0;
}

static void add_word(struct buf *out, const char *dashes, struct str word, const char *what) {
    size_t n = strcspn(what, ".\n");
    buf_add_cstr(out, dashes);
    buf_add_str(out, word);
    buf_printf(out, "\t%.*s\n", (int)n, what);
}

static void add_choices(struct buf *out, const struct opt *o, const char *part) {
    for (const char *at = o->choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (begins(at, part))
            add_word(out, "", str_bytes(at, strcspn(at, "|")), o->help);
}

static void add_flags(const struct opt_args *a, struct buf *out, const char *part) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(a->program, a->command, i)); i++)
        if (strlen(part) < 3 || begins(o->name, part + 2))
            add_word(out, "--", str_of(o->name), o->help);
}

/* The next words of the paths below the command; a group and what is in it share theirs. */
static void add_commands(const struct opt_args *a, struct buf *out, const char *part) {
    size_t skip = strlen(a->command->path);
    for (size_t i = 1; i < a->program->command_count; i++) {
        const struct opt_command *c = &a->program->commands[i];
        const char *next = c->path + skip + (skip > 0);
        bool is_below =
            strlen(c->path) > skip && begins(c->path, a->command->path) && (!skip || c->path[skip] == ' ');
        if (is_below && !strchr(next, ' ') && begins(next, part))
            add_word(out, "", str_of(next), c->summary);
    }
}

/* The flag that waits for its value after this word, or NULL. */
static const struct opt *waiting_flag(const struct opt_args *a, const char *word) {
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

void opt_complete(const struct opt_program *p, int argc, char *const *argv, struct buf *out) {
    struct opt_args a = {.program = p, .command = opt_command_of(p, argc > 0 ? argc - 1 : 0, argv)};
    const char *part = argc > 0 ? argv[argc - 1] : "";
    const struct opt *waiting = argc > 1 ? waiting_flag(&a, argv[argc - 2]) : NULL;
    if (waiting)
        add_choices(out, waiting, part);
    else if (*part == '-')
        add_flags(&a, out, part);
    else
        add_commands(&a, out, part);
}
