/* SPDX-License-Identifier: MIT */
/*
 * old_libc - lets a library that was built with a new C library load on old ones.
 *
 * Since 2.32 the GNU C library exports some calls with a newer version, and a library with a
 * reference to that version does not load with an older release. The linker replaces those calls
 * with the functions below (--wrap, in CMakeLists.txt), which refer to the oldest version.
 * tests/install checks the versions.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define OLDEST_AT "GLIBC_2.4"    /* version of calls with "at" in the name */
#define OLDEST_NAME "GLIBC_2.12" /* version of pthread_setname_np() */
#define OLDEST_SCANF "GLIBC_2.7"
#define STAT_VERSION 1
#else
#define OLDEST "GLIBC_2.17" /* the first version for AArch64 */
#define OLDEST_AT OLDEST
#define OLDEST_NAME OLDEST
#define OLDEST_SCANF OLDEST
#define STAT_VERSION 0
#endif

/* Defines the replacement of a call for the linker, and the old version as old_NAME. */
#define OLD(returns, name, parameters, arguments, version) \
    returns old_##name parameters;                         \
    returns __wrap_##name parameters;                      \
    __asm__(".symver old_" #name ", " #name "@" version);  \
    returns __wrap_##name parameters                       \
    {                                                      \
        return old_##name arguments;                       \
    }

OLD(int, dladdr, (const void *address, Dl_info *info), (address, info), OLDEST)
OLD(char *, dlerror, (void), (), OLDEST)
OLD(void *, dlopen, (const char *file, int mode), (file, mode), OLDEST)
OLD(void *, dlsym, (void *handle, const char *name), (handle, name), OLDEST)
OLD(void *, dlvsym, (void *handle, const char *name, const char *version), (handle, name, version),
    OLDEST)
OLD(int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *ctx),
    (thread, attributes, start, ctx), OLDEST)
OLD(int, pthread_join, (pthread_t thread, void **result), (thread, result), OLDEST)
OLD(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy), OLDEST)
OLD(int, pthread_key_delete, (pthread_key_t key), (key), OLDEST)
OLD(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value), OLDEST)
OLD(int, pthread_setname_np, (pthread_t thread, const char *name), (thread, name), OLDEST_NAME)
OLD(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old), OLDEST)

/* These calls had a version argument before glibc 2.33. */
#define OLD_STAT(name, old_name, parameters, arguments, old_parameters, version) \
    int old_##name old_parameters;                                               \
    int __wrap_##name parameters;                                                \
    __asm__(".symver old_" #name ", " #old_name "@" version);                    \
    int __wrap_##name parameters                                                 \
    {                                                                            \
        return old_##name arguments;                                             \
    }

OLD_STAT(stat, __xstat, (const char *path, struct stat *out), (STAT_VERSION, path, out),
         (int version, const char *path, struct stat *out), OLDEST)
OLD_STAT(lstat, __lxstat, (const char *path, struct stat *out), (STAT_VERSION, path, out),
         (int version, const char *path, struct stat *out), OLDEST)
OLD_STAT(fstat, __fxstat, (int fd, struct stat *out), (STAT_VERSION, fd, out),
         (int version, int fd, struct stat *out), OLDEST)
OLD_STAT(fstatat, __fxstatat, (int fd, const char *path, struct stat *out, int flags),
         (STAT_VERSION, fd, path, out, flags),
         (int version, int fd, const char *path, struct stat *out, int flags), OLDEST_AT)

/* The headers give these calls other names since glibc 2.38. */
#define OLD_NUMBER(returns, name)                                           \
    returns old_##name(const char *text, char **end, int base);             \
    returns __wrap___isoc23_##name(const char *text, char **end, int base); \
    __asm__(".symver old_" #name ", " #name "@" OLDEST);                    \
    returns __wrap___isoc23_##name(const char *text, char **end, int base)  \
    {                                                                       \
        return old_##name(text, end, base);                                 \
    }

OLD_NUMBER(long, strtol)
OLD_NUMBER(unsigned long, strtoul)
OLD_NUMBER(unsigned long long, strtoull)

int old_vsscanf(const char *text, const char *format, va_list values);
int __wrap___isoc23_sscanf(const char *text, const char *format, ...);
__asm__(".symver old_vsscanf, __isoc99_vsscanf@" OLDEST_SCANF);
int __wrap___isoc23_sscanf(const char *text, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    int count = old_vsscanf(text, format, values);
    va_end(values);
    return count;
}
