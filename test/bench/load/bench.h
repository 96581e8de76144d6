/* The load generator: what its files share.
 *
 *   main      options, the cases in order
 *   cases     what is measured
 *   floors    what this machine can do without us, and our lowest layers alone
 *   curves    what things cost as their number grows
 *   flow      a number of operations, so many at a time
 *   json      the same over HTTP/1.1
 *   worker    polls for tasks and answers them
 *   requests  the messages that a client sends
 *   subject   the server's process
 *   samples, table   latencies, and how results are printed
 *
 * One thread, one loop, a few connections with many streams each. Whatever a call returns that is not OK ends
 * the program: a benchmark that counts failures as work is no benchmark. */
#pragma once

#include <fcntl.h>

#include "base/base.h"
#include "base/list.h"
#include "client/client.h"
#include "host/loop.h"
#include "samples.h"
#include "subject.h"
#include "table.h"

#define CONNECTIONS_MAX 16

struct bench {
    const char *binary;
    char directory[256]; /* of this run; removed at the end */
    char file[320]; /* data file of the server under test */
    double scale; /* of the number of operations */
    size_t width; /* operations under way */
    size_t connection_count;
    struct loop *loop;
    struct subject subject;
    struct client *clients[CONNECTIONS_MAX];
    size_t next_client;
    struct list calls; /* under way */
    struct table *table;
};

noreturn_fn void die(const char *fmt, ...) printf_like(1, 2);
int64_t now_us(void);
int64_t wall_us(void);

/* A server on a fresh file, connections to it; and the end of both. */
void bench_open(struct bench *b);
void bench_close(struct bench *b);
void bench_connect(struct bench *b);
void bench_disconnect(struct bench *b);
void bench_clear_files(struct bench *b);
int64_t bench_file_bytes(const struct bench *b); /* data and log */

/* On the connections in turn. Replies that are not OK end the program. */
void bench_call(struct bench *b, enum client_method method, const ProtobufCMessage *request,
                void (*on_reply)(void *ctx, const struct client_reply *r), void *ctx);
/* How many runs the server lists for this query. */
int64_t bench_count(struct bench *b, const char *query);
void bench_pause(struct bench *b, int64_t us); /* lets time pass for the server, without load */

/* What a stretch of work cost. */
struct meter {
    int64_t begin_us;
    int64_t own_cpu_us;
    struct usage usage;
};
void meter_begin(struct meter *m, const struct bench *b);
/* Adds a row to the table; ops is what was done since meter_begin. */
struct result *meter_end(struct meter *m, struct bench *b, const char *name, size_t width, size_t ops,
                         struct samples *latency);

/* floors.c, floor_nghttp2.c, floor_sqlite.c */
void floor_sync(struct bench *b);
void floor_nghttp2(struct bench *b);
void floor_layer(struct bench *b);
void floor_sqlite(struct bench *b);
void floor_store(struct bench *b);
