/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_cost.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/attach/attach_probes.h"
#include "shared/base/clock.h"

#define CALLS 32
#define ROUNDS 64

/*
 * Stand-ins for exports; their cost is negligible compared with a probe. The kernel emulates the
 * first instruction of most functions; single-stepping any other instruction costs many times as
 * much.
 */
#if defined(__x86_64__)
#define TRIAL(name, first)                                                                       \
    __asm__(".pushsection .text\n.type " #name ", @function\n"                                   \
            ".balign 16\n" #name ":\n" first "\n.size " #name ", . - " #name "\n.popsection\n"); \
    extern char name[];
TRIAL(ntk_attach_trial_push, "push %rbp\npop %rbp\nret")
TRIAL(ntk_attach_trial_other, "mov %edi, %eax\nret")
#else
static int trial(void)
{
    return 0;
}
#endif

static uintptr_t trial_address(enum ntk_attach_first first)
{
#if defined(__x86_64__)
    char *const trials[] = { [NTK_ATTACH_FIRST_PUSH] = ntk_attach_trial_push,
                             [NTK_ATTACH_FIRST_OTHER] = ntk_attach_trial_other };

    return (uintptr_t)trials[first];
#else
    (void)first;
    return (uintptr_t)trial;
#endif
}

enum ntk_attach_first ntk_attach_cost_first(const uint8_t bytes[8], uint32_t *out_skip)
{
    *out_skip = 0;
#if defined(__x86_64__)
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

    if (memcmp(bytes, endbr64, sizeof endbr64) == 0) {
        *out_skip = sizeof endbr64;
        bytes += sizeof endbr64;
    }
    if ((bytes[0] & 0xf8) == 0x50 || (bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50)) {
        return NTK_ATTACH_FIRST_PUSH;
    }
#else
    (void)bytes;
#endif
    return NTK_ATTACH_FIRST_OTHER;
}

struct place {
    uintptr_t address;
    uint64_t offset;
};

static int find_place(struct dl_phdr_info *object, size_t bytes, void *ctx)
{
    struct place *place = ctx;

    (void)bytes;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && place->address - begin < segment->p_filesz) {
            place->offset = place->address - begin + segment->p_offset;
            return 1;
        }
    }
    return 0;
}

static void ignore_event(const struct ntk_attach_event *event, size_t bytes, void *ctx)
{
    (void)event;
    (void)bytes;
    (void)ctx;
}

/* The time of a call in the fastest round; slower rounds were disturbed. */
static uint64_t time_call(struct ntk_attach_probes *probes, uintptr_t address)
{
    void (*volatile call)(void) = (void (*)(void))address;
    uint64_t best_ns = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start_ns = ntk_clock_monotonic_ns();
        for (int i = 0; i < CALLS; i++) {
            call();
        }
        uint64_t ns = ntk_clock_monotonic_ns() - start_ns;
        best_ns = ns < best_ns ? ns : best_ns;
        ntk_attach_probes_consume(probes);
    }
    return best_ns / CALLS;
}

int ntk_attach_cost_measure(uint64_t out_cost_ns[NTK_ATTACH_FIRST_COUNT], struct ntk_err *err)
{
    struct ntk_attach_probes *probes = NULL;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int ret = fd < 0 ? ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open this program: %s",
                                   strerror(errno))
                     : ntk_attach_probes_open(0, ignore_event, NULL, &probes, err);

    for (uint32_t i = 0; ret == 0 && i < NTK_ATTACH_FIRST_COUNT; i++) {
        struct place place = { trial_address(i), 0 };
        uint64_t without_ns = time_call(probes, place.address);

        if (dl_iterate_phdr(find_place, &place) == 0) {
            ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                              "cannot find a function of this program");
            break;
        }
        ret = ntk_attach_probes_add_trial(probes, fd, place.offset, err);
        if (ret == 0) {
            uint64_t with_ns = time_call(probes, place.address);
            out_cost_ns[i] = with_ns > without_ns ? with_ns - without_ns : 0;
            ntk_attach_probes_drop(probes);
        }
    }
    ntk_attach_probes_close(probes);
    if (fd >= 0) {
        close(fd);
    }
    return ret;
}
