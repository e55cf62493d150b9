/* SPDX-License-Identifier: MIT */
/* rows_file - creates rows for general data of capture and NEFF: header, tensors, machine,
 * warnings. */
#include "profiler/output/tables/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "profiler/analysis/tensor_traffic.h"
#include "profiler/output/tables/output_part.h"
#include "profiler/output/tables/predecessors.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define JSON_DATA_VERSION 8
#define NS_PER_SECOND 1000000000
#define TRAINIUM2_GENERATION 3
#define HASH_BYTES_SHOWN 16
#define CATEGORY_MISSING "Missing Data"
#define CATEGORY_DAMAGED "Damaged Data"
#define CATEGORY_PART "Part"
#define CATEGORY_METRICS "metrics"

int ntk_rows_header(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_neff *neff = export->trace->neff;
    struct ntk_buf features = { 0 };
    char uuid[2 * sizeof neff->header.uuid + 1];
    char hash[2 * HASH_BYTES_SHOWN + 1];
    char package[24];
    char name[sizeof neff->header.name];
    char build[sizeof neff->header.build_version];

    if (!neff) {
        return 0;
    }
    uint32_t lnc = ntk_neff_lnc(&neff->header);
    ntk_str_hex(uuid, neff->header.uuid, sizeof neff->header.uuid);
    ntk_str_hex(hash, neff->header.hash, HASH_BYTES_SHOWN);
    snprintf(package, sizeof package, "%" PRIu64, neff->header.pkg_version);
    /* The texts in the header are unchecked bytes; texts in its JSON were validated. */
    ntk_str_copy_clean(name, sizeof name, neff->header.name, strlen(neff->header.name));
    ntk_str_copy_clean(build, sizeof build, neff->header.build_version,
                       strlen(neff->header.build_version));
    ntk_neff_features_show(&neff->header, &features);
    struct ntk_header_row row = {
        .name = name,
        .uuid = uuid,
        .hash = hash,
        .features = ntk_buf_text_get(&features),
        .build_version = build,
        .package_version_text = package,
        .header_bytes = ntk_rows_i64(neff->header.header_size),
        .data_bytes = ntk_rows_i64(neff->header.data_size),
        .major = ntk_rows_i64(neff->header.version_major),
        .minor = ntk_rows_i64(neff->header.version_minor),
        .package_version = ntk_rows_i64(neff->header.pkg_version),
        .core_count = (int64_t)neff->header.num_tpb * lnc,
        .logical_core_count = neff->header.num_tpb,
        .cores_per_logical = lnc,
    };
    int ret = ntk_buf_ok(&features) ? put(ctx, &row) : -ENOMEM;
    ntk_buf_fini(&features);
    return ret;
}

/* ---- tensors ---- */

/* Returns true for the file of a constant: "value_<name in the map>.npy". */
static bool is_file_of(const char *file_name, const char *name)
{
    size_t length = strlen(name);

    return file_name && ntk_str_starts_with(file_name, "value_") &&
           strncmp(file_name + 6, name, length) == 0 && strcmp(file_name + 6 + length, ".npy") == 0;
}

/* Finds a variable by its name. Constants have a different name in the map. */
static const struct ntk_neff_mapped_tensor *find_mapped(const struct ntk_neff_subgraph *subgraph,
                                                        const struct ntk_neff_var *var)
{
    for (uint32_t m = 0; m < subgraph->mapped_count; m++) {
        const struct ntk_neff_mapped_tensor *mapped = &subgraph->mapped[m];
        if (strcmp(mapped->name, var->name) == 0 || is_file_of(var->file_name, mapped->name)) {
            return mapped;
        }
    }
    return NULL;
}

/* Writes a shape such as "[128 512]". */
static void put_shape(const struct ntk_neff_mapped_tensor *mapped, struct ntk_buf *text)
{
    ntk_buf_reset(text);
    for (uint32_t d = 0; d < mapped->dim_count; d++) {
        ntk_buf_add_char(text, d ? ' ' : '[');
        ntk_buf_add_u64(text, mapped->dims[d]);
    }
    ntk_buf_add_text(text, mapped->dim_count ? "]" : "[]");
}

static bool is_in_earlier_core(const struct ntk_trace *trace, size_t core_index, const char *name)
{
    for (size_t c = 0; c < core_index; c++) {
        const struct ntk_neff_subgraph *earlier = trace->cores[c].neff;
        if (earlier &&
            (earlier == trace->cores[core_index].neff || ntk_neff_var_by_name(earlier, name))) {
            return true;
        }
    }
    return false;
}

/* Loaded data by name; empty if unknown. */
struct loads {
    bool is_known;
    struct ntk_tensor_traffic traffic;
    struct ntk_map rows; /* keyed by name */
};

/* Returns 0 or -ENOMEM. */
static int find_loads(const struct ntk_program *program, struct loads *loads)
{
    int ret = ntk_analysis_tensor_traffic(program, &loads->traffic);

    loads->is_known = ret == 0;
    for (size_t i = 0; i < loads->traffic.row_count && ret == 0; i++) {
        ret = ntk_map_put(&loads->rows, loads->traffic.rows[i].name, &loads->traffic.rows[i]);
    }
    return ret == -ENODATA ? 0 : ret;
}

static void loads_fini(struct loads *loads)
{
    ntk_map_fini(&loads->rows);
    ntk_tensor_traffic_fini(&loads->traffic);
}

static void fill_loads(const struct loads *loads, struct ntk_tensor_info_row *row)
{
    const struct ntk_tensor_row *of = ntk_map_get(&loads->rows, row->name);
    uint64_t bytes_count = of ? of->load_bytes : 0;
    uint64_t count = of ? of->load_count : 0;

    row->load_mean_bytes = NTK_ABSENT_I64;
    row->load_ratio = NTK_ABSENT_F64;
    row->load_count = loads->is_known ? ntk_rows_i64(count) : NTK_ABSENT_I64;
    row->load_bytes = loads->is_known ? ntk_rows_i64(bytes_count) : NTK_ABSENT_I64;
    if (count) {
        row->load_mean_bytes = ntk_rows_i64(bytes_count / count);
    }
    if (loads->is_known && row->bytes > 0) {
        row->load_ratio = (double)bytes_count / (double)row->bytes;
    }
}

static int put_tensors(const struct ntk_trace *trace, const struct loads *loads,
                       enum ntk_neff_var_type type, const char *type_name, ntk_row_put *put,
                       void *ctx)
{
    struct ntk_buf shape = { 0 };
    int ret = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_neff_subgraph *subgraph = trace->cores[c].neff;
        for (uint32_t v = 0; subgraph && v < subgraph->var_count && ret == 0; v++) {
            const struct ntk_neff_var *var = &subgraph->vars[v];
            if (var->type != type || is_in_earlier_core(trace, c, var->name)) {
                continue;
            }
            const struct ntk_neff_mapped_tensor *mapped = find_mapped(subgraph, var);
            struct ntk_tensor_info_row row = {
                .name = var->name,
                .type = type_name,
                .subgraph = "",
                .bytes = ntk_rows_i64(var->bytes_count),
                .node = NTK_ABSENT_I64,
                .core_index = (int64_t)ntk_trace_core_number(trace, c),
            };
            if (mapped) {
                put_shape(mapped, &shape);
                row.format = mapped->format;
                row.shape = ntk_buf_text_get(&shape);
            }
            fill_loads(loads, &row);
            ret = ntk_buf_ok(&shape) ? put(ctx, &row) : -ENOMEM;
        }
    }
    ntk_buf_fini(&shape);
    return ret;
}

int ntk_rows_tensors(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    static const struct {
        enum ntk_neff_var_type type;
        const char *name;
    } types[] = { { NTK_NEFF_VAR_INPUT, "IN" },
                  { NTK_NEFF_VAR_OUTPUT, "OUT" },
                  { NTK_NEFF_VAR_FILE, "WEIGHT" } };
    struct loads loads = { 0 };
    int ret = find_loads(export->program, &loads);

    for (size_t t = 0; t < sizeof types / sizeof *types && ret == 0; t++) {
        ret = put_tensors(trace, &loads, types[t].type, types[t].name, put, ctx);
    }
    loads_fini(&loads);
    return ret;
}

/* Returns the node of the graph that runs a subgraph; absent if none. */
static int64_t node_index(const struct ntk_neff *neff, const struct ntk_neff_subgraph *subgraph)
{
    for (uint32_t n = 0; n < neff->node_count; n++) {
        const struct ntk_neff_node *node = &neff->nodes[n];
        if (node->kind != NTK_NEFF_NODE_CORE || node->kelf >= neff->kelf_count) {
            continue;
        }
        const struct ntk_neff_kelf *kelf = &neff->kelfs[node->kelf];
        if (subgraph >= kelf->subgraphs && subgraph < kelf->subgraphs + kelf->subgraph_count) {
            return n;
        }
    }
    return NTK_ABSENT_I64;
}

static int put_node(const struct ntk_trace *trace, size_t core_index, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace_core *core = &trace->cores[core_index];
    struct ntk_tensor_info_row row = {
        .name = "",
        .type = "",
        .format = "",
        .shape = "",
        .subgraph = core->ntff->name,
        .bytes = NTK_ABSENT_I64,
        .core_index = (int64_t)ntk_trace_core_number(trace, core_index),
        .load_count = NTK_ABSENT_I64,
        .load_bytes = NTK_ABSENT_I64,
        .load_mean_bytes = NTK_ABSENT_I64,
        .load_ratio = NTK_ABSENT_F64,
    };

    if (!core->neff) {
        return 0;
    }
    row.node = node_index(trace->neff, core->neff);
    return put(ctx, &row);
}

int ntk_rows_nodes_and_tensors(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    int ret = 0;

    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = put_node(trace, c, put, ctx);
        if (ret == 0 && c == 0) {
            ret = ntk_rows_tensors(export, put, ctx);
        }
    }
    return ret;
}

/* ---- the machine and the capture ---- */

static const char *summary_text(const struct ntk_summary *summary, enum ntk_summary_id id)
{
    return summary->values[id].is_present ? summary->values[id].text : NULL;
}

/* Formats ns since 1970 as a date and time with as many digits as needed. */
static void time_text(char *buf, size_t buf_bytes, int64_t ns)
{
    time_t seconds = (time_t)(ns / NS_PER_SECOND);
    char fraction[16] = "";
    struct tm tm;

    if (ns % NS_PER_SECOND) {
        snprintf(fraction, sizeof fraction, ".%09d", (int)(ns % NS_PER_SECOND));
        for (size_t length = strlen(fraction); length > 0 && fraction[length - 1] == '0';) {
            fraction[--length] = '\0';
        }
    }
    gmtime_r(&seconds, &tm);
    size_t used = strftime(buf, buf_bytes, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf + used, buf_bytes - used, "%sZ", fraction);
}

int ntk_rows_metadata(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    const struct ntk_chip *chip = trace->has_chip ? &trace->chip : NULL;
    int64_t last_ns = trace->has_total ? ntk_rows_ns(trace->total_ps) : NTK_ABSENT_I64;
    char first_text[64];
    char last_text[64];

    time_text(first_text, sizeof first_text, 0);
    time_text(last_text, sizeof last_text, trace->has_total ? last_ns : 0);
    struct ntk_metadata_row row = {
        .schema_version = NTK_SCHEMA_VERSION,
        .data_version = JSON_DATA_VERSION,
        .ntff_version = trace->ntff->version,
        .core_count = (int64_t)trace->core_count,
        .subgraph_count = (int64_t)trace->core_count,
        .is_logical = trace->core_count > 1,
        .first_ns = 0,
        .last_ns = last_ns,
        .first_text = first_text,
        .last_text = trace->has_total ? last_text : NULL,
        .ticks_per_ns = NTK_TRACE_PS_PER_NS,
        .tensor_ghz = chip ? chip->pe_mhz / 1e3 : NTK_ABSENT_F64,
        .vector_ghz = chip ? chip->vector_mhz / 1e3 : NTK_ABSENT_F64,
        .scalar_ghz = chip ? chip->scalar_mhz / 1e3 : NTK_ABSENT_F64,
        .gpsimd_ghz = chip ? chip->gpsimd_mhz / 1e3 : NTK_ABSENT_F64,
        .base_ghz = chip ? chip->base_mhz / 1e3 : NTK_ABSENT_F64,
        .rows = chip ? chip->pe_rows : NTK_ABSENT_I64,
        .columns = chip ? chip->pe_columns : NTK_ABSENT_I64,
        .hbm_bytes_per_second = chip ? chip->hbm_bytes_per_second : NTK_ABSENT_F64,
        .dma_bytes_per_second = chip && chip->generation == TRAINIUM2_GENERATION
                                    ? NTK_CHIP_DEVICE_DMA_BYTES_PER_SECOND * chip->core_dma_engines
                                    : NTK_ABSENT_F64,
        .dma_engines = NTK_NTFF_DMA_ENGINES,
        .is_ext = 1,
        .is_simulation = 0,
        .instance_type = summary_text(&export->summary, NTK_SUMMARY_instance_type),
        .runtime = summary_text(&export->summary, NTK_SUMMARY_runtime_version),
        .collectives = summary_text(&export->summary, NTK_SUMMARY_collectives_version),
        .driver = summary_text(&export->summary, NTK_SUMMARY_driver_version),
        .program = summary_text(&export->summary, NTK_SUMMARY_profiler_version),
        .compiler = summary_text(&export->summary, NTK_SUMMARY_compiler_version),
        .profile_name = export->profile_name,
        .core = (int64_t) export->summary.values[NTK_SUMMARY_nc_idx].count,
        .device = 0,
    };
    return put(ctx, &row);
}

int ntk_rows_summary(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    union ntk_cell row[NTK_SUMMARY_COUNT];

    for (size_t i = 0; i < NTK_SUMMARY_COUNT; i++) {
        const struct ntk_summary_value *value = &export->summary.values[i];
        bool is_whole =
            value->kind == NTK_SUMMARY_KIND_COUNT || value->kind == NTK_SUMMARY_KIND_BYTES;
        if (is_whole) {
            row[i].i64 = value->is_present ? ntk_rows_i64(value->count) : NTK_ABSENT_I64;
        } else if (value->kind == NTK_SUMMARY_KIND_TEXT) {
            row[i].text = NULL;
        } else {
            row[i].f64 = value->is_present ? value->number : NTK_ABSENT_F64;
        }
    }
    return put(ctx, row);
}

int ntk_rows_profile(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct ntk_profile_row row = {
        .name = export->profile_name,
        .type = "normal",
        .profiler_version = "neuron-profile " NTK_VERSION, /* `lines` has no summary */
        .metrics_version = ntk_metrics_version_name(export->trace->metrics),
        .neff_name = export->trace->ntff->neff_name,
        .path = export->path,
        .is_cc_only = 0,
        .part_from_ns = NTK_ABSENT_I64,
        .part_to_ns = NTK_ABSENT_I64,
        .part_total_ns = NTK_ABSENT_I64,
    };
    const struct ntk_trace *trace = export->trace;
    struct ntk_buf cores = { 0 };

    if (trace->is_part) {
        row.part_from_ns = ntk_rows_ns(trace->part.from_ps);
        row.part_to_ns = ntk_rows_ns(trace->part.to_ps);
        row.part_total_ns = trace->has_total ? ntk_rows_ns(trace->part.total_ps) : NTK_ABSENT_I64;
        ntk_output_part_cores(trace, &cores);
        row.part_cores = ntk_buf_text_get(&cores);
    }
    int ret = ntk_buf_ok(&cores) ? put(ctx, &row) : -ENOMEM;
    ntk_buf_fini(&cores);
    return ret;
}

int ntk_rows_executions(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    bool has_window = trace->ntff->has_window && trace->has_total;
    struct ntk_execution_row row = {
        .index = 0,
        .start_ns = has_window ? 0 : NTK_ABSENT_I64,
        .end_ns = has_window ? ntk_rows_ns(trace->total_ps) : NTK_ABSENT_I64,
        .subgraph_count = (int64_t)trace->core_count,
        .neff_name = trace->ntff->neff_name[0] ? trace->ntff->neff_name : NULL,
    };

    for (size_t c = 0; c < trace->core_count; c++) {
        row.row_count += (int64_t)(trace->cores[c].instruction_count + trace->cores[c].event_count +
                                   trace->cores[c].packet_count);
    }
    return put(ctx, &row);
}

/* ---- warnings ---- */

static bool has_dynamic_packets(const struct ntk_summary *summary)
{
    return summary->values[NTK_SUMMARY_software_dynamic_dma_packet_count].count > 0 ||
           summary->values[NTK_SUMMARY_hardware_dynamic_dma_packet_count].count > 0;
}

/* Returns true if any folder of the NEFF has a file with this name. */
static bool has_member(const struct ntk_neff *neff, const char *name)
{
    for (uint32_t m = 0; m < neff->member_count; m++) {
        if (strcmp(ntk_str_base_name(neff->members[m].name), name) == 0) {
            return true;
        }
    }
    return false;
}

static int warn(const char *category, const char *message, ntk_row_put *put, void *ctx)
{
    return put(ctx, &(struct ntk_warning_row){ .message = message, .category = category });
}

static int warn_metrics(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_summary *summary = &export->summary;
    char text[200];

    snprintf(text, sizeof text,
             "Metrics follow the rules of version %s; use --metrics-version to choose another.",
             ntk_metrics_version_name(export->trace->metrics));
    int ret = warn(CATEGORY_METRICS, text, put, ctx);
    if (ret == 0 && summary->uncounted) {
        snprintf(text, sizeof text,
                 "%" PRIu64
                 " instructions with unknown operands are missing from the byte counts of "
                 "the state buffer and the accumulation buffer.",
                 summary->uncounted);
        ret = warn(CATEGORY_METRICS, text, put, ctx);
    }
    return ret;
}

int ntk_rows_warnings(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    int ret = 0;

    ret = warn_metrics(export, put, ctx);
    if (ret == 0 && trace->is_part) {
        struct ntk_buf text = { 0 };
        ntk_buf_add_text(&text, "Only part of the execution is shown: ");
        ntk_output_part_text(trace, &text);
        ntk_buf_add_char(&text, '.');
        ret = warn(CATEGORY_PART, ntk_buf_text_get(&text), put, ctx);
        ntk_buf_fini(&text);
    }
    uint64_t executions = ret == 0 ? export->program->execution_count : 1;
    if (executions > 1) {
        char text[100];
        snprintf(text, sizeof text,
                 "The %s %" PRIu64 " executions; metrics cover all of them together.",
                 ntk_trace_has_window(trace) ? "window covers" : "capture has", executions);
        ret = warn(CATEGORY_METRICS, text, put, ctx);
    }
    if (ret == 0 && has_dynamic_packets(&export->summary)) {
        ret = warn(CATEGORY_MISSING,
                   "Missing additional dynamic DMA metadata, reported DMA values may be "
                   "inaccurate. A capture with --enable-dge-notifs names its transfers.",
                   put, ctx);
    }
    if (ret == 0 && !trace->neff) {
        ret = warn(CATEGORY_MISSING,
                   "No NEFF was given: layers, tensors and semaphore names are missing.", put, ctx);
    }
    if (ret == 0 && trace->neff && !has_member(trace->neff, "metrics.json")) {
        ret = warn(CATEGORY_MISSING, "Current NEFF is missing compiler metrics.", put, ctx);
    }
    if (ret == 0 && trace->neff && !has_member(trace->neff, "hlo_stats.json")) {
        ret = warn(CATEGORY_MISSING,
                   "Missing HLO stats in the NEFF, `model_flops` and `mfu_hlo_estimated_percent` "
                   "are 0; mfu_inst_estimated_percent uses the instructions instead.",
                   put, ctx);
    }
    if (ret == 0 && export->program->names_err.text[0]) {
        struct ntk_buf text = { 0 };
        ntk_buf_add_format(&text, "Instruction names are omitted: %s.",
                           export->program->names_err.text);
        ret = warn(CATEGORY_DAMAGED, ntk_buf_text_get(&text), put, ctx);
        ntk_buf_fini(&text);
    }
    const struct ntk_neff_positions *positions = export->program->positions;
    for (size_t i = 0; positions && i < positions->warnings.count && ret == 0; i++) {
        ret = warn(CATEGORY_DAMAGED, *(char **)ntk_vec_at(&positions->warnings, i), put, ctx);
    }
    uint64_t omitted = ret == 0 ? ntk_predecessors_omitted(export) : 0;
    if (omitted) {
        char text[160];
        snprintf(text, sizeof text,
                 "%" PRIu64 " instructions have more than %d predecessors; the rest are omitted.",
                 omitted, NTK_PREDECESSORS_MAX);
        ret = warn(CATEGORY_MISSING, text, put, ctx);
    }
    uint64_t unknown_count = 0;
    for (size_t c = 0; c < export->transfers.core_count; c++) {
        unknown_count += export->transfers.cores[c].unknown_count;
    }
    if (ret == 0 && unknown_count) {
        char text[200];
        snprintf(text, sizeof text,
                 "The packets of %" PRIu64
                 " transfers do not match the data they move: these packets have no transfer and "
                 "no tensor, and are missing from the number of pending transfers.",
                 unknown_count);
        ret = warn(CATEGORY_MISSING, text, put, ctx);
    }
    ret = ret ? ret : ntk_rows_sbuf_warnings(export, CATEGORY_MISSING, put, ctx);
    if (ret == 0 && trace->has_collectives) {
        ret = warn(CATEGORY_MISSING, "Collective-communication core records are not decoded.", put,
                   ctx);
    }
    for (size_t i = 0; i < trace->ntff->warning_count && ret == 0; i++) {
        ret = warn(CATEGORY_DAMAGED, trace->ntff->warnings[i], put, ctx);
    }
    return ret;
}
