/* Macros that every file uses: checks, cleanup, ownership.
 *
 * ensure() guards against programming errors and stays on in release builds. A failed ensure() writes the
 * condition to stderr and aborts. User input must never reach one. must_check marks results that a caller
 * must not ignore. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define must_check __attribute__((warn_unused_result))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define cleanup(fn) __attribute__((cleanup(fn)))
#define noreturn_fn __attribute__((noreturn))
#define unused_arg __attribute__((unused))
/* For a large local that is written before it is read. The compiler clears all other locals. */
#define uninitialized __attribute__((uninitialized))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Moves a pointer out of a variable and sets the variable to NULL. */
#define take(pp)                                                                                             \
    __extension__({                                                                                          \
        __typeof__(*(pp)) taken_ = *(pp);                                                                    \
        *(pp) = NULL;                                                                                        \
        taken_;                                                                                              \
    })

noreturn_fn void ensure_failed(const char *file, int line, const char *what);

#define ensure(cond)                                                                                         \
    do {                                                                                                     \
        if (__builtin_expect(!(cond), 0))                                                                    \
            ensure_failed(__FILE__, __LINE__, #cond);                                                        \
    } while (0)

/* As ensure(), with the number of an invariant of ARCHITECTURE.md: ensure_inv(I3, x > 0). */
#define ensure_inv(inv, cond)                                                                                \
    do {                                                                                                     \
        if (__builtin_expect(!(cond), 0))                                                                    \
            ensure_failed(__FILE__, __LINE__, #inv ": " #cond);                                              \
    } while (0)
