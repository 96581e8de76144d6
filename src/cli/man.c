/* The manual page, from the tables that also parse: one page with a section for each command.
 *
 * roff interprets backslashes, dots and quotes at the start of a line, and hyphens; man_add_text() escapes
 * them. */
#include "cli/opt.h"

#define SETS_MAX 8

static void man_add_text(struct buf *out, const char *text) {
    bool is_start = true;
    for (; *text; text++) {
        if (is_start && (*text == '.' || *text == '\''))
            buf_add_cstr(out, "\\&");
        if (*text == '\\')
            buf_add_cstr(out, "\\e");
        else if (*text == '-')
            buf_add_cstr(out, "\\-");
        else
            buf_add_u8(out, (uint8_t)*text);
        is_start = *text == '\n';
    }
}

static void man_add_line(struct buf *out, const char *before, const char *text, const char *after) {
    buf_add_cstr(out, before);
    man_add_text(out, text);
    buf_add_cstr(out, after);
}

static void man_add_lines(struct buf *out, const char *title, const char *lines) {
    buf_printf(out, ".SH %s\n", title);
    for (; lines && *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
        buf_printf(out, "%.*s\n.br\n", (int)strcspn(lines, "\n"), lines);
}

static void man_add_options(struct buf *out, const struct opt *opts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct opt *o = &opts[i];
        buf_add_cstr(out, ".TP\n");
        if (o->letter)
            buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
        man_add_line(out, "\\fB\\-\\-", o->name, "\\fR");
        if (o->type != OPT_FLAG)
            man_add_line(out, " \\fI", o->arg, "\\fR");
        buf_add_cstr(out, o->type == OPT_LIST ? " ...\n" : "\n");
        man_add_line(out, "", o->help, "\n");
        if (o->alias)
            man_add_line(out, "Also \\fB\\-\\-", o->alias, "\\fR.\n");
        if (o->choices)
            man_add_line(out, "One of ", o->choices, ".\n");
        if (o->standard)
            man_add_line(out, "Default: ", o->standard, "\n");
        if (o->env)
            man_add_line(out, "Environment: ", o->env, "\n");
    }
}

static void man_add_command(struct buf *out, const struct opt_program *p, const struct opt_command *c) {
    buf_printf(out, ".SS %s ", p->name);
    man_add_line(out, "", c->path, "\n");
    man_add_line(out, "", c->text, "\n");
    man_add_options(out, c->opts, c->opt_count);
    for (size_t i = 0; i < c->example_count; i++) {
        man_add_line(out, ".PP\n", c->examples[i].what, ":\n.PP\n.nf\n.RS\n");
        man_add_line(out, "", c->examples[i].line, "\n.RE\n.fi\n");
    }
}

/* Adds each set of shared options once. */
static void man_add_sets(struct buf *out, const struct opt_program *p) {
    const struct opt *seen[SETS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < p->command_count; i++)
        for (size_t k = 0; k < p->commands[i].set_count; k++) {
            const struct opt_set *set = &p->commands[i].sets[k];
            bool is_new = n < SETS_MAX;
            for (size_t j = 0; j < n; j++)
                is_new = is_new && seen[j] != set->opts;
            if (!is_new)
                continue;
            seen[n++] = set->opts;
            man_add_line(out, ".SS ", set->title, "\n");
            man_add_options(out, set->opts, set->count);
        }
}

void opt_man(const struct opt_program *p, struct buf *out) {
    const struct opt_command *root = &p->commands[0];
    buf_printf(out, ".TH RONDO 1 \"\" \"%s %s\" \"User Commands\"\n", p->name, RONDO_VERSION);
    buf_printf(out, ".SH NAME\n%s \\- ", p->name);
    man_add_line(out, "", root->text, "\n");
    buf_printf(out, ".SH SYNOPSIS\n.B %s\n.I command\n[flags]\n.SH FLAGS\n.SS Flags of every command\n",
               p->name);
    man_add_options(out, p->globals, p->global_count);
    man_add_sets(out, p);
    buf_add_cstr(out, ".SH COMMANDS\n");
    for (size_t i = 1; i < p->command_count; i++)
        if (p->commands[i].example_count)
            man_add_command(out, p, &p->commands[i]);
    man_add_lines(out, "EXIT STATUS", p->exit_codes);
    man_add_lines(out, "FILES", p->files);
}
