/* Calls with each allocation of the server's own work failing in turn, on a real file.
 *
 *   torture [--every N] [--from N] DIRECTORY FILE|DIRECTORY...
 *
 * Each file is a script (script.h). For each allocation that it makes a process of its own runs it with that
 * one failing; --every 11 takes one in eleven, other ones in each file. DIRECTORY is where the store's file
 * is put.
 *
 * Then one of these must be so, and nothing else: the call fails with an error that says to try again, or is
 * answered all the same; or the process ends on purpose, by an ensure() of torture_ends.def. It never leaks,
 * and calls that come later are answered. Afterwards a server is started on the file, and the events that
 * were shown before are there. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "ends.h"
#include "script.h"
#include "wire/encode.h"

#define PATH_BYTES_MAX 4096
#define SCRIPT_BYTES_MAX 4096
#define SHOWN_BYTES_MAX ((size_t)64 << 10)
#define WORDS_BYTES_MAX 2048
#define STEPS_MAX 64
#define WORKFLOW_ID "w" /* what the scripts call theirs */

/* Shared with the process that runs the script. */
struct report {
    bool has_fired;
    bool is_taken_back; /* something that was shown was not shown later */
    bool is_doubtful; /* an answer may lack something */
    bool is_asked_to_remove;
    int step; /* the one in which it fired */
    int codes[STEPS_MAX]; /* of all of them */
    char run_id[64];
    size_t shown; /* bytes of its history that a client has seen */
    uint8_t history[SHOWN_BYTES_MAX];
};

struct tally {
    unsigned long runs, failed, survived, ended, wrong;
    unsigned long ends[ENDS_COUNT];
};

struct plan {
    const char *file; /* the store's */
    unsigned long every, from;
    struct report *report;
    int usual[STEPS_MAX]; /* codes of the script when nothing fails */
    struct tally tally;
};

/* what clients see */

static char *text_of(const char *s) {
    return (char *)(uintptr_t)s;
}

/* Asks for the history of a run, and packs it when it is given. */
static struct ask *read_history(struct world *w, char *run_id, struct buf *ret) {
    Ws__GetWorkflowExecutionHistoryRequest r = WS__GET_WORKFLOW_EXECUTION_HISTORY_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    execution.workflow_id = text_of(WORKFLOW_ID);
    execution.run_id = run_id;
    r.namespace_ = text_of("default");
    r.execution = &execution;
    struct ask *a = world_send(w, "GetWorkflowExecutionHistory", &r.base);
    if (a->is_done && a->code == 0)
        wire_encode(
            ret, &((const Ws__GetWorkflowExecutionHistoryResponse *)(const void *)a->answer)->history->base);
    return a;
}

static bool is_removal(const struct method *m) {
    return strstr(m->name, "Delete") || strstr(m->name, "Batch");
}

static bool is_retryable(int code) {
    return code == 0 || code == ERR_NO_MEMORY || code == ERR_BUSY || code == ERR_FULL ||
           code == ERR_UNAVAILABLE || code == ERR_MULTI; /* which names the one that failed */
}

/* What a client that looks now is shown must never be taken back. */
static void look(struct world *w, struct report *rep) {
    struct buf history cleanup(buf_done);
    buf_init(&history, SHOWN_BYTES_MAX);
    if (!w->run_id[0] || w->is_damaged)
        return;
    w->is_calm = true;
    struct ask *a = read_history(w, w->run_id, &history);
    if (a->is_done && a->code == 0 && buf_ok(&history)) {
        struct str before = str_bytes(rep->history, rep->shown);
        rep->is_taken_back |= cstr_eq(rep->run_id, w->run_id) && !str_starts(buf_str(&history), before);
        memcpy(rep->run_id, w->run_id, sizeof(rep->run_id));
        memcpy(rep->history, history.data, history.len);
        rep->shown = history.len;
    } else {
        rep->is_taken_back |= a->code != ERR_NOT_FOUND; /* some of these run ids are of no workflow */
    }
    ask_free(a);
    w->is_calm = false;
}

/* one run */

static void run_script(const struct plan *p, struct str bytes, unsigned long nth) {
    struct script script = {(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n};
    struct report *rep = p->report;
    struct world w;
    struct ask *a;
    world_open_file(&w, p->file);
    ensure(w.is_ready);
    fault_arm_alloc(nth);
    fault_pause(true);
    for (int step = 0; step < STEPS_MAX && !w.is_damaged && script_step(&script, &w, &a); step++) {
        rep->codes[step] = a && a->is_done ? a->code : 0;
        if (!rep->has_fired)
            rep->step = step;
        rep->has_fired = fault_fired();
        rep->is_doubtful |= a && a->is_done && a->is_doubtful;
        rep->is_asked_to_remove |= a && is_removal(a->method);
        look(&w, rep);
    }
    rep->has_fired = fault_fired();
    fault_disarm();
    world_close(&w);
}

static void clear_file(const struct plan *p) {
    static const char *const tails[] = {"", "-wal", "-shm"};
    char path[PATH_BYTES_MAX + 8];
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", p->file, tails[i]);
        (void)unlink(path); /* maybe there is none */
    }
}

/* Runs the script in a process of its own; its last words are in `words`. */
static int run_apart(const struct plan *p, struct str bytes, unsigned long nth, char words[WORDS_BYTES_MAX]) {
    int fds[2], status = -1;
    size_t n = 0;
    ensure(pipe(fds) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        run_script(p, bytes, nth);
        exit(0); /* leaks are looked for now */
    }
    close(fds[1]);
    for (ssize_t got;
         n < WORDS_BYTES_MAX - 1 && (got = read(fds[0], words + n, WORDS_BYTES_MAX - 1 - n)) > 0;)
        n += (size_t)got;
    words[n] = 0;
    close(fds[0]);
    ensure(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

/* Whether all that was shown is there after a start. */
static bool is_kept(const struct plan *p) {
    struct report *rep = p->report;
    struct buf history cleanup(buf_done);
    struct world w;
    bool ok = true;
    buf_init(&history, (size_t)1 << 20);
    world_open_file(&w, p->file);
    if (!w.is_ready || w.is_damaged)
        return false;
    if (rep->run_id[0]) {
        struct str shown = str_bytes(rep->history, rep->shown);
        struct ask *a = read_history(&w, rep->run_id, &history);
        ok = a->code == 0 ? str_starts(buf_str(&history), shown) : rep->is_asked_to_remove;
    }
    world_close(&w);
    return ok;
}

static void complain(struct tally *t, const char *name, unsigned long nth, const char *what,
                     const char *words) {
    t->wrong++;
    printf("# %s, allocation %lu: %s\n%s\n", name, nth, what, words);
}

/* False when the script makes fewer allocations. */
static bool torture_one(struct plan *p, const char *name, struct str bytes, unsigned long nth) {
    char words[WORDS_BYTES_MAX];
    struct tally *t = &p->tally;
    struct report *rep = p->report;
    memset(rep, 0, sizeof(*rep));
    clear_file(p);
    int status = run_apart(p, bytes, nth, words);
    bool is_ended = status != 0;
    int code = rep->codes[rep->step];
    if (!is_ended && !rep->has_fired)
        return false;
    t->runs++;
    if (is_ended && !ends_take(t->ends, status, words))
        complain(t, name, nth, "the process ended, and not on purpose", words);
    else if (!is_ended && !is_retryable(code) && code != p->usual[rep->step])
        complain(t, name, nth, "the call's error is no invitation to try again", err_name(code));
    else if (rep->is_doubtful)
        complain(t, name, nth, "a call was answered although its memory had run out", "");
    else if (rep->is_taken_back)
        complain(t, name, nth, "what was shown is not shown any more", "");
    else if (!is_kept(p))
        complain(t, name, nth, "what was shown is gone after a start", "");
    t->ended += is_ended;
    t->survived += !is_ended && code == p->usual[rep->step];
    t->failed += !is_ended && code != p->usual[rep->step];
    return true;
}

static void torture_file(struct plan *p, const char *path, const char *name) {
    char bytes[SCRIPT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    ensure(file);
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ensure(!torture_one(p, name, str_bytes(bytes, n), ULONG_MAX)); /* nothing fails */
    memcpy(p->usual, p->report->codes, sizeof(p->usual));
    unsigned long nth = p->from;
    while (torture_one(p, name, str_bytes(bytes, n), nth))
        nth += p->every;
    printf("# %s: about %lu allocations\n", name, nth);
    fflush(stdout);
    p->from = 1 + nth % p->every; /* others in the next */
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void torture_path(struct plan *p, const char *path) {
    struct dirent **entries;
    struct stat st;
    ensure(stat(path, &st) == 0);
    if (!S_ISDIR(st.st_mode)) {
        torture_file(p, path, path);
        return;
    }
    int n = scandir(path, &entries, NULL, by_name);
    ensure(n >= 0);
    for (int i = 0; i < n; i++) {
        char inside[PATH_BYTES_MAX];
        int len = snprintf(inside, sizeof(inside), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && len < (int)sizeof(inside))
            torture_file(p, inside, entries[i]->d_name);
        mem_free(entries[i]);
    }
    mem_free(entries);
}

static void print_tally(const struct tally *t) {
    ends_print(t->ends);
    printf("# %lu failing allocations: %lu failed their call, %lu went unnoticed, %lu ended the process on "
           "purpose, "
           "%lu were wrong\n",
           t->runs, t->failed, t->survived, t->ended, t->wrong);
    printf("%s 1 - requests\n1..1\n", t->wrong || !t->runs ? "not ok" : "ok");
}

int main(int argc, char **argv) {
    char file[PATH_BYTES_MAX];
    struct plan p = {.file = file, .every = 1, .from = 1};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
        *(cstr_eq(argv[i], "--every") ? &p.every : &p.from) = MAX(strtoul(argv[i + 1], NULL, 10), 1);
    if (i + 1 >= argc) {
        fprintf(stderr, "usage: %s [--every N] [--from N] DIRECTORY FILE|DIRECTORY...\n", argv[0]);
        return 2;
    }
    (void)snprintf(file, sizeof(file), "%s/torture_%ld.db", argv[i++], (long)getpid());
    p.report = mmap(NULL, sizeof(*p.report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ensure(p.report != MAP_FAILED);
    for (; i < argc; i++)
        torture_path(&p, argv[i]);
    clear_file(&p);
    print_tally(&p.tally);
    return p.tally.wrong || !p.tally.runs ? 1 : 0;
}
