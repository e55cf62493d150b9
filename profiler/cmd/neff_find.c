/* SPDX-License-Identifier: MIT */
#include "profiler/cmd/neff_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/system/session_find.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

/* State of a search in the checked files. */
struct search {
    const struct ntk_ntff *ntff;
    const char *stem; /* part of the capture's name; not NUL-terminated */
    size_t stem_bytes;
    const char *best; /* borrowed from the list of files */
    bool best_is_called_so;
    bool is_ambiguous;
    uint8_t uuid[NTK_NTFF_UUID_BYTES]; /* uuid of the best file */
};

/* Reads the uuid, even from a file truncated after its header, because opening it reports this. */
static bool read_uuid(const char *path, uint8_t uuid[NTK_NTFF_UUID_BYTES])
{
    uint8_t bytes[NTK_NEFF_HEADER_BYTES];
    struct ntk_neff_header header = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* it may be a pipe */
    bool is_read = fd >= 0 && ntk_fs_pread(fd, bytes, sizeof bytes, 0) == 0;

    if (is_read) {
        header = ntk_neff_header_of(bytes);
        is_read = header.header_size >= NTK_NEFF_HEADER_BYTES &&
                  (header.pkg_version == 1 || header.pkg_version == 2);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (is_read) {
        memcpy(uuid, header.uuid, NTK_NTFF_UUID_BYTES);
    }
    return is_read;
}

static void look_at(struct search *search, const char *path)
{
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
    const char *name = ntk_str_base_name(path);

    if (!read_uuid(path, uuid) || ntk_ntff_check_neff(search->ntff, uuid, NULL) != 0) {
        return;
    }
    bool is_called_so = strncmp(name, search->stem, search->stem_bytes) == 0 &&
                        strcmp(name + search->stem_bytes, ".neff") == 0;
    if (search->best && memcmp(search->uuid, uuid, sizeof uuid) != 0) {
        search->is_ambiguous = true;
    }
    if (!search->best || (is_called_so && !search->best_is_called_so)) {
        search->best = path;
        search->best_is_called_so = is_called_so;
        memcpy(search->uuid, uuid, sizeof uuid);
    }
}

/* Returns the reason why no file is used; 0 if one is used, or if there is none. */
static int why_none(const struct search *search, const char *folder, size_t file_count,
                    struct ntk_err *err)
{
    char wants[NTK_NTFF_UUID_TEXT_BYTES];

    if (file_count == 0 || (search->best && !search->is_ambiguous)) {
        return 0;
    }
    if (!search->ntff->neff_uuid_known_bytes && !search->ntff->program_uuid_count) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "the capture does not name its NEFF, so none of the %zu NEFFs in %s is "
                           "used: pass one with -n, or -n - for none",
                           file_count, folder);
    }
    ntk_ntff_uuid_text(search->ntff, wants);
    return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                       search->is_ambiguous
                           ? "several NEFFs in %s match the partial uuid %s of the capture: pass "
                             "one with -n, or -n - for none"
                           : "no NEFF in %s matches the capture's uuid %s: names of layers and "
                             "tensors are missing; pass it with -n, or -n - for none",
                       folder, wants);
}

int ntk_neff_find(const struct ntk_ntff *ntff, const char *ntff_path, char **out_path,
                  struct ntk_err *err)
{
    const char *name = ntk_str_base_name(ntff_path);
    char *folder = name == ntff_path ? strdup(".") : strndup(ntff_path, (size_t)(name - ntff_path));
    struct ntk_vec files = { 0 };
    struct search search = { .ntff = ntff,
                             .stem = name,
                             .stem_bytes = ntk_str_ends_with(name, ".ntff")
                                               ? strlen(name) - strlen(".ntff")
                                               : strlen(name) };
    int ret = folder ? 0 : -ENOMEM;

    *out_path = NULL;
    for (size_t n = folder ? strlen(folder) : 0; n > 1 && folder[n - 1] == '/'; n--) {
        folder[n - 1] = '\0'; /* paths look better without the slash */
    }
    if (ret == 0) {
        ret = ntk_session_files(folder, ".neff", &files);
    }
    if (ret == -ENOMEM) {
        ret = ntk_err_no_memory(err);
    } else {
        /* An unreadable folder has no usable NEFF. */
        ntk_vec_each(char *, path, &files) {
            look_at(&search, *path);
        }
        ret = why_none(&search, folder, files.count, err);
    }
    if (ret == 0 && search.best) {
        *out_path = strdup(search.best);
        ret = *out_path ? 0 : ntk_err_no_memory(err);
    }
    ntk_session_paths_fini(&files);
    free(folder);
    return ret;
}
