/* SPDX-License-Identifier: MIT */
/* fault - replaces functions of the C library. */
#undef _FORTIFY_SOURCE /* its inline functions have the names that are defined here */
#include "tests/support/fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define STACK_MAX 10
#define ORIGINS_MAX 8192
#define KEPT_TRIES 8u
#define BAD_MAX 10u /* reports per test */
#define EARLY_BYTES 65536u

static struct {
    atomic_bool is_armed;
    atomic_bool own_allocations_only;
    pthread_mutex_t lock; /* protects everything below */
    unsigned kinds;
    unsigned at;
    bool lasts;
    unsigned calls;
    const char *name; /* name of the call that failed; NULL: none did */
    int error;
    void *stack[STACK_MAX];
    int stack_count;
} fault = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_long allocations; /* allocations that were not freed */
static atomic_long mapped_bytes;
static _Thread_local int pauses;

void fault_pause(void)
{
    pauses++;
}

void fault_resume(void)
{
    pauses--;
}

/* The caller holds the lock. */
static int error_of(const char *name, const int *errors)
{
    unsigned call = fault.calls++;

    if (call == fault.at) {
        unsigned count = 0;

        while (errors[count] != 0) {
            count++;
        }
        fault.name = name;
        fault.error = errors[fault.lasts ? 0 : call % count];
        fault.stack_count = backtrace(fault.stack, STACK_MAX);
        return fault.error;
    }
    /* fcntl() for a lock that is never free would be retried forever, so it fails only once. */
    return call > fault.at && fault.lasts && fault.name && strcmp(fault.name, name) == 0 &&
                   strncmp(name, "fcntl", 5) != 0
               ? fault.error
               : 0;
}

/* Whether this call of `name` fails; then sets errno. errors: the most likely one comes first. */
static bool fails(enum fault_kind kind, const char *name, const int *errors)
{
    int error = 0;

    if (!atomic_load(&fault.is_armed) || pauses > 0) {
        return false;
    }
    pauses++; /* for calls made while holding the lock */
    pthread_mutex_lock(&fault.lock);
    if (atomic_load(&fault.is_armed) && (fault.kinds & kind)) {
        error = error_of(name, errors);
    }
    pthread_mutex_unlock(&fault.lock);
    pauses--;
    if (error) {
        errno = error;
    }
    return error != 0;
}

static void find_next(void **function, const char *name)
{
    if (!*function) {
        *function = dlsym(RTLD_NEXT, name);
        if (!*function) {
            abort();
        }
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

#define PUBLIC __attribute__((visibility("default")))

extern char __executable_start[], etext[]; /* defined by the linker */

/* Whether an allocation for this caller fails. */
static bool is_out(const char *caller)
{
    static const int errors[] = { ENOMEM, 0 };

    return (!fault.own_allocations_only || (caller >= __executable_start && caller < etext)) &&
           fails(FAULT_ALLOCATION, "allocation", errors);
}

#define CALLER ((const char *)__builtin_return_address(0))

/* For dlsym() itself, while malloc() is being looked up. */
static _Alignas(16) char early[EARLY_BYTES];
static atomic_size_t early_used;
static _Thread_local volatile bool is_looking; /* the header of dlsym() declares it as a leaf */

static bool is_early(const void *pointer)
{
    return (const char *)pointer >= early && (const char *)pointer < early + EARLY_BYTES;
}

static void *early_take(size_t bytes)
{
    size_t at = atomic_fetch_add(&early_used, (bytes + 15) / 16 * 16);

    return at + bytes <= EARLY_BYTES ? early + at : NULL;
}

/* Callers of memory that was not returned; only while a single fault is examined. */
static struct origin {
    void *pointer;
    void *stack[STACK_MAX];
    int stack_count;
} origins[ORIGINS_MAX];
static atomic_bool is_traced;
static pthread_mutex_t origins_lock = PTHREAD_MUTEX_INITIALIZER;

/* The slot of a pointer, or a free one for NULL. */
static void origin_put(const void *find, void *pointer)
{
    static _Thread_local volatile bool is_inside;

    if (!atomic_load(&is_traced) || is_inside) {
        return;
    }
    is_inside = true;
    pthread_mutex_lock(&origins_lock);
    for (size_t i = 0; i < ORIGINS_MAX; i++) {
        if (origins[i].pointer == find) {
            origins[i].pointer = pointer;
            origins[i].stack_count = pointer ? backtrace(origins[i].stack, STACK_MAX) : 0;
            break;
        }
    }
    pthread_mutex_unlock(&origins_lock);
    is_inside = false;
}

static void origins_print(void)
{
    for (size_t i = 0; i < ORIGINS_MAX; i++) {
        if (origins[i].pointer) {
            print_error("not freed:\n");
            backtrace_symbols_fd(origins[i].stack, origins[i].stack_count, STDERR_FILENO);
        }
    }
}

static void *counted(void *pointer)
{
    atomic_fetch_add(&allocations, pointer != NULL);
    if (pointer) {
        origin_put(NULL, pointer);
    }
    return pointer;
}

static bool look_up(void **function, const char *name)
{
    if (!*function && !is_looking) {
        is_looking = true;
        find_next(function, name);
        is_looking = false;
    }
    return *function != NULL;
}

static void *(*next_malloc)(size_t bytes);
static void *(*next_calloc)(size_t count, size_t bytes);
static void *(*next_realloc)(void *pointer, size_t bytes);
static int (*next_memalign)(void **out, size_t align, size_t bytes);
static void (*next_free)(void *pointer);

static void *allocate(size_t bytes, const char *caller)
{
    if (!look_up((void **)&next_malloc, "malloc")) {
        return early_take(bytes);
    }
    return is_out(caller) ? NULL : counted(next_malloc(bytes));
}

PUBLIC void *malloc(size_t bytes)
{
    return allocate(bytes, CALLER);
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    if (!look_up((void **)&next_calloc, "calloc")) {
        return early_take(count * bytes); /* it is zero */
    }
    return is_out(CALLER) ? NULL : counted(next_calloc(count, bytes));
}

PUBLIC void *realloc(void *pointer, size_t bytes)
{
    if (is_early(pointer) || !look_up((void **)&next_realloc, "realloc")) {
        abort();
    }
    if (bytes > 0 && is_out(CALLER)) {
        return NULL;
    }
    void *moved = next_realloc(pointer, bytes);

    atomic_fetch_add(&allocations, !pointer && moved);
    atomic_fetch_sub(&allocations, pointer && bytes == 0);
    if (moved || bytes == 0) {
        origin_put(pointer, moved);
    }
    return moved;
}

static int allocate_aligned(void **out, size_t align, size_t bytes, const char *caller)
{
    if (!look_up((void **)&next_memalign, "posix_memalign")) {
        abort();
    }
    int code = is_out(caller) ? ENOMEM : next_memalign(out, align, bytes);

    if (code == 0) {
        (void)counted(*out);
    }
    return code;
}

PUBLIC int posix_memalign(void **out, size_t align, size_t bytes)
{
    return allocate_aligned(out, align, bytes, CALLER);
}

PUBLIC void *aligned_alloc(size_t align, size_t bytes)
{
    void *pointer = NULL;

    errno =
        allocate_aligned(&pointer, align < sizeof(void *) ? sizeof(void *) : align, bytes, CALLER);
    return pointer;
}

PUBLIC void free(void *pointer)
{
    if (pointer && !is_early(pointer) && look_up((void **)&next_free, "free")) {
        atomic_fetch_sub(&allocations, 1);
        origin_put(pointer, NULL);
        next_free(pointer);
    }
}

static char *copy(const char *text, size_t bytes, const char *caller)
{
    char *made = allocate(bytes + 1, caller);

    if (made) {
        memcpy(made, text, bytes);
        made[bytes] = '\0';
    }
    return made;
}

/* A sanitizer's strdup() would not call malloc(). */
PUBLIC char *strdup(const char *text)
{
    return copy(text, strlen(text), CALLER);
}

PUBLIC char *strndup(const char *text, size_t bytes_max)
{
    return copy(text, strnlen(text, bytes_max), CALLER);
}

/* --- files ------------------------------------------------------------------------------------ */

#define CALL(type, name, failure, parameters, arguments, ...)                 \
    PUBLIC type name parameters                                               \
    {                                                                         \
        static const int errors[] = { __VA_ARGS__, 0 };                       \
        static type(*next) parameters;                                        \
        find_next((void **)&next, #name);                                     \
        return fails(FAULT_FILE, #name, errors) ? (failure) : next arguments; \
    }

/* Libraries built for files of any size use names with 64. */
#define CALLS(type, name, failure, parameters, arguments, ...)    \
    CALL(type, name, failure, parameters, arguments, __VA_ARGS__) \
    CALL(type, name##64, failure, parameters, arguments, __VA_ARGS__)

#define CALL_WITH(name, last_type, parameters, last, arguments, ...)   \
    PUBLIC int name parameters                                         \
    {                                                                  \
        static const int errors[] = { __VA_ARGS__, 0 };                \
        static int(*next) parameters;                                  \
        va_list more;                                                  \
        va_start(more, last);                                          \
        last_type argument = va_arg(more, last_type);                  \
        va_end(more);                                                  \
        find_next((void **)&next, #name);                              \
        return fails(FAULT_FILE, #name, errors) ? -1 : next arguments; \
    }

#define OPENS(name)                                                                             \
    CALL_WITH(name, mode_t, (const char *path, int flags, ...), flags, (path, flags, argument), \
              EMFILE, EACCES, ENOSPC, EINTR)
#define OPENATS(name)                                                              \
    CALL_WITH(name, mode_t, (int folder, const char *path, int flags, ...), flags, \
              (folder, path, flags, argument), EMFILE, EACCES, ENOSPC, EINTR)
#define FCNTLS(name)                                                                           \
    CALL_WITH(name, void *, (int fd, int command, ...), command, (fd, command, argument), EIO, \
              EMFILE)

OPENS(open)
OPENS(open64)
OPENATS(openat)
OPENATS(openat64)
FCNTLS(fcntl)
FCNTLS(fcntl64)

CALL(ssize_t, read, -1, (int fd, void *to, size_t count), (fd, to, count), EIO, EINTR)
CALLS(ssize_t, pread, -1, (int fd, void *to, size_t count, off_t at), (fd, to, count, at), EIO,
      EINTR)
CALL(ssize_t, write, -1, (int fd, const void *from, size_t count), (fd, from, count), ENOSPC, EIO,
     EINTR)
CALLS(ssize_t, pwrite, -1, (int fd, const void *from, size_t count, off_t at),
      (fd, from, count, at), ENOSPC, EIO, EINTR)
CALL(ssize_t, writev, -1, (int fd, const struct iovec *from, int count), (fd, from, count), ENOSPC,
     EIO)
CALLS(int, ftruncate, -1, (int fd, off_t size), (fd, size), ENOSPC, EIO)
CALLS(int, fallocate, -1, (int fd, int mode, off_t at, off_t count), (fd, mode, at, count), ENOSPC,
      EOPNOTSUPP)
CALLS(int, posix_fallocate, errno, (int fd, off_t at, off_t count), (fd, at, count), ENOSPC, EINVAL)
CALL(int, fsync, -1, (int fd), (fd), EIO, ENOSPC)
CALL(int, fdatasync, -1, (int fd), (fd), EIO, ENOSPC)
CALL(int, rename, -1, (const char *from, const char *to), (from, to), ENOSPC, EACCES)
CALL(int, renameat, -1, (int a, const char *from, int b, const char *to), (a, from, b, to), ENOSPC,
     EACCES)
CALL(int, link, -1, (const char *from, const char *to), (from, to), EPERM, ENOSPC)
CALL(int, mkdir, -1, (const char *path, mode_t mode), (path, mode), ENOSPC, EACCES)
CALL(int, mkdirat, -1, (int folder, const char *path, mode_t mode), (folder, path, mode), ENOSPC,
     EACCES)
CALL(int, unlink, -1, (const char *path), (path), EACCES, EBUSY)
CALL(int, unlinkat, -1, (int folder, const char *path, int flags), (folder, path, flags), EACCES,
     EBUSY)
CALL(int, fchmod, -1, (int fd, mode_t mode), (fd, mode), EPERM, EROFS)
CALL(int, flock, -1, (int fd, int operation), (fd, operation), ENOLCK, EINTR)
CALL(int, fstat, -1, (int fd, struct stat *out), (fd, out), EIO, ENOMEM)
CALL(int, fstat64, -1, (int fd, struct stat64 *out), (fd, out), EIO, ENOMEM)
CALL(int, stat, -1, (const char *path, struct stat *out), (path, out), EACCES, EIO)
CALL(int, stat64, -1, (const char *path, struct stat64 *out), (path, out), EACCES, EIO)
CALL(int, fstatat, -1, (int folder, const char *path, struct stat *out, int flags),
     (folder, path, out, flags), EACCES, EIO)
CALL(DIR *, opendir, NULL, (const char *path), (path), EMFILE, EACCES)
CALL(DIR *, fdopendir, NULL, (int fd), (fd), ENOMEM, EACCES)
CALL(struct dirent *, readdir, NULL, (DIR * dir), (dir), EIO)
CALL(struct dirent64 *, readdir64, NULL, (DIR * dir), (dir), EIO)
CALL(int, pthread_create, errno,
     (pthread_t * out, const pthread_attr_t *attributes, void *(*start)(void *), void *ctx),
     (out, attributes, start, ctx), EAGAIN)

/* The descriptor is closed for every result of close(). */
PUBLIC int close(int fd)
{
    static const int errors[] = { EIO, EINTR, 0 };
    static int (*next)(int fd);

    find_next((void **)&next, "close");
    int ret = next(fd);

    return ret == 0 && fails(FAULT_FILE, "close", errors) ? -1 : ret;
}

static long pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (long)((bytes + page - 1) / page * page);
}

#define MMAPS(name)                                                                            \
    PUBLIC void *name(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) \
    {                                                                                          \
        static const int errors[] = { ENOMEM, EACCES, 0 };                                     \
        static void *(*next)(void *, size_t, int, int, int, off_t);                            \
        find_next((void **)&next, #name);                                                      \
        if (fails(FAULT_FILE, "mmap", errors)) {                                               \
            return MAP_FAILED;                                                                 \
        }                                                                                      \
        void *mapping = next(at, bytes, protection, flags, fd, offset);                        \
        if (mapping != MAP_FAILED && !(flags & MAP_FIXED)) {                                   \
            atomic_fetch_add(&mapped_bytes, pages(bytes));                                     \
        }                                                                                      \
        return mapping;                                                                        \
    }

MMAPS(mmap)
MMAPS(mmap64)

PUBLIC int munmap(void *at, size_t bytes)
{
    static int (*next)(void *at, size_t bytes);

    find_next((void **)&next, "munmap");
    int ret = next(at, bytes);

    atomic_fetch_sub(&mapped_bytes, ret == 0 ? pages(bytes) : 0);
    return ret;
}

int fault_error(void)
{
    return fault.name ? fault.error : 0;
}

/* Leaks are counted here; a sanitizer would report what the loader keeps. */
PUBLIC const char *__asan_default_options(void);
PUBLIC const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* --- the loop --------------------------------------------------------------------------------- */

struct held {
    long allocations, mapped_bytes, descriptors;
};

static struct held held_now(void)
{
    struct held held = { .descriptors = 0 };
    DIR *list = opendir("/proc/self/fd");

    while (list && readdir(list)) {
        held.descriptors++;
    }
    if (list) {
        closedir(list);
    }
    held.allocations = atomic_load(&allocations);
    held.mapped_bytes = atomic_load(&mapped_bytes);
    return held;
}

/* Mappings held now that were not held before; NULL: none. */
static const char *kept_since(const struct held *before)
{
    const struct held after = held_now();

    return after.allocations > before->allocations     ? "memory was not freed"
           : after.descriptors > before->descriptors   ? "a descriptor is not closed"
           : after.mapped_bytes > before->mapped_bytes ? "a mapping is not removed"
                                                       : NULL;
}

static const char *wrong_with(int ret, const struct ntk_err *err)
{
    if (ret < 0 && (err->text[0] == '\0' || strchr(err->text, '\n'))) {
        return "the error is not a sentence";
    }
    size_t end = strlen(err->text);
    if (ret < 0 && (strstr(err->text, strerror(0)) || err->text[end - 1] == ':' ||
                    (end > 1 && strcmp(err->text + end - 2, ": ") == 0))) {
        return "the sentence names no cause";
    }
    return ret < 0 && err->code != ret ? "the sentence is of another error" : NULL;
}

static bool is_single; /* NTK_FAULTS=N */

struct outcome {
    const char *kept;  /* objects that were not returned */
    const char *wrong; /* any other error */
    int ret;
    struct ntk_err err;
};

/* One run in which call `at` fails. */
static struct outcome run_once(const struct fault_operation *operation, void *ctx, unsigned at,
                               bool lasts)
{
    struct outcome outcome = { .ret = 0 };

    if (operation->before) {
        operation->before(ctx);
    }
    struct held before = held_now();

    pthread_mutex_lock(&fault.lock);
    fault.kinds = operation->kinds;
    /* A sanitizer checks its allocations, in threads that start for that. */
    fault.own_allocations_only = operation->own_allocations_only || test_is_sanitized();
    fault.at = at;
    fault.lasts = lasts;
    fault.calls = 0;
    fault.name = NULL;
    memset(origins, 0, sizeof origins);
    atomic_store(&is_traced, is_single);
    atomic_store(&fault.is_armed, true);
    pthread_mutex_unlock(&fault.lock);
    outcome.ret = operation->run(ctx, &outcome.err);
    pthread_mutex_lock(&fault.lock);
    atomic_store(&fault.is_armed, false);
    pthread_mutex_unlock(&fault.lock);
    atomic_store(&is_traced, false);
    outcome.kept = kept_since(&before);
    outcome.wrong = wrong_with(outcome.ret, &outcome.err);
    if (!outcome.wrong && !fault.name && outcome.ret < 0) {
        outcome.wrong = "it fails without a fault";
    }
    if (!outcome.wrong && operation->after) {
        outcome.wrong = operation->after(ctx, outcome.ret);
    }
    return outcome;
}

/* The same, repeated while something is kept. A leak recurs each time; what a running thread holds,
 * or creates on first use, does not. Returns 1 if it failed. */
static unsigned round_run(const struct fault_operation *operation, void *ctx, unsigned at,
                          bool lasts)
{
    struct outcome outcome = run_once(operation, ctx, at, lasts);

    for (unsigned i = 1; i < KEPT_TRIES && outcome.kept && !outcome.wrong; i++) {
        outcome = run_once(operation, ctx, at, lasts);
    }
    if (!outcome.kept && !outcome.wrong) {
        return 0;
    }
    const char *name = fault.name;

    print_error("call %u (%s%s: %s): returned %d \"%s\": %s\n", at, name ? name : "none",
                lasts ? " and all later ones" : "", name ? strerror(fault.error) : "", outcome.ret,
                outcome.err.text, outcome.wrong ? outcome.wrong : outcome.kept);
    if (name && fault.stack_count > 1) { /* for addr2line */
        backtrace_symbols_fd(fault.stack + 1, fault.stack_count - 1, STDERR_FILENO);
    }
    if (outcome.kept) {
        origins_print();
    }
    return 1;
}

/* What libraries create once and keep is not a leak. */
static void warm_up(const struct fault_operation *operation, void *ctx)
{
    struct ntk_err err = { 0 };

    if (operation->before) {
        operation->before(ctx);
    }
    (void)operation->run(ctx, &err);
}

unsigned fault_everywhere(const struct fault_operation *operation, void *ctx)
{
    const char *wish = getenv("NTK_FAULTS"); /* "all", or the number of a call */
    void *unused[1];
    unsigned bad = 0;
    unsigned first = 0;
    unsigned step = 1;

    (void)backtrace(unused, 1); /* loads what it needs now */
    tzset();
    warm_up(operation, ctx);
    bad += round_run(operation, ctx, UINT_MAX, false);
    unsigned calls = fault.calls;

    if (wish && strcmp(wish, "all") != 0) {
        is_single = true;
        first = (unsigned)strtoul(wish, NULL, 10);
        step = UINT_MAX - first;
    } else if (!wish && operation->rounds_max) {
        step = calls / operation->rounds_max + 1;
    }
    for (unsigned lasts = 0; lasts < 2; lasts++) {
        for (unsigned at = first; bad < BAD_MAX; at += step) {
            bad += round_run(operation, ctx, at, lasts != 0);
            if (!fault.name) {
                break;
            }
        }
    }
    print_message("%u calls\n", calls);
    assert_int_equal(bad, 0);
    return calls;
}
