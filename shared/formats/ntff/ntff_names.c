/* SPDX-License-Identifier: MIT */
/*
 * ntff_names - names of engines, opcodes, memory and queues of a capture.
 */
#include "shared/formats/ntff/ntff.h"

#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

static const char *const engine_names[NTK_NTFF_ENGINE_COUNT] = { "tensor", "scalar", "gpsimd",
                                                                 "vector", "sync" };
static const char *const engine_titles[NTK_NTFF_ENGINE_COUNT] = { "Tensor", "Scalar", "GpSimd",
                                                                  "Vector", "Sync" };
/* The hardware's words, in the same order. */
static const char *const engine_words[NTK_NTFF_ENGINE_COUNT] = { "Pe", "Act", "Pool", "Dve", "SP" };

const char *ntk_ntff_engine_name(unsigned engine)
{
    return engine < NTK_NTFF_ENGINE_COUNT ? engine_names[engine] : "?";
}

const char *ntk_ntff_engine_title(unsigned engine)
{
    return engine < NTK_NTFF_ENGINE_COUNT ? engine_titles[engine] : "?";
}

const char *ntk_ntff_source_title(unsigned source)
{
    return source == NTK_NTFF_ENGINE_AXI ? "DMA" : ntk_ntff_engine_title(source);
}

const char *ntk_ntff_opcode_name(uint8_t opcode, char *buf, size_t buf_bytes)
{
    switch (opcode) {
#define NTK_NTFF_OPCODE(byte, id, name) \
    case (byte):                        \
        return (name);
#include "shared/formats/ntff/ntff_opcode.def"
    default:
        snprintf(buf, buf_bytes, "OP_0x%02x", opcode);
        return buf;
    }
}

const char *ntk_ntff_memory_name(unsigned type)
{
    switch (type) {
#define NTK_NTFF_MEMORY(number, id, text, shown) \
    case (number):                               \
        return (shown);
#include "shared/formats/ntff/ntff_memory.def"
    default:
        return NULL;
    }
}

void ntk_ntff_queue_name_show(const char *name, char *buf, size_t buf_bytes)
{
    /* The original tool does not change the name of the vector engine's table queue. */
    if (name[0] == 'q' && !ntk_str_starts_with(name, "qDveTable")) {
        for (size_t i = 0; i < NTK_NTFF_ENGINE_COUNT; i++) {
            if (ntk_str_starts_with(name + 1, engine_words[i])) {
                snprintf(buf, buf_bytes, "q%s%s", engine_titles[i],
                         name + 1 + strlen(engine_words[i]));
                return;
            }
        }
    }
    ntk_str_copy(buf, buf_bytes, name);
}

const char *ntk_ntff_error_name(unsigned kind)
{
    static const char *const names[NTK_NTFF_ERROR_COUNT] = {
        [NTK_NTFF_ERROR_NUMERICAL] = "NaN written",
        [NTK_NTFF_ERROR_OUT_OF_BOUNDS] = "out of bounds",
        [NTK_NTFF_ERROR_DEADLOCK] = "waits for an event that is never signalled",
        [NTK_NTFF_ERROR_TIMEOUT] = "timeout",
    };

    return kind < NTK_NTFF_ERROR_COUNT && names[kind] ? names[kind] : "?";
}

const char *ntk_ntff_mode_name(unsigned mode)
{
    switch (mode) {
    case NTK_NTFF_MODE_EVENT_CLEAR:
        return "evt_clr";
    case NTK_NTFF_MODE_EVENT_SET:
        return "evt_set";
    case NTK_NTFF_MODE_SEMAPHORE_INC:
        return "sem_inc";
    case NTK_NTFF_MODE_SEMAPHORE_DEC:
        return "sem_dec";
    case NTK_NTFF_MODE_SEMAPHORE_WRITE:
        return "sem_wr_imm";
    default:
        return "unknown";
    }
}
