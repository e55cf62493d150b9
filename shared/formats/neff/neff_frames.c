/* SPDX-License-Identifier: MIT */
/* neff_frames - reads the four lists of one message. */
#include "shared/formats/neff/neff_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/str.h"
#include "shared/formats/common/protobuf.h"

#define FIELD_INDEX 6
#define TEXT_BYTES_MAX ((size_t)4096) /* limit after which texts are truncated */
#define TEXT_COST 64

enum { LIST_FILES = 1, LIST_FUNCTIONS, LIST_LOCATIONS, LIST_FRAMES, LIST_END };

struct frame_reader {
    const struct ntk_neff_member *member;
    uint64_t memory_left;
    struct ntk_err *err;
};

static int damaged(struct frame_reader *r, const uint8_t *at, const char *what)
{
    return ntk_err_set(r->err, -EBADMSG, (uint64_t)(at - r->member->bytes), "%s: %s",
                       r->member->name, what);
}

static int add_text(struct frame_reader *r, const struct ntk_protobuf_field *field,
                    struct ntk_vec *list)
{
    size_t bytes = field->bytes_count < TEXT_BYTES_MAX ? field->bytes_count : TEXT_BYTES_MAX;
    char *text = malloc(bytes * 3 + 1); /* each byte may become U+FFFD */

    if (!text) {
        return ntk_err_no_memory(r->err);
    }
    ntk_str_copy_clean(text, bytes * 3 + 1, (const char *)field->bytes, bytes);
    if (ntk_vec_push(list, &text) < 0) {
        free(text);
        return ntk_err_no_memory(r->err);
    }
    r->memory_left -= bytes * 3;
    return 0;
}

/* Reads up to three numbers of a message. */
static int add_numbers(struct frame_reader *r, const struct ntk_protobuf_field *field,
                       uint32_t numbers[3])
{
    struct ntk_protobuf_field one;
    size_t position = 0;

    while (ntk_protobuf_next(field->bytes, field->bytes_count, &position, &one)) {
        if (one.number >= 1 && one.number <= 3) {
            numbers[one.number - 1] = one.value <= UINT32_MAX ? (uint32_t)one.value : 0;
        }
    }
    return position == field->bytes_count
               ? 0
               : damaged(r, field->bytes + position, "a frame ends inside a field");
}

static int add(struct frame_reader *r, const struct ntk_protobuf_field *field,
               struct ntk_neff_frames *frames)
{
    struct ntk_vec *lists[LIST_END] = { NULL, &frames->files, &frames->functions,
                                        &frames->locations, &frames->frames };
    uint32_t numbers[3] = { 0 };

    if (field->number < 1 || field->number >= LIST_END) {
        return 0;
    }
    struct ntk_vec *list = lists[field->number];
    if (!field->bytes || list->count == NTK_NEFF_FRAMES_MAX ||
        r->memory_left < TEXT_COST + 3 * TEXT_BYTES_MAX) {
        return damaged(r, r->member->bytes,
                       !field->bytes                        ? "a list of frames contains a number"
                       : list->count == NTK_NEFF_FRAMES_MAX ? "more than 4194304 frames"
                                                            : "exceeds " NTK_NEFF_MEMORY_TEXT);
    }
    r->memory_left -= TEXT_COST;
    if (field->number <= LIST_FUNCTIONS) {
        return add_text(r, field, list);
    }
    int ret = add_numbers(r, field, numbers);
    if (ret < 0) {
        return ret;
    }
    struct ntk_neff_frame_location location = { numbers[0], numbers[1], numbers[2] };
    struct ntk_neff_frame frame = { numbers[0], numbers[1] };
    const void *row = field->number == LIST_LOCATIONS ? (const void *)&location : &frame;
    return ntk_vec_push(list, row) < 0 ? ntk_err_no_memory(r->err) : 0;
}

int ntk_neff_frames_read(const struct ntk_neff *neff, uint64_t memory_bytes,
                         struct ntk_neff_frames *out_frames, struct ntk_err *err)
{
    static const char name[] = "debug_info/debug_info_stack_frame_index.dbg";
    struct frame_reader r = { .memory_left = memory_bytes, .err = err };
    struct ntk_protobuf_field field;
    size_t position = 0;
    int ret = 0;

    *out_frames = (struct ntk_neff_frames){
        .files = NTK_VEC_INIT(char *),
        .functions = NTK_VEC_INIT(char *),
        .locations = NTK_VEC_INIT(struct ntk_neff_frame_location),
        .frames = NTK_VEC_INIT(struct ntk_neff_frame),
    };
    r.member = neff->member_count ? ntk_neff_member_get(neff, name) : NULL;
    if (!r.member || !r.member->bytes) {
        return 0;
    }
    while (ret == 0 &&
           ntk_protobuf_next(r.member->bytes, r.member->bytes_count, &position, &field)) {
        struct ntk_protobuf_field inner;
        size_t at = 0;

        if (field.number != FIELD_INDEX || !field.bytes) {
            continue;
        }
        while (ret == 0 && ntk_protobuf_next(field.bytes, field.bytes_count, &at, &inner)) {
            ret = add(&r, &inner, out_frames);
        }
        if (ret == 0 && at != field.bytes_count) {
            ret = damaged(&r, field.bytes + at, "the list of frames is truncated");
        }
    }
    if (ret == 0 && position != r.member->bytes_count) {
        ret = damaged(&r, r.member->bytes + position, "truncated inside a field");
    }
    if (ret < 0) {
        ntk_neff_frames_fini(out_frames);
    }
    return ret;
}

void ntk_neff_frames_fini(struct ntk_neff_frames *frames)
{
    ntk_vec_each(char *, file, &frames->files) {
        free(*file);
    }
    ntk_vec_each(char *, function, &frames->functions) {
        free(*function);
    }
    ntk_vec_fini(&frames->files);
    ntk_vec_fini(&frames->functions);
    ntk_vec_fini(&frames->locations);
    ntk_vec_fini(&frames->frames);
}
