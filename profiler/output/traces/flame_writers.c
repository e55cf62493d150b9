/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/flame_writers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profiler/output/traces/pprof.pb-c.h"
#include "shared/base/map.h"

#define MAPPING_ID 1
#define WINDOW_BITS_GZIP (15 + 16)
#define MEMORY_LEVEL 8

/* ---- folded stacks ---- */

/* Writes a name; readers split at semicolons, and find the value after the last blank. */
static void put_name(struct ntk_buf *out, const char *name)
{
    for (; *name; name++) {
        ntk_buf_add_char(out, *name == ';' ? ':' : *name);
    }
}

static void put_frames(const struct ntk_vec *frames, const struct ntk_flame_frame *frame,
                       struct ntk_buf *out)
{
    if (frame->parent) {
        put_frames(frames, ntk_vec_at(frames, frame->parent - 1), out);
        ntk_buf_add_char(out, ';');
    }
    put_name(out, frame->name);
}

void ntk_folded_put(const struct ntk_vec *frames, uint32_t frame, int64_t value,
                    struct ntk_buf *out)
{
    put_frames(frames, ntk_vec_at(frames, frame), out);
    ntk_buf_add_char(out, ' ');
    ntk_buf_add_i64(out, value);
    ntk_buf_add_char(out, '\n');
}

/* ---- pprof ---- */

struct location {
    Ntk__Pprof__Location location;
    Ntk__Pprof__Line line;
    Ntk__Pprof__Line *lines[1];
};

struct sample {
    Ntk__Pprof__Sample sample;
    int64_t values[NTK_PPROF_VALUES];
    Ntk__Pprof__Label labels[NTK_PPROF_LABELS];
    Ntk__Pprof__Label *label_rows[NTK_PPROF_LABELS];
};

/* Storage for all rows of the message until it is packed. */
struct writer {
    const struct ntk_pprof *from;
    struct ntk_map texts;        /* maps a text to 1 + index in the table of strings */
    struct ntk_map function_ids; /* key is "name\nfile" */
    struct ntk_map location_ids; /* key is function << 32 | line */
    uint64_t *locations_of;      /* indexed by frame */
    struct ntk_vec functions;    /* elements are Ntk__Pprof__Function */
    struct ntk_vec locations;    /* elements are struct location */
    struct sample *samples;
    uint64_t *ids; /* locations of all samples */
    struct ntk_buf text;
    int failed;
};

/* Returns the number of a key, in order of first use from 1; 0 if out of memory. */
static uint64_t numbered(struct writer *w, struct ntk_map *map, const char *key)
{
    uintptr_t at = (uintptr_t)ntk_map_get(map, key);

    if (!at && ntk_map_put(map, key, (void *)(map->count + 1)) == 0) { // NOLINT(*-int-to-ptr)
        at = map->count;
    }
    w->failed = at ? w->failed : -ENOMEM;
    return at;
}

static int64_t text_of(struct writer *w, const char *text)
{
    uint64_t number = numbered(w, &w->texts, text);

    return number ? (int64_t)number - 1 : 0;
}

/* ---- functions and locations ---- */

static uint64_t function_of(struct writer *w, const struct ntk_flame_frame *frame)
{
    const char *file = frame->file ? frame->file : "";

    ntk_buf_reset(&w->text);
    ntk_buf_add_text(&w->text, frame->name);
    ntk_buf_add_char(&w->text, '\n');
    ntk_buf_add_clean(&w->text, file);
    const char *key = ntk_buf_text_get(&w->text);
    uint64_t id = ntk_buf_ok(&w->text) ? numbered(w, &w->function_ids, key) : 0;
    if (!id || id <= w->functions.count) {
        w->failed = id ? w->failed : -ENOMEM;
        return id;
    }
    Ntk__Pprof__Function *function = ntk_vec_add(&w->functions);
    if (!function) {
        w->failed = -ENOMEM;
        return 0;
    }
    ntk__pprof__function__init(function);
    function->id = id;
    function->name = text_of(w, frame->name);
    function->system_name = function->name;
    function->filename = text_of(w, key + strlen(frame->name) + 1);
    function->start_line = frame->line;
    return id;
}

static uint64_t location_of(struct writer *w, const struct ntk_flame_frame *frame)
{
    uint64_t function = function_of(w, frame);
    uint64_t key = function << 32 | frame->line;
    uintptr_t id = (uintptr_t)ntk_map_get_number(&w->location_ids, key);

    if (id || w->failed) {
        return id;
    }
    struct location *row = ntk_vec_add(&w->locations);
    id = w->locations.count;
    if (!row || ntk_map_put_number(&w->location_ids, key, (void *)id) < 0) { // NOLINT(*-int-to-ptr)
        w->failed = -ENOMEM;
        return 0;
    }
    ntk__pprof__location__init(&row->location);
    ntk__pprof__line__init(&row->line);
    row->location.id = id;
    row->location.mapping_id = MAPPING_ID;
    row->line.function_id = function;
    row->line.line = frame->line;
    return id;
}

/* ---- samples ---- */

static size_t depth_of(const struct ntk_vec *frames, uint32_t frame)
{
    size_t depth = 1;

    for (const struct ntk_flame_frame *at = ntk_vec_at(frames, frame); at->parent;
         at = ntk_vec_at(frames, at->parent - 1)) {
        depth++;
    }
    return depth;
}

static void fill_sample(struct writer *w, const struct ntk_pprof_sample *from, uint64_t *ids,
                        struct sample *out)
{
    uint32_t frame = from->frame;
    size_t depth = depth_of(w->from->frames, frame);

    ntk__pprof__sample__init(&out->sample);
    for (size_t i = 0; i < depth; i++) {
        ids[i] = w->locations_of[frame];
        frame = ((const struct ntk_flame_frame *)ntk_vec_at(w->from->frames, frame))->parent - 1;
    }
    memcpy(out->values, from->values, sizeof out->values);
    for (size_t i = 0; i < w->from->label_count; i++) {
        ntk__pprof__label__init(&out->labels[i]);
        out->label_rows[i] = &out->labels[i];
        out->labels[i].key = text_of(w, from->labels[i].key);
        if (from->labels[i].text) {
            out->labels[i].str = text_of(w, from->labels[i].text);
        } else {
            out->labels[i].num = from->labels[i].number;
        }
    }
    out->sample.location_id = ids;
    out->sample.n_location_id = depth;
    out->sample.value = out->values;
    out->sample.n_value = w->from->value_count;
    out->sample.label = out->label_rows;
    out->sample.n_label = w->from->label_count;
}

static int fill(struct writer *w)
{
    const struct ntk_pprof *from = w->from;
    size_t id_count = 0;
    size_t at = 0;

    (void)text_of(w, "");
    ntk_vec_each(const struct ntk_pprof_sample, sample, from->samples) {
        id_count += depth_of(from->frames, sample->frame);
    }
    w->locations_of = calloc(from->frames->count + 1, sizeof *w->locations_of);
    w->samples = calloc(from->samples->count + 1, sizeof *w->samples);
    w->ids = calloc(id_count + 1, sizeof *w->ids);
    if (!w->locations_of || !w->samples || !w->ids) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < from->frames->count && !w->failed; i++) {
        w->locations_of[i] = location_of(w, ntk_vec_at(from->frames, i));
    }
    for (size_t i = 0; i < from->samples->count && !w->failed; i++) {
        fill_sample(w, ntk_vec_at(from->samples, i), w->ids + at, &w->samples[i]);
        at += w->samples[i].sample.n_location_id;
    }
    return w->failed;
}

/* ---- the file ---- */

/* Packs profile; its tables point to the rows of w. */
static int pack(struct writer *w, Ntk__Pprof__Profile *profile, struct ntk_buf *out)
{
    size_t counts[] = { w->from->samples->count, w->locations.count, w->functions.count,
                        w->texts.count };
    void **rows[4] = { NULL };
    int ret = 0;

    for (size_t t = 0; t < 4; t++) {
        rows[t] = calloc(counts[t] + 1, sizeof(void *));
        ret = rows[t] ? ret : -ENOMEM;
    }
    for (size_t i = 0; i < counts[0] && ret == 0; i++) {
        rows[0][i] = &w->samples[i].sample;
    }
    for (size_t i = 0; i < counts[1] && ret == 0; i++) {
        struct location *row = ntk_vec_at(&w->locations, i);
        row->lines[0] = &row->line;
        row->location.line = row->lines;
        row->location.n_line = 1;
        rows[1][i] = &row->location;
    }
    for (size_t i = 0; i < counts[2] && ret == 0; i++) {
        rows[2][i] = ntk_vec_at(&w->functions, i);
    }
    for (size_t i = 0; i < counts[3] && ret == 0; i++) {
        rows[3][i] = w->texts.entries[i].key;
    }
    profile->sample = (Ntk__Pprof__Sample **)rows[0];
    profile->n_sample = counts[0];
    profile->location = (Ntk__Pprof__Location **)rows[1];
    profile->n_location = counts[1];
    profile->function = (Ntk__Pprof__Function **)rows[2];
    profile->n_function = counts[2];
    profile->string_table = (char **)rows[3];
    profile->n_string_table = counts[3];
    if (ret == 0) {
        size_t bytes_count = ntk__pprof__profile__get_packed_size(profile);
        uint8_t *room = ntk_buf_extend(out, bytes_count);
        ret = room ? 0 : -ENOMEM;
        if (room) {
            (void)ntk__pprof__profile__pack(profile, room);
        }
    }
    for (size_t t = 0; t < 4; t++) {
        free(rows[t]);
    }
    return ret;
}

static int put_profile(struct writer *w, struct ntk_buf *out)
{
    const struct ntk_pprof *from = w->from;
    Ntk__Pprof__Profile profile = NTK__PPROF__PROFILE__INIT;
    Ntk__Pprof__Mapping mapping = NTK__PPROF__MAPPING__INIT;
    Ntk__Pprof__Mapping *mappings[] = { &mapping };
    Ntk__Pprof__ValueType types[NTK_PPROF_VALUES];
    Ntk__Pprof__ValueType *type_rows[NTK_PPROF_VALUES];
    int ret = fill(w);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < from->value_count; i++) {
        ntk__pprof__value_type__init(&types[i]);
        types[i].type = text_of(w, from->values[i].type);
        types[i].unit = text_of(w, from->values[i].unit);
        type_rows[i] = &types[i];
    }
    ntk_buf_reset(&w->text);
    ntk_buf_add_clean(&w->text, from->file);
    mapping.id = MAPPING_ID;
    mapping.filename = text_of(w, ntk_buf_text_get(&w->text));
    mapping.build_id = text_of(w, from->build_id);
    mapping.has_functions = 1;
    mapping.has_filenames = 1;
    mapping.has_line_numbers = 1;
    profile.sample_type = type_rows;
    profile.n_sample_type = from->value_count;
    profile.mapping = mappings;
    profile.n_mapping = 1;
    profile.time_nanos = from->time_ns;
    profile.duration_nanos = from->duration_ns;
    profile.period_type = &types[0];
    profile.period = 1;
    profile.default_sample_type = types[0].type;
    if (w->failed || !ntk_buf_ok(&w->text)) {
        return -ENOMEM;
    }
    return pack(w, &profile, out);
}

/* Writes gzip; readers of pprof accept both, but expect gzip in files. */
static int put_gzip(const struct ntk_buf *bytes, struct ntk_sink *sink)
{
    z_stream stream = { .next_in = (Bytef *)bytes->bytes };
    size_t left = bytes->bytes_count;
    int code = Z_OK;
    int ret = 0;

    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS_GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return -ENOMEM;
    }
    while (code == Z_OK && ret == 0) {
        uint8_t *room = ntk_buf_extend(&sink->buf, NTK_SINK_BYTES);
        if (!room) {
            ret = -ENOMEM;
            break;
        }
        if (stream.avail_in == 0 && left > 0) {
            stream.avail_in = left < UINT32_MAX / 2 ? (uInt)left : UINT32_MAX / 2;
            left -= stream.avail_in;
        }
        stream.next_out = room;
        stream.avail_out = (uInt)NTK_SINK_BYTES;
        code = deflate(&stream, left > 0 ? Z_NO_FLUSH : Z_FINISH);
        sink->buf.bytes_count -= stream.avail_out;
        ret = code == Z_OK || code == Z_STREAM_END ? ntk_sink_step(sink) : -EIO;
    }
    deflateEnd(&stream);
    return ret;
}

int ntk_pprof_put(const struct ntk_pprof *from, struct ntk_sink *sink)
{
    struct ntk_buf bytes = { 0 };
    struct writer w = { .from = from,
                        .functions = NTK_VEC_INIT(Ntk__Pprof__Function),
                        .locations = NTK_VEC_INIT(struct location) };
    int ret = put_profile(&w, &bytes);

    ret = ret < 0 ? ret : put_gzip(&bytes, sink);
    ntk_map_fini(&w.texts);
    ntk_map_fini(&w.function_ids);
    ntk_map_fini(&w.location_ids);
    ntk_vec_fini(&w.functions);
    ntk_vec_fini(&w.locations);
    ntk_buf_fini(&w.text);
    free(w.locations_of);
    free(w.samples);
    free(w.ids);
    ntk_buf_fini(&bytes);
    return ret;
}
