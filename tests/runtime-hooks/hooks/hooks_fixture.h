/* SPDX-License-Identifier: MIT */
/*
 * hooks_fixture - a folder with a registry that reads it, and functions for observed children.
 *
 * observed_*() run in the child (observed_start()), which exits with 99 if a CHECK fails;
 * everything else runs in the test.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_HOOKS_HOOKS_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_HOOKS_HOOKS_FIXTURE_H

#include <stdio.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/observed.h"

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            (void)fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition); \
            _exit(99);                                                                          \
        }                                                                                       \
    } while (0)

struct hooks_fixture {
    char *folder;
    struct ntk_ring_registry *registry;
};

/* Records received by a reader. */
struct seen {
    uint64_t by_kind[NTK_EVENT_KIND_COUNT];
    uint64_t all;
    uint64_t bad;
    struct ntk_slot last[NTK_EVENT_KIND_COUNT];
};

#define HOOKS_TEST(name) \
    cmocka_unit_test_setup_teardown(name, hooks_fixture_setup, hooks_fixture_teardown)

int hooks_fixture_setup(void **state);
int hooks_fixture_teardown(void **state);
/* The only segment, after a poll. */
struct ntk_ring_segment *hooks_fixture_segment(struct hooks_fixture *f);
unsigned int hooks_fixture_files(const char *folder);

/* For ntk_ring_segment_drain(): adds a batch to ctx, a struct seen. */
void seen_add(const struct ntk_ring_segment *segment, const struct ntk_slot *slots, size_t count,
              void *ctx);
uint64_t sum(const uint64_t *values, size_t count);

void observed_attach(uint32_t flags);
struct ntk_hooks_model_ref observed_load(uint32_t id, uint16_t core);
void observed_execute(struct ntk_hooks_model_ref model, uint16_t core, uint32_t status,
                      uint64_t id);
/* Writes MARKS marks of a thread; if ctx is a barrier, one more mark and a wait come first. All of
 * them fit into one ring, even if one thread after another takes it. */
#define MARKS 25
void *observed_marks(void *ctx);
/* A complete child, for observed_start(). */
int observed_closes_everything(struct observed *child, void *ctx);

#endif
