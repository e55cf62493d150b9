/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/chrome_slots.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/operands.h"
#include "profiler/output/tables/predecessors.h"
#include "shared/base/json.h"
#include "shared/base/memory.h"

#define KEPT 4096U /* number of texts that are found again by a hash: the last one per hash */
/* Maximum size of stored texts; beyond it texts are generated for each event. */
#define READY_BYTES_MAX ((size_t)128 << 20)

/* Meaning of the mark of a slot or text; larger values are an offset. */
enum {
    MARK_NEW,
    MARK_ONCE,
    MARKS,
};

struct kept_line {
    const char *file;
    uint32_t line, place;
};

struct kept_text { /* identified by address, because each text exists once */
    const char *text;
    uint32_t place;
};

struct ntk_chrome_slots {
    const struct ntk_export *export;
    const struct ntk_trace_core *core;
    size_t core_index;
    struct ntk_operands *operands;
    uint32_t *marks[NTK_NTFF_ENGINE_COUNT]; /* MARKS + index in ready */
    struct ntk_buf ready;                   /* for each text its length, then its bytes */
    struct ntk_buf slot, text;              /* texts being generated */
    uint32_t *functions, *iterations;       /* offset + 1, by 1 + index in the kernel tree */
    struct kept_line lines[KEPT];
    struct kept_text shared[KEPT];
};

struct ntk_chrome_slots *ntk_chrome_slots_create(const struct ntk_export *export, size_t core_index)
{
    struct ntk_chrome_slots *s = calloc(1, sizeof *s);
    const struct ntk_neff_positions *positions = export->program->positions;

    if (!s) {
        return NULL;
    }
    s->export = export;
    s->core = &export->trace->cores[core_index];
    s->core_index = core_index;
    s->operands = ntk_operands_create(export->trace);
    s->functions =
        calloc(positions ? positions->kernel.functions.count + 1 : 1, sizeof *s->functions);
    s->iterations =
        calloc(positions ? positions->kernel.iterations.count + 1 : 1, sizeof *s->iterations);
    bool is_good = s->operands && s->functions && s->iterations;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        const struct ntk_ntff_buffer *buffer = s->core->ntff->engine_buffers[e];
        size_t count = buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
        s->marks[e] = calloc(count + 1, sizeof *s->marks[e]);
        is_good = is_good && s->marks[e];
        ntk_memory_is_large(s->marks[e], (count + 1) * sizeof *s->marks[e]);
    }
    if (!is_good) {
        ntk_chrome_slots_destroy(s);
        return NULL;
    }
    return s;
}

void ntk_chrome_slots_destroy(struct ntk_chrome_slots *slots)
{
    if (!slots) {
        return;
    }
    ntk_operands_destroy(slots->operands);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        free(slots->marks[e]);
    }
    free(slots->functions);
    free(slots->iterations);
    ntk_buf_fini(&slots->ready);
    ntk_buf_fini(&slots->slot);
    ntk_buf_fini(&slots->text);
    free(slots);
}

/* ---- texts that are ready ---- */

static bool is_full(const struct ntk_chrome_slots *s)
{
    return s->ready.bytes_count >= READY_BYTES_MAX || !ntk_buf_ok(&s->ready);
}

/* Begins a stored text; returns its index. */
static uint32_t begin_ready(struct ntk_chrome_slots *s)
{
    uint32_t place = (uint32_t)s->ready.bytes_count;

    (void)ntk_buf_extend(&s->ready, sizeof(uint32_t));
    return place;
}

static void end_ready(struct ntk_chrome_slots *s, uint32_t place)
{
    uint32_t length = (uint32_t)(s->ready.bytes_count - place - sizeof length);

    if (ntk_buf_ok(&s->ready)) {
        memcpy(s->ready.bytes + place, &length, sizeof length);
    }
}

static void add_ready(const struct ntk_chrome_slots *s, uint32_t place, struct ntk_buf *out)
{
    uint32_t length;

    if (!ntk_buf_ok(&s->ready)) {
        out->failed = true;
        return;
    }
    memcpy(&length, s->ready.bytes + place, sizeof length);
    ntk_buf_add(out, s->ready.bytes + place + sizeof length, length);
}

/* ---- arguments ---- */

/* An argument ,"key":"text" with a borrowed text */
struct argument {
    const char *key;
    size_t bytes;
};
#define ARGUMENT(name)                                 \
    (struct argument)                                  \
    {                                                  \
        ",\"" name "\":", sizeof(",\"" name "\":") - 1 \
    }

static void put_text(struct ntk_buf *out, struct argument argument, const char *text)
{
    ntk_buf_add(out, argument.key, argument.bytes);
    ntk_json_add_quoted(out, text);
}

/* Generates key and text, to be reused. */
static uint32_t make_ready(struct ntk_chrome_slots *s, struct argument argument, const char *text)
{
    uint32_t place = begin_ready(s);

    put_text(&s->ready, argument, text);
    end_ready(s, place);
    return place;
}

/* Writes a text that equal instructions share, which is reused from the second time on. */
static void put_marked(struct ntk_chrome_slots *s, struct ntk_buf *out, struct argument argument,
                       const char *text, uint64_t *mark)
{
    if (*mark == MARK_ONCE && !is_full(s)) {
        *mark = MARKS + (uint64_t)make_ready(s, argument, text);
    }
    if (*mark >= MARKS) {
        add_ready(s, (uint32_t)(*mark - MARKS), out);
    } else {
        *mark = MARK_ONCE;
        put_text(out, argument, text);
    }
}

static size_t hash_of(const char *text)
{
    return (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static void put_shared(struct ntk_chrome_slots *s, struct ntk_buf *out, struct argument argument,
                       const char *text)
{
    struct kept_text *kept = &s->shared[hash_of(text) % KEPT];

    if (kept->text != text) {
        if (is_full(s)) {
            put_text(out, argument, text);
            return;
        }
        *kept = (struct kept_text){ text, make_ready(s, argument, text) };
    }
    add_ready(s, kept->place, out);
}

/* Writes s->text, which is common to a row of the kernel tree; *place is 1 + the offset of the
 * text. */
static void put_made(struct ntk_chrome_slots *s, struct ntk_buf *out, struct argument argument,
                     uint32_t *place)
{
    const char *text = ntk_buf_text_get(&s->text);

    out->failed = out->failed || !ntk_buf_ok(&s->text);
    if (is_full(s)) {
        put_text(out, argument, text);
        return;
    }
    *place = 1 + make_ready(s, argument, text);
    add_ready(s, *place - 1, out);
}

static void put_line(struct ntk_chrome_slots *s, struct ntk_buf *out,
                     const struct ntk_neff_position *position, const char *file, uint32_t line)
{
    static const struct argument source = ARGUMENT("source");
    struct kept_line *kept = &s->lines[(hash_of(file) + line * 31U) % KEPT];

    if (kept->file == file && kept->line == line) {
        add_ready(s, kept->place, out);
        return;
    }
    ntk_buf_reset(&s->text);
    if (ntk_neff_position_line_add(s->export->program->positions, position, &s->text)) {
        uint32_t place = 0;
        put_made(s, out, source, &place);
        if (place) {
            *kept = (struct kept_line){ file, line, place - 1 };
        }
    }
}

/* Writes line, function and iteration. */
static void put_position(struct ntk_chrome_slots *s, struct ntk_buf *out,
                         const struct ntk_neff_position *position)
{
    const struct ntk_neff_positions *positions = s->export->program->positions;
    const struct ntk_neff_kernel_instruction *kernel =
        ntk_neff_position_instruction(positions, position);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, kernel);

    if (position->file) {
        put_line(s, out, position, ntk_neff_position_file(positions, position), position->line);
    } else if (function) {
        put_line(s, out, position, function->file, kernel->line);
    }
    uint32_t *places[] = { kernel ? &s->functions[kernel->function] : NULL,
                           kernel ? &s->iterations[kernel->iteration] : NULL };
    if (function && *places[0]) {
        add_ready(s, *places[0] - 1, out);
    } else if (function && function->name[0]) {
        ntk_buf_reset(&s->text);
        ntk_buf_add_text(&s->text, function->name);
        put_made(s, out, ARGUMENT("function"), places[0]);
    }
    if (kernel && kernel->iteration && *places[1]) {
        add_ready(s, *places[1] - 1, out);
    } else if (kernel && kernel->iteration) {
        ntk_buf_reset(&s->text);
        ntk_neff_position_path_add(positions, position, &s->text);
        put_made(s, out, ARGUMENT("iteration"), places[1]);
    }
}

/* Writes the common part of all events of the slot. */
static void put_slot(struct ntk_chrome_slots *s, const struct ntk_trace_instruction *instruction,
                     struct ntk_buf *out)
{
    const struct ntk_program *program = s->export->program;
    const struct ntk_slot_fact *fact = ntk_program_fact(program, s->core_index, instruction);
    const struct ntk_neff_debug *names = program->names[s->core_index];
    const struct ntk_neff_debug_instruction *named = names ? fact->named : NULL;
    const struct ntk_neff_position *position =
        names ? ntk_program_position(program, s->core_index, instruction) : NULL;
    const char *layer = ntk_layer_name(program, s->core, fact);
    struct ntk_operands_text text = { 0 };

    (void)ntk_operands_of_code(s->operands, fact->code, instruction, &text);
    if (text.operands && text.operands[0]) {
        put_marked(s, out, ARGUMENT("operands"), text.operands, &text.marks[0]);
    }
    if (layer && layer[0]) {
        put_shared(s, out, ARGUMENT("layer"), layer);
    }
    if (named && named->name[0]) {
        put_text(out, ARGUMENT("bir_instruction_name"), named->name);
    }
    if (position) {
        put_position(s, out, position);
    }
    if (named && named->penguin_text) {
        put_shared(s, out, ARGUMENT("penguin_text"), named->penguin_text);
    }
    if (text.compiler_operands) {
        put_marked(s, out, ARGUMENT("compiler_operands"), text.compiler_operands, &text.marks[1]);
    }
    if (named && named->predecessor_count) {
        ntk_buf_reset(&s->text);
        ntk_predecessors_print(names, named, &s->text);
        out->failed = out->failed || !ntk_buf_ok(&s->text);
        put_text(out, ARGUMENT("predecessors"), ntk_buf_text_get(&s->text));
    }
}

void ntk_chrome_slots_add(struct ntk_chrome_slots *slots,
                          const struct ntk_trace_instruction *instruction, struct ntk_buf *out)
{
    uint32_t *mark = &slots->marks[instruction->engine][instruction->slot];

    if (*mark >= MARKS) {
        add_ready(slots, *mark - MARKS, out);
    } else if (*mark == MARK_ONCE && !is_full(slots)) {
        ntk_buf_reset(&slots->slot);
        put_slot(slots, instruction, &slots->slot);
        uint32_t place = begin_ready(slots);
        ntk_buf_add(&slots->ready, slots->slot.bytes, slots->slot.bytes_count);
        end_ready(slots, place);
        out->failed = out->failed || !ntk_buf_ok(&slots->slot);
        add_ready(slots, place, out);
        *mark = MARKS + place;
    } else {
        put_slot(slots, instruction, out);
        *mark = MARK_ONCE;
    }
}
