/* SPDX-License-Identifier: MIT */
#include "shared/formats/ntrace/ntrace_comm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void ntk_ntrace_comm_write(const struct ntk_ntrace_comm *comm, char out[NTK_NTRACE_COMM_BYTES])
{
    (void)snprintf(out, NTK_NTRACE_COMM_BYTES,
                   "comm %016" PRIx64 " rank %" PRIu32 " of %" PRIu32 ", %" PRIu32 " of %" PRIu32
                   " in all",
                   comm->key, comm->rank, comm->rank_count, comm->world_rank, comm->world_count);
}

static bool word_read(const char **text, const char *word)
{
    size_t length = strlen(word);
    bool is_there = strncmp(*text, word, length) == 0;

    *text += is_there ? length : 0;
    return is_there;
}

static bool number_read(const char **text, uint32_t *out)
{
    uint64_t number = 0;
    const char *at = *text;

    for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    bool is_there = at > *text && number <= UINT32_MAX;
    *out = (uint32_t)number;
    *text = at;
    return is_there;
}

static bool key_read(const char **text, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 16; i++) {
        char digit = *(*text)++;

        if (digit >= '0' && digit <= '9') {
            *out = *out << 4 | (uint64_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            *out = *out << 4 | (uint64_t)(digit - 'a' + 10);
        } else {
            return false; /* also at the end of the text */
        }
    }
    return *out != 0;
}

int ntk_ntrace_comm_read(const char *text, struct ntk_ntrace_comm *out_comm)
{
    struct ntk_ntrace_comm comm = { 0 };
    bool is_comm = word_read(&text, "comm ") && key_read(&text, &comm.key) &&
                   word_read(&text, " rank ") && number_read(&text, &comm.rank) &&
                   word_read(&text, " of ") && number_read(&text, &comm.rank_count) &&
                   word_read(&text, ", ") && number_read(&text, &comm.world_rank) &&
                   word_read(&text, " of ") && number_read(&text, &comm.world_count) &&
                   strcmp(text, " in all") == 0 && comm.rank < comm.rank_count &&
                   comm.world_rank < comm.world_count;

    if (!is_comm) {
        return -EINVAL;
    }
    *out_comm = comm;
    return 0;
}
