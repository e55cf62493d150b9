/* SPDX-License-Identifier: MIT */
/* dump_text - writes the listing: two blanks per level, one field per line, no data bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/dump.h"
#include "shared/base/str.h"

#define INDENT 2

#define COLOR_HEADING "\x1b[1m"
#define COLOR_LABEL "\x1b[36m"
#define COLOR_NAME "\x1b[32m"
#define COLOR_END "\x1b[0m"

void dump_add_safe(struct ntk_buf *out, const char *text)
{
    while (*text) {
        uint32_t code = 0;
        size_t bytes = ntk_str_utf8_read(text, strnlen(text, 4), &code);

        if (bytes > 0 && !ntk_str_is_unsafe(code)) {
            ntk_buf_add(out, text, bytes);
        } else if (*text == '\n') {
            ntk_buf_add_text(out, "\\n");
        } else {
            for (size_t i = 0; i < (bytes > 0 ? bytes : 1); i++) {
                ntk_buf_add_format(out, "\\x%02x", (unsigned char)text[i]);
            }
        }
        text += bytes > 0 ? bytes : 1;
    }
}

static void color(struct dump *dump, const char *sequence)
{
    if (dump->is_colored) {
        ntk_buf_add_text(&dump->out, sequence);
    }
}

static void indent(struct dump *dump, unsigned level)
{
    ntk_buf_add_fill(&dump->out, ' ', (size_t)level * INDENT);
}

/* Writes a heading such as "Anchors:". */
static void heading(struct dump *dump, unsigned level, const char *text)
{
    indent(dump, level);
    color(dump, COLOR_HEADING);
    ntk_buf_add_text(&dump->out, text);
    ntk_buf_add_char(&dump->out, ':');
    color(dump, COLOR_END);
    ntk_buf_add_char(&dump->out, '\n');
}

/* Writes "<label>:" before the value of a field. */
static void label(struct dump *dump, unsigned level, const char *text)
{
    indent(dump, level);
    color(dump, COLOR_LABEL);
    dump_add_safe(&dump->out, text);
    ntk_buf_add_char(&dump->out, ':');
    color(dump, COLOR_END);
}

/* Writes a field; an empty text leaves nothing after the colon. */
static void field(struct dump *dump, unsigned level, const char *name, const char *value)
{
    label(dump, level, name);
    if (value[0] != '\0') {
        ntk_buf_add_char(&dump->out, ' ');
        dump_add_safe(&dump->out, value);
    }
    ntk_buf_add_char(&dump->out, '\n');
}

static void field_number(struct dump *dump, unsigned level, const char *name, int64_t value)
{
    label(dump, level, name);
    ntk_buf_add_format(&dump->out, " %" PRId64 "\n", value);
}

static void field_size(struct dump *dump, unsigned level, const char *name, uint64_t value)
{
    label(dump, level, name);
    ntk_buf_add_format(&dump->out, " %" PRIu64 "\n", value);
}

static void field_bool(struct dump *dump, unsigned level, const char *name, bool value)
{
    field(dump, level, name, value ? "True" : "False");
}

static void field_name(struct dump *dump, unsigned level, const char *name)
{
    label(dump, level, "Name");
    ntk_buf_add_char(&dump->out, ' ');
    color(dump, COLOR_NAME);
    ntk_buf_add_char(&dump->out, '"');
    dump_add_safe(&dump->out, name);
    ntk_buf_add_char(&dump->out, '"');
    color(dump, COLOR_END);
    ntk_buf_add_text(&dump->out, ":\n");
}

static void field_programs(struct dump *dump, unsigned level, const char *name,
                           const struct popef_programs *programs)
{
    label(dump, level, name);
    ntk_buf_add_text(&dump->out, " [");
    for (size_t i = 0; i < programs->count; i++) {
        ntk_buf_add_format(&dump->out, i > 0 ? ", %" PRIu32 : "%" PRIu32, programs->indices[i]);
    }
    ntk_buf_add_text(&dump->out, "]\n");
}

static void field_tensor_info(struct dump *dump, unsigned level,
                              const struct popef_tensor_info *info)
{
    label(dump, level, "TensorInfo");
    ntk_buf_add_format(&dump->out, " { dtype: %s, sizeInBytes: %" PRId64 ", shape [",
                       popef_data_type_name(info->data_type),
                       popef_tensor_info_size_in_bytes(info));
    for (uint32_t i = 0; i < info->rank; i++) {
        ntk_buf_add_format(&dump->out, i > 0 ? ", %" PRId64 : "%" PRId64, info->shape[i]);
    }
    ntk_buf_add_text(&dump->out, "] }\n");
}

static void fields_of_blob(struct dump *dump, const struct popef_blob *blob)
{
    field(dump, 2, "Version", blob->version);
    field_size(dump, 2, "Available read size", blob->available_read_size);
}

/* ---- metadata ---- */

static int by_name(const void *a, const void *b)
{
    const struct popef_option *const *x = a;
    const struct popef_option *const *y = b;
    int order = strcmp((*x)->name, (*y)->name);

    /* Equal names keep their order in the file, which is the order in memory. */
    return order != 0 ? order : (*x > *y) - (*x < *y);
}

static void options(struct dump *dump, const char *name, const struct popef_option *list,
                    size_t count)
{
    const struct popef_option **sorted = malloc((count + 1) * sizeof *sorted);

    if (count == 0 || !sorted) {
        dump->out.failed = dump->out.failed || !sorted;
        field(dump, 1, name, "<empty>");
        free(sorted);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &list[i];
    }
    qsort(sorted, count, sizeof *sorted, by_name);
    heading(dump, 1, name);
    for (size_t i = 0; i < count; i++) {
        field(dump, 2, sorted[i]->name, sorted[i]->value);
    }
    free(sorted);
}

static void metadata_section(struct dump *dump, const struct popef_metadata_blob *blob)
{
    const struct popef_metadata *metadata = &blob->metadata;
    char number[16];

    heading(dump, 0, "Metadata");
    field(dump, 1, "Version", blob->blob.version);
    field_number(dump, 1, "IpuVersion", metadata->ipu_version);
    field(dump, 1, "Executable", metadata->executable);
    field_number(dump, 1, "Replication Factor", metadata->replication_factor);
    field_number(dump, 1, "NumIpus", metadata->num_ipus);
    field(dump, 1, "SeedHandle", metadata->seed_handle);
    field_bool(dump, 1, "IsInference", metadata->is_inference);
    field_bool(dump, 1, "IsPOD", metadata->is_pod);
    field_number(dump, 1, "NumProcesses", metadata->num_processes);
    field_number(dump, 1, "DeviceIterations", metadata->device_iterations);
    options(dump, "Engine Options", metadata->engine_options, metadata->engine_option_count);
    heading(dump, 1, "Program Flow");
    field_programs(dump, 2, "load", &metadata->program_flow.load);
    field_programs(dump, 2, "main", &metadata->program_flow.main);
    field_programs(dump, 2, "save", &metadata->program_flow.save);
    if (metadata->programs_map_count > 0) {
        heading(dump, 1, "Programs Map");
        for (size_t i = 0; i < metadata->programs_map_count; i++) {
            (void)snprintf(number, sizeof number, "%" PRIu32, metadata->programs_map[i].index);
            field(dump, 2, number, metadata->programs_map[i].name);
        }
    } else {
        field(dump, 1, "Programs Map", "<empty>");
    }
    options(dump, "Device Options", metadata->device_options, metadata->device_option_count);
}

/* ---- anchors ---- */

static void anchor_fields(struct dump *dump, const struct popef_anchor *anchor)
{
    field_name(dump, 2, anchor->name);
    field_tensor_info(dump, 3, &anchor->tensor_info);
    field_programs(dump, 3, "Programs", &anchor->programs);
    field(dump, 3, "Handle", anchor->handle);
    field_bool(dump, 3, "IsPerReplica", anchor->is_per_replica);
}

bool dump_is_popef_provided(const struct dump *dump, const struct popef_anchor *anchor)
{
    return popef_reader_find_tensor(dump->reader, anchor->name) ||
           popef_reader_find_feed(dump->reader, anchor->name);
}

static void anchors_section(struct dump *dump, size_t file)
{
    static const struct {
        const char *title;
        enum popef_tensor_type type;
        bool is_popef_provided;
    } groups[] = {
        { "Inputs (User provided)", POPEF_TENSOR_INPUT, false },
        { "Inputs (Popef provided)", POPEF_TENSOR_INPUT, true },
        { "Outputs (User provided)", POPEF_TENSOR_OUTPUT, false },
        { "Outputs (Popef provided)", POPEF_TENSOR_OUTPUT, true },
        { "Unknown (User provided)", POPEF_TENSOR_UNKNOWN, false },
        { "Unknown (Popef provided)", POPEF_TENSOR_UNKNOWN, true },
    };
    const struct popef_metadata_blob *blob;
    bool has_heading = false;

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool has_title = false;

        if (groups[g].is_popef_provided && !dump->anchors) {
            continue;
        }
        for (size_t m = 0; (blob = popef_reader_metadata(dump->reader, m)); m++) {
            for (size_t i = 0; blob->blob.file == file && i < blob->metadata.anchor_count; i++) {
                const struct popef_anchor *anchor = &blob->metadata.anchors[i];

                if (anchor->type != groups[g].type ||
                    dump_is_popef_provided(dump, anchor) != groups[g].is_popef_provided) {
                    continue;
                }
                if (!has_heading) {
                    heading(dump, 0, "Anchors");
                    has_heading = true;
                }
                if (!has_title) {
                    heading(dump, 1, groups[g].title);
                    has_title = true;
                }
                anchor_fields(dump, anchor);
            }
        }
    }
}

/* ---- blobs of data ---- */

/* Prints the heading before the first blob of a section in this file. */
static bool enter(struct dump *dump, const struct popef_blob *blob, size_t file, const char *title,
                  bool *has_heading)
{
    if (blob->file != file) {
        return false;
    }
    if (!*has_heading) {
        heading(dump, 0, title);
        *has_heading = true;
    }
    field_name(dump, 1, blob->name);
    return true;
}

static void executables_section(struct dump *dump, size_t file)
{
    const struct popef_executable *executable;
    bool has_heading = false;

    for (size_t i = 0; (executable = popef_reader_executable(dump->reader, i)); i++) {
        if (enter(dump, &executable->blob, file, "Executables", &has_heading)) {
            field_bool(dump, 2, "Is compressed", executable->blob.is_compressed);
            fields_of_blob(dump, &executable->blob);
        }
    }
}

static void tensors_section(struct dump *dump, size_t file)
{
    const struct popef_tensor *tensor;
    bool has_heading = false;

    for (size_t i = 0; (tensor = popef_reader_tensor(dump->reader, i)); i++) {
        if (enter(dump, &tensor->blob, file, "Tensors", &has_heading)) {
            fields_of_blob(dump, &tensor->blob);
            field_tensor_info(dump, 2, &tensor->info.tensor_info);
        }
    }
}

static void feeds_section(struct dump *dump, size_t file)
{
    const struct popef_feed *feed;
    bool has_heading = false;

    for (size_t i = 0; (feed = popef_reader_feed(dump->reader, i)); i++) {
        if (enter(dump, &feed->blob, file, "Feeds", &has_heading)) {
            fields_of_blob(dump, &feed->blob);
            field_size(dump, 2, "Number of tensors", feed->info.num_tensors);
            field_tensor_info(dump, 2, &feed->info.tensor_info);
        }
    }
}

static void opaques_section(struct dump *dump, size_t file)
{
    const struct popef_opaque *opaque;
    bool has_heading = false;

    for (size_t i = 0; (opaque = popef_reader_opaque(dump->reader, i)); i++) {
        if (enter(dump, &opaque->blob, file, "Opaques", &has_heading)) {
            field(dump, 2, "Executable", opaque->executable);
            fields_of_blob(dump, &opaque->blob);
        }
    }
}

static void unknown_lines(struct dump *dump, size_t file)
{
    const struct popef_blob *blob;

    for (size_t i = 0; (blob = popef_reader_unknown(dump->reader, i)); i++) {
        if (blob->file == file) {
            label(dump, 0, "Unknown");
            ntk_buf_add_format(&dump->out, " type %" PRIu32 " at offset %" PRIu64 "\n", blob->type,
                               blob->offset);
        }
    }
}

void dump_text_file(struct dump *dump, size_t file)
{
    const struct popef_metadata_blob *metadata;

    color(dump, COLOR_HEADING);
    ntk_buf_add_text(&dump->out, "PopEF file:");
    color(dump, COLOR_END);
    ntk_buf_add_char(&dump->out, ' ');
    dump_add_safe(&dump->out, popef_reader_file_name(dump->reader, file));
    ntk_buf_add_char(&dump->out, '\n');
    for (size_t i = 0; dump->metadata && (metadata = popef_reader_metadata(dump->reader, i)); i++) {
        if (metadata->blob.file == file) {
            metadata_section(dump, metadata);
        }
    }
    if (dump->anchors || dump->user_anchors) {
        anchors_section(dump, file);
    }
    if (dump->executables) {
        executables_section(dump, file);
    }
    if (dump->tensors) {
        tensors_section(dump, file);
    }
    if (dump->feeds) {
        feeds_section(dump, file);
    }
    if (dump->opaques) {
        opaques_section(dump, file);
    }
    if (dump->unknown) {
        unknown_lines(dump, file);
    }
}
