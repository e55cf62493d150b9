/* SPDX-License-Identifier: MIT */
/*
 * early - reads the runtime's file before the constructors of the process run.
 *
 * Another library may replace functions of the C library, such as a sanitizer or a file tracer, and
 * is neither relocated nor ready then. Therefore this library has its own functions; the macros
 * replace the names of <string.h> and <unistd.h> in files that include this header last.
 * shared/formats/elf is compiled a second time with this header.
 *
 * Threads: any; the process has one thread before interpose_started is set.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EARLY_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EARLY_H

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set by the constructor of this library: the C library can be used from then on. */
extern uint32_t interpose_started;
static inline bool early_is_over(void)
{
    return __atomic_load_n(&interpose_started, __ATOMIC_ACQUIRE) != 0;
}

/* Returns a variable of the environment; NULL in setuid programs. */
const char *early_getenv(const char *name);

static inline long early_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;

#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    result = x0;
#else
    return syscall(number, a, b, c, d, e, f);
#endif
    if (result < 0 && result >= -4095) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static inline int early_open(const char *path, int flags)
{
    return (int)early_call(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
}

static inline int early_close(int fd)
{
    return (int)early_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline int early_fstat(int fd, struct stat *status)
{
    return (int)early_call(SYS_fstat, fd, (long)status, 0, 0, 0, 0);
}

static inline ssize_t early_pread(int fd, void *bytes, size_t count, off_t offset)
{
    return early_call(SYS_pread64, fd, (long)bytes, (long)count, offset, 0, 0);
}

static inline ssize_t early_readlink(const char *path, char *to, size_t bytes)
{
    return early_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, (long)bytes, 0, 0);
}

static inline void *early_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
    return (void *)early_call(SYS_mmap, (long)at, (long)bytes, access, flags, fd, offset);
}

static inline int early_munmap(void *at, size_t bytes)
{
    return (int)early_call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

static inline int early_mprotect(void *at, size_t bytes, int access)
{
    return (int)early_call(SYS_mprotect, (long)at, (long)bytes, access, 0, 0, 0);
}

/* Used in loops: prevents the compiler from replacing the loop with a library call. */
#define EARLY_LOOP __asm__ volatile("" ::: "memory")

static inline int early_memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    size_t i = 0;

    while (i < bytes && x[i] == y[i]) {
        EARLY_LOOP;
        i++;
    }
    return i < bytes ? x[i] - y[i] : 0;
}

static inline void *early_memcpy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        EARLY_LOOP;
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    }
    return to;
}

static inline size_t early_strlen(const char *text)
{
    size_t bytes = 0;

    while (text[bytes] != '\0') {
        EARLY_LOOP;
        bytes++;
    }
    return bytes;
}

static inline int early_strcmp(const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] != '\0' && a[i] == b[i]) {
        EARLY_LOOP;
        i++;
    }
    return (uint8_t)a[i] - (uint8_t)b[i];
}

static inline char *early_strrchr(const char *text, char c)
{
    const char *last = NULL;

    for (; *text != '\0'; text++) {
        EARLY_LOOP;
        last = *text == c ? text : last;
    }
    return (char *)last;
}

/* Returns the number of bytes before the first byte in the set. */
static inline size_t early_strcspn(const char *text, const char *set)
{
    size_t bytes = 0;

    for (; text[bytes] != '\0'; bytes++) {
        for (const char *one = set; *one != '\0'; one++) {
            EARLY_LOOP;
            if (text[bytes] == *one) {
                return bytes;
            }
        }
    }
    return bytes;
}

#define close(fd) early_close(fd)
#define fstat(fd, status) early_fstat(fd, status)
#define memcmp(a, b, bytes) early_memcmp(a, b, bytes)
#define memcpy(to, from, bytes) early_memcpy(to, from, bytes)
#define mmap(at, bytes, access, flags, fd, offset) early_mmap(at, bytes, access, flags, fd, offset)
#define mprotect(at, bytes, access) early_mprotect(at, bytes, access)
#define munmap(at, bytes) early_munmap(at, bytes)
#define open(path, flags) early_open(path, flags)
#define pread(fd, bytes, count, offset) early_pread(fd, bytes, count, offset)
#define readlink(path, to, bytes) early_readlink(path, to, bytes)
#define strcmp(a, b) early_strcmp(a, b)
#define strcspn(text, set) early_strcspn(text, set)
#define strlen(text) early_strlen(text)
#define strrchr(text, c) early_strrchr(text, c)

#endif
