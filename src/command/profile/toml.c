/* The config file: TOML with tables [profile.NAME], [profile.NAME.tls] and others.
 *
 * Understood are comments, tables, dotted and quoted keys, the four kinds of strings, booleans, numbers and
 * inline tables. Data that a profile cannot hold (arrays, dates) is skipped and sets has_more, so that the
 * file is not overwritten. A line that is not TOML is ERR_INVALID. */
#include "command/profile/profiles.h"

#define PATH_MAX_PARTS 8

static const char *const tables[] = {"", "tls", "codec",
                                     "grpc_meta"}; /* tables of a profile; "" is the profile itself */

struct path {
    const char *parts[PATH_MAX_PARTS];
    size_t count;
};

struct reader {
    struct profiles *profiles;
    struct arena *arena;
    const char *at, *end;
    size_t line;
    struct path table;
};

static bool toml_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static void toml_skip_blank(struct reader *r) {
    while (r->at < r->end && toml_is_blank(*r->at))
        r->at++;
}

static bool toml_accept_text(struct reader *r, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* Skips to the end of the line. ERR_INVALID unless only a comment follows. */
static int toml_end_line(struct reader *r) {
    toml_skip_blank(r);
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n')
            r->at++;
    if (r->at < r->end && *r->at != '\n')
        return ERR_INVALID;
    return 0;
}

static const char *toml_finish_text(struct reader *r, struct buf *text) {
    const char *s =
        buf_ok(text) ? arena_strndup(r->arena, text->len ? (const char *)text->data : "", text->len) : NULL;
    buf_done(text);
    return s;
}

/* Reads the digits of \u or \U and appends the character as UTF-8; an invalid code point is dropped. */
static void toml_add_code_point(struct reader *r, size_t digits, struct buf *text) {
    uint32_t c = 0;
    for (; digits && r->at < r->end && strchr("0123456789abcdefABCDEF", *r->at); digits--, r->at++)
        c = c * 16 + (uint32_t)(*r->at <= '9' ? *r->at - '0' : (*r->at | 0x20) - 'a' + 10);
    if (digits || !c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return;
    if (c < 0x80) {
        buf_add_u8(text, (uint8_t)c);
        return;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes that follow the first */
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    buf_add_u8(text, (uint8_t)(first[more] | c >> (6 * more)));
    while (more--)
        buf_add_u8(text, (uint8_t)(0x80 | (c >> (6 * more) & 0x3f)));
}

static void toml_add_escape(struct reader *r, struct buf *text) {
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\x1b\"\\";
    char c = r->at < r->end ? *r->at++ : '\\';
    const char *known = strchr(from, c);
    if (c == '\n') { /* the string continues on the next line */
        r->line++;
        while (r->at < r->end && (toml_is_blank(*r->at) || *r->at == '\n'))
            r->line += *r->at++ == '\n';
    } else if (c == 'u' || c == 'U')
        toml_add_code_point(r, c == 'u' ? 4 : 8, text);
    else
        buf_add_u8(text, (uint8_t)(known && c ? to[known - from] : c));
}

/* Reads a quoted string. NULL when it does not end, or without memory. */
static const char *toml_read_string(struct reader *r) {
    char quote = *r->at;
    const char three[] = {quote, quote, quote, 0}, one[] = {quote, 0};
    struct buf text;
    bool is_long = toml_accept_text(r, three);
    buf_init(&text, 1u << 20);
    if (!is_long)
        r->at++;
    else if (toml_accept_text(r, "\n"))
        r->line++;
    while (r->at < r->end) {
        if (toml_accept_text(r, is_long ? three : one))
            return toml_finish_text(r, &text);
        char c = *r->at++;
        if (c == '\n' && !is_long)
            break;
        r->line += c == '\n';
        if (c == '\\' && quote == '"')
            toml_add_escape(r, &text);
        else
            buf_add_u8(&text, (uint8_t)c);
    }
    buf_done(&text);
    return NULL;
}

static int toml_read_key(struct reader *r, struct path *path) {
    do {
        const char *part;
        toml_skip_blank(r);
        if (r->at < r->end && (*r->at == '"' || *r->at == '\'')) {
            part = toml_read_string(r);
        } else {
            const char *begin = r->at;
            while (r->at < r->end && (((*r->at | 0x20) >= 'a' && (*r->at | 0x20) <= 'z') ||
                                      (*r->at >= '0' && *r->at <= '9') || *r->at == '-' || *r->at == '_'))
                r->at++;
            part = r->at > begin ? arena_strndup(r->arena, begin, (size_t)(r->at - begin)) : NULL;
        }
        if (!part || path->count == PATH_MAX_PARTS)
            return ERR_INVALID;
        path->parts[path->count++] = part;
        toml_skip_blank(r);
    } while (toml_accept_text(r, "."));
    return 0;
}

/* Stores one value under its path, or a table without a value. Paths that are no profile set has_more. */
static int toml_store_entry(struct reader *r, const struct path *path, const char *value, bool is_bare) {
    if (path->count < 2 || !cstr_eq(path->parts[0], "profile") || (value && path->count < 3)) {
        r->profiles->has_more = true;
        return 0;
    }
    const char *key = path->count > 2 ? path->parts[2] : NULL;
    bool is_known = false;
    for (size_t i = 1; i < ARRAY_LEN(tables); i++) /* "" is the profile itself, never a key */
        is_known = is_known || cstr_eq(key, tables[i]);
    bool is_place = key && !strchr(key, '.') && is_known == !(value && path->count == 3);
    bool is_switch = path->count == 3 && cstr_eq(key, "tls") && (cstr_eq(value, "true") || cstr_eq(value, "false"));
    if (key && ((!is_place && !is_switch) || path->count > 4)) {
        r->profiles->has_more = true;
        return 0;
    }
    for (size_t i = 3; key && i < path->count; i++)
        key = arena_printf(r->arena, "%s.%s", key, path->parts[i]);
    struct profile_entry e = {path->parts[1], value ? key : NULL, value, is_bare};
    if (is_switch && cstr_eq(value, "false"))
        e.key = NULL; /* tls = false is the same as no property */
    /* An empty table [profile.x.tls] switches TLS on, too. */
    if (!value && cstr_eq(key, "tls"))
        e = (struct profile_entry){path->parts[1], "tls", "true", true};
    return arena_failed(r->arena) ? ERR_NO_MEMORY : profiles_set(r->profiles, &e);
}

static int toml_read_value(struct reader *r, const struct path *path);

static int toml_read_inline(struct reader *r, const struct path *path) {
    int rc = toml_store_entry(r, path, NULL, false);
    toml_skip_blank(r);
    if (toml_accept_text(r, "}"))
        return rc;
    while (rc == 0) {
        struct path inner = *path;
        rc = toml_read_key(r, &inner);
        if (rc == 0 && !toml_accept_text(r, "="))
            rc = ERR_INVALID;
        if (rc == 0)
            rc = toml_read_value(r, &inner);
        toml_skip_blank(r);
        if (rc == 0 && toml_accept_text(r, "}"))
            return 0;
        if (rc == 0 && !toml_accept_text(r, ","))
            rc = ERR_INVALID;
    }
    return rc;
}

/* Skips an array with nested arrays and strings. */
static int toml_skip_array(struct reader *r) {
    size_t depth = 0;
    while (r->at < r->end) {
        char c = *r->at;
        if ((c == '"' || c == '\'') && !toml_read_string(r))
            return ERR_INVALID;
        if (c == '"' || c == '\'')
            continue;
        r->at++;
        r->line += c == '\n';
        depth += c == '[';
        depth -= c == ']';
        if (!depth)
            return 0;
    }
    return ERR_INVALID;
}

/* Values without quotes: true, false, a number, a date. */
static bool toml_is_bare(const char *text) {
    return cstr_eq(text, "true") || cstr_eq(text, "false") ||
           (strchr("+-0123456789", *text) &&
            strspn(text, "+-0123456789abcdefinoxABCDEFTZ_.:") == strlen(text));
}

static int toml_read_value(struct reader *r, const struct path *path) {
    toml_skip_blank(r);
    if (r->at == r->end)
        return ERR_INVALID;
    if (*r->at == '"' || *r->at == '\'') {
        const char *text = toml_read_string(r);
        return text ? toml_store_entry(r, path, text, false) : ERR_INVALID;
    }
    if (*r->at == '[') {
        r->profiles->has_more = true;
        return toml_skip_array(r);
    }
    if (toml_accept_text(r, "{"))
        return toml_read_inline(r, path);
    const char *begin = r->at;
    while (r->at < r->end && !strchr(" \t\r\n#,}", *r->at))
        r->at++;
    const char *text = r->at > begin ? arena_strndup(r->arena, begin, (size_t)(r->at - begin)) : NULL;
    return text && toml_is_bare(text) ? toml_store_entry(r, path, text, true) : ERR_INVALID;
}

static int toml_read_line(struct reader *r) {
    if (toml_accept_text(r, "[[")) {
        r->profiles->has_more = true;
        r->table = (struct path){{"?"}, 1};
        while (r->at < r->end && *r->at != '\n')
            r->at++;
        return 0;
    }
    if (toml_accept_text(r, "[")) {
        r->table.count = 0;
        int rc = toml_read_key(r, &r->table);
        if (rc == 0)
            rc = toml_accept_text(r, "]") ? toml_end_line(r) : ERR_INVALID;
        return rc < 0 ? rc : toml_store_entry(r, &r->table, NULL, false);
    }
    struct path path = r->table;
    int rc = toml_read_key(r, &path);
    if (rc == 0)
        rc = toml_accept_text(r, "=") ? toml_read_value(r, &path) : ERR_INVALID;
    return rc < 0 ? rc : toml_end_line(r);
}

int toml_read(struct profiles *p, struct str text, struct err *reterr) {
    const char *begin = text.n ? text.p : "";
    if (!utf8_valid(text))
        return err_set(reterr, ERR_INVALID, "the file is not UTF-8");
    struct reader r = {.profiles = p, .arena = p->arena, .at = begin, .end = begin + text.n, .line = 1};
    while (r.at < r.end) {
        toml_skip_blank(&r);
        int rc = r.at == r.end || *r.at == '\n' ? 0 : *r.at == '#' ? toml_end_line(&r) : toml_read_line(&r);
        if (rc == ERR_INVALID)
            return err_set(reterr, ERR_INVALID, "line %zu is not TOML", r.line);
        if (rc < 0)
            return err_std(reterr, rc);
        if (r.at < r.end)
            r.at++;
        r.line++;
    }
    return 0;
}

static void toml_add_string(struct buf *out, const char *s) {
    buf_add_u8(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_printf(out, "\\%c", *s);
        else if (*s == '\n')
            buf_add_cstr(out, "\\n");
        else if ((unsigned char)*s < 0x20)
            buf_printf(out, "\\u%04x", *s);
        else
            buf_add_u8(out, (uint8_t)*s);
    }
    buf_add_u8(out, '"');
}

static void toml_add_key(struct buf *out, const char *s) {
    if (*s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(s))
        buf_add_cstr(out, s);
    else
        toml_add_string(out, s);
}

/* Writes the entries of a profile whose keys are in `table`; "" is the profile itself. */
static void toml_write_table(const struct profiles *p, const char *profile, const char *table,
                             struct buf *out) {
    size_t skip = *table ? strlen(table) + 1 : 0;
    bool is_open = false;
    for (size_t i = 0; i < p->count; i++) {
        const struct profile_entry *e = &p->entries[i];
        if (!cstr_eq(e->profile, profile))
            continue;
        bool is_switch = *table && cstr_eq(e->key, table); /* tls = true */
        if (!is_switch && *table &&
            (!e->key || strncmp(e->key, table, skip - 1) != 0 || e->key[skip - 1] != '.'))
            continue;
        if (!is_open) {
            buf_add_cstr(out, out->len ? "\n[profile." : "[profile.");
            toml_add_key(out, profile);
            buf_printf(out, "%s%s]\n", *table ? "." : "", table);
            is_open = true;
        }
        if (!e->key || is_switch || (!*table && (strchr(e->key, '.') || cstr_eq(e->key, "tls"))))
            continue;
        toml_add_key(out, e->key + skip);
        buf_add_cstr(out, " = ");
        if (e->is_bare)
            buf_add_cstr(out, e->value);
        else
            toml_add_string(out, e->value);
        buf_add_u8(out, '\n');
    }
}

void toml_write(const struct profiles *p, struct buf *out) {
    for (size_t i = 0; i < p->count; i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && !cstr_eq(p->entries[k].profile, p->entries[i].profile);
        for (size_t k = 0; is_first && k < ARRAY_LEN(tables); k++)
            toml_write_table(p, p->entries[i].profile, tables[k], out);
    }
}
