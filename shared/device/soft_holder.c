/* SPDX-License-Identifier: MIT */
#include "shared/device/soft_holder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/str.h"

static int file_open(const char *hooks_dir, const char *name, int flags)
{
    char folder[NTK_PATH_BYTES];
    char path[NTK_PATH_BYTES + 32];

    if (hooks_dir ? !ntk_str_copy(folder, sizeof folder, hooks_dir)
                  : ntk_paths_soft_dir(folder, sizeof folder) < 0) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int ntk_soft_lock_open(const char *hooks_dir, int flags)
{
    return file_open(hooks_dir, NTK_SOFT_LOCK_NAME, flags);
}

uint32_t ntk_soft_lock_holder(const char *hooks_dir, uint32_t first, uint32_t count)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count
    };
    uint32_t pid = 0;
    int fd = ntk_soft_lock_open(hooks_dir, O_RDONLY);

    if (fd < 0) {
        return 0;
    }
    if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        pid = lock.l_pid > 0 ? (uint32_t)lock.l_pid : NTK_SOFT_HOLDER_ELSEWHERE;
    }
    close(fd);
    return pid;
}

struct ntk_soft_holder ntk_soft_holder_of(const char *hooks_dir, uint32_t core)
{
    struct ntk_soft_holder holder = { .pid = ntk_soft_lock_holder(hooks_dir, core, 1) };
    int fd = file_open(hooks_dir, NTK_SOFT_STATE_NAME, O_RDONLY);
    uint64_t noted[2] = { 0 };
    static_assert(offsetof(struct ntk_soft_core, owner_since_ns) == sizeof noted[0],
                  "read at once");

    if (fd >= 0 && core < NTK_SEGMENT_CORES &&
        pread(fd, noted, sizeof noted,
              (off_t)(offsetof(struct ntk_soft_state, core) +
                      core * sizeof(struct ntk_soft_core))) == (ssize_t)sizeof noted) {
        holder.noted_pid = noted[0] <= UINT32_MAX ? (uint32_t)noted[0] : 0;
        holder.since_ns = noted[0] ? noted[1] : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return holder;
}
