/* SPDX-License-Identifier: MIT */
/* neuron-packager example: writes one of the examples to a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/kernels/examples.h"
#include "profiler/packager/packager.h"
#include "shared/base/opt.h"
#include "shared/base/suggest.h"
#include "shared/metrics/snapshot.h"

#define COLUMNS 128    /* columns of a tensor engine */
#define COLUMNS_MIN 64 /* columns of the smallest tensor engine */

static const char *output;
static uint64_t size;
static uint64_t repeat;
static uint64_t lnc;
static const char *dtype;
static const char *target;
static bool list;

static const struct ntk_opt options[] = {
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output, "write the NEFF to FILE" },
    { 's', "size", "N", NTK_OPT_U64, &size, "set the size; --list shows its unit",
      .is_above_zero = true },
    { 'r', "repeat", "N", NTK_OPT_U64, &repeat, "repeat the work N times per execution",
      .is_above_zero = true },
    { 0, "dtype", "TYPE", NTK_OPT_TEXT, &dtype,
      "use elements of TYPE, float32 or bfloat16 (default)", "float32 bfloat16" },
    { 0, "target", "NAME", NTK_OPT_TEXT, &target,
      "build for a generation: sunda, cayman, mariana, or * for as many machines as possible; "
      "--list shows all names (default: a generation that the machine named by "
      "NEURON_SOFT_INSTANCE can run)" },
    { 0, "lnc", "N", NTK_OPT_U64, &lnc,
      "set the number of physical cores per logical core: 1 or 2 (default: as on the machine named "
      "by NEURON_SOFT_INSTANCE, or 1)",
      .is_above_zero = true },
    { 'l', "list", 0, NTK_OPT_FLAG, &list, "list the examples and exit" },
    NTK_OPT_COMMON,
    { 0 },
};

static const char *example_name(size_t index)
{
    const struct ntk_example *example = ntk_example_at(index);

    return example ? example->name : NULL;
}

static const struct ntk_opt_program program = {
    .name = "neuron-packager example",
    .operand_get = example_name,
    .usage = "NAME -o FILE [OPTION]...\n--list",
    .summary = "Writes an example NEFF that runs on software NeuronCores.",
    .options = options,
};

static void print_list(void)
{
    for (size_t i = 0; ntk_example_at(i); i++) {
        const struct ntk_example *example = ntk_example_at(i);

        printf("%-14s %s\n", example->name, example->summary);
        if (example->size_meaning) {
            printf("%-14s   --size: %s (default %llu)\n", "", example->size_meaning,
                   (unsigned long long)example->size_default);
        }
    }
}

/* Returns the machine that will load the file; NULL if unknown. */
static const struct ntk_machine *machine_find(void)
{
    const char *instance = getenv("NEURON_SOFT_INSTANCE");

    return instance ? ntk_machine_find(instance) : NULL;
}

static const char *const machines[] = {
#define NTK_MACHINE(instance_type, ...) instance_type,
#include "shared/abi/machine.def"
};
#define MACHINES (sizeof machines / sizeof *machines)

/* Returns the reason why it does not run on a machine; NULL if it does. */
static const char *misfit_get(const struct ntk_example *example,
                              const struct ntk_example_options *built,
                              const struct ntk_machine *machine)
{
    bool is_first = strcmp(machine->core_arch, "NCv1") == 0;
    uint64_t cores = built->size ? built->size : example->size_default;

    if (example->nodes > 0 && cores > 1 && !is_first) {
        return "one NeuronCore per node";
    }
    if (built->lnc != machine->lnc_default) {
        return machine->lnc_default > 1 ? "logical cores with 2 physical cores; use --lnc 2"
                                        : "logical cores with 1 physical core";
    }
    if (example->nodes > 0 &&
        cores + example->nodes - 1 > machine->device_count * machine->cores_per_device) {
        return "too few NeuronCores";
    }
    return built->columns > machine->tensor_columns ? "a tensor engine with 64 columns" : NULL;
}

/* Prints a line for each reason. */
static void misfits_tell(const struct ntk_example *example, const struct ntk_example_options *built)
{
    bool is_reported[MACHINES] = { false };

    for (size_t i = 0; i < MACHINES; i++) {
        const char *reason = misfit_get(example, built, ntk_machine_find(machines[i]));

        if (!reason || is_reported[i]) {
            continue;
        }
        fprintf(stderr, "neuron-packager: %s does not run on ", output);
        for (size_t k = i; k < MACHINES; k++) {
            const char *other = misfit_get(example, built, ntk_machine_find(machines[k]));

            if (other && strcmp(other, reason) == 0) {
                fprintf(stderr, "%s%s", k > i ? ", " : "", machines[k]);
                is_reported[k] = true;
            }
        }
        fprintf(stderr, " (%s)\n", reason);
    }
}

int packager_example(int argc, char **argv)
{
    struct ntk_example_options wanted = { 0 };
    const struct ntk_example *example;
    struct ntk_neff_build *build = NULL;
    struct ntk_err err = { 0 };
    const struct ntk_machine *machine = machine_find();
    int first = ntk_opt_parse(&program, argc, argv);
    int ret;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (list) {
        print_list();
        return 0;
    }
    if (argc == first) {
        return ntk_opt_usage_error(&program, "missing argument NAME: --list shows the examples");
    }
    if (argc - first != 1) {
        return ntk_opt_argument_error(&program, NULL, argv[first + 1]);
    }
    example = ntk_example_find(argv[first]);
    if (!example) {
        struct ntk_suggest near = ntk_suggest_begin(argv[first]);
        for (size_t i = 0; ntk_example_at(i); i++) {
            ntk_suggest_add(&near, ntk_example_at(i)->name);
        }
        return ntk_opt_usage_error(&program, "unknown example '%s'%s: --list shows the examples",
                                   argv[first], ntk_suggest_text(&near));
    }
    if (!output) {
        return ntk_opt_usage_error(&program, "no output: use --output FILE");
    }
    if (dtype) {
        wanted.dtype = ntk_dtype_find(dtype);
        if (wanted.dtype == NTK_DTYPE_NONE) {
            return ntk_opt_usage_error(&program, "unknown dtype '%s'", dtype);
        }
    }
    wanted.size = size;
    wanted.repeat = repeat;
    wanted.lnc = lnc > UINT32_MAX ? UINT32_MAX : lnc > 0 ? (uint32_t)lnc : ntk_machine_lnc(machine);
    wanted.columns = machine ? machine->tensor_columns : 0;
    if (target && strcmp(target, "*") == 0) {
        wanted.columns = example->is_wide ? COLUMNS : COLUMNS_MIN;
    }
    wanted.target = target;
    ret = ntk_example_build(example, &wanted, &build, &err);
    if (ret < 0) {
        return ret == -EINVAL ? ntk_opt_usage_error(&program, "%s", err.text) : packager_fail(&err);
    }
    ret = ntk_neff_build_write(build, output, &err);
    ntk_neff_build_destroy(build);
    if (ret == 0 && target && strcmp(target, "*") == 0) {
        misfits_tell(example, &wanted);
    }
    return ret < 0 ? packager_fail(&err) : 0;
}
