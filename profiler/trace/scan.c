/* SPDX-License-Identifier: MIT */
/* scan - returns memory of lists during sequential or random access. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/long_list.h"
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
    /* The current piece is kept, because its last elements are still in use. The pages stay in the
     * file: a later access maps them again. */
    if (passed_bytes >= 2 * NTK_TRACE_SCAN_BYTES) {
        (void)madvise((char *)first + (passed_bytes - 2 * NTK_TRACE_SCAN_BYTES),
                      NTK_TRACE_SCAN_BYTES, MADV_DONTNEED);
    }
}

void ntk_trace_give_back(const struct ntk_trace_core *core)
{
    ntk_long_items_give_back(core->instructions,
                             core->instruction_count * sizeof *core->instructions,
                             core->is_mapped.instructions);
    ntk_long_items_give_back(core->packets, core->packet_count * sizeof *core->packets,
                             core->is_mapped.packets);
    ntk_long_items_give_back(core->events, core->event_count * sizeof *core->events,
                             core->is_mapped.events);
}
