/* Runs a fuzz target over files, without a fuzzer: replay FILE|DIRECTORY...
 *
 * Directories are read one level deep. Each input gets memory of exactly its size, so that a sanitizer
 * sees a read past its end. Fails when a file cannot be read or when there is none. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "fuzz.h"

#define PATH_BYTES_MAX 4096

static bool replay_file(const char *path, off_t size) {
    uint8_t *data = mem_alloc((size_t)size);
    FILE *file = fopen(path, "rb");
    bool ok = data && file && fread(data, 1, (size_t)size, file) == (size_t)size;

    if (ok)
        (void)LLVMFuzzerTestOneInput(data, (size_t)size); /* aborts when it finds something */
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    if (file)
        fclose(file);
    mem_free(data);
    return ok;
}

static bool replay_path(const char *path, bool enter, size_t *count);

static bool replay_directory(const char *path, size_t *count) {
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

static bool replay_path(const char *path, bool enter, size_t *count) {
    struct stat st;

    if (stat(path, &st) < 0) {
        perror(path);
        return false;
    }
    if (S_ISDIR(st.st_mode))
        return !enter || replay_directory(path, count);
    *count += 1;
    return replay_file(path, st.st_size);
}

int main(int argc, char **argv) {
    size_t count = 0;

    for (int i = 1; i < argc; i++)
        if (!replay_path(argv[i], true, &count))
            return 1;
    printf("%zu inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
