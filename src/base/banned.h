/* What our code may not call, and what it calls instead.
 *
 * Force-included (-include base/banned.h) before every file except those of
 * base itself. It marks the functions of libc as unavailable, so that any use
 * of one, a call or its address, is an error that names the replacement. A
 * member or a local of the same name is not affected, nor are the headers of
 * libraries. It comes before the system's headers because clang ignores the
 * attribute once a function is defined, and some are, inline.
 *
 * Two doors can be opened for a whole directory, in its meson.build:
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

/* The heap has one door, or a failing allocation could not be tested. */
void *malloc(size_t size) BANNED("use mem_alloc");
void *calloc(size_t count, size_t size) BANNED("use mem_zalloc");
void *realloc(void *p, size_t size) BANNED("use mem_resize");
void free(void *p) BANNED("use mem_free");
char *strdup(const char *s) BANNED("use mem_strdup or arena_strdup");
char *strndup(const char *s, size_t n) BANNED("use arena_strndup");
int asprintf(char **ret, const char *fmt, ...) BANNED("use arena_printf");
int vasprintf(char **ret, const char *fmt, va_list args) BANNED("use arena_printf");

/* These do not know how much room there is. */
int sprintf(char *s, const char *fmt, ...) BANNED("use snprintf, buf_printf or arena_printf");
int vsprintf(char *s, const char *fmt, va_list args) BANNED("use vsnprintf");
char *strcpy(char *to, const char *from) BANNED("use snprintf or a struct str");
char *strcat(char *to, const char *from) BANNED("use struct buf");
char *gets(char *s) BANNED("use read");

/* These cannot say that the text was not a number, or keep state between calls. */
int atoi(const char *s) BANNED("use str_to_i64");
long atol(const char *s) BANNED("use str_to_i64");
long long atoll(const char *s) BANNED("use str_to_i64");
char *strtok(char *s, const char *delimiters) BANNED("use struct str");

/* Randomness is handed in, or a run could not be repeated from its seed. */
int rand(void) BANNED("use struct rng");
void srand(unsigned seed) BANNED("use struct rng");
long random(void) BANNED("use struct rng");
void srandom(unsigned seed) BANNED("use struct rng");

/* Nothing waits for time to pass: the loop calls when something is due. */
unsigned sleep(unsigned seconds) BANNED("wait for an event of the loop");
int usleep(useconds_t us) BANNED("wait for an event of the loop");
int nanosleep(const struct timespec *want, struct timespec *left) BANNED("wait for an event of the loop");

/* Their zone or their result belongs to the whole process. */
struct tm *localtime(const time_t *t) BANNED("times are UTC: use struct wall");
struct tm *gmtime(const time_t *t) BANNED("use struct wall");

/* Time is handed in as a struct now, or the simulator could not decide it. */
#ifndef BANNED_CLOCK_OK
time_t time(time_t *ret) BANNED("take a struct now");
int gettimeofday(struct timeval *restrict tv, void *restrict tz) BANNED("take a struct now");
int clock_gettime(clockid_t clock, struct timespec *ret) BANNED("take a struct now");
#endif

/* Settings and output have one place each. */
#ifndef BANNED_CONSOLE_OK
char *getenv(const char *name) BANNED("settings come from main");
int printf(const char *fmt, ...) BANNED("use log_emit");
int vprintf(const char *fmt, va_list args) BANNED("use log_emit");
int puts(const char *s) BANNED("use log_emit");
int putchar(int c) BANNED("use log_emit");
#endif
