/* Cutting a query into words. Bytes above 127 may stand in names and quotes; everything else that is
 * no part of the language is refused with its place. */
#include "core/search/filter_lexer.h"

static char lexer_peek_char(const struct filter_lexer *l, size_t ahead) {
    return l->at + ahead < l->query.n ? l->query.p[l->at + ahead] : 0;
}

static bool lexer_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void lex_name(struct filter_lexer *l, struct filter_token *t) {
    size_t from = l->at;
    while (begins_name(lexer_peek_char(l, 0)) || lexer_is_digit(lexer_peek_char(l, 0)) ||
           lexer_peek_char(l, 0) == '.' || lexer_peek_char(l, 0) == '-')
        l->at++;
    t->kind = FILTER_NAME;
    t->text = str_bytes(l->query.p + from, l->at - from);
}

static bool continues_number(const struct filter_lexer *l) {
    char c = lexer_peek_char(l, 0), before = l->query.p[l->at - 1];
    return lexer_is_digit(c) || c == '.' || c == 'e' || c == 'E' ||
           ((c == '+' || c == '-') && (before == 'e' || before == 'E'));
}

static void lex_number(struct filter_lexer *l, struct filter_token *t) {
    size_t from = l->at++;
    while (continues_number(l))
        l->at++;
    t->kind = FILTER_NUMBER;
    t->text = str_bytes(l->query.p + from, l->at - from);
}

static char lexer_unescape_char(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case '0':
        return 0;
    default:
        return c;
    }
}

/* A quote inside is doubled, or behind a backslash; in back-quotes only doubled. */
static int lex_quoted(struct filter_lexer *l, struct filter_token *t, struct err *err) {
    char quote = l->query.p[l->at++];
    char *out = arena_alloc(l->arena, l->query.n - l->at + 1);
    size_t n = 0;
    if (!out)
        return err_std(err, ERR_NO_MEMORY);
    for (;; l->at++) {
        if (l->at == l->query.n)
            return err_set(err, ERR_INVALID, "invalid query: malformed SQL query: unclosed %c at column %zu",
                           quote, t->column);
        char c = l->query.p[l->at];
        if (c == '\\' && quote != '`' && l->at + 1 < l->query.n)
            c = lexer_unescape_char(l->query.p[++l->at]);
        else if (c == quote && lexer_peek_char(l, 1) == quote)
            l->at++;
        else if (c == quote)
            break;
        out[n++] = c;
    }
    l->at++;
    t->kind = quote == '`' ? FILTER_NAME : FILTER_TEXT;
    t->is_quoted = true;
    t->text = str_bytes(out, n);
    return 0;
}

static int lex_symbol(struct filter_lexer *l, struct filter_token *t, struct err *err) {
    static const char *const symbols[] = {"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","};
    struct str rest = str_bytes(l->query.p + l->at, l->query.n - l->at);
    for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
        if (str_starts(rest, str_of(symbols[i]))) {
            t->kind = FILTER_SYMBOL;
            t->text = str_of(symbols[i]);
            l->at += t->text.n;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "invalid query: malformed SQL query: unexpected character at column %zu",
                   t->column);
}

int filter_next_token(struct filter_lexer *l, struct filter_token *ret, struct err *err) {
    while (is_space(lexer_peek_char(l, 0)))
        l->at++;
    *ret = (struct filter_token){.kind = FILTER_END, .column = l->at + 1};
    if (l->at == l->query.n)
        return 0;
    char c = lexer_peek_char(l, 0);
    if (c == '\'' || c == '"' || c == '`')
        return lex_quoted(l, ret, err);
    if (lexer_is_digit(c) || ((c == '-' || c == '+' || c == '.') && lexer_is_digit(lexer_peek_char(l, 1))))
        lex_number(l, ret);
    else if (begins_name(c))
        lex_name(l, ret);
    else
        return lex_symbol(l, ret, err);
    return 0;
}
