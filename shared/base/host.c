/* SPDX-License-Identifier: MIT */
#include "shared/base/host.h"

#include <sys/utsname.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

void ntk_host_get(struct ntk_host *out_host)
{
    struct utsname system;

    *out_host = (struct ntk_host){ 0 };
    if (ntk_fs_read_text("/proc/sys/kernel/random/boot_id", out_host->boot_id,
                         sizeof out_host->boot_id) < 0) {
        out_host->boot_id[0] = '\0';
    }
    if (uname(&system) == 0) {
        ntk_str_copy(out_host->name, sizeof out_host->name, system.nodename);
    }
}
