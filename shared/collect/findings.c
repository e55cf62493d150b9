/* SPDX-License-Identifier: MIT */
#include "shared/collect/findings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/device/device.h"

static int path_make(const char *hooks_dir, char *buf, size_t buf_bytes)
{
    char folder[NTK_PATH_BYTES];
    int length;

    if (!hooks_dir) {
        /* root's program writes the findings */
        bool is_service = geteuid() != ntk_paths_machine_user();

        if (is_service && ntk_paths_hooks_dir_variable() == NULL &&
            access(NTK_HOOKS_SHARED_DIR, F_OK) != 0) {
            length = ntk_paths_user_hooks_dir(0, folder, sizeof folder);
        } else {
            length = ntk_paths_writer_hooks_dir(folder, sizeof folder);
        }
        if (length < 0) {
            return -ENAMETOOLONG;
        }
        hooks_dir = folder;
    }
    length = snprintf(buf, buf_bytes, "%s/" NTK_FINDINGS_NAME, hooks_dir);
    return length < 0 || (size_t)length >= buf_bytes ? -ENAMETOOLONG : 0;
}

static bool line_parse(const char *line, struct ntk_finding *out)
{
    char extra;

    return line[0] >= '0' && line[0] <= '9' &&
           sscanf(line, "%9" SCNu32 " %9" SCNu32 " %19" SCNu64 " %19" SCNu64 "%c", &out->device,
                  &out->core, &out->since_ns, &out->count, &extra) >= 4 &&
           out->device < NTK_DEVICES_MAX && out->core < NTK_DEVICE_CORES_MAX && out->count > 0;
}

size_t ntk_findings_parse(const char *text, struct ntk_finding *out, size_t capacity)
{
    size_t count = 0;

    while (text && *text && count < capacity) {
        struct ntk_finding one = { 0 };
        const char *next = strchr(text, '\n');

        if (line_parse(text, &one)) {
            out[count++] = one;
        }
        text = next ? next + 1 : NULL;
    }
    return count;
}

size_t ntk_findings_read(const char *hooks_dir, struct ntk_finding *out, size_t capacity)
{
    static _Thread_local char text[NTK_FINDINGS_BYTES_MAX + 1];
    char path[NTK_PATH_BYTES];
    struct stat status;
    ssize_t got = 0;

    if (path_make(hooks_dir, path, sizeof path) < 0) {
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        (status.st_uid == geteuid() || ntk_paths_is_trusted_user(status.st_uid)) &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
        got = pread(fd, text, NTK_FINDINGS_BYTES_MAX, 0);
    }
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return ntk_findings_parse(text, out, capacity);
}

int ntk_findings_change(const char *hooks_dir, uint32_t device, uint32_t core, bool is_bad,
                        struct ntk_err *err)
{
    struct ntk_finding findings[NTK_FINDINGS_MAX];
    char path[NTK_PATH_BYTES];
    struct ntk_buf out = { 0 };
    size_t count = ntk_findings_read(hooks_dir, findings, NTK_FINDINGS_MAX - 1);
    size_t at = 0;
    int ret = path_make(hooks_dir, path, sizeof path);

    while (at < count && (findings[at].device != device || findings[at].core != core)) {
        at++;
    }
    if (at == count && !is_bad) {
        return 0;
    }
    if (at == count) {
        findings[count++] = (struct ntk_finding){ .device = device,
                                                  .core = core,
                                                  .since_ns = ntk_clock_realtime_ns() };
    }
    findings[at].count++;
    for (size_t i = 0; i < count; i++) {
        if (i != at || is_bad) {
            ntk_buf_add_format(&out, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
                               findings[i].device, findings[i].core, findings[i].since_ns,
                               findings[i].count);
        }
    }
    if (ret < 0 || !ntk_buf_ok(&out)) {
        ret = ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                                    "the path of the findings file is too long")
                      : ntk_err_no_memory(err);
    } else {
        ret = ntk_fs_write(path, out.bytes ? out.bytes : "", out.bytes_count, err);
    }
    ntk_buf_fini(&out);
    return ret;
}
