/* SPDX-License-Identifier: MIT */
/* run_output - writes an output as a NumPy array, incrementally, and renames the file at the
 * end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"
#include "shared/base/buf.h"

/* Size of every header: room for 17 dimensions of 20 digits, and a multiple of 64. */
#define HEADER_BYTES 512

char *run_output_name(const struct popef_anchor *anchor, bool by_handle)
{
    char *name = NULL;

    if (asprintf(&name, "%s.npy", by_handle ? anchor->handle : anchor->name) < 0) {
        return NULL;
    }
    for (char *c = name; *c; c++) {
        *c = *c == '/' || (unsigned char)*c < ' ' || *c == 0x7f ? '_' : *c;
    }
    name[0] = name[0] == '.' ? '_' : name[0];
    return name;
}

int run_output_open(struct run_output *output, const struct popef_anchor *anchor,
                    const char *folder, bool is_counted, bool is_taken, struct ntk_err *err)
{
    static const uint8_t no_header[HEADER_BYTES];
    char *name = run_output_name(anchor, is_taken);

    *output = (struct run_output){ .anchor = anchor, .is_counted = is_counted };
    output->item_bytes = (uint64_t)popef_tensor_info_size_in_bytes(&anchor->tensor_info);
    output->item = malloc(output->item_bytes + 1);
    if (!name || !output->item || asprintf(&output->path, "%s/%s", folder, name) < 0) {
        free(name);
        output->path = NULL;
        return ntk_err_no_memory(err);
    }
    free(name);
    int ret = ntk_fs_replace_begin(&output->replace, output->path, err);
    if (ret == 0 && fwrite(no_header, 1, sizeof no_header, output->replace.file) != HEADER_BYTES) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", output->path,
                          strerror(errno));
    }
    return ret;
}

int run_output_add(struct run_output *output, struct ntk_err *err)
{
    if (fwrite(output->item, 1, output->item_bytes, output->replace.file) != output->item_bytes) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", output->path,
                           strerror(errno));
    }
    output->items++;
    return 0;
}

/* Returns the NumPy type; bytes for a type that NumPy lacks. */
static const char *descr(enum popef_data_type type)
{
    static const char *const texts[POPEF_DATA_TYPE_COUNT] = {
        [POPEF_BOOL] = "|b1", [POPEF_F16] = "<f2", [POPEF_F32] = "<f4", [POPEF_F64] = "<f8",
        [POPEF_S8] = "|i1",   [POPEF_U8] = "|u1",  [POPEF_S16] = "<i2", [POPEF_U16] = "<u2",
        [POPEF_S32] = "<i4",  [POPEF_U32] = "<u4", [POPEF_S64] = "<i8", [POPEF_U64] = "<u8",
    };

    return texts[type] ? texts[type] : "|u1";
}

int run_output_commit(struct run_output *output, struct ntk_err *err)
{
    const struct popef_tensor_info *info = &output->anchor->tensor_info;
    struct ntk_buf header = { 0 };

    ntk_buf_add(&header, "\x93NUMPY\x01\x00", 8);
    ntk_buf_put_u16(&header, HEADER_BYTES - 10);
    ntk_buf_add_format(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                       descr(info->data_type));
    if (output->is_counted) {
        ntk_buf_add_format(&header, "%" PRIu64 ", ", output->items);
    }
    for (uint32_t i = 0; i < info->rank; i++) {
        ntk_buf_add_format(&header, "%" PRId64 ", ", info->shape[i]);
    }
    ntk_buf_add_text(&header, "), }");
    ntk_buf_add_fill(&header, ' ', HEADER_BYTES - 1 - header.bytes_count);
    ntk_buf_add_char(&header, '\n');
    int ret = ntk_buf_ok(&header) ? 0 : ntk_err_no_memory(err);
    if (ret == 0 &&
        (fseeko(output->replace.file, 0, SEEK_SET) != 0 ||
         fwrite(header.bytes, 1, header.bytes_count, output->replace.file) != HEADER_BYTES)) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", output->path,
                          strerror(errno));
    }
    ntk_buf_fini(&header);
    return ret == 0 ? ntk_fs_replace_commit(&output->replace, err) : ret;
}

void run_output_close(struct run_output *output)
{
    ntk_fs_replace_abort(&output->replace);
    free(output->path);
    free(output->item);
    *output = (struct run_output){ 0 };
}
