/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_neff_source.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line "start-end perms offset major:minor inode path" of /proc/self/maps. */
struct mapping {
    unsigned long long start, end, inode;
    unsigned int major, minor;
    const char *path;
};

static bool mapping_parse(char *line, struct mapping *out_mapping)
{
    struct mapping mapping = { 0 };
    unsigned long long offset = 0;
    char permissions[5] = "";
    int path = 0;

    line[strcspn(line, "\n")] = '\0';
    // NOLINTNEXTLINE(cert-err34-c): numbers of the kernel cannot be out of range
    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &mapping.start, &mapping.end, permissions,
               &offset, &mapping.major, &mapping.minor, &mapping.inode, &path) < 7) {
        return false;
    }
    mapping.path = line + path;
    *out_mapping = mapping;
    return true;
}

static bool file_is_ours(const struct mapping *mapping)
{
    struct stat status;

    if (mapping->inode == 0) {
        return true; /* anonymous memory */
    }
    /* Do not trust a file that cannot be checked, is missing or was replaced. */
    if (stat(mapping->path, &status) != 0 || status.st_ino != mapping->inode) {
        return false;
    }
    return status.st_uid == geteuid() || status.st_uid == 0;
}

bool nrt_neff_source_is_ours(const void *bytes)
{
    unsigned long long address = (unsigned long long)(uintptr_t)bytes;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool is_ours = true;
    char *line = NULL;
    size_t capacity = 0;
    struct mapping mapping;

    if (!maps) {
        return false;
    }
    while (getline(&line, &capacity, maps) >= 0) {
        if (mapping_parse(line, &mapping) && address >= mapping.start && address < mapping.end) {
            is_ours = file_is_ours(&mapping);
            break;
        }
    }
    free(line);
    (void)fclose(maps);
    return is_ours;
}
