/* SPDX-License-Identifier: MIT */
/* profile_fixture - small models with an instruction count known from a plain capture. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_LIBNRT_PROFILE_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_LIBNRT_PROFILE_FIXTURE_H

#include "tests/runtime-hooks/libnrt/runtime.h"

#define PATH_BYTES 1024

struct capture_content {
    uint64_t instructions; /* starts */
    size_t subgraph_count;
    size_t graph_count;
    uint64_t duration_ps;
    int64_t first_ps, last_ps; /* since the start of the window */
};

#define PROFILE_TEST(name) cmocka_unit_test_setup_teardown(name, profile_setup, profile_teardown)

void profile_start_runtime(void);
void profile_run(const struct loaded *loaded, int times);
struct capture_content capture_content(const char *path);

/* Records of one execution of a loaded model. */
struct capture_content capture_reference(const struct runtime *runtime,
                                         const struct loaded *loaded);
size_t entries_count(const char *folder, const char *end);
int profile_setup(void **state);
int profile_teardown(void **state);

#endif
