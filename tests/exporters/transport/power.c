/* SPDX-License-Identifier: MIT */
/* power - replaces fsync() and fdatasync() of the C library, and keeps copies of the synced
 * files. */
#include "tests/exporters/transport/power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 64
#define FILE_BYTES_MAX 2048
#define NAME_BYTES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects everything below */
/* An inode number alone is soon reused for another file. */
struct identity {
    ino_t inode;
    struct timespec changed;
};
static struct {
    struct identity id;
    size_t bytes_count;
    char bytes[FILE_BYTES_MAX];
} files[FILES_MAX];
static size_t file_count;
static struct {
    struct identity id;
    char name[NAME_BYTES];
} names[FILES_MAX];
static size_t name_count;
static int fails_with;

static struct identity identity_of(const struct stat *stat)
{
    return (struct identity){ stat->st_ino, stat->st_mtim };
}

/* The number of a synced file, or file_count if it was not synced. */
static size_t file_of(struct identity id)
{
    size_t i = 0;

    while (i < file_count &&
           (files[i].id.inode != id.inode || files[i].id.changed.tv_sec != id.changed.tv_sec ||
            files[i].id.changed.tv_nsec != id.changed.tv_nsec)) {
        i++;
    }
    return i;
}

static void note_file(int fd, struct identity id)
{
    size_t i = file_of(id);

    if (i == FILES_MAX) {
        abort();
    }
    ssize_t got = pread(fd, files[i].bytes, FILE_BYTES_MAX, 0);
    files[i].id = id;
    files[i].bytes_count = got > 0 ? (size_t)got : 0;
    file_count += i == file_count;
}

static void note_folder(int fd)
{
    DIR *dir = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    name_count = 0;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        struct stat stat;
        if (fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(stat.st_mode)) {
            continue;
        }
        if (name_count == FILES_MAX) {
            abort();
        }
        names[name_count].id = identity_of(&stat);
        (void)snprintf(names[name_count].name, NAME_BYTES, "%.60s", entry->d_name);
        name_count++;
    }
    if (dir) {
        closedir(dir);
    }
}

static int note(int fd)
{
    struct stat stat;

    pthread_mutex_lock(&lock);
    int error = fails_with;
    if (!error && fstat(fd, &stat) == 0) {
        if (S_ISDIR(stat.st_mode)) {
            note_folder(fd);
        } else {
            note_file(fd, identity_of(&stat));
        }
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return error ? -1 : 0;
}

int fsync(int fd)
{
    return note(fd);
}

int fdatasync(int fd)
{
    return note(fd);
}

void test_power_fail(int error)
{
    pthread_mutex_lock(&lock);
    fails_with = error;
    pthread_mutex_unlock(&lock);
}

size_t test_power_safe_count(void)
{
    size_t count = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < name_count; i++) {
        count += file_of(names[i].id) < file_count;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

static void empty(const char *folder)
{
    DIR *dir = opendir(folder);

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir) {
        closedir(dir);
    }
}

void test_power_cut_make(const char *folder)
{
    pthread_mutex_lock(&lock);
    empty(folder);
    for (size_t i = 0; i < name_count; i++) {
        char path[512];
        size_t file = file_of(names[i].id);
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i].name);
        FILE *to = fopen(path, "we");
        if (!to) {
            abort();
        }
        if (file < file_count) {
            (void)fwrite(files[file].bytes, 1, files[file].bytes_count, to);
        }
        (void)fclose(to);
    }
    pthread_mutex_unlock(&lock);
}
