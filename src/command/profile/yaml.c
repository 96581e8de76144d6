/* The env file: YAML of one shape. Below "env:" are names of environments, below them properties.
 *
 *   env:
 *       prod:
 *           address: example.org:7233
 *
 * Understood are comments and values on one line: plain, 'single' or "double" quoted. Any other YAML is
 * ERR_INVALID with its line. */
#include "command/profile/profiles.h"

struct line {
    size_t number, indent;
    struct str key, value; /* as written */
};

static struct str yaml_trim_text(struct str s) {
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_bytes(s.p + 1, s.n - 1);
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

/* The length of the quoted text at the start of s; 0 when it does not end. */
static size_t yaml_quoted_length(struct str s) {
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[0] == '"' && s.p[i] == '\\')
            i++;
        else if (s.p[i] == s.p[0] && s.p[0] == '\'' && i + 1 < s.n && s.p[i + 1] == '\'')
            i++;
        else if (s.p[i] == s.p[0])
            return i + 1;
    }
    return 0;
}

static const char *yaml_unquote_text(struct arena *a, struct str s) {
    char *text = arena_strndup(a, s.p, s.n);
    size_t n = 0;
    if (!text || !s.n || (s.p[0] != '"' && s.p[0] != '\''))
        return text;
    for (size_t i = 1; i + 1 < s.n; i++) {
        if (s.p[0] == '\'' && s.p[i] == '\'')
            i++;
        if (s.p[0] == '"' && s.p[i] == '\\') {
            i++;
            text[n++] = s.p[i] == 'n' ? '\n' : s.p[i] == 't' ? '\t' : s.p[i];
        } else {
            text[n++] = s.p[i];
        }
    }
    text[n] = '\0';
    return text;
}

static bool yaml_is_quote(struct str s) {
    return s.n && (s.p[0] == '"' || s.p[0] == '\'');
}

static bool yaml_split_line(struct str text, struct line *ret) {
    size_t quoted = yaml_is_quote(text) ? yaml_quoted_length(text) : 0;
    size_t n = quoted;
    while (n < text.n && !(text.p[n] == ':' && (n + 1 == text.n || text.p[n + 1] == ' ')))
        n++;
    if (n == text.n)
        return false;
    ret->key = yaml_trim_text(str_bytes(text.p, n));
    ret->value = yaml_trim_text(str_bytes(text.p + n + 1, text.n - n - 1));
    if (!ret->key.n || (yaml_is_quote(text) && ret->key.n != quoted))
        return false;
    if (yaml_is_quote(ret->value)) {
        size_t length = yaml_quoted_length(ret->value);
        struct str rest = yaml_trim_text(str_bytes(ret->value.p + length, ret->value.n - length));
        ret->value.n = length;
        return length && (!rest.n || rest.p[0] == '#');
    }
    for (size_t i = 0; i < ret->value.n; i++)
        if (ret->value.p[i] == '#' && (i == 0 || ret->value.p[i - 1] == ' '))
            ret->value = yaml_trim_text(str_bytes(ret->value.p, i));
    return !(ret->value.n && strchr("[|>&*!%@", ret->value.p[0]));
}

/* Reads the next line that is neither empty nor a comment. ERR_INVALID for a line that is not KEY: VALUE. */
static int yaml_next_line(struct str *rest, struct line *ret, bool *ret_is_end) {
    *ret_is_end = false;
    while (rest->n) {
        const char *end = memchr(rest->p, '\n', rest->n);
        struct str text = str_bytes(rest->p, end ? (size_t)(end - rest->p) : rest->n);
        *rest = str_bytes(rest->p + text.n + (end != NULL), rest->n - text.n - (end != NULL));
        ret->number++;
        ret->indent = 0;
        while (ret->indent < text.n && text.p[ret->indent] == ' ')
            ret->indent++;
        text = yaml_trim_text(text);
        if (!text.n || text.p[0] == '#' || str_is(text, "---"))
            continue;
        return yaml_split_line(text, ret) ? 0 : ERR_INVALID;
    }
    *ret_is_end = true;
    return 0;
}

static bool yaml_is_map(const struct line *l) {
    return !l->value.n || str_is(l->value, "{}");
}

int yaml_read(struct profiles *p, struct str text, struct err *reterr) {
    struct line l = {0};
    size_t name_indent = 0;
    const char *name = NULL;
    bool is_env = false, is_end;
    int rc;
    if (!utf8_valid(text))
        return err_set(reterr, ERR_INVALID, "the file is not UTF-8");
    while ((rc = yaml_next_line(&text, &l, &is_end)) == 0 && !is_end) {
        if (l.indent == 0) {
            is_env = str_is(l.key, "env");
            p->has_more = p->has_more || !is_env;
            name = NULL;
            name_indent = 0;
            if (is_env && !yaml_is_map(&l))
                break;
            continue;
        }
        if (!is_env)
            continue;
        struct profile_entry e = {.profile = name};
        if (!name_indent || l.indent <= name_indent) {
            name_indent = l.indent;
            e.profile = name = yaml_unquote_text(p->arena, l.key);
            if (!yaml_is_map(&l))
                break;
        } else {
            e.key = yaml_unquote_text(p->arena, l.key);
            e.value = yaml_unquote_text(p->arena, l.value);
        }
        if (arena_failed(p->arena) || profiles_set(p, &e) < 0)
            return err_std(reterr, ERR_NO_MEMORY);
    }
    if (rc == 0 && is_end)
        return 0;
    return err_set(reterr, ERR_INVALID,
                   "line %zu cannot be read: expected env:, below it names, below them KEY: VALUE", l.number);
}

static void yaml_add_scalar(struct buf *out, const char *s) {
    bool is_plain =
        *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:") == strlen(s) &&
        s[0] != '-' && s[0] != ':' && s[strlen(s) - 1] != ':' && !strstr(s, ": ");
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        is_plain = is_plain && !cstr_eq(s, words[i]);
    if (is_plain && strspn(s, "0123456789.:-+eE") != strlen(s)) {
        buf_add_cstr(out, s);
        return;
    }
    buf_add_u8(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_add_u8(out, '\\');
        if (*s == '\n')
            buf_add_cstr(out, "\\n");
        else
            buf_add_u8(out, (uint8_t)*s);
    }
    buf_add_u8(out, '"');
}

void yaml_write(const struct profiles *p, struct buf *out) {
    buf_add_cstr(out, p->count ? "env:\n" : "env: {}\n");
    for (size_t i = 0; i < p->count; i++) {
        const char *name = p->entries[i].profile;
        bool is_first = true, has_keys = false;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && !cstr_eq(p->entries[k].profile, name);
        if (!is_first)
            continue;
        for (size_t k = i; k < p->count; k++)
            has_keys = has_keys || (p->entries[k].key && cstr_eq(p->entries[k].profile, name));
        buf_add_cstr(out, "    ");
        yaml_add_scalar(out, name);
        buf_add_cstr(out, has_keys ? ":\n" : ": {}\n");
        for (size_t k = i; k < p->count; k++) {
            if (!p->entries[k].key || !cstr_eq(p->entries[k].profile, name))
                continue;
            buf_add_cstr(out, "        ");
            yaml_add_scalar(out, p->entries[k].key);
            buf_add_cstr(out, ": ");
            yaml_add_scalar(out, p->entries[k].value);
            buf_add_u8(out, '\n');
        }
    }
}
