/* SPDX-License-Identifier: MIT */
/* source_device - reads the device tree: its facts once, its counters at each sample. */
#include <stdlib.h>

#include "shared/collect/holders.h"
#include "shared/collect/source.h"
#include "shared/device/device.h"

/* Time after which a check between samples is a full check, including cores; samples every second
 * make it unnecessary. On a machine with many cores (more than a thousand files), those without a
 * process are read less often, because their counters only change with executions. */
#define WHOLE_LOOK_NS NTK_NS_PER_SECOND
#define MANY_CORES 64
#define IDLE_CORES_NS (5 * NTK_NS_PER_SECOND)
#define IDLE_AFTER_NS (60 * NTK_NS_PER_SECOND)
/* On a machine with many cores, cores that observed processes use are read only in one of this
 * number of checks, because failures on them appear at once in the segments of these processes. */
#define LOOKS_AT_WORK 6
/* If samples are closer together and cores are read less often, a sample reads only half of the
 * devices of a machine with many cores; so the values of a device are at most two samples old. */
#define CLOSE_NS (1500 * NTK_NS_PER_MS)

struct source_device {
    struct ntk_device_source *device;
    bool
        /* The first sample was taken: a tree that appears from now on is newer than the
         * collector. */
        started;
    bool had_tree;
    bool is_software;
    uint64_t identity;  /* identity of the tree that was last judged */
    bool appeared;      /* the tree is newer than the collector */
    uint64_t health_ns; /* minimum time between two checks for faults */
    /* minimum time between two checks for faults in cores that are in use, if there are many
     * cores */
    uint64_t many_cores_ns;
    uint64_t looked_ns;                  /* time of the last check for faults */
    uint64_t whole_ns;                   /* time of the last check of the tree and all its cores */
    bool is_hurried;                     /* the next check is a full check without delay */
    uint64_t cores_ns;                   /* time of the last check of cores; 0: never */
    uint64_t worked_ns;                  /* time at which some cores were last in use */
    uint64_t success_count;              /* sum of the success counters of all cores */
    uint64_t core_looks;                 /* number of checks of cores */
    struct ntk_device_reading *readings; /* NTK_DEVICES_MAX readings */
    size_t filled_count;                 /* readings with cores from an earlier read */
    bool has_devices;                    /* the readings have what the last sample read */
    const char *hooks_dir;               /* NULL: the default folder */
    struct ntk_finding findings[NTK_FINDINGS_MAX];
    struct ntk_holders holders;
};

/* Refreshes the tree. The judge learns about a new tree before it is read. */
static int refresh(struct source_device *source, struct ntk_aggregate *aggregate,
                   struct ntk_err *err)
{
    int ret = ntk_device_source_refresh(source->device, err);
    const struct ntk_device_tree *tree = ntk_device_source_tree(source->device);
    bool has_tree = tree->device_count > 0;
    bool is_new = has_tree && tree->identity != source->identity;

    if (ret < 0) {
        return ret;
    }
    if (ret > 0 || is_new) {
        source->has_devices = false;
        source->is_software = ntk_device_source_is_software(source->device);
    }
    if (is_new) {
        source->appeared = source->started;
        source->identity = tree->identity;
        source->cores_ns = 0;
    }
    ntk_health_tree(ntk_aggregate_health(aggregate), tree, is_new, ntk_aggregate_now(aggregate));
    return ret;
}

static void judge(struct source_device *source, struct ntk_aggregate *aggregate, unsigned int read,
                  size_t count)
{
    bool beats = !source->is_software || ntk_aggregate_has_software_process(aggregate);

    for (size_t i = 0; i < count; i++) {
        ntk_health_reading(ntk_aggregate_health(aggregate), &source->readings[i], read,
                           source->appeared, beats, ntk_aggregate_now(aggregate));
    }
    ntk_health_findings(ntk_aggregate_health(aggregate), source->findings,
                        ntk_findings_read(source->hooks_dir, source->findings, NTK_FINDINGS_MAX),
                        ntk_aggregate_now(aggregate));
}

static bool has_many_cores(const struct source_device *source)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source->device);

    return tree->device_count * tree->cores_per_device >= MANY_CORES;
}

static void skip_cores_at_work(struct source_device *source, const struct ntk_aggregate *aggregate)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source->device);
    uint8_t skipped[NTK_DEVICES_MAX] = { 0 };
    bool is_whole = source->core_looks++ % LOOKS_AT_WORK == 0 || !has_many_cores(source);

    for (size_t i = 0; !is_whole && i < tree->device_count && i < NTK_DEVICES_MAX; i++) {
        skipped[i] =
            ntk_aggregate_cores_at_work(aggregate, tree->devices[i].index, tree->cores_per_device);
    }
    ntk_device_source_skip(source->device, skipped);
}

/* Returns true if cores must be checked. Cores are in use when a process is observed, or when they
 * completed executions of an unobserved process. */
static bool are_cores_due(struct source_device *source, struct ntk_aggregate *aggregate,
                          uint64_t monotonic_ns)
{
    if (ntk_aggregate_has_process(aggregate)) {
        source->worked_ns = monotonic_ns;
    }
    bool is_due = source->cores_ns == 0 || !has_many_cores(source) ||
                  (monotonic_ns - source->worked_ns < IDLE_AFTER_NS &&
                   monotonic_ns - source->cores_ns >= source->many_cores_ns) ||
                  monotonic_ns - source->cores_ns >= IDLE_CORES_NS;

    if (is_due) {
        source->cores_ns = monotonic_ns;
        skip_cores_at_work(source, aggregate);
    }
    return is_due;
}

static void look_for_work(struct source_device *source, size_t count, uint64_t monotonic_ns)
{
    uint64_t success_count = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t core = 0; core < NTK_DEVICE_CORES_MAX; core++) {
            success_count += source->readings[i].cores[core].status[NTK_STATUS_SUCCESS].value;
        }
    }
    if (success_count != source->success_count) {
        source->success_count = success_count;
        source->worked_ns = monotonic_ns;
    }
}

/* Reads into the readings; a read without cores clears what an earlier one has filled. */
static size_t read_tree(struct source_device *source, unsigned int read)
{
    unsigned int cores = source->filled_count > 0 ? 0 : NTK_DEVICE_CORES_ARE_EMPTY;
    size_t count =
        ntk_device_source_read(source->device, read | cores, source->readings, NTK_DEVICES_MAX);

    if (count >= source->filled_count) { /* else the tree has fewer devices than before */
        source->filled_count = read & NTK_DEVICE_READ_OF_CORES ? count : 0;
    }
    return count;
}

/* Reads between samples only the fault indicators, which are few. */
static int source_device_drain(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns)
{
    struct source_device *source = state;
    unsigned int read = NTK_DEVICE_READ_HEALTH;

    if (monotonic_ns - source->looked_ns < source->health_ns && !source->is_hurried) {
        return 0;
    }
    source->looked_ns = monotonic_ns;
    if (monotonic_ns - source->whole_ns >= WHOLE_LOOK_NS || source->is_hurried) {
        int ret = refresh(source, aggregate, NULL);

        if (ret < 0) {
            return ret;
        }
        source->whole_ns = monotonic_ns;
        source->is_hurried = false;
        read |= are_cores_due(source, aggregate, monotonic_ns) ? NTK_DEVICE_READ_FAULTS : 0;
    }
    size_t count = read_tree(source, read);

    source->has_devices = false;
    if (read & NTK_DEVICE_READ_FAULTS) {
        look_for_work(source, count, monotonic_ns);
    }
    judge(source, aggregate, read, count);
    return 0;
}

void ntk_source_device_hurry(void *source_device)
{
    struct source_device *source = source_device;

    source->is_hurried = true;
    source->cores_ns = 0;
}

static int source_device_sample(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                                struct ntk_err *err)
{
    struct source_device *source = state;
    const struct ntk_device_tree *tree;
    unsigned int read = NTK_DEVICE_READ_DEVICE;
    bool appeared;
    size_t count;
    int ret = refresh(source, aggregate, err);

    if (ret < 0) {
        return ret;
    }
    tree = ntk_device_source_tree(source->device);
    appeared = source->started && !source->had_tree;
    source->started = true;
    source->had_tree = tree->device_count > 0;
    if (tree->origin != NTK_DEVICE_ORIGIN_SOFTWARE && ntk_aggregate_wants_device_cores(aggregate)) {
        read |= NTK_DEVICE_READ_CORES;
    }
    if (source->has_devices && source->many_cores_ns > 0 && has_many_cores(source) &&
        monotonic_ns - source->looked_ns < CLOSE_NS) {
        read |= NTK_DEVICE_READ_HALF;
    }
    source->looked_ns = monotonic_ns;
    source->whole_ns = monotonic_ns;
    source->is_hurried = false;
    read |= are_cores_due(source, aggregate, monotonic_ns) ? NTK_DEVICE_READ_FAULTS : 0;
    count = read_tree(source, read);
    source->has_devices = true;
    if (read & NTK_DEVICE_READ_FAULTS) {
        look_for_work(source, count, monotonic_ns);
    }
    judge(source, aggregate, read, count);
    ntk_aggregate_devices(aggregate, tree, appeared, source->readings, count);
    return 0;
}

static void source_device_destroy(void *state)
{
    struct source_device *source = state;

    ntk_device_source_close(source->device);
    ntk_holders_fini(&source->holders);
    free(source->readings);
    free(source);
}

static const struct ntk_collect_source_ops ops = {
    .name = "device",
    .drain = source_device_drain,
    .sample = source_device_sample,
    .destroy = source_device_destroy,
};

bool ntk_source_device_has_core(void *source_device, const struct ntk_ring_process *process,
                                uint32_t core)
{
    struct source_device *source = source_device;

    return ntk_holders_has(&source->holders, ntk_device_source_tree(source->device),
                           source->is_software, process->pid, process->uid, core,
                           ntk_clock_monotonic_ns());
}

int ntk_source_device_open(const struct ntk_collector_options *options,
                           struct ntk_collect_source *out_source, struct ntk_err *err)
{
    const struct ntk_device_options device_options = {
        .sysfs_root = options->sysfs_root,
        .driver_sysfs = options->driver_sysfs,
        .hooks_dir = options->hooks_dir,
    };
    struct source_device *source = calloc(1, sizeof *source);
    int ret;

    if (!source) {
        return ntk_err_no_memory(err);
    }
    source->readings = calloc(NTK_DEVICES_MAX, sizeof *source->readings);
    if (!source->readings) {
        free(source);
        return ntk_err_no_memory(err);
    }
    source->health_ns = options->health_ns ? options->health_ns : NTK_COLLECT_HEALTH_NS;
    source->many_cores_ns = options->many_cores_ns;
    source->hooks_dir = options->hooks_dir;
    ntk_holders_init(&source->holders, options->proc_root, options->hooks_dir);
    ret = ntk_device_source_open(&device_options, &source->device, err);
    if (ret < 0) {
        free(source->readings);
        free(source);
        return ret;
    }
    *out_source = (struct ntk_collect_source){ .ops = &ops, .state = source };
    return 0;
}
