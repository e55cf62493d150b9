/* SPDX-License-Identifier: MIT */
#include "shared/base/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDS 2048 /* maximum number of guarded mappings */

static struct {
    uintptr_t base; /* 0 while free; written under the mutex, read by the signal handler */
    uintptr_t end;
    uintptr_t hole; /* first page that was replaced by zeros; 0: none */
} guards[GUARDS];

static pthread_mutex_t guard_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction earlier;
/* Prevents an endless loop if a handler that was installed over ours passes faults back to ours. */
static __thread volatile sig_atomic_t passing_on;
static uintptr_t page_bytes;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    int saved = errno;
    int i;

    for (i = 0; i < GUARDS; i++) {
        uintptr_t base = __atomic_load_n(&guards[i].base, __ATOMIC_ACQUIRE);

        if (base != 0 && address >= base &&
            address < __atomic_load_n(&guards[i].end, __ATOMIC_RELAXED)) {
            void *page = (void *)(address & ~(page_bytes - 1));

            if (mmap(page, page_bytes, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                MAP_FAILED) {
                uintptr_t none = 0;

                (void)__atomic_compare_exchange_n(&guards[i].hole, &none, (uintptr_t)page, 0,
                                                  __ATOMIC_RELEASE, __ATOMIC_RELAXED);
                errno = saved;
                return;
            }
        }
    }
    errno = saved;
    if (passing_on) {
        (void)signal(SIGBUS, SIG_DFL);
        return;
    }
    passing_on = 1;
    if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != NULL) {
        earlier.sa_sigaction(number, info, context);
    } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
        earlier.sa_handler(number);
    } else {
        /* Without our handler, the access faults again and ends the program as usual. */
        (void)signal(SIGBUS, SIG_DFL);
    }
    passing_on = 0;
}

/* Installs our handler again if another one was installed over it. */
static int install(void)
{
    struct sigaction action;
    struct sigaction current;

    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, NULL, &current) != 0) {
        return -errno;
    }
    if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_sigbus) {
        return 0;
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    earlier = current;
    return sigaction(SIGBUS, &action, NULL) == 0 ? 0 : -errno;
}

int ntk_map_guard_add(const void *base, size_t bytes)
{
    int ret;
    int i;

    pthread_mutex_lock(&guard_mutex);
    ret = install();
    if (ret < 0) {
        pthread_mutex_unlock(&guard_mutex);
        return ret;
    }
    ret = -ENOSPC;
    for (i = 0; i < GUARDS && ret < 0; i++) {
        if (guards[i].base == 0) {
            __atomic_store_n(&guards[i].hole, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&guards[i].end, (uintptr_t)base + bytes, __ATOMIC_RELAXED);
            /* Pairs with the acquire load in on_sigbus(). */
            __atomic_store_n(&guards[i].base, (uintptr_t)base, __ATOMIC_RELEASE);
            ret = i;
        }
    }
    pthread_mutex_unlock(&guard_mutex);
    return ret;
}

void ntk_map_guard_remove(int guard)
{
    if (guard >= 0 && guard < GUARDS) {
        pthread_mutex_lock(&guard_mutex);
        __atomic_store_n(&guards[guard].base, 0, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&guard_mutex);
    }
}

size_t ntk_map_guard_intact_bytes(int guard)
{
    uintptr_t hole = 0;

    if (guard >= 0 && guard < GUARDS) {
        hole = __atomic_load_n(&guards[guard].hole, __ATOMIC_ACQUIRE);
    }
    return hole ? hole - __atomic_load_n(&guards[guard].base, __ATOMIC_RELAXED) : SIZE_MAX;
}
