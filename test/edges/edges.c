/* Requests to a whole server, over real sockets, with each allocation of its loop thread failing in turn.
 *
 *   edges [--every N] [--from N] DIRECTORY SCRIPT...
 *
 * A script (script.h) runs once as it is; that gives the usual answers. Then once more for each allocation
 * that the server makes for it, with that one failing: from the socket over HTTP/2 or HTTP/1.1, gRPC or JSON,
 * to the engine and back. --every 11 takes one in eleven, other ones in each script.
 *
 * A step is answered as usual, or says that it should be asked again, or its connection ends; asked again, it
 * is answered as usual. Or the process ends on purpose (fuzz/torture_ends.def): then a server is started on
 * its file, and the step is asked there. Nothing leaks, nothing else ends the process, no answer says
 * anything else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "caller.h"
#include "fuzz/ends.h"
#include "patient.h"

#define PATH_BYTES_MAX 4096
#define SCRIPT_BYTES_MAX 16384
#define DIFFERENCE_BYTES 240 /* of an answer, to be shown */
#define TRIES_MAX 3 /* one allocation fails: it spoils a call, and perhaps the connection of the next */

struct tally {
    unsigned long runs, failed, survived, ended, wrong;
    unsigned long ends[ENDS_COUNT];
};

struct plan {
    char file[PATH_BYTES_MAX];
    unsigned long every, from;
    const char *name;
    struct script script;
    struct buf usual[STEPS_MAX]; /* masked */
    struct chart *chart;
    struct tally tally;
};

/* One run of the script. */
struct visit {
    struct plan *plan;
    unsigned long nth; /* 0: nothing fails */
    struct patient patient;
    struct caller caller;
    struct memory memory;
    bool has_failed; /* a step had to be asked again */
    bool is_wrong;
};

static void complain(struct visit *v, const char *what, struct str detail) {
    v->is_wrong = true;
    printf("# %s, allocation %lu: %s\n%.*s\n", v->plan->name, v->nth, what, (int)detail.n, detail.p);
}

static void clear_file(const struct plan *p) {
    static const char *const tails[] = {"", "-wal", "-shm"};
    char path[PATH_BYTES_MAX + 8];
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", p->file, tails[i]);
        (void)unlink(path); /* maybe there is none */
    }
}

/* steps */

static void ask(struct visit *v, const struct step *step, struct answer *ret) {
    struct buf path cleanup(buf_done), body cleanup(buf_done);
    buf_init(&path, SCRIPT_BYTES_MAX);
    buf_init(&body, SCRIPT_BYTES_MAX);
    memory_fill(&v->memory, step->path, &path);
    memory_fill(&v->memory, step->body, &body);
    ensure(buf_ok(&path) && buf_ok(&body));
    caller_ask(&v->caller, step, buf_str(&path), buf_str(&body), ret);
    memory_note(&v->memory, buf_str(&ret->text));
}

static void mask(const struct step *step, struct str answer, struct buf *ret) {
    size_t status = 0;
    while (status < answer.n && answer.p[status] != ' ')
        status++;
    buf_init(ret, (size_t)1 << 20);
    buf_add(ret, answer.p, status); /* a code is no number that differs */
    if (step->kind != STEP_LOOK)
        answer_mask(str_bytes(answer.p + status, answer.n - status), ret);
    ensure(buf_ok(ret));
}

/* It is there already, or not there any more. */
static bool is_done_already(const struct step *step, struct str answer) {
    if (step->kind == STEP_GRPC) /* a task is answered once */
        return memory_is_asked_for(step->body, "@task") && str_starts(answer, STR("5 "));
    return step->kind == STEP_ONCE && (str_starts(answer, STR("409 ")) || str_starts(answer, STR("404 ")));
}

/* Both from shortly before the first byte that differs. */
static void print_difference(struct str seen, struct str usual) {
    size_t same = 0;
    while (same < seen.n && same < usual.n && seen.p[same] == usual.p[same])
        same++;
    same -= MIN(same, (size_t)DIFFERENCE_BYTES / 2);
    printf("...%.*s\n...%.*s\n", (int)MIN(seen.n - same, (size_t)DIFFERENCE_BYTES), seen.p + same,
           (int)MIN(usual.n - same, (size_t)DIFFERENCE_BYTES), usual.p + same);
}

/* The details of an error, and then its text, are left out rather than the error. */
static bool is_bare_error(const struct step *step, struct str seen, struct str usual) {
    static const struct str end = STR("}\n");
    if (step->kind == STEP_GRPC)
        return seen.n > 1 && seen.p[seen.n - 1] == ' ' && seen.p[0] != '0' && str_starts(usual, seen);
    return seen.n > end.n && seen.p[0] == '4' && str_eq(str_bytes(seen.p + seen.n - end.n, end.n), end) &&
           str_starts(usual, str_bytes(seen.p, seen.n - end.n));
}

static bool is_usual(const struct visit *v, const struct step *step, struct str seen, struct str usual) {
    return str_eq(seen, usual) || is_bare_error(step, seen, usual) ||
           (v->has_failed && is_done_already(step, seen));
}

static void compare(struct visit *v, size_t i, struct str answer) {
    struct buf seen cleanup(buf_done);
    struct buf *usual = &v->plan->usual[i];
    const struct step *step = &v->plan->script.steps[i];
    mask(step, answer, &seen);
    if (v->nth == 0) {
        *usual = seen;
        seen = (struct buf){0};
    } else if (!is_usual(v, step, buf_str(&seen), buf_str(usual))) {
        complain(v, "an answer is not as usual; it was, and should have been:", STR(""));
        print_difference(buf_str(&seen), buf_str(usual));
    }
}

/* One of several things that were asked for in one call was refused. */
static bool is_partly_refused(struct str answer) {
    static const struct str words = STR("\"error\":\"Out of memory for this request.\"");
    return str_starts(answer, STR("200 ")) && memmem(answer.p, answer.n, words.p, words.n);
}

/* False when it was not answered for good. */
static bool do_step(struct visit *v, size_t i) {
    const struct step *step = &v->plan->script.steps[i];
    enum answer_kind kind = ANSWER_NONE;
    for (int try = 0; try < TRIES_MAX && kind != ANSWER_GIVEN && !patient_is_dead(&v->patient); try++) {
        struct answer a;
        ask(v, step, &a);
        kind = a.kind == ANSWER_GIVEN && is_partly_refused(buf_str(&a.text)) ? ANSWER_LATER : a.kind;
        v->has_failed |= kind != ANSWER_GIVEN;
        if (kind == ANSWER_GIVEN)
            compare(v, i, buf_str(&a.text));
        buf_done(&a.text);
    }
    return kind == ANSWER_GIVEN;
}

/* lives of the server */

static bool open_server(struct visit *v, unsigned long nth) {
    if (!patient_start(&v->patient, v->plan->chart, v->plan->file, nth)) {
        (void)patient_stop(&v->patient); /* it has none */
        complain(v, "no server could be started", str_of(v->patient.words));
        return false;
    }
    caller_open(&v->caller, v->patient.grpc_port, v->patient.http_port);
    return true;
}

static int close_server(struct visit *v) {
    caller_close(&v->caller);
    return patient_stop(&v->patient);
}

/* A server on the file that the dead one left. A task that only that one knew is offered again, so nobody
 * knows its token. */
static void ask_successor(struct visit *v, size_t i) {
    if (!open_server(v, 0))
        return;
    if (i < v->plan->script.count && !memory_is_asked_for(v->plan->script.steps[i].body, "@task") &&
        !do_step(v, i))
        complain(v, "the server that came after it does not answer", STR(""));
    if (close_server(v) != 0)
        complain(v, "the server that came after it ended badly", str_of(v->patient.words));
}

static void finish(struct visit *v, int status, size_t steps) {
    const struct plan *p = v->plan;
    struct tally *t = &v->plan->tally;
    if (status == 0) {
        t->failed += v->has_failed;
        t->survived += !v->has_failed;
        if (steps < p->script.count)
            complain(v, "a step is not answered, however often it is asked:",
                     p->script.steps[steps].path.n ? p->script.steps[steps].path
                                                   : p->script.steps[steps].method);
        return;
    }
    t->ended++;
    if (!ends_take(t->ends, status, v->patient.words))
        complain(v, "the process ended, and not on purpose", str_of(v->patient.words));
    else
        ask_successor(v, steps);
}

/* False when the server makes fewer allocations. */
static bool visit(struct plan *p, unsigned long nth) {
    struct visit v = {.plan = p, .nth = nth};
    size_t i = 0;
    clear_file(p);
    if (!open_server(&v, nth)) {
        p->tally.wrong++;
        return false;
    }
    while (i < p->script.count && do_step(&v, i))
        i++;
    int status = close_server(&v);
    bool has_fired = status != 0 || p->chart->has_fired;
    if (has_fired || i < p->script.count)
        finish(&v, status, i);
    p->tally.runs += has_fired;
    p->tally.wrong += v.is_wrong;
    return has_fired;
}

static void torture_file(struct plan *p, const char *path) {
    char text[SCRIPT_BYTES_MAX];
    FILE *file = fopen(path, "r");
    ensure(file);
    size_t n = fread(text, 1, sizeof(text), file);
    fclose(file);
    p->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    ensure(script_parse(&p->script, str_bytes(text, n)));
    unsigned long wrong = p->tally.wrong;
    ensure(!visit(p, 0) && p->tally.wrong == wrong); /* else its answers are no measure */
    unsigned long nth = p->from;
    while (visit(p, nth))
        nth += p->every;
    printf("# %s: about %lu allocations\n", p->name, nth);
    fflush(stdout);
    p->from = 1 + nth % p->every; /* others in the next */
    for (size_t i = 0; i < p->script.count; i++)
        buf_done(&p->usual[i]);
}

static void print_tally(const struct tally *t) {
    ends_print(t->ends);
    printf(
        "# %lu failing allocations: %lu failed a step, %lu went unnoticed, %lu ended the process on purpose, "
        "%lu were wrong\n",
        t->runs, t->failed, t->survived, t->ended, t->wrong);
    printf("%s 1 - edges\n1..1\n", t->wrong || !t->runs ? "not ok" : "ok");
}

int main(int argc, char **argv) {
    struct plan *p = mem_zalloc(sizeof(*p));
    int i = 1;
    ensure(p);
    p->every = p->from = 1;
    p->chart = chart_new();
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        *(cstr_eq(argv[i], "--every") ? &p->every : &p->from) = MAX(strtoul(argv[i + 1], NULL, 10), 1);
    if (i + 1 >= argc) {
        fprintf(stderr, "usage: %s [--every N] [--from N] DIRECTORY SCRIPT...\n", argv[0]);
        return 2;
    }
    (void)snprintf(p->file, sizeof(p->file), "%s/edges_%ld.db", argv[i++], (long)getpid());
    for (; i < argc; i++)
        torture_file(p, argv[i]);
    clear_file(p);
    print_tally(&p->tally);
    int code = p->tally.wrong || !p->tally.runs;
    mem_free(p);
    return code;
}
