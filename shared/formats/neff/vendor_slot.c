/* SPDX-License-Identifier: MIT */
/* vendor_slot - the text of a slot, a function for each layout. */
#include "shared/formats/neff/vendor_slot.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/vendor_names.h"

#define ADD(text) ntk_buf_add_text(out, (text))
#define FORMAT(...) ntk_buf_add_format(out, __VA_ARGS__)

#define BODY 12 /* behind opcode, waits and changes */
#define DMA_VARIABLE 0x10
#define DMA_TABLE 0x20

typedef void print_layout(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct ntk_buf *out);

static uint64_t u(const uint8_t *slot, unsigned offset, unsigned bytes)
{
    return ntk_vendor_slot_u(slot, offset, bytes);
}

/* ---- words ---- */

static void put_code(struct ntk_buf *out, const char *const *words, unsigned count,
                     const char *unknown, unsigned code)
{
    if (code < count && words[code]) {
        ADD(words[code]);
    } else {
        FORMAT("%s<%u>", unknown, code);
    }
}

static void put_dtype(struct ntk_buf *out, unsigned code)
{
    static const char *const words[] = {
#define NTK_VENDOR_DTYPE(code, name, bytes, quarters) [(code)] = (name),
#include "shared/formats/neff/vendor_slot.def"
    };

    put_code(out, words, sizeof words / sizeof *words, "dtype", code);
}

static void put_alu(struct ntk_buf *out, unsigned code)
{
    static const char *const words[] = {
#define NTK_VENDOR_ALU(code, name) [(code)] = (name),
#include "shared/formats/neff/vendor_slot.def"
    };

    put_code(out, words, sizeof words / sizeof *words, "op", code);
}

static void put_fp32_mode(struct ntk_buf *out, unsigned code)
{
    static const char *const words[] = { NULL, "LOW", "HIGH", "LOW_HIGH" };

    if (code) {
        ADD("fp32_mode=");
        put_code(out, words, sizeof words / sizeof *words, "mode", code);
        ADD(" ");
    }
}

static void put_function(struct ntk_buf *out, const struct ntk_vendor_names *names, unsigned code)
{
    if (names && names->functions[code]) {
        ntk_buf_add_clean(out, names->functions[code]);
    } else {
        FORMAT("func<%u>", code);
    }
}

static void put_list(struct ntk_buf *out, const uint8_t *slot, unsigned offset, unsigned count,
                     unsigned bytes, bool is_signed)
{
    ADD("[");
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = u(slot, offset + i * bytes, bytes);
        FORMAT("%s%" PRId64, i ? "," : "", is_signed ? (int16_t)value : (int64_t)value);
    }
    ADD("]");
}

/* u32 address, s16 steps, u16 counts; the innermost first. */
static void put_pattern(struct ntk_buf *out, const uint8_t *slot, unsigned offset, unsigned dims)
{
    FORMAT("0x%" PRIx64, u(slot, offset, 4));
    put_list(out, slot, offset + 4, dims, 2, true);
    put_list(out, slot, offset + 4 + 2 * dims, dims, 2, false);
}

static void put_tile(struct ntk_buf *out, const char *key, const uint8_t *slot, unsigned offset,
                     unsigned dims, unsigned dtype)
{
    FORMAT("%s=", key);
    put_dtype(out, dtype);
    ADD("@");
    put_pattern(out, slot, offset, dims);
    ADD(" ");
}

/* ---- waits and changes ---- */

static void put_semaphore(struct ntk_buf *out, const struct ntk_vendor_names *names,
                          unsigned number)
{
    if (names && names->semaphores[number]) {
        FORMAT("S[%u] (", number);
        ntk_buf_add_clean(out, names->semaphores[number]);
        ADD(")");
    } else {
        FORMAT("$S[%u]", number);
    }
}

/* True when there is one. */
static bool put_wait(struct ntk_buf *out, const struct ntk_vendor_names *names, unsigned mode,
                     unsigned number, uint64_t value)
{
    switch (mode) {
    case 0:
        return false;
    case NTK_VENDOR_WAIT_EQUAL:
    case NTK_VENDOR_WAIT_AT_LEAST:
        put_semaphore(out, names, number);
        FORMAT("%s%" PRIu64, mode == NTK_VENDOR_WAIT_EQUAL ? "==" : ">=", value);
        return true;
    case NTK_VENDOR_WAIT_EVENT:
        FORMAT("$E[%u]==1-", number);
        return true;
    default:
        FORMAT("wait<0x%x>[%u]%" PRIu64, mode, number, value);
        return true;
    }
}

/* The low nibble says what, the high one when. */
static bool put_change(struct ntk_buf *out, const struct ntk_vendor_names *names, unsigned mode,
                       unsigned number, uint64_t value)
{
    static const char *const moments[2] = { "@read", "@complete" };
    unsigned what = mode & 0x0f;
    bool is_event = what == (NTK_VENDOR_SIGNAL_SET & 0x0f);

    if (mode == 0) {
        return false;
    }
    if (mode >> 4 > 1 || !(is_event || (what >= 3 && what <= 5) || what == 9)) {
        FORMAT("update<0x%x>[%u]%" PRIu64, mode, number, value);
        return true;
    }
    if (is_event) {
        FORMAT("$E[%u]+", number);
    } else {
        put_semaphore(out, names, number);
        if (what == 3 || what == 4) {
            ADD(what == 3 ? "++" : "--");
        } else {
            FORMAT("%s%" PRIu64, what == 5 ? "+=" : "=", value);
        }
    }
    ADD(moments[mode >> 4]);
    return true;
}

/* Each but for its blanks; one blank always follows. */
static void put_sync(struct ntk_buf *out, const struct ntk_vendor_names *names, const uint8_t *slot)
{
    uint64_t value = u(slot, NTK_VENDOR_SLOT_WAIT_VALUE, 4);

    if (put_wait(out, names, slot[4], slot[5], value) && slot[6]) {
        ADD(" ");
    }
    (void)put_change(out, names, slot[6], slot[7], value);
    ADD(" ");
}

/* ---- layouts ---- */

static void print_nothing(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct ntk_buf *out)
{
    (void)slot;
    (void)names;
    (void)out;
}

static void print_unknown(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct ntk_buf *out)
{
    unsigned end = NTK_VENDOR_SLOT_BYTES;

    (void)names;
    while (end > BODY && slot[end - 1] == 0) {
        end--;
    }
    if (end > BODY) {
        ADD("bytes=");
        for (unsigned i = BODY; i < end; i++) {
            FORMAT("%02x", slot[i]);
        }
        ADD(" ");
    }
}

static void print_ldweights(const uint8_t *slot, const struct ntk_vendor_names *names,
                            struct ntk_buf *out)
{
    static const char *const modes[] = { "DISABLED", "ENABLED" };

    (void)names;
    put_fp32_mode(out, slot[33]);
    ADD("transpose_mode=");
    put_code(out, modes, 2, "mode", slot[34]);
    ADD(" ");
    put_tile(out, "src", slot, 16, 3, slot[32]);
    FORMAT("%u*%u ", slot[38], slot[39]);
}

static void print_matmul(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct ntk_buf *out)
{
    (void)names;
    FORMAT("acc_flags=%u ", slot[43]);
    put_fp32_mode(out, slot[33]);
    put_tile(out, "src", slot, 16, 3, slot[32]);
    ADD("dst=");
    put_pattern(out, slot, 48, 3);
    FORMAT(" %u*%u ", slot[38], slot[39]);
}

static double f32(const uint8_t *slot, unsigned offset)
{
    uint32_t bits = (uint32_t)u(slot, offset, 4);
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void print_activate(const uint8_t *slot, const struct ntk_vendor_names *names,
                           struct ntk_buf *out)
{
    put_function(out, names, slot[35]);
    ADD(" bias_ptr=");
    put_dtype(out, slot[32] >> 4);
    FORMAT("@0x%" PRIx64 " ", u(slot, 40, 4));
    put_tile(out, "src", slot, 16, 3, slot[32] & 0x0f);
    put_tile(out, "dst", slot, 48, 3, slot[33]);
    FORMAT("channels=%u scale=%f imm=%f accumulator_cmd=IDLE", slot[34], f32(slot, 36),
           f32(slot, 44));
}

static void print_table_load(const uint8_t *slot, const struct ntk_vendor_names *names,
                             struct ntk_buf *out)
{
    (void)names;
    FORMAT("table_sel=%" PRIu64 " ", u(slot, BODY, 4));
}

static void print_tensor_tensor(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct ntk_buf *out)
{
    (void)names;
    ADD("op=");
    put_alu(out, slot[14]);
    ADD(" ");
    put_tile(out, "src0", slot, 16, 3, slot[12] & 0x0f);
    put_tile(out, "src1", slot, 32, 3, slot[12] >> 4);
    put_tile(out, "dst", slot, 48, 3, slot[13]);
    FORMAT("channels=%u ", slot[15]);
}

static void put_moved(struct ntk_buf *out, const uint8_t *slot, unsigned src, unsigned dst,
                      unsigned dims)
{
    put_tile(out, "src", slot, src, dims, slot[32]);
    put_tile(out, "dst", slot, dst, dims, slot[33]);
    FORMAT("channels=%u ", slot[34]);
}

static void print_tensor_reduce(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct ntk_buf *out)
{
    static const char *const dims[] = { [2] = "X", [3] = "XY" };

    (void)names;
    ADD("op=");
    put_alu(out, slot[36]);
    ADD(" dim=");
    put_code(out, dims, 4, "dim", slot[37]);
    ADD(" ");
    if (slot[35]) {
        FORMAT("negated=%u ", slot[35]);
    }
    put_moved(out, slot, 12, 44, 4);
}

static void print_tensor_scalar(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct ntk_buf *out)
{
    bool is_pointer[2] = { (slot[35] & 1) != 0, (slot[35] & 2) != 0 };

    (void)names;
    ADD("ops=");
    put_alu(out, slot[36]);
    ADD(",");
    put_alu(out, slot[37]);
    ADD(" imm=");
    for (unsigned k = 0; k < 2; k++) {
        ADD(k ? "," : "");
        if (is_pointer[k]) {
            FORMAT("0x%" PRIx64, u(slot, 40 + 4 * k, 4));
        } else {
            FORMAT("%g", f32(slot, 40 + 4 * k));
        }
    }
    FORMAT(" imm_src=%s,%s ", is_pointer[0] ? "PTR" : "INSTRUCTION",
           is_pointer[1] ? "PTR" : "INSTRUCTION");
    put_moved(out, slot, 16, 48, 3);
}

static void print_move(const uint8_t *slot, const struct ntk_vendor_names *names,
                       struct ntk_buf *out)
{
    (void)names;
    put_moved(out, slot, 12, 44, 4);
}

static void print_event_semaphore(const uint8_t *slot, const struct ntk_vendor_names *names,
                                  struct ntk_buf *out)
{
    ADD("setter=0 ");
    (void)put_wait(out, names, slot[32], slot[33], u(slot, 36, 4));
    ADD(" ");
    (void)put_change(out, names, slot[34], slot[35], u(slot, 40, 4));
    ADD(" ");
}

static void print_nop(const uint8_t *slot, const struct ntk_vendor_names *names,
                      struct ntk_buf *out)
{
    (void)names;
    FORMAT("cycle=%" PRIu64 " ", u(slot, BODY, 4));
}

static void print_write(const uint8_t *slot, const struct ntk_vendor_names *names,
                        struct ntk_buf *out)
{
    bool has_two = slot[13] != 0;

    (void)names;
    FORMAT("data=0x%" PRIx64, u(slot, 32, 8));
    if (has_two) {
        FORMAT(",0x%" PRIx64, u(slot, 40, 8));
    }
    FORMAT(" size=%u", slot[12]);
    if (has_two) {
        FORMAT(",%u", slot[13]);
    }
    FORMAT(" dst=0x%" PRIx64, u(slot, 16, 8));
    if (has_two) {
        FORMAT(",0x%" PRIx64, u(slot, 24, 8));
    }
    ADD(" ");
}

static void print_notify(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct ntk_buf *out)
{
    static const char *const kinds[] = { [9] = "EXPLICIT" };
    static const char *const traces[] = { [1] = "START" };

    (void)names;
    FORMAT(" hint=%" PRIu64 " notification=", u(slot, 36, 3));
    put_code(out, kinds, sizeof kinds / sizeof *kinds, "kind", slot[2]);
    ADD("  trace=");
    put_code(out, traces, sizeof traces / sizeof *traces, "trace", slot[39]);
    ADD(" ");
}

static void print_memset(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct ntk_buf *out)
{
    (void)names;
    FORMAT("value=0x%" PRIx64 " ", u(slot, 40, 4));
    put_tile(out, "dst", slot, 44, 4, slot[32]);
    FORMAT("channels=%u ", slot[34]);
}

static void print_register_move(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct ntk_buf *out)
{
    (void)names;
    FORMAT("dst=$R[%" PRIu64 "] imm=0x%" PRIx64 " ", u(slot, 24, 4), u(slot, 32, 8));
}

static void print_register_alu(const uint8_t *slot, const struct ntk_vendor_names *names,
                               struct ntk_buf *out)
{
    (void)names;
    ADD("op=");
    put_alu(out, slot[12]);
    ADD(" dtype=");
    put_dtype(out, slot[13]);
    FORMAT(" src=$R[%" PRIu64 "] dst=$R[%" PRIu64 "] imm=%" PRIu64 " ", u(slot, 16, 4),
           u(slot, 20, 4), u(slot, 24, 4));
}

static void print_branch(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct ntk_buf *out)
{
    static const char *const compares[] = { [0] = "ALWAYS", [3] = "EQ" };

    (void)names;
    ADD("cmp_op=");
    put_code(out, compares, sizeof compares / sizeof *compares, "cmp", slot[12]);
    ADD(" ");
    if (slot[12] != 0) {
        ADD("dtype=");
        put_dtype(out, slot[13]);
        FORMAT(" cmp0=$R[%" PRIu64 "] cmp1=%" PRIu64 " ", u(slot, 16, 4), u(slot, 20, 4));
    }
    FORMAT("label_id=%" PRIu64 " ", u(slot, 48, 4));
    if (slot[3]) {
        FORMAT("debugHint=%u", slot[3]);
    }
}

static void print_tensor_load(const uint8_t *slot, const struct ntk_vendor_names *names,
                              struct ntk_buf *out)
{
    enum { REGISTERS = 32 }; /* of them, and where they begin: up to the end of the slot */
    unsigned count = slot[14];

    (void)names;
    ADD("addr=");
    put_dtype(out, slot[12]);
    FORMAT("@0x%" PRIx64, u(slot, 16, 8));
    put_list(out, slot, 24, 2, 2, true);
    put_list(out, slot, 14, 2, 1, false);
    ADD(" data=");
    for (unsigned i = 0; i < count && i < REGISTERS; i++) {
        FORMAT("%s$R[%u]", i ? "," : "", slot[REGISTERS + i]);
    }
    ADD(count > REGISTERS ? ",... " : " ");
}

static void print_range_clear(const uint8_t *slot, const struct ntk_vendor_names *names,
                              struct ntk_buf *out)
{
    static const char *const modes[] = { [1] = "SEMAPHORE_ZERO" };

    (void)names;
    ADD("mode=");
    put_code(out, modes, sizeof modes / sizeof *modes, "mode", slot[12]);
    FORMAT(" first=%u last=%u ", slot[13], slot[14]);
}

static void print_ordering_mode(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct ntk_buf *out)
{
    static const char *const modes[] = { "relaxed", "strict" };

    (void)names;
    ADD("ordering_mode=");
    put_code(out, modes, sizeof modes / sizeof *modes, "mode", slot[12]);
    ADD(" ");
}

static void print_trigger(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct ntk_buf *out)
{
    char queue[NTK_VENDOR_TRIGGER_NAME_BYTES + 1];

    (void)names;
    memcpy(queue, slot + NTK_VENDOR_TRIGGER_NAME, NTK_VENDOR_TRIGGER_NAME_BYTES);
    queue[NTK_VENDOR_TRIGGER_NAME_BYTES] = '\0';
    ADD("queue=");
    ntk_buf_add_clean(out, queue);
    FORMAT(" group=%" PRIu64 " ", u(slot, NTK_VENDOR_TRIGGER_GROUP, 4));
}

/* ---- transfers ---- */

/* The original writes what tables are with hex digits only where the program is loaded. */
static void put_end(struct ntk_buf *out, const char *side, uint64_t word, bool is_pseudo)
{
    uint64_t index = word >> 32 & 0xffff;
    uint64_t offset = word & UINT32_MAX;

    if (word >> 56 == DMA_TABLE) {
        FORMAT(is_pseudo ? "%s_table_offset_imm=%" PRIu64 : "%s_table_offset_imm=0x%" PRIx64, side,
               offset);
        FORMAT(" %s_table_index=%" PRIu64, side, index);
    } else if (word >> 56 == DMA_VARIABLE && is_pseudo) {
        FORMAT("%s_var_id=%" PRIu64 " %s_var_offset=%" PRIu64, side, index, side, offset);
    } else {
        FORMAT("%s_addr_imm=0x%" PRIx64, side, word);
    }
}

static void put_dma_pattern(struct ntk_buf *out, const char *side, const uint8_t *slot,
                            unsigned offset)
{
    FORMAT("%s_pattern=", side);
    put_list(out, slot, offset, 2, 4, false);
    put_list(out, slot, offset + 8, 2, 2, false);
    ADD(" ");
}

static void put_transfer(struct ntk_buf *out, const uint8_t *slot, bool is_pseudo)
{
    FORMAT("semaphore=%u sem_increment=%u  src_elem_size=%" PRIu64 " dst_elem_size=%" PRIu64 " ",
           slot[NTK_VENDOR_SLOT_DMA_SEMAPHORE], slot[14], u(slot, 36, 2), u(slot, 60, 2));
    put_dma_pattern(out, "src", slot, 24);
    put_dma_pattern(out, "dst", slot, 48);
    put_end(out, "src", u(slot, 16, 8), is_pseudo);
    ADD(" src_shape_reg=0 ");
    put_end(out, "dst", u(slot, 40, 8), is_pseudo);
    ADD(" dst_shape_reg=0 ");
    if (slot[62] != slot[63]) {
        ADD("in_dtype=");
        put_dtype(out, slot[62]);
        ADD(" out_dtype=");
        put_dtype(out, slot[63]);
        ADD(" ");
    }
}

static void print_transfer(const uint8_t *slot, const struct ntk_vendor_names *names,
                           struct ntk_buf *out)
{
    (void)names;
    put_transfer(out, slot, false);
    ADD("compute_op=NONE ");
}

static void print_pseudo_transfer(const uint8_t *slot, const struct ntk_vendor_names *names,
                                  struct ntk_buf *out)
{
    (void)names;
    ADD("dge_op=DIRECT2D ");
    put_transfer(out, slot, true);
    ADD("  ");
}

/* ---- any slot ---- */

void ntk_vendor_slot_print(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                           const struct ntk_vendor_names *names, struct ntk_buf *out)
{
    static print_layout *const layouts[256] = {
#define NTK_VENDOR_OP(opcode, layout, moves) [(opcode)] = print_##layout,
#include "shared/formats/neff/vendor_slot.def"
    };
    print_layout *print = layouts[slot[0]];

    put_sync(out, names, slot);
    (print ? print : print_unknown)(slot, names, out);
}

void ntk_vendor_slot_print_function(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                                    const struct ntk_vendor_names *names, struct ntk_buf *out)
{
    if (slot[0] == NTK_VENDOR_OPCODE_ACTIVATE) {
        put_function(out, names, slot[35]);
    }
}

const char *ntk_vendor_slot_pseudo_name(uint8_t opcode)
{
    switch (opcode) {
    case NTK_VENDOR_OPCODE_TRIGGER:
        return "PSEUDO_DMA_TRIGGER";
    case NTK_VENDOR_OPCODE_PSEUDO_LOAD:
        return "PSEUDO_TENSOR_LOAD";
    case NTK_VENDOR_OPCODE_PSEUDO_TRANSFER:
        return "PSEUDO_DMA_DIRECT2D";
    default:
        return NULL;
    }
}
