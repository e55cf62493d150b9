/* SPDX-License-Identifier: MIT */
/* device_sysfs_read - reads the leaves that the walk found. */
#include "shared/device/device_sysfs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

/* Number of reads between two checks of links; the refresh before each read checks the devices
 * themselves. */
#define LINK_READS 5
#define LEAF_BYTES 1024 /* no known leaf is longer */

static bool tells_faults(uint8_t status)
{
    return status == NTK_STATUS_SUCCESS || status == NTK_STATUS_SW_NQ_OVERFLOW ||
           status == NTK_STATUS_HW_COLLECTIVES || status == NTK_STATUS_HW_HBM_UE ||
           status == NTK_STATUS_HW_NC_UE || status == NTK_STATUS_HW_DMA_ABORT ||
           status == NTK_STATUS_HW_REPAIRABLE_HBM_UE;
}

/* Returns true if a leaf stays open: leaves of all devices that are read at least every second. */
static bool stays_open(const struct leaf *leaf)
{
    return (leaf->kind >= LEAF_MEM_ECC_CORRECTED && leaf->kind <= LEAF_HEARTBEAT) ||
           leaf->kind == LEAF_CORE_RESETS ||
           (leaf->kind == LEAF_CORE_STATUS && tells_faults(leaf->detail));
}

/* Reads the bytes of a leaf, NUL-ended, or returns -errno. */
static ssize_t read_leaf(struct ntk_sysfs *sysfs, struct leaf *leaf, char *buf, size_t buf_bytes)
{
    struct stat status;
    ssize_t got;
    int fd = leaf->fd;

    if (fd < 0) {
        /* O_NOATIME, so that reading a tree on a disk does not update access times. */
        fd = ntk_fs_open_below(sysfs->folder, leaf->path, O_RDONLY | O_NOATIME);
        if (fd < 0 && errno == EPERM) {
            fd = ntk_fs_open_below(sysfs->folder, leaf->path, O_RDONLY);
        }
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
    if (leaf->fd < 0 && got >= 0 && stays_open(leaf) && sysfs->open_count < sysfs->open_max) {
        leaf->fd = fd;
        sysfs->open_count++;
    } else if (leaf->fd < 0) {
        close(fd);
    } else if (got < 0 ||
               (sysfs->checks_links && (fstat(fd, &status) < 0 || status.st_nlink == 0))) {
        got = got < 0 ? got : -ENOENT;
        close(leaf->fd); /* the driver was unloaded; the next refresh walks again */
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

void sysfs_read_text(struct ntk_sysfs *sysfs, struct leaf *leaf, char *out, size_t out_bytes)
{
    char buf[LEAF_BYTES];
    ssize_t got = read_leaf(sysfs, leaf, buf, sizeof buf);

    if (got < 0) {
        return;
    }
    trim(buf);
    ntk_str_copy_clean(out, out_bytes, buf, strlen(buf));
}

/* Reads a whole line. If it ends early, reads again, because the software machine rewrites leaves
 * in place. */
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
            value.value = 0; /* was cleared below the amount in use */
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
    info->has_connected_devices = true;
    while ((token = strsep(&rest, ",")) &&
           info->connected_device_count < NTK_DEVICE_CONNECTED_DEVICES_MAX) {
        uint64_t neighbour;

        token += strspn(token, " \t");
        trim(token);
        if (ntk_str_parse_u64(token, &neighbour) == 0 && neighbour < NTK_DEVICES_MAX) {
            info->connected_devices[info->connected_device_count++] = (uint8_t)neighbour;
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
                         ntk_str_parse_u64(field[1], &reading->power_timestamp_seconds) == 0 &&
                         parse_percent(field[2], &reading->power_min_percent) &&
                         parse_percent(field[3], &reading->power_max_percent) &&
                         parse_percent(field[4], &reading->power_average_percent);
}

void sysfs_read_info(struct ntk_sysfs *sysfs, struct leaf *leaf)
{
    struct ntk_device_info *info = &sysfs->devices[leaf->device];
    char buf[NTK_DEVICE_TEXT_BYTES] = "";
    uint64_t count;

    switch (leaf->kind) {
    case LEAF_CORE_COUNT:
        sysfs_read_text(sysfs, leaf, buf, sizeof buf);
        if (ntk_str_parse_u64(buf, &count) == 0 && count <= NTK_DEVICE_CORES_MAX) {
            info->core_count = (uint32_t)count;
        }
        break;
    case LEAF_CONNECTED:
        read_neighbours(sysfs, leaf, info);
        break;
    case LEAF_SERIAL:
        sysfs_read_text(sysfs, leaf, info->serial_number, sizeof info->serial_number);
        break;
    case LEAF_ARCH:
        sysfs_read_text(sysfs, leaf, info->arch, sizeof info->arch);
        break;
    case LEAF_INSTANCE:
        sysfs_read_text(sysfs, leaf, info->instance_type, sizeof info->instance_type);
        break;
    case LEAF_NAME:
        sysfs_read_text(sysfs, leaf, info->name, sizeof info->name);
        break;
    case LEAF_CORE_ARCH:
        if (info->core_arch[0] == '\0') {
            sysfs_read_text(sysfs, leaf, info->core_arch, sizeof info->core_arch);
        }
        break;
    default:
        break;
    }
}

/* Accepts a complete line, or a text without a line end that stays the same: half of a rewritten
 * word would be another component. */
static void read_components(struct ntk_sysfs *sysfs, struct leaf *leaf,
                            struct ntk_device_reading *reading)
{
    char buf[2][LEAF_BYTES];

    for (int i = 0; i < 2; i++) {
        ssize_t got = read_leaf(sysfs, leaf, buf[i], sizeof buf[i]);
        bool is_line = got > 0 && buf[i][got - 1] == '\n';

        if (got < 0) {
            return;
        }
        trim(buf[i]);
        if (is_line || (i == 1 && strcmp(buf[0], buf[1]) == 0)) {
            reading->has_unhealthy_components = true;
            ntk_str_copy_clean(reading->unhealthy_components, sizeof reading->unhealthy_components,
                               buf[i], strlen(buf[i]));
            return;
        }
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
        *out_read =
            NTK_DEVICE_READ_STATUS | (tells_faults(leaf->detail) ? NTK_DEVICE_READ_FAULTS : 0);
        return &core->status[leaf->detail];
    case LEAF_CORE_RESETS:
        *out_read = NTK_DEVICE_READ_FAULTS;
        return &core->reset_requests;
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
    case LEAF_HEARTBEAT:
        return &reading->heartbeat;
    default:
        return NULL;
    }
}

static bool tells_health(enum leaf_kind kind)
{
    return kind == LEAF_MEM_ECC_UNCORRECTED || kind == LEAF_MEM_ECC_REPAIRABLE ||
           kind == LEAF_SRAM_ECC_UNCORRECTED || kind == LEAF_UNHEALTHY || kind == LEAF_HEARTBEAT;
}

/* Returns true if this read leaves the values of a device itself as they are. */
static bool is_kept(const struct ntk_sysfs *sysfs, unsigned int read, size_t device)
{
    return read & NTK_DEVICE_READ_HALF && (device + sysfs->reads) % 2 == 0;
}

void ntk_sysfs_skip(struct ntk_sysfs *sysfs, const uint8_t skipped[NTK_DEVICES_MAX])
{
    memcpy(sysfs->skipped, skipped, sizeof sysfs->skipped);
}

void ntk_sysfs_read(struct ntk_sysfs *sysfs, unsigned int read, struct ntk_device_reading *readings,
                    size_t capacity)
{
    size_t leaf_count =
        read & NTK_DEVICE_READ_OF_CORES ? sysfs->leaves.count : sysfs->device_leaf_count;

    sysfs->checks_links = ++sysfs->reads % LINK_READS == 0;
    for (size_t i = 0; i < capacity && i < sysfs->device_count; i++) {
        if (!is_kept(sysfs, read, i)) {
            memset(&readings[i], 0, offsetof(struct ntk_device_reading, cores));
        }
        if (!(read & NTK_DEVICE_CORES_ARE_EMPTY)) {
            memset(readings[i].cores, 0, sizeof readings[i].cores);
        }
        readings[i].index = sysfs->devices[i].index;
        readings[i].skipped_cores = read & NTK_DEVICE_READ_FAULTS ? sysfs->skipped[i] : 0;
    }
    for (size_t i = 0; i < leaf_count; i++) {
        struct leaf *leaf = ntk_vec_at(&sysfs->leaves, i);
        struct ntk_device_value *value;
        unsigned int group =
            NTK_DEVICE_READ_DEVICE | (tells_health(leaf->kind) ? NTK_DEVICE_READ_HEALTH : 0);

        if (leaf->device >= capacity ||
            (leaf->kind < LEAF_CORE_ARCH && is_kept(sysfs, read, leaf->device))) {
            continue;
        }
        value = leaf->kind > LEAF_CORE_ARCH
                    ? core_value(&readings[leaf->device].cores[leaf->core], leaf, &group)
                    : device_value(&readings[leaf->device], leaf->kind);
        if (readings[leaf->device].skipped_cores >> leaf->core & 1 && leaf->kind > LEAF_CORE_ARCH) {
            group &= ~(unsigned int)NTK_DEVICE_READ_FAULTS;
        }
        if (!(read & group)) {
            continue;
        }
        if (value) {
            *value = read_counter(sysfs, leaf);
        } else if (leaf->kind == LEAF_POWER) {
            read_power(sysfs, leaf, &readings[leaf->device]);
        } else if (leaf->kind == LEAF_UNHEALTHY) {
            read_components(sysfs, leaf, &readings[leaf->device]);
        }
    }
}

void ntk_sysfs_read_root_text(const char *root, const char *name, char *buf, size_t buf_bytes)
{
    char path[SYSFS_PATH_BYTES + 64];
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
