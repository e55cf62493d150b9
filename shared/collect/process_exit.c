/* SPDX-License-Identifier: MIT */
#include "shared/collect/process_exit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first version of struct pidfd_info from linux/pidfd.h, which older headers lack. */
struct pidfd_info_0 {
    uint64_t mask;
    uint64_t cgroup_id;
    uint32_t ids[11];
    int32_t exit_code;
};
#define INFO_EXIT (UINT64_C(1) << 3)
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info_0)

#define FIELD_STATE 3
#define FIELD_EXIT_CODE 52

int ntk_process_exit_watch(const char *proc_root, uint32_t pid)
{
    return strcmp(proc_root, "/proc") == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Returns 0 if the process runs, is gone, exited with 0, or has an exit code that may not be read,
 * which the kernel shows as 0. */
static int status_of_zombie(int stat_fd)
{
    char stat[4096];
    ssize_t bytes = pread(stat_fd, stat, sizeof stat - 1, 0);

    stat[bytes > 0 ? bytes : 0] = '\0';
    const char *at = strrchr(stat, ')'); /* end of field 2, a name that may contain any character */

    for (int field = 2; at && field < FIELD_EXIT_CODE; field++) {
        at = strchr(at + 1, ' ');
        if (at && field + 1 == FIELD_STATE && at[1] != 'Z') {
            return 0;
        }
    }
    return at ? atoi(at + 1) : 0;
}

struct ntk_exit ntk_process_exit_read(int pidfd, int stat_fd)
{
    struct pidfd_info_0 info = { .mask = INFO_EXIT };
    int status;

    if (pidfd >= 0 && ioctl(pidfd, GET_INFO, &info) == 0 && info.mask & INFO_EXIT) {
        return ntk_exit_of_status(info.exit_code);
    }
    status = status_of_zombie(stat_fd);
    return status != 0 ? ntk_exit_of_status(status) : (struct ntk_exit){ 0 };
}
