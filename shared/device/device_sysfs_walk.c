/* SPDX-License-Identifier: MIT */
/* device_sysfs_walk - walks a tree and selects leaves by their names. */
#include "shared/device/device_sysfs_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"

/* State while walking one device. */
struct walk {
    struct ntk_sysfs *sysfs;
    uint16_t device;
    size_t *entries;
    unsigned int cores_seen; /* one bit per core folder */
    bool infos_only;
    bool has_core_arch;
    const char *component[NTK_SYSFS_DEPTH_MAX + 1];
    char path[SYSFS_PATH_BYTES];
    int ret;
};

/* ---- identification of leaves ---- */

/* Returns 3 for "neuron_core3" or "core3", else -1. */
static int core_of_name(const char *name)
{
    const char *digits = ntk_str_starts_with(name, "neuron_core") ? name + 11
                         : ntk_str_starts_with(name, "core")      ? name + 4
                                                                  : "";

    if (digits[0] >= '0' && digits[0] < '0' + NTK_DEVICE_CORES_MAX && digits[1] == '\0') {
        return digits[0] - '0';
    }
    return -1;
}

static const struct {
    const char *folder;
    bool device;
    uint8_t category;
} memory_folders[] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) \
    { sysfs, NTK_MEMORY_##location == NTK_MEMORY_DEVICE, id },
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

static const struct {
    const char *folder;
    uint8_t status;
} status_folders[] = {
#define NTK_STATUS(id, symbol, folder, datastore_id) { folder, id },
#include "shared/abi/status.def"
#undef NTK_STATUS
    /* Names before driver 2.8.4. */
    { "infer_failed_to_queue", NTK_STATUS_FAILED_TO_QUEUE },
    { "infer_completed_with_num_error", NTK_STATUS_NUM_ERR },
    { "infer_completed_with_error", NTK_STATUS_COMPLETED_WITH_ERR },
};

static const struct {
    const char *name;
    const char *parent; /* NULL: any parent */
    enum leaf_kind kind;
} device_leaves[] = {
    { "core_count", NULL, LEAF_CORE_COUNT },
    { "connected_devices", NULL, LEAF_CONNECTED },
    { "serial_number", NULL, LEAF_SERIAL },
    { "arch_type", NULL, LEAF_ARCH },
    { "instance_type", NULL, LEAF_INSTANCE },
    { "device_name", NULL, LEAF_NAME },
    { "mem_ecc_corrected", NULL, LEAF_MEM_ECC_CORRECTED },
    { "mem_ecc_uncorrected", NULL, LEAF_MEM_ECC_UNCORRECTED },
    { "mem_ecc_repairable_uncorrected", NULL, LEAF_MEM_ECC_REPAIRABLE },
    { "sram_ecc_corrected", NULL, LEAF_SRAM_ECC_CORRECTED },
    { "sram_ecc_uncorrected", NULL, LEAF_SRAM_ECC_UNCORRECTED },
    { "utilization", "power", LEAF_POWER },
    { "unhealthy_components", NULL, LEAF_UNHEALTHY },
    { "healthcheck_heartbeat", NULL, LEAF_HEARTBEAT },
};

static const struct {
    const char *folder;
    enum leaf_kind kind;
} core_counters[] = {
    { "nc_time_in_use", LEAF_CORE_BUSY },        { "flop_count", LEAF_CORE_FLOPS },
    { "inference_count", LEAF_CORE_INFERENCES }, { "model_load_count", LEAF_CORE_LOADS },
    { "reset_req_count", LEAF_CORE_RESETS },
};

/* component[0..depth] are the names below the device; the last one is the file. */
static bool recognise_core(const struct walk *walk, size_t depth, struct leaf *leaf)
{
    const char *name = walk->component[depth];
    const char *parent = depth > 0 ? walk->component[depth - 1] : "";
    bool total = strcmp(name, "total") == 0;
    bool peak = strcmp(name, "peak") == 0;

    if (strcmp(name, "arch_type") == 0) {
        leaf->kind = LEAF_CORE_ARCH;
        return true;
    }
    if (peak && strcmp(parent, "device_mem") == 0) {
        leaf->kind = LEAF_CORE_MEMORY_PEAK;
        return true;
    }
    if (!total) {
        return false;
    }
    for (size_t i = 0; i < sizeof core_counters / sizeof *core_counters; i++) {
        if (strcmp(parent, core_counters[i].folder) == 0) {
            leaf->kind = core_counters[i].kind;
            return true;
        }
    }
    if (strcmp(parent, "device_mem") == 0 || strcmp(parent, "host_mem") == 0) {
        leaf->kind = parent[0] == 'd' ? LEAF_CORE_MEMORY : LEAF_CORE_HOST_MEMORY;
        return true;
    }
    for (size_t up = depth; up-- > 0;) {
        const char *ancestor = walk->component[up];

        if (strcmp(ancestor, "host_mem") == 0) {
            return false; /* host memory categories belong to the device */
        }
        if (strcmp(ancestor, "device_mem") == 0) {
            for (size_t i = 0; i < sizeof memory_folders / sizeof *memory_folders; i++) {
                if (memory_folders[i].device && strcmp(memory_folders[i].folder, parent) == 0) {
                    leaf->kind = LEAF_CORE_CATEGORY;
                    leaf->detail = memory_folders[i].category;
                    return true;
                }
            }
            return false;
        }
        if (strcmp(ancestor, "status") == 0) {
            for (size_t i = 0; i < sizeof status_folders / sizeof *status_folders; i++) {
                if (strcmp(status_folders[i].folder, parent) == 0) {
                    leaf->kind = LEAF_CORE_STATUS;
                    leaf->detail = status_folders[i].status;
                    return true;
                }
            }
            return false;
        }
    }
    return false;
}

static bool recognise(const struct walk *walk, size_t depth, struct leaf *leaf)
{
    const char *name = walk->component[depth];

    for (size_t i = 0; i < depth; i++) {
        int core = core_of_name(walk->component[i]);

        if (core >= 0) {
            leaf->core = (uint8_t)core;
            return recognise_core(walk, depth, leaf);
        }
    }
    for (size_t i = 0; i < sizeof device_leaves / sizeof *device_leaves; i++) {
        if (strcmp(name, device_leaves[i].name) == 0 &&
            (!device_leaves[i].parent ||
             (depth > 0 && strcmp(walk->component[depth - 1], device_leaves[i].parent) == 0))) {
            leaf->kind = device_leaves[i].kind;
            return true;
        }
    }
    return false;
}

/* ---- the walk ---- */

/* Returns true if counters are in this folder in the known layouts. */
static bool holds_counters(const char *name)
{
    return strcmp(name, "stats") == 0 || strcmp(name, "telemetry") == 0 ||
           strcmp(name, "power") == 0;
}

/* Callers that need only infos get these and the device's health indicators. One core is enough to
 * find the generation of all cores. */
static bool is_omitted(const struct walk *walk, size_t depth, const char *name, int core)
{
    if (core >= 0) {
        return walk->has_core_arch;
    }
    if (depth > 0 && core_of_name(walk->component[0]) < 0 && holds_counters(walk->component[0])) {
        return strcmp(name, "hardware") != 0 && strcmp(name, "health_status") != 0 &&
               strcmp(name, "device") != 0;
    }
    return holds_counters(name) && (depth > 0 || strcmp(name, "power") == 0);
}

static void add_leaf(struct walk *walk, size_t depth)
{
    struct leaf leaf = { .fd = -1, .device = walk->device };
    struct leaf *added;

    if (!recognise(walk, depth, &leaf)) {
        return;
    }
    walk->has_core_arch = walk->has_core_arch || leaf.kind == LEAF_CORE_ARCH;
    added = ntk_vec_add(&walk->sysfs->leaves);
    if (added) {
        leaf.path = strdup(walk->path);
        *added = leaf;
    }
    if (!added || !added->path) {
        walk->ret = -ENOMEM;
    }
}

/* Returns DT_DIR, DT_REG or another type. Most file systems report it with the name; a stat per
 * leaf would double the cost of a big tree. */
static int type_of(DIR *dir, const struct dirent *entry)
{
    struct stat status;

    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type;
    }
    if (fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return DT_UNKNOWN;
    }
    return S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_UNKNOWN;
}

static DIR *open_folder(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir && fd >= 0) {
        close(fd);
    }
    return dir;
}

/* A hash of the names and types in a folder and in `levels` levels of folders below it, independent
 * of order; 0 if it cannot be listed. */
static uint64_t shape_of(int parent, const char *name, int levels, size_t *entries)
{
    DIR *dir = open_folder(parent, name);
    uint64_t shape = 1;
    struct dirent *entry;

    if (!dir) {
        return 0;
    }
    while (*entries < NTK_SYSFS_ENTRIES_MAX && (entry = readdir(dir))) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a offset basis */
        int type;

        if (entry->d_name[0] == '.') {
            continue;
        }
        (*entries)++;
        type = type_of(dir, entry);
        for (const char *c = entry->d_name; *c; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        }
        hash = (hash ^ (unsigned int)type) * UINT64_C(0x100000001b3);
        if (type == DT_DIR && levels > 0) {
            hash *= shape_of(dirfd(dir), entry->d_name, levels - 1, entries) | 1;
        }
        shape += hash;
    }
    closedir(dir);
    return shape | 1;
}

static void walk_folder(struct walk *walk, int parent, const char *name, size_t depth);

/* Copies the template's leaves to the path of this core. */
static void copy_core(struct walk *walk, const struct core_pattern *pattern, uint8_t core)
{
    struct ntk_sysfs *sysfs = walk->sysfs;

    for (size_t i = 0; i < pattern->leaf_count && walk->ret == 0; i++) {
        struct leaf *added = ntk_vec_add(&sysfs->leaves);
        const struct leaf *from = ntk_vec_at(&sysfs->leaves, pattern->leaf_first + i);

        if (!added) {
            walk->ret = -ENOMEM;
            return;
        }
        *added = (struct leaf){ .fd = -1,
                                .kind = from->kind,
                                .device = walk->device,
                                .core = core,
                                .detail = from->detail };
        if (asprintf(&added->path, "%s%s", walk->path, from->path + pattern->path_bytes) < 0) {
            added->path = NULL;
            walk->ret = -ENOMEM;
        }
        walk->has_core_arch = walk->has_core_arch || from->kind == LEAF_CORE_ARCH;
    }
}

/*
 * Walks a core. A driver gives all cores the same structure, with about fifty folders each. The
 * first one is walked; for the others two levels are checked, and if these are the same, the leaves
 * are, too.
 */
static void walk_core(struct walk *walk, int parent, const char *name, size_t depth, uint8_t core)
{
    struct ntk_sysfs *sysfs = walk->sysfs;
    uint64_t shape = shape_of(parent, name, 1, walk->entries);
    size_t first = sysfs->leaves.count;

    for (size_t i = 0; i < sysfs->pattern_count; i++) {
        if (shape == sysfs->patterns[i].shape) {
            copy_core(walk, &sysfs->patterns[i], core);
            return;
        }
    }
    walk_folder(walk, parent, name, depth);
    if (shape != 0 && sysfs->pattern_count < CORE_PATTERNS_MAX && walk->ret == 0) {
        sysfs->patterns[sysfs->pattern_count++] =
            (struct core_pattern){ .shape = shape,
                                   .path_bytes = strlen(walk->path),
                                   .leaf_first = first,
                                   .leaf_count = sysfs->leaves.count - first };
    }
}

static void walk_folder(struct walk *walk, int parent, const char *name, size_t depth)
{
    size_t path_bytes = strlen(walk->path);
    DIR *dir = open_folder(parent, name);
    struct dirent *entry;

    if (!dir) {
        return;
    }
    while (walk->ret == 0 && *walk->entries < NTK_SYSFS_ENTRIES_MAX && (entry = readdir(dir))) {
        int written;
        int type;

        if (entry->d_name[0] == '.') {
            continue;
        }
        (*walk->entries)++;
        written =
            snprintf(walk->path + path_bytes, sizeof walk->path - path_bytes, "/%s", entry->d_name);
        if (written < 0 || (size_t)written >= sizeof walk->path - path_bytes) {
            continue;
        }
        type = type_of(dir, entry);
        walk->component[depth] = entry->d_name;
        if (type == DT_DIR) {
            int core = core_of_name(entry->d_name);

            if (core >= 0) {
                walk->cores_seen |= 1u << core;
            }
            if (walk->infos_only && is_omitted(walk, depth, entry->d_name, core)) {
                continue;
            }
            if (depth >= NTK_SYSFS_DEPTH_MAX) {
                continue;
            }
            if (core >= 0 && !walk->infos_only) {
                walk_core(walk, dirfd(dir), entry->d_name, depth + 1, (uint8_t)core);
            } else {
                walk_folder(walk, dirfd(dir), entry->d_name, depth + 1);
            }
        } else if (type == DT_REG) {
            add_leaf(walk, depth);
        }
    }
    walk->path[path_bytes] = '\0';
    closedir(dir);
}

/* ---- all devices ---- */

static int walk_device(struct ntk_sysfs *sysfs, size_t device, bool infos_only, size_t *entries)
{
    struct walk walk = {
        .sysfs = sysfs, .device = (uint16_t)device, .entries = entries, .infos_only = infos_only
    };
    struct ntk_device_info *info = &sysfs->devices[device];

    snprintf(walk.path, sizeof walk.path, "neuron%u", (unsigned)info->index);
    walk_folder(&walk, sysfs->folder, walk.path, 0);
    if (walk.ret < 0) {
        return walk.ret;
    }
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        if (leaf->device == device) {
            sysfs_read_info(sysfs, leaf);
        }
    }
    if (info->core_count == 0 && walk.cores_seen != 0) {
        info->core_count = 32u - (uint32_t)__builtin_clz(walk.cores_seen);
    }
    return 0;
}

/* Puts the leaves of devices first: most reads need only these, and cores have thousands. */
static int order_leaves(struct ntk_sysfs *sysfs)
{
    struct ntk_vec ordered;

    ntk_vec_init(&ordered, sizeof(struct leaf));
    for (int of_cores = 0; of_cores <= 1; of_cores++) {
        ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
            if ((leaf->kind > LEAF_CORE_ARCH) == of_cores && ntk_vec_push(&ordered, leaf) < 0) {
                ntk_vec_fini(&ordered);
                return -ENOMEM;
            }
        }
        sysfs->device_leaf_count = of_cores ? sysfs->device_leaf_count : ordered.count;
    }
    ntk_vec_fini(&sysfs->leaves);
    sysfs->leaves = ordered;
    return 0;
}

int sysfs_walk_devices(struct ntk_sysfs *sysfs)
{
    size_t entries = 0;

    for (size_t i = 0; i < sysfs->device_count; i++) {
        struct ntk_device_info *info = &sysfs->devices[i];
        size_t leaf_count = sysfs->leaves.count;
        int ret = walk_device(sysfs, i, sysfs->infos_only, &entries);

        if (ret == 0 && sysfs->infos_only && (info->core_count == 0 || !info->name[0])) {
            /* This layout has its infos elsewhere: walk all of it. */
            while (sysfs->leaves.count > leaf_count) {
                sysfs->leaves.count--;
                free(((struct leaf *)sysfs->leaves.items)[sysfs->leaves.count].path);
            }
            *info = (struct ntk_device_info){ .index = info->index };
            ret = walk_device(sysfs, i, false, &entries);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return order_leaves(sysfs);
}
