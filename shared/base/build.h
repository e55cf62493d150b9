/* SPDX-License-Identifier: MIT */
/*
 * build - what --version shows of how a program was built.
 *
 * Each program brings its own texts (cmake/ntk_build.cmake). build.c has those of everything else,
 * so that a new commit links programs again and no test.
 *
 * Owner: static texts. Threads: any.
 */
#ifndef NTK_SHARED_BASE_BUILD_H
#define NTK_SHARED_BASE_BUILD_H

#ifdef __cplusplus
extern "C" {
#endif

extern const char ntk_build_commit[];  /* twelve digits, "-modified" after them, or "unknown" */
extern const char ntk_build_options[]; /* words separated by ", " */

#ifdef __cplusplus
}
#endif
#endif
