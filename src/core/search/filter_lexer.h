/* The words of the filter language. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum filter_token_kind {
    FILTER_END,
    FILTER_NAME, /* a word, or a name in back-quotes */
    FILTER_TEXT, /* in single or double quotes */
    FILTER_NUMBER,
    FILTER_SYMBOL,
};

struct filter_token {
    enum filter_token_kind kind;
    struct str text; /* what the quotes hold, with escapes undone; words and symbols as written */
    size_t column; /* from 1, in bytes */
    bool is_quoted; /* a name that cannot be a keyword */
};

struct filter_lexer {
    struct arena *arena;
    struct str query;
    size_t at;
};

/* FILTER_END at the end, again and again. ERR_INVALID says where; ERR_NO_MEMORY. */
int filter_next_token(struct filter_lexer *l, struct filter_token *ret, struct err *err) must_check;
