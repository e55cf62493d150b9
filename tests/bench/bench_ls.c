/* SPDX-License-Identifier: MIT */
/*
 * What an answer of neuron-ls costs on a machine of sixteen devices and 128 cores, as a program and
 * as a call, compared with a loop that opens, reads and closes the files with its facts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/rounds.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "top/ls/read.h"

#define DEVICES 16
#define CALLS ROUNDS_SIZE(20, 1) /* per round */

struct bench {
    char *folder;
    char *root;
    char hooks[512];
    const char *environment[3];
};

static void read_file(const char *root, const char *name)
{
    char path[1024];
    char text[1024];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    rounds_require(fd >= 0 && read(fd, text, sizeof text) >= 0, path);
    close(fd);
}

static double measure_files(void *ctx)
{
    static const char *const of_device[] = { "core_count",
                                             "connected_devices",
                                             "info/serial_number",
                                             "info/architecture/arch_type",
                                             "info/architecture/instance_type",
                                             "info/architecture/device_name",
                                             "neuron_core0/info/architecture/arch_type" };
    static const char *const of_pci[] = { "vendor", "device", "local_cpulist", "numa_node" };
    static const char *const of_class[] = { "ultraserver_mode" };
    const struct bench *bench = ctx;
    uint64_t begin = rounds_now_ns();
    char name[256];

    for (int call = 0; call < CALLS; call++) {
        for (int d = 0; d < DEVICES; d++) {
            for (size_t i = 0; i < sizeof of_device / sizeof *of_device; i++) {
                (void)snprintf(name, sizeof name, "devices/virtual/neuron_device/neuron%d/%s", d,
                               of_device[i]);
                read_file(bench->root, name);
            }
            for (size_t i = 0; i < sizeof of_pci / sizeof *of_pci; i++) {
                (void)snprintf(name, sizeof name, "bus/pci/devices/0000:%02x:%02x.0/%s",
                               (unsigned)(16 + 16 * (d / 4)), (unsigned)(28 + d % 4), of_pci[i]);
                read_file(bench->root, name);
            }
        }
        (void)snprintf(name, sizeof name, "class/neuron_device/%s", of_class[0]);
        read_file(bench->root, name);
        read_file(bench->root, "module/neuron/version");
    }
    return (double)(rounds_now_ns() - begin) / CALLS;
}

static double measure_call(void *ctx)
{
    const struct bench *bench = ctx;
    const struct ntk_ls_read_options options = { .hooks_dir = bench->folder };
    uint64_t begin = rounds_now_ns();

    for (int call = 0; call < CALLS; call++) {
        struct ntk_ls_machine machine = { 0 };
        struct ntk_err err = { 0 };

        rounds_require(ntk_ls_read(&options, &machine, &err) == 0, err.text);
        rounds_require(machine.device_count == DEVICES, "devices are missing");
        ntk_ls_machine_fini(&machine);
    }
    return (double)(rounds_now_ns() - begin) / CALLS;
}

static double measure_program(void *ctx)
{
    static const char *const argv[] = { "neuron-ls", NULL };
    const struct bench *bench = ctx;
    uint64_t begin = rounds_now_ns();

    for (int call = 0; call < CALLS; call++) {
        struct test_run run = test_run_program(argv, bench->environment);

        rounds_require(run.exit_code == 0, run.err);
        test_run_fini(&run);
    }
    return (double)(rounds_now_ns() - begin) / CALLS;
}

int main(int argc, char **argv)
{
    static const char *const machine[] = { "neuron-bench", "machine", NULL };
    struct bench bench = { 0 };
    struct rounds_subject subjects[] = {
        { .name = "loop over the files", .measure = measure_files, .ctx = &bench },
        { .name = "ntk_ls_read", .measure = measure_call, .ctx = &bench },
        { .name = "neuron-ls", .measure = measure_program, .ctx = &bench },
    };
    struct test_run run;

    rounds_options(argc, argv);
    test_scratch_in_memory();
    bench.folder = test_scratch_create();
    bench.root = test_scratch_path(bench.folder, "soft/sys");
    (void)snprintf(bench.hooks, sizeof bench.hooks, "NEURON_HOOKS_DIR=%s", bench.folder);
    bench.environment[0] = bench.hooks;
    bench.environment[1] = "NEURON_SOFT_INSTANCE=trn2.48xlarge";
    run = test_run_program(machine, bench.environment);
    rounds_require(run.exit_code == 0, run.err);
    test_run_fini(&run);

    rounds_run(subjects, 3, 11);
    for (int i = 0; i < 3; i++) {
        rounds_print(&subjects[i], "ns per answer");
    }
    rounds_print_ratio("ntk_ls_read / loop over the files", &subjects[1], &subjects[0], 0);
    rounds_print_ratio("neuron-ls / loop over the files", &subjects[2], &subjects[0], 0);
    rounds_print_value("neuron-ls, start to end", rounds_median(&subjects[2]) / 1e6, "ms", 20, 0);
    test_scratch_destroy(bench.folder);
    free(bench.root);
    return rounds_result();
}
