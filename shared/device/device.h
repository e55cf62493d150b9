/* SPDX-License-Identifier: MIT */
/*
 * device - facts about Neuron devices from a sysfs-like tree, available without any process.
 *
 * One parser reads the driver's tree and the software machine's. A source finds a tree, lists its
 * devices once and reads counters at each sample through descriptors that stay open.
 *
 * A tree is not trusted: depth, numbers of folders, leaves and bytes are bounded, symbolic links
 * are not followed, and a value that cannot be read or parsed is absent. A missing leaf is never 0
 * and never an error.
 *
 * Owner:   ntk_device_source_open() allocates, _close() frees. Infos and readings are plain data;
 *          infos are borrowed until the next _refresh().
 * Threads: one at a time per source.
 */
#ifndef NTK_SHARED_DEVICE_DEVICE_H
#define NTK_SHARED_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/event_abi.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_DEVICES_MAX 64
#define NTK_DEVICE_CORES_MAX 8
#define NTK_DEVICE_CONNECTED_DEVICES_MAX 64
#define NTK_DEVICE_TEXT_BYTES 64

/* Where a tree was found. */
enum ntk_device_origin {
    NTK_DEVICE_ORIGIN_NONE = 0,
    NTK_DEVICE_ORIGIN_EXPLICIT = 1, /* a folder that the user named */
    NTK_DEVICE_ORIGIN_DRIVER = 2,   /* /sys */
    NTK_DEVICE_ORIGIN_SOFTWARE = 3, /* the software machine in the hooks folder */
};

/* Facts that do not change while the driver is loaded. Texts are "" when the leaf is missing. */
struct ntk_device_info {
    uint32_t index;
    /* physical cores; from the leaf core_count, else the number of core folders */
    uint32_t core_count;
    bool has_connected_devices;
    uint32_t connected_device_count;
    uint8_t connected_devices[NTK_DEVICE_CONNECTED_DEVICES_MAX];
    char serial_number[NTK_DEVICE_TEXT_BYTES];
    char arch[NTK_DEVICE_TEXT_BYTES];          /* such as "NDv3" */
    char instance_type[NTK_DEVICE_TEXT_BYTES]; /* the family, such as "Trn2" */
    char name[NTK_DEVICE_TEXT_BYTES];          /* such as "Trainium2" */
    char core_arch[NTK_DEVICE_TEXT_BYTES];     /* such as "NCv3" */
};

struct ntk_device_tree {
    enum ntk_device_origin origin;
    char root[512];                             /* folder in place of /sys */
    char driver_version[NTK_DEVICE_TEXT_BYTES]; /* such as "2.30.2.0" */
    bool new_layout;                            /* layout of driver 2.31 and later */
    uint64_t identity;                          /* differs between drivers and machines */
    /* such as "trn1.32xlarge": the software machine's type, else the firmware's; "" if unknown */
    char machine_type[NTK_DEVICE_TEXT_BYTES];
    char ultraserver_mode[NTK_DEVICE_TEXT_BYTES];
    struct ntk_device_info *devices; /* sorted by index */
    size_t device_count;
    uint32_t cores_per_device; /* largest core_count of any device */
    /* Without devices: the reason and the remedy, worded the same in all programs; "" with
     * devices. */
    bool is_denied; /* this user may not read the place where a tree would be */
    char missing[640];
};

/* A value of the tree, and whether its leaf could be read. */
struct ntk_device_value {
    uint64_t value;
    bool present;
};

struct ntk_device_core_reading {
    struct ntk_device_value busy_us;         /* other_info/nc_time_in_use */
    struct ntk_device_value flops;           /* other_info/flop_count */
    struct ntk_device_value inference_count; /* other_info/inference_count */
    struct ntk_device_value model_load_count;
    struct ntk_device_value host_memory_bytes;
    struct ntk_device_value device_memory_bytes;
    struct ntk_device_value device_memory_peak_bytes;
    struct ntk_device_value
        /* device memory by category; a folder that combines several categories fills the first */
        category_bytes[NTK_MEMORY_CATEGORY_COUNT];
    struct ntk_device_value status[NTK_STATUS_COUNT];
    struct ntk_device_value reset_requests; /* other_info/reset_req_count */
};

struct ntk_device_reading {
    uint32_t index;
    struct ntk_device_value mem_ecc_corrected;
    struct ntk_device_value mem_ecc_uncorrected;
    struct ntk_device_value mem_ecc_repairable_uncorrected;
    struct ntk_device_value sram_ecc_corrected;
    struct ntk_device_value sram_ecc_uncorrected;
    bool has_power; /* the power status is POWER_STATUS_VALID */
    uint64_t power_timestamp_seconds;
    double power_min_percent, power_max_percent, power_average_percent;
    bool has_unhealthy_components;
    char unhealthy_components[256];    /* such as "hbm,link_host"; "" if none */
    struct ntk_device_value heartbeat; /* healthcheck_heartbeat */
    uint8_t skipped_cores;             /* one bit per core that NTK_DEVICE_READ_FAULTS skipped */
    /* filled with NTK_DEVICE_READ_CORES */
    struct ntk_device_core_reading cores[NTK_DEVICE_CORES_MAX];
};

enum ntk_device_read {
    NTK_DEVICE_READ_DEVICE = 1u << 0,     /* ECC, power, health */
    NTK_DEVICE_READ_CORES = 1u << 1,      /* the seven values of a core that are cheap to read */
    NTK_DEVICE_READ_CATEGORIES = 1u << 2, /* memory categories */
    NTK_DEVICE_READ_STATUS = 1u << 3,     /* status counters */
    NTK_DEVICE_READ_HEALTH =
        /* the fault indicators of the device, part of READ_DEVICE: uncorrected errors, unhealthy
         * components, heartbeat */
    1u << 4,
    NTK_DEVICE_READ_FAULTS =
        1u << 5, /* the fault indicators of cores: resets and, part of READ_STATUS, the statuses of
                  * hardware errors, overflows and success */
    /* Not a part: no earlier read has filled the cores of these readings, so that they, the largest
     * part, need not be cleared. */
    NTK_DEVICE_CORES_ARE_EMPTY = 1u << 6,
    /* Not a part: of READ_DEVICE, reads only every second device. The readings of the others keep
     * the values of the last read, which must have been READ_DEVICE of the same tree. */
    NTK_DEVICE_READ_HALF = 1u << 7,
};

/* The parts that fill the cores of a reading. */
#define NTK_DEVICE_READ_OF_CORES                                                   \
    (NTK_DEVICE_READ_CORES | NTK_DEVICE_READ_CATEGORIES | NTK_DEVICE_READ_STATUS | \
     NTK_DEVICE_READ_FAULTS)

struct ntk_device_options {
    const char *sysfs_root;   /* an explicit tree that replaces /sys; NULL: find one */
    const char *driver_sysfs; /* NULL: "/sys"; tests use another */
    const char *hooks_dir;    /* NULL: $NEURON_HOOKS_DIR or the default, see shared/abi/paths.h */
    /* only infos and at most NTK_DEVICE_READ_HEALTH are needed: folders of counters, the largest
     * part of a tree, are not walked, and readings lack them */
    bool infos_only;
};

struct ntk_device_source;

/* Succeeds even without a tree: then ntk_device_source_tree() has origin NONE, and _refresh()
 * searches again. Returns -ENOMEM if out of memory. */
int ntk_device_source_open(const struct ntk_device_options *options,
                           struct ntk_device_source **out_source, struct ntk_err *err);
void ntk_device_source_close(struct ntk_device_source *source);

/* Checks whether the tree appeared, disappeared or was rebuilt. Returns 1 if infos changed, 0 if
 * not, or -ENOMEM. Cheap. */
int ntk_device_source_refresh(struct ntk_device_source *source, struct ntk_err *err);

/* Returns true if the tree is the software machine's, even if the user named it. */
bool ntk_device_source_is_software(const struct ntk_device_source *source);

/* The tree, borrowed until the next refresh. Never NULL. */
const struct ntk_device_tree *ntk_device_source_tree(const struct ntk_device_source *source);

/* Makes NTK_DEVICE_READ_FAULTS skip these cores from now on: bit c of skipped[i] is core c of
 * device i in the tree. */
void ntk_device_source_skip(struct ntk_device_source *source,
                            const uint8_t skipped[NTK_DEVICES_MAX]);

/* Reads the parts in `read` (enum ntk_device_read) into readings[i] for device i of the tree.
 * Returns the number of readings, at most capacity. Values that could not be read are marked as not
 * present. */
size_t ntk_device_source_read(struct ntk_device_source *source, unsigned int read,
                              struct ntk_device_reading *readings, size_t capacity);

/* The place of a device in the machine: PCI address, nearby CPUs and NUMA node. */
struct ntk_device_place {
    char bdf[16];       /* PCI address, such as "0000:10:1c.0"; "" if unknown */
    char cpu_list[256]; /* nearby CPUs, such as "0-31,64-95"; "" if unknown */
    bool has_numa_node;
    int32_t numa_node; /* -1: the machine has no NUMA nodes */
};

/*
 * Reads places[i] of device i of the tree; returns their number, at most capacity. A tree does not
 * record which PCI device is which. On the software machine, the PCI addresses are in the order of
 * the devices; a single PCI device belongs to the single Neuron device. Otherwise only facts common
 * to all are reported.
 */
size_t ntk_device_source_places(const struct ntk_device_source *source,
                                struct ntk_device_place *places, size_t capacity);

/* The PCI devices of the tree's family, sorted by address, even if their assignment is unknown.
 * Returns their number, at most capacity. */
size_t ntk_device_source_pci(const struct ntk_device_source *source,
                             struct ntk_device_place *places, size_t capacity);

/*
 * Bit i: the device with index i has a node below dev_root (NULL: /dev). A container sees the tree
 * of the whole machine, but only the nodes of devices that it may use. All bits are set for a tree
 * other than the driver's, which has no nodes, and if dev_root cannot be listed.
 */
uint64_t ntk_device_source_nodes(const struct ntk_device_source *source, const char *dev_root);

/* A server in a set of servers, from the class files of the tree. */
struct ntk_device_server {
    bool is_ultraserver;               /* whether it has modes; otherwise the rest is zero */
    char modes[NTK_DEVICE_TEXT_BYTES]; /* such as "1,2,3,4" */
    struct {
        bool present;
        uint32_t size;      /* number of servers in the set: 2 or 4 */
        uint32_t node;      /* position in the set */
        char server_id[17]; /* 16 hexadecimal digits */
    } sets[2];
};
void ntk_device_source_server(const struct ntk_device_source *source,
                              struct ntk_device_server *out_server);

/* Firmware facts below a root that replaces /sys (NULL: /sys) on an EC2 machine: "trn1.32xlarge"
 * and "i-0123456789abcdef0"; "" on other machines. */
void ntk_device_firmware_instance_type(const char *root, char *buf, size_t buf_bytes);
void ntk_device_firmware_instance_id(const char *root, char *buf, size_t buf_bytes);

/* The folder that replaces /sys for the software machine in this hooks folder (NULL: the
 * environment's), whether it exists or not. Returns -ENAMETOOLONG if it does not fit. */
int ntk_device_soft_root(const char *hooks_dir, char *buf, size_t buf_bytes);
/* If NEURON_SOFT_INSTANCE names a machine that no process has built yet, builds it with the
 * neuron-bench next to this program, so that there are devices to show. Does nothing on a machine
 * with a driver or a software machine, or without neuron-bench. Returns -EINVAL with the message of
 * neuron-bench if that fails, for example because the type is unknown. */
int ntk_device_soft_make(struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
