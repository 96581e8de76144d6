/* Structured logs: one line is one event name and its fields.
 *
 *   log_emit(log, LOG_server_ready, log_str("grpc", addr), log_int("pid", pid));
 *
 * Names and levels come from logs.def. log_init() chooses text or JSON. Never log payloads, tokens or SQL
 * parameters. A NULL log is silent. Any thread may log; a line is one write(2). */
#pragma once

#include "base/base.h"
#include "base/clock.h"

/* In ascending order up to LOG_SILENT, at which a log shows nothing. LOG_ROUTINE is the level of rows only.
 */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_ASKED, LOG_SILENT, LOG_ROUTINE };
enum log_format { LOG_TEXT, LOG_JSON };

enum log_event {
#define LOG(name, level) LOG_##name,
#include "base/logs.def"
#undef LOG
    LOG_EVENT_COUNT,
};

struct log_field {
    const char *name;
    const char *text; /* NULL: number */
    int64_t number;
    bool is_time; /* the number is microseconds since 1970, shown as a date */
};

struct log {
    int fd; /* belongs to the caller */
    _Atomic int level; /* enum log_level; may change while threads log */
    _Atomic int routine; /* the level of LOG_ROUTINE rows; may change too */
    enum log_format format;
    struct wall (*clock)(void); /* the time of each line; called by the thread that logs */
};

/* A field. Name and text must live until the line is written; a NULL text is empty. */
static inline struct log_field log_str(const char *name, const char *text) {
    return (struct log_field){name, text ? text : "", 0, false};
}
static inline struct log_field log_int(const char *name, int64_t number) {
    return (struct log_field){name, NULL, number, false};
}
static inline struct log_field log_time(const char *name, int64_t wall_us) {
    return (struct log_field){name, NULL, wall_us, true};
}

void log_init(struct log *l, int fd, enum log_level level, enum log_format format,
              struct wall (*clock)(void));
bool log_shows(const struct log *l, enum log_event event); /* whether log_write() would write the event now */
void log_write(struct log *l, enum log_event event, const struct log_field *fields, size_t count);
int log_level_parse(const char *name,
                    enum log_level *ret) must_check; /* debug info warn error never; else ERR_INVALID */
int log_format_parse(const char *name, enum log_format *ret) must_check; /* text json; else ERR_INVALID */

#define log_emit(l, event, ...)                                                                              \
    log_write((l), (event), (const struct log_field[]){{"", "", 0, false}, ##__VA_ARGS__} + 1,               \
              sizeof((const struct log_field[]){{"", "", 0, false}, ##__VA_ARGS__}) /                        \
                      sizeof(struct log_field) -                                                             \
                  1)
