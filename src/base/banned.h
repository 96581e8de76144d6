/* Functions of libc that our code must not call, and their replacements.
 *
 * The build includes this file (-include base/banned.h) before every file outside base. It marks the
 * functions as unavailable: a call, or taking the address, is a compile error that names the replacement.
 * Members and locals of the same name are not affected, nor are the headers of libraries. This file comes
 * before the system headers because clang ignores the attribute on a function that is already defined, as
 * some inline ones are.
 *
 * The meson.build of a directory can allow two groups:
 *   -DBANNED_CONSOLE_OK   getenv and printf: cli, main, test
 *   -DBANNED_CLOCK_OK     the clocks: host */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

struct timespec;
struct timeval;
struct tm;

#define BANNED(instead) __attribute__((unavailable(instead)))

/* All allocations go through mem.h, where tests make them fail. */
void *malloc(size_t size) BANNED("use mem_alloc");
void *calloc(size_t count, size_t size) BANNED("use mem_zalloc");
void *realloc(void *p, size_t size) BANNED("use mem_resize");
void free(void *p) BANNED("use mem_free");
char *strdup(const char *s) BANNED("use mem_strdup or arena_strdup");
char *strndup(const char *s, size_t n) BANNED("use arena_strndup");
int asprintf(char **ret, const char *fmt, ...) BANNED("use arena_printf");
int vasprintf(char **ret, const char *fmt, va_list args) BANNED("use arena_printf");

/* These do not check the size of the destination. */
int sprintf(char *s, const char *fmt, ...) BANNED("use snprintf, buf_printf or arena_printf");
int vsprintf(char *s, const char *fmt, va_list args) BANNED("use vsnprintf");
char *strcpy(char *to, const char *from) BANNED("use snprintf or a struct str");
char *strcat(char *to, const char *from) BANNED("use struct buf");
char *gets(char *s) BANNED("use read");

/* These cannot report that the text is not a number, or they keep state between calls. */
int atoi(const char *s) BANNED("use str_to_i64");
long atol(const char *s) BANNED("use str_to_i64");
long long atoll(const char *s) BANNED("use str_to_i64");
char *strtok(char *s, const char *delimiters) BANNED("use struct str");

/* Random numbers come from the caller, so that a run can be repeated from its seed. */
int rand(void) BANNED("use struct rng");
void srand(unsigned seed) BANNED("use struct rng");
long random(void) BANNED("use struct rng");
void srandom(unsigned seed) BANNED("use struct rng");

/* No code waits for time to pass: the loop calls back when a timer is due. */
unsigned sleep(unsigned seconds) BANNED("wait for an event of the loop");
int usleep(useconds_t us) BANNED("wait for an event of the loop");
int nanosleep(const struct timespec *want, struct timespec *left) BANNED("wait for an event of the loop");

/* Their time zone or their result is shared by the whole process. */
struct tm *localtime(const time_t *t) BANNED("times are UTC: use struct wall");
struct tm *gmtime(const time_t *t) BANNED("use struct wall");

/* Time comes from the caller as a struct now, so that the simulator can set it. */
#ifndef BANNED_CLOCK_OK
time_t time(time_t *ret) BANNED("take a struct now");
int gettimeofday(struct timeval *restrict tv, void *restrict tz) BANNED("take a struct now");
int clock_gettime(clockid_t clock, struct timespec *ret) BANNED("take a struct now");
#endif

/* Only main reads settings and writes output. */
#ifndef BANNED_CONSOLE_OK
char *getenv(const char *name) BANNED("settings come from main");
int printf(const char *fmt, ...) BANNED("use log_emit");
int vprintf(const char *fmt, va_list args) BANNED("use log_emit");
int puts(const char *s) BANNED("use log_emit");
int putchar(int c) BANNED("use log_emit");
#endif
