/* SPDX-License-Identifier: MIT */
/* cmd_daemon - runs start-session and stop-session in a separate program: because only they need
 * gRPC, which loads slowly. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "shared/base/err.h"

/* Path in the parent of the programs' folder, both installed and in a build tree. */
#define PROGRAM "libexec/neuron-toolkit/neuron-profile-session"

/* argv ends with NULL, like the argument of main(). */
int ntk_cmd_daemon(int argc, char **argv)
{
    char path[PATH_MAX];
    char program[PATH_MAX + sizeof PROGRAM + 1];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    struct ntk_err err = { 0 };

    (void)argc;
    path[bytes > 0 ? bytes : 0] = '\0';
    for (int i = 0; i < 2 && strrchr(path, '/'); i++) {
        *strrchr(path, '/') = '\0';
    }
    (void)snprintf(program, sizeof program, "%s/%s", path, PROGRAM);
    execv(program, argv - 1); /* argv[0], which it does not use, precedes the command's arguments */
    (void)ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "%s: cannot run '%s': %s%s", argv[0],
                      program, strerror(errno),
                      errno == ENOENT ? " (install the package neuron-rtd)" : "");
    return ntk_profile_fail(&err);
}
