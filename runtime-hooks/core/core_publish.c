/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_publish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/vec.h"

#define LEAF_TEXT_BYTES 256
#define LEAF_PATH_BYTES 192
#define ROUND_NS NTK_NS_PER_SECOND
#define POWER_SAMPLES_MIN 55 /* of a minute; fewer are no data */
#define POWER_ENGINES 5

static const char *const driver_versions[] = { "2.30.2.0", "2.31.0.0" };

const char *ntk_core_publish_driver(const struct ntk_core_soft *soft)
{
    return driver_versions[soft->state->header.sysfs_layout == 1];
}

struct leaf;
typedef void leaf_format(const struct leaf *leaf, char *text, size_t bytes);

struct leaf {
    char path[LEAF_PATH_BYTES]; /* below the root */
    leaf_format *format;
    const void *source; /* in soft.state, or static text */
    char *last;         /* as written by us; NULL: not yet */
};

/* Several categories that share a folder. */
struct group {
    const struct ntk_soft_memory *memory; /* table by category */
    const char *folder;
    bool is_host;
    struct ntk_soft_memory shown;
    uint64_t last_total[NTK_SOFT_CATEGORIES];
};

struct power {
    uint64_t busy_ns; /* of the engines of the device, at the last sample */
    uint64_t sampled_ns;
    uint64_t samples;
    uint64_t min, max, sum; /* 1/100 percent */
    uint64_t minute;
};

struct tree {
    struct ntk_core_soft *soft;
    const struct ntk_core_machine_row *row;
    char root[NTK_PATH_BYTES];
    struct ntk_vec leaves; /* of struct leaf */
    struct group *groups;
    size_t group_count, group_limit;
    struct power power[NTK_SOFT_DEVICES];
};

struct ntk_core_publisher {
    struct tree tree;
    bool is_publisher;
    bool is_stale; /* the tree is an earlier publisher's: the thread's first act is to write it */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop_wanted;
    bool stop; /* under lock */
};

/* --- formats ------------------------------------------------------------------------------------ */

static void format_text(const struct leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s", (const char *)leaf->source);
}

static void format_line(const struct leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s\n", (const char *)leaf->source);
}

static void format_u64(const struct leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%" PRIu64 "\n", ntk_abi_load((const uint64_t *)leaf->source));
}

static void format_u64_as_us(const struct leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%" PRIu64 "\n",
                   ntk_abi_load((const uint64_t *)leaf->source) / NTK_NS_PER_US);
}

static void format_i32(const struct leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%d\n", (int)ntk_abi_load((const uint32_t *)leaf->source));
}

static void format_power(const struct leaf *leaf, char *text, size_t bytes)
{
    static const char *const statuses[] = { "VALID", "NO_DATA", "INVALID" };
    const struct ntk_soft_device *device = leaf->source;
    uint64_t status = ntk_abi_load(&device->power_status);
    uint64_t min = ntk_abi_load(&device->power_min);
    uint64_t max = ntk_abi_load(&device->power_max);
    uint64_t avg = ntk_abi_load(&device->power_avg);

    (void)snprintf(
        text, bytes,
        "POWER_STATUS_%s,%" PRIu64 ",%" PRIu64 ".%02u,%" PRIu64 ".%02u,%" PRIu64 ".%02u\n",
        status < 3 ? statuses[status] : "MAX", ntk_abi_load(&device->power_time_s), min / 100,
        (unsigned)(min % 100), max / 100, (unsigned)(max % 100), avg / 100, (unsigned)(avg % 100));
}

static void format_tensor_engine(const struct leaf *leaf, char *text, size_t bytes)
{
    const struct ntk_soft_core *core = leaf->source;
    uint64_t matmul = ntk_abi_load(&core->pe_matmul_cycles);
    uint64_t weights = ntk_abi_load(&core->pe_weights_cycles);
    uint64_t idle = ntk_abi_load(&core->pe_idle_cycles);
    int used = snprintf(text, bytes, "xrow_grp,mm_active,wl_active,idle\n");

    for (int row = 0; row < 4 && used > 0 && (size_t)used < bytes; row++) {
        used += snprintf(text + used, bytes - (size_t)used,
                         "%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row, matmul, weights, idle);
    }
}

static void format_unhealthy(const struct leaf *leaf, char *text, size_t bytes)
{
    static const char *const names[] = { "hbm",
                                         "sram",
                                         "firmware_service_api",
                                         "firmware_service_processor",
                                         "link_intraserver",
                                         "link_host",
                                         "link_efa",
                                         "link_interserver",
                                         "link_switch",
                                         "axi_fabric" };
    uint64_t bits = ntk_abi_load((const uint64_t *)leaf->source);
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (bits >> i & 1 && used < bytes) {
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? "," : "", names[i]);
        }
    }
    (void)snprintf(text + used, bytes - used, "\n");
}

/* --- the list of leaves -------------------------------------------------------------------------- */

/* Longer paths than LEAF_PATH_BYTES are cut here and refused by leaf_add(). */
static void path_format(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void path_format(char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path, LEAF_PATH_BYTES, format, args);
    va_end(args);
}

static int leaf_add(struct tree *tree, leaf_format *format, const void *source, const char *path,
                    ...) __attribute__((format(printf, 4, 5)));

static int leaf_add(struct tree *tree, leaf_format *format, const void *source, const char *path,
                    ...)
{
    struct leaf *leaf = ntk_vec_add(&tree->leaves);
    va_list args;

    if (!leaf) {
        return -ENOMEM;
    }
    leaf->format = format;
    leaf->source = source;
    va_start(args, path);
    int length = vsnprintf(leaf->path, sizeof leaf->path, path, args);
    va_end(args);
    return length > 0 && (size_t)length < sizeof leaf->path ? 0 : -ENAMETOOLONG;
}

static int count_add(struct tree *tree, const struct ntk_soft_count *count, bool is_time,
                     const char *folder, const char *name)
{
    leaf_format *format = is_time ? format_u64_as_us : format_u64;
    int ret = leaf_add(tree, format, &count->total, "%s/%s/total", folder, name);

    return ret < 0 ? ret : leaf_add(tree, format, &count->present, "%s/%s/present", folder, name);
}

static int memory_add(struct tree *tree, const struct ntk_soft_memory *memory, const char *folder)
{
    int ret = leaf_add(tree, format_u64, &memory->total, "%s/total", folder);

    if (ret == 0) {
        ret = leaf_add(tree, format_u64, &memory->present, "%s/present", folder);
    }
    return ret < 0 ? ret : leaf_add(tree, format_u64, &memory->peak, "%s/peak", folder);
}

static const struct {
    const char *folder;
    bool is_host;
} categories[NTK_SOFT_CATEGORIES] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, label, oom, ntff) \
    { sysfs, NTK_MEMORY_##location == NTK_MEMORY_HOST },
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

static bool is_first_of_folder(size_t category)
{
    for (size_t i = 0; i < category; i++) {
        if (categories[i].is_host == categories[category].is_host &&
            strcmp(categories[i].folder, categories[category].folder) == 0) {
            return false;
        }
    }
    return true;
}

/* One folder per group of categories below stats_folder. */
static int groups_add(struct tree *tree, const struct ntk_soft_memory *memory, bool is_host,
                      const char *stats_folder)
{
    char folder[LEAF_PATH_BYTES];
    int ret = 0;

    for (size_t i = 0; i < NTK_SOFT_CATEGORIES && ret == 0; i++) {
        if (categories[i].is_host != is_host || !is_first_of_folder(i)) {
            continue;
        }
        if (tree->group_count == tree->group_limit) {
            return -ENOSPC;
        }
        struct group *group = &tree->groups[tree->group_count++];
        *group =
            (struct group){ .memory = memory, .folder = categories[i].folder, .is_host = is_host };
        path_format(folder, "%s/%s", stats_folder, categories[i].folder);
        ret = memory_add(tree, &group->shown, folder);
    }
    /* The driver's tree has this folder under host_mem too. */
    if (ret == 0 && is_host) {
        static const struct ntk_soft_memory nothing;

        path_format(folder, "%s/uncategorized", stats_folder);
        ret = memory_add(tree, &nothing, folder);
    }
    return ret;
}

static int core_leaves_add(struct tree *tree, uint32_t device, uint32_t local,
                           const char *info_folder, const char *stats)
{
    static const char *const status_folders[] = {
#define NTK_STATUS(id, symbol, folder, datastore_id, nrt_status) folder,
#include "shared/abi/status.def"
#undef NTK_STATUS
    };
    const struct ntk_core_machine *facts = &tree->row->facts;
    const struct ntk_soft_core *core =
        &tree->soft->state->core[device * facts->cores_per_device + local];
    const struct {
        const char *name;
        const struct ntk_soft_count *count;
    } others[] = {
        { "model_load_count", &core->model_load_count },
        { "inference_count", &core->inference_count },
        { "flop_count", &core->flop_count },
        { "reset_req_count", &core->reset_req_count },
        { "reset_fail_count", &core->reset_fail_count },
    };
    char folder[LEAF_PATH_BYTES];
    int ret = leaf_add(tree, format_line, facts->core_arch, "%s/info/architecture/arch_type",
                       info_folder);

    path_format(folder, "%s/status", stats);
    for (size_t i = 0; i < NTK_STATUS_COUNT && ret == 0; i++) {
        ret = count_add(tree, &core->status[i], false, folder, status_folders[i]);
    }
    path_format(folder, "%s/other_info", stats);
    for (size_t i = 0; i < sizeof others / sizeof *others && ret == 0; i++) {
        ret = count_add(tree, others[i].count, false, folder, others[i].name);
    }
    if (ret == 0) {
        ret = count_add(tree, &core->nc_time_in_use_ns, true, folder, "nc_time_in_use");
    }
    path_format(folder, "%s/memory_usage/host_mem", stats);
    if (ret == 0) {
        ret = memory_add(tree, &core->host_memory_total, folder);
    }
    path_format(folder, "%s/memory_usage/device_mem", stats);
    if (ret == 0) {
        ret = memory_add(tree, &core->device_memory_total, folder);
    }
    if (ret == 0) {
        ret = groups_add(tree, core->memory, false, folder);
    }
    if (ret == 0 && tree->row->has_hardware_leaves) {
        ret = leaf_add(tree, format_tensor_engine, core, "%s/tensor_engine/pe_cntrs", stats);
    }
    return ret;
}

/* Text that lives as long as the tree: kept as the leaf's source. */
static const char *text_keep(struct tree *tree, const char *text);

static int device_leaves_add(struct tree *tree, uint32_t index, const char *folder,
                             const char *stats)
{
    const struct ntk_core_machine_row *row = tree->row;
    const struct ntk_soft_device *device = &tree->soft->state->device[index];
    uint32_t neighbours[4];
    char text[LEAF_TEXT_BYTES];
    char host_folder[LEAF_PATH_BYTES];
    size_t count = ntk_core_machine_neighbours(row, index, neighbours);
    size_t used = 0;
    int ret = 0;

    (void)snprintf(text, sizeof text, "%u", row->facts.cores_per_device);
    ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/core_count", folder);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? ", " : "",
                                 neighbours[i]);
    }
    (void)snprintf(text + used, sizeof text - used, "\n");
    ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/connected_devices", folder);
    ret |= leaf_add(tree, format_u64, &device->reset_state, "%s/reset", folder);
    ret |= leaf_add(tree, format_i32, &tree->soft->state->header.notify_delay,
                    "%s/info/notify_delay", folder);
    if (row->facts.generation > 1) {
        (void)snprintf(text, sizeof text, "%016llx\n",
                       (unsigned long long)(0x0a1b2c3d4e5f0000ULL + index));
        ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/info/serial_number", folder);
    }
    ret |= leaf_add(tree, format_line, row->device_arch, "%s/info/architecture/arch_type", folder);
    ret |= leaf_add(tree, format_line, row->sysfs_instance, "%s/info/architecture/instance_type",
                    folder);
    ret |=
        leaf_add(tree, format_line, row->device_name, "%s/info/architecture/device_name", folder);
    if (row->has_hardware_leaves) {
        ret |= leaf_add(tree, format_u64, &device->sram_ecc_uncorrected,
                        "%s/hardware/sram_ecc_uncorrected", stats);
        ret |= leaf_add(tree, format_u64, &device->sram_ecc_corrected,
                        "%s/hardware/sram_ecc_corrected", stats);
        ret |= leaf_add(tree, format_u64, &device->mem_ecc_uncorrected,
                        "%s/hardware/mem_ecc_uncorrected", stats);
        ret |= leaf_add(tree, format_u64, &device->mem_ecc_corrected,
                        "%s/hardware/mem_ecc_corrected", stats);
        ret |= leaf_add(tree, format_u64, &device->mem_ecc_repairable_uncorrected,
                        "%s/hardware/mem_ecc_repairable_uncorrected", stats);
    }
    if (row->has_health_leaves) {
        ret |= leaf_add(tree, format_unhealthy, &device->unhealthy_components,
                        "%s/hardware/health_status/unhealthy_components", stats);
        ret |= leaf_add(tree, format_u64, &tree->soft->state->header.heartbeat,
                        "%s/hardware/health_status/healthcheck_heartbeat", stats);
    }
    ret |= leaf_add(tree, format_power, device, "%s/power/utilization", stats);
    path_format(host_folder, "%s/memory_usage/host_mem", stats);
    ret |= groups_add(tree, device->host_memory, true, host_folder);
    return ret == 0 ? 0 : -ENOMEM;
}

/* CPUs and NUMA node of the drawn machine. */
static int pci_leaves_add(struct tree *tree, uint32_t index)
{
    uint32_t n = tree->row->vcpu_count;
    uint32_t devices = tree->row->facts.device_count;
    char folder[LEAF_PATH_BYTES];
    char text[LEAF_TEXT_BYTES];
    int node = -1;
    int ret = 0;

    path_format(folder, "bus/pci/devices/0000:%02x:%02x.0", 16 + 16 * (index / 4), 28 + index % 4);
    ret |= leaf_add(tree, format_text, "0x1d0f\n", "%s/vendor", folder);
    (void)snprintf(text, sizeof text, "0x%04x\n", tree->row->pci_device_id);
    ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/device", folder);
    (void)snprintf(text, sizeof text, "0-%u\n", n - 1);
    if (n >= 96) {
        node = index < (devices + 1) / 2 ? 0 : 1;
        (void)snprintf(text, sizeof text, "%u-%u,%u-%u\n", node == 0 ? 0 : n / 4,
                       node == 0 ? n / 4 - 1 : n / 2 - 1, node == 0 ? n / 2 : 3 * n / 4,
                       node == 0 ? 3 * n / 4 - 1 : n - 1);
    }
    ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/local_cpulist", folder);
    (void)snprintf(text, sizeof text, "%d\n", node);
    ret |= leaf_add(tree, format_text, text_keep(tree, text), "%s/numa_node", folder);
    return ret == 0 ? 0 : -ENOMEM;
}

static int class_leaves_add(struct tree *tree)
{
    bool ultra = tree->row->is_ultraserver;
    const char *folder = "class/neuron_device";
    int ret = 0;

    for (int set = 2; set <= 4; set += 2) {
        ret |= leaf_add(tree, format_text, ultra ? "0\n" : "-1\n", "%s/node_id_%d", folder, set);
        ret |= leaf_add(tree, format_text, ultra ? "00c0ffee00c0ffee\n" : "0000000000000000\n",
                        "%s/server_id_%d", folder, set);
    }
    ret |= leaf_add(tree, format_text, ultra ? "1,2,3,4\n" : "\n", "%s/ultraserver_mode", folder);
    ret |=
        leaf_add(tree, format_line, ntk_core_publish_driver(tree->soft), "module/neuron/version");
    return ret == 0 ? 0 : -ENOMEM;
}

/* Kept texts are leaves' `last` of entries without a path: one owner for all strings of the tree. */
static const char *text_keep(struct tree *tree, const char *text)
{
    struct leaf *keeper = ntk_vec_add(&tree->leaves);

    if (!keeper) {
        return "";
    }
    keeper->last = strdup(text);
    return keeper->last ? keeper->last : "";
}

static int leaves_add(struct tree *tree)
{
    const struct ntk_core_machine *facts = &tree->row->facts;
    bool is_new = tree->soft->state->header.sysfs_layout == 1;
    char folder[LEAF_PATH_BYTES];
    char stats[LEAF_PATH_BYTES];
    char info[LEAF_PATH_BYTES];
    int ret = class_leaves_add(tree);

    tree->group_limit =
        (size_t)facts->device_count * (1 + facts->cores_per_device) * NTK_SOFT_CATEGORIES;
    tree->groups = calloc(tree->group_limit, sizeof *tree->groups);
    if (!tree->groups) {
        return -ENOMEM;
    }
    for (uint32_t d = 0; d < facts->device_count && ret == 0; d++) {
        path_format(folder, "devices/virtual/neuron_device/neuron%u", d);
        path_format(stats, "%s/%s", folder, is_new ? "telemetry/device" : "stats");
        ret = device_leaves_add(tree, d, folder, stats);
        if (ret == 0) {
            ret = pci_leaves_add(tree, d);
        }
        for (uint32_t k = 0; k < facts->cores_per_device && ret == 0; k++) {
            path_format(info, "%s/neuron_core%u", folder, k);
            if (is_new) {
                path_format(stats, "%s/telemetry/neuron_core%u", folder, k);
            } else {
                path_format(stats, "%s/stats", info);
            }
            ret = core_leaves_add(tree, d, k, info, stats);
        }
    }
    return ret;
}

/* --- writing ------------------------------------------------------------------------------------- */

static int tree_init(struct tree *tree, struct ntk_core_soft *soft,
                     const struct ntk_core_machine_row *row, struct ntk_err *err)
{
    *tree = (struct tree){ .soft = soft, .row = row };
    ntk_vec_init(&tree->leaves, sizeof(struct leaf));
    if (ntk_paths_soft_sysfs_root(tree->root, sizeof tree->root) < 0) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of the device tree is too long");
    }
    if (leaves_add(tree) < 0) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    return 0;
}

static void tree_fini(struct tree *tree)
{
    ntk_vec_each(struct leaf, leaf, &tree->leaves) {
        free(leaf->last);
    }
    ntk_vec_fini(&tree->leaves);
    free(tree->groups);
    tree->groups = NULL;
}

/* The folder of a path, and what is missing above it: from below, because mostly one is missing. */
static int folder_make(char *path)
{
    char *slash = strrchr(path, '/');
    int ret = 0;

    if (!slash || slash == path) {
        return -ENOENT;
    }
    *slash = '\0';
    if (mkdir(path, 0755) < 0 && errno != EEXIST) {
        ret = -errno;
        if (ret == -ENOENT) {
            ret = folder_make(path);
            if (ret == 0 && mkdir(path, 0755) < 0 && errno != EEXIST) {
                ret = -errno;
            }
        }
    }
    *slash = '/';
    return ret;
}

static int leaf_write(struct tree *tree, const struct leaf *leaf, const char *text)
{
    char path[NTK_PATH_BYTES + LEAF_PATH_BYTES];
    size_t bytes = strlen(text);
    int fd = -1;

    (void)snprintf(path, sizeof path, "%s/%s", tree->root, leaf->path);
    for (int attempt = 0; attempt < 2 && fd < 0; attempt++) {
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 && errno == ENOENT && attempt == 0) {
            int ret = folder_make(path);

            if (ret < 0) {
                return ret;
            }
        }
    }
    if (fd < 0) {
        return -errno;
    }
    /* In place: a reader between the two sees the new text, or it and the end of a longer old one. */
    int ret = pwrite(fd, text, bytes, 0) == (ssize_t)bytes && ftruncate(fd, (off_t)bytes) == 0
                  ? 0
                  : -errno;
    close(fd);
    return ret;
}

/* What a group's folder shows: the sum, and the change of the member that changed. */
static void group_update(struct group *group)
{
    uint64_t total = 0;
    uint64_t peak = 0;

    for (size_t i = 0; i < NTK_SOFT_CATEGORIES; i++) {
        if (categories[i].is_host != group->is_host ||
            strcmp(categories[i].folder, group->folder) != 0) {
            continue;
        }
        const struct ntk_soft_memory *memory = &group->memory[i];
        uint64_t now = ntk_abi_load(&memory->total);

        if (now != group->last_total[i] || group->shown.present == 0) {
            uint64_t present = ntk_abi_load(&memory->present);

            group->shown.present = present != 0 ? present : group->shown.present;
            group->last_total[i] = now;
        }
        total += now;
        peak += ntk_abi_load(&memory->peak);
    }
    group->shown.total = total;
    group->shown.peak = peak;
}

static void power_update(struct tree *tree, uint32_t index, uint64_t now_ns)
{
    struct power *power = &tree->power[index];
    struct ntk_soft_state *state = tree->soft->state;
    struct ntk_soft_device *device = &state->device[index];
    uint32_t cores = tree->row->facts.cores_per_device;
    uint64_t realtime_s = ntk_clock_realtime_ns() / NTK_NS_PER_SECOND;
    uint64_t busy = 0;

    for (uint32_t k = 0; k < cores; k++) {
        busy += ntk_abi_load(&state->core[index * cores + k].engine_busy_ns);
    }
    if (power->sampled_ns != 0 && now_ns > power->sampled_ns && busy >= power->busy_ns) {
        uint64_t capacity = (now_ns - power->sampled_ns) * cores * POWER_ENGINES;
        uint64_t share = (uint64_t)((double)(busy - power->busy_ns) * 10000.0 / (double)capacity);

        share = share < 10000 ? share : 10000;
        power->min = power->samples == 0 || share < power->min ? share : power->min;
        power->max = share > power->max ? share : power->max;
        power->sum += share;
        power->samples++;
    }
    if (power->minute != 0 && realtime_s / 60 != power->minute) {
        bool enough = power->samples >= POWER_SAMPLES_MIN;

        ntk_abi_store(&device->power_status, enough ? 0 : 1);
        ntk_abi_store(&device->power_time_s, realtime_s);
        ntk_abi_store(&device->power_min, enough ? power->min : 0);
        ntk_abi_store(&device->power_max, enough ? power->max : 0);
        ntk_abi_store(&device->power_avg, enough ? power->sum / power->samples : 0);
        power->samples = power->min = power->max = power->sum = 0;
    }
    power->minute = realtime_s / 60;
    power->busy_ns = busy;
    power->sampled_ns = now_ns;
}

/* One round: every leaf whose text changed. The first error ends it. */
static int tree_update(struct tree *tree)
{
    char text[LEAF_TEXT_BYTES];
    uint64_t now_ns = ntk_clock_monotonic_ns();
    struct ntk_soft_header *header = &tree->soft->state->header;

    ntk_abi_add_shared(&header->heartbeat, 1);
    for (size_t i = 0; i < tree->group_count; i++) {
        group_update(&tree->groups[i]);
    }
    for (uint32_t d = 0; d < tree->row->facts.device_count; d++) {
        power_update(tree, d, now_ns);
    }
    ntk_vec_each(struct leaf, leaf, &tree->leaves) {
        if (!leaf->format) {
            continue;
        }
        leaf->format(leaf, text, sizeof text);
        if (leaf->last && strcmp(leaf->last, text) == 0) {
            continue;
        }
        int ret = leaf_write(tree, leaf, text);
        if (ret < 0) {
            return ret;
        }
        char *copy = strdup(text);
        free(leaf->last);
        leaf->last = copy;
    }
    return 0;
}

/* The folder above the root must be ours: the default place lies in /tmp. */
static int root_prepare(struct tree *tree, struct ntk_err *err)
{
    char folder[NTK_PATH_BYTES];
    struct stat status;

    (void)snprintf(folder, sizeof folder, "%s", tree->root);
    *strrchr(folder, '/') = '\0';
    int ret = ntk_fs_make_folders(folder, 0700, err);
    if (ret < 0) {
        return ret;
    }
    if (lstat(folder, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                           "%s is no folder of this user; the device tree is not published",
                           folder);
    }
    if (tree->soft->is_new) {
        ret = ntk_fs_remove_tree(tree->root, err);
        tree->soft->is_new = false;
    }
    return ret;
}

static int links_make(struct tree *tree, struct ntk_err *err)
{
    char path[NTK_PATH_BYTES + LEAF_PATH_BYTES];
    char target[LEAF_PATH_BYTES];

    for (uint32_t d = 0; d < tree->row->facts.device_count; d++) {
        (void)snprintf(path, sizeof path, "%s/class/neuron_device/neuron%u", tree->root, d);
        (void)snprintf(target, sizeof target, "../../devices/virtual/neuron_device/neuron%u", d);
        if (symlink(target, path) < 0 && errno != EEXIST) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot make %s: %s", path,
                               strerror(errno));
        }
    }
    return 0;
}

/* Writes everything; the publisher's byte is locked. */
static int tree_publish(struct tree *tree, struct ntk_err *err)
{
    int ret = root_prepare(tree, err);

    if (ret < 0) {
        return ret;
    }
    ntk_abi_store(&tree->soft->state->header.publisher_pid, (uint64_t)getpid());
    ret = tree_update(tree);
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write the device tree %s: %s",
                           tree->root, strerror(-ret));
    }
    return links_make(tree, err);
}

int ntk_core_publish_once(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                          struct ntk_err *err)
{
    struct tree tree;
    int ret = tree_init(&tree, soft, row, err);

    if (ret == 0 && ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PUBLISHER) == 1) {
        ret = tree_publish(&tree, err);
        ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_PUBLISHER);
    }
    tree_fini(&tree);
    return ret;
}

int ntk_core_publish_remove(struct ntk_err *err)
{
    char root[NTK_PATH_BYTES];

    if (ntk_paths_soft_sysfs_root(root, sizeof root) < 0) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of the device tree is too long");
    }
    *strrchr(root, '/') = '\0';
    return ntk_fs_remove_tree(root, err);
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* One round of a publisher, or the try to become it. */
static void publisher_round(struct ntk_core_publisher *publisher)
{
    if (!publisher->is_publisher) {
        if (ntk_core_soft_lock(publisher->tree.soft, NTK_SOFT_LOCK_PUBLISHER) != 1) {
            return;
        }
        publisher->is_publisher = true;
        (void)tree_publish(&publisher->tree, NULL);
        return;
    }
    (void)tree_update(&publisher->tree); /* tried again in a second */
}

static void *publisher_run(void *argument)
{
    struct ntk_core_publisher *publisher = argument;
    struct timespec next;

    if (publisher->is_stale) {
        (void)tree_publish(&publisher->tree, NULL);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&publisher->lock);
    while (!publisher->stop) {
        next.tv_sec += 1;
        while (!publisher->stop && pthread_cond_timedwait(&publisher->stop_wanted, &publisher->lock,
                                                          &next) != ETIMEDOUT) {
        }
        if (publisher->stop) {
            break;
        }
        pthread_mutex_unlock(&publisher->lock);
        publisher_round(publisher);
        pthread_mutex_lock(&publisher->lock);
    }
    pthread_mutex_unlock(&publisher->lock);
    return NULL;
}

/* Tools find the machine by its devices. */
static bool tree_exists(const struct tree *tree)
{
    char path[NTK_PATH_BYTES + 64];

    (void)snprintf(path, sizeof path, "%s/devices/virtual/neuron_device/neuron0/core_count",
                   tree->root);
    return access(path, F_OK) == 0;
}

static int thread_start(struct ntk_core_publisher *publisher)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t old;

    pthread_mutex_init(&publisher->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&publisher->stop_wanted, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Signals are the program's business. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int ret = pthread_create(&publisher->thread, NULL, publisher_run, publisher);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -ret;
}

int ntk_core_publisher_start(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                             struct ntk_core_publisher **out_publisher, struct ntk_err *err)
{
    struct ntk_core_publisher *publisher = calloc(1, sizeof *publisher);
    int ret = publisher ? tree_init(&publisher->tree, soft, row, err) : -ENOMEM;

    if (ret < 0) {
        goto fail;
    }
    if (ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PUBLISHER) == 1) {
        publisher->is_publisher = true;
        publisher->is_stale = !soft->is_new && tree_exists(&publisher->tree);
        ret = publisher->is_stale ? 0 : tree_publish(&publisher->tree, err);
    }
    if (ret == 0) {
        ret = thread_start(publisher);
        if (ret < 0) {
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s", strerror(-ret));
        }
    }
    if (ret < 0) {
        ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_PUBLISHER);
        goto fail;
    }
    *out_publisher = publisher;
    return 0;

fail:
    if (publisher) {
        tree_fini(&publisher->tree);
        free(publisher);
    }
    return ret;
}

void ntk_core_publisher_stop(struct ntk_core_publisher *publisher)
{
    if (!publisher) {
        return;
    }
    pthread_mutex_lock(&publisher->lock);
    publisher->stop = true;
    pthread_cond_signal(&publisher->stop_wanted);
    pthread_mutex_unlock(&publisher->lock);
    pthread_join(publisher->thread, NULL);
    publisher_round(publisher);
    if (publisher->is_publisher) {
        ntk_core_soft_unlock(publisher->tree.soft, NTK_SOFT_LOCK_PUBLISHER);
    }
    pthread_cond_destroy(&publisher->stop_wanted);
    pthread_mutex_destroy(&publisher->lock);
    tree_fini(&publisher->tree);
    free(publisher);
}
