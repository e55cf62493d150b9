/* SPDX-License-Identifier: MIT */
#include "tests/support/syscall_fault.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/process.h"

/* Numbers that no kernel has, so they return ENOSYS. */
#define MARK_BEGIN 77001L
#define MARK_END 77002L

#define ERRORS_MAX 5

/* Errors that a call may return; calls without a row do not fail (neither does brk(): malloc can
 * use mmap() instead). The most likely error of a row is the first one. */
static const struct {
    long number;
    int errors[ERRORS_MAX];
} plausible[] = {
    { SYS_openat, { EACCES, EMFILE, ENOSPC, ENOENT, EINTR } },
    { SYS_mkdirat, { ENOSPC, EACCES, EROFS } },
    { SYS_unlinkat, { EACCES, EBUSY, EROFS } },
    { SYS_symlinkat, { ENOSPC, EACCES } },
    { SYS_renameat, { ENOSPC, EACCES } },
    { SYS_ftruncate, { ENOSPC, EFBIG, EINTR } },
    { SYS_fallocate, { ENOSPC, EINTR, EOPNOTSUPP, EFBIG } },
    { SYS_write, { ENOSPC, EINTR, EIO, EFBIG, EPIPE } },
    { SYS_pwrite64, { ENOSPC, EINTR, EIO, EFBIG } },
    { SYS_read, { EINTR, EIO, EAGAIN } },
    { SYS_pread64, { EINTR, EIO } },
    { SYS_close, { EINTR, EIO } },
    { SYS_fstat, { EIO, ENOMEM } },
#ifdef SYS_newfstatat
    { SYS_newfstatat, { EACCES, ENOENT, EIO } },
#endif
    { SYS_statx, { EACCES, ENOENT } },
    { SYS_fstatfs, { EIO, EINTR } },
    { SYS_faccessat, { EACCES, ENOENT } },
    { SYS_readlinkat, { EACCES, ENOENT } },
    { SYS_getdents64, { EIO, ENOENT } },
    { SYS_fchmod, { EPERM, EROFS } },
    { SYS_utimensat, { EACCES, EROFS } },
    { SYS_fcntl, { ENOLCK, EAGAIN, EINTR, EMFILE } },
    { SYS_flock, { ENOLCK, EINTR } },
    { SYS_lseek, { EINVAL } },
    { SYS_mmap, { ENOMEM, EACCES, EAGAIN } },
    { SYS_munmap, { ENOMEM } },
    { SYS_mprotect, { ENOMEM } },
    { SYS_madvise, { EINVAL, ENOMEM, EAGAIN } },
    { SYS_clone, { EAGAIN, ENOMEM } },
    { SYS_clone3, { EAGAIN, ENOSYS } },
    { SYS_inotify_init1, { EMFILE, ENOMEM } },
    { SYS_inotify_add_watch, { ENOSPC, ENOENT } },
    { SYS_sched_getaffinity, { EPERM } },
    { SYS_sched_setaffinity, { EPERM, EINVAL } },
    { SYS_prctl, { EPERM } },
    { SYS_prlimit64, { EPERM } },
    { SYS_getrandom, { EINTR, ENOSYS } },
    { SYS_nanosleep, { EINTR } },
    { SYS_clock_nanosleep, { EINTR } },
    { SYS_uname, { EFAULT } },
    { SYS_sysinfo, { EFAULT } },
    { SYS_memfd_create, { EMFILE } },
    { SYS_socket, { EMFILE, EACCES } },
    { SYS_connect, { ECONNREFUSED, ENOENT } },
#ifdef __x86_64__
    { SYS_open, { EACCES, EMFILE, ENOSPC } },
    { SYS_stat, { EACCES, ENOENT } },
    { SYS_lstat, { EACCES, ENOENT } },
    { SYS_access, { EACCES, ENOENT } },
    { SYS_mkdir, { ENOSPC, EACCES, EROFS } },
    { SYS_rmdir, { EACCES, EBUSY } },
    { SYS_unlink, { EACCES, EROFS } },
    { SYS_rename, { ENOSPC, EACCES } },
    { SYS_symlink, { ENOSPC, EACCES } },
    { SYS_readlink, { EACCES, ENOENT } },
    { SYS_chmod, { EPERM } },
#endif
};

static int error_of(long number, unsigned variant)
{
    for (size_t i = 0; i < sizeof plausible / sizeof *plausible; i++) {
        if (plausible[i].number == number) {
            unsigned count = 0;

            while (count < ERRORS_MAX && plausible[i].errors[count] != 0) {
                count++;
            }
            return plausible[i].errors[count > 0 ? variant % count : 0];
        }
    }
    return 0;
}

/* --- registers of the stopped child ----------------------------------------------------------- */

#if defined __x86_64__

static void call_set(pid_t child, long number)
{
    struct user_regs_struct regs;

    (void)ptrace(PTRACE_GETREGS, child, NULL, &regs);
    regs.orig_rax = (unsigned long)number;
    (void)ptrace(PTRACE_SETREGS, child, NULL, &regs);
}

static void answer_set(pid_t child, long answer)
{
    struct user_regs_struct regs;

    (void)ptrace(PTRACE_GETREGS, child, NULL, &regs);
    regs.rax = (unsigned long)answer;
    (void)ptrace(PTRACE_SETREGS, child, NULL, &regs);
}

static long call_get(pid_t child)
{
    struct user_regs_struct regs = { 0 };

    (void)ptrace(PTRACE_GETREGS, child, NULL, &regs);
    return (long)regs.orig_rax;
}

#elif defined __aarch64__

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

static void call_set(pid_t child, long number)
{
    int call = (int)number;
    struct iovec vector = { &call, sizeof call };

    (void)ptrace(PTRACE_SETREGSET, child, (void *)NT_ARM_SYSTEM_CALL, &vector);
}

static void answer_set(pid_t child, long answer)
{
    struct user_regs_struct regs;
    struct iovec vector = { &regs, sizeof regs };

    (void)ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &vector);
    regs.regs[0] = (unsigned long)answer;
    (void)ptrace(PTRACE_SETREGSET, child, (void *)NT_PRSTATUS, &vector);
}

static long call_get(pid_t child)
{
    struct user_regs_struct regs = { 0 };
    struct iovec vector = { &regs, sizeof regs };

    (void)ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &vector);
    return (long)regs.regs[8];
}

#endif

/* --- child and parent ------------------------------------------------------------------------- */

void syscall_fault_begin(void)
{
    (void)syscall(MARK_BEGIN);
}

void syscall_fault_end(void)
{
    (void)syscall(MARK_END);
}

#if defined __x86_64__ || defined __aarch64__

static pid_t child_start(int (*body)(void *ctx), void *ctx)
{
    pid_t child = fork();

    if (child == 0) {
        static const int caught[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
            (void)signal(caught[i], SIG_DFL); /* the test's own handlers would hide them */
        }
        /* A child that takes longer hangs. */
        (void)alarm((unsigned)(test_patience_ns() / NTK_NS_PER_SECOND));
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        (void)raise(SIGSTOP);
        _exit(body(ctx));
    }
    return child;
}

/* Lets the child continue to its next call, or to the end of one; false if it has exited. */
static bool next_stop(pid_t child, int *status)
{
    long signal_number = 0;

    for (;;) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)signal_number) != 0 ||
            waitpid(child, status, __WALL) != child || !WIFSTOPPED(*status)) {
            return false;
        }
        if (WSTOPSIG(*status) == (SIGTRAP | 0x80)) {
            return true;
        }
        signal_number = WSTOPSIG(*status);
    }
}

/* The child is before the call: makes it fail and runs to its end. Returns false if the child has
 * exited. */
static bool call_fail(pid_t child, long number, int error, int *status)
{
    if (number != SYS_close) {
        call_set(child, -1);
    }
    if (!next_stop(child, status)) {
        return false;
    }
    answer_set(child, -error);
    return true;
}

struct syscall_fault_result syscall_fault_run(int (*body)(void *ctx), void *ctx,
                                              struct syscall_fault fault)
{
    struct syscall_fault_result result = { .number = -1 };
    pid_t child = child_start(body, ctx);
    bool is_counting = false;
    bool was_here = false;

    if (child < 0 || waitpid(child, &result.status, __WALL) != child ||
        !WIFSTOPPED(result.status)) {
        return result;
    }
    (void)ptrace(PTRACE_SETOPTIONS, child, NULL,
                 (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    while (!was_here || fault.lasts) {
        if (!next_stop(child, &result.status)) {
            return result;
        }
        long number = call_get(child);
        bool is_here = is_counting && result.calls == fault.at && number != MARK_END;

        if (is_here) {
            result.number = number;
            result.error = error_of(number, fault.variant);
            was_here = true;
        }
        if (is_here && fault.kills) {
            (void)kill(child, SIGKILL);
            (void)waitpid(child, &result.status, __WALL);
            return result;
        }
        if (!(was_here && number == result.number && result.error != 0
                  ? call_fail(child, number, result.error, &result.status)
                  : next_stop(child, &result.status))) {
            return result;
        }
        if (number == MARK_END) {
            break;
        }
        result.calls += is_counting && !was_here ? 1 : 0;
        is_counting = is_counting || number == MARK_BEGIN;
    }
    (void)ptrace(PTRACE_DETACH, child, NULL, NULL);
    (void)waitpid(child, &result.status, __WALL);
    return result;
}

static int nothing(void *ctx)
{
    (void)ctx;
    syscall_fault_begin();
    (void)syscall(SYS_getppid);
    syscall_fault_end();
    return 0;
}

bool syscall_fault_works(void)
{
    struct syscall_fault_result result =
        syscall_fault_run(nothing, NULL, (struct syscall_fault){ .at = 1000 });

    return result.calls == 1 && result.status == 0;
}

#else

struct syscall_fault_result syscall_fault_run(int (*body)(void *ctx), void *ctx,
                                              struct syscall_fault fault)
{
    (void)body;
    (void)ctx;
    (void)fault;
    return (struct syscall_fault_result){ .number = -1 };
}

bool syscall_fault_works(void)
{
    return false;
}

#endif
