/* SPDX-License-Identifier: MIT */
/* processes - finds the users of the devices: runtimes from their segments, others from their open
 * files. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/device/node_holder.h"
#include "shared/ring/ring_registry.h"
#include "top/ls/read.h"

#define PATH_BYTES 512
#define OPEN_FILES_MAX 65536 /* maximum number checked per process */
#define MAPS_BYTES_MAX (4u * 1024u * 1024u)

struct reader {
    const char *proc_root;
    const char *sysfs_root;
    struct ntk_ls_machine *machine;
    uint64_t all_devices; /* one bit per index */
    /* File that the agent of the hooks folder has open; "" if not requested */
    char mark[NTK_PATH_BYTES];
    bool failed; /* out of memory */
};

static struct ntk_ls_process *find(struct reader *reader, uint32_t pid)
{
    ntk_vec_each(struct ntk_ls_process, process, &reader->machine->processes) {
        if (process->pid == pid) {
            return process;
        }
    }
    return NULL;
}

static void read_command(const struct reader *reader, struct ntk_ls_process *process)
{
    char path[PATH_BYTES];
    char text[NTK_LS_COMMAND_BYTES];
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%u/cmdline", reader->proc_root, process->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    got = read(fd, text, sizeof text);
    close(fd);
    while (got > 0 && (text[got - 1] == '\0' || text[got - 1] == '\n')) {
        got--;
    }
    for (ssize_t i = 0; i < got; i++) {
        text[i] = text[i] == '\0' || text[i] == '\n' || text[i] == '\t' ? ' ' : text[i];
    }
    if (got > 0) {
        ntk_str_copy_clean(process->command, sizeof process->command, text, (size_t)got);
    }
}

/* Returns the process with this pid, added if it is new; NULL if out of memory. */
static struct ntk_ls_process *take(struct reader *reader, uint32_t pid)
{
    struct ntk_ls_process *process = find(reader, pid);

    if (!process) {
        process = ntk_vec_add(&reader->machine->processes);
        if (!process) {
            reader->failed = true;
            return NULL;
        }
        process->pid = pid;
        read_command(reader, process);
    }
    return process;
}

static void use(struct ntk_ls_process *process, uint32_t device, uint32_t core)
{
    if (device < NTK_DEVICES_MAX && core < NTK_DEVICE_CORES_MAX) {
        process->devices |= UINT64_C(1) << device;
        process->cores[device] |= (uint8_t)(1u << core);
    }
}

/* ---- runtimes with a segment ---- */

static void add_segment(struct reader *reader, struct ntk_ring_segment *segment,
                        const struct ntk_ring_process *about)
{
    struct ntk_ring_core cores[NTK_SEGMENT_CORES];
    size_t count = ntk_ring_segment_cores(segment, cores, NTK_SEGMENT_CORES);
    struct ntk_ls_process *process = NULL;
    uint64_t idle_ns = UINT64_MAX;
    uint32_t per_device = about->cores_per_device;

    /* Hooks around another runtime may not have the machine's data. */
    if (per_device == 0 && reader->machine->device_count > 0) {
        per_device = reader->machine->devices[0].info.core_count;
    }
    for (size_t i = 0; i < count; i++) {
        if (!cores[i].owned || per_device == 0) {
            continue;
        }
        if (!process) {
            process = take(reader, about->pid);
        }
        if (!process) {
            return;
        }
        use(process, cores[i].core / per_device, cores[i].core % per_device);
        idle_ns = cores[i].in_flight > 0       ? 0
                  : idle_ns < cores[i].idle_ns ? idle_ns
                                               : cores[i].idle_ns;
    }
    if (process) {
        process->idle_ns = idle_ns;
        process->since_ns = about->clock.realtime_ns;
        process->is_runtime = true;
        process->has_segment = true;
        process->flags = about->flags;
        ntk_str_copy(process->runtime_version, sizeof process->runtime_version,
                     about->runtime_version);
        if (!process->command[0]) { /* in another container: use the name that it reports */
            ntk_str_copy(process->command, sizeof process->command, about->command);
        }
    }
}

static int add_segments(struct reader *reader, const struct ntk_ls_read_options *options,
                        uint32_t *out_lnc, struct ntk_machine_answer *answer, struct ntk_err *err)
{
    const struct ntk_ring_options ring_options = { .folder = options->hooks_dir,
                                                   .proc_root = options->proc_root,
                                                   .from = NTK_RING_FROM_NOW };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_err ignored = { 0 };
    uint32_t agreed = 0;
    bool differ = false;

    if (ntk_ring_registry_open(&ring_options, &registry, &ignored) == -ENOMEM) {
        return ntk_err_no_memory(err);
    }
    if (!registry) {
        return 0; /* a folder that cannot be read hides processes, not devices */
    }
    (void)ntk_ring_registry_poll(registry, NULL, &ignored);
    for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);
        struct ntk_ring_process about;

        if (ntk_ring_segment_state(segment) != NTK_SEGMENT_ALIVE) {
            continue;
        }
        ntk_ring_segment_process(segment, &about);
        differ = differ || (agreed != 0 && agreed != about.lnc);
        agreed = about.lnc;
        ntk_machine_hear(answer, about.instance_type);
        add_segment(reader, segment, &about);
    }
    if ((agreed == 1 || agreed == 2) && !differ) {
        *out_lnc = agreed;
    }
    ntk_ring_registry_close(registry);
    return 0;
}

/* ---- holders of device nodes ---- */

/* Returns one bit per device that the process has open; all bits for an agent. *out_nodes: only
 * open ones. */
static uint64_t held_devices(const struct reader *reader, const char *pid, uint64_t *out_nodes)
{
    char path[PATH_BYTES];
    const struct dirent *entry;
    uint64_t held = 0;
    size_t looked = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/%s/fd", reader->proc_root, pid);
    dir = opendir(path);
    if (!dir) {
        return 0; /* process of another user */
    }
    while (looked++ < OPEN_FILES_MAX && (entry = readdir(dir))) {
        char target[NTK_PATH_BYTES];
        ssize_t got = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        uint32_t device;

        if (got <= 0) {
            continue;
        }
        target[got] = '\0';
        device = ntk_device_node_of(reader->sysfs_root, dirfd(dir), entry->d_name, target);
        if (device < NTK_DEVICES_MAX) {
            held |= UINT64_C(1) << device;
            *out_nodes |= UINT64_C(1) << device;
        } else if (reader->mark[0] && strcmp(target, reader->mark) == 0) {
            held |= reader->all_devices;
        }
    }
    closedir(dir);
    return held;
}

/* Reads the version from a name in a line of maps: libnrt.so.1 is a link to libnrt.so.2.31.24.0. */
static void read_version(const char *name, char *version, size_t version_bytes)
{
    size_t bytes = strspn(name, "0123456789.");

    if (name[0] == '.' && memchr(name + 1, '.', bytes - 1)) {
        ntk_str_copy_clean(version, version_bytes, name + 1, bytes - 1);
    }
}

/* Returns true if the runtime's library is mapped, with its version if the file name has one, else
 * "". */
static bool maps_runtime(const struct reader *reader, uint32_t pid, char *version,
                         size_t version_bytes)
{
    static const char library[] = "/libnrt.so";
    char path[PATH_BYTES];
    char *line = NULL;
    size_t line_bytes = 0;
    size_t looked = 0;
    ssize_t got;
    bool found = false;
    FILE *file;

    version[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/%u/maps", reader->proc_root, pid);
    file = fopen(path, "re");
    if (!file) {
        return false;
    }
    while (!found && looked < MAPS_BYTES_MAX && (got = getline(&line, &line_bytes, file)) > 0) {
        const char *name = strstr(line, library);

        looked += (size_t)got;
        found = name != NULL;
        if (name) {
            read_version(name + sizeof library - 1, version, version_bytes);
        }
    }
    free(line);
    (void)fclose(file);
    return found;
}

static void add_holders(struct reader *reader, bool all)
{
    DIR *dir = opendir(reader->proc_root);
    const struct dirent *entry;

    while (dir && !reader->failed && (entry = readdir(dir))) {
        struct ntk_ls_process *process;
        uint64_t pid;
        uint64_t held;
        uint64_t nodes = 0;
        bool is_runtime;
        char version[NTK_DEVICE_TEXT_BYTES] = "";

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            ntk_str_parse_u64(entry->d_name, &pid) < 0 || pid == 0 || pid > INT32_MAX) {
            continue;
        }
        held = held_devices(reader, entry->d_name, &nodes);
        if (held == 0) {
            continue;
        }
        process = find(reader, (uint32_t)pid);
        is_runtime = process ? process->is_runtime
                             : maps_runtime(reader, (uint32_t)pid, version, sizeof version);
        if (!is_runtime && !all) {
            continue;
        }
        process = take(reader, (uint32_t)pid);
        if (process) {
            process->is_runtime = is_runtime;
            process->devices |= held;
            process->nodes |= nodes;
            if (!process->runtime_version[0]) {
                ntk_str_copy(process->runtime_version, sizeof process->runtime_version, version);
            }
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Finds the file that the agent of this hooks folder has open, as /proc shows it. */
static void find_mark(struct reader *reader, const char *hooks_dir)
{
    char folder[NTK_PATH_BYTES];
    char *real;

    if (hooks_dir) {
        ntk_str_copy(folder, sizeof folder, hooks_dir);
    } else if (ntk_paths_writer_hooks_dir(folder, sizeof folder) < 0) {
        return;
    }
    real = realpath(folder, NULL);
    if (real && ntk_paths_checked(snprintf(reader->mark, sizeof reader->mark, "%s/%s", real,
                                           NTK_READER_MARK_NAME),
                                  reader->mark, sizeof reader->mark) < 0) {
        reader->mark[0] = '\0';
    }
    free(real);
}

NTK_ORDER(compare_processes, struct ntk_ls_process, NTK_UP(pid));

int ntk_ls_read_processes(const struct ntk_ls_read_options *options, bool is_software,
                          struct ntk_ls_machine *machine, uint32_t *out_lnc,
                          struct ntk_machine_answer *answer, struct ntk_err *err)
{
    struct reader reader = { .proc_root = options->proc_root ? options->proc_root : "/proc",
                             .sysfs_root = options->sysfs_root     ? options->sysfs_root
                                           : options->driver_sysfs ? options->driver_sysfs
                                                                   : "/sys",
                             .machine = machine };
    int ret = add_segments(&reader, options, out_lnc, answer, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < machine->device_count; i++) {
        reader.all_devices |= UINT64_C(1) << machine->devices[i].info.index;
    }
    if (options->all_processes) {
        struct ntk_ls_process *self = take(&reader, (uint32_t)getpid());

        if (self) {
            self->devices |= reader.all_devices;
        }
        find_mark(&reader, options->hooks_dir);
    }
    if (!is_software || options->all_processes) { /* a software machine has no device nodes */
        add_holders(&reader, options->all_processes);
    }
    if (reader.failed) {
        return ntk_err_no_memory(err);
    }
    ntk_vec_sort(&machine->processes, compare_processes);
    return 0;
}
