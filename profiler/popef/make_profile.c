/* SPDX-License-Identifier: MIT */
/* make_profile - describes producers as tables: names of programs and handles, flow, order of
 * blobs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/popef/make.h"

struct make_profile {
    const char *name;
    const char *executable; /* default name; NULL for a hash of the content */
    int order[6];           /* kinds of blobs */
    const char *opaque[2];  /* opaque blobs that it writes; the second at the end of the file */
    const struct popef_program_name *map;
    size_t map_count;
    /* Programs by the data that they move, and the prefix of a name in a handle. */
    uint32_t load, main, save;
    const char *input, *weight_output, *output;
    bool is_popart;               /* the flow depends on training, seed, RNG state and counters */
    bool has_numbered_duplicates; /* for anchors with equal names and type */
};

static const struct popef_program_name popart_map[] = {
    { 0, "WeightsFromHost" },     { 1, "OptimizerFromHost" }, { 2, "RandomSeedFromHost" },
    { 3, "RandomSeedToHost" },    { 4, "RngStateFromHost" },  { 5, "Program" },
    { 6, "RngStateToHost" },      { 7, "WeightsToHost" },     { 8, "CycleCountTensorToHost" },
    { 9, "CustomProgramsStart" },
};

static const struct popef_program_name tensorflow_map[] = {
    { 0, "load_program" },
    { 1, "main_program" },
    { 2, "save_program" },
};

#define POPART                                                                                    \
    .map = popart_map, .map_count = sizeof popart_map / sizeof *popart_map, .main = 5, .save = 7, \
    .input = "h2d_", .weight_output = "weight_d2h_", .output = "anchor_d2h_", .is_popart = true,  \
    .order = { POPEF_BLOB_METADATA, POPEF_BLOB_EXECUTABLE, POPEF_BLOB_OPAQUE,                     \
               POPEF_BLOB_TENSOR,   POPEF_BLOB_FEED,       -1 }

static const struct make_profile profiles[] = {
    { .name = "",
      .order = { POPEF_BLOB_EXECUTABLE, POPEF_BLOB_METADATA, POPEF_BLOB_OPAQUE, POPEF_BLOB_TENSOR,
                 POPEF_BLOB_FEED, -1 } },
    { .name = "popart", .opaque = { "popart" }, POPART },
    { .name = "poptorch", .opaque = { "popart", "poptorch" }, POPART },
    { .name = "tensorflow",
      .executable = "UNHASHED_EXECUTABLE",
      .order = { POPEF_BLOB_OPAQUE, POPEF_BLOB_EXECUTABLE, POPEF_BLOB_METADATA, POPEF_BLOB_TENSOR,
                 POPEF_BLOB_FEED, -1 },
      .opaque = { "tensorflow" },
      .map = tensorflow_map,
      .map_count = sizeof tensorflow_map / sizeof *tensorflow_map,
      .main = 1,
      .save = 2,
      .input = "",
      .weight_output = "out_",
      .output = "",
      .has_numbered_duplicates = true },
};

const struct make_profile *make_profile_find(const char *name)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

const char *make_profile_names(void)
{
    return "popart, poptorch, tensorflow";
}

bool make_profile_hashes(const struct make_profile *profile)
{
    return profile->is_popart;
}

const int *make_profile_order(const struct make_profile *profile)
{
    return profile->order;
}

static bool has_data(const struct make_description *d, const char *name)
{
    ntk_vec_each(struct make_data, tensor, &d->tensors) {
        if (strcmp(tensor->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static char *text_of(struct make_description *d, const char *before, const char *text)
{
    char *joined = NULL;

    return asprintf(&joined, "%s%s", before, text) < 0 ? NULL : make_keep(d, joined);
}

/* Fills an anchor. Data fed by a tensor in the file is a weight: it moves once, at load and
 * save. */
static int anchor_fill(struct make_description *d, struct popef_anchor *anchor, struct ntk_err *err)
{
    const struct make_profile *profile = d->profile;
    bool is_weight = has_data(d, anchor->name);
    bool is_input = anchor->type == POPEF_TENSOR_INPUT;
    bool has_stream = anchor->type != POPEF_TENSOR_UNKNOWN && profile->map;

    if (!anchor->handle && has_stream) {
        anchor->handle = text_of(d,
                                 is_input    ? profile->input
                                 : is_weight ? profile->weight_output
                                             : profile->output,
                                 anchor->name);
        if (!anchor->handle) {
            return ntk_err_no_memory(err);
        }
    }
    if (anchor->programs.count == SIZE_MAX) { /* no list */
        uint32_t *index = make_keep(d, malloc(sizeof *index));

        if (!index) {
            return ntk_err_no_memory(err);
        }
        *index = is_weight ? (is_input ? profile->load : profile->save) : profile->main;
        anchor->programs.indices = index;
        anchor->programs.count = has_stream ? 1 : 0;
    }
    return 0;
}

/* Numbers duplicates: the first keeps its name, the others get a suffix 0, 1, 2 … */
static int duplicates_number(struct make_description *d, struct ntk_err *err)
{
    struct popef_anchor *anchors = d->anchors.items;

    for (size_t i = 0; i < d->anchors.count; i++) {
        const char *name = anchors[i].name;
        unsigned number = 0;

        for (size_t j = i + 1; j < d->anchors.count; j++) {
            if (anchors[j].type == anchors[i].type && strcmp(anchors[j].name, name) == 0) {
                char text[16];

                (void)snprintf(text, sizeof text, "%u", number++);
                anchors[j].name = text_of(d, name, text);
                if (!anchors[j].name) {
                    return ntk_err_no_memory(err);
                }
            }
        }
    }
    return 0;
}

static int flow_add(struct ntk_vec *list, bool is_wanted, uint32_t index)
{
    return is_wanted ? ntk_vec_push(list, &index) : 0;
}

static int flow_fill(struct make_description *d, struct ntk_err *err)
{
    const struct make_profile *profile = d->profile;
    bool is_training = profile->is_popart && !d->metadata.is_inference;
    bool has_seed = d->metadata.seed_handle && d->metadata.seed_handle[0] != '\0';
    bool has_rng = has_seed && d->has_rng_state;
    int failed = 0;

    if (!profile->map || d->load.count + d->main.count + d->save.count > 0) {
        return 0;
    }
    failed |= flow_add(&d->load, true, profile->load);
    failed |= flow_add(&d->main, true, profile->main);
    if (profile->is_popart) {
        failed |= flow_add(&d->load, is_training, 1);
        failed |= flow_add(&d->load, has_seed, 2);
        failed |= flow_add(&d->load, has_rng, 4);
        failed |= flow_add(&d->save, is_training, profile->save);
        failed |= flow_add(&d->save, has_seed, 3);
        failed |= flow_add(&d->save, has_rng, 6);
        failed |= flow_add(&d->save, d->has_cycle_counters, 8);
    } else {
        failed |= flow_add(&d->save, true, profile->save);
    }
    return failed < 0 ? ntk_err_no_memory(err) : 0;
}

/* Fills programs: load and save programs without a description copy the tensors that refer to
 * them. */
static int programs_fill(struct make_description *d, struct ntk_err *err)
{
    const struct {
        const struct ntk_vec *list;
        const char *kind;
    } flows[] = { { &d->load, "copy_in" }, { &d->save, "copy_out" } };

    if (d->executable_path || !d->executable) {
        return 0;
    }
    for (size_t f = 0; f < 2; f++) {
        ntk_vec_each(uint32_t, index, flows[f].list) {
            struct make_program program = { .index = *index, .kind = flows[f].kind };
            bool is_there = false;

            ntk_vec_each(struct make_program, other, &d->programs) {
                is_there = is_there || other->index == *index;
            }
            if (!is_there && ntk_vec_push(&d->programs, &program) < 0) {
                return ntk_err_no_memory(err);
            }
        }
    }
    return 0;
}

static int opaques_fill(struct make_description *d, struct ntk_err *err)
{
    for (size_t i = 0; i < 2 && d->profile->opaque[i] && d->executable; i++) {
        bool is_there = false;

        ntk_vec_each(struct make_data, opaque, &d->opaques) {
            is_there = is_there || strcmp(opaque->name, d->profile->opaque[i]) == 0;
        }
        if (!is_there) {
            struct make_data *opaque = ntk_vec_add(&d->opaques);

            if (!opaque) {
                return ntk_err_no_memory(err);
            }
            opaque->name = d->profile->opaque[i];
            opaque->bytes = (uint8_t *)"";
        }
    }
    return 0;
}

int make_profile_apply(struct make_description *d, struct ntk_err *err)
{
    int ret = 0;

    ntk_vec_each(struct popef_anchor, anchor, &d->anchors) {
        ret = ret == 0 ? anchor_fill(d, anchor, err) : ret;
    }
    if (ret == 0 && d->profile->has_numbered_duplicates) {
        ret = duplicates_number(d, err);
    }
    if (ret == 0 && d->has_metadata) {
        ret = flow_fill(d, err);
    }
    for (size_t i = 0; ret == 0 && d->has_metadata && d->programs_map.count < d->profile->map_count;
         i++) {
        if (i == 0 && d->programs_map.count > 0) {
            break; /* the description has one */
        }
        if (ntk_vec_push(&d->programs_map, &d->profile->map[i]) < 0) {
            ret = ntk_err_no_memory(err);
        }
    }
    if (ret == 0) {
        ret = programs_fill(d, err);
    }
    if (ret == 0) {
        ret = opaques_fill(d, err);
    }
    if (ret == 0 && d->executable && d->executable[0] == '\0' && d->profile->executable) {
        d->executable = d->profile->executable;
    }
    return ret;
}
