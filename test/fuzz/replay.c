/* Runs a fuzz target over files, without a fuzzer: replay [--torture] FILE|DIRECTORY...
 *
 * Directories are read one level deep. Each input gets memory of exactly its size, so that a sanitizer
 * sees a read past its end. Fails when a file cannot be read or when there is none.
 *
 * With --torture each input comes once more for each allocation that is made for it, with that one failing.
 * This is for targets that pause the countdown while they do work of their own; all that they promise holds.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "fuzz.h"

#define PATH_BYTES_MAX 4096

struct count {
    size_t inputs, failures;
    bool is_torture;
};

static void torture(const char *path, const uint8_t *data, size_t size, struct count *count) {
    bool has_fired = true;
    printf("# %s\n", path);
    fflush(stdout); /* for whoever looks at the last words */
    for (uint64_t nth = 1; has_fired; nth++) {
        fault_arm_alloc(nth);
        (void)LLVMFuzzerTestOneInput(data, size); /* aborts when it finds something */
        has_fired = fault_fired();
        fault_disarm();
        count->failures += has_fired;
    }
}

static bool replay_file(const char *path, off_t size, struct count *count) {
    uint8_t *data = mem_alloc((size_t)size);
    FILE *file = fopen(path, "rb");
    bool ok = data && file && fread(data, 1, (size_t)size, file) == (size_t)size;

    if (ok)
        (void)LLVMFuzzerTestOneInput(data, (size_t)size); /* aborts when it finds something */
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    if (ok && count->is_torture)
        torture(path, data, (size_t)size, count);
    if (file)
        fclose(file);
    mem_free(data);
    return ok;
}

static bool replay_path(const char *path, bool enter, struct count *count);

static bool replay_directory(const char *path, struct count *count) {
    DIR *dir = opendir(path);
    bool ok = dir != NULL;

    for (struct dirent *entry; ok && (entry = readdir(dir));) {
        char inside[PATH_BYTES_MAX];
        int n = snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            ok = n < (int)sizeof(inside) && replay_path(inside, false, count);
    }
    if (dir)
        closedir(dir);
    return ok;
}

static bool replay_path(const char *path, bool enter, struct count *count) {
    struct stat st;

    if (stat(path, &st) < 0) {
        perror(path);
        return false;
    }
    if (S_ISDIR(st.st_mode))
        return !enter || replay_directory(path, count);
    count->inputs++;
    return replay_file(path, st.st_size, count);
}

int main(int argc, char **argv) {
    struct count count = {.is_torture = argc > 1 && cstr_eq(argv[1], "--torture")};

    for (int i = count.is_torture ? 2 : 1; i < argc; i++)
        if (!replay_path(argv[i], true, &count))
            return 1;
    printf("%zu inputs replayed, %zu allocations failed\n", count.inputs, count.failures);
    return count.inputs > 0 && (!count.is_torture || count.failures > 0) ? 0 : 1;
}
