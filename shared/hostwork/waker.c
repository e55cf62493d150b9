/* SPDX-License-Identifier: MIT */
/* waker - which system calls of one thread can end a wait of another. */
#include <sys/syscall.h>

#include "shared/hostwork/sampler.h"
#include "shared/hostwork/syscalls.h"

static bool is_exit(int32_t call)
{
    return call == SYS_exit || call == SYS_exit_group;
}

bool ntk_host_is_waker(int32_t waiting_in, int32_t waker_in)
{
    /* with descriptors, because some calls without any only sleep */
    static const uint64_t files[3] = { 1, 1, 1 };

    if (waiting_in < 0 || waker_in < 0) {
        return false;
    }
    if (waiting_in == SYS_futex) {
        return waker_in == SYS_futex || is_exit(waker_in);
    }
    enum ntk_host_cause how = ntk_host_syscall_cause(waker_in, files);
    switch (ntk_host_syscall_cause(waiting_in, files)) {
    case NTK_HOST_CHILD:
        return is_exit(waker_in);
    case NTK_HOST_LOCK:
        return how == NTK_HOST_LOCK || waker_in == SYS_close || is_exit(waker_in);
    case NTK_HOST_READ:
    case NTK_HOST_WRITE:
    case NTK_HOST_NETWORK:
    case NTK_HOST_POLL:
        return how == NTK_HOST_READ || how == NTK_HOST_WRITE || how == NTK_HOST_NETWORK ||
               waker_in == SYS_close || is_exit(waker_in);
    default:
        return false;
    }
}
