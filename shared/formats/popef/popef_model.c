/* SPDX-License-Identifier: MIT */
/* popef_model - collects the parts of one executable from a reader, and checks that they fit
 * together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/popef/popef_private.h"

#define LIST_BYTES 256 /* maximum length of a list of names in a message */

struct popef_model {
    const struct popef_executable *executable;
    const struct popef_metadata *metadata;
    size_t anchor_count;
    struct popef_model_anchor anchors[];
};

static int absent(const struct popef_reader *reader, const char *what, const char *name,
                  const struct popef_blob *blob, struct popef_error *err)
{
    if (popef_reader_find_executable(reader, name)) {
        return 0;
    }
    return ntk_popef_fail(err, POPEF_ERROR_ABSENT_EXECUTABLE, blob->offset,
                          "%s: %s refers to a missing executable '%s'",
                          popef_reader_file_name(reader, blob->file), what, name);
}

static int check_links(const struct popef_reader *reader, struct popef_error *err)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < popef_reader_metadata_count(reader); i++) {
        const struct popef_metadata_blob *metadata = popef_reader_metadata(reader, i);

        ret = absent(reader, "metadata", metadata->metadata.executable, &metadata->blob, err);
    }
    for (size_t i = 0; ret == 0 && i < popef_reader_opaque_count(reader); i++) {
        const struct popef_opaque *opaque = popef_reader_opaque(reader, i);

        ret = absent(reader, "opaque blob", opaque->executable, &opaque->blob, err);
    }
    return ret;
}

/* Lists the possible names, as many as fit into a message. */
static const char *executables_list(const struct popef_reader *reader, const char *before, char *to,
                                    size_t bytes)
{
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < popef_reader_executable_count(reader) && used < bytes; i++) {
        used += (size_t)snprintf(to + used, bytes - used, "%s'%s'", i > 0 ? ", " : before,
                                 popef_reader_executable(reader, i)->blob.name);
    }
    return to;
}

static int executable_choose(const struct popef_reader *reader, const char *name,
                             const struct popef_executable **out, struct popef_error *err)
{
    size_t count = popef_reader_executable_count(reader);
    char there[LIST_BYTES];

    *out = name ? popef_reader_find_executable(reader, name) : popef_reader_executable(reader, 0);
    if (!*out && name) {
        return ntk_popef_fail(err, POPEF_ERROR_MODEL, POPEF_NO_OFFSET, "no executable '%s'%s", name,
                              executables_list(reader, "; available: ", there, sizeof there));
    }
    if (!*out || (!name && count > 1)) {
        return ntk_popef_fail(err, POPEF_ERROR_MODEL, POPEF_NO_OFFSET,
                              "%zu executables: select one%s", count,
                              executables_list(reader, ": ", there, sizeof there));
    }
    return 0;
}

static int metadata_choose(const struct popef_reader *reader, const char *executable,
                           const struct popef_metadata **out, struct popef_error *err)
{
    *out = NULL;
    for (size_t i = 0; i < popef_reader_metadata_count(reader); i++) {
        const struct popef_metadata *metadata = &popef_reader_metadata(reader, i)->metadata;

        if (strcmp(metadata->executable, executable) == 0) {
            if (*out) {
                return ntk_popef_fail(err, POPEF_ERROR_MODEL, POPEF_NO_OFFSET,
                                      "executable '%s' has several metadata blobs", executable);
            }
            *out = metadata;
        }
    }
    if (!*out) {
        return ntk_popef_fail(err, POPEF_ERROR_MODEL, POPEF_NO_OFFSET,
                              "executable '%s' has no metadata", executable);
    }
    return 0;
}

/* Returns true if a feed matches its anchor: it describes one tensor, with or without the
 * dimensions for replicas and repeats. */
static bool feed_fits(const struct popef_feed *feed, const struct popef_anchor *anchor,
                      int64_t replication_factor)
{
    struct popef_tensor_info plain;

    return popef_tensor_info_equal(&feed->info.tensor_info, &anchor->tensor_info) ||
           (popef_anchor_unextended(anchor, replication_factor, &plain) == 0 &&
            popef_tensor_info_equal(&feed->info.tensor_info, &plain));
}

static int anchor_link(const struct popef_reader *reader, const struct popef_metadata *metadata,
                       const struct popef_anchor *anchor, struct popef_model_anchor *out,
                       struct popef_error *err)
{
    out->anchor = anchor;
    out->tensor = popef_reader_find_tensor(reader, anchor->name);
    out->feed = popef_reader_find_feed(reader, anchor->name);
    if ((out->tensor &&
         !popef_tensor_info_equal(&out->tensor->info.tensor_info, &anchor->tensor_info)) ||
        (out->feed && !feed_fits(out->feed, anchor, metadata->replication_factor))) {
        return ntk_popef_fail(err, POPEF_ERROR_ANCHOR, POPEF_NO_OFFSET,
                              "%s: shape or type differs from its anchor", anchor->name);
    }
    return 0;
}

int popef_model_open(const struct popef_reader *reader, const char *executable,
                     struct popef_model **out_model, struct popef_error *err)
{
    const struct popef_executable *chosen = NULL;
    const struct popef_metadata *metadata = NULL;
    struct popef_model *model = NULL;
    int ret = check_links(reader, err);

    if (ret == 0) {
        ret = executable_choose(reader, executable, &chosen, err);
    }
    if (ret == 0) {
        ret = metadata_choose(reader, chosen->blob.name, &metadata, err);
    }
    if (ret < 0 || !metadata) {
        return ret;
    }
    model = calloc(1, sizeof *model + metadata->anchor_count * sizeof *model->anchors);
    if (!model) {
        return ntk_popef_no_memory(err);
    }
    model->executable = chosen;
    model->metadata = metadata;
    for (size_t i = 0; ret == 0 && i < metadata->anchor_count; i++) {
        ret = anchor_link(reader, metadata, &metadata->anchors[i], &model->anchors[i], err);
    }
    if (ret < 0) {
        free(model);
        return ret;
    }
    model->anchor_count = metadata->anchor_count;
    *out_model = model;
    return 0;
}

void popef_model_close(struct popef_model *model)
{
    free(model);
}

const struct popef_executable *popef_model_executable(const struct popef_model *model)
{
    return model->executable;
}

const struct popef_metadata *popef_model_metadata(const struct popef_model *model)
{
    return model->metadata;
}

size_t popef_model_anchor_count(const struct popef_model *model)
{
    return model->anchor_count;
}

const struct popef_model_anchor *popef_model_anchor(const struct popef_model *model, size_t index)
{
    return index < model->anchor_count ? &model->anchors[index] : NULL;
}
