/* Hexadecimal digits. The one copy for all layers. */
#pragma once

#include "base/base.h"

/* The digit of the low four bits. */
static inline char hex_digit_lower(unsigned value) {
    return "0123456789abcdef"[value & 15];
}
static inline char hex_digit_upper(unsigned value) {
    return "0123456789ABCDEF"[value & 15];
}

/* The value of a digit of either case, 0 to 15; -1 for any other character. */
static inline int hex_digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
