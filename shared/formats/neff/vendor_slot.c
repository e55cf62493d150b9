/* SPDX-License-Identifier: MIT */
/* vendor_slot - prints slots as text, with a function for each layout. */
#include "shared/formats/neff/vendor_slot.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/formats/neff/slot_text.h"
#include "shared/formats/neff/vendor_names.h"

#define WORD(literal) SLOT_TEXT_WORD(out, literal)
#define NUMBER(value) slot_text_number(out, (value))
#define HEX(value) slot_text_hex(out, (value))

#define BODY 12 /* offset after opcode, waits and changes */
#define DMA_VARIABLE 0x10
#define DMA_TABLE 0x20

typedef void print_layout(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct slot_text *out);

static uint64_t u(const uint8_t *slot, unsigned offset, unsigned bytes)
{
    return ntk_vendor_slot_u(slot, offset, bytes);
}

/* ---- words ---- */

static void put_text(struct slot_text *out, const char *word)
{
    slot_text_word(out, word, strlen(word));
}

/* Writes a name from struct ntk_vendor_names: clean, and rarely longer than a word. */
static void put_clean(struct slot_text *out, const char *name)
{
    size_t bytes = strlen(name);

    if (bytes <= SLOT_TEXT_WORD_MAX) {
        slot_text_word(out, name, bytes);
    } else {
        slot_text_end(out);
        ntk_buf_add(out->out, name, bytes);
    }
}

/* Writes a name from the slot after cleaning it. */
static void put_name(struct slot_text *out, const char *name)
{
    slot_text_end(out);
    ntk_buf_add_clean(out->out, name);
}

/* Writes text such as "channels=128 ". */
static void put_pair(struct slot_text *out, const char *key, uint64_t value)
{
    put_text(out, key);
    NUMBER(value);
    WORD(" ");
}

static void put_register(struct slot_text *out, const char *key, uint64_t number)
{
    put_text(out, key);
    WORD("$R[");
    NUMBER(number);
    WORD("]");
}

/* Writes a number as "%f" or "%g". Most are small whole numbers, which look the same with both. */
static void put_float(struct slot_text *out, const char *format, double value)
{
    enum { WHOLE_MAX = 100000 };

    if (value >= 0 && value <= WHOLE_MAX && !signbit(value) && value == (double)(int)value) {
        NUMBER((uint64_t)(int)value);
        if (format[1] == 'f') {
            WORD(".000000");
        }
        return;
    }
    slot_text_end(out);
    if (format[1] == 'f') {
        ntk_buf_add_format(out->out, "%f", value);
    } else {
        ntk_buf_add_format(out->out, "%g", value);
    }
}

/* Writes text such as "dtype<7>". */
static void put_unknown(struct slot_text *out, const char *what, unsigned code)
{
    put_text(out, what);
    WORD("<");
    NUMBER(code);
    WORD(">");
}

static void put_code(struct slot_text *out, const char *const *words, unsigned count,
                     const char *unknown, unsigned code)
{
    if (code < count && words[code]) {
        put_text(out, words[code]);
    } else {
        put_unknown(out, unknown, code);
    }
}

static void put_dtype(struct slot_text *out, unsigned code)
{
    static const char *const words[] = {
#define NTK_VENDOR_DTYPE(code, name, bytes, quarters) [(code)] = (name),
#include "shared/formats/neff/vendor_slot.def"
    };

    put_code(out, words, sizeof words / sizeof *words, "dtype", code);
}

static void put_alu(struct slot_text *out, unsigned code)
{
    static const char *const words[] = {
#define NTK_VENDOR_ALU(code, name) [(code)] = (name),
#include "shared/formats/neff/vendor_slot.def"
    };

    put_code(out, words, sizeof words / sizeof *words, "op", code);
}

static void put_fp32_mode(struct slot_text *out, unsigned code)
{
    static const char *const words[] = { NULL, "LOW", "HIGH", "LOW_HIGH" };

    if (code) {
        WORD("fp32_mode=");
        put_code(out, words, sizeof words / sizeof *words, "mode", code);
        WORD(" ");
    }
}

static void put_function(struct slot_text *out, const struct ntk_vendor_names *names, unsigned code)
{
    if (names && names->functions[code]) {
        put_clean(out, names->functions[code]);
    } else {
        put_unknown(out, "func", code);
    }
}

static void put_list(struct slot_text *out, const uint8_t *slot, unsigned offset, unsigned count,
                     unsigned bytes, bool is_signed)
{
    WORD("[");
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = u(slot, offset + i * bytes, bytes);

        if (i > 0) {
            WORD(",");
        }
        slot_text_signed(out, is_signed ? (int16_t)value : (int64_t)value);
    }
    WORD("]");
}

/* Writes a pattern: u32 address, s16 steps, u16 counts, innermost dimension first. */
static void put_pattern(struct slot_text *out, const uint8_t *slot, unsigned offset, unsigned dims)
{
    HEX(u(slot, offset, 4));
    put_list(out, slot, offset + 4, dims, 2, true);
    put_list(out, slot, offset + 4 + 2 * dims, dims, 2, false);
}

static void put_tile(struct slot_text *out, const char *key, const uint8_t *slot, unsigned offset,
                     unsigned dims, unsigned dtype)
{
    put_text(out, key);
    WORD("=");
    put_dtype(out, dtype);
    WORD("@");
    put_pattern(out, slot, offset, dims);
    WORD(" ");
}

static void put_size(struct slot_text *out, const uint8_t *slot)
{
    NUMBER(slot[38]);
    WORD("*");
    NUMBER(slot[39]);
    WORD(" ");
}

/* ---- waits and changes ---- */

/* Writes an unknown mode such as "wait<0x9>[3]1". */
static void put_mode(struct slot_text *out, const char *what, unsigned mode, unsigned number,
                     uint64_t value)
{
    put_text(out, what);
    WORD("<");
    HEX(mode);
    WORD(">[");
    NUMBER(number);
    WORD("]");
    NUMBER(value);
}

static void put_semaphore(struct slot_text *out, const struct ntk_vendor_names *names,
                          unsigned number)
{
    if (names && names->semaphores[number]) {
        WORD("S[");
        NUMBER(number);
        WORD("] (");
        put_clean(out, names->semaphores[number]);
        WORD(")");
    } else {
        WORD("$S[");
        NUMBER(number);
        WORD("]");
    }
}

/* Returns true if there is a wait. */
static bool put_wait(struct slot_text *out, const struct ntk_vendor_names *names, unsigned mode,
                     unsigned number, uint64_t value)
{
    switch (mode) {
    case 0:
        return false;
    case NTK_VENDOR_WAIT_EQUAL:
    case NTK_VENDOR_WAIT_AT_LEAST:
        put_semaphore(out, names, number);
        put_text(out, mode == NTK_VENDOR_WAIT_EQUAL ? "==" : ">=");
        NUMBER(value);
        return true;
    case NTK_VENDOR_WAIT_EVENT:
        WORD("$E[");
        NUMBER(number);
        WORD("]==1-");
        return true;
    default:
        put_mode(out, "wait", mode, number, value);
        return true;
    }
}

/* Writes a change: the low nibble is the kind, the high nibble the time. */
static bool put_change(struct slot_text *out, const struct ntk_vendor_names *names, unsigned mode,
                       unsigned number, uint64_t value)
{
    static const char *const moments[2] = { "@read", "@complete" };
    unsigned what = mode & 0x0f;
    bool is_event = what == (NTK_VENDOR_SIGNAL_SET & 0x0f);

    if (mode == 0) {
        return false;
    }
    if (mode >> 4 > 1 || !(is_event || (what >= 3 && what <= 5) || what == 9)) {
        put_mode(out, "update", mode, number, value);
        return true;
    }
    if (is_event) {
        WORD("$E[");
        NUMBER(number);
        WORD("]+");
    } else {
        put_semaphore(out, names, number);
        if (what == 3 || what == 4) {
            put_text(out, what == 3 ? "++" : "--");
        } else {
            put_text(out, what == 5 ? "+=" : "=");
            NUMBER(value);
        }
    }
    put_text(out, moments[mode >> 4]);
    return true;
}

/* Writes waits and changes without their trailing blanks, followed by one blank. */
static void put_sync(struct slot_text *out, const struct ntk_vendor_names *names,
                     const uint8_t *slot)
{
    uint64_t value = u(slot, NTK_VENDOR_SLOT_WAIT_VALUE, 4);

    if (put_wait(out, names, slot[4], slot[5], value) && slot[6]) {
        WORD(" ");
    }
    (void)put_change(out, names, slot[6], slot[7], value);
    WORD(" ");
}

/* ---- layouts ---- */

static void print_nothing(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct slot_text *out)
{
    (void)slot;
    (void)names;
    (void)out;
}

static void print_unknown(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct slot_text *out)
{
    unsigned end = NTK_VENDOR_SLOT_BYTES;

    (void)names;
    while (end > BODY && slot[end - 1] == 0) {
        end--;
    }
    if (end > BODY) {
        WORD("bytes=");
        for (unsigned i = BODY; i < end; i++) {
            slot_text_digits(out, slot[i], 2);
        }
        WORD(" ");
    }
}

static void print_ldweights(const uint8_t *slot, const struct ntk_vendor_names *names,
                            struct slot_text *out)
{
    static const char *const modes[] = { "DISABLED", "ENABLED" };

    (void)names;
    put_fp32_mode(out, slot[33]);
    WORD("transpose_mode=");
    put_code(out, modes, 2, "mode", slot[34]);
    WORD(" ");
    put_tile(out, "src", slot, 16, 3, slot[32]);
    put_size(out, slot);
}

static void print_matmul(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct slot_text *out)
{
    (void)names;
    WORD("acc_flags=");
    NUMBER(slot[43]);
    WORD(" ");
    put_fp32_mode(out, slot[33]);
    put_tile(out, "src", slot, 16, 3, slot[32]);
    WORD("dst=");
    put_pattern(out, slot, 48, 3);
    WORD(" ");
    put_size(out, slot);
}

static double f32(const uint8_t *slot, unsigned offset)
{
    uint32_t bits = (uint32_t)u(slot, offset, 4);
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void print_activate(const uint8_t *slot, const struct ntk_vendor_names *names,
                           struct slot_text *out)
{
    put_function(out, names, slot[35]);
    WORD(" bias_ptr=");
    put_dtype(out, slot[32] >> 4);
    WORD("@");
    HEX(u(slot, 40, 4));
    WORD(" ");
    put_tile(out, "src", slot, 16, 3, slot[32] & 0x0f);
    put_tile(out, "dst", slot, 48, 3, slot[33]);
    WORD("channels=");
    NUMBER(slot[34]);
    WORD(" scale=");
    put_float(out, "%f", f32(slot, 36));
    WORD(" imm=");
    put_float(out, "%f", f32(slot, 44));
    WORD(" accumulator_cmd=IDLE");
}

static void print_table_load(const uint8_t *slot, const struct ntk_vendor_names *names,
                             struct slot_text *out)
{
    (void)names;
    put_pair(out, "table_sel=", u(slot, BODY, 4));
}

static void print_tensor_tensor(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct slot_text *out)
{
    (void)names;
    WORD("op=");
    put_alu(out, slot[14]);
    WORD(" ");
    put_tile(out, "src0", slot, 16, 3, slot[12] & 0x0f);
    put_tile(out, "src1", slot, 32, 3, slot[12] >> 4);
    put_tile(out, "dst", slot, 48, 3, slot[13]);
    put_pair(out, "channels=", slot[15]);
}

static void put_moved(struct slot_text *out, const uint8_t *slot, unsigned src, unsigned dst,
                      unsigned dims)
{
    put_tile(out, "src", slot, src, dims, slot[32]);
    put_tile(out, "dst", slot, dst, dims, slot[33]);
    put_pair(out, "channels=", slot[34]);
}

static void print_tensor_reduce(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct slot_text *out)
{
    static const char *const dims[] = { [2] = "X", [3] = "XY" };

    (void)names;
    WORD("op=");
    put_alu(out, slot[36]);
    WORD(" dim=");
    put_code(out, dims, 4, "dim", slot[37]);
    WORD(" ");
    if (slot[35]) {
        put_pair(out, "negated=", slot[35]);
    }
    put_moved(out, slot, 12, 44, 4);
}

static void print_tensor_scalar(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct slot_text *out)
{
    bool is_pointer[2] = { (slot[35] & 1) != 0, (slot[35] & 2) != 0 };

    (void)names;
    WORD("ops=");
    put_alu(out, slot[36]);
    WORD(",");
    put_alu(out, slot[37]);
    WORD(" imm=");
    for (unsigned k = 0; k < 2; k++) {
        if (k > 0) {
            WORD(",");
        }
        if (is_pointer[k]) {
            HEX(u(slot, 40 + 4 * k, 4));
        } else {
            put_float(out, "%g", f32(slot, 40 + 4 * k));
        }
    }
    WORD(" imm_src=");
    put_text(out, is_pointer[0] ? "PTR" : "INSTRUCTION");
    WORD(",");
    put_text(out, is_pointer[1] ? "PTR" : "INSTRUCTION");
    WORD(" ");
    put_moved(out, slot, 16, 48, 3);
}

static void print_move(const uint8_t *slot, const struct ntk_vendor_names *names,
                       struct slot_text *out)
{
    (void)names;
    put_moved(out, slot, 12, 44, 4);
}

static void print_event_semaphore(const uint8_t *slot, const struct ntk_vendor_names *names,
                                  struct slot_text *out)
{
    WORD("setter=0 ");
    (void)put_wait(out, names, slot[32], slot[33], u(slot, 36, 4));
    WORD(" ");
    (void)put_change(out, names, slot[34], slot[35], u(slot, 40, 4));
    WORD(" ");
}

static void print_nop(const uint8_t *slot, const struct ntk_vendor_names *names,
                      struct slot_text *out)
{
    (void)names;
    put_pair(out, "cycle=", u(slot, BODY, 4));
}

static void print_write(const uint8_t *slot, const struct ntk_vendor_names *names,
                        struct slot_text *out)
{
    bool has_two = slot[13] != 0;

    (void)names;
    WORD("data=");
    HEX(u(slot, 32, 8));
    if (has_two) {
        WORD(",");
        HEX(u(slot, 40, 8));
    }
    WORD(" size=");
    NUMBER(slot[12]);
    if (has_two) {
        WORD(",");
        NUMBER(slot[13]);
    }
    WORD(" dst=");
    HEX(u(slot, 16, 8));
    if (has_two) {
        WORD(",");
        HEX(u(slot, 24, 8));
    }
    WORD(" ");
}

static void print_notify(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct slot_text *out)
{
    static const char *const kinds[] = { [9] = "EXPLICIT" };
    static const char *const traces[] = { [1] = "START" };

    (void)names;
    put_pair(out, " hint=", u(slot, 36, 3));
    WORD("notification=");
    put_code(out, kinds, sizeof kinds / sizeof *kinds, "kind", slot[2]);
    WORD("  trace=");
    put_code(out, traces, sizeof traces / sizeof *traces, "trace", slot[39]);
    WORD(" ");
}

static void print_memset(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct slot_text *out)
{
    (void)names;
    WORD("value=");
    HEX(u(slot, 40, 4));
    WORD(" ");
    put_tile(out, "dst", slot, 44, 4, slot[32]);
    put_pair(out, "channels=", slot[34]);
}

static void print_register_move(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct slot_text *out)
{
    (void)names;
    put_register(out, "dst=", u(slot, 24, 4));
    WORD(" imm=");
    HEX(u(slot, 32, 8));
    WORD(" ");
}

static void print_register_alu(const uint8_t *slot, const struct ntk_vendor_names *names,
                               struct slot_text *out)
{
    (void)names;
    WORD("op=");
    put_alu(out, slot[12]);
    WORD(" dtype=");
    put_dtype(out, slot[13]);
    put_register(out, " src=", u(slot, 16, 4));
    put_register(out, " dst=", u(slot, 20, 4));
    put_pair(out, " imm=", u(slot, 24, 4));
}

static void print_branch(const uint8_t *slot, const struct ntk_vendor_names *names,
                         struct slot_text *out)
{
    static const char *const compares[] = { [0] = "ALWAYS", [3] = "EQ" };

    (void)names;
    WORD("cmp_op=");
    put_code(out, compares, sizeof compares / sizeof *compares, "cmp", slot[12]);
    WORD(" ");
    if (slot[12] != 0) {
        WORD("dtype=");
        put_dtype(out, slot[13]);
        put_register(out, " cmp0=", u(slot, 16, 4));
        put_pair(out, " cmp1=", u(slot, 20, 4));
    }
    put_pair(out, "label_id=", u(slot, 48, 4));
    if (slot[3]) {
        WORD("debugHint=");
        NUMBER(slot[3]);
    }
}

static void print_tensor_load(const uint8_t *slot, const struct ntk_vendor_names *names,
                              struct slot_text *out)
{
    /* number of registers, which extend from here to the end of the slot */
    enum { REGISTERS = 32 };
    unsigned count = slot[14];

    (void)names;
    WORD("addr=");
    put_dtype(out, slot[12]);
    WORD("@");
    HEX(u(slot, 16, 8));
    put_list(out, slot, 24, 2, 2, true);
    put_list(out, slot, 14, 2, 1, false);
    WORD(" data=");
    for (unsigned i = 0; i < count && i < REGISTERS; i++) {
        put_register(out, i ? "," : "", slot[REGISTERS + i]);
    }
    put_text(out, count > REGISTERS ? ",... " : " ");
}

static void print_range_clear(const uint8_t *slot, const struct ntk_vendor_names *names,
                              struct slot_text *out)
{
    static const char *const modes[] = { [1] = "SEMAPHORE_ZERO" };

    (void)names;
    WORD("mode=");
    put_code(out, modes, sizeof modes / sizeof *modes, "mode", slot[12]);
    put_pair(out, " first=", slot[13]);
    put_pair(out, "last=", slot[14]);
}

static void print_ordering_mode(const uint8_t *slot, const struct ntk_vendor_names *names,
                                struct slot_text *out)
{
    static const char *const modes[] = { "relaxed", "strict" };

    (void)names;
    WORD("ordering_mode=");
    put_code(out, modes, sizeof modes / sizeof *modes, "mode", slot[12]);
    WORD(" ");
}

static void print_trigger(const uint8_t *slot, const struct ntk_vendor_names *names,
                          struct slot_text *out)
{
    char queue[NTK_VENDOR_TRIGGER_NAME_BYTES + 1];

    (void)names;
    memcpy(queue, slot + NTK_VENDOR_TRIGGER_NAME, NTK_VENDOR_TRIGGER_NAME_BYTES);
    queue[NTK_VENDOR_TRIGGER_NAME_BYTES] = '\0';
    WORD("queue=");
    put_name(out, queue);
    put_pair(out, " group=", u(slot, NTK_VENDOR_TRIGGER_GROUP, 4));
}

/* ---- transfers ---- */

/* Writes one side of a transfer. The original tool prints the use of tables in hexadecimal only if
 * the program is loaded. */
static void put_end(struct slot_text *out, const char *side, uint64_t word, bool is_pseudo)
{
    uint64_t index = word >> 32 & 0xffff;
    uint64_t offset = word & UINT32_MAX;

    if (word >> 56 == DMA_TABLE) {
        put_text(out, side);
        WORD("_table_offset_imm=");
        if (is_pseudo) {
            NUMBER(offset);
        } else {
            HEX(offset);
        }
        WORD(" ");
        put_text(out, side);
        WORD("_table_index=");
        NUMBER(index);
    } else if (word >> 56 == DMA_VARIABLE && is_pseudo) {
        put_text(out, side);
        put_pair(out, "_var_id=", index);
        put_text(out, side);
        WORD("_var_offset=");
        NUMBER(offset);
    } else {
        put_text(out, side);
        WORD("_addr_imm=");
        HEX(word);
    }
}

static void put_dma_pattern(struct slot_text *out, const char *side, const uint8_t *slot,
                            unsigned offset)
{
    put_text(out, side);
    WORD("_pattern=");
    put_list(out, slot, offset, 2, 4, false);
    put_list(out, slot, offset + 8, 2, 2, false);
    WORD(" ");
}

static void put_transfer(struct slot_text *out, const uint8_t *slot, bool is_pseudo)
{
    put_pair(out, "semaphore=", slot[NTK_VENDOR_SLOT_DMA_SEMAPHORE]);
    put_pair(out, "sem_increment=", slot[14]);
    put_pair(out, " src_elem_size=", u(slot, 36, 2));
    put_pair(out, "dst_elem_size=", u(slot, 60, 2));
    put_dma_pattern(out, "src", slot, 24);
    put_dma_pattern(out, "dst", slot, 48);
    put_end(out, "src", u(slot, 16, 8), is_pseudo);
    WORD(" src_shape_reg=0 ");
    put_end(out, "dst", u(slot, 40, 8), is_pseudo);
    WORD(" dst_shape_reg=0 ");
    if (slot[62] != slot[63]) {
        WORD("in_dtype=");
        put_dtype(out, slot[62]);
        WORD(" out_dtype=");
        put_dtype(out, slot[63]);
        WORD(" ");
    }
}

static void print_transfer(const uint8_t *slot, const struct ntk_vendor_names *names,
                           struct slot_text *out)
{
    (void)names;
    put_transfer(out, slot, false);
    WORD("compute_op=NONE ");
}

static void print_pseudo_transfer(const uint8_t *slot, const struct ntk_vendor_names *names,
                                  struct slot_text *out)
{
    (void)names;
    WORD("dge_op=DIRECT2D ");
    put_transfer(out, slot, true);
    WORD("  ");
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
    struct slot_text text = { .out = out };

    put_sync(&text, names, slot);
    (print ? print : print_unknown)(slot, names, &text);
    slot_text_end(&text);
}

void ntk_vendor_slot_print_function(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                                    const struct ntk_vendor_names *names, struct ntk_buf *out)
{
    struct slot_text text = { .out = out };

    if (slot[0] == NTK_VENDOR_OPCODE_ACTIVATE) {
        put_function(&text, names, slot[35]);
    }
    slot_text_end(&text);
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
