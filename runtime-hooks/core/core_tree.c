/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_publish.h"
#include "shared/base/clock.h"
#include "shared/abi/core_number.h"
#include "shared/base/map.h"

static const char *const driver_versions[] = { "2.30.2.0", "2.31.0.0" };

const char *ntk_core_publish_driver(const struct ntk_core_soft *soft)
{
    return driver_versions[soft->state->header.sysfs_layout == 1];
}

/* --- formats ---------------------------------------------------------------------------------- */

static void format_text(const struct core_tree_leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s", (const char *)leaf->source);
}

static void format_line(const struct core_tree_leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%s\n", (const char *)leaf->source);
}

static void format_u64(const struct core_tree_leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%" PRIu64 "\n", ntk_abi_load((const uint64_t *)leaf->source));
}

static void format_u64_as_us(const struct core_tree_leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%" PRIu64 "\n",
                   ntk_abi_load((const uint64_t *)leaf->source) / NTK_NS_PER_US);
}

static void format_i32(const struct core_tree_leaf *leaf, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "%d\n", (int)ntk_abi_load((const uint32_t *)leaf->source));
}

static void format_power(const struct core_tree_leaf *leaf, char *text, size_t bytes)
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

static void format_tensor_engine(const struct core_tree_leaf *leaf, char *text, size_t bytes)
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

static void format_unhealthy(const struct core_tree_leaf *leaf, char *text, size_t bytes)
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

/* --- the list of leaves ----------------------------------------------------------------------- */

/* Formats a path. Paths longer than CORE_TREE_PATH_BYTES are truncated here and rejected by
 * leaf_add(). */
static void path_format(char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void path_format(char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path, CORE_TREE_PATH_BYTES, format, args);
    va_end(args);
}

/* Adds a leaf and returns it, or NULL; the list is checked at its end. */
static struct core_tree_leaf *leaf_add(struct core_tree *tree, core_tree_format *format,
                                       const void *source, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

static struct core_tree_leaf *leaf_add(struct core_tree *tree, core_tree_format *format,
                                       const void *source, const char *path, ...)
{
    struct core_tree_leaf *leaf = ntk_vec_add(&tree->leaves);
    va_list args;

    if (!leaf) {
        tree->is_short = true;
        return NULL;
    }
    leaf->format = format;
    /* the cast is safe, because only counters are written */
    leaf->source = (void *)(uintptr_t)source;
    va_start(args, path);
    int length = vsnprintf(leaf->path, sizeof leaf->path, path, args);
    va_end(args);
    tree->is_short = tree->is_short || length < 0 || (size_t)length >= sizeof leaf->path;
    return leaf;
}

static void counter_add(struct core_tree *tree, core_tree_format *format, const uint64_t *counter,
                        const char *folder, const char *name)
{
    struct core_tree_leaf *leaf = leaf_add(tree, format, counter, "%s/%s", folder, name);

    if (leaf) {
        leaf->effect = CORE_TREE_EFFECT_CLEAR;
    }
}

static void count_add(struct core_tree *tree, const struct ntk_soft_count *count, bool is_time,
                      const char *parent, const char *name)
{
    core_tree_format *format = is_time ? format_u64_as_us : format_u64;
    char folder[CORE_TREE_PATH_BYTES];

    path_format(folder, "%s/%s", parent, name);
    counter_add(tree, format, &count->total, folder, "total");
    counter_add(tree, format, &count->present, folder, "present");
}

static void memory_add(struct core_tree *tree, const struct ntk_soft_memory *memory,
                       const char *folder)
{
    counter_add(tree, format_u64, &memory->total, folder, "total");
    counter_add(tree, format_u64, &memory->present, folder, "present");
    counter_add(tree, format_u64, &memory->peak, folder, "peak");
}

static const struct {
    const char *folder;
    bool is_host;
} categories[NTK_SOFT_CATEGORIES] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, key, oom, ntff) \
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

/* Adds one folder per group of categories below stats_folder. */
static void groups_add(struct core_tree *tree, struct ntk_soft_memory *memory, bool is_host,
                       const char *stats_folder)
{
    char folder[CORE_TREE_PATH_BYTES];

    for (size_t i = 0; i < NTK_SOFT_CATEGORIES; i++) {
        if (categories[i].is_host != is_host || !is_first_of_folder(i)) {
            continue;
        }
        if (tree->group_count == tree->group_limit) {
            tree->is_short = true;
            return;
        }
        struct core_tree_group *group = &tree->groups[tree->group_count];
        size_t first = tree->leaves.count;

        *group = (struct core_tree_group){ .memory = memory,
                                           .folder = categories[i].folder,
                                           .is_host = is_host };
        path_format(folder, "%s/%s", stats_folder, categories[i].folder);
        memory_add(tree, &group->shown, folder);
        for (size_t k = first; k < tree->leaves.count; k++) {
            struct core_tree_leaf *leaf = ntk_vec_at(&tree->leaves, k);

            leaf->effect = CORE_TREE_EFFECT_CLEAR_GROUP;
            leaf->index = (uint32_t)tree->group_count;
        }
        tree->group_count++;
    }
    /* The driver's tree also has this folder below host_mem. */
    if (is_host) {
        path_format(folder, "%s/uncategorized", stats_folder);
        memory_add(tree, &tree->nothing, folder);
    }
}

static void core_leaves_add(struct core_tree *tree, uint32_t device, uint32_t local,
                            const char *info_folder, const char *stats)
{
    static const char *const status_folders[] = {
#define NTK_STATUS(id, symbol, folder, datastore_id) folder,
#include "shared/abi/status.def"
#undef NTK_STATUS
    };
    const struct ntk_core_machine *facts = &tree->row->facts;
    struct ntk_soft_core *core =
        &tree->soft->state->core[ntk_core_number(device, facts->cores_per_device, local)];
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
    char folder[CORE_TREE_PATH_BYTES];

    leaf_add(tree, format_line, facts->core_arch, "%s/info/architecture/arch_type", info_folder);
    path_format(folder, "%s/status", stats);
    for (size_t i = 0; i < NTK_STATUS_COUNT; i++) {
        count_add(tree, &core->status[i], false, folder, status_folders[i]);
    }
    path_format(folder, "%s/other_info", stats);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        count_add(tree, others[i].count, false, folder, others[i].name);
    }
    count_add(tree, &core->nc_time_in_use_ns, true, folder, "nc_time_in_use");
    path_format(folder, "%s/memory_usage/host_mem", stats);
    memory_add(tree, &core->host_memory_total, folder);
    path_format(folder, "%s/memory_usage/device_mem", stats);
    memory_add(tree, &core->device_memory_total, folder);
    groups_add(tree, core->memory, false, folder);
    if (tree->row->has_hardware_leaves) {
        leaf_add(tree, format_tensor_engine, core, "%s/tensor_engine/pe_cntrs", stats);
    }
}

/* Keeps a text for the lifetime of the tree. */
static const char *text_keep(struct core_tree *tree, const char *text);

static void effect_set(struct core_tree_leaf *leaf, enum core_tree_effect effect, uint32_t index)
{
    if (leaf) {
        leaf->effect = (uint8_t)effect;
        leaf->index = index;
    }
}

static void device_leaves_add(struct core_tree *tree, uint32_t index, const char *folder,
                              const char *stats)
{
    const struct ntk_core_machine_row *row = tree->row;
    struct ntk_soft_device *device = &tree->soft->state->device[index];
    uint32_t neighbours[4];
    char text[CORE_TREE_TEXT_BYTES];
    char host_folder[CORE_TREE_PATH_BYTES];
    size_t count = ntk_core_machine_neighbours(row, index, neighbours);
    size_t used = 0;

    (void)snprintf(text, sizeof text, "%u", row->facts.cores_per_device);
    leaf_add(tree, format_text, text_keep(tree, text), "%s/core_count", folder);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? ", " : "",
                                 neighbours[i]);
    }
    (void)snprintf(text + used, sizeof text - used, "\n");
    leaf_add(tree, format_text, text_keep(tree, text), "%s/connected_devices", folder);
    effect_set(leaf_add(tree, format_u64, &device->reset_state, "%s/reset", folder),
               CORE_TREE_EFFECT_RESET, index);
    effect_set(leaf_add(tree, format_i32, &tree->soft->state->header.notify_delay,
                        "%s/info/notify_delay", folder),
               CORE_TREE_EFFECT_NOTIFY, 0);
    if (row->facts.generation > 1) {
        (void)snprintf(text, sizeof text, "%016llx\n",
                       (unsigned long long)(0x0a1b2c3d4e5f0000ULL + index));
        leaf_add(tree, format_text, text_keep(tree, text), "%s/info/serial_number", folder);
    }
    leaf_add(tree, format_line, row->device_arch, "%s/info/architecture/arch_type", folder);
    leaf_add(tree, format_line, row->sysfs_instance, "%s/info/architecture/instance_type", folder);
    leaf_add(tree, format_line, row->device_name, "%s/info/architecture/device_name", folder);
    if (row->has_hardware_leaves) {
        leaf_add(tree, format_u64, &device->sram_ecc_uncorrected,
                 "%s/hardware/sram_ecc_uncorrected", stats);
        leaf_add(tree, format_u64, &device->sram_ecc_corrected, "%s/hardware/sram_ecc_corrected",
                 stats);
        leaf_add(tree, format_u64, &device->mem_ecc_uncorrected, "%s/hardware/mem_ecc_uncorrected",
                 stats);
        leaf_add(tree, format_u64, &device->mem_ecc_corrected, "%s/hardware/mem_ecc_corrected",
                 stats);
        leaf_add(tree, format_u64, &device->mem_ecc_repairable_uncorrected,
                 "%s/hardware/mem_ecc_repairable_uncorrected", stats);
    }
    if (row->has_health_leaves) {
        leaf_add(tree, format_unhealthy, &device->unhealthy_components,
                 "%s/hardware/health_status/unhealthy_components", stats);
        leaf_add(tree, format_u64, &tree->soft->state->header.heartbeat,
                 "%s/hardware/health_status/healthcheck_heartbeat", stats);
    }
    leaf_add(tree, format_power, device, "%s/power/utilization", stats);
    path_format(host_folder, "%s/memory_usage/host_mem", stats);
    groups_add(tree, device->host_memory, true, host_folder);
}

/* Adds the CPUs and NUMA node of the simulated machine. */
static void pci_leaves_add(struct core_tree *tree, uint32_t index)
{
    uint32_t n = tree->row->vcpu_count;
    uint32_t devices = tree->row->facts.device_count;
    char folder[CORE_TREE_PATH_BYTES];
    char text[CORE_TREE_TEXT_BYTES];
    char bdf[NTK_CORE_BDF_BYTES];
    int node = -1;

    ntk_core_machine_bdf(index, bdf);
    path_format(folder, "bus/pci/devices/%s", bdf);
    leaf_add(tree, format_text, "0x1d0f\n", "%s/vendor", folder);
    (void)snprintf(text, sizeof text, "0x%04x\n", tree->row->pci_device_id);
    leaf_add(tree, format_text, text_keep(tree, text), "%s/device", folder);
    (void)snprintf(text, sizeof text, "0-%u\n", n - 1);
    if (n >= 96) {
        node = index < (devices + 1) / 2 ? 0 : 1;
        (void)snprintf(text, sizeof text, "%u-%u,%u-%u\n", node == 0 ? 0 : n / 4,
                       node == 0 ? n / 4 - 1 : n / 2 - 1, node == 0 ? n / 2 : 3 * n / 4,
                       node == 0 ? 3 * n / 4 - 1 : n - 1);
    }
    leaf_add(tree, format_text, text_keep(tree, text), "%s/local_cpulist", folder);
    (void)snprintf(text, sizeof text, "%d\n", node);
    leaf_add(tree, format_text, text_keep(tree, text), "%s/numa_node", folder);
}

static void class_leaves_add(struct core_tree *tree)
{
    bool ultra = tree->row->is_ultraserver;
    const char *folder = "class/neuron_device";

    for (int set = 2; set <= 4; set += 2) {
        leaf_add(tree, format_text, ultra ? "0\n" : "-1\n", "%s/node_id_%d", folder, set);
        leaf_add(tree, format_text, ultra ? "00c0ffee00c0ffee\n" : "0000000000000000\n",
                 "%s/server_id_%d", folder, set);
    }
    leaf_add(tree, format_text, ultra ? "1,2,3,4\n" : "\n", "%s/ultraserver_mode", folder);
    leaf_add(tree, format_line, ntk_core_publish_driver(tree->soft), "module/neuron/version");
}

static const char *text_keep(struct core_tree *tree, const char *text)
{
    char *copy = strdup(text);

    if (!copy || ntk_vec_push(&tree->texts, &copy) < 0) {
        free(copy);
        tree->is_short = true;
        return "";
    }
    return copy;
}

static int folder_of(struct core_tree *tree, struct ntk_map *folders, uint32_t index)
{
    struct core_tree_leaf *leaf = ntk_vec_at(&tree->leaves, index);
    struct core_tree_folder *folder;
    char *slash = strrchr(leaf->path, '/');
    uint64_t number;

    leaf->name = (uint16_t)(slash + 1 - leaf->path);
    leaf->next = CORE_TREE_NONE;
    *slash = '\0';
    number = (uint64_t)(uintptr_t)ntk_map_get(folders, leaf->path);
    if (number == 0) {
        struct core_tree_folder fresh = { index, index };

        number = tree->folders.count + 1;
        if (ntk_map_put(folders, leaf->path, (void *)(uintptr_t)number) < 0 ||
            ntk_vec_push(&tree->folders, &fresh) < 0) {
            return -ENOMEM;
        }
    }
    *slash = '/';
    leaf->folder = (uint32_t)(number - 1);
    folder = ntk_vec_at(&tree->folders, leaf->folder);
    if (folder->last != index) {
        ((struct core_tree_leaf *)ntk_vec_at(&tree->leaves, folder->last))->next = index;
        folder->last = index;
    }
    return 0;
}

/* Sets the folder of every leaf, and chains the leaves of each folder. */
static int folders_add(struct core_tree *tree)
{
    struct ntk_map folders = { 0 };
    int ret = 0;

    for (uint32_t i = 0; i < tree->leaves.count && ret == 0; i++) {
        ret = folder_of(tree, &folders, i);
    }
    ntk_map_fini(&folders);
    return ret;
}

static int leaves_add(struct core_tree *tree)
{
    const struct ntk_core_machine *facts = &tree->row->facts;
    bool is_new = tree->soft->state->header.sysfs_layout == 1;
    char folder[CORE_TREE_PATH_BYTES];
    char stats[CORE_TREE_PATH_BYTES];
    char info[CORE_TREE_PATH_BYTES];

    tree->group_limit =
        (size_t)facts->device_count * (1 + facts->cores_per_device) * NTK_SOFT_CATEGORIES;
    tree->groups = calloc(tree->group_limit, sizeof *tree->groups);
    if (!tree->groups) {
        return -ENOMEM;
    }
    class_leaves_add(tree);
    for (uint32_t d = 0; d < facts->device_count; d++) {
        path_format(folder, "devices/virtual/neuron_device/neuron%u", d);
        path_format(stats, "%s/%s", folder, is_new ? "telemetry/device" : "stats");
        device_leaves_add(tree, d, folder, stats);
        pci_leaves_add(tree, d);
        for (uint32_t k = 0; k < facts->cores_per_device; k++) {
            path_format(info, "%s/neuron_core%u", folder, k);
            if (is_new) {
                path_format(stats, "%s/telemetry/neuron_core%u", folder, k);
            } else {
                path_format(stats, "%s/stats", info);
            }
            core_leaves_add(tree, d, k, info, stats);
        }
    }
    return tree->is_short ? -ENOMEM : folders_add(tree);
}

int ntk_core_tree_init(struct core_tree *tree, struct ntk_core_soft *soft,
                       const struct ntk_core_machine_row *row, struct ntk_err *err)
{
    *tree = (struct core_tree){
        .soft = soft, .row = row, .root_fd = -1, .folder_fd = -1, .watch_fd = -1
    };
    /* A modification time that no write by another process can set. */
    tree->mark.tv_sec = (time_t)(soft->state->header.created_realtime_ns / NTK_NS_PER_SECOND) - 1;
    ntk_vec_init(&tree->leaves, sizeof(struct core_tree_leaf));
    ntk_vec_init(&tree->folders, sizeof(struct core_tree_folder));
    ntk_vec_init(&tree->texts, sizeof(char *));
    ntk_vec_init(&tree->watches, sizeof(uint32_t));
    if (ntk_paths_soft_sysfs_root(tree->root, sizeof tree->root) < 0) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of the device tree is too long");
    }
    if (leaves_add(tree) < 0) {
        return ntk_err_no_memory(err);
    }
    return 0;
}

void ntk_core_tree_fini(struct core_tree *tree)
{
    ntk_core_tree_close(tree);
    ntk_vec_each(char *, text, &tree->texts) {
        free(*text);
    }
    ntk_vec_fini(&tree->leaves);
    ntk_vec_fini(&tree->folders);
    ntk_vec_fini(&tree->texts);
    ntk_vec_fini(&tree->watches);
    free(tree->groups);
    tree->groups = NULL;
}

bool ntk_core_tree_is_counter(const struct core_tree_leaf *leaf)
{
    return leaf->format != format_text && leaf->format != format_line;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Sets the values of a group's folder: the sum, and the change of the member that changed. */
static void group_update(struct core_tree_group *group)
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

void ntk_core_tree_sum(struct core_tree *tree)
{
    for (size_t i = 0; i < tree->group_count; i++) {
        group_update(&tree->groups[i]);
    }
}

/* --- effects of writes ------------------------------------------------------------------------ */

static void group_clear(struct core_tree_group *group, const uint64_t *shown)
{
    size_t field = (size_t)((const char *)shown - (const char *)&group->shown);

    for (size_t i = 0; i < NTK_SOFT_CATEGORIES; i++) {
        if (categories[i].is_host == group->is_host &&
            strcmp(categories[i].folder, group->folder) == 0) {
            ntk_abi_store((uint64_t *)(void *)((char *)&group->memory[i] + field), 0);
            if (field == offsetof(struct ntk_soft_memory, total)) {
                group->last_total[i] = 0; /* so that no member counts as changed */
            }
        }
    }
    *(uint64_t *)(void *)((char *)&group->shown + field) = 0;
}

/* Returns true if a device is open: a process owns one of its cores. */
static bool device_is_open(const struct core_tree *tree, uint32_t device)
{
    uint32_t cores = tree->row->facts.cores_per_device;

    for (uint32_t core = device * cores; core < (device + 1) * cores; core++) {
        if (ntk_core_soft_holder(tree->soft, core) != 0 ||
            (!tree->adopts &&
             ntk_abi_load(&tree->soft->state->core[core].owner_pid) == (uint64_t)getpid())) {
            return true;
        }
    }
    return false;
}

/* Resets a device. Like the driver, it checks every core and silently skips a device in use. */
static void device_reset(struct core_tree *tree, uint32_t device)
{
    struct ntk_soft_state *state = tree->soft->state;
    uint32_t cores = tree->row->facts.cores_per_device;

    if (device_is_open(tree, device)) {
        return;
    }
    for (uint32_t core = device * cores; core < (device + 1) * cores; core++) {
        ntk_core_soft_count_add(&state->core[core].reset_req_count, 1);
    }
    ntk_abi_add_shared(&state->device[device].reset_count, 1);
}

void ntk_core_tree_take(struct core_tree *tree, const struct core_tree_leaf *leaf, const char *text)
{
    switch ((enum core_tree_effect)leaf->effect) {
    case CORE_TREE_EFFECT_NONE:
        break;
    case CORE_TREE_EFFECT_CLEAR:
        ntk_abi_store((uint64_t *)leaf->source, 0);
        break;
    case CORE_TREE_EFFECT_CLEAR_GROUP:
        group_clear(&tree->groups[leaf->index], leaf->source);
        break;
    case CORE_TREE_EFFECT_RESET:
        device_reset(tree, leaf->index);
        break;
    case CORE_TREE_EFFECT_NOTIFY:
        if (strcmp(text, "0") == 0 || strcmp(text, "-1") == 0) {
            ntk_abi_store((uint32_t *)leaf->source, text[0] == '0' ? 0 : UINT32_MAX);
        }
        break;
    }
}
