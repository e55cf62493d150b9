/* SPDX-License-Identifier: MIT */
#include "shared/base/process.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"

#define STAT_BYTES 1024
#define FIELD_STATE 3 /* field number in /proc/PID/stat */
#define FIELD_PARENT 4
#define FIELD_START 22

/* A field from the state on. Skips the process name, which may contain any character. */
static const char *field_get(const char *stat, int field)
{
    const char *at = strrchr(stat, ')');

    for (int i = FIELD_STATE - 1; at && i < field; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? at + 1 : "";
}

/* Converts ticks since boot to a time. */
static uint64_t moment_of(uint64_t ticks)
{
    struct timespec since_boot;
    long per_second = sysconf(_SC_CLK_TCK);

    if (ticks == 0 || per_second <= 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) < 0) {
        return 0;
    }
    uint64_t boot_ns = ntk_clock_realtime_ns() - ((uint64_t)since_boot.tv_sec * NTK_NS_PER_SECOND +
                                                  (uint64_t)since_boot.tv_nsec);
    return boot_ns + ticks * (NTK_NS_PER_SECOND / (uint64_t)per_second);
}

bool ntk_process_reads_all_users(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

    return geteuid() == 0 || (syscall(SYS_capget, &head, data) == 0 &&
                              (data[0].effective & (1U << CAP_DAC_READ_SEARCH)) != 0);
}

bool ntk_process_user(uint32_t uid, char *buf, size_t buf_bytes)
{
    char text[16384]; /* directory services may return long entries */
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &entry, text, sizeof text, &found) == 0 && found) {
        ntk_str_copy_clean(buf, buf_bytes, found->pw_name, strlen(found->pw_name));
        return true;
    }
    (void)snprintf(buf, buf_bytes, "%" PRIu32, uid);
    return false;
}

int ntk_process_read(const char *proc, uint32_t pid, struct ntk_process *out)
{
    char path[512];
    char stat_text[STAT_BYTES];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/%u/stat", proc ? proc : "/proc", pid);
    if (ntk_fs_read_text(path, stat_text, sizeof stat_text) <= 0 || stat(path, &status) < 0) {
        return -ESRCH;
    }
    *out = (struct ntk_process){ .pid = pid, .uid = status.st_uid };
    const char *name = strchr(stat_text, '(');
    const char *end = strrchr(stat_text, ')');
    if (name && end > name) {
        ntk_str_copy_clean(out->name, sizeof out->name, name + 1, (size_t)(end - name - 1));
    }
    out->state = field_get(stat_text, FIELD_STATE)[0];
    out->parent = (uint32_t)strtoul(field_get(stat_text, FIELD_PARENT), NULL, 10);
    out->start_ns = moment_of(strtoull(field_get(stat_text, FIELD_START), NULL, 10));
    if (!ntk_process_user(out->uid, out->user, sizeof out->user)) {
        (void)snprintf(out->user, sizeof out->user, "user %" PRIu32, out->uid);
    }
    return 0;
}

bool ntk_process_mapping_parse(char *line, struct ntk_process_mapping *out)
{
    unsigned major_number;
    unsigned minor_number;
    int used = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &out->start,
               &out->end, out->flags, &out->offset, &major_number, &minor_number, &out->inode,
               &used) < 7 ||
        used == 0) {
        return false;
    }
    out->device = makedev(major_number, minor_number);
    out->path = line + used;
    return true;
}

const char *ntk_process_format(const struct ntk_process *process, uint64_t since_ns, char *buf,
                               size_t buf_bytes)
{
    char since[NTK_TIMESTAMP_BYTES] = "";
    uint64_t moment = since_ns ? since_ns : process->start_ns;

    if (moment) {
        ntk_timestamp_format(moment / NTK_NS_PER_SECOND * NTK_NS_PER_SECOND, since, sizeof since);
    }
    (void)snprintf(buf, buf_bytes, "process %u (%s) of %s%s%s", process->pid, process->name,
                   process->user, since[0] ? " since " : "", since);
    return buf;
}
