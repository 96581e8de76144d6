/* One server for each data file.
 *
 * Two servers on one file would each believe in their own memory, so the second is refused. There are two
 * locks, and a server needs both:
 *
 *   `<file>.lock`   locked with flock(2). It holds the process id for the message to the second server.
 *   the data file   an open file description lock on one byte. It is found by every name of the file (hard
 *                   links, symbolic links, bind mounts) and cannot be removed as the lock file can.
 *
 * SQLite has POSIX locks on the data file, in the 512 bytes from 0x40000000. The two kinds conflict when they
 * name the same bytes, so ours is behind those, in the page that SQLite never uses. An open file description
 * lock belongs to the descriptor: it stays when other descriptors of the file are closed. flock(2) would not
 * do for the data file: NFS turns it into a POSIX lock of all bytes, SQLite's among them.
 *
 * The operating system drops both when the process ends. A clean stop removes the lock file. Another server
 * may have opened it just before that; so a server that gets the lock looks whether its file still has the
 * name. */
#include "store/sqlite/sqlite_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_FILE_MODE 0600
#define LOCK_BYTE (0x40000000 + 1024)
#define LOCK_TRIES 100 /* each time another server has stopped in between */

static int lock_name(const struct sqlite_file *f, char ret[PATH_MAX], struct err *reterr) {
    if (snprintf(ret, PATH_MAX, "%s.lock", f->path) >= PATH_MAX)
        return err_set(reterr, ERR_STORE_IO, "The name of the data file is too long. Choose a shorter one.");
    return 0;
}

/* The process id in the lock file, when there is one. */
static int lock_refused(int fd, const char *path, struct err *reterr) {
    char pid[24];
    ssize_t n = fd >= 0 ? pread(fd, pid, sizeof pid - 1, 0) : 0;
    pid[n > 0 ? n : 0] = 0;
    pid[strcspn(pid, "\n")] = 0;
    return err_set(reterr, ERR_STORE_LOCKED,
                   "%s is in use by another server%s%s%s. Stop that one, or choose another file.", path,
                   *pid ? " (process " : "", pid, *pid ? ")" : "");
}

static bool lock_has_name(int fd, const char *name) {
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && stat(name, &named) == 0 && mine.st_dev == named.st_dev &&
           mine.st_ino == named.st_ino;
}

/* 1: the file was removed between open and lock. */
static int lock_try(struct sqlite_file *f, const char *name, struct err *reterr) {
    int rc = 0;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_FILE_MODE);
    if (fd < 0)
        return err_set(reterr, ERR_STORE_IO,
                       "Cannot create %s: %s. Let this user write to its directory, or choose another file.",
                       name, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK
                 ? lock_refused(fd, f->path, reterr)
                 : err_set(reterr, ERR_STORE_IO, "Cannot lock %s: %s. Put the file on a local disk.", name,
                           strerror(errno));
    else if (!lock_has_name(fd, name))
        rc = 1;
    if (rc == 0)
        f->lock_fd = fd;
    else
        close(fd);
    return rc;
}

static int lock_beside(struct sqlite_file *f, struct err *reterr) {
    char name[PATH_MAX];
    int rc = lock_name(f, name, reterr);
    for (int i = 0; rc == 0 && i < LOCK_TRIES; i++) {
        rc = lock_try(f, name, reterr);
        if (rc <= 0)
            return rc;
        rc = 0;
    }
    return rc < 0 ? rc : lock_refused(-1, f->path, reterr);
}

static int lock_data(struct sqlite_file *f, struct err *reterr) {
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
    struct stat st;
    f->data_fd = open(f->path, O_RDWR | O_CLOEXEC);
    if (f->data_fd < 0 || fstat(f->data_fd, &st) < 0)
        return err_set(reterr, ERR_STORE_IO, "Cannot open %s: %s.", f->path, strerror(errno));
    f->device = st.st_dev;
    f->inode = st.st_ino;
    int rc = fcntl(f->data_fd, F_OFD_SETLK, &byte);
    if (rc < 0 && errno == EINVAL) /* a sandbox without this kind of lock */
        rc = flock(f->data_fd, LOCK_EX | LOCK_NB);
    if (rc == 0)
        return 0;
    if (errno == EAGAIN || errno == EACCES)
        return lock_refused(-1, f->path, reterr);
    return err_set(reterr, ERR_STORE_IO, "Cannot lock %s: %s. Put the file on a local disk.", f->path,
                   strerror(errno));
}

int sqlite_lock_take(struct sqlite_file *f, struct err *reterr) {
    int rc = lock_beside(f, reterr);
    if (rc == 0)
        rc = lock_data(f, reterr);
    if (rc < 0)
        return rc;
    /* Only for the message above: a lock without a readable number still locks. */
    if (ftruncate(f->lock_fd, 0) == 0)
        (void)dprintf(f->lock_fd, "%ld\n", (long)getpid());
    return 0;
}

static void lock_remove(const struct sqlite_file *f) {
    char name[PATH_MAX];
    struct err ignored = {0};
    if (lock_name(f, name, &ignored) == 0 && lock_has_name(f->lock_fd, name))
        (void)unlink(name); /* one that stays is not a lock */
}

/* The lock file goes while its lock is held, so it is ours. */
void sqlite_lock_drop(struct sqlite_file *f) {
    if (f->lock_fd >= 0) {
        lock_remove(f);
        close(f->lock_fd);
    }
    if (f->data_fd >= 0)
        close(f->data_fd);
    f->lock_fd = f->data_fd = -1;
}
