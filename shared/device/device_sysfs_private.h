/* SPDX-License-Identifier: MIT */
/*
 * device_sysfs_private - the state of a tree between its walk and its readings; shared by
 * device_sysfs.c, device_sysfs_walk.c and device_sysfs_read.c.
 */
#ifndef NTK_SHARED_DEVICE_DEVICE_SYSFS_PRIVATE_H
#define NTK_SHARED_DEVICE_DEVICE_SYSFS_PRIVATE_H

#include <sys/stat.h>
#include <time.h>

#include "shared/base/vec.h"
#include "shared/device/device_sysfs.h"

#define SYSFS_PATH_BYTES 512

/* The meaning of a leaf. Device leaves come first, then core leaves. */
enum leaf_kind {
    LEAF_CORE_COUNT,
    LEAF_CONNECTED,
    LEAF_SERIAL,
    LEAF_ARCH,
    LEAF_INSTANCE,
    LEAF_NAME,
    LEAF_MEM_ECC_CORRECTED,
    LEAF_MEM_ECC_UNCORRECTED,
    LEAF_MEM_ECC_REPAIRABLE,
    LEAF_SRAM_ECC_CORRECTED,
    LEAF_SRAM_ECC_UNCORRECTED,
    LEAF_POWER,
    LEAF_UNHEALTHY,
    LEAF_HEARTBEAT,
    LEAF_CORE_ARCH,
    LEAF_CORE_BUSY,
    LEAF_CORE_FLOPS,
    LEAF_CORE_INFERENCES,
    LEAF_CORE_LOADS,
    LEAF_CORE_HOST_MEMORY,
    LEAF_CORE_MEMORY,
    LEAF_CORE_MEMORY_PEAK,
    LEAF_CORE_CATEGORY,
    LEAF_CORE_STATUS,
    LEAF_CORE_RESETS,
};

struct leaf {
    char *path; /* path below the folder of devices */
    int fd;     /* -1 while closed */
    enum leaf_kind kind;
    uint16_t device; /* device's index in tree.devices */
    uint8_t core;
    uint8_t detail; /* the category or status */
};

/* Distinguishes a tree from its successor. */
struct signature {
    dev_t device;
    ino_t folder;
    struct timespec changed;
    ino_t first;
    struct timespec first_changed;
    char version[NTK_DEVICE_TEXT_BYTES];
    char name[NTK_DEVICE_TEXT_BYTES];
};

/* The walked folder of a core, which serves as a template: other cores with the same structure have
 * the same leaves. A layout has one or two of them. */
struct core_pattern {
    uint64_t shape;
    size_t path_bytes;
    size_t leaf_first;
    size_t leaf_count;
};
#define CORE_PATTERNS_MAX 4

struct ntk_sysfs {
    char root[SYSFS_PATH_BYTES];
    int folder;            /* descriptor of the folder of devices */
    struct ntk_vec leaves; /* those of devices first, then those of cores */
    size_t device_leaf_count;
    struct core_pattern patterns[CORE_PATTERNS_MAX];
    size_t pattern_count;
    struct ntk_device_info *devices;
    size_t device_count;
    size_t open_count;
    size_t open_max; /* maximum number of leaves that stay open */
    unsigned int reads;
    unsigned int checks;              /* checks whether the tree has changed */
    uint8_t skipped[NTK_DEVICES_MAX]; /* see ntk_device_source_skip() */
    bool checks_links; /* this read checks whether open leaves are still in the tree */
    struct signature signature;
    bool infos_only;
    bool young; /* the tree was so new when walked that it may have been incomplete */
};

/* Finds the leaves of all devices and reads the infos among them. Returns 0 or -ENOMEM. */
int sysfs_walk_devices(struct ntk_sysfs *sysfs);
/* Copies a leaf with a device fact into ntk_device_info; ignores others. */
void sysfs_read_info(struct ntk_sysfs *sysfs, struct leaf *leaf);
/* Reads the text of a leaf, cleaned; out stays unchanged if it cannot be read. */
void sysfs_read_text(struct ntk_sysfs *sysfs, struct leaf *leaf, char *out, size_t out_bytes);

#endif
