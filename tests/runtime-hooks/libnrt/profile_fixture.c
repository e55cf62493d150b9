/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/libnrt/profile_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/support/unit.h"

void profile_start_runtime(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

void profile_run(const struct loaded *loaded, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
    }
}

struct capture_content capture_content(const char *path)
{
    struct capture_content content = { .first_ps = INT64_MAX };
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    if (ntk_ntff_open(path, &ntff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ntff->warning_count, 0);
    assert_true(ntff->has_window);
    content.duration_ps = ntff->window_end_ps - ntff->window_start_ps;
    content.subgraph_count = ntff->subgraph_count;
    content.graph_count = ntff->program_uuid_count;
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            const struct ntk_ntff_section *section = &ntff->subgraphs[g].sections[s];

            for (uint64_t i = 0; i < section->record_count; i++) {
                struct ntk_ntff_record record;

                ntk_ntff_record_get(&ntff->subgraphs[g], section, i, &record);
                content.instructions += record.kind == NTK_NTFF_RECORD_INSTRUCTION_START;
                int64_t since_ps = record.time_ps - (int64_t)ntff->window_start_ps;
                content.first_ps = since_ps < content.first_ps ? since_ps : content.first_ps;
                content.last_ps = since_ps > content.last_ps ? since_ps : content.last_ps;
            }
        }
    }
    ntk_ntff_close(ntff);
    return content;
}

struct capture_content capture_reference(const struct runtime *runtime, const struct loaded *loaded)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/reference.ntff", runtime->folder);
    assert_int_equal(nrt_profile_start(loaded->model, path), NRT_SUCCESS);
    profile_run(loaded, 1);
    assert_int_equal(nrt_profile_stop(path), NRT_SUCCESS);
    struct capture_content content = capture_content(path);
    assert_true(content.instructions > 0);
    return content;
}

size_t entries_count(const char *folder, const char *end)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);

        count += entry->d_name[0] != '.' && length >= strlen(end) &&
                 strcmp(entry->d_name + length - strlen(end), end) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

int profile_setup(void **state)
{
    static const char *const unset[] = {
        "NEURON_RT_INSPECT_ENABLE",
        "NEURON_RT_INSPECT_OUTPUT_DIR",
        "NEURON_RT_INSPECT_DEVICE_PROFILE",
        "NEURON_RT_INSPECT_ON_FAIL",
        "NEURON_RT_INSPECT_EVENT_FILTER_TYPE",
        "NEURON_RT_PROFILE_BUF_DMA_MB",
        "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    };

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    int ret = runtime_setup(state);
    setenv("TMPDIR", ((struct runtime *)*state)->folder, 1);
    return ret;
}

int profile_teardown(void **state)
{
    unsetenv("TMPDIR");
    return runtime_teardown(state);
}
