/* SPDX-License-Identifier: MIT */
/* neff_stats - reads counts that compilers made of the model. */
#include "shared/formats/neff/neff.h"

#include <jansson.h>
#include <string.h>

#include "shared/base/str.h"

#define STATS_NAME "hlo_stats.json"
#define STATS_BYTES_MAX (1U << 20)
/* operations are twice as many, and tables store them as signed numbers */
#define MACS_MAX (INT64_MAX / 4)

/* Returns false if the member is not a valid count. */
static bool read_macs(const struct ntk_neff_member *member, uint64_t *out_macs)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)member->bytes, member->bytes_count, 0, &error);
    const json_t *count = json_object_get(root, "HloMacCount");
    double macs = json_is_number(count) ? json_number_value(count) : -1;
    bool is_count = macs >= 0 && macs <= (double)MACS_MAX;

    if (is_count) {
        *out_macs = json_is_integer(count) ? (uint64_t)json_integer_value(count) : (uint64_t)macs;
    }
    json_decref(root);
    return is_count;
}

bool ntk_neff_model_macs(const struct ntk_neff *neff, uint64_t *out_macs)
{
    uint64_t sum = 0;
    bool has_any = false;

    for (uint32_t m = 0; m < neff->member_count; m++) {
        const struct ntk_neff_member *member = &neff->members[m];
        uint64_t macs = 0;
        if (strcmp(ntk_str_base_name(member->name), STATS_NAME) != 0) {
            continue;
        }
        if (!member->bytes || member->bytes_count > STATS_BYTES_MAX || !read_macs(member, &macs) ||
            macs > MACS_MAX - sum) {
            return false;
        }
        sum += macs;
        has_any = true;
    }
    *out_macs = sum;
    return has_any;
}
