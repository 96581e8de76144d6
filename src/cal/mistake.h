/* Mistakes in a text, with their columns. Several mistakes of one text become one line. */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define MISTAKE_QUOTE_MAX 40

struct mistakes {
    struct str origin; /* the whole text; columns count from its first byte */
    char text[ERR_TEXT_MAX];
    size_t n; /* length of `text` */
};

/* Adds a mistake at `place`, which is a slice of origin. Always returns ERR_INVALID. */
int mistakes_add(struct mistakes *c, struct str place, const char *fmt, ...) printf_like(3, 4);
