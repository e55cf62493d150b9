/* SPDX-License-Identifier: MIT */
/* json - writes keys in the vendor's order, followed by additional keys, which are only in the
 * object. */
#include "top/ls/json.h"

#include <stdio.h>

#include "shared/base/json.h"
#include "shared/metrics/snapshot.h"
#include "top/ls/table.h"

#define INDENT 4
#define FORMAT 1 /* format number in the object: docs/formats/ls-json.md */

static void write_cores(struct ntk_json *json, const struct ntk_ls_process *process,
                        const struct ntk_ls_machine *machine, const struct ntk_ls_device *device)
{
    ntk_json_key_array_begin(json, "neuroncore_ids");
    for (uint32_t core = 0; core < device->core_count; core++) {
        unsigned int parts = machine->lnc == 2 ? 3u << 2 * core : 1u << core;

        if (process->cores[device->info.index] & parts) {
            ntk_json_u64(json, device->first_core + core);
        }
    }
    ntk_json_array_end(json);
}

/* Writes the place of the hooks that report its cores. */
static void write_hooks(struct ntk_json *json, const struct ntk_ls_process *process)
{
    enum ntk_hooks_kind kind = process->flags & NTK_PROCESS_SOFTWARE_CORE ? NTK_HOOKS_BUILT_IN
                               : process->flags & NTK_PROCESS_ATTACHED    ? NTK_HOOKS_ATTACHED
                                                                          : NTK_HOOKS_PRELOADED;

    ntk_json_key(json, "hooks");
    if (!process->has_segment) {
        ntk_json_null(json);
        return;
    }
    ntk_json_text(json, ntk_hooks_kind_names[kind]);
    ntk_json_key_bool(json, "cores_guessed", process->flags & NTK_PROCESS_CORES_GUESSED);
}

static void write_process(struct ntk_json *json, const struct ntk_ls_process *process,
                          const struct ntk_ls_machine *machine, const struct ntk_ls_device *device,
                          bool more)
{
    struct ntk_buf command = { 0 };

    ntk_ls_command_write(process->command, NTK_LS_COMMAND_CELLS, &command);
    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "pid", process->pid);
    ntk_json_key_text(json, "command", ntk_buf_text_get(&command));
    ntk_json_key_text(json, "neuron_runtime_version", ntk_ls_process_version(process));
    if (more) {
        ntk_json_key_text(json, "command_line", process->command);
        write_cores(json, process, machine, device);
        write_hooks(json, process);
    }
    ntk_json_object_end(json);
    if (!ntk_buf_ok(&command)) {
        json->buf->failed = true;
    }
    ntk_buf_fini(&command);
}

static void write_neighbours(struct ntk_json *json, const struct ntk_device_info *info)
{
    ntk_json_key(json, "connected_to");
    if (info->connected_device_count == 0) {
        ntk_json_null(json);
        return;
    }
    ntk_json_array_begin(json);
    for (uint32_t i = 0; i < info->connected_device_count; i++) {
        ntk_json_u64(json, info->connected_devices[i]);
    }
    ntk_json_array_end(json);
}

static void write_identity(struct ntk_json *json, const struct ntk_ls_machine *machine)
{
    ntk_json_key_text(json, "instance_type", machine->instance_type);
    ntk_json_key_text(json, "instance_id",
                      machine->instance_id[0] ? machine->instance_id : "i-local");
}

static void write_place(struct ntk_json *json, const struct ntk_device_place *place)
{
    char node[16] = "";

    if (place->has_numa_node) {
        (void)snprintf(node, sizeof node, "%d", (int)place->numa_node);
    }
    ntk_json_key_text(json, "bdf", place->bdf);
    ntk_json_key_text(json, "cpu_affinity", place->cpu_list);
    ntk_json_key_text(json, "numa_node", node); /* a text, as in the vendor's output */
}

/* Writes null if the health is unknown after one reading. */
static void write_health(struct ntk_json *json, const struct ntk_device_sample *device)
{
    ntk_json_key(json, "health");
    if (!(device->has & NTK_DEVICE_HAS_HEALTH)) {
        ntk_json_null(json);
        return;
    }
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "verdict", ntk_health_verdict_names[device->verdict]);
    ntk_json_key_text(json, "action", ntk_health_actions[ntk_health_action_of(device)].name);
    ntk_json_key_array_begin(json, "reasons");
    for (size_t i = 0; i < device->health_count; i++) {
        ntk_json_text(json, ntk_health_reasons[device->health[i].reason].name);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static void write_device(struct ntk_json *json, const struct ntk_ls_machine *machine,
                         const struct ntk_ls_device *device, bool more)
{
    ntk_json_object_begin(json);
    if (!more) {
        write_identity(json, machine);
    }
    ntk_json_key_u64(json, "neuron_device", device->info.index);
    write_place(json, &device->place);
    write_neighbours(json, &device->info);
    ntk_json_key_u64(json, "nc_count", device->core_count);
    if (machine->has_lnc) {
        ntk_json_key_u64(json, "logical_neuroncore_config", machine->lnc);
    }
    ntk_json_key(json, "memory_size");
    if (device->memory_bytes > 0) {
        ntk_json_u64(json, device->memory_bytes);
    } else {
        ntk_json_null(json);
    }
    ntk_json_key_array_begin(json, "neuroncore_ids");
    for (uint32_t core = 0; core < device->core_count; core++) {
        ntk_json_u64(json, device->first_core + core);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "neuron_processes");
    ntk_vec_each(const struct ntk_ls_process, process, &machine->processes) {
        if (ntk_ls_process_uses(process, device)) {
            write_process(json, process, machine, device, more);
        }
    }
    ntk_json_array_end(json);
    if (more) {
        ntk_json_key_text(json, "device_name", device->info.name);
        ntk_json_key_text(json, "device_arch", device->info.arch);
        ntk_json_key_text(json, "neuroncore_arch", device->info.core_arch);
        ntk_json_key_u64(json, "physical_nc_count", device->info.core_count);
        ntk_json_key_text(json, "serial_number", device->info.serial_number);
        write_health(json, &device->health);
    }
    ntk_json_object_end(json);
}

static void write_devices(struct ntk_json *json, const struct ntk_ls_machine *machine, bool more)
{
    ntk_json_array_begin(json);
    for (size_t i = 0; i < machine->device_count; i++) {
        write_device(json, machine, &machine->devices[i], more);
    }
    ntk_json_array_end(json);
}

static void write_server(struct ntk_json *json, const struct ntk_device_server *server)
{
    ntk_json_key(json, "ultraserver");
    if (!server->is_ultraserver) {
        ntk_json_null(json);
        return;
    }
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "modes", server->modes);
    for (size_t i = 0; i < 2; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "node_id_%u", server->sets[i].size);
        ntk_json_key(json, key);
        if (server->sets[i].present) {
            ntk_json_u64(json, server->sets[i].node);
        } else {
            ntk_json_null(json);
        }
        (void)snprintf(key, sizeof key, "server_id_%u", server->sets[i].size);
        ntk_json_key_text(json, key, server->sets[i].present ? server->sets[i].server_id : NULL);
    }
    ntk_json_object_end(json);
}

void ntk_ls_json_write_array(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    json.indent = INDENT;
    write_devices(&json, machine, false);
    ntk_buf_add_char(out, '\n');
}

void ntk_ls_json_write_object(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    json.indent = INDENT;
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "format", FORMAT);
    write_identity(&json, machine);
    ntk_json_key_text(&json, "driver_version", machine->driver_version);
    ntk_json_key(&json, "logical_neuroncore_config");
    if (machine->has_lnc) {
        ntk_json_u64(&json, machine->lnc);
    } else {
        ntk_json_null(&json);
    }
    write_server(&json, &machine->server);
    ntk_json_key(&json, "neuron_devices");
    write_devices(&json, machine, true);
    ntk_json_key_array_begin(&json, "pci_devices");
    for (size_t i = 0; i < machine->pci_count; i++) {
        ntk_json_object_begin(&json);
        write_place(&json, &machine->pci[i]);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
