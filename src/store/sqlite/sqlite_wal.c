/* The write-ahead log, written in large pieces.
 *
 * SQLite writes each page of a commit with two calls: 24 bytes that describe it,
 * then the page. A commit of fifty workflows is two hundred such calls, one behind
 * the other in the file, and only then a sync. A VFS in front of the system's own
 * holds them back and gives them to the kernel together.
 *
 * Held bytes belong to a commit that is not visible yet: SQLite tells
 * readers about a commit (in the log's index) after its sync, and syncing writes
 * first. So does everything else that looks at the file. A write that fails late
 * is reported by the sync, and a failed sync ends the process.
 *
 * A file that becomes longer costs more to sync than one whose bytes are overwritten: its file system has to
 * make its new size durable, too, and may have to wait for others to do so. So the log grows by many pages at
 * a time, filled with zeros, which are no frame of any log; once it has its length it only starts over.
 *
 * Only the log of the connection that writes goes through here. */
#include "base/mem.h"
#include "store/sqlite/sqlite_int.h"

#include <stdio.h>

#define HELD_BYTES_MAX (96u << 10) /* SQLite's unix files take less than 128 KiB at a time */
#define GROWTH_BYTES (512 << 10) /* eight or nine lonely starts */

/* SQLite allocates it, with the system's file behind it. */
struct wal_file {
    sqlite3_file base;
    uint8_t *held; /* HELD_BYTES_MAX; NULL until the first write */
    sqlite3_int64 held_at; /* where in the file they belong */
    int held_len;
    sqlite3_int64 end; /* behind the last byte that was written */
    sqlite3_int64 size; /* of the file, as far as it is known */
};

static sqlite3_file *wal_system_file(sqlite3_file *f) {
    return (sqlite3_file *)((struct wal_file *)(void *)f + 1);
}

static int wal_flush_held(sqlite3_file *file) {
    struct wal_file *f = (struct wal_file *)(void *)file;
    int len = f->held_len;
    f->held_len = 0;
    f->end = MAX(f->end, f->held_at + len);
    return len ? wal_system_file(file)->pMethods->xWrite(wal_system_file(file), f->held, len, f->held_at)
               : SQLITE_OK;
}

static int wal_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at) {
    struct wal_file *f = (struct wal_file *)(void *)file;
    bool is_next = at == f->held_at + f->held_len && f->held_len + len <= (int)HELD_BYTES_MAX;
    if (f->held_len && !is_next) {
        int rc = wal_flush_held(file);
        if (rc != SQLITE_OK)
            return rc;
    }
    if (!f->held)
        f->held = mem_alloc(HELD_BYTES_MAX);
    if (!f->held || len > (int)HELD_BYTES_MAX) {
        f->end = MAX(f->end, at + len);
        return wal_system_file(file)->pMethods->xWrite(wal_system_file(file), data, len, at);
    }
    if (!f->held_len)
        f->held_at = at;
    memcpy(f->held + f->held_len, data, (size_t)len);
    f->held_len += len;
    return SQLITE_OK;
}

/* Without room on the disk it stays as long as it is. */
static void wal_grow_file(sqlite3_file *file) {
    static const uint8_t zeros[HELD_BYTES_MAX];
    struct wal_file *f = (struct wal_file *)(void *)file;
    if (f->end <= f->size ||
        wal_system_file(file)->pMethods->xFileSize(wal_system_file(file), &f->size) != SQLITE_OK ||
        f->end < f->size)
        return;
    sqlite3_int64 until = (f->end / GROWTH_BYTES + 1) * GROWTH_BYTES;
    while (f->size < until) {
        int len = (int)MIN(until - f->size, (sqlite3_int64)sizeof zeros);
        if (wal_system_file(file)->pMethods->xWrite(wal_system_file(file), zeros, len, f->size) != SQLITE_OK)
            return;
        f->size += len;
    }
}

static int wal_sync(sqlite3_file *file, int flags) {
    int rc = wal_flush_held(file);
    if (rc == SQLITE_OK)
        wal_grow_file(file);
    return rc == SQLITE_OK ? wal_system_file(file)->pMethods->xSync(wal_system_file(file), flags) : rc;
}

static int wal_read(sqlite3_file *file, void *space, int len, sqlite3_int64 at) {
    int rc = wal_flush_held(file);
    return rc == SQLITE_OK ? wal_system_file(file)->pMethods->xRead(wal_system_file(file), space, len, at)
                           : rc;
}

static int wal_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct wal_file *f = (struct wal_file *)(void *)file;
    int rc = wal_flush_held(file);
    f->end = MIN(f->end, size);
    f->size = MIN(f->size, size);
    return rc == SQLITE_OK ? wal_system_file(file)->pMethods->xTruncate(wal_system_file(file), size) : rc;
}

static int wal_file_size(sqlite3_file *file, sqlite3_int64 *ret) {
    int rc = wal_flush_held(file);
    return rc == SQLITE_OK ? wal_system_file(file)->pMethods->xFileSize(wal_system_file(file), ret) : rc;
}

static int wal_close(sqlite3_file *file) {
    struct wal_file *f = (struct wal_file *)(void *)file;
    int rc = wal_flush_held(file);
    mem_free(take(&f->held));
    int closed = wal_system_file(file)->pMethods->xClose(wal_system_file(file));
    return rc == SQLITE_OK ? closed : rc;
}

static int wal_file_control(sqlite3_file *file, int op, void *arg) {
    int rc = wal_flush_held(file);
    return rc == SQLITE_OK ? wal_system_file(file)->pMethods->xFileControl(wal_system_file(file), op, arg)
                           : rc;
}

/* Locks and what the device can do are asked of the file as it is. */
static int wal_lock(sqlite3_file *file, int kind) {
    return wal_system_file(file)->pMethods->xLock(wal_system_file(file), kind);
}

static int wal_unlock(sqlite3_file *file, int kind) {
    return wal_system_file(file)->pMethods->xUnlock(wal_system_file(file), kind);
}

static int wal_check_reserved(sqlite3_file *file, int *ret) {
    return wal_system_file(file)->pMethods->xCheckReservedLock(wal_system_file(file), ret);
}

static int wal_sector_size(sqlite3_file *file) {
    return wal_system_file(file)->pMethods->xSectorSize(wal_system_file(file));
}

static int wal_device_characteristics(sqlite3_file *file) {
    return wal_system_file(file)->pMethods->xDeviceCharacteristics(wal_system_file(file));
}

static const sqlite3_io_methods wal_methods = {
    .iVersion = 1, /* no shared memory, no mapping: those belong to the database file */
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_file_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_check_reserved,
    .xFileControl = wal_file_control,
    .xSectorSize = wal_sector_size,
    .xDeviceCharacteristics = wal_device_characteristics,
};

static int wal_vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags) {
    sqlite3_vfs *system = container_of(vfs, struct sqlite_wal, vfs)->system;
    if (!(flags & SQLITE_OPEN_WAL))
        return system->xOpen(system, name, file, flags, ret_flags);
    struct wal_file *f = (struct wal_file *)(void *)file;
    *f = (struct wal_file){0};
    int rc = system->xOpen(system, name, wal_system_file(file), flags, ret_flags);
    /* SQLite closes what has methods, even when opening it failed. */
    if (wal_system_file(file)->pMethods)
        f->base.pMethods = &wal_methods;
    return rc;
}

int sqlite_wal_register(struct sqlite_wal *w) {
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system)
        return ERR_STORE_IO;
    (void)snprintf(w->name, sizeof w->name, "rondo-%p", (void *)w); /* one for each store of the process */
    w->vfs = *system;
    w->vfs.pNext = NULL;
    w->vfs.zName = w->name;
    w->system = system;
    w->vfs.szOsFile = (int)sizeof(struct wal_file) + system->szOsFile;
    w->vfs.xOpen = wal_vfs_open;
    w->is_registered = sqlite3_vfs_register(&w->vfs, 0) == SQLITE_OK;
    return w->is_registered ? 0 : ERR_NO_MEMORY;
}

void sqlite_wal_unregister(struct sqlite_wal *w) {
    if (w->is_registered)
        sqlite3_vfs_unregister(&w->vfs);
    w->is_registered = false;
}
