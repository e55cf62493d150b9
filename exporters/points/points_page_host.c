/* SPDX-License-Identifier: MIT */
/* points_page_host - adds cores, devices, adapters, jobs and CPUs of a snapshot to the page. */
#include <assert.h>
#include <stdio.h>

#include "exporters/points/points_page_parts.h"
#include "shared/base/clock.h"

static bool has_owner(const struct ntk_snapshot *snapshot, size_t logical, uint32_t lnc)
{
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t i = 0; i < runtime->core_count && !runtime->ended; i++) {
            if (runtime->cores[i].core / lnc == logical) {
                return true;
            }
        }
    }
    return false;
}

static void add_core_counts(struct ntk_points_machine_core *core,
                            const struct ntk_core_sample *sample)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];
        for (size_t k = row->at; k < row->at + row->count && sample->has & row->has; k++) {
            core->counts[k] += sample->counts[k].period;
        }
    }
}

static void update_cores(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    uint32_t lnc = snapshot->hardware.lnc ? snapshot->hardware.lnc : 1;
    size_t count = snapshot->core_count / lnc;
    bool known = snapshot->runtime_count == 0;

    for (size_t i = 0; i < snapshot->core_count; i++) {
        known = known || snapshot->cores[i].has & NTK_CORE_HAS_BUSY;
    }
    page->core_count = count < NTK_POINTS_CORES_MAX ? count : NTK_POINTS_CORES_MAX;
    for (size_t i = 0; i < page->core_count; i++) {
        struct ntk_points_machine_core *core = &page->cores[i];
        struct ntk_core_sample logical;
        if (!ntk_snapshot_logical_core(snapshot->cores + i * lnc, lnc, lnc, (uint32_t)i,
                                       &logical)) {
            continue;
        }
        core->has |= logical.has;
        if (known) {
            core->utilization = logical.has & NTK_CORE_HAS_BUSY ? logical.utilization : 0;
            core->is_unreported = !(logical.has & NTK_CORE_HAS_BUSY) && has_owner(snapshot, i, lnc);
        }
        add_core_counts(core, &logical);
    }
}

static void update_health(struct ntk_points_device *device, const struct ntk_device_sample *sample)
{
    device->has |= sample->has & NTK_DEVICE_HAS_HEALTH;
    device->verdict = sample->verdict;
    device->health_count = sample->health_count < NTK_HEALTH_REASON_COUNT ? sample->health_count
                                                                          : NTK_HEALTH_REASON_COUNT;
    for (size_t i = 0; i < device->health_count; i++) {
        device->health[i].reason = sample->health[i].reason;
        device->health[i].since_ns = sample->health[i].since_ns;
    }
}

static void update_troubles(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    page->trouble_count = 0;
    for (size_t i = 0; i < snapshot->trouble_count && i < NTK_SNAPSHOT_TROUBLES_MAX; i++) {
        const struct ntk_rank_trouble *sample = &snapshot->troubles[i];
        struct ntk_points_trouble *trouble = &page->troubles[page->trouble_count++];

        trouble->kind = sample->kind;
        trouble->key = sample->key;
        trouble->has_rank = sample->has_rank;
        trouble->rank = sample->rank;
        trouble->is_elsewhere = sample->has_rank && sample->pid == 0;
        trouble->since_ns = sample->since_ns;
        ntk_str_copy_clean(trouble->cause, sizeof trouble->cause, sample->cause,
                           strlen(sample->cause));
        ntk_str_copy_clean(trouble->job_id, sizeof trouble->job_id, sample->job_id,
                           strlen(sample->job_id));
        points_clean(trouble->rendezvous, sample->rendezvous);
        points_clean(trouble->tag, sample->tag);
    }
}

static void take_figures(struct ntk_device_sample *figures, const struct ntk_device_sample *sample)
{
    figures->has = sample->has;
    figures->stack_count = sample->stack_count < NTK_SNAPSHOT_STACKS_MAX ? sample->stack_count
                                                                         : NTK_SNAPSHOT_STACKS_MAX;
    for (size_t i = 0; i < NTK_DEVICE_ROWS; i++) {
        const struct ntk_device_row *row = &ntk_device_rows[i];
        memcpy((char *)figures + row->offset, (const char *)sample + row->offset, row->bytes);
    }
}

static void update_devices(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    bool ecc_due = snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] != NTK_GROUP_ABSENT;

    for (size_t k = 0; k < page->device_sample_count; k++) { /* a device without a verdict has no
                                                              * health */
        page->devices[k].has &= ~(uint32_t)NTK_DEVICE_HAS_HEALTH;
        page->devices[k].health_count = 0;
    }
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *sample = &snapshot->devices[i];
        struct ntk_points_device *device = NULL;
        for (size_t k = 0; k < page->device_sample_count && !device; k++) {
            device = page->devices[k].index == sample->index ? &page->devices[k] : NULL;
        }
        if (!device && page->device_sample_count < NTK_SNAPSHOT_DEVICES_MAX) {
            device = &page->devices[page->device_sample_count++];
            *device = (struct ntk_points_device){ .index = sample->index };
        }
        if (!device) {
            continue;
        }
        update_health(device, sample);
        points_clean(device->name, sample->name);
        points_clean(device->serial_number, sample->serial_number);
        take_figures(&device->figures, sample);
        if (ecc_due) {
            device->has |=
                NTK_DEVICE_HAS_ECC; /* same as in reports: counters that a driver lacks are 0 */
            device->ecc_has |= sample->has & NTK_DEVICE_HAS_ECC ? sample->ecc_has : 0u;
            for (int k = 0; k < NTK_ECC_COUNT; k++) {
                device->ecc[k] += sample->ecc[k].period;
            }
            if (sample->has & NTK_DEVICE_HAS_ECC_TOTAL && !page->is_of_period) {
                device->ecc_total_has = sample->ecc_has;
                for (int k = 0; k < NTK_ECC_COUNT; k++) {
                    device->ecc_total[k] = sample->ecc[k].total;
                }
            }
        }
    }
}

static void take_owner(struct ntk_points_owner *to, const struct ntk_k8s_owner *from)
{
    size_t used = 0;

    points_clean(to->pod_name, from->pod_name);
    points_clean(to->namespace_name, from->namespace_name);
    for (size_t i = 0; i < from->container_count; i++) {
        char name[NTK_POINTS_LABEL_BYTES];
        points_clean(name, from->containers[i]);
        int bytes = snprintf(to->container_name + used, sizeof to->container_name - used, "%s%s",
                             i > 0 ? "," : "", name);
        if (bytes < 0 || (size_t)bytes >= sizeof to->container_name - used) {
            to->container_name[used] = '\0'; /* keeps the names that fit */
            return;
        }
        used += (size_t)bytes;
    }
}

/* Updates the owners; a report without owners changes nothing. */
static void update_owners(struct ntk_points_page *page, const struct ntk_k8s *k8s)
{
    if (k8s->period_ns == NTK_GROUP_ABSENT) {
        return;
    }
    for (size_t i = 0; i < page->core_count; i++) {
        page->cores[i].owner = (struct ntk_points_owner){ .pid = "" };
    }
    for (size_t i = 0; i < k8s->core_count; i++) {
        if (k8s->cores[i].index < page->core_count) {
            take_owner(&page->cores[k8s->cores[i].index].owner, &k8s->cores[i]);
        }
    }
    for (size_t i = 0; i < page->device_sample_count; i++) {
        struct ntk_points_device *device = &page->devices[i];
        device->owner = (struct ntk_points_owner){ .pid = "" };
        for (size_t k = 0; k < k8s->device_count; k++) {
            if (k8s->devices[k].index == device->index) {
                take_owner(&device->owner, &k8s->devices[k]);
            }
        }
    }
}

static void update_jobs(struct ntk_points_page *page, const struct ntk_jobs *jobs)
{
    static_assert(NTK_SNAPSHOT_DEVICES_MAX <= 64, "a bit for each device");
    page->job_count = 0;
    for (size_t i = 0; i < jobs->count && i < NTK_SNAPSHOT_JOBS_MAX; i++) {
        const struct ntk_job *from = &jobs->rows[i];
        struct ntk_points_job *job = &page->jobs[page->job_count++];

        *job = (struct ntk_points_job){ .devices = 0 };
        for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
            ntk_str_copy_clean(job->texts[k], sizeof job->texts[k], from->texts[k],
                               strlen(from->texts[k]));
        }
        for (size_t k = 0; k < from->core_count; k++) {
            if (from->cores[k] < NTK_POINTS_CORES_MAX) {
                ntk_bits_add(job->cores, from->cores[k]);
            }
        }
        for (size_t k = 0; k < from->device_count; k++) {
            if (from->devices[k] < NTK_SNAPSHOT_DEVICES_MAX) {
                job->devices |= UINT64_C(1) << from->devices[k];
            }
        }
    }
}

static double capped(double ratio)
{
    return ratio > 1 ? 1 : ratio;
}

/* Returns the port, or the first with its name, because a report may list one twice. */
static const struct ntk_adapter_port *find_port(const struct ntk_points_page *page,
                                                const struct ntk_adapter_port *wanted)
{
    const struct ntk_adapter_port *port = page->ports;

    while (port != wanted && (port->family != wanted->family || port->port != wanted->port ||
                              strcmp(port->device, wanted->device) != 0)) {
        port++;
    }
    return port;
}

/* Updates the ports; removed adapters have no series. */
static void update_ports(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    page->port_count = 0;
    for (size_t i = 0; i < snapshot->port_count && page->port_count < NTK_POINTS_PORTS_MAX; i++) {
        const struct ntk_adapter_port *from = &snapshot->ports[i];
        struct ntk_adapter_port *port = &page->ports[page->port_count];

        *port = *from;
        ntk_str_copy_clean(port->device, sizeof port->device, from->device, strlen(from->device));
        page->port_count += find_port(page, port) == port;
    }
}

static void update_system(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_system_sample *system = &snapshot->system;
    const uint64_t *due = snapshot->group_period_ns;

    /* A group that is due but unknown has no values; a group that is not due keeps its last
     * values. */
    for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
        const struct ntk_system_row *row = &ntk_system_rows[i];
        bool is_known = system->has & row->has &&
                        (row->group != NTK_SYSTEM_GROUP_CPU || system->has & NTK_SYSTEM_HAS_CPU);
        if (due[row->group] != NTK_GROUP_ABSENT) {
            page->system_has = (page->system_has & ~row->has) | (is_known ? row->has : 0);
            page->system[i] = system->figures[i];
        }
    }
    if (due[NTK_SYSTEM_GROUP_CPU] == NTK_GROUP_ABSENT) {
        return;
    }
    page->has_cpu = system->has & NTK_SYSTEM_HAS_CPU;
    if (page->has_cpu) {
        const double *share = system->average;
        page->cpu_count = system->cpu_count;
        memcpy(page->cpu_fields, share, sizeof page->cpu_fields);
        page->cpu_usage[NTK_POINTS_CPU_USER] = capped(share[NTK_CPU_USER] + share[NTK_CPU_NICE]);
        page->cpu_usage[NTK_POINTS_CPU_SYSTEM] =
            capped(share[NTK_CPU_SYSTEM] + share[NTK_CPU_IO_WAIT] + share[NTK_CPU_IRQ] +
                   share[NTK_CPU_SOFT_IRQ]);
    }
}

static void update_hardware(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;

    /* The latest count is used, because a machine that is being set up may show only some of its
     * devices first. */
    if (hardware->device_count > 0 && hardware->cores_per_device > 0) {
        page->device_count = hardware->device_count;
        page->has_cards = strncmp(hardware->device_type, "mlu", 3) == 0;
        points_clean(page->driver_version, hardware->driver_version);
        points_clean(page->host_name, snapshot->host_name);
        page->cores_per_device = hardware->cores_per_device / (hardware->lnc ? hardware->lnc : 1);
        page->device_memory_bytes =
            hardware->has & NTK_HARDWARE_HAS_MEMORY ? hardware->device_memory_bytes : 0;
        page->has_hardware = true;
        page->hardware[0] = page->device_count;
        page->hardware[1] = page->hardware[0] * hardware->cores_per_device;
        page->hardware[2] = page->hardware[0] * page->cores_per_device;
    }
}

static void add_counts(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        page->outcome[i] += snapshot->outcome[i].period;
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        page->error_class[i] += snapshot->error_class[i].period;
    }
    page->events_read += snapshot->events_read.period;
    uint64_t overwritten = snapshot->events_lost.period;
    for (int i = 0; i < NTK_UNWRITTEN_COUNT; i++) {
        uint64_t unwritten = snapshot->events_unwritten[i].period;
        page->events_lost[1 + i] += unwritten;
        overwritten -= unwritten < overwritten ? unwritten : overwritten;
    }
    page->events_lost[0] += overwritten;
    page->collect_seconds = (double)snapshot->collect_duration_ns / (double)NTK_NS_PER_SECOND;
}

void points_host_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot)
{
    update_hardware(page, snapshot);
    add_counts(page, snapshot);
    update_cores(page, snapshot);
    update_devices(page, snapshot);
    update_troubles(page, snapshot);
    update_owners(page, &snapshot->k8s);
    update_jobs(page, &snapshot->jobs);
    update_ports(page, snapshot);
    update_system(page, snapshot);
}
