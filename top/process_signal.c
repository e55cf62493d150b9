/* SPDX-License-Identifier: MIT */
#include "top/process_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"

static const struct ntk_top_signal_choice choices[] = {
    { 't', SIGTERM, "TERM" }, { 'i', SIGINT, "INT" },   { 'h', SIGHUP, "HUP" },
    { '1', SIGUSR1, "USR1" }, { '2', SIGUSR2, "USR2" }, { 'k', SIGKILL, "KILL" },
};

const struct ntk_top_signal_choice *ntk_top_signal_choices(size_t *out_count)
{
    *out_count = sizeof choices / sizeof *choices;
    return choices;
}

static uint64_t start_time_of(uint32_t pid)
{
    char path[64];
    char text[NTK_STAT_BYTES];

    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    return ntk_fs_read_text(path, text, sizeof text) > 0 ? ntk_process_stat_start_time(text) : 0;
}

int ntk_top_signal_send(uint32_t pid, uint64_t start_time, int number, struct ntk_err *err)
{
    int fd;
    int ret;

    if (start_time == 0) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "cannot signal process %u: its start time is unknown", pid);
    }
    /* The descriptor stays with its process, so the identity of the process is checked
     * afterwards. */
    fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    ret = fd < 0 ? -errno : 0;

    if (ret == -ESRCH || (ret == 0 && start_time_of(pid) != start_time)) {
        ret = ntk_err_set(err, -ESRCH, NTK_ERR_NO_OFFSET, "process %u has exited", pid);
    } else if (ret < 0 || syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0) {
        ret = ret < 0 ? ret : -errno;
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot signal process %u: %s", pid,
                    strerror(-ret));
    }
    if (fd >= 0) {
        close(fd);
    }
    return ret;
}
