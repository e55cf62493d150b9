/* SPDX-License-Identifier: MIT */
/*
 * kernel_clones - NTK_KERNEL_CLONES, placed before a function with row loops: if compiler and
 * loader support it, the function is also compiled for AVX2, and the better version is chosen when
 * the library is loaded.
 *
 * Results are bit-identical in both versions: no fused multiply-add is used
 * (cmake/ntk_flags.cmake), and no loop is reordered if the order of operations matters. Sanitizer
 * builds use the plain function, because sanitizers are not ready when the loader chooses.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_CLONES_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_CLONES_H

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NTK_KERNEL_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define NTK_KERNEL_CLONES
#endif

#endif
