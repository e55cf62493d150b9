/* SPDX-License-Identifier: MIT */
#include "shared/ring/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDS 2048 /* mappings at once */

static struct {
    uintptr_t base; /* 0: free; written under the mutex, read by the handler */
    uintptr_t end;
    int damaged;
} guards[GUARDS];

static pthread_mutex_t guard_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction earlier;
static int installed;
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
                __atomic_store_n(&guards[i].damaged, 1, __ATOMIC_RELEASE);
                errno = saved;
                return;
            }
        }
    }
    errno = saved;
    if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != NULL) {
        earlier.sa_sigaction(number, info, context);
    } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
        earlier.sa_handler(number);
    } else {
        (void)signal(SIGBUS, SIG_DFL); /* the access faults again and ends the program as before */
    }
}

static int install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, &action, &earlier) != 0) {
        return -errno;
    }
    installed = 1;
    return 0;
}

int ntk_map_guard_add(const void *base, size_t bytes)
{
    int ret = -ENOSPC;
    int i;

    pthread_mutex_lock(&guard_mutex);
    if (!installed) {
        int code = install();

        if (code < 0) {
            pthread_mutex_unlock(&guard_mutex);
            return code;
        }
    }
    for (i = 0; i < GUARDS && ret < 0; i++) {
        if (guards[i].base == 0) {
            __atomic_store_n(&guards[i].damaged, 0, __ATOMIC_RELAXED);
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

int ntk_map_guard_is_damaged(int guard)
{
    return guard >= 0 && guard < GUARDS &&
           __atomic_load_n(&guards[guard].damaged, __ATOMIC_ACQUIRE) != 0;
}
