/* Options and their values.
 *
 * A value is looked up when it is asked for: the last time it was given on the line, else the environment,
 * else the file, else the default of the table. opt_parse() has checked what the line and the environment
 * give. */
#include "cli/opt.h"

#include "base/err.h"
#include "base/near.h"
#include "cli/opt_int.h"

#define NEAR_ENOUGH 3 /* edits between the typed word and a suggestion */

const char *opt_nearest(const char *word, const char *const *candidates, size_t count) {
    const char *best = NULL;
    size_t best_distance = NEAR_ENOUGH + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = near_distance(str_of(word), str_of(candidates[i]), false);
        /* A suggestion must share at least half of its letters with the typed word. */
        if (d < best_distance && 2 * d <= strlen(candidates[i])) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

/* Values. */

/* Whether the word is one of "ONE|OTHER". */
static bool opt_is_among(struct str word, const char *words) {
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (str_eq(word, str_bytes(at, strcspn(at, "|"))))
            return true;
    return false;
}

static bool opt_parse_flag(const char *text, bool *ret) {
    if (cstr_eq(text, "true") || cstr_eq(text, "1"))
        *ret = true;
    else if (cstr_eq(text, "false") || cstr_eq(text, "0"))
        *ret = false;
    else
        return false;
    return true;
}

bool opt_fits(const struct opt *o, const char *from, const char *text, struct buf *problem) {
    bool flag;
    int64_t number;
    switch (o->type) {
    case OPT_FLAG:
        if (opt_parse_flag(text, &flag))
            return true;
        buf_printf(problem, "%s must be true or false, not \"%s\"", from, text);
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

bool opt_is_called(const struct opt *o, struct str name, char letter) {
    return letter ? o->letter == letter : str_is(name, o->name) || opt_is_among(name, o->alias);
}

const struct opt *opt_find_by(const struct opt_args *a, struct str name, char letter) {
    const struct opt *o;
    for (size_t i = 0; (o = opt_at(a->program, a->command, i)); i++)
        if (opt_is_called(o, name, letter))
            return o;
    return NULL;
}

/* An empty variable counts as not set: scripts leave such variables. */
const char *opt_env_text(const struct opt_args *a, const struct opt *o) {
    const char *names = a->env && !(a->is_env_ignored && a->is_env_ignored(o)) ? o->env : NULL;
    while (!cstr_is_empty(names)) {
        char name[OPT_WORD_MAX] = "";
        size_t n = strcspn(names, "|");
        strncat(name, names, MIN(n, sizeof(name) - 1));
        const char *text = a->env(name);
        if (!cstr_is_empty(text))
            return text;
        names += n + (names[n] == '|');
    }
    return NULL;
}

/* Lookups. */

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
    /* opt_parse checked the value; the default in the table is a number, too. */
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
