/* SPDX-License-Identifier: MIT */
/*
 * Method: this program copies its own registers and stack, as the kernel's program would, inside
 * functions with known names.
 */
#include "shared/hostwork/resolve.h"

#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/hostwork/kernel_symbols.h"
#include "shared/hostwork/process.h"
#include "tests/support/unit.h"

#define NOINLINE __attribute__((noinline))

static struct ntk_host_bpf_stack copied;

#if defined(__x86_64__)
static void take_registers(const ucontext_t *context)
{
    static const int from[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP,
                                REG_RBX, REG_R11, REG_R10, REG_R9,  REG_R8,
                                REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI };

    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        copied.registers[i] = (uint64_t)context->uc_mcontext.gregs[from[i]];
    }
    copied.registers[16] = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    copied.registers[19] = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}
#define STACK_POINTER 19
#elif defined(__aarch64__)
static void take_registers(const ucontext_t *context)
{
    memcpy(copied.registers, context->uc_mcontext.regs, 31 * sizeof(uint64_t));
    copied.registers[31] = context->uc_mcontext.sp;
    copied.registers[32] = context->uc_mcontext.pc;
}
#define STACK_POINTER 31
#endif

NOINLINE int innermost_of_three(void);
NOINLINE int middle_of_three(void);
NOINLINE int outermost_of_three(void);

int innermost_of_three(void)
{
    ucontext_t context;

    if (getcontext(&context) != 0) {
        return -1;
    }
    take_registers(&context);
    copied.bytes_count = NTK_HOST_BPF_STACK;
    memcpy(copied.bytes, (const void *)(uintptr_t)copied.registers[STACK_POINTER],
           NTK_HOST_BPF_STACK / 2);
    copied.bytes_count = NTK_HOST_BPF_STACK / 2;
    return 1;
}

int middle_of_three(void)
{
    return innermost_of_three() + 1;
}

int outermost_of_three(void)
{
    return middle_of_three() + 1;
}

struct fixture {
    struct ntk_host_raw raw;
    struct ntk_vec processes;
    struct ntk_host_files files;
    struct ntk_host_records records;
    struct ntk_host_resolved resolved;
};

static int begin(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof f);
    ntk_vec_init(&f.processes, sizeof(struct ntk_host_modules));
    ntk_host_modules_read(ntk_vec_add(&f.processes), (uint32_t)getpid(), &f.files, NULL);
    ntk_host_records_init(&f.records);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;

    ntk_host_modules_fini(ntk_vec_at(&f->processes, 0));
    ntk_vec_fini(&f->processes);
    ntk_host_files_fini(&f->files);
    ntk_host_raw_fini(&f->raw);
    ntk_host_records_fini(&f->records);
    return 0;
}

/* The frames, innermost first, separated by blanks. */
static void names_of(const struct fixture *f, char *out, size_t out_bytes)
{
    out[0] = '\0';
    for (const struct ntk_host_frame *frame =
             ntk_host_stacks_at(&f->records.stacks, f->resolved.stack);
         frame; frame = ntk_host_stacks_at(&f->records.stacks, frame->parent)) {
        size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "%s ", frame->name);
    }
}

static void a_call_stack_without_frame_pointers_is_unwound(void **state)
{
#ifndef NTK_HAS_DW
    skip();
#endif
    struct fixture *f = *state;
    char names[4096];

    if (test_is_sanitized()) {
        skip();
    }
    assert_int_equal(outermost_of_three(), 3);
    assert_int_equal(ntk_host_raw_add(&f->raw, (uint32_t)getpid(), &copied), 1);
    assert_int_equal(ntk_host_resolve(&f->raw, &f->processes, &f->records.stacks, &f->resolved), 0);
    names_of(f, names, sizeof names);
    assert_non_null(strstr(names, "innermost_of_three middle_of_three outermost_of_three "));
    assert_true(f->records.stacks.build_ids.count > 0);
    const struct ntk_host_build_id *build_id = ntk_vec_at(&f->records.stacks.build_ids, 0);
    assert_true(strlen(build_id->build_id) >= 16);
}

static void addresses_without_a_symbol_show_module_and_offset(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf out = { 0 };
    char names[4096];

    memset(&copied, 0, sizeof copied);
    copied.user[0] = (uint64_t)(uintptr_t)&outermost_of_three;
    copied.user[1] = 0x10;
    copied.user_count = 2;
    assert_int_equal(ntk_host_raw_add(&f->raw, (uint32_t)getpid(), &copied), 1);
    ntk_host_resolve_write(&f->raw, &f->processes, false, &out);
    assert_true(ntk_host_resolve_read((const uint8_t *)out.bytes, out.bytes_count, 1,
                                      &f->records.stacks, &f->resolved));
    names_of(f, names, sizeof names);
    assert_non_null(strstr(names, "tests_shared_hostwork_test_resolve+0x"));
    assert_non_null(strstr(names, "[unknown]+0xf"));
    ntk_buf_fini(&out);
}

static void a_truncated_resolver_response_is_rejected(void **state)
{
    static const uint8_t lies[] = { 0, 0xff, 0xff, 0, 4, 0, 'm', 'a' };
    struct fixture *f = *state;

    assert_false(ntk_host_resolve_read(lies, sizeof lies, 1, &f->records.stacks, &f->resolved));
    assert_false(ntk_host_resolve_read(lies, 0, 1, &f->records.stacks, &f->resolved));
}

static void functions_in_jit_code_are_named_by_a_perf_map_file(void **state)
{
    struct ntk_host_modules modules = { 0 };

    ntk_host_modules_take_map(&modules,
                              strdup("2000 10 py::load:/job/loader.py\n1000 20 first\nnonsense\n"
                                     "3000 ffffffffffffffff wraps\n"));
    assert_string_equal(ntk_host_modules_symbol(&modules, 0x1000), "first");
    assert_string_equal(ntk_host_modules_symbol(&modules, 0x200f), "py::load:/job/loader.py");
    assert_null(ntk_host_modules_symbol(&modules, 0x2010));
    assert_null(ntk_host_modules_symbol(&modules, 0x3001));
    ntk_host_modules_fini(&modules);
}

static void kernel_functions_are_found_by_address(void **state)
{
    struct ntk_kernel_symbols *symbols = ntk_kernel_symbols_take(
        "ffffffff81000000 T first\nffffffff81000100 t exc_page_fault\n0 A hidden\n");

    assert_non_null(symbols);
    assert_string_equal(ntk_kernel_symbols_at(symbols, 0xffffffff81000010u), "first");
    assert_true(ntk_kernel_symbols_is_fault(symbols, 0xffffffff81000110u));
    assert_false(ntk_kernel_symbols_is_fault(symbols, 0xffffffff81000010u));
    ntk_kernel_symbols_destroy(symbols);
    assert_null(ntk_kernel_symbols_take("0000000000000000 T hidden\n"));
}

static void a_process_may_trace_itself_and_list_its_own_threads(void **state)
{
    struct fixture *f = *state;
    uint32_t pids[8];

    assert_true(ntk_host_process_may_trace((uint32_t)getpid()));
    assert_false(ntk_host_process_may_trace(0x7ffffff0));
    assert_int_equal(ntk_host_process_tree((uint32_t)getpid(), pids, 8), 1);
    assert_int_equal(pids[0], getpid());
    ntk_host_process_threads((uint32_t)getpid(), 5, 9, &f->records);
    const struct ntk_host_thread *thread = ntk_host_records_thread(&f->records, (uint32_t)getpid());
    assert_non_null(thread);
    assert_int_equal(thread->first_ns, 5);
    assert_int_equal(thread->last_ns, 9);
    assert_int_equal(ntk_host_process_inner_tid((uint32_t)getpid(), (uint32_t)getpid()), getpid());
}

static bool is_of_module(const struct ntk_host_modules *modules, int fd)
{
    ntk_vec_each(const struct ntk_host_module, module, &modules->modules) {
        if (module->fd == fd) {
            return true;
        }
    }
    return false;
}

static void the_resolver_child_keeps_only_module_and_pipe_descriptors(void **state)
{
    struct fixture *f = *state;
    const struct ntk_host_modules *modules = ntk_vec_at(&f->processes, 0);
    int ends[2];
    int status;

    assert_int_equal(pipe(ends), 0);
    int other = dup(ends[0]);
    pid_t child = fork();
    if (child == 0) {
        ntk_host_resolve_close(&f->processes, ends[0], ends[1]);
        for (int fd = 0; fd < 512; fd++) {
            bool is_kept = fd == ends[0] || fd == ends[1] || is_of_module(modules, fd);
            if (is_kept != (fcntl(fd, F_GETFD) >= 0)) {
                _exit(1);
            }
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ends[0]);
    close(ends[1]);
    close(other);
}

static void files_mapped_by_several_processes_are_opened_once(void **state)
{
    struct fixture *f = *state;
    struct ntk_host_modules again = { 0 };
    size_t count = f->files.fds.count;

    ntk_host_modules_read(&again, (uint32_t)getpid(), &f->files, NULL);
    assert_true(count > 0);
    assert_int_equal(f->files.fds.count, count);
    const struct ntk_host_module *code = ntk_host_modules_at(&again, (uint64_t)(uintptr_t)&begin);
    assert_non_null(code);
    assert_true(code->fd >= 0);
    assert_true(is_of_module(ntk_vec_at(&f->processes, 0), code->fd));
    ntk_host_modules_fini(&again);
}

static bool is_no_file(const char *name)
{
    (void)name;
    return false;
}

static void module_files_excluded_by_the_filter_stay_closed(void **state)
{
    struct ntk_host_modules modules = { 0 };
    struct ntk_host_files files = { 0 };

    (void)state;
    ntk_host_modules_read(&modules, (uint32_t)getpid(), &files, is_no_file);
    assert_true(modules.modules.count > 0);
    assert_int_equal(files.fds.count, 0);
    ntk_host_modules_fini(&modules);
    ntk_host_files_fini(&files);
}

static void a_fifo_in_place_of_a_map_file_is_not_opened(void **state)
{
    struct ntk_host_modules modules = { .pid = (uint32_t)getpid() };
    char path[64];
    char event[512];

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    assert_int_equal(mkfifo(path, 0600), 0);
    int watch = inotify_init1(IN_NONBLOCK);
    assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
    ntk_host_modules_read_map(&modules);
    assert_true(read(watch, event, sizeof event) < 0);
    assert_null(modules.text);
    close(watch);
    unlink(path);
    ntk_host_modules_fini(&modules);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_call_stack_without_frame_pointers_is_unwound),
        TEST(addresses_without_a_symbol_show_module_and_offset),
        TEST(a_truncated_resolver_response_is_rejected),
        TEST(functions_in_jit_code_are_named_by_a_perf_map_file),
        TEST(kernel_functions_are_found_by_address),
        TEST(a_process_may_trace_itself_and_list_its_own_threads),
        TEST(the_resolver_child_keeps_only_module_and_pipe_descriptors),
        TEST(files_mapped_by_several_processes_are_opened_once),
        TEST(module_files_excluded_by_the_filter_stay_closed),
        TEST(a_fifo_in_place_of_a_map_file_is_not_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
