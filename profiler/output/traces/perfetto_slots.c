/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/perfetto_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/operands.h"
#include "profiler/output/tables/predecessors.h"
#include "profiler/output/traces/slots_ahead.h"
#include "shared/base/memory.h"

#define KEPT 4096U /* number of texts that are found again by a hash: the last one per hash */

/* Meaning of the mark of a slot or text; larger values are the offset or the iid. */
enum {
    MARK_NEW,
    MARK_ONCE, /* it was written in place once */
    MARKS,
};

enum kind {
    KIND_INSTRUCTION,
    KIND_TRANSFER,
    KINDS,
};

struct argument { /* an interned argument, as it is written */
    uint8_t bytes[NTK_PERFETTO_ARGUMENT_BYTES - 1];
    uint8_t count; /* 0: none */
};

struct kept_line {
    const char *file;
    uint32_t line;
    struct argument argument;
};

struct kept_place { /* of the last instruction of an engine; most have the same as the one before */
    uint32_t function, iteration;
    struct argument arguments[2];
};

struct kept_operands { /* of a code */
    bool is_known;
    struct argument arguments[2];
};

struct kept_text { /* identified by address, because each text exists once */
    const char *text;
    uint32_t iid;
};

struct ntk_perfetto_slots {
    struct ntk_perfetto *to;
    const struct ntk_export *export;
    const struct ntk_trace_core *core;
    size_t core_index;
    struct ntk_operands *operands;
    uint32_t *marks[KINDS][NTK_NTFF_ENGINE_COUNT]; /* MARKS + index in ready */
    struct ntk_buf ready;     /* for each slot a length, then the bytes of its arguments */
    struct ntk_buf arguments; /* arguments of the current slice; bytes_count is unused */
    struct ntk_buf text;      /* text being generated */
    struct ntk_buf texts;     /* texts added since the last packet with texts */
    bool interns;             /* the slot ran before, so its texts are interned */
    /* Texts shared by unrolled instructions are interned at first use. */
    uint32_t *functions, *iterations; /* iids, by 1 + index in the kernel tree; 0 if none */
    struct kept_place places[NTK_NTFF_ENGINE_COUNT];
    struct kept_operands *operands_of; /* by number of the code */
    struct kept_line lines[KEPT];
    struct kept_text shared[KEPT];
};

static bool positions_init(struct ntk_perfetto_slots *s)
{
    const struct ntk_neff_positions *positions = s->export->program->positions;

    if (!positions) {
        return true;
    }
    s->functions = calloc(positions->kernel.functions.count + 1, sizeof *s->functions);
    s->iterations = calloc(positions->kernel.iterations.count + 1, sizeof *s->iterations);
    return s->functions && s->iterations;
}

struct ntk_perfetto_slots *ntk_perfetto_slots_create(struct ntk_perfetto *to,
                                                     const struct ntk_export *export,
                                                     size_t core_index)
{
    struct ntk_perfetto_slots *s = calloc(1, sizeof *s);
    bool is_good = s != NULL;

    if (!s) {
        return NULL;
    }
    s->to = to;
    s->export = export;
    s->core = &export->trace->cores[core_index];
    s->core_index = core_index;
    s->operands = ntk_operands_create(export->trace);
    s->operands_of = calloc(export->program->code_count + 1, sizeof *s->operands_of);
    is_good = positions_init(s) && s->operands && s->operands_of;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = s->core->ntff->engine_buffers[e];
        size_t count = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        for (unsigned k = 0; k < KINDS; k++) {
            s->marks[k][e] = calloc(count + 1, sizeof *s->marks[k][e]);
            is_good = is_good && s->marks[k][e];
            ntk_memory_is_large(s->marks[k][e], (count + 1) * sizeof *s->marks[k][e]);
        }
    }
    if (!is_good) {
        ntk_perfetto_slots_destroy(s);
        return NULL;
    }
    return s;
}

void ntk_perfetto_slots_destroy(struct ntk_perfetto_slots *slots)
{
    if (!slots) {
        return;
    }
    ntk_operands_destroy(slots->operands);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned k = 0; k < KINDS; k++) {
            free(slots->marks[k][e]);
        }
    }
    free(slots->functions);
    free(slots->iterations);
    free(slots->operands_of);
    ntk_buf_fini(&slots->ready);
    ntk_buf_fini(&slots->arguments);
    ntk_buf_fini(&slots->text);
    ntk_buf_fini(&slots->texts);
    free(slots);
}

/* ---- arguments ---- */

/* Maximum size of numbers and interned texts in a slice. */
#define NUMBERS_BYTES ((size_t)NTK_PERFETTO_ARGUMENT_COUNT * NTK_PERFETTO_ARGUMENT_BYTES)

/* Returns space after `at` for a text and all numbers; NULL if out of memory. */
static uint8_t *make_room(struct ntk_perfetto_slots *s, uint8_t *at, size_t text_bytes)
{
    struct ntk_buf *buf = &s->arguments;
    size_t used = at ? (size_t)(at - (uint8_t *)buf->bytes) : 0;
    size_t needed = NTK_PERFETTO_TEXT_BYTES(text_bytes) + NUMBERS_BYTES;

    if (buf->capacity - used <= needed) {
        buf->bytes_count = used;
        if (!ntk_buf_extend(buf, needed)) {
            return NULL;
        }
    }
    return (uint8_t *)buf->bytes + used;
}

static uint32_t add_text(struct ntk_perfetto_slots *s, const char *text)
{
    return text && text[0] ? (uint32_t)ntk_perfetto_add_text(s->to, text, &s->texts) : 0;
}

/* Interns s->text. */
static uint32_t add_made_text(struct ntk_perfetto_slots *s)
{
    s->texts.failed = s->texts.failed || !ntk_buf_ok(&s->text);
    return add_text(s, ntk_buf_text_get(&s->text));
}

static inline uint8_t *put_iid(uint8_t *at, unsigned name, uint32_t iid)
{
    return iid ? ntk_perfetto_argument(at, name, NTK_PERFETTO_STRING, iid) : at;
}

static inline void keep_iid(struct argument *argument, unsigned name, uint32_t iid)
{
    argument->count = (uint8_t)(put_iid(argument->bytes, name, iid) - argument->bytes);
}

static inline uint8_t *put_argument(uint8_t *at, const struct argument *argument)
{
    memcpy(at, argument, sizeof *argument);
    return at + argument->count;
}

/* Writes a text that only this slot has, as far as known. */
static uint8_t *put_text(struct ntk_perfetto_slots *s, uint8_t *at, unsigned name, const char *text)
{
    if (!text || !text[0]) {
        return at;
    }
    if (s->interns) {
        return put_iid(at, name, add_text(s, text));
    }
    size_t length = strlen(text);
    uint8_t *room = make_room(s, at, length);
    if (!room) {
        s->texts.failed = true;
        return at;
    }
    return ntk_perfetto_text_argument(room, name, text, length);
}

/* Writes a text that equal instructions share; it is interned at its second use. */
static uint8_t *put_marked(struct ntk_perfetto_slots *s, uint8_t *at, unsigned name,
                           const char *text, uint64_t *mark)
{
    if (!text || !text[0]) {
        return at;
    }
    while (*text == ' ') {
        text++;
    }
    if (*mark == MARK_NEW && !s->interns) {
        *mark = MARK_ONCE;
        return put_text(s, at, name, text);
    }
    if (*mark < MARKS) {
        *mark = add_text(s, text);
    }
    return put_iid(at, name, (uint32_t)*mark);
}

static uint8_t *put_shared(struct ntk_perfetto_slots *s, uint8_t *at, unsigned name,
                           const char *text)
{
    size_t hash = (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEPT;

    if (!text || !text[0]) {
        return at;
    }
    if (s->shared[hash].text != text) {
        s->shared[hash] = (struct kept_text){ text, add_text(s, text) };
    }
    return put_iid(at, name, s->shared[hash].iid);
}

/* hash: of file and line; neighbouring lines are next to each other in memory. */
static inline uint8_t *put_line(struct ntk_perfetto_slots *s, uint8_t *at,
                                const struct ntk_neff_position *position, uint64_t hash,
                                const char *file, uint32_t line)
{
    struct kept_line *kept = &s->lines[hash % KEPT];

    if (kept->file != file || kept->line != line) {
        ntk_buf_reset(&s->text);
        (void)ntk_neff_position_line_add(s->export->program->positions, position, &s->text);
        kept->file = file;
        kept->line = line;
        keep_iid(&kept->argument, NTK_PERFETTO_SOURCE, add_made_text(s));
    }
    return put_argument(at, &kept->argument);
}

/* Interns function and iteration. */
static void keep_place(struct ntk_perfetto_slots *s, struct kept_place *place,
                       const struct ntk_neff_position *position,
                       const struct ntk_neff_kernel_instruction *kernel)
{
    const struct ntk_neff_positions *positions = s->export->program->positions;
    uint32_t *function = &s->functions[kernel->function];
    uint32_t *iteration = &s->iterations[kernel->iteration];

    if (kernel->function && !*function) {
        *function = add_text(s, ntk_neff_position_function(positions, kernel)->name);
    }
    if (kernel->iteration && !*iteration) {
        ntk_buf_reset(&s->text);
        ntk_neff_position_path_add(positions, position, &s->text);
        *iteration = add_made_text(s);
    }
    place->function = kernel->function;
    place->iteration = kernel->iteration;
    keep_iid(&place->arguments[0], NTK_PERFETTO_FUNCTION, *function);
    keep_iid(&place->arguments[1], NTK_PERFETTO_ITERATION, *iteration);
}

/* Writes line, function and iteration. */
static inline uint8_t *put_position(struct ntk_perfetto_slots *s, uint8_t *at, unsigned engine,
                                    const struct ntk_neff_position *position)
{
    const struct ntk_neff_positions *positions = s->export->program->positions;
    const struct ntk_neff_kernel_instruction *kernel =
        ntk_neff_position_instruction(positions, position);
    struct kept_place *place = &s->places[engine];

    if (position->file) {
        at = put_line(s, at, position, position->file * 1021ULL + position->line,
                      ntk_neff_position_file(positions, position), position->line);
    } else if (kernel && kernel->function) {
        const char *file = ntk_neff_position_function(positions, kernel)->file;
        at = put_line(s, at, position, ((uintptr_t)file >> 4) + kernel->line, file, kernel->line);
    }
    if (!kernel) {
        return at;
    }
    if (place->function != kernel->function || place->iteration != kernel->iteration) {
        keep_place(s, place, position, kernel);
    }
    return put_argument(put_argument(at, &place->arguments[0]), &place->arguments[1]);
}

static uint8_t *put_layer(struct ntk_perfetto_slots *s, uint8_t *at,
                          const struct ntk_slot_fact *fact)
{
    if (fact->code->layer > NTK_LAYER_RUNTIME) {
        return put_iid(at, NTK_PERFETTO_LAYER, fact->code->layer);
    }
    const char *name = ntk_layer_name(s->export->program, s->core, fact);
    return !name || strcmp(name, NTK_LAYER_UNKNOWN) != 0
               ? put_shared(s, at, NTK_PERFETTO_LAYER, name)
               : put_iid(at, NTK_PERFETTO_LAYER, NTK_PERFETTO_UNKNOWN_LAYER);
}

/* Writes the operands; they are kept once both texts are interned. */
static uint8_t *put_operands(struct ntk_perfetto_slots *s, uint8_t *at,
                             const struct ntk_slot_code *code,
                             const struct ntk_trace_instruction *instruction)
{
    struct kept_operands *kept = &s->operands_of[code->number];
    struct ntk_operands_text text;

    if (!ntk_operands_of_code(s->operands, code, instruction, &text)) {
        return at;
    }
    at = put_marked(s, at, NTK_PERFETTO_OPERANDS, text.operands, &text.marks[0]);
    at = put_marked(s, at, NTK_PERFETTO_COMPILER_OPERANDS, text.compiler_operands, &text.marks[1]);
    kept->is_known = text.marks[0] != MARK_ONCE && text.marks[1] != MARK_ONCE;
    if (kept->is_known) {
        keep_iid(&kept->arguments[0], NTK_PERFETTO_OPERANDS, (uint32_t)text.marks[0]);
        keep_iid(&kept->arguments[1], NTK_PERFETTO_COMPILER_OPERANDS, (uint32_t)text.marks[1]);
    }
    return at;
}

static uint8_t *put_instruction(struct ntk_perfetto_slots *s, uint8_t *at,
                                const struct ntk_trace_instruction *instruction)
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(s->export->program, s->core_index, instruction);
    const struct ntk_neff_debug_instruction *named = fact->named;
    const struct kept_operands *operands = &s->operands_of[fact->code->number];

    at = ntk_perfetto_argument(at, NTK_PERFETTO_PC, NTK_PERFETTO_UINT, instruction->slot);
    if (fact->compiler_pc >= 0) {
        at = ntk_perfetto_argument(at, NTK_PERFETTO_COMPILER_PC, NTK_PERFETTO_UINT,
                                   (uint64_t)fact->compiler_pc);
    }
    at = put_layer(s, at, fact);
    if (named) {
        at = put_text(s, at, NTK_PERFETTO_BIR_NAME, named->name);
        at = put_shared(s, at, NTK_PERFETTO_PENGUIN_TEXT, named->penguin_text);
    }
    if (named && named->predecessor_count) {
        ntk_buf_reset(&s->text);
        ntk_predecessors_print(s->export->program->names[s->core_index], named, &s->text);
        s->texts.failed = s->texts.failed || !ntk_buf_ok(&s->text);
        at = put_text(s, at, NTK_PERFETTO_PREDECESSORS, ntk_buf_text_get(&s->text));
    }
    if (operands->is_known) {
        at = put_argument(at, &operands->arguments[0]);
        at = put_argument(at, &operands->arguments[1]);
    } else {
        at = put_operands(s, at, fact->code, instruction);
    }
    const struct ntk_neff_position *position =
        ntk_program_position(s->export->program, s->core_index, instruction);
    return position ? put_position(s, at, instruction->engine, position) : at;
}

static uint8_t *put_moves(struct ntk_perfetto_slots *s, uint8_t *at,
                          const struct ntk_trace_instruction *by)
{
    const struct ntk_moves *moves =
        ntk_program_fact(s->export->program, s->core_index, by)->code->moves;

    if (moves) {
        at = put_text(s, at, NTK_PERFETTO_VARIABLE, moves->variable);
        at = put_text(s, at, NTK_PERFETTO_SOURCE, moves->sides[NTK_MOVES_SOURCE]);
        at = put_text(s, at, NTK_PERFETTO_DEST, moves->sides[NTK_MOVES_DEST]);
        at = put_text(s, at, NTK_PERFETTO_DMA_NAME, moves->name);
    }
    return at;
}

/* Fetches the mark of a later instruction into the cache, see slots_ahead.h. */
static inline void fetch_mark(const struct ntk_perfetto_slots *s,
                              const struct ntk_trace_instruction *instruction)
{
    const struct ntk_trace_instruction *later = instruction + NTK_AHEAD_TEXTS;

    if (later < s->core->instructions + s->core->instruction_count) {
        __builtin_prefetch(&s->marks[KIND_INSTRUCTION][later->engine][later->slot]);
    }
}

typedef uint8_t *put_slot(struct ntk_perfetto_slots *s, uint8_t *at,
                          const struct ntk_trace_instruction *instruction);

/* Maximum size of stored arguments, enough for several million slots; beyond it, arguments are
 * generated for each slice, in place. */
#define READY_BYTES_MAX ((size_t)128 << 20)

/* Stores the bytes from `first` on. */
static void keep(struct ntk_perfetto_slots *s, uint32_t *mark, const uint8_t *first, size_t count)
{
    uint16_t length = (uint16_t)count;
    size_t place = s->ready.bytes_count;

    if (count <= UINT16_MAX) {
        uint8_t *room = ntk_buf_extend(&s->ready, sizeof length + count);
        if (room) {
            memcpy(room, &length, sizeof length);
            memcpy(room + sizeof length, first, count);
            *mark = MARKS + (uint32_t)place;
        }
    }
}

/* Writes the slot's arguments after `at`. */
static uint8_t *add_slot(struct ntk_perfetto_slots *s, uint8_t *at, enum kind kind,
                         const struct ntk_trace_instruction *instruction, put_slot *put)
{
    uint32_t *mark = &s->marks[kind][instruction->engine][instruction->slot];

    if (*mark >= MARKS) {
        const char *ready = s->ready.bytes + (*mark - MARKS);
        uint16_t length;
        memcpy(&length, ready, sizeof length);
        memcpy(at, ready + sizeof length, length);
        return at + length;
    }
    size_t before = (size_t)(at - (uint8_t *)s->arguments.bytes);
    s->interns = *mark == MARK_ONCE && s->ready.bytes_count < READY_BYTES_MAX;
    at = put(s, at, instruction);
    if (s->interns) {
        const uint8_t *first = (uint8_t *)s->arguments.bytes + before;
        keep(s, mark, first, (size_t)(at - first));
    } else {
        *mark = MARK_ONCE;
    }
    return at;
}

static int finish(struct ntk_perfetto_slots *s, const uint8_t *at,
                  struct ntk_perfetto_arguments *out_arguments)
{
    const uint8_t *first = (const uint8_t *)s->arguments.bytes;

    *out_arguments = (struct ntk_perfetto_arguments){ first, (size_t)(at - first) };
    return s->texts.bytes_count || s->texts.failed ? ntk_perfetto_put_texts(s->to, &s->texts) : 0;
}

int ntk_perfetto_slots_instruction(struct ntk_perfetto_slots *slots,
                                   const struct ntk_trace_instruction *instruction,
                                   struct ntk_perfetto_arguments *out_arguments)
{
    const struct ntk_trace *trace = slots->export->trace;
    uint8_t *at = make_room(slots, NULL, 0);

    if (!at) {
        return -ENOMEM;
    }
    fetch_mark(slots, instruction);
    if (trace->has_chip && instruction->wait_cycles) {
        /* 32 bits are used because a 64-bit division takes three times as long. */
        uint32_t wait_ns = instruction->wait_cycles * 1000U / (uint32_t)trace->chip.base_mhz;
        at = ntk_perfetto_argument(at, NTK_PERFETTO_WAIT, NTK_PERFETTO_UINT, wait_ns);
    }
    at = add_slot(slots, at, KIND_INSTRUCTION, instruction, put_instruction);
    return finish(slots, at, out_arguments);
}

int ntk_perfetto_slots_transfer(struct ntk_perfetto_slots *slots,
                                const struct ntk_transfer *transfer,
                                const struct ntk_trace_instruction *by,
                                struct ntk_perfetto_arguments *out_arguments)
{
    uint8_t *at = make_room(slots, NULL, 0);

    if (!at) {
        return -ENOMEM;
    }
    at = ntk_perfetto_argument(at, NTK_PERFETTO_BYTES, NTK_PERFETTO_UINT, transfer->bytes_count);
    at = ntk_perfetto_argument(at, NTK_PERFETTO_PACKETS, NTK_PERFETTO_UINT, transfer->packet_count);
    at = add_slot(slots, at, KIND_TRANSFER, by, put_moves);
    return finish(slots, at, out_arguments);
}
