/* The file under the store: found, created, locked, and looked at, before SQLite sees it.
 *
 * The happy path: resolve the path, open the file, take its locks (sqlite_lock.c), glance at
 * the header. The descriptor stays open until the connections are closed: closing any
 * descriptor of a file drops the POSIX locks that SQLite holds on it in this process.
 *
 * SQLite gives a log and its index the permissions of the main file, so making
 * that one private makes all of them private. */
#include "store/sqlite/sqlite_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"

#define SQLITE_HEADER_BYTES 100
#define SQLITE_PAGE_BYTES 4096 /* of our files */
#define SQLITE_PAGE_SIZE_AT 16
#define SQLITE_CHANGES_AT 24
#define SQLITE_PAGE_COUNT_AT 28
#define SQLITE_COUNTED_AT 92 /* the value of CHANGES when PAGE_COUNT was true */
#define PRIVATE_FILE 0600

static const char magic[16] = "SQLite format 3";

static int file_create(const char *path, struct err *reterr) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE_FILE);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    if (errno == EEXIST)
        return 0;
    if (errno == ENOENT)
        return err_set(reterr, ERR_STORE_IO,
                       "Cannot create %s: its directory does not exist. Create it, or choose another file.",
                       path);
    return err_set(reterr, ERR_STORE_IO,
                   "Cannot create %s: %s. Let this user write there, or choose another file.", path,
                   strerror(errno));
}

/* Leaves an existing, writable, regular file, or says why not. Does not open one that
 * exists: closing it again would drop the locks that this process may have on it. */
static int file_ensure(const char *path, struct err *reterr) {
    struct stat st;
    if (cstr_is_empty(path))
        return err_set(reterr, ERR_STORE_IO, "No data file is named. Name one, or use :memory:.");
    if (stat(path, &st) < 0) {
        if (errno == ENOENT)
            return file_create(path, reterr);
        return err_set(reterr, ERR_STORE_IO, "Cannot look at %s: %s. Choose another file.", path,
                       strerror(errno));
    }
    if (S_ISDIR(st.st_mode))
        return err_set(reterr, ERR_STORE_IO, "%s is a directory. Name a file in it, such as %s/rondo.db.",
                       path, path);
    if (!S_ISREG(st.st_mode))
        return err_set(reterr, ERR_STORE_IO, "%s is not a regular file. Choose another one.", path);
    if (access(path, R_OK | W_OK) < 0)
        return err_set(reterr, ERR_STORE_IO,
                       "Cannot write to %s: %s. Let this user write to it, or choose another file.", path,
                       strerror(errno));
    return 0;
}

static uint32_t file_read_be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool file_has_empty_log(const char *path) {
    char name[PATH_MAX];
    struct stat st;
    if (snprintf(name, sizeof name, "%s-wal", path) >= (int)sizeof name)
        return false;
    return stat(name, &st) < 0 || st.st_size == 0;
}

/* A file may be cut short by a full disk or a bad copy. Its header says how many pages there should be. */
static bool file_is_cut_short(const uint8_t *header, off_t size) {
    uint32_t page_bytes = (uint32_t)header[SQLITE_PAGE_SIZE_AT] << 8 | header[SQLITE_PAGE_SIZE_AT + 1];
    if (page_bytes == 1) /* how 65536 is written in two bytes */
        page_bytes = 65536;
    bool is_counted =
        file_read_be32(header + SQLITE_CHANGES_AT) == file_read_be32(header + SQLITE_COUNTED_AT);
    off_t expected = (off_t)file_read_be32(header + SQLITE_PAGE_COUNT_AT) * page_bytes;
    return is_counted && size < expected;
}

/* A new file gets one page, and only a log beside it until that is moved. Where the power went or the disk
 * was full meanwhile, it has a part of that page, or the length of it and nothing in it. */
static bool file_is_unfinished(const uint8_t *page, size_t n, off_t size) {
    if ((off_t)n != size)
        return false;
    bool is_of_one = n < SQLITE_PAGE_COUNT_AT + 4 || file_read_be32(page + SQLITE_PAGE_COUNT_AT) == 1;
    if (n < SQLITE_PAGE_BYTES && is_of_one && memcmp(page, magic, MIN(n, sizeof magic)) == 0)
        return true;
    while (n > 0 && !page[n - 1])
        n--;
    return n == 0;
}

static int file_empty(int fd, const char *path, struct err *reterr) {
    if (ftruncate(fd, 0) < 0)
        return err_set(reterr, ERR_STORE_IO, "Cannot write to %s: %s.", path, strerror(errno));
    return 0;
}

static int file_check_header(const char *path, const uint8_t *header, ssize_t n, off_t size,
                             struct err *reterr) {
    if (n < SQLITE_HEADER_BYTES || memcmp(header, magic, sizeof magic) != 0)
        return err_set(reterr, ERR_STORE_CORRUPT,
                       "%s is not a Rondo data file, or its beginning is damaged. Choose another file, or "
                       "restore this one from a backup.",
                       path);
    if (file_is_cut_short(header, size))
        return err_set(reterr, ERR_STORE_CORRUPT, "%s is cut short. Restore it from a backup.", path);
    return 0;
}

/* Reading all of a large file at each start would take minutes; this takes one page. The
 * rest is checked page by page as it is used. With a log beside it nothing is said here: the power may have
 * gone while the first page was moved from there, and SQLite knows which of the two counts. */
static int file_check_first_page(const struct sqlite_file *f, struct err *reterr) {
    uint8_t page[SQLITE_PAGE_BYTES];
    struct stat st;
    if (fstat(f->data_fd, &st) < 0)
        return err_set(reterr, ERR_STORE_IO, "Cannot look at %s: %s.", f->path, strerror(errno));
    ssize_t n = st.st_size ? pread(f->data_fd, page, sizeof page, 0) : 0;
    if (n < 0)
        return err_set(reterr, ERR_STORE_IO, "Cannot read %s: %s.", f->path, strerror(errno));
    if (n == 0 || !file_has_empty_log(f->path))
        return 0;
    return file_is_unfinished(page, (size_t)n, st.st_size)
               ? file_empty(f->data_fd, f->path, reterr)
               : file_check_header(f->path, page, n, st.st_size, reterr);
}

int sqlite_file_open(struct sqlite_file *f, const char *path, struct err *reterr) {
    char resolved[PATH_MAX];
    *f = (struct sqlite_file){.lock_fd = -1, .data_fd = -1, .is_memory = cstr_eq(path, ":memory:")};
    if (!f->is_memory) {
        int rc = file_ensure(path, reterr);
        if (rc < 0)
            return rc;
        /* One file has one lock, whatever link it was named by. */
        if (!realpath(path, resolved))
            return err_set(reterr, ERR_STORE_IO, "Cannot look at %s: %s. Choose another file.", path,
                           strerror(errno));
        path = resolved;
    }
    f->path = mem_strdup(path);
    if (!f->path)
        return err_std(reterr, ERR_NO_MEMORY);
    if (f->is_memory)
        return 0;
    int rc = sqlite_lock_take(f, reterr);
    if (rc == 0)
        rc = file_check_first_page(f, reterr);
    if (rc < 0)
        sqlite_file_close(f);
    return rc;
}

void sqlite_file_close(struct sqlite_file *f) {
    sqlite_lock_drop(f);
    mem_free(take(&f->path));
}

void sqlite_file_measure(const struct sqlite_file *f, struct store_size *ret) {
    char log_path[PATH_MAX];
    struct stat st;
    struct statvfs disk;
    if (f->is_memory)
        return;
    if (fstat(f->data_fd, &st) == 0)
        ret->data_bytes = st.st_size;
    if (snprintf(log_path, sizeof(log_path), "%s-wal", f->path) < (int)sizeof(log_path) &&
        stat(log_path, &st) == 0)
        ret->log_bytes = st.st_size;
    if (fstatvfs(f->data_fd, &disk) == 0) {
        ret->disk_bytes = (int64_t)(disk.f_blocks * disk.f_frsize);
        ret->free_bytes = (int64_t)(disk.f_bavail * disk.f_frsize);
    }
}
