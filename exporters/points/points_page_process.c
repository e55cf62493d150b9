/* SPDX-License-Identifier: MIT */
/* points_page_process - reads the resources of this process, and the state of its outputs. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporters/points/points_page.h"
#include "shared/base/fs.h"

static double boot_seconds(void)
{
    struct timespec real;
    struct timespec since;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &since);
    return (double)(real.tv_sec - since.tv_sec) + (double)(real.tv_nsec - since.tv_nsec) / 1e9;
}

static double count_fds(void)
{
    struct stat status;
    double count = 0;

    /* In Linux 6.2 and newer the size of the folder is the count: an agent has a thousand
     * descriptors. */
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0) {
        return (double)status.st_size;
    }
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        return 0;
    }
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count > 3 ? count - 3 : 0; /* ".", "..", and the folder itself */
}

void ntk_points_page_update_process(struct ntk_points_page *page)
{
    struct ntk_points_process *process = &page->process;
    unsigned long long user;
    unsigned long long system;
    unsigned long long start;
    unsigned long long virtual_bytes;
    long long resident_pages;
    struct rlimit limit;
    char text[1024];

    page->output_count = ntk_output_counts_read(page->outputs);
    ssize_t count = ntk_fs_read_text("/proc/self/stat", text, sizeof text);
    const char *fields = count > 0 ? strrchr(text, ')') : NULL;
    if (!fields || sscanf(fields + 1,
                          " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
                          "%*d %*d %llu %llu %lld",
                          &user, &system, &start, &virtual_bytes, &resident_pages) != 5) {
        return;
    }
    double ticks = (double)sysconf(_SC_CLK_TCK);
    process->present = true;
    process->cpu_seconds = (double)(user + system) / ticks;
    if (process->start_seconds == 0) {
        process->start_seconds = boot_seconds() + (double)start / ticks;
    }
    process->virtual_bytes = (double)virtual_bytes;
    process->resident_bytes = (double)resident_pages * (double)sysconf(_SC_PAGESIZE);
    process->open_fds = count_fds();
    process->max_fds = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : 0;
}
