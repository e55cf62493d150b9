/* SPDX-License-Identifier: MIT */
/* unwind - unwinds copied stacks by .eh_frame and finds symbols, with elfutils. Runs in the child
 * of resolve.c. */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/hostwork/resolve.h"

struct ntk_host_unwinder {
    const struct ntk_host_modules *modules;
    Dwfl *dwfl;
    bool is_attached;
    const struct ntk_host_raw_stack *stack; /* the stack that is being unwound */
    uint64_t *addresses;
    size_t count, room;
};

/* Finds no debugging information elsewhere, because it could come from the network. */
static int find_nothing(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                        const char *file, const char *debuglink, GElf_Word crc, char **out_name)
{
    (void)module;
    (void)userdata;
    (void)name;
    (void)base;
    (void)file;
    (void)debuglink;
    (void)crc;
    (void)out_name;
    return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
                                          .find_debuginfo = find_nothing,
                                          .section_address = dwfl_offline_section_address };

struct ntk_host_unwinder *ntk_host_unwinder_create(const struct ntk_host_modules *modules)
{
    struct ntk_host_unwinder *unwinder = calloc(1, sizeof *unwinder);

    if (!unwinder || !(unwinder->dwfl = dwfl_begin(&callbacks))) {
        free(unwinder);
        return NULL;
    }
    unwinder->modules = modules;
    dwfl_report_begin(unwinder->dwfl);
    ntk_vec_each(const struct ntk_host_module, module, &modules->modules) {
        int fd = module->fd >= 0 ? dup(module->fd) : -1;
        if (fd >= 0 &&
            !dwfl_report_elf(unwinder->dwfl, module->name, module->name, fd, module->load, false)) {
            close(fd);
        }
    }
    dwfl_report_end(unwinder->dwfl, NULL, NULL);
    return unwinder;
}

void ntk_host_unwinder_destroy(struct ntk_host_unwinder *unwinder)
{
    if (unwinder) {
        dwfl_end(unwinder->dwfl);
        free(unwinder);
    }
}

/* ---- registers and memory ---- */

#if defined(__x86_64__)
/* Positions in struct pt_regs, in DWARF's register order: rax rdx rcx rbx rsi rdi rbp rsp r8..15,
 * rip. */
static const uint8_t places[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };
#define STACK_POINTER 19
#define PROGRAM_COUNTER 16
#elif defined(__aarch64__)
#define STACK_POINTER 31
#define PROGRAM_COUNTER 32
#endif

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
    const struct ntk_host_unwinder *unwinder = ctx;
    const uint64_t *from = unwinder->stack->registers;

#if defined(__x86_64__)
    Dwarf_Word words[sizeof places];
    for (size_t i = 0; i < sizeof places; i++) {
        words[i] = from[places[i]];
    }
    return dwfl_thread_state_registers(thread, 0, sizeof places, words);
#else
    Dwarf_Word words[32];
    memcpy(words, from, sizeof words);
    dwfl_thread_state_register_pc(thread, from[PROGRAM_COUNTER]);
    return dwfl_thread_state_registers(thread, 0, 32, words);
#endif
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *ctx)
{
    const struct ntk_host_unwinder *unwinder = ctx;
    const struct ntk_host_raw_stack *stack = unwinder->stack;
    uint64_t at = address - stack->registers[STACK_POINTER];

    (void)dwfl;
    if (at > stack->bytes_count || stack->bytes_count - at < sizeof *out) {
        return false;
    }
    memcpy(out, ntk_host_raw_bytes(stack) + at, sizeof *out);
    return true;
}

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **thread)
{
    const struct ntk_host_unwinder *unwinder = ctx;

    (void)dwfl;
    if (*thread) {
        return 0;
    }
    *thread = ctx;
    return (pid_t)unwinder->modules->pid;
}

static const Dwfl_Thread_Callbacks thread_callbacks = { .next_thread = next_thread,
                                                        .memory_read = read_memory,
                                                        .set_initial_registers = set_registers };

static int take_frame(Dwfl_Frame *frame, void *ctx)
{
    struct ntk_host_unwinder *unwinder = ctx;
    bool is_activation;
    Dwarf_Addr pc;

    if (unwinder->count == unwinder->room || !dwfl_frame_pc(frame, &pc, &is_activation)) {
        return DWARF_CB_ABORT;
    }
    /* Use the address of the call, not of the instruction after it. */
    unwinder->addresses[unwinder->count++] = is_activation || pc == 0 ? pc : pc - 1;
    return DWARF_CB_OK;
}

size_t ntk_host_unwinder_unwind(struct ntk_host_unwinder *unwinder,
                                const struct ntk_host_raw_stack *stack, uint64_t *out_addresses,
                                size_t out_count)
{
    pid_t pid = (pid_t)unwinder->modules->pid;

    unwinder->stack = stack;
    unwinder->addresses = out_addresses;
    unwinder->count = 0;
    unwinder->room = out_count;
    if (!unwinder->is_attached) {
        unwinder->is_attached =
            dwfl_attach_state(unwinder->dwfl, NULL, pid, &thread_callbacks, unwinder);
        if (!unwinder->is_attached) {
            return 0;
        }
    }
    (void)dwfl_getthread_frames(unwinder->dwfl, pid, take_frame, unwinder);
    return unwinder->count;
}

const char *ntk_host_unwinder_symbol(struct ntk_host_unwinder *unwinder, uint64_t address)
{
    Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, address);
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL) : NULL;

    return name && (symbol.st_size == 0 || offset < symbol.st_size) ? name : NULL;
}

bool ntk_host_unwinder_build_id(struct ntk_host_unwinder *unwinder, uint64_t address,
                                char out[NTK_HOST_BUILD_ID_BYTES])
{
    Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, address);
    const unsigned char *bytes = NULL;
    GElf_Addr where;
    int count = module ? dwfl_module_build_id(module, &bytes, &where) : 0;

    if (count <= 0 || 2 * (size_t)count >= NTK_HOST_BUILD_ID_BYTES) {
        return false;
    }
    ntk_str_hex(out, bytes, (size_t)count);
    return true;
}
