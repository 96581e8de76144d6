/* Help from the tables that also parse: as text for people, as JSON for programs.
 *
 * Text is wrapped at HELP_WIDTH columns. The buffer has a maximum; the caller checks it once. */
#include "cli/opt.h"

#define HELP_WIDTH 96
#define OPTION_INDENT 8

/* Text. */

static void help_add_wrapped(struct buf *out, size_t indent, const char *text) {
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column && column + 1 + n > HELP_WIDTH) {
            buf_add_u8(out, '\n');
            column = 0;
        }
        if (!column)
            buf_printf(out, "%*s", (int)indent, "");
        else
            buf_add_u8(out, ' ');
        column = (column ? column + 1 : indent) + n;
        buf_add(out, text, n);
        text += n;
        if (*text == '\n') {
            buf_add_u8(out, '\n');
            column = 0;
        }
        text += *text != 0;
    }
    buf_add_u8(out, '\n');
}

static void help_add_option(struct buf *out, const struct opt *o) {
    buf_add_cstr(out, o->letter ? "  -" : "      ");
    if (o->letter)
        buf_printf(out, "%c, ", o->letter);
    buf_printf(out, "--%s", o->name);
    if (o->type != OPT_FLAG)
        buf_printf(out, " %s", o->arg);
    if (o->type == OPT_LIST)
        buf_add_cstr(out, " ...");
    buf_add_u8(out, '\n');
    help_add_wrapped(out, OPTION_INDENT, o->help);
    if (o->choices)
        buf_printf(out, "%*sOne of: %s\n", OPTION_INDENT, "", o->choices);
    if (o->standard)
        buf_printf(out, "%*sDefault: %s\n", OPTION_INDENT, "", o->standard);
    if (o->env)
        buf_printf(out, "%*sEnvironment: %s\n", OPTION_INDENT, "", o->env);
}

static void help_add_options(struct buf *out, const char *title, const struct opt *opts, size_t count) {
    if (!count)
        return;
    buf_printf(out, "\n%s:\n", title);
    for (size_t i = 0; i < count; i++)
        help_add_option(out, &opts[i]);
}

/* Whether the path of `c` begins with the path of `above` and has at least one more word. */
static bool help_is_below(const struct opt_command *c, const struct opt_command *above) {
    size_t n = strlen(above->path);
    return strlen(c->path) > n && strncmp(c->path, above->path, n) == 0 && (n == 0 || c->path[n] == ' ');
}

/* Whether `c` is exactly one word below. Deeper commands are in the help of that one. */
static bool help_is_next(const struct opt_command *c, const struct opt_command *above) {
    size_t n = strlen(above->path);
    return help_is_below(c, above) && !strchr(c->path + n + (n > 0), ' ');
}

static void help_add_commands(const struct opt_args *a, struct buf *out) {
    bool any = false;
    size_t width = 0;
    for (size_t i = 0; i < a->program->command_count; i++)
        if (help_is_next(&a->program->commands[i], a->command))
            width = MAX(width, strlen(a->program->commands[i].path));
    for (size_t i = 0; i < a->program->command_count; i++) {
        const struct opt_command *c = &a->program->commands[i];
        if (!help_is_next(c, a->command))
            continue;
        if (!any)
            buf_add_cstr(out, "\nCommands:\n");
        any = true;
        buf_printf(out, "  %-*s  %s\n", (int)width, c->path, c->summary);
    }
    if (any)
        buf_printf(out, "\nRun %s COMMAND --help for more.\n", a->program->name);
}

void opt_help(const struct opt_args *a, struct buf *out) {
    const struct opt_command *c = a->command;
    const char *name = a->program->name;
    help_add_wrapped(out, 0, c->text);
    if (*c->path) {
        buf_printf(out, "\nUsage: %s %s", name, c->path);
        for (size_t i = 0; i < c->opt_count; i++)
            if (c->opts[i].type == OPT_WORD)
                buf_printf(out, " [%s]", c->opts[i].arg);
        buf_add_cstr(out, " [flags]\n");
    } else
        buf_printf(out, "\nUsage: %s COMMAND [flags]\n", name);
    help_add_commands(a, out);
    help_add_options(out, "Flags", c->opts, c->opt_count);
    for (size_t i = 0; i < c->set_count; i++)
        help_add_options(out, c->sets[i].title, c->sets[i].opts, c->sets[i].count);
    help_add_options(out, "Flags of every command", a->program->globals, a->program->global_count);
    if (c->example_count)
        buf_add_cstr(out, "\nExamples:\n");
    for (size_t i = 0; i < c->example_count; i++)
        buf_printf(out, "  # %s\n  %s\n", c->examples[i].what, c->examples[i].line);
}

/* JSON. */

void opt_json_string(struct buf *out, const char *s) {
    buf_add_u8(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            buf_printf(out, "\\u%04x", *s);
        else
            buf_add_u8(out, (uint8_t)*s);
    }
    buf_add_u8(out, '"');
}

static void help_add_member(struct buf *out, const char *key, const char *value) {
    if (!value)
        return;
    buf_printf(out, ",\"%s\":", key);
    opt_json_string(out, value);
}

static void help_add_options_json(struct buf *out, const char *key, const struct opt *opts, size_t count) {
    static const char *const type_names[] = {
        [OPT_FLAG] = "flag",     [OPT_TEXT] = "text", [OPT_INT] = "int",
        [OPT_CHOICE] = "choice", [OPT_LIST] = "list", [OPT_WORD] = "word"};
    buf_printf(out, "\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        const struct opt *o = &opts[i];
        buf_add_cstr(out, i ? ",{\"name\":" : "{\"name\":");
        opt_json_string(out, o->name);
        if (o->letter)
            help_add_member(out, "letter", (const char[]){o->letter, 0});
        help_add_member(out, "type", type_names[o->type]);
        help_add_member(out, "alias", o->alias);
        help_add_member(out, "argument", o->type == OPT_FLAG ? NULL : o->arg);
        help_add_member(out, "default", o->standard);
        help_add_member(out, "environment", o->env);
        help_add_member(out, "choices", o->choices);
        help_add_member(out, "help", o->help);
        buf_add_u8(out, '}');
    }
    buf_add_u8(out, ']');
}

void opt_help_json(const struct opt_args *a, struct buf *out) {
    const struct opt_command *c = a->command;
    buf_add_cstr(out, "{\"program\":");
    opt_json_string(out, a->program->name);
    help_add_member(out, "command", c->path);
    help_add_member(out, "help", c->text);
    buf_add_cstr(out, ",\"commands\":[");
    bool any = false;
    for (size_t i = 0; i < a->program->command_count; i++) {
        if (!help_is_below(&a->program->commands[i], c))
            continue;
        buf_add_cstr(out, any ? ",{\"name\":" : "{\"name\":");
        any = true;
        opt_json_string(out, a->program->commands[i].path);
        help_add_member(out, "summary", a->program->commands[i].summary);
        buf_add_u8(out, '}');
    }
    buf_add_u8(out, ']');
    buf_add_u8(out, ',');
    help_add_options_json(out, "flags", c->opts, c->opt_count);
    buf_add_cstr(out, ",\"shared_flags\":[");
    for (size_t i = 0; i < c->set_count; i++) {
        buf_add_cstr(out, i ? ",{\"title\":" : "{\"title\":");
        opt_json_string(out, c->sets[i].title);
        buf_add_u8(out, ',');
        help_add_options_json(out, "flags", c->sets[i].opts, c->sets[i].count);
        buf_add_u8(out, '}');
    }
    buf_add_cstr(out, "],");
    help_add_options_json(out, "global_flags", a->program->globals, a->program->global_count);
    buf_add_cstr(out, ",\"examples\":[");
    for (size_t i = 0; i < c->example_count; i++) {
        buf_add_cstr(out, i ? ",{\"line\":" : "{\"line\":");
        opt_json_string(out, c->examples[i].line);
        help_add_member(out, "what", c->examples[i].what);
        buf_add_u8(out, '}');
    }
    buf_add_cstr(out, "]}\n");
}
