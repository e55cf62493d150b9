/* SPDX-License-Identifier: MIT */
/* device_soft - where the tree of a hooks folder's software machine is, and the machine's type. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/abi/driver.h"
#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/child.h"
#include "shared/base/str.h"
#include "shared/device/device_sysfs.h"

#define SAID_BYTES 4096

int ntk_device_soft_root(const char *hooks_dir, char *buf, size_t buf_bytes)
{
    int length = hooks_dir ? ntk_paths_checked(snprintf(buf, buf_bytes, "%s/soft/sys", hooks_dir),
                                               buf, buf_bytes)
                           : ntk_paths_soft_sysfs_root(buf, buf_bytes);

    return length < 0 ? -ENAMETOOLONG : 0;
}

/* Fails with the last line that neuron-bench printed, without its name. */
static int fail_with(int file, struct ntk_err *err)
{
    static const char name[] = "neuron-bench: ";
    char text[SAID_BYTES];
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    const char *line = text;

    text[bytes > 0 ? bytes : 0] = '\0';
    for (char *end = strchr(text, '\n'); end; end = strchr(line, '\n')) {
        *end = '\0';
        if (!end[1]) {
            break;
        }
        line = end + 1;
    }
    line += strncmp(line, name, sizeof name - 1) == 0 ? sizeof name - 1 : 0;
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "cannot create the software machine: %s",
                       line[0] ? line : "neuron-bench failed");
}

int ntk_device_soft_make(struct ntk_err *err)
{
    const char *instance = getenv("NEURON_SOFT_INSTANCE");
    char root[NTK_PATH_BYTES];
    char program[NTK_PATH_BYTES];
    char *argv[] = { program, (char *)"machine", NULL };
    struct ntk_child child = { .argv = argv, .has_files = true, .takes_errors = true };
    int status = 0;
    int ret = 0;
    pid_t pid;

    if (!instance || !instance[0] || ntk_driver_is_loaded("/sys") ||
        ntk_device_soft_root(NULL, root, sizeof root) < 0 || access(root, F_OK) == 0 ||
        errno != ENOENT) { /* the source reports a tree that this user may not read */
        return 0;
    }
    ntk_child_program_next_to("neuron-bench", program, sizeof program);
    child.output = memfd_create("neuron-bench", MFD_CLOEXEC);
    /* If the program is missing, no machine is built; the source then reports that there is
     * none. */
    if (child.output >= 0 && ntk_child_start(&child, &pid) == 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        /* another process may have built the machine */
        if (status != 0 && access(root, F_OK) != 0) {
            ret = fail_with(child.output, err);
        }
    }
    if (child.output >= 0) {
        (void)close(child.output);
    }
    return ret;
}

/* The default place is in /tmp, where another user can create the folder first, so it must belong
 * to this user (for the service, to root). A hooks folder that the user names is trusted. */
bool ntk_device_soft_trusted(const char *hooks_dir)
{
    char folder[NTK_PATH_BYTES];
    struct stat status;
    char *end;

    if (hooks_dir || ntk_paths_hooks_dir_variable()) {
        return true;
    }
    if (ntk_paths_soft_sysfs_root(folder, sizeof folder) < 0) {
        return false;
    }
    end = strrchr(folder, '/');
    if (end) {
        *end = '\0';
    }
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == ntk_paths_machine_user();
}

void ntk_device_soft_machine_type(const char *hooks_dir, char *buf, size_t buf_bytes)
{
    char folder[NTK_PATH_BYTES];
    char path[NTK_PATH_BYTES + sizeof NTK_SOFT_STATE_NAME + 1];
    struct ntk_soft_header header;
    ssize_t got;
    int fd;

    buf[0] = '\0';
    if (hooks_dir) {
        ntk_str_copy(folder, sizeof folder, hooks_dir);
    } else if (ntk_paths_soft_dir(folder, sizeof folder) < 0) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, NTK_SOFT_STATE_NAME);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    got = pread(fd, &header, sizeof header, 0);
    close(fd);
    if (got != (ssize_t)sizeof header || header.magic != NTK_SOFT_MAGIC ||
        header.abi_version != NTK_SOFT_ABI_VERSION) {
        return;
    }
    ntk_str_copy_clean(buf, buf_bytes, header.instance_type,
                       strnlen(header.instance_type, sizeof header.instance_type));
}
