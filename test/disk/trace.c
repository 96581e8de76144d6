/* The list of operations. What cannot be allocated here ends the program. */
#include "trace.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"

#define OPS_FIRST 256

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && cstr_eq(text + n - m, end);
}

static bool is_kept(const char *name) {
    return name[0] != '.' && !ends_with(name, "-shm") && !ends_with(name, ".lock");
}

static void read_file(struct trace_file *f, const char *directory, const char *name) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    FILE *in = fopen(path, "rbe");
    ensure(in && fseek(in, 0, SEEK_END) == 0);
    long size = ftell(in);
    ensure(size >= 0 && fseek(in, 0, SEEK_SET) == 0);
    f->size = (size_t)size;
    f->data = mem_alloc(f->size + 1);
    ensure(f->data && fread(f->data, 1, f->size, in) == f->size);
    (void)fclose(in); /* nothing was written */
}

void trace_init(struct trace *t, const char *directory) {
    *t = (struct trace){0};
    DIR *d = opendir(directory);
    ensure(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (!is_kept(e->d_name))
            continue;
        t->files = mem_resize(t->files, ((size_t)t->file_count + 1) * sizeof *t->files);
        ensure(t->files);
        read_file(&t->files[t->file_count++], directory, e->d_name);
    }
    closedir(d);
    t->node_count = t->file_count;
}

void trace_done(struct trace *t) {
    for (size_t i = 0; i < t->count; i++)
        mem_free(t->ops[i].data);
    for (int i = 0; i < t->file_count; i++)
        mem_free(t->files[i].data);
    mem_free(t->ops);
    mem_free(t->files);
    *t = (struct trace){0};
}

void trace_add(struct trace *t, const struct trace_op *op) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : OPS_FIRST;
        t->ops = mem_resize(t->ops, t->room * sizeof *t->ops);
        ensure(t->ops);
    }
    struct trace_op *added = &t->ops[t->count++];
    *added = *op;
    if (op->data) {
        added->data = mem_alloc(op->len);
        ensure(added->data);
        memcpy(added->data, op->data, op->len);
    }
    if (op->kind == TRACE_CREATE)
        t->node_count = MAX(t->node_count, op->node + 1);
}

int trace_find(const struct trace *t, const char *name) {
    for (size_t i = t->count; i-- > 0;) {
        const struct trace_op *op = &t->ops[i];
        if ((op->kind == TRACE_CREATE || op->kind == TRACE_DELETE) && cstr_eq(op->name, name))
            return op->kind == TRACE_CREATE ? op->node : -1;
    }
    for (int i = 0; i < t->file_count; i++)
        if (cstr_eq(t->files[i].name, name))
            return i;
    return -1;
}

const char *trace_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
