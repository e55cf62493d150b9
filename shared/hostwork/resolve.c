/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/resolve.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/child.h"
#include "shared/base/cursor.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/map.h"
#include "shared/base/str.h"
#include "shared/hostwork/kernel_symbols.h"

#define CPU_SECONDS 60
#define WALL_MS 120000
#define MEMORY_BYTES (UINT64_C(2) << 30)
#define ANSWER_BYTES_MAX (UINT64_C(512) << 20)
#define NAME_BYTES_MAX 400u
#define ADDRESSES_MAX 128u
#define NOBODY 65534
#ifndef SYS_close_range /* missing in headers before Linux 5.9 */
#define SYS_close_range 436
#endif

/* ---- in the child ---- */

struct resolver {
    const struct ntk_vec *processes;
    struct ntk_host_unwinder **unwinders; /* one per process */
    struct ntk_map *names;                /* one per process: from address to name */
    struct ntk_map build_ids;             /* maps a module to build id */
    const struct ntk_kernel_symbols *kernel;
    struct ntk_buf *out;
};

static const struct ntk_host_modules *modules_of(const struct resolver *resolver, uint32_t pid,
                                                 size_t *out_index)
{
    for (size_t i = 0; i < resolver->processes->count; i++) {
        const struct ntk_host_modules *modules = ntk_vec_at(resolver->processes, i);
        if (modules->pid == pid) {
            *out_index = i;
            return modules;
        }
    }
    return NULL;
}

static void put_text(struct ntk_buf *out, const char *text)
{
    size_t length = strnlen(text, NAME_BYTES_MAX);

    ntk_buf_put_u16(out, (uint16_t)length);
    ntk_buf_add(out, text, length);
}

static void put_frame(struct ntk_buf *out, enum ntk_host_language language, const char *name,
                      const char *module)
{
    ntk_buf_put_u8(out, (uint8_t)language);
    put_text(out, name);
    put_text(out, module);
}

/* Converts CPython's form "py::function:/path/of/file.py". */
static bool put_python(struct ntk_buf *out, const char *symbol)
{
    static const char prefix[] = "py::";
    char name[NAME_BYTES_MAX];

    if (!ntk_str_starts_with(symbol, prefix)) {
        return false;
    }
    ntk_str_copy(name, sizeof name, symbol + sizeof prefix - 1);
    char *colon = strchr(name, ':');
    if (colon) {
        *colon = '\0';
    }
    put_frame(out, NTK_HOST_PYTHON, name, colon ? ntk_str_base_name(colon + 1) : "");
    return true;
}

static const char *symbol_of(struct resolver *resolver, size_t process, uint64_t address)
{
    const char *name = ntk_map_get_number(&resolver->names[process], address);
    struct ntk_host_unwinder *unwinder = resolver->unwinders ? resolver->unwinders[process] : NULL;

    if (!name && unwinder) {
        name = ntk_host_unwinder_symbol(unwinder, address);
        (void)ntk_map_put_number(&resolver->names[process], address, (void *)(name ? name : ""));
    }
    return name && name[0] ? name : NULL;
}

static void note_build_id(struct resolver *resolver, size_t process,
                          const struct ntk_host_module *module, uint64_t address)
{
    struct ntk_host_unwinder *unwinder = resolver->unwinders ? resolver->unwinders[process] : NULL;
    char text[NTK_HOST_BUILD_ID_BYTES];

    if (!unwinder || !module || ntk_map_get(&resolver->build_ids, module->name) ||
        resolver->build_ids.count >= NTK_HOST_MODULES_MAX) {
        return;
    }
    char *copy = strdup(ntk_host_unwinder_build_id(unwinder, address, text) ? text : "");
    if (!copy || ntk_map_put(&resolver->build_ids, module->name, copy) < 0) {
        free(copy);
    }
}

static void put_build_ids(struct resolver *resolver)
{
    ntk_buf_put_u16(resolver->out, (uint16_t)resolver->build_ids.count);
    ntk_map_each(entry, &resolver->build_ids) {
        put_text(resolver->out, entry->key);
        put_text(resolver->out, entry->value);
        free(entry->value);
    }
    ntk_map_fini(&resolver->build_ids);
}

static void put_user(struct resolver *resolver, const struct ntk_host_modules *modules,
                     size_t process, uint64_t address)
{
    const struct ntk_host_module *module = ntk_host_modules_at(modules, address);
    const char *map_symbol = module ? NULL : ntk_host_modules_symbol(modules, address);
    const char *symbol = module ? symbol_of(resolver, process, address) : map_symbol;
    char text[NTK_HOST_MODULE_NAME_BYTES + 32];

    note_build_id(resolver, process, module, address);
    if (map_symbol && put_python(resolver->out, map_symbol)) {
        return;
    }
    if (!symbol) {
        (void)snprintf(text, sizeof text, "%s+0x%" PRIx64, module ? module->name : "[unknown]",
                       module ? address - module->load : address);
        symbol = text;
    }
    put_frame(resolver->out, NTK_HOST_NATIVE, symbol, module ? module->name : "");
}

/* Gets the unwinder's frames, or those found by frame pointer if the unwinder finds fewer. */
static size_t addresses_of(struct resolver *resolver, size_t process,
                           const struct ntk_host_raw_stack *stack,
                           uint64_t addresses[ADDRESSES_MAX])
{
    struct ntk_host_unwinder *unwinder = resolver->unwinders ? resolver->unwinders[process] : NULL;
    size_t count =
        unwinder ? ntk_host_unwinder_unwind(unwinder, stack, addresses, ADDRESSES_MAX) : 0;
    const uint64_t *user = stack->words + stack->kernel_count;

    if (count > 1 || count >= stack->user_count) {
        return count;
    }
    for (count = 0; count < stack->user_count && count < ADDRESSES_MAX; count++) {
        addresses[count] = count == 0 || user[count] == 0 ? user[count] : user[count] - 1;
    }
    return count;
}

static void put_stack(struct resolver *resolver, const struct ntk_host_raw_stack *stack)
{
    uint64_t addresses[ADDRESSES_MAX];
    size_t process = 0;
    const struct ntk_host_modules *modules = modules_of(resolver, stack->pid, &process);
    size_t count = modules ? addresses_of(resolver, process, stack, addresses) : 0;
    uint32_t kernel = resolver->kernel ? stack->kernel_count : 0;
    bool is_in_fault = false;

    for (uint32_t i = 0; i < kernel; i++) {
        is_in_fault = is_in_fault || ntk_kernel_symbols_is_fault(resolver->kernel, stack->words[i]);
    }
    ntk_buf_put_u8(resolver->out, is_in_fault);
    ntk_buf_put_u16(resolver->out, (uint16_t)(count + kernel));
    while (count-- > 0) {
        put_user(resolver, modules, process, addresses[count]);
    }
    while (kernel-- > 0) {
        const char *name = ntk_kernel_symbols_at(resolver->kernel, stack->words[kernel]);
        put_frame(resolver->out, NTK_HOST_KERNEL, name ? name : "[kernel]", "[kernel]");
    }
}

/* Drops capabilities, which even a user other than root may have for observing. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &head, none) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

void ntk_host_resolve_write(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                            bool is_unwound, struct ntk_buf *out)
{
    struct ntk_kernel_symbols *kernel = is_unwound ? ntk_kernel_symbols_read() : NULL;
    struct resolver resolver = { .processes = processes, .kernel = kernel, .out = out };

    /* All files are open, so root's rights are not needed from here on. */
    if (is_unwound && geteuid() == 0 &&
        (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
         setresuid(NOBODY, NOBODY, NOBODY) < 0)) {
        ntk_kernel_symbols_destroy(kernel);
        out->failed = true;
        return;
    }
    if (is_unwound && !drop_capabilities()) {
        ntk_kernel_symbols_destroy(kernel);
        out->failed = true;
        return;
    }
    resolver.names = calloc(processes->count + 1, sizeof *resolver.names);
    resolver.unwinders =
        is_unwound ? calloc(processes->count + 1, sizeof(struct ntk_host_unwinder *)) : NULL;
    out->failed = out->failed || !resolver.names || (is_unwound && !resolver.unwinders);
    for (size_t i = 0; resolver.unwinders && i < processes->count; i++) {
        resolver.unwinders[i] = ntk_host_unwinder_create(ntk_vec_at(processes, i));
    }
    ntk_vec_each(struct ntk_host_raw_stack *const, stack, &raw->stacks) {
        if (ntk_buf_ok(out)) {
            put_stack(&resolver, *stack);
        }
    }
    put_build_ids(&resolver);
    for (size_t i = 0; i < processes->count; i++) {
        if (resolver.unwinders) {
            ntk_host_unwinder_destroy(resolver.unwinders[i]);
        }
        if (resolver.names) {
            ntk_map_fini(&resolver.names[i]);
        }
    }
    free(resolver.unwinders);
    free(resolver.names);
    ntk_kernel_symbols_destroy(kernel);
}

/* ---- output of the child ---- */

/* Reads a NUL-ended text; false if the bytes end before the NUL. */
static bool take_text(struct ntk_cursor *cursor, char text[NAME_BYTES_MAX + 1])
{
    uint16_t length = ntk_cursor_u16(cursor);
    const void *bytes = length <= NAME_BYTES_MAX ? ntk_cursor_take(cursor, length) : NULL;

    if (!bytes) {
        return false;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    return true;
}

static bool read_build_ids(struct ntk_cursor *cursor, struct ntk_host_stacks *stacks)
{
    uint16_t count = ntk_cursor_u16(cursor);
    char module[NAME_BYTES_MAX + 1];
    char text[NAME_BYTES_MAX + 1];

    for (uint16_t i = 0; i < count; i++) {
        if (!take_text(cursor, module) || !take_text(cursor, text)) {
            return false;
        }
        struct ntk_host_build_id build_id = { ntk_host_stacks_text(stacks, module),
                                              ntk_host_stacks_text(stacks, text) };
        if (text[0] != '\0' && stacks->build_ids.count < NTK_HOST_MODULES_MAX) {
            (void)ntk_vec_push(&stacks->build_ids, &build_id);
        }
    }
    return !cursor->failed;
}

bool ntk_host_resolve_read(const uint8_t *bytes, size_t count, size_t stack_count,
                           struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks)
{
    char name[NAME_BYTES_MAX + 1];
    char module[NAME_BYTES_MAX + 1];
    struct ntk_cursor cursor;

    ntk_cursor_init(&cursor, bytes, count);
    for (size_t i = 0; i < stack_count; i++) {
        bool is_in_fault = ntk_cursor_u8(&cursor) == 1;
        uint16_t frames = ntk_cursor_u16(&cursor);

        for (uint16_t k = 0; k < frames; k++) {
            uint8_t language = ntk_cursor_u8(&cursor);
            if (!take_text(&cursor, name) || !take_text(&cursor, module) ||
                language > NTK_HOST_PYTHON) {
                return false;
            }
            if (k < NTK_HOST_DEPTH_MAX) {
                out_stacks[i].stack = ntk_host_stacks_push(
                    stacks, out_stacks[i].stack, name, module, 0, (enum ntk_host_language)language);
            }
        }
        out_stacks[i].is_in_fault = is_in_fault;
    }
    return read_build_ids(&cursor, stacks);
}

/* ---- the child ---- */

static void limit(int resource, uint64_t most)
{
    struct rlimit rlimit = { most, most };

    (void)setrlimit((__rlimit_resource_t)resource, &rlimit);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Memory that the child shares with its parent. */
static uint64_t mapped_bytes(void)
{
    char text[128];

    return ntk_fs_read_text("/proc/self/statm", text, sizeof text) > 0
               ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE)
               : 0;
}
#endif

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes the descriptors in [first, last]. */
static void close_between(int first, int last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0) {
        return;
    }
    for (int fd = first; fd <= last && fd < sysconf(_SC_OPEN_MAX); fd++) {
        close(fd);
    }
}

void ntk_host_resolve_close(const struct ntk_vec *processes, int answer, int alive)
{
    struct ntk_vec kept = NTK_VEC_INIT(int);
    int first = 0;

    (void)ntk_vec_push(&kept, &answer);
    (void)ntk_vec_push(&kept, &alive);
    ntk_vec_each(const struct ntk_host_modules, modules, processes) {
        ntk_vec_each(const struct ntk_host_module, module, &modules->modules) {
            if (module->fd >= 0) {
                (void)ntk_vec_push(&kept, &module->fd);
            }
        }
    }
    ntk_vec_sort(&kept, compare_numbers);
    ntk_vec_each(const int, fd, &kept) {
        close_between(first, *fd - 1);
        first = *fd + 1;
    }
    close_between(first, INT_MAX);
    ntk_vec_fini(&kept);
}

static void resolve_in_child(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                             int answer, int alive)
{
    struct ntk_buf out = { 0 };

    ntk_host_resolve_close(processes, answer, alive);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    limit(RLIMIT_AS, mapped_bytes() + MEMORY_BYTES);
#endif
    ntk_host_resolve_write(raw, processes, true, &out);
    _exit(ntk_buf_ok(&out) && ntk_fs_pwrite(answer, out.bytes, out.bytes_count, 0) == 0 ? 0 : 1);
}

/* Returns true if the child succeeded in time. */
static bool await(pid_t child, int alive)
{
    struct pollfd ready = { .fd = alive, .events = POLLIN };
    int status;

    while (poll(&ready, 1, WALL_MS) < 0 && errno == EINTR) {
    }
    (void)kill(child, SIGKILL); /* it has ended, is late, or still runs without an output */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_answer(int answer, size_t stack_count, struct ntk_host_stacks *stacks,
                        struct ntk_host_resolved *out_stacks)
{
    struct stat status;
    bool is_whole = false;

    if (fstat(answer, &status) < 0 || status.st_size <= 0 ||
        (uint64_t)status.st_size > ANSWER_BYTES_MAX) {
        return false;
    }
    uint8_t *bytes = malloc((size_t)status.st_size);
    if (bytes && ntk_fs_pread(answer, bytes, (size_t)status.st_size, 0) == 0) {
        is_whole =
            ntk_host_resolve_read(bytes, (size_t)status.st_size, stack_count, stacks, out_stacks);
    }
    free(bytes);
    return is_whole;
}

static bool resolve_by_child(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                             struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks)
{
    int answer = memfd_create("neuron-stacks", MFD_CLOEXEC);
    int alive[2] = { -1, -1 };
    bool is_good = false;

    if (answer >= 0 && pipe(alive) == 0) {
        (void)fflush(NULL);
        pid_t child = ntk_child_fork(SIGKILL);
        if (child == 0) {
            resolve_in_child(raw, processes, answer, alive[1]);
        }
        close(alive[1]);
        is_good = child > 0 && await(child, alive[0]) &&
                  read_answer(answer, raw->stacks.count, stacks, out_stacks);
        close(alive[0]);
    }
    if (answer >= 0) {
        close(answer);
    }
    return is_good;
}

int ntk_host_resolve(const struct ntk_host_raw *raw, const struct ntk_vec *processes,
                     struct ntk_host_stacks *stacks, struct ntk_host_resolved *out_stacks)
{
    struct ntk_buf plain = { 0 };
    int ret = 0;

    memset(out_stacks, 0, raw->stacks.count * sizeof *out_stacks);
    if (raw->stacks.count == 0 || resolve_by_child(raw, processes, stacks, out_stacks)) {
        return 0;
    }
    ntk_log_warn("hostwork", "cannot unwind the recorded stacks; showing addresses instead");
    memset(out_stacks, 0, raw->stacks.count * sizeof *out_stacks);
    ntk_host_resolve_write(raw, processes, false, &plain);
    if (!ntk_buf_ok(&plain)) {
        ret = -ENOMEM;
    } else {
        (void)ntk_host_resolve_read((const uint8_t *)plain.bytes, plain.bytes_count,
                                    raw->stacks.count, stacks, out_stacks);
    }
    ntk_buf_fini(&plain);
    return ret;
}
