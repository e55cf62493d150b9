/* SPDX-License-Identifier: MIT */
/*
 * build - facts about the build of a program, for --version.
 *
 * Each program has its own texts (cmake/ntk_build.cmake). build.c has those of everything else, so
 * that after a new commit programs are linked again and tests are not.
 *
 * Owner: static texts. Threads: any.
 */
#ifndef NTK_SHARED_BASE_BUILD_H
#define NTK_SHARED_BASE_BUILD_H

#ifdef __cplusplus
extern "C" {
#endif

/* twelve digits, with "-modified" if there are changes, or "unknown" */
extern const char ntk_build_commit[];
extern const char ntk_build_options[]; /* words separated by ", " */

#ifdef __cplusplus
}
#endif
#endif
