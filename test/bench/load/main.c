/* bench_load: the load generator.
 *
 *   bench_load --server build/rondo [--only CASE]... [--scale X] [--width N] [--connections N]
 *              [--dir DIRECTORY] [--json FILE]
 *
 * Without --only all cases of cases.def run in their order, but for those that must be asked for. --scale
 * multiplies the number of operations of each. The data files are in a directory of their own in DIRECTORY
 * (default: the current one), because what is measured is that disk. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cases.h"

#define WIDTH 96
#define CONNECTIONS 4
#define ONLY_MAX 16

struct options {
    const char *binary;
    const char *directory;
    const char *json;
    const char *only[ONLY_MAX];
    size_t only_count;
    double scale;
    size_t width;
    size_t connections;
};

enum when { ALWAYS, ASKED };

static const struct {
    const char *name;
    enum when when;
    const char *text;
    void (*run)(struct bench *b);
} cases[] = {
#define CASE(name, when, text) {#name, when, text, case_##name},
#include "cases.def"
#undef CASE
};

static noreturn_fn void usage(void) {
    (void)fputs(
        "usage: bench_load --server PROGRAM [--only CASE]... [--scale X] [--width N] [--connections N]\n"
        "                  [--dir DIRECTORY] [--json FILE]\n"
        "cases:\n",
        stderr);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        (void)fprintf(stderr, "  %-10s%s\n", cases[i].name, cases[i].text);
    exit(2);
}

static bool is_case(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (cstr_eq(cases[i].name, name))
            return true;
    return false;
}

static void parse(struct options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!value)
            usage();
        if (cstr_eq(flag, "--server"))
            o->binary = value;
        else if (cstr_eq(flag, "--dir"))
            o->directory = value;
        else if (cstr_eq(flag, "--json"))
            o->json = value;
        else if (cstr_eq(flag, "--scale"))
            o->scale = strtod(value, NULL);
        else if (cstr_eq(flag, "--width"))
            o->width = strtoul(value, NULL, 10);
        else if (cstr_eq(flag, "--connections"))
            o->connections = strtoul(value, NULL, 10);
        else if (cstr_eq(flag, "--only") && is_case(value) && o->only_count < ONLY_MAX)
            o->only[o->only_count++] = value;
        else
            usage();
    }
    if (!o->binary || o->scale <= 0 || o->width < 1 || o->connections < 1 || o->connections > CONNECTIONS_MAX)
        usage();
}

static bool is_wanted(const struct options *o, size_t c) {
    for (size_t i = 0; i < o->only_count; i++)
        if (cstr_eq(o->only[i], cases[c].name))
            return true;
    return o->only_count == 0 && cases[c].when == ALWAYS;
}

int main(int argc, char **argv) {
    struct options o = {.directory = ".", .scale = 1, .width = WIDTH, .connections = CONNECTIONS};
    struct table table = {0};
    parse(&o, argc, argv);
    struct bench b = {.binary = o.binary,
                      .scale = o.scale,
                      .width = o.width,
                      .connection_count = o.connections,
                      .table = &table};
    (void)snprintf(b.directory, sizeof(b.directory), "%s/bench_load.XXXXXX", o.directory);
    if (!mkdtemp(b.directory))
        die("cannot make a directory in %s", o.directory);
    (void)snprintf(b.file, sizeof(b.file), "%s/load.db", b.directory);
    if (o.json && !(table.json = fopen(o.json, "we")))
        die("cannot write %s", o.json);
    list_init(&b.calls);
    if (loop_new(&b.loop) < 0)
        die("no event loop");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (is_wanted(&o, i))
            cases[i].run(&b);
    loop_free(b.loop);
    bench_clear_files(&b);
    (void)rmdir(b.directory); /* somebody put a file of theirs there */
    if (table.json && fclose(table.json) != 0)
        die("cannot write %s", o.json);
    return 0;
}
