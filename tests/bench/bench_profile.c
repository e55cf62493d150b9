/* SPDX-License-Identifier: MIT */
/*
 * What recording costs: a small model (an adder, some tens of microseconds) and a large one (the
 * mlp example) without recording, with the system trace, with continuous profiling, and with a
 * session. Also the bytes per event in the files.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "shared/base/fs.h"
#include "shared/formats/ntff/ntff.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/bench/rounds.h"
#include "tests/support/models.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 9
#define SMALL_EXECUTIONS ROUNDS_SIZE(400, 10)
#define LARGE_EXECUTIONS ROUNDS_SIZE(5, 1)
#define PATH_BYTES 1024

/* Limits: the cost of a record does not grow with the work of a model, so a large model hardly
 * notices it. */
#define SYSTEM_TARGET_SMALL 1.25
#define DEVICE_TARGET_SMALL 1.5
#define TARGET_LARGE 1.05

enum way {
    WAY_OFF,
    WAY_SYSTEM,
    WAY_CONTINUOUS,
    WAY_SESSION,
    WAYS,
};

struct model {
    nrt_model_t *model;
    nrt_tensor_set_t *inputs, *outputs;
    int executions; /* in a round */
};

struct subject {
    const struct model *model;
    enum way way;
};

static char *folder;

static void load(struct model *model, const uint8_t *neff, size_t bytes, int executions)
{
    nrt_tensor_info_array_t *info = NULL;

    model->executions = executions;
    rounds_require(nrt_load(neff, bytes, 0, -1, &model->model) == NRT_SUCCESS, "nrt_load");
    rounds_require(nrt_get_model_tensor_info(model->model, &info) == NRT_SUCCESS, "tensor info");
    rounds_require(nrt_allocate_tensor_set(&model->inputs) == NRT_SUCCESS &&
                       nrt_allocate_tensor_set(&model->outputs) == NRT_SUCCESS,
                   "tensor set");
    for (uint64_t i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];
        nrt_tensor_t *made = NULL;

        rounds_require(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor->size,
                                           tensor->name, &made) == NRT_SUCCESS &&
                           nrt_add_tensor_to_tensor_set(tensor->usage == NRT_TENSOR_USAGE_INPUT
                                                            ? model->inputs
                                                            : model->outputs,
                                                        tensor->name, made) == NRT_SUCCESS,
                       "tensor");
    }
    nrt_free_model_tensor_info(info);
}

static void run(const struct model *model)
{
    for (int i = 0; i < model->executions; i++) {
        rounds_require(nrt_execute(model->model, model->inputs, model->outputs) == NRT_SUCCESS,
                       "nrt_execute");
    }
}

static void way_begin(enum way way)
{
    nrt_inspect_config_t *config = NULL;

    switch (way) {
    case WAY_SYSTEM:
        rounds_require(nrt_inspect_config_allocate(&config) == NRT_SUCCESS &&
                           nrt_inspect_config_set_output_dir(config, folder) == NRT_SUCCESS &&
                           nrt_inspect_config_set_activity(config, "all", false) == NRT_SUCCESS &&
                           nrt_inspect_config_set_activity(config, "system_profile", true) ==
                               NRT_SUCCESS &&
                           nrt_inspect_begin_with_options(config) == NRT_SUCCESS,
                       "inspection");
        nrt_inspect_config_free(config);
        break;
    case WAY_CONTINUOUS:
        rounds_require(nrt_profile_continuous_start(NULL) == NRT_SUCCESS, "continuous");
        break;
    case WAY_SESSION:
        rounds_require(nrt_profile_session_start(0) == NRT_SUCCESS, "session");
        break;
    case WAY_OFF:
    case WAYS:
        break;
    }
}

static void way_end(enum way way, const char *session_path)
{
    uint64_t id = 0;

    switch (way) {
    case WAY_SYSTEM:
        rounds_require(nrt_inspect_stop() == NRT_SUCCESS, "inspection");
        break;
    case WAY_CONTINUOUS:
        rounds_require(nrt_profile_continuous_stop() == NRT_SUCCESS, "continuous");
        break;
    case WAY_SESSION:
        rounds_require(nrt_profile_session_stop(0, &id) == NRT_SUCCESS, "session");
        rounds_require(!session_path ||
                           nrt_profile_session_serialize(id, session_path) == NRT_SUCCESS,
                       "session file");
        nrt_profile_session_drop(id);
        break;
    case WAY_OFF:
    case WAYS:
        break;
    }
}

/* ns per execution, without starting, writing and ending the recording. */
static double measure(void *ctx)
{
    const struct subject *subject = ctx;

    run(subject->model); /* the caches still hold another model's data */
    way_begin(subject->way);
    uint64_t start = rounds_cpu_ns();
    run(subject->model);
    uint64_t end = rounds_cpu_ns();
    way_end(subject->way, NULL);
    return (double)(end - start) / subject->model->executions;
}

static double file_bytes(const char *path)
{
    struct stat status;

    rounds_require(stat(path, &status) == 0, path);
    return (double)status.st_size;
}

static void session_size(const struct model *model, const char *name)
{
    char path[PATH_BYTES];
    char title[128];
    struct ntk_ntff *ntff = NULL;
    double records = 0.0;

    (void)snprintf(path, sizeof path, "%s/%s.ntff", folder, name);
    way_begin(WAY_SESSION);
    run(model);
    way_end(WAY_SESSION, path);
    rounds_require(ntk_ntff_open(path, &ntff, NULL) == 0, path);
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            records += (double)ntff->subgraphs[g].sections[s].record_count;
        }
    }
    ntk_ntff_close(ntff);
    (void)snprintf(title, sizeof title, "capture, %s model, records of an execution", name);
    rounds_print_value(title, records / model->executions, "records", 0.0, 0);
    (void)snprintf(title, sizeof title, "capture, %s model, a record with all around it", name);
    rounds_print_value(title, file_bytes(path) / records, "bytes", 0.0, 0);
}

/* The one entry of a folder. */
static void entry_find(const char *in, char *to)
{
    DIR *dir = opendir(in);

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(to, PATH_BYTES, "%s/%s", in, entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static void trace_size(const struct model *model)
{
    NtkNtracePb__Trace *trace = NULL;
    char instance[PATH_BYTES], session[PATH_BYTES] = "", path[2 * PATH_BYTES];
    double events = 0.0;
    char *outer = folder;

    folder = test_scratch_create();
    way_begin(WAY_SYSTEM);
    run(model);
    way_end(WAY_SYSTEM, NULL);
    rounds_require(nrt_inspect_get_instance_output_dir(folder, instance, sizeof instance) ==
                       NRT_SUCCESS,
                   "folder");
    entry_find(instance, session);
    (void)snprintf(path, sizeof path, "%s/ntrace.pb", session);
    rounds_require(ntk_ntrace_read(path, &trace, NULL) == 0, path);
    for (size_t c = 0; c < trace->n_cores; c++) {
        events += (double)trace->cores[c]->n_tracking_id;
    }
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    rounds_print_value("system trace, events of an execution", events / model->executions, "events",
                       0.0, 0);
    rounds_print_value("system trace, an event in the file", file_bytes(path) / events, "bytes",
                       40.0, 0);
    test_scratch_destroy(folder);
    folder = outer;
}

static uint8_t *mlp_make(size_t *out_bytes)
{
    const char *bin = getenv("NTK_BIN_DIR");
    char path[PATH_BYTES];
    char command[3 * PATH_BYTES];
    uint8_t *neff = NULL;

    (void)snprintf(path, sizeof path, "%s/mlp.neff", folder);
    (void)snprintf(command, sizeof command, "'%s/neuron-packager' example mlp -o '%s' >/dev/null",
                   bin ? bin : ".", path);
    rounds_require(system(command) == 0, "neuron-packager");
    rounds_require(ntk_fs_read(path, 1 << 24, &neff, out_bytes, NULL) == 0, path);
    return neff;
}

int main(int argc, char **argv)
{
    static const char *const way_names[WAYS] = { "nothing", "system trace", "continuous profiling",
                                                 "session" };
    static const double targets[2][WAYS] = {
        { 0.0, SYSTEM_TARGET_SMALL, DEVICE_TARGET_SMALL, DEVICE_TARGET_SMALL },
        { 0.0, TARGET_LARGE, TARGET_LARGE, TARGET_LARGE },
    };
    struct model models[2];
    struct subject contexts[2 * WAYS];
    struct rounds_subject subjects[2 * WAYS] = { 0 };
    char names[2 * WAYS][64];
    size_t bytes = 0;

    rounds_options(argc, argv);
    folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("TMPDIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "trn1.2xlarge", 1);
    setenv("NEURON_RT_NUM_CORES", "1", 1);
    rounds_require(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    uint8_t *neff = test_model_adder(&(struct test_model_options){ 0 }, &bytes);
    load(&models[0], neff, bytes, SMALL_EXECUTIONS);
    free(neff);
    neff = mlp_make(&bytes);
    load(&models[1], neff, bytes, LARGE_EXECUTIONS);
    free(neff);
    for (int m = 0; m < 2; m++) {
        for (int way = 0; way < WAYS; way++) {
            int i = m * WAYS + way;

            (void)snprintf(names[i], sizeof names[i], "%s model, %s", m == 0 ? "small" : "large",
                           way_names[way]);
            contexts[i] = (struct subject){ &models[m], (enum way)way };
            subjects[i] = (struct rounds_subject){ .name = names[i],
                                                   .measure = measure,
                                                   .ctx = &contexts[i] };
        }
    }
    rounds_run(subjects, 2 * WAYS, ROUND_COUNT);
    for (int i = 0; i < 2 * WAYS; i++) {
        rounds_print(&subjects[i], "ns");
    }
    for (int i = 0; i < 2 * WAYS; i++) {
        int nothing = i / WAYS * WAYS;

        if (i != nothing) {
            rounds_print_ratio(names[i], &subjects[i], &subjects[nothing],
                               targets[i / WAYS][i % WAYS]);
        }
    }
    session_size(&models[0], "small");
    session_size(&models[1], "large");
    trace_size(&models[0]);
    nrt_close();
    test_scratch_destroy(folder);
    return rounds_result();
}
