/* The file system in front of SQLite's own.
 *
 * The happy path of a call: take the lock, count it, ask whether it fails, let the real one happen, note it.
 * That the directory was synced is seen where SQLite opens it for that, the one system call of its that
 * matters here and that no file method shows. */
#include "disk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "power.h"

#define VFS_NAME "disk"
#define LOST_PAGES_SEED 41

struct call_kind {
    const char *name;
    int codes[DISK_ERRORS]; /* 0: does not happen */
};

static const struct call_kind kinds[DISK_CALLS] = {
#define CALL(name, eio, enospc, can_be_short)                                                                \
    [DISK_##name] = {#name, {eio, enospc, (can_be_short) ? SQLITE_FULL : 0}},
#include "calls.def"
#undef CALL
    [DISK_ANY] = {"any", {SQLITE_IOERR, 0, 0}},
};

const char *disk_call_name(enum disk_call call) {
    return kinds[call].name;
}

const char *disk_error_name(enum disk_error error) {
    static const char *const names[] = {"EIO", "ENOSPC", "short"};
    return names[error];
}

bool disk_call_meets(enum disk_call call, enum disk_error error) {
    return kinds[call].codes[error] != 0;
}

/* SQLite allocates it, with the real file behind it. */
struct disk_file {
    sqlite3_file base;
    struct disk *disk;
    int node; /* in the trace */
    unsigned seen_errors; /* of the node, by this opening of it */
    bool is_log;
};

static sqlite3_file *real(sqlite3_file *f) {
    return (sqlite3_file *)((struct disk_file *)(void *)f + 1);
}

static struct disk *disk_of(sqlite3_file *f) {
    return ((struct disk_file *)(void *)f)->disk;
}

/* Begins a call: SQLITE_OK, with the lock held, or the error that it meets. */
static bool is_hit(struct disk *d, enum disk_call call) {
    d->counts[call]++;
    const struct disk_fault *f = &d->fault;
    if (!f->at || f->call != call)
        return false;
    return f->is_for_ever ? d->counts[call] >= f->at : d->counts[call] == f->at;
}

static int failure(struct disk *d, enum disk_call call) {
    bool is_this = is_hit(d, call);
    bool is_any = is_hit(d, DISK_ANY);
    if (!is_this && !is_any)
        return SQLITE_OK;
    d->has_fired = true;
    return kinds[call].codes[is_this ? d->fault.error : DISK_EIO];
}

static void note_op(sqlite3_file *file, enum trace_kind kind, sqlite3_int64 at, const void *data, int len) {
    struct disk_file *f = (struct disk_file *)(void *)file;
    trace_add(
        &f->disk->trace,
        &(struct trace_op){
            .kind = kind, .node = f->node, .at = at, .len = (size_t)len, .data = (uint8_t *)(uintptr_t)data});
}

static void note_directory(struct disk *d) {
    if (d->has_synced_directory)
        trace_add(&d->trace, &(struct trace_op){.kind = TRACE_SYNC_DIRECTORY});
    d->has_synced_directory = false;
}

/* files */

#define PASS(file, call_name, expression)                                                                    \
    struct disk *d = disk_of(file);                                                                          \
    pthread_mutex_lock(&d->lock);                                                                            \
    int rc = failure(d, DISK_##call_name);                                                                   \
    if (rc == SQLITE_OK)                                                                                     \
        rc = (expression);                                                                                   \
    pthread_mutex_unlock(&d->lock);                                                                          \
    return rc

static int file_close(sqlite3_file *file) {
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *space, int len, sqlite3_int64 at) {
    PASS(file, read, real(file)->pMethods->xRead(real(file), space, len, at));
}

static int write_noted(sqlite3_file *file, const void *data, int len, sqlite3_int64 at) {
    int rc = real(file)->pMethods->xWrite(real(file), data, len, at);
    if (rc == SQLITE_OK)
        note_op(file, TRACE_WRITE, at, data, len);
    return rc;
}

static int file_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at) {
    struct disk *d = disk_of(file);
    pthread_mutex_lock(&d->lock);
    int rc = failure(d, DISK_write);
    if (rc == SQLITE_OK)
        rc = write_noted(file, data, len, at);
    else if (d->fault.error == DISK_SHORT && len > 1)
        (void)write_noted(file, data, len / 2, at); /* the disk is full, and that is the answer */
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct disk *d = disk_of(file);
    pthread_mutex_lock(&d->lock);
    int rc = failure(d, DISK_truncate);
    if (rc == SQLITE_OK)
        rc = real(file)->pMethods->xTruncate(real(file), size);
    if (rc == SQLITE_OK)
        note_op(file, TRACE_TRUNCATE, size, NULL, 0);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* A kernel tells each opening of a file once that pages were lost. */
static int sync_failure(struct disk *d, struct disk_file *f) {
    int rc = failure(d, DISK_sync);
    if (rc != SQLITE_OK) {
        d->sync_errors[f->node]++;
        if (f->is_log)
            d->unsafe = MIN(d->unsafe, d->begun + 1);
        power_lose_pages(&d->trace, d->directory, f->node, LOST_PAGES_SEED);
    } else if (f->seen_errors != d->sync_errors[f->node]) {
        rc = SQLITE_IOERR_FSYNC;
    }
    f->seen_errors = d->sync_errors[f->node];
    return rc;
}

static int file_sync(sqlite3_file *file, int flags) {
    struct disk *d = disk_of(file);
    pthread_mutex_lock(&d->lock);
    int rc = sync_failure(d, (struct disk_file *)(void *)file);
    if (rc == SQLITE_OK) {
        rc = real(file)->pMethods->xSync(real(file), flags);
        ensure(rc == SQLITE_OK);
        note_op(file, TRACE_SYNC, 0, NULL, 0);
        note_directory(d);
    }
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret) {
    PASS(file, size, real(file)->pMethods->xFileSize(real(file), ret));
}

static int file_lock(sqlite3_file *file, int kind) {
    PASS(file, lock, real(file)->pMethods->xLock(real(file), kind));
}

static int file_unlock(sqlite3_file *file, int kind) {
    return real(file)->pMethods->xUnlock(real(file), kind);
}

static int file_reserved(sqlite3_file *file, int *ret) {
    return real(file)->pMethods->xCheckReservedLock(real(file), ret);
}

static int file_control(sqlite3_file *file, int op, void *arg) {
    return real(file)->pMethods->xFileControl(real(file), op, arg);
}

static int file_sector(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}

static int file_device(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret) {
    PASS(file, shm_map, real(file)->pMethods->xShmMap(real(file), page, size, extend, ret));
}

/* Giving a lock back does not fail. */
static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
    if (flags & SQLITE_SHM_UNLOCK)
        return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
    PASS(file, shm_lock, real(file)->pMethods->xShmLock(real(file), offset, n, flags));
}

static void file_shm_barrier(sqlite3_file *file) {
    real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int is_deleted) {
    return real(file)->pMethods->xShmUnmap(real(file), is_deleted);
}

static const sqlite3_io_methods disk_methods = {
    .iVersion = 2, /* nothing is mapped: reads are seen */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* the directory */

static int node_of(struct disk *d, const char *path) {
    const char *name = path ? trace_base_name(path) : "";
    int node = trace_find(&d->trace, name);
    if (node >= 0)
        return node;
    struct trace_op made = {.kind = TRACE_CREATE, .node = d->trace.node_count};
    (void)snprintf(made.name, sizeof made.name, "%s", name);
    trace_add(&d->trace, &made);
    return made.node;
}

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags) {
    struct disk *d = vfs->pAppData;
    struct disk_file *f = (struct disk_file *)(void *)file;
    *f = (struct disk_file){.disk = d, .is_log = flags & SQLITE_OPEN_WAL};
    pthread_mutex_lock(&d->lock);
    int rc = failure(d, DISK_open);
    real(file)->pMethods = NULL;
    if (rc == SQLITE_OK)
        rc = d->real->xOpen(d->real, path, real(file), flags, ret_flags);
    if (rc == SQLITE_OK) {
        f->node = node_of(d, path);
        ensure(f->node < DISK_NODES_MAX);
        f->seen_errors = d->sync_errors[f->node];
    }
    /* SQLite closes what has methods, even when opening it failed. */
    if (real(file)->pMethods)
        f->base.pMethods = &disk_methods;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int is_synced) {
    struct disk *d = vfs->pAppData;
    pthread_mutex_lock(&d->lock);
    int rc = failure(d, DISK_delete);
    if (rc == SQLITE_OK)
        rc = d->real->xDelete(d->real, path, is_synced);
    if (rc == SQLITE_OK && trace_find(&d->trace, trace_base_name(path)) >= 0) {
        struct trace_op gone = {.kind = TRACE_DELETE};
        (void)snprintf(gone.name, sizeof gone.name, "%s", trace_base_name(path));
        trace_add(&d->trace, &gone);
    }
    note_directory(d);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret) {
    struct disk *d = vfs->pAppData;
    pthread_mutex_lock(&d->lock);
    int rc = failure(d, DISK_access);
    if (rc == SQLITE_OK)
        rc = d->real->xAccess(d->real, path, flags, ret);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* Within a call of ours that has the lock. SQLite syncs what it gets, and closes it. */
static int open_directory(const char *path, int *ret_fd) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(VFS_NAME);
    ensure(vfs);
    struct disk *d = vfs->pAppData;
    *ret_fd = open(d->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ensure(*ret_fd >= 0 && strncmp(path, d->directory, strlen(d->directory)) == 0);
    d->has_synced_directory = true;
    return SQLITE_OK;
}

/* the disk */

void disk_begin(struct disk *d, const char *directory) {
    *d = (struct disk){.real = sqlite3_vfs_find(NULL), .unsafe = INT64_MAX};
    ensure(d->real && cstr_eq(d->real->zName, "unix"));
    (void)snprintf(d->directory, sizeof d->directory, "%s", directory);
    pthread_mutex_init(&d->lock, NULL);
    trace_init(&d->trace, directory);
    d->vfs = *d->real;
    d->vfs.zName = VFS_NAME;
    d->vfs.pNext = NULL;
    d->vfs.pAppData = d; /* not the VFS itself: the store puts a copy of it in front */
    d->vfs.szOsFile = (int)sizeof(struct disk_file) + d->real->szOsFile;
    d->vfs.xOpen = disk_open;
    d->vfs.xDelete = disk_delete;
    d->vfs.xAccess = disk_access;
    ensure(sqlite3_vfs_register(&d->vfs, 1) == SQLITE_OK);
    ensure(d->real->xSetSystemCall(d->real, "openDirectory", (sqlite3_syscall_ptr)open_directory) ==
           SQLITE_OK);
}

void disk_let_fail(struct disk *d, const struct disk_fault *f) {
    pthread_mutex_lock(&d->lock);
    d->fault = *f;
    pthread_mutex_unlock(&d->lock);
}

void disk_note(struct disk *d, enum trace_kind kind, int64_t at) {
    pthread_mutex_lock(&d->lock);
    trace_add(&d->trace, &(struct trace_op){.kind = kind, .at = at});
    if (kind == TRACE_BEGUN)
        d->begun = at;
    pthread_mutex_unlock(&d->lock);
}

void disk_forgive(struct disk *d) {
    pthread_mutex_lock(&d->lock);
    d->unsafe = INT64_MAX;
    pthread_mutex_unlock(&d->lock);
}

bool disk_is_unsafe(struct disk *d, int64_t batch) {
    pthread_mutex_lock(&d->lock);
    bool is_unsafe = batch >= d->unsafe;
    pthread_mutex_unlock(&d->lock);
    return is_unsafe;
}

void disk_end(struct disk *d) {
    ensure(d->real->xSetSystemCall(d->real, "openDirectory", NULL) == SQLITE_OK);
    sqlite3_vfs_unregister(&d->vfs);
    ensure(sqlite3_vfs_register(d->real, 1) == SQLITE_OK);
}

void disk_done(struct disk *d) {
    trace_done(&d->trace);
    pthread_mutex_destroy(&d->lock);
}
