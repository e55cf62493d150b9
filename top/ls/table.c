/* SPDX-License-Identifier: MIT */
/* table - writes columns as wide as their widest cell; columns that are empty in every row are
 * omitted. */
#include "top/ls/table.h"

#include <string.h>

#include "shared/base/str.h"
#include "shared/base/text_table.h"

enum { HEAD_LINES = 2 };

enum column {
    COLUMN_DEVICE,
    COLUMN_CORES,
    COLUMN_CORE_IDS,
    COLUMN_MEMORY,
    COLUMN_CONNECTED,
    COLUMN_BDF,
    COLUMN_PID,
    COLUMN_COMMAND,
    COLUMN_CPU,
    COLUMN_NUMA,
    COLUMN_VERSION,
    COLUMN_COUNT,
};

static const struct {
    const char *head[HEAD_LINES];
    bool of_process;
    bool default_form_only;
} columns[COLUMN_COUNT] = {
    [COLUMN_DEVICE] = { { "NEURON", "DEVICE" }, false, false },
    [COLUMN_CORES] = { { "NEURON", "CORES" }, false, false },
    [COLUMN_CORE_IDS] = { { "NEURON", "CORE IDS" }, false, true },
    [COLUMN_MEMORY] = { { "NEURON", "MEMORY" }, false, false },
    [COLUMN_CONNECTED] = { { "CONNECTED", "DEVICES" }, false, false },
    [COLUMN_BDF] = { { "PCI", "BDF" }, false, false },
    [COLUMN_PID] = { { "PID", "" }, true, false },
    [COLUMN_COMMAND] = { { "COMMAND", "" }, true, false },
    [COLUMN_CPU] = { { "CPU", "AFFINITY" }, false, true },
    [COLUMN_NUMA] = { { "NUMA", "NODE" }, false, true },
    [COLUMN_VERSION] = { { "RUNTIME", "VERSION" }, true, false },
};

struct layout {
    enum ntk_ls_form form;
    size_t command_cells;
    bool short_bdf;
    bool separates; /* draws a line below each device */
    uint32_t used;  /* mask of the columns that have a value in a row */
    struct ntk_text_table table;
    struct ntk_buf cell;
};

void ntk_ls_command_write(const char *command, size_t cells, struct ntk_buf *out)
{
    size_t used = 0;

    if (ntk_str_cells(command) <= cells) {
        ntk_buf_add_text(out, command);
        return;
    }
    for (;;) {
        size_t bytes;
        size_t width = ntk_str_first_cells(command, &bytes);

        if (used + width > cells - 3) {
            break;
        }
        ntk_buf_add(out, command, bytes);
        command += bytes;
        used += width;
    }
    ntk_buf_add_fill(out, ' ', cells - 3 - used); /* half of a wide character */
    ntk_buf_add_text(out, "...");
}

/* ---- cells ---- */

static void write_numbers(const struct ntk_device_info *info, struct ntk_buf *out)
{
    for (uint32_t i = 0; i < info->connected_device_count; i++) {
        ntk_buf_add_format(out, "%s%u", i > 0 ? ", " : "", (unsigned)info->connected_devices[i]);
    }
}

static void write_core_ids(const struct ntk_ls_device *device, struct ntk_buf *out)
{
    if (device->core_count > 1) {
        ntk_buf_add_format(out, "%u-%u", device->first_core,
                           device->first_core + device->core_count - 1);
    } else if (device->core_count == 1) {
        ntk_buf_add_format(out, "%u", device->first_core);
    }
}

static void write_bdf(const char *bdf, bool is_short, struct ntk_buf *out)
{
    const char *domain_end = strchr(bdf, ':');

    ntk_buf_add_text(out, is_short && domain_end ? domain_end + 1 : bdf);
}

/* Writes a cell. Without `device`, the row belongs to the previous device. Without `process`, the
 * device has no user. */
static void write_cell(const struct layout *layout, enum column column,
                       const struct ntk_ls_device *device, const struct ntk_ls_process *process,
                       struct ntk_buf *out)
{
    if (columns[column].of_process ? !process : !device) {
        return;
    }
    switch (column) {
    case COLUMN_DEVICE:
        ntk_buf_add_u64(out, device->info.index);
        break;
    case COLUMN_CORES:
        if (device->core_count > 0) {
            ntk_buf_add_u64(out, device->core_count);
        }
        break;
    case COLUMN_CORE_IDS:
        write_core_ids(device, out);
        break;
    case COLUMN_MEMORY:
        if (device->memory_bytes > 0) {
            ntk_buf_add_format(out, "%llu GB", (unsigned long long)(device->memory_bytes >> 30));
        }
        break;
    case COLUMN_CONNECTED:
        write_numbers(&device->info, out);
        break;
    case COLUMN_BDF:
        write_bdf(device->place.bdf, layout->short_bdf, out);
        break;
    case COLUMN_PID:
        ntk_buf_add_u64(out, process->pid);
        break;
    case COLUMN_COMMAND:
        ntk_ls_command_write(process->command, layout->command_cells, out);
        break;
    case COLUMN_CPU:
        ntk_buf_add_text(out, device->place.cpu_list);
        break;
    case COLUMN_NUMA:
        if (device->place.has_numa_node) {
            ntk_buf_add_i64(out, device->place.numa_node);
        }
        break;
    case COLUMN_VERSION:
        ntk_buf_add_text(out, ntk_ls_process_version(process));
        break;
    case COLUMN_COUNT:
        break;
    }
}

/* ---- rows ---- */

/* Adds a row. Without `device`, it belongs to the previous device. */
static void add_row(struct layout *layout, const struct ntk_ls_device *device,
                    const struct ntk_ls_process *process)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        ntk_buf_reset(&layout->cell);
        write_cell(layout, (enum column)i, device, process, &layout->cell);
        layout->used |= (uint32_t)(layout->cell.bytes_count > 0) << i;
        ntk_text_table_text(&layout->table, ntk_buf_text_get(&layout->cell));
        layout->table.cells.failed |= !ntk_buf_ok(&layout->cell);
    }
}

/* Adds a device with its first process, then its other processes. */
static void add_device(struct layout *layout, const struct ntk_ls_machine *machine,
                       const struct ntk_ls_device *device)
{
    const struct ntk_ls_device *head = device;

    if (layout->form != NTK_LS_FORM_TOPOLOGY) {
        ntk_vec_each(const struct ntk_ls_process, process, &machine->processes) {
            if (ntk_ls_process_uses(process, device)) {
                add_row(layout, head, process);
                head = NULL;
            }
        }
    }
    if (head) {
        add_row(layout, head, NULL);
    }
    if (layout->separates) {
        ntk_text_table_rule(&layout->table);
    }
}

/* Returns true if devices have lines between them: if the form requires it, or if a device has
 * several processes. */
static bool separates(const struct ntk_ls_machine *machine, enum ntk_ls_form form)
{
    for (size_t i = 0; i < machine->device_count && form != NTK_LS_FORM_TOPOLOGY; i++) {
        size_t uses = 0;
        ntk_vec_each(const struct ntk_ls_process, process, &machine->processes) {
            uses += ntk_ls_process_uses(process, &machine->devices[i]);
        }
        if (uses > 1) {
            return true;
        }
    }
    return form == NTK_LS_FORM_ALL || form == NTK_LS_FORM_WIDE_ALL;
}

/* Returns true for columns of the form; narrow columns are shown together with the processes that
 * they describe. */
static bool is_wanted(const struct ntk_ls_machine *machine, enum ntk_ls_form form, size_t column)
{
    if (form == NTK_LS_FORM_TOPOLOGY) {
        return !columns[column].of_process && !columns[column].default_form_only;
    }
    if (form == NTK_LS_FORM_DEFAULT || machine->processes.count == 0) {
        return true;
    }
    return !columns[column].default_form_only;
}

void ntk_ls_table_write(const struct ntk_ls_machine *machine, enum ntk_ls_form form,
                        struct ntk_buf *out)
{
    const bool wide = form == NTK_LS_FORM_WIDE || form == NTK_LS_FORM_WIDE_ALL;
    struct layout layout = {
        .form = form,
        .command_cells = wide ? NTK_LS_COMMAND_CELLS_WIDE : NTK_LS_COMMAND_CELLS,
        .short_bdf = form != NTK_LS_FORM_DEFAULT &&
                     (form == NTK_LS_FORM_TOPOLOGY || machine->processes.count > 0),
        .separates = separates(machine, form),
    };
    struct ntk_text_table *table = &layout.table;

    ntk_text_table_init(table, COLUMN_COUNT, UINT32_MAX, NULL);
    table->cell_bytes = NTK_TEXT_TABLE_CELL_BYTES_MAX;
    table->framed = HEAD_LINES;
    ntk_text_table_rule(table);
    for (size_t line = 0; line < HEAD_LINES; line++) {
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            ntk_text_table_text(table, columns[i].head[line]);
        }
    }
    ntk_text_table_rule(table);
    for (size_t i = 0; i < machine->device_count; i++) {
        add_device(&layout, machine, &machine->devices[i]);
    }
    if (!layout.separates) {
        ntk_text_table_rule(table);
    }
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        bool is_shown = (layout.used >> i & 1) && is_wanted(machine, form, i);
        table->hidden |= (uint32_t)!is_shown << i;
    }
    ntk_text_table_put(table, out);
    ntk_text_table_fini(table);
    ntk_buf_fini(&layout.cell);
}

/* ---- places of no process ---- */

static bool is_any_place_unknown(const struct ntk_ls_machine *machine)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        if (!machine->devices[i].place.bdf[0]) {
            return true;
        }
    }
    return false;
}

void ntk_ls_pci_write(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    size_t cells = 1;

    if (machine->pci_count == 0 || !is_any_place_unknown(machine)) {
        return;
    }
    for (size_t i = 0; i < machine->pci_count; i++) {
        size_t bytes = strlen(machine->pci[i].cpu_list);

        cells = bytes > cells ? bytes : cells;
    }
    ntk_buf_add_text(
        out,
        "\nPCI devices by address; the driver does not report which Neuron device is which:\n");
    for (size_t i = 0; i < machine->pci_count; i++) {
        const struct ntk_device_place *place = &machine->pci[i];

        ntk_buf_add_format(out, "    %s  CPUs %-*s  NUMA node ", place->bdf, (int)cells,
                           place->cpu_list[0] ? place->cpu_list : "-");
        if (place->has_numa_node) {
            ntk_buf_add_i64(out, place->numa_node);
        } else {
            ntk_buf_add_char(out, '-');
        }
        ntk_buf_add_char(out, '\n');
    }
}

void ntk_ls_hidden_write(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    if (machine->device_count < machine->all_count) {
        ntk_buf_add_format(out, "%zu of %zu devices have no node in /dev; --all lists them\n",
                           machine->all_count - machine->device_count, machine->all_count);
    }
}

/* ---- header lines ---- */

void ntk_ls_header_write(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    ntk_buf_add_format(out, "instance-type: %s\n",
                       machine->instance_type[0] ? machine->instance_type : "unknown");
    ntk_buf_add_format(out, "instance-id: %s\n",
                       machine->instance_id[0] ? machine->instance_id : "i-local");
    if (machine->has_lnc) {
        ntk_buf_add_format(out, "logical-neuroncore-config: %u\n", machine->lnc);
    }
    if (!machine->server.is_ultraserver) {
        return;
    }
    ntk_buf_add_format(out, "ultraserver-modes: %s\n", machine->server.modes);
    for (size_t i = 0; i < 2; i++) {
        if (machine->server.sets[i].present) {
            ntk_buf_add_format(out, "ultraserver-of-%u: node %u of server %s\n",
                               machine->server.sets[i].size, machine->server.sets[i].node,
                               machine->server.sets[i].server_id);
        }
    }
}
