/* SPDX-License-Identifier: MIT */
/*
 * build - facts about the build of a program, for --version.
 *
 * Each program has separate texts (cmake/ntk_build.cmake); all other targets use build.c. So a new
 * commit relinks the programs but not the tests.
 *
 * Owner: static texts. Threads: any.
 */
#ifndef NTK_SHARED_BASE_BUILD_H
#define NTK_SHARED_BASE_BUILD_H

#ifdef __cplusplus
extern "C" {
#endif

/* Twelve digits, with "-modified" if there are uncommitted changes, or "unknown". */
extern const char ntk_build_commit[];
extern const char ntk_build_options[]; /* words separated by ", " */

#ifdef __cplusplus
}
#endif
#endif
