/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as registers and stack of a thread of this program: unwinding terminates, and returns
 * at most the requested number of addresses. The code files are those of this program; unwinding
 * runs in a child process because they may be damaged, see resolve.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/hostwork/resolve.h"

#define ADDRESSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A program counter inside code, so that there is something to unwind. */
static uint64_t code_of(const struct ntk_host_modules *modules, uint64_t number)
{
    const struct ntk_host_module *module =
        modules->modules.count > 0 ? ntk_vec_at(&modules->modules, number % modules->modules.count)
                                   : NULL;

    return module ? module->start + number % (module->end - module->start) : number;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_host_modules modules;
    static struct ntk_host_files files;
    static struct ntk_host_bpf_stack stack;
    struct ntk_host_unwinder *unwinder;
    struct ntk_host_raw raw = { 0 };
    uint64_t addresses[ADDRESSES];

    if (modules.pid == 0) {
        ntk_host_modules_read(&modules, (uint32_t)getpid(), &files, NULL);
    }
    memset(&stack, 0, sizeof stack);
    memcpy(&stack, data, size < sizeof stack ? size : sizeof stack);
    for (size_t i = 0; i < NTK_HOST_BPF_REGISTERS; i++) {
        if (stack.registers[i] % 3 == 1) {
            stack.registers[i] = code_of(&modules, stack.registers[i]);
        }
    }
    if (ntk_host_raw_add(&raw, modules.pid, &stack) != 1) {
        abort();
    }
    unwinder = ntk_host_unwinder_create(&modules);
    if (unwinder) {
        size_t count = ntk_host_unwinder_unwind(
            unwinder, *(struct ntk_host_raw_stack **)ntk_vec_at(&raw.stacks, 0), addresses,
            ADDRESSES);
        if (count > ADDRESSES) {
            abort();
        }
        for (size_t i = 0; i < count; i++) {
            (void)ntk_host_unwinder_symbol(unwinder, addresses[i]);
        }
    }
    ntk_host_unwinder_destroy(unwinder);
    ntk_host_raw_fini(&raw);
    return 0;
}
