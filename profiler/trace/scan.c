/* SPDX-License-Identifier: MIT */
/* scan - the memory of lists that are read from one end to the other, or here and there. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/trace.h"

void ntk_trace_pages_give_back(const void *first, const void *end)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)first + page_bytes - 1;
    uintptr_t to = (uintptr_t)end;

    from -= from % page_bytes;
    to -= to % page_bytes;
    if (from < to) {
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
}

void ntk_trace_scan_give_back(const void *first, size_t passed_bytes)
{
    /* Not the piece that was passed just now: its last elements are still looked at. The pages stay in the
     * file: a later look maps them again. */
    if (passed_bytes >= 2 * NTK_TRACE_SCAN_BYTES) {
        (void)madvise((char *)first + (passed_bytes - 2 * NTK_TRACE_SCAN_BYTES),
                      NTK_TRACE_SCAN_BYTES, MADV_DONTNEED);
    }
}

static void give_back(bool is_mapped, const void *items, size_t bytes_count)
{
    if (is_mapped) {
        (void)madvise((void *)items, bytes_count, MADV_DONTNEED);
    }
}

void ntk_trace_give_back(const struct ntk_trace_core *core)
{
    give_back(core->is_mapped.instructions, core->instructions,
              core->instruction_count * sizeof *core->instructions);
    give_back(core->is_mapped.packets, core->packets, core->packet_count * sizeof *core->packets);
    give_back(core->is_mapped.events, core->events, core->event_count * sizeof *core->events);
}
