/* SPDX-License-Identifier: MIT */
#include "shared/device/device_sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/base/vec.h"

#define PATH_BYTES 512
#define LEAF_BYTES 1024 /* nothing longer is a leaf we know */
#define YOUNG_SECONDS 2

/* What a leaf is. Device leaves first, then those of a core. */
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
};

struct leaf {
    char *path; /* below the folder of devices */
    int fd;     /* -1 while not open */
    enum leaf_kind kind;
    uint16_t device; /* index in tree.devices */
    uint8_t core;
    uint8_t detail; /* category or status */
};

/* What tells one tree from its successor. */
struct signature {
    dev_t device;
    ino_t folder;
    struct timespec changed;
    ino_t first;
    struct timespec first_changed;
    char version[NTK_DEVICE_TEXT_BYTES];
    char name[NTK_DEVICE_TEXT_BYTES];
};

/* The folder of a core that was walked: one of the same shape has the same leaves. A layout has one or two. */
struct core_pattern {
    uint64_t shape;
    size_t path_bytes;
    size_t leaf_first;
    size_t leaf_count;
};
#define CORE_PATTERNS_MAX 4

struct ntk_sysfs {
    char root[PATH_BYTES];
    int folder; /* of the devices */
    struct ntk_vec leaves;
    struct core_pattern patterns[CORE_PATTERNS_MAX];
    size_t pattern_count;
    struct ntk_device_info *devices;
    size_t device_count;
    size_t open_count;
    struct signature signature;
    bool infos_only;
    bool young; /* walked while it may still have been in the making */
};

/* The walk of one device. */
struct walk {
    struct ntk_sysfs *sysfs;
    uint16_t device;
    size_t *entries;
    unsigned int cores_seen; /* bit per core folder */
    bool infos_only;
    bool has_core_arch;
    const char *component[NTK_SYSFS_DEPTH_MAX + 1];
    char path[PATH_BYTES];
    int ret;
};

/* Below `folder` only, through no symbolic link; where the kernel cannot promise that, not through the
 * last component at least. */
static int open_below(int folder, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, folder, path, &how, sizeof how);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL)) {
        return openat(folder, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    return (int)fd;
}

/* ---- recognising leaves ---- */

/* "neuron_core3" or "core3": 3, else -1. */
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
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, top_label, oom_row, ntff_type) \
    { sysfs, NTK_MEMORY_##location == NTK_MEMORY_DEVICE, id },
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

static const struct {
    const char *folder;
    uint8_t status;
} status_folders[] = {
#define NTK_STATUS(id, symbol, folder, datastore_id, nrt_status) { folder, id },
#include "shared/abi/status.def"
#undef NTK_STATUS
    /* names before driver 2.8.4 */
    { "infer_failed_to_queue", NTK_STATUS_FAILED_TO_QUEUE },
    { "infer_completed_with_num_error", NTK_STATUS_NUM_ERR },
    { "infer_completed_with_error", NTK_STATUS_COMPLETED_WITH_ERR },
};

static const struct {
    const char *name;
    const char *parent; /* NULL: any */
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
};

static const struct {
    const char *folder;
    enum leaf_kind kind;
} core_counters[] = {
    { "nc_time_in_use", LEAF_CORE_BUSY },
    { "flop_count", LEAF_CORE_FLOPS },
    { "inference_count", LEAF_CORE_INFERENCES },
    { "model_load_count", LEAF_CORE_LOADS },
};

/* component[0..depth] are the names below the device, the last one the file. */
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
            return false; /* categories of host memory belong to the device */
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

/* Where counters lie in the layouts we know, and nothing else. */
static bool holds_counters(const char *name)
{
    return strcmp(name, "stats") == 0 || strcmp(name, "telemetry") == 0 ||
           strcmp(name, "power") == 0;
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

/* DT_DIR, DT_REG or another: most file systems say it with the name, a stat per leaf would double the
 * cost of a big tree. */
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

/* A number for the names and types in a folder and `levels` folders below it, in any order; 0 when it cannot be
 * listed. */
static uint64_t shape_of(int parent, const char *name, int levels, size_t *entries)
{
    DIR *dir = open_folder(parent, name);
    uint64_t shape = 1;
    struct dirent *entry;

    if (!dir) {
        return 0;
    }
    while (*entries < NTK_SYSFS_ENTRIES_MAX && (entry = readdir(dir))) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
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

/* The leaves of the pattern below the path of this core. */
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
 * A core: a driver makes all of them alike, with some fifty folders each. The first one is walked; of the others two
 * levels are looked at, and when these are the same the leaves are.
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
            if (walk->infos_only &&
                (holds_counters(entry->d_name) || (core >= 0 && walk->has_core_arch))) {
                continue; /* one core tells the generation of all */
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

/* ---- reading leaves ---- */

static bool stays_open(enum leaf_kind kind)
{
    return kind >= LEAF_MEM_ECC_CORRECTED && kind <= LEAF_UNHEALTHY;
}

/* The bytes of a leaf, NUL-ended, or -errno. */
static ssize_t read_leaf(struct ntk_sysfs *sysfs, struct leaf *leaf, char *buf, size_t buf_bytes)
{
    struct stat status;
    ssize_t got;
    int fd = leaf->fd;

    if (fd < 0) {
        fd = open_below(sysfs->folder, leaf->path, O_RDONLY);
        if (fd < 0) {
            return -errno;
        }
        if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
            close(fd);
            return -EINVAL;
        }
    }
    got = pread(fd, buf, buf_bytes - 1, 0);
    if (got < 0) {
        got = -errno;
    } else {
        buf[got] = '\0';
    }
    if (leaf->fd < 0 && got >= 0 && stays_open(leaf->kind) &&
        sysfs->open_count < NTK_SYSFS_OPEN_MAX) {
        leaf->fd = fd;
        sysfs->open_count++;
    } else if (leaf->fd < 0) {
        close(fd);
    } else if (got < 0) {
        close(leaf->fd); /* the driver went; the next refresh walks again */
        leaf->fd = -1;
        sysfs->open_count--;
    }
    return got;
}

static void trim(char *text)
{
    size_t bytes = strlen(text);

    while (bytes > 0 && strchr(" \t\r\n", text[bytes - 1])) {
        text[--bytes] = '\0';
    }
}

static void read_text(struct ntk_sysfs *sysfs, struct leaf *leaf, char *out, size_t out_bytes)
{
    char buf[LEAF_BYTES];
    ssize_t got = read_leaf(sysfs, leaf, buf, sizeof buf);

    if (got < 0) {
        return;
    }
    trim(buf);
    ntk_str_copy_clean(out, out_bytes, buf, strlen(buf));
}

/* Reads a whole line; twice when the first ends early, since the software machine rewrites in place. */
static bool read_line(struct ntk_sysfs *sysfs, struct leaf *leaf, char *buf, size_t buf_bytes)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        ssize_t got = read_leaf(sysfs, leaf, buf, buf_bytes);

        if (got > 0 && buf[got - 1] == '\n') {
            trim(buf);
            return true;
        }
    }
    return false;
}

static struct ntk_device_value read_counter(struct ntk_sysfs *sysfs, struct leaf *leaf)
{
    struct ntk_device_value value = { 0 };
    char buf[LEAF_BYTES];

    if (read_line(sysfs, leaf, buf, sizeof buf) && buf[0] >= '0' && buf[0] <= '9' &&
        ntk_str_parse_u64(buf, &value.value) == 0) {
        value.present = true;
        if (value.value >= UINT64_C(1) << 63) {
            value.value = 0; /* cleared below what was in use */
        }
    }
    return value;
}

static void read_neighbours(struct ntk_sysfs *sysfs, struct leaf *leaf,
                            struct ntk_device_info *info)
{
    char buf[LEAF_BYTES];
    char *rest = buf;
    char *token;

    if (read_leaf(sysfs, leaf, buf, sizeof buf) < 0) {
        return;
    }
    trim(buf);
    info->has_neighbours = true;
    while ((token = strsep(&rest, ",")) && info->neighbour_count < NTK_DEVICE_NEIGHBOURS_MAX) {
        uint64_t neighbour;

        token += strspn(token, " \t");
        trim(token);
        if (ntk_str_parse_u64(token, &neighbour) == 0 && neighbour < NTK_DEVICES_MAX) {
            info->neighbours[info->neighbour_count++] = (uint8_t)neighbour;
        }
    }
}

static bool parse_percent(const char *text, double *out)
{
    return ntk_str_parse_double(text, out) == 0 && *out >= 0 && *out <= 100;
}

static void read_power(struct ntk_sysfs *sysfs, struct leaf *leaf,
                       struct ntk_device_reading *reading)
{
    char buf[LEAF_BYTES];
    char *rest = buf;
    char *field[5];

    if (!read_line(sysfs, leaf, buf, sizeof buf)) {
        return;
    }
    for (size_t i = 0; i < 5; i++) {
        field[i] = strsep(&rest, ",");
        if (!field[i]) {
            return;
        }
    }
    reading->has_power = strcmp(field[0], "POWER_STATUS_VALID") == 0 &&
                         ntk_str_parse_u64(field[1], &reading->power_time_seconds) == 0 &&
                         parse_percent(field[2], &reading->power_min_percent) &&
                         parse_percent(field[3], &reading->power_max_percent) &&
                         parse_percent(field[4], &reading->power_average_percent);
}

static void read_info(struct ntk_sysfs *sysfs, struct leaf *leaf)
{
    struct ntk_device_info *info = &sysfs->devices[leaf->device];
    char buf[NTK_DEVICE_TEXT_BYTES] = "";
    uint64_t count;

    switch (leaf->kind) {
    case LEAF_CORE_COUNT:
        read_text(sysfs, leaf, buf, sizeof buf);
        if (ntk_str_parse_u64(buf, &count) == 0 && count <= NTK_DEVICE_CORES_MAX) {
            info->core_count = (uint32_t)count;
        }
        break;
    case LEAF_CONNECTED:
        read_neighbours(sysfs, leaf, info);
        break;
    case LEAF_SERIAL:
        read_text(sysfs, leaf, info->serial, sizeof info->serial);
        break;
    case LEAF_ARCH:
        read_text(sysfs, leaf, info->arch, sizeof info->arch);
        break;
    case LEAF_INSTANCE:
        read_text(sysfs, leaf, info->instance_type, sizeof info->instance_type);
        break;
    case LEAF_NAME:
        read_text(sysfs, leaf, info->name, sizeof info->name);
        break;
    case LEAF_CORE_ARCH:
        if (info->core_arch[0] == '\0') {
            read_text(sysfs, leaf, info->core_arch, sizeof info->core_arch);
        }
        break;
    default:
        break;
    }
}

static struct ntk_device_value *core_value(struct ntk_device_core_reading *core,
                                           const struct leaf *leaf, unsigned int *out_read)
{
    *out_read = NTK_DEVICE_READ_CORES;
    switch (leaf->kind) {
    case LEAF_CORE_BUSY:
        return &core->busy_us;
    case LEAF_CORE_FLOPS:
        return &core->flops;
    case LEAF_CORE_INFERENCES:
        return &core->inference_count;
    case LEAF_CORE_LOADS:
        return &core->model_load_count;
    case LEAF_CORE_HOST_MEMORY:
        return &core->host_memory_bytes;
    case LEAF_CORE_MEMORY:
        return &core->device_memory_bytes;
    case LEAF_CORE_MEMORY_PEAK:
        return &core->device_memory_peak_bytes;
    case LEAF_CORE_CATEGORY:
        *out_read = NTK_DEVICE_READ_CATEGORIES;
        return &core->category_bytes[leaf->detail];
    case LEAF_CORE_STATUS:
        *out_read = NTK_DEVICE_READ_STATUS;
        return &core->status[leaf->detail];
    default:
        return NULL;
    }
}

static struct ntk_device_value *device_value(struct ntk_device_reading *reading,
                                             enum leaf_kind kind)
{
    switch (kind) {
    case LEAF_MEM_ECC_CORRECTED:
        return &reading->mem_ecc_corrected;
    case LEAF_MEM_ECC_UNCORRECTED:
        return &reading->mem_ecc_uncorrected;
    case LEAF_MEM_ECC_REPAIRABLE:
        return &reading->mem_ecc_repairable_uncorrected;
    case LEAF_SRAM_ECC_CORRECTED:
        return &reading->sram_ecc_corrected;
    case LEAF_SRAM_ECC_UNCORRECTED:
        return &reading->sram_ecc_uncorrected;
    default:
        return NULL;
    }
}

void ntk_sysfs_read(struct ntk_sysfs *sysfs, unsigned int read, struct ntk_device_reading *readings,
                    size_t capacity)
{
    for (size_t i = 0; i < capacity && i < sysfs->device_count; i++) {
        memset(&readings[i], 0, sizeof readings[i]);
        readings[i].index = sysfs->devices[i].index;
    }
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        struct ntk_device_value *value;
        unsigned int group = NTK_DEVICE_READ_DEVICE;

        if (leaf->device >= capacity) {
            continue;
        }
        value = leaf->kind > LEAF_CORE_ARCH
                    ? core_value(&readings[leaf->device].cores[leaf->core], leaf, &group)
                    : device_value(&readings[leaf->device], leaf->kind);
        if (!(read & group)) {
            continue;
        }
        if (value) {
            *value = read_counter(sysfs, leaf);
        } else if (leaf->kind == LEAF_POWER) {
            read_power(sysfs, leaf, &readings[leaf->device]);
        } else if (leaf->kind == LEAF_UNHEALTHY) {
            read_text(sysfs, leaf, readings[leaf->device].unhealthy_components,
                      sizeof readings[leaf->device].unhealthy_components);
        }
    }
}

/* ---- opening ---- */

void ntk_sysfs_read_root_text(const char *root, const char *name, char *buf, size_t buf_bytes)
{
    char path[PATH_BYTES + 64];
    char text[LEAF_BYTES];
    int fd;
    ssize_t got;

    buf[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", root, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got > 0) {
        text[got] = '\0';
        trim(text);
        ntk_str_copy_clean(buf, buf_bytes, text, strlen(text));
    }
}

static struct leaf *find_leaf(const struct ntk_sysfs *sysfs, uint16_t device, enum leaf_kind kind)
{
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        if (leaf->device == device && leaf->kind == kind) {
            return leaf;
        }
    }
    return NULL;
}

static bool take_signature(struct ntk_sysfs *sysfs, struct signature *out)
{
    char path[PATH_BYTES + 64];
    struct stat status;
    struct leaf *name;

    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/devices/virtual/neuron_device", sysfs->root);
    if (stat(path, &status) < 0) {
        return false;
    }
    out->device = status.st_dev;
    out->folder = status.st_ino;
    out->changed = status.st_mtim;
    if (sysfs->device_count > 0) {
        char first[32];

        snprintf(first, sizeof first, "neuron%u", (unsigned)sysfs->devices[0].index);
        if (fstatat(sysfs->folder, first, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            return false;
        }
        out->first = status.st_ino;
        out->first_changed = status.st_mtim;
        name = find_leaf(sysfs, 0, LEAF_NAME);
        if (name) {
            read_text(sysfs, name, out->name, sizeof out->name);
        }
    }
    ntk_sysfs_read_root_text(sysfs->root, "module/neuron/version", out->version,
                             sizeof out->version);
    return true;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool ntk_sysfs_changed(struct ntk_sysfs *sysfs)
{
    const struct signature *old = &sysfs->signature;
    struct signature now;

    if (sysfs->young || !take_signature(sysfs, &now)) {
        return true;
    }
    return now.device != old->device || now.folder != old->folder || now.first != old->first ||
           !same_time(now.changed, old->changed) ||
           !same_time(now.first_changed, old->first_changed) ||
           strcmp(now.version, old->version) != 0 || strcmp(now.name, old->name) != 0;
}

static int compare_devices(const void *a, const void *b)
{
    const struct ntk_device_info *x = a;
    const struct ntk_device_info *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

static int list_devices(struct ntk_sysfs *sysfs)
{
    int fd = openat(sysfs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    size_t looked = 0;

    if (!dir) {
        if (fd >= 0) {
            close(fd);
        }
        return -ENOENT;
    }
    while (sysfs->device_count < NTK_DEVICES_MAX && looked++ < NTK_SYSFS_ENTRIES_MAX &&
           (entry = readdir(dir))) {
        uint64_t index;

        if (ntk_str_starts_with(entry->d_name, "neuron") && entry->d_name[6] >= '0' &&
            entry->d_name[6] <= '9' && ntk_str_parse_u64(entry->d_name + 6, &index) == 0 &&
            index < NTK_DEVICES_MAX && (entry->d_name[6] != '0' || entry->d_name[7] == '\0')) {
            sysfs->devices[sysfs->device_count++].index = (uint32_t)index;
        }
    }
    closedir(dir);
    qsort(sysfs->devices, sysfs->device_count, sizeof *sysfs->devices, compare_devices);
    return 0;
}

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
            read_info(sysfs, leaf);
        }
    }
    if (info->core_count == 0 && walk.cores_seen != 0) {
        info->core_count = 32u - (uint32_t)__builtin_clz(walk.cores_seen);
    }
    return 0;
}

static int walk_devices(struct ntk_sysfs *sysfs)
{
    size_t entries = 0;

    for (size_t i = 0; i < sysfs->device_count; i++) {
        struct ntk_device_info *info = &sysfs->devices[i];
        size_t leaf_count = sysfs->leaves.count;
        int ret = walk_device(sysfs, i, sysfs->infos_only, &entries);

        if (ret == 0 && sysfs->infos_only && (info->core_count == 0 || !info->name[0])) {
            /* A layout that keeps its infos elsewhere: all of it, then. */
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
    return 0;
}

static bool is_new_layout(const char *version)
{
    unsigned int major = 0;
    unsigned int minor = 0;

    return sscanf(version, "%9u.%9u", &major, &minor) == 2 &&
           (major > 2 || (major == 2 && minor >= 31));
}

int ntk_sysfs_open(const char *root, bool infos_only, struct ntk_sysfs **out_sysfs,
                   struct ntk_device_tree *out_tree)
{
    struct ntk_sysfs *sysfs = calloc(1, sizeof *sysfs);
    char path[PATH_BYTES + 64];
    struct timespec now;
    int ret = -ENOMEM;

    if (!sysfs) {
        return -ENOMEM;
    }
    sysfs->folder = -1;
    sysfs->infos_only = infos_only;
    ntk_vec_init(&sysfs->leaves, sizeof(struct leaf));
    sysfs->devices = calloc(NTK_DEVICES_MAX, sizeof *sysfs->devices);
    if (!sysfs->devices) {
        goto out;
    }
    if (!ntk_str_copy(sysfs->root, sizeof sysfs->root, root)) {
        ret = -ENOENT;
        goto out;
    }
    snprintf(path, sizeof path, "%s/devices/virtual/neuron_device", root);
    sysfs->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sysfs->folder < 0) {
        ret = -ENOENT;
        goto out;
    }
    ret = list_devices(sysfs);
    if (ret == 0) {
        ret = walk_devices(sysfs);
    }
    if (ret < 0) {
        goto out;
    }
    if (!take_signature(sysfs, &sysfs->signature)) {
        ret = -ENOENT;
        goto out;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)now.tv_sec - (int64_t)sysfs->signature.changed.tv_sec;

    sysfs->young = age >= 0 && age < YOUNG_SECONDS;

    memset(out_tree, 0, sizeof *out_tree);
    ntk_str_copy(out_tree->driver_version, sizeof out_tree->driver_version,
                 sysfs->signature.version);
    out_tree->new_layout = is_new_layout(out_tree->driver_version);
    ntk_sysfs_read_root_text(root, "class/neuron_device/ultraserver_mode",
                             out_tree->ultraserver_mode, sizeof out_tree->ultraserver_mode);
    out_tree->devices = sysfs->devices;
    out_tree->device_count = sysfs->device_count;
    for (size_t i = 0; i < sysfs->device_count; i++) {
        if (sysfs->devices[i].core_count > out_tree->cores_per_device) {
            out_tree->cores_per_device = sysfs->devices[i].core_count;
        }
    }
    *out_sysfs = sysfs;
    sysfs = NULL;

out:
    ntk_sysfs_close(sysfs);
    return ret;
}

void ntk_sysfs_close(struct ntk_sysfs *sysfs)
{
    if (!sysfs) {
        return;
    }
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        free(leaf->path);
        if (leaf->fd >= 0) {
            close(leaf->fd);
        }
    }
    ntk_vec_fini(&sysfs->leaves);
    if (sysfs->folder >= 0) {
        close(sysfs->folder);
    }
    free(sysfs->devices);
    free(sysfs);
}
