/* SPDX-License-Identifier: MIT */
/*
 * sample_snapshot - a hand-made period of a small machine, with every field in use.
 */
#ifndef NTK_TESTS_SUPPORT_SAMPLE_SNAPSHOT_H
#define NTK_TESTS_SUPPORT_SAMPLE_SNAPSHOT_H

#include <stdint.h>

struct ntk_snapshot;

/* A software machine like a trn2.3xlarge: 1 device, 4 physical cores (lnc 1 or 2), two runtimes,
 * one working and one that has ended. Free with ntk_snapshot_destroy(). Aborts without memory. */
struct ntk_snapshot *test_sample_snapshot(uint32_t lnc);
/* No devices, no runtimes. */
struct ntk_snapshot *test_idle_snapshot(void);

#endif
