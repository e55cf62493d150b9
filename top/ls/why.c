/* SPDX-License-Identifier: MIT */
#include "top/ls/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/core_number.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"
#include "shared/device/soft_holder.h"

#define CORES_MAX (NTK_DEVICES_MAX * NTK_DEVICE_CORES_MAX)
#define HOLDERS_MAX 4u                          /* maximum per core */
#define IDLE_STALE_NS (600 * NTK_NS_PER_SECOND) /* time without an execution */

struct holder {
    uint32_t pid; /* NTK_SOFT_HOLDER_ELSEWHERE if in another container */
    uint64_t since_ns;
    const struct ntk_ls_process *process; /* NULL if only its lock is visible */
    const char *by;                       /* evidence for the holder */
};

struct core {
    uint32_t core;
    uint32_t device;
    uint32_t killed_pid; /* process that held it and was killed; 0 if none */
    bool is_hidden;      /* processes that this user cannot see may hold it */
    size_t holder_count;
    struct holder holders[HOLDERS_MAX];
};

static void holder_add(struct core *core, const struct holder *holder)
{
    for (size_t i = 0; i < core->holder_count; i++) {
        struct holder *known = &core->holders[i];

        if (known->pid == holder->pid) {
            known->process = known->process ? known->process : holder->process;
            known->since_ns = known->since_ns ? known->since_ns : holder->since_ns;
            return;
        }
    }
    if (core->holder_count < HOLDERS_MAX) {
        core->holders[core->holder_count++] = *holder;
    }
}

/* Finds holders of `count` physical cores of the device, from `first` on. */
static void core_look(const struct ntk_ls_read_options *options,
                      const struct ntk_ls_machine *machine, const struct ntk_device_info *device,
                      uint32_t first, struct core *core)
{
    uint32_t mask = ((1u << machine->lnc) - 1) << first;

    for (uint32_t i = 0; machine->is_software && i < machine->lnc; i++) {
        struct ntk_soft_holder locked = ntk_soft_holder_of(
            options->hooks_dir, ntk_core_number(device->index, device->core_count, first + i));

        if (locked.pid != 0) {
            holder_add(core, &(struct holder){ locked.pid, locked.since_ns, NULL, "lock" });
        } else if (locked.noted_pid != 0) {
            core->killed_pid = locked.noted_pid;
        }
    }
    ntk_vec_each(const struct ntk_ls_process, process, &machine->processes) {
        bool has_core = (process->cores[device->index] & mask) != 0;
        bool has_node = !process->has_segment && (process->nodes >> device->index & 1) != 0;

        if (process->pid != (uint32_t)getpid() && (has_core || has_node)) {
            holder_add(core, &(struct holder){ process->pid, process->since_ns, process,
                                               has_core ? "segment" : "device" });
        }
    }
    core->is_hidden = core->holder_count == 0 && !machine->is_software && geteuid() != 0;
}

/* Returns the sign that a process holds the core without working; "" if none. */
static const char *stale_format(const struct holder *holder, const struct ntk_process *facts,
                                char *buf, size_t buf_bytes)
{
    const struct ntk_ls_process *process = holder->process;
    unsigned long long minutes = process ? process->idle_ns / (60 * NTK_NS_PER_SECOND) : 0;

    if (facts->state == 'T' || facts->state == 't') {
        return "stopped";
    }
    if (process && !process->is_runtime) {
        return "no runtime loaded: the device was inherited from a process that may have exited";
    }
    if (process && process->idle_ns >= IDLE_STALE_NS) {
        (void)snprintf(buf, buf_bytes, "no execution for %lluh %llum", minutes / 60, minutes % 60);
        return buf;
    }
    return "";
}

static void holder_describe(const struct holder *holder, struct ntk_process *facts, char *text,
                            size_t text_bytes)
{
    *facts = (struct ntk_process){ .pid = holder->pid };
    if (holder->pid == NTK_SOFT_HOLDER_ELSEWHERE) {
        (void)snprintf(text, text_bytes, "a process in another container");
    } else if (ntk_process_read(NULL, holder->pid, facts) < 0) {
        (void)snprintf(text, text_bytes, "process %u", holder->pid);
    } else {
        (void)ntk_process_format(facts, holder->since_ns, text, text_bytes);
    }
}

/* ---- text ---- */

static bool is_alike(const struct core *a, const struct core *b)
{
    bool alike = a->holder_count == b->holder_count && a->killed_pid == b->killed_pid &&
                 a->is_hidden == b->is_hidden && a->core + 1 == b->core &&
                 (!a->is_hidden || a->device == b->device);

    for (size_t i = 0; alike && i < a->holder_count; i++) {
        alike = a->holders[i].pid == b->holders[i].pid;
    }
    return alike;
}

static void text_put(const struct core *core, uint32_t last, struct ntk_buf *out)
{
    char cores[32];

    (void)snprintf(cores, sizeof cores, last > core->core ? "cores %u-%u" : "core %u", core->core,
                   last);
    if (core->holder_count == 0) {
        ntk_buf_add_format(out, "%-12s ", cores);
        if (core->is_hidden) {
            ntk_buf_add_format(
                out, "unknown: another user may have /dev/neuron%u open, which only root can see\n",
                core->device);
        } else if (core->killed_pid) {
            ntk_buf_add_format(out, "free (process %u held it and was killed)\n", core->killed_pid);
        } else {
            ntk_buf_add_text(out, "free\n");
        }
    }
    for (size_t i = 0; i < core->holder_count; i++) {
        const struct holder *holder = &core->holders[i];
        struct ntk_process facts;
        char text[NTK_PROCESS_TEXT_BYTES];
        char buf[64];
        const char *stale;

        holder_describe(holder, &facts, text, sizeof text);
        stale = stale_format(holder, &facts, buf, sizeof buf);
        ntk_buf_add_format(out, "%-12s held by %s%s%s\n", i == 0 ? cores : "", text,
                           stale[0] ? "; stale? " : "", stale);
        if (holder->process && holder->process->command[0]) {
            ntk_buf_add_format(out, "%-12s   %.*s\n", "", 160, holder->process->command);
        }
    }
}

/* ---- JSON ---- */

static void json_put(const struct core *core, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "core", core->core);
    ntk_json_key_u64(json, "neuron_device", core->device);
    ntk_json_key_text(json, "state",
                      core->holder_count > 0 ? "held"
                      : core->is_hidden      ? "unknown"
                                             : "free");
    ntk_json_key_array_begin(json, "holders");
    for (size_t i = 0; i < core->holder_count; i++) {
        const struct holder *holder = &core->holders[i];
        struct ntk_process facts;
        char text[NTK_PROCESS_TEXT_BYTES];
        char since[NTK_TIMESTAMP_BYTES] = "";
        char buf[64];
        const char *stale;
        uint64_t since_ns;

        holder_describe(holder, &facts, text, sizeof text);
        stale = stale_format(holder, &facts, buf, sizeof buf);
        since_ns = holder->since_ns ? holder->since_ns : facts.start_ns;
        if (since_ns) {
            ntk_timestamp_format(since_ns, since, sizeof since);
        }
        ntk_json_object_begin(json);
        ntk_json_key(json, "pid");
        if (holder->pid == NTK_SOFT_HOLDER_ELSEWHERE) {
            ntk_json_null(json);
        } else {
            ntk_json_u64(json, holder->pid);
        }
        ntk_json_key_text(json, "name", facts.name);
        ntk_json_key_text(json, "command", holder->process ? holder->process->command : "");
        ntk_json_key_text(json, "user", facts.user);
        ntk_json_key_text(json, "since", since[0] ? since : NULL);
        ntk_json_key_text(json, "known_by", holder->by);
        ntk_json_key_text(json, "stale", stale[0] ? stale : NULL);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* ---- the whole ---- */

static const struct ntk_ls_device *device_find(const struct ntk_ls_machine *machine, uint32_t core)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        const struct ntk_ls_device *device = &machine->devices[i];

        if (core >= device->first_core && core - device->first_core < device->core_count) {
            return device;
        }
    }
    return NULL;
}

static int cores_look(const struct ntk_ls_read_options *options,
                      const struct ntk_ls_machine *machine, const char *list, struct ntk_vec *cores,
                      struct ntk_err *err)
{
    uint32_t numbers[CORES_MAX];
    size_t count = CORES_MAX;

    if (ntk_str_parse_list(list, CORES_MAX - 1, numbers, &count) < 0 || count == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--why: invalid list '%s': expected cores such as 0-3,8", list);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_ls_device *device = device_find(machine, numbers[i]);
        struct core *core = device ? ntk_vec_add(cores) : NULL;

        if (!device) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "--why: no listed device has core %u", numbers[i]);
        }
        if (!core) {
            return ntk_err_no_memory(err);
        }
        core->core = numbers[i];
        core->device = device->info.index;
        core_look(options, machine, &device->info, (numbers[i] - device->first_core) * machine->lnc,
                  core);
    }
    return 0;
}

int ntk_ls_why(const struct ntk_ls_read_options *options, const char *list, bool as_json,
               struct ntk_buf *out, bool *out_is_free, struct ntk_err *err)
{
    struct ntk_ls_read_options all = *options;
    struct ntk_vec cores = NTK_VEC_INIT(struct core);
    struct ntk_ls_machine machine = { 0 };
    struct ntk_json json;

    all.all_processes = true;
    int ret = ntk_ls_read(&all, &machine, err);
    if (ret == 0) {
        ret = cores_look(options, &machine, list, &cores, err);
    }
    if (ret == 0) {
        struct core *items = cores.items;

        *out_is_free = true;
        ntk_json_init(&json, out, false);
        if (as_json) {
            ntk_json_object_begin(&json);
            ntk_json_key_u64(&json, "format", 1);
            ntk_json_key_array_begin(&json, "neuroncores");
        }
        for (size_t i = 0, next; i < cores.count; i = next) {
            next = i + 1;
            while (!as_json && next < cores.count && is_alike(&items[next - 1], &items[next])) {
                next++;
            }
            *out_is_free = *out_is_free && items[i].holder_count == 0 && !items[i].is_hidden;
            if (as_json) {
                json_put(&items[i], &json);
            } else {
                text_put(&items[i], items[next - 1].core, out);
            }
        }
        if (as_json) {
            ntk_json_array_end(&json);
            ntk_json_object_end(&json);
            ntk_buf_add_char(out, '\n');
        }
    }
    ntk_vec_fini(&cores);
    ntk_ls_machine_fini(&machine);
    return ret;
}
