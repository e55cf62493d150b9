/* SPDX-License-Identifier: MIT */
/*
 * ring_registry_fixture - a scratch folder, registries on it, and children that write segments
 * there.
 *
 * Owner:   registry_setup() / registry_teardown(), for cmocka.
 */
#ifndef NTK_TESTS_SHARED_RING_RING_REGISTRY_FIXTURE_H
#define NTK_TESTS_SHARED_RING_RING_REGISTRY_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/ring/ring_registry.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
};

#define TEST(name) cmocka_unit_test_setup_teardown(name, registry_setup, registry_teardown)

int registry_setup(void **state);
int registry_teardown(void **state);
struct ntk_ring_registry *open_registry(const struct fixture *f, bool reap,
                                        enum ntk_ring_from from);
struct ntk_ring_poll poll_once(struct ntk_ring_registry *registry);
/* Writes the requested number of marks, until it gets 0. */
int child_marks_on_demand(struct observed *child, void *ctx);
void order(struct observed *child, uint64_t marks);
uint64_t drain(struct ntk_ring_registry *registry);
unsigned int segment_files(const struct fixture *f);
void run_short_process(const struct fixture *f, uint64_t marks);
/* Changes 8 bytes of the child's segment, as if the child had written them. */
void poke(const char *path, size_t in_process, uint64_t value);
void write_file(const char *folder, const char *name, size_t bytes, mode_t mode);

#endif
