/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_process.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"
#include "shared/base/process.h"
#include "shared/base/str.h"

#define ENVIRON_BYTES (1u << 20)
#define LIBRARY_NAME "libnrt.so"
#define HOOKS_NAME "libneuron-hooks.so"
#define DELETED " (deleted)"
#define DEVICES 64

/* ---- mappings ---- */

static FILE *open_maps(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    return fopen(path, "re");
}

static void add_library(struct ntk_attach_process *process,
                        const struct ntk_process_mapping *mapping)
{
    struct ntk_attach_library *library;

    for (uint32_t i = 0; i < process->library_count; i++) {
        if (process->libraries[i].inode == mapping->inode &&
            process->libraries[i].device == mapping->device) {
            return;
        }
    }
    if (process->library_count == NTK_ATTACH_LIBRARIES) {
        return;
    }
    library = &process->libraries[process->library_count++];
    library->device = mapping->device;
    library->inode = mapping->inode;
    ntk_str_copy(library->path, sizeof library->path, mapping->path);
    (void)snprintf(library->link, sizeof library->link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
                   (int)process->pid, mapping->start, mapping->end);
}

/* Returns true if the file is this process's segment. Its name contains the process's start time,
 * which does not depend on PID namespaces. */
static bool is_own_segment(const struct ntk_attach_process *process,
                           const struct ntk_process_mapping *mapping, const char *name)
{
    unsigned long long start_time;
    unsigned int pid;
    bool is_shared = strlen(mapping->flags) == 4 && mapping->flags[3] == 's';

    return is_shared && mapping->flags[1] == 'w' &&
           ntk_paths_parse_segment_name(name, &pid, &start_time) &&
           start_time == process->start_time;
}

int ntk_attach_process_read_maps(struct ntk_attach_process *process)
{
    FILE *file = open_maps(process->pid);
    struct ntk_process_mapping mapping;
    size_t line_bytes = 0;
    char *line = NULL;

    process->library_count = 0;
    process->has_own_segment = false;
    if (!file) {
        return errno == EACCES || errno == EPERM ? -EACCES : -ESRCH;
    }
    while (getline(&line, &line_bytes, file) > 0) {
        if (!ntk_process_mapping_parse(line, &mapping) || mapping.path[0] != '/') {
            continue;
        }
        char *deleted = strstr(line, DELETED);
        if (deleted && deleted[strlen(DELETED)] == '\0') {
            *deleted = '\0';
        }
        const char *name = ntk_str_base_name(mapping.path);
        if (strncmp(name, LIBRARY_NAME, strlen(LIBRARY_NAME)) == 0) {
            add_library(process, &mapping);
        } else if (strncmp(name, HOOKS_NAME, strlen(HOOKS_NAME)) == 0 ||
                   is_own_segment(process, &mapping, name)) {
            process->has_own_segment = true;
        }
    }
    bool failed = ferror(file);
    free(line);
    fclose(file);
    return failed ? -ESRCH : 0;
}

void ntk_attach_process_file_at(pid_t pid, uint64_t address, char *path, size_t path_bytes)
{
    FILE *file = open_maps(pid);
    struct ntk_process_mapping mapping;
    size_t line_bytes = 0;
    char *line = NULL;

    path[0] = '\0';
    while (file && getline(&line, &line_bytes, file) > 0) {
        if (ntk_process_mapping_parse(line, &mapping) && address >= mapping.start &&
            address < mapping.end) {
            if (mapping.path[0] == '/') {
                ntk_str_copy(path, path_bytes, mapping.path);
            }
            break;
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
}

/* ---- identity ---- */

static ssize_t read_file_of(pid_t pid, const char *name, char *buf, size_t buf_bytes)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return ntk_fs_read_text(path, buf, buf_bytes);
}

uint64_t ntk_attach_process_start_time(pid_t pid)
{
    char text[NTK_STAT_BYTES];

    return read_file_of(pid, "stat", text, sizeof text) > 0 ? ntk_process_stat_start_time(text) : 0;
}

#define STAT_STACK 28 /* field number, see proc(5) */

uint64_t ntk_attach_process_stack(pid_t pid)
{
    char text[4096];
    const char *at = read_file_of(pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;

    for (int field = 2; at && field < STAT_STACK; field++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Returns true if this is the first PID namespace, which has a fixed number in the kernel. */
static bool is_first_pid_namespace(void)
{
    char text[64];
    ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text - 1);

    text[bytes > 0 ? bytes : 0] = '\0';
    return strcmp(text, "pid:[4026531836]") == 0;
}

bool ntk_attach_process_has_thread(pid_t pid, uint32_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%" PRIu32, (int)pid, tid);
    return access(path, F_OK) == 0 || !is_first_pid_namespace();
}

static uint32_t real_uid(pid_t pid)
{
    char text[4096];
    const char *at =
        read_file_of(pid, "status", text, sizeof text) > 0 ? strstr(text, "\nUid:") : NULL;

    return at ? (uint32_t)strtoul(at + strlen("\nUid:"), NULL, 10) : 0;
}

/* ---- which cores ---- */

/* Finds the machine's row in the catalogue, by the firmware's name. */
static void find_machine(struct ntk_attach_process *process)
{
    static const struct {
        const char *name;
        uint32_t device_count;
        const char *family;
    } machines[] = {
#define NTK_MACHINE(name, family, devices, ...) { name, devices, #family },
#include "shared/abi/machine.def"
    };
    static const struct {
        const char *family;
        uint32_t cores;
        uint32_t lnc;
    } families[] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, cores_per_stack, lnc, ...) \
    { #symbol, cores, lnc },
#include "shared/abi/machine.def"
    };
    char name[NTK_VERSION_TEXT_BYTES];

    process->lnc = 1;
    if (ntk_fs_read_text("/sys/devices/virtual/dmi/id/product_name", name, sizeof name) <= 0) {
        return;
    }
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        for (size_t k = 0;
             strcmp(machines[i].name, name) == 0 && k < sizeof families / sizeof *families; k++) {
            if (strcmp(families[k].family, machines[i].family) == 0) {
                ntk_str_copy(process->instance_type, sizeof process->instance_type, name);
                process->device_count = machines[i].device_count;
                process->cores_per_device = families[k].cores;
                process->lnc = families[k].lnc;
            }
        }
    }
}

static void add_core(struct ntk_attach_process *process, unsigned long core)
{
    if (core < NTK_SEGMENT_CORES / process->lnc && process->core_count < NTK_ATTACH_CORES) {
        process->cores[process->core_count++] = (uint16_t)core;
    }
}

/* The devices that the process has open, as bits. */
static uint64_t open_devices(pid_t pid)
{
    char path[64];
    uint64_t devices = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        char target[64];
        unsigned int number;
        int used = 0;
        ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);

        target[bytes > 0 ? bytes : 0] = '\0';
        if (sscanf(target, "/dev/neuron%u%n", &number, &used) == 1 && target[used] == '\0' &&
            number < DEVICES) {
            devices |= UINT64_C(1) << number;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return devices;
}

/* If the cores are unknown, guesses those of the devices that it has open, or else all cores from 0
 * on. */
static void guess_cores(struct ntk_attach_process *process)
{
    uint64_t devices = open_devices(process->pid);
    uint32_t per_device = process->cores_per_device / process->lnc;

    process->cores_guessed = true;
    for (uint32_t device = 0; per_device != 0 && device < DEVICES; device++) {
        for (uint32_t core = 0; (devices >> device & 1) != 0 && core < per_device; core++) {
            add_core(process, (unsigned long)device * per_device + core);
        }
    }
    for (unsigned long core = 0; devices == 0 && core < NTK_SEGMENT_CORES; core++) {
        add_core(process, core);
    }
}

/* The value of NAME in a process's environment, or NULL. */
static const char *variable(const char *text, size_t bytes, const char *name)
{
    size_t length = strlen(name);

    for (size_t at = 0; at < bytes; at += strlen(text + at) + 1) {
        if (strncmp(text + at, name, length) == 0 && text[at + length] == '=') {
            return text + at + length + 1;
        }
    }
    return NULL;
}

static void read_environment(struct ntk_attach_process *process)
{
    static const char *const lnc_names[] = { "NEURON_LOGICAL_NC_CONFIG",
                                             "NEURON_RT_VIRTUAL_CORE_SIZE" };
    uint32_t listed[NTK_ATTACH_CORES];
    size_t listed_count = NTK_ATTACH_CORES;
    char *text = malloc(ENVIRON_BYTES);
    const char *value;
    size_t bytes = 0;

    if (text) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)process->pid);
        FILE *file = fopen(path, "re");
        if (file) {
            bytes = fread(text, 1, ENVIRON_BYTES - 1, file);
            fclose(file);
        }
        text[bytes] = '\0';
    }
    for (size_t i = 0; i < sizeof lnc_names / sizeof *lnc_names; i++) {
        value = variable(text, bytes, lnc_names[i]);
        if (value && (strcmp(value, "1") == 0 || strcmp(value, "2") == 0)) {
            process->lnc = value[0] == '2' ? 2 : 1;
        }
    }
    value = variable(text, bytes, "NEURON_RT_VISIBLE_CORES");
    if (value && ntk_str_parse_list(value, NTK_SEGMENT_CORES - 1, listed, &listed_count) == 0) {
        for (size_t i = 0; i < listed_count; i++) {
            add_core(process, listed[i]);
        }
    }
    value = variable(text, bytes, "NEURON_PROCESS_TAG");
    if (value) {
        ntk_str_copy(process->tag, sizeof process->tag, value);
    }
    value = variable(text, bytes, "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    process->is_async = value && strtoul(value, NULL, 10) > 0;
    value = variable(text, bytes, "NEURON_HOOKS");
    if (value && strcmp(value, "0") == 0) {
        process->has_own_segment = false; /* the hooks in the process are off */
    }
    free(text);
}

int ntk_attach_process_read(struct ntk_attach_process *process)
{
    pid_t pid = process->pid;
    int ret;

    memset(process, 0, sizeof *process);
    process->pid = pid;
    process->start_time = ntk_attach_process_start_time(pid);
    if (process->start_time == 0) {
        return -ESRCH;
    }
    ret = ntk_attach_process_read_maps(process);
    if (ret < 0) {
        return ret;
    }
    process->stack = ntk_attach_process_stack(pid);
    process->uid = real_uid(pid);
    (void)read_file_of(pid, "comm", process->command, sizeof process->command);
    find_machine(process);
    read_environment(process);
    if (process->core_count == 0) {
        guess_cores(process);
    }
    /* Ensures that all data is about the same process, not about two with the same pid. */
    return ntk_attach_process_start_time(pid) == process->start_time ? 0 : -ESRCH;
}
