/* SPDX-License-Identifier: MIT */
/* remote_write_request - encodes series as messages, and converts messages from 2.0 to 1.0. */
#include "exporters/remote_write/remote_write_request.h"

#include <errno.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a finished request: larger than any request that is sent. */
#define MESSAGE_BYTES_MAX ((size_t)64 * 1024 * 1024)
/* First byte of a message: the tag of its first field. */
#define TAG_SYMBOLS 0x22
#define TAG_SYMBOL_SERIES 0x2a

/* Returns the next part of a key, which is split in place. */
static char *next_part(char **key)
{
    char *part = *key;

    *key += strcspn(part, (const char[]){ REMOTE_WRITE_SEPARATOR, '\0' });
    *(*key)++ = '\0';
    return part;
}

#define ADD(buf, type, message)                                             \
    do {                                                                    \
        void *to = ntk_buf_extend((buf), type##__get_packed_size(message)); \
        if (to) {                                                           \
            type##__pack((message), to);                                    \
        }                                                                   \
    } while (0)

/* -- 1.0 --------------------------------------------------------------------------------------- */

struct labels {
    Ntk__RemoteWrite__Label label[REMOTE_WRITE_LABELS_MAX];
    Ntk__RemoteWrite__Label *rows[REMOTE_WRITE_LABELS_MAX];
    size_t count;
};

static void add_label(struct labels *labels, char *name, char *value)
{
    if (labels->count < REMOTE_WRITE_LABELS_MAX) {
        Ntk__RemoteWrite__Label *label = labels->rows[labels->count] =
            &labels->label[labels->count];
        ntk__remote_write__label__init(label);
        label->name = name;
        label->value = value;
        labels->count++;
    }
}

static void read_labels(struct labels *labels, char *key)
{
    labels->count = 0;
    while (key && *key) {
        char *name = next_part(&key);
        add_label(labels, name, next_part(&key));
    }
}

/* Appends a series. exemplar_labels is NULL without an exemplar. The keys of the series are not
 * read. */
static void put_v1(struct ntk_buf *out, struct labels *labels, struct labels *exemplar_labels,
                   const struct remote_write_series *from)
{
    Ntk__RemoteWrite__WriteRequest piece = NTK__REMOTE_WRITE__WRITE_REQUEST__INIT;
    Ntk__RemoteWrite__TimeSeries series = NTK__REMOTE_WRITE__TIME_SERIES__INIT;
    Ntk__RemoteWrite__TimeSeries *series_rows[] = { &series };
    Ntk__RemoteWrite__Sample sample = NTK__REMOTE_WRITE__SAMPLE__INIT;
    Ntk__RemoteWrite__Sample *samples[] = { &sample };
    Ntk__RemoteWrite__Histogram *histograms[] = { from->histogram };
    Ntk__RemoteWrite__Exemplar exemplar = NTK__REMOTE_WRITE__EXEMPLAR__INIT;
    Ntk__RemoteWrite__Exemplar *exemplars[] = { &exemplar };

    series.labels = labels->rows;
    series.n_labels = labels->count;
    sample.value = from->value;
    sample.timestamp = from->time_ms;
    series.samples = samples;
    series.n_samples = !from->histogram;
    series.histograms = histograms;
    series.n_histograms = from->histogram != NULL;
    if (exemplar_labels) {
        exemplar.labels = exemplar_labels->rows;
        exemplar.n_labels = exemplar_labels->count;
        exemplar.value = from->exemplar_value;
        exemplar.timestamp = from->exemplar_ms;
        series.exemplars = exemplars;
        series.n_exemplars = 1;
    }
    piece.timeseries = series_rows;
    piece.n_timeseries = 1;
    ADD(out, ntk__remote_write__write_request, &piece);
}

static void add_v1(struct remote_write_request *request, const struct remote_write_series *from)
{
    struct labels labels;
    struct labels exemplar_labels;

    read_labels(&labels, from->key);
    read_labels(&exemplar_labels, from->exemplar_key);
    put_v1(&request->series, &labels, from->exemplar_key ? &exemplar_labels : NULL, from);
}

/* -- 2.0 --------------------------------------------------------------------------------------- */

/* Returns the index of a text, added if new; "" is always 0. */
static uint32_t symbol(struct remote_write_request *request, const char *text)
{
    Ntk__RemoteWrite__Request piece = NTK__REMOTE_WRITE__REQUEST__INIT;
    char *texts[] = { (char *)text };
    struct ntk_map *indices = &request->symbol_indices;
    /* Values in a map are not NULL, so each is the index plus 1. */
    uintptr_t known = (uintptr_t)ntk_map_get(indices, text);

    if (known) {
        return (uint32_t)(known - 1);
    }
    if (ntk_map_put(indices, text, (void *)(uintptr_t)(indices->count + 1)) < 0) {
        request->symbols.failed = true;
        return 0;
    }
    piece.symbols = texts;
    piece.n_symbols = 1;
    ADD(&request->symbols, ntk__remote_write__request, &piece);
    return (uint32_t)(indices->count - 1);
}

static size_t read_references(struct remote_write_request *request, char *key,
                              uint32_t references[2 * REMOTE_WRITE_LABELS_MAX])
{
    size_t count = 0;

    while (key && *key && count < (size_t)2 * REMOTE_WRITE_LABELS_MAX) {
        references[count++] = symbol(request, next_part(&key));
        references[count++] = symbol(request, next_part(&key));
    }
    return count;
}

static void add_v2(struct remote_write_request *request, const struct remote_write_series *from)
{
    Ntk__RemoteWrite__Request piece = NTK__REMOTE_WRITE__REQUEST__INIT;
    Ntk__RemoteWrite__Series series = NTK__REMOTE_WRITE__SERIES__INIT;
    Ntk__RemoteWrite__Series *series_rows[] = { &series };
    Ntk__RemoteWrite__StartedSample sample = NTK__REMOTE_WRITE__STARTED_SAMPLE__INIT;
    Ntk__RemoteWrite__StartedSample *samples[] = { &sample };
    Ntk__RemoteWrite__Histogram *histograms[] = { from->histogram };
    Ntk__RemoteWrite__SymbolExemplar exemplar = NTK__REMOTE_WRITE__SYMBOL_EXEMPLAR__INIT;
    Ntk__RemoteWrite__SymbolExemplar *exemplars[] = { &exemplar };
    Ntk__RemoteWrite__Metadata metadata = NTK__REMOTE_WRITE__METADATA__INIT;
    uint32_t references[2 * REMOTE_WRITE_LABELS_MAX];
    uint32_t exemplar_references[2 * REMOTE_WRITE_LABELS_MAX];

    (void)symbol(request, "");
    series.labels_refs = references;
    series.n_labels_refs = read_references(request, from->key, references);
    sample.value = from->value;
    sample.timestamp = from->time_ms;
    sample.start_timestamp = from->began_ms;
    series.samples = samples;
    series.n_samples = !from->histogram;
    series.histograms = histograms;
    series.n_histograms = from->histogram != NULL;
    exemplar.labels_refs = exemplar_references;
    exemplar.n_labels_refs = read_references(request, from->exemplar_key, exemplar_references);
    exemplar.value = from->exemplar_value;
    exemplar.timestamp = from->exemplar_ms;
    series.exemplars = exemplars;
    series.n_exemplars = from->exemplar_key != NULL;
    metadata.type = from->type;
    metadata.help_ref = symbol(request, from->help);
    metadata.unit_ref = symbol(request, from->unit);
    series.metadata = &metadata;
    piece.timeseries = series_rows;
    piece.n_timeseries = 1;
    ADD(&request->series, ntk__remote_write__request, &piece);
}

/* -- a request --------------------------------------------------------------------------------- */

static bool is_ok(const struct remote_write_request *request)
{
    return ntk_buf_ok(&request->series) && ntk_buf_ok(&request->symbols);
}

int remote_write_request_add(struct remote_write_request *request,
                             const struct remote_write_series *series)
{
    if (series->histogram) {
        series->histogram->timestamp = series->time_ms;
        series->histogram->start_timestamp = request->is_v2 ? series->began_ms : 0;
    }
    (request->is_v2 ? add_v2 : add_v1)(request, series);
    request->sample_count++;
    return is_ok(request) ? 0 : -ENOMEM;
}

size_t remote_write_request_bytes(const struct remote_write_request *request)
{
    return request->series.bytes_count + request->symbols.bytes_count;
}

static int compress(const struct ntk_buf *proto, struct ntk_buf *out)
{
    size_t out_bytes = snappy_max_compressed_length(proto->bytes_count);
    size_t before = out->bytes_count;
    char *to = ntk_buf_extend(out, out_bytes);

    if (!to || !ntk_buf_ok(proto) ||
        snappy_compress((const char *)proto->bytes, proto->bytes_count, to, &out_bytes) !=
            SNAPPY_OK) {
        return -ENOMEM;
    }
    out->bytes_count = before + out_bytes;
    return 0;
}

static void empty(struct remote_write_request *request)
{
    ntk_buf_reset(&request->series);
    ntk_buf_reset(&request->symbols);
    ntk_map_fini(&request->symbol_indices);
    request->sample_count = 0;
}

int remote_write_request_finish(struct remote_write_request *request, struct ntk_buf *out)
{
    /* Symbols come first: the first byte identifies a message of 2.0. */
    struct ntk_buf *proto = request->is_v2 ? &request->symbols : &request->series;

    if (request->is_v2) {
        ntk_buf_add(proto, request->series.bytes, request->series.bytes_count);
    }
    int ret = is_ok(request) ? compress(proto, out) : -ENOMEM;
    empty(request);
    return ret;
}

void remote_write_request_fini(struct remote_write_request *request)
{
    ntk_buf_fini(&request->series);
    ntk_buf_fini(&request->symbols);
    ntk_map_fini(&request->symbol_indices);
}

/* -- finished requests ------------------------------------------------------------------------- */

/* The compressed bytes start with the length of the message, then a literal with its first
 * bytes. */
bool remote_write_is_v2(const void *bytes, size_t bytes_count)
{
    const uint8_t *at = bytes;
    const uint8_t *end = at + bytes_count;

    while (at < end && *at & 0x80) {
        at++;
    }
    at++;
    if (at >= end || *at & 3) {
        return false;
    }
    /* Literals of more than 60 bytes have their length in one to four further bytes. */
    at += 1 + (*at >> 2 < 60 ? 0 : (*at >> 2) - 59);
    return at < end && (*at == TAG_SYMBOLS || *at == TAG_SYMBOL_SERIES);
}

/* Looks up texts by reference; false if one is invalid. */
static bool name_labels(const Ntk__RemoteWrite__Request *from, const uint32_t *references,
                        size_t count, struct labels *labels)
{
    labels->count = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        if (references[i] >= from->n_symbols || references[i + 1] >= from->n_symbols) {
            return false;
        }
        add_label(labels, from->symbols[references[i]], from->symbols[references[i + 1]]);
    }
    return count % 2 == 0;
}

/* Returns false if the series is damaged. */
static bool add_series_v1(const Ntk__RemoteWrite__Request *from,
                          const Ntk__RemoteWrite__Series *series, struct ntk_buf *out)
{
    const Ntk__RemoteWrite__SymbolExemplar *exemplar =
        series->n_exemplars == 1 ? series->exemplars[0] : NULL;
    struct remote_write_series made = { 0 };
    struct labels labels;
    struct labels exemplar_labels;

    if (!name_labels(from, series->labels_refs, series->n_labels_refs, &labels) ||
        series->n_samples + series->n_histograms != 1 || series->n_exemplars > 1) {
        return false;
    }
    if (series->n_samples) {
        made.value = series->samples[0]->value;
        made.time_ms = series->samples[0]->timestamp;
    } else {
        made.histogram = series->histograms[0];
        made.histogram->start_timestamp = 0;
    }
    if (exemplar) {
        if (!name_labels(from, exemplar->labels_refs, exemplar->n_labels_refs, &exemplar_labels)) {
            return false;
        }
        made.exemplar_value = exemplar->value;
        made.exemplar_ms = exemplar->timestamp;
    }
    put_v1(out, &labels, exemplar ? &exemplar_labels : NULL, &made);
    return true;
}

static int damaged(struct ntk_err *err)
{
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "invalid remote write 2.0 message");
}

int remote_write_to_v1(const void *bytes, size_t bytes_count, struct ntk_buf *out,
                       struct ntk_err *err)
{
    size_t proto_bytes = 0;
    struct ntk_buf proto = { 0 };

    if (snappy_uncompressed_length(bytes, bytes_count, &proto_bytes) != SNAPPY_OK ||
        proto_bytes > MESSAGE_BYTES_MAX) {
        return damaged(err);
    }
    char *plain = malloc(proto_bytes + 1);
    if (!plain) {
        return ntk_err_no_memory(err);
    }
    bool is_whole = snappy_uncompress(bytes, bytes_count, plain, &proto_bytes) == SNAPPY_OK;
    Ntk__RemoteWrite__Request *from =
        is_whole ? ntk__remote_write__request__unpack(NULL, proto_bytes, (const uint8_t *)plain)
                 : NULL;
    free(plain);
    is_whole = from != NULL;
    for (size_t i = 0; is_whole && i < from->n_timeseries; i++) {
        is_whole = add_series_v1(from, from->timeseries[i], &proto);
    }
    if (from) {
        ntk__remote_write__request__free_unpacked(from, NULL);
    }
    int ret = !is_whole ? damaged(err) : compress(&proto, out) < 0 ? ntk_err_no_memory(err) : 0;
    ntk_buf_fini(&proto);
    return ret;
}
