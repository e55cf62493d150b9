/* SPDX-License-Identifier: MIT */
#include "profiler/system/session_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define DEPTH_MAX 3 /* levels: output folder, process, time */

static int path_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_session_file(const char *name)
{
    return strcmp(name, "ntrace.pb") == 0 || strcmp(name, "trace_info.pb") == 0 ||
           ntk_str_ends_with(name, ".ntff");
}

bool ntk_session_is_trace_file(const char *path)
{
    static const char *const names[] = { "ntrace.pb", "trace_info.pb", "cpu_util.pb",
                                         "host_mem.pb" };
    const char *name = ntk_str_base_name(path);
    struct stat status;
    uint8_t b[8] = { 0 };
    bool is_read = false;
    int fd;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        is_read = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                  ntk_fs_pread(fd, b, sizeof b, 0) == 0;
        close(fd);
    }
    /* In files of this project field 1 is the version, 2 a text. In files of the vendor field 1 is
     * the version, 2 a number; or there are length-prefixed records of less than 1 MiB that start
     * with the time (field 2) or a number. */
    return is_read && ((b[0] == 0x08 && b[1] <= 3 && (b[2] == 0x12 || b[2] == 0x10)) ||
                       (b[0] && b[2] < 0x10 && b[3] == 0 && (b[4] == 0x08 || b[4] == 0x10)));
}

static int path_add(struct ntk_vec *paths, const char *path)
{
    char *copy = strdup(path);

    if (!copy || ntk_vec_push(paths, &copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    return 0;
}

static int walk(const char *folder, int depth, struct ntk_vec *paths)
{
    DIR *dir = opendir(folder);
    bool is_session = false;
    int ret = 0;

    if (!dir) {
        return -errno;
    }
    for (struct dirent *entry = readdir(dir); entry && ret == 0; entry = readdir(dir)) {
        struct stat status;
        char *path = NULL;

        if (entry->d_name[0] == '.') {
            continue;
        }
        is_session = is_session || is_session_file(entry->d_name);
        if (depth == DEPTH_MAX || paths->count >= NTK_SESSION_FOLDERS_MAX) {
            continue;
        }
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) {
            ret = -ENOMEM;
        } else if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            int below = walk(path, depth + 1, paths);

            ret = below == -ENOMEM ? below : 0; /* an unreadable folder is skipped */
        }
        free(path);
    }
    closedir(dir);
    if (ret == 0 && is_session) {
        ret = path_add(paths, folder);
    }
    return ret;
}

int ntk_session_find(const char *folder, struct ntk_vec *out_paths, struct ntk_err *err)
{
    ntk_vec_init(out_paths, sizeof(char *));
    int ret = walk(folder, 0, out_paths);
    if (ret < 0) {
        ntk_session_paths_fini(out_paths);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", folder,
                           strerror(-ret));
    }
    if (out_paths->count == 0) {
        ntk_session_paths_fini(out_paths);
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "%s: not an inspection folder: it contains no ntrace.pb and no capture",
                           folder);
    }
    ntk_vec_sort(out_paths, path_compare);
    return 0;
}

void ntk_session_paths_fini(struct ntk_vec *paths)
{
    ntk_vec_each(char *, path, paths) {
        free(*path);
    }
    ntk_vec_fini(paths);
}

int ntk_session_files(const char *folder, const char *end, struct ntk_vec *out_paths)
{
    DIR *dir = opendir(folder);
    int ret = 0;

    ntk_vec_init(out_paths, sizeof(char *));
    if (!dir) {
        return -errno;
    }
    for (struct dirent *entry = readdir(dir); entry && ret == 0; entry = readdir(dir)) {
        char *path = NULL;

        if (entry->d_name[0] == '.' || !ntk_str_ends_with(entry->d_name, end)) {
            continue;
        }
        ret = asprintf(&path, "%s/%s", folder, entry->d_name) < 0 ? -ENOMEM
                                                                  : path_add(out_paths, path);
        free(path);
    }
    closedir(dir);
    ntk_vec_sort(out_paths, path_compare);
    return ret;
}

/* Names are "..._vnc_3.ntff" or "profile_nc_3_session_1.ntff". */
uint32_t ntk_session_core_of(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *at = name ? strstr(name, "_vnc_") : NULL;
    unsigned long nc;

    at = at ? at + 5 : name ? strstr(name, "profile_nc_") : NULL;
    if (!at) {
        return UINT32_MAX;
    }
    at += strncmp(at, "profile_nc_", 11) == 0 ? 11 : 0;
    char *end = NULL;
    nc = strtoul(at, &end, 10);
    return end == at || nc >= UINT32_MAX ? UINT32_MAX : (uint32_t)nc;
}
