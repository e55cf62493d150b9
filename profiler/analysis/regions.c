/* SPDX-License-Identifier: MIT */
/* regions - orders instances; computes quantiles, outliers, and names shared with other
 * captures. */
#include "profiler/analysis/regions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/analysis/region_find.h"
#include "shared/base/map.h"
#include "shared/base/order.h"

/* three lists of this file, and the lists of the folds, which are small with few repeats */
#define LISTS 12

const char *ntk_region_kind_name(enum ntk_region_kind kind)
{
    static const char *const names[NTK_REGION_KIND_COUNT] = { "loop", "kernel", "iteration",
                                                              "layer", "collective" };

    return names[kind];
}

const char *ntk_region_engine_name(const struct ntk_region *region)
{
    return region->engine < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name(region->engine) : "all";
}

double ntk_region_share(const struct ntk_trace *trace, const struct ntk_region *region)
{
    return trace->has_total && trace->total_ps > 0
               ? (double)region->covered_ps / (double)trace->total_ps
               : -1;
}

bool ntk_region_is_sync(const struct ntk_slot_fact *fact, uint8_t opcode)
{
    static const bool is_sync[256] = {
        [NTK_NTFF_OPCODE_EVENT_SEMAPHORE] = true,
        [NTK_NTFF_OPCODE_DRAIN] = true,
        [NTK_NTFF_OPCODE_NOTIFY] = true,
        [NTK_NTFF_OPCODE_SET_ORDERING_MODE] = true,
        [NTK_NTFF_OPCODE_EVENT_SEMAPHORE_RANGE_CLEAR] = true,
        [NTK_NTFF_OPCODE_ACT_TABLE_LOAD] = true, /* inserted before the first use */
    };

    /* A compiler marks ends of blocks with its own NOPs. */
    return is_sync[opcode] || fact->code->is_runtime ||
           (opcode == NTK_NTFF_OPCODE_NOP && fact->has_bir_id);
}

const char *ntk_region_plain_name(const char *name, char *buf, size_t buf_bytes)
{
    size_t count = 0;

    for (; *name && count + 1 < buf_bytes; name++) {
        bool is_digit = isdigit((unsigned char)*name);
        if (!is_digit) {
            buf[count++] = *name;
        } else if (count == 0 || buf[count - 1] != '#') {
            buf[count++] = '#';
        }
    }
    buf[count] = '\0';
    return buf;
}

/* ---- in the order of discovery ---- */

int ntk_region_find_add(struct ntk_region_find *find, size_t core_index, unsigned engine,
                        enum ntk_region_kind kind, uint32_t *out_region)
{
    struct ntk_region region = {
        .core_index = core_index, .engine = (uint8_t)engine, .kind = kind, .parent = NTK_REGION_NONE
    };

    *out_region = NTK_REGION_NONE;
    if (find->regions.count == NTK_REGIONS_MAX) {
        return 0;
    }
    *out_region = (uint32_t)find->regions.count;
    return ntk_vec_push(&find->regions, &region);
}

int ntk_region_find_put(struct ntk_region_find *find, uint32_t region, int64_t start_ps,
                        int64_t end_ps, uint32_t instruction, uint64_t instruction_count)
{
    int failed = 0;

    if (region == NTK_REGION_NONE) {
        find->omitted++;
        return 0;
    }
    struct ntk_region_instance *instance = ntk_long_list_add(&find->raw, &failed);
    if (!instance) {
        return failed;
    }
    *instance = (struct ntk_region_instance){ start_ps, end_ps, region, instruction };
    struct ntk_region *of = ntk_region_find_at(find, region);
    if (of->count++ == 0) {
        of->start_ps = start_ps;
        of->end_ps = start_ps;
    }
    /* Instances are in order of time and may overlap. */
    int64_t fresh_ps = start_ps > of->end_ps ? start_ps : of->end_ps;
    of->covered_ps += end_ps > fresh_ps ? end_ps - fresh_ps : 0;
    of->end_ps = end_ps > of->end_ps ? end_ps : of->end_ps;
    of->total_ps = ntk_ps_sum(of->total_ps, end_ps - start_ps);
    of->instruction_count += instruction_count;
    return 0;
}

/* ---- in their order ---- */

struct order {
    const struct ntk_region *region;
    uint32_t found; /* its index before sorting */
};

NTK_ORDER(compare, struct order, NTK_DOWN(region->total_ps) NTK_UP(region->start_ps) NTK_UP(found));

/* Sorts the regions and renumbers parents; places[found] is the new number. */
static int arrange(struct ntk_region_find *find, struct ntk_regions *out, uint32_t *places)
{
    size_t count = find->regions.count;
    struct order *orders = calloc(count + 1, sizeof *orders);
    size_t first = 0;

    out->regions = calloc(count + 1, sizeof *out->regions);
    if (!orders || !out->regions) {
        free(orders);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        orders[i] = (struct order){ ntk_region_find_at(find, i), i };
    }
    qsort(orders, count, sizeof *orders, compare);
    for (uint32_t i = 0; i < count; i++) {
        places[orders[i].found] = i;
        out->regions[i] = *orders[i].region;
        out->regions[i].first_instance = first;
        first += out->regions[i].count;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ntk_region *region = &out->regions[i];
        region->parent =
            region->parent == NTK_REGION_NONE ? region->parent : places[region->parent];
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t p = out->regions[i].parent; p != NTK_REGION_NONE;
             p = out->regions[p].parent) {
            out->regions[i].depth++;
        }
    }
    out->region_count = count;
    ntk_vec_clear(&find->regions); /* `out` owns the names now */
    free(orders);
    return 0;
}

static int scatter(struct ntk_region_find *find, struct ntk_regions *out, const uint32_t *places)
{
    const struct ntk_region_instance *raw = find->raw.items;
    size_t *next = calloc(out->region_count + 1, sizeof *next);
    int ret = next ? ntk_long_list_resize(&out->instances, find->raw.count) : -ENOMEM;

    for (size_t i = 0; i < out->region_count && ret == 0; i++) {
        next[i] = out->regions[i].first_instance;
    }
    for (size_t i = 0; i < find->raw.count && ret == 0; i++) {
        uint32_t region = places[raw[i].region];
        struct ntk_region_instance *to =
            (struct ntk_region_instance *)out->instances.items + next[region]++;
        *to = raw[i];
        to->region = region;
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_long_list_give_back(&find->raw);
            ntk_long_list_give_back(&out->instances);
        }
    }
    free(next);
    return ret;
}

/* ---- quantiles ---- */

static uint64_t scramble(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* Finds the value of a rank with three-way quickselect (Hoare 1961) and a random pivot. Values
 * before the rank are not larger afterwards. */
static int64_t select_rank(int64_t *values, size_t count, size_t rank)
{
    size_t first = 0;
    size_t end = count;

    while (end - first > 1) {
        int64_t pivot = values[first + scramble(first ^ end << 32 ^ rank) % (end - first)];
        size_t less = first; /* end of the values below the pivot; values equal to it follow */
        size_t at = first;
        size_t more = end; /* start of the values above the pivot */
        while (at < more) {
            int64_t value = values[at];
            if (value < pivot) {
                values[at++] = values[less];
                values[less++] = value;
            } else if (value > pivot) {
                values[at] = values[--more];
                values[more] = value;
            } else {
                at++;
            }
        }
        if (rank < less) {
            end = less;
        } else if (rank >= more) {
            first = more;
        } else {
            return pivot;
        }
    }
    return values[first];
}

static int64_t median_of(int64_t *values, size_t count)
{
    int64_t upper = select_rank(values, count, count / 2);

    if (count % 2) {
        return upper;
    }
    int64_t lower = select_rank(values, count, count / 2 - 1);
    return lower + (upper - lower) / 2;
}

static int64_t duration_of(const struct ntk_region_instance *instance)
{
    return instance->end_ps > instance->start_ps ? instance->end_ps - instance->start_ps : 0;
}

/* Keeps an outlier, ordered by descending time, then start. */
static void keep_outlier(struct ntk_region *region, const struct ntk_region_instance *instance,
                         uint64_t index)
{
    int64_t duration_ps = duration_of(instance);
    uint32_t at = region->outliers_kept;

    region->outlier_count++;
    while (at > 0 &&
           region->outliers[at - 1].end_ps - region->outliers[at - 1].start_ps < duration_ps) {
        at--;
    }
    if (at == NTK_REGION_OUTLIERS) {
        return;
    }
    region->outliers_kept += region->outliers_kept < NTK_REGION_OUTLIERS;
    memmove(&region->outliers[at + 1], &region->outliers[at],
            (region->outliers_kept - at - 1) * sizeof *region->outliers);
    region->outliers[at] =
        (struct ntk_region_outlier){ index, instance->start_ps, instance->end_ps };
}

static void measure(struct ntk_region *region, const struct ntk_region_instance *instances,
                    int64_t *values)
{
    size_t count = region->count;

    for (size_t i = 0; i < count; i++) {
        values[i] = duration_of(&instances[i]);
        if (values[i] > region->worst_ps) {
            region->worst_ps = values[i];
            region->worst = i;
        }
    }
    region->median_ps = median_of(values, count);
    if (count < NTK_REGION_OUTLIERS_FROM) {
        return;
    }
    int64_t low_ps = select_rank(values, count, (count - 1) / 4);
    int64_t high_ps = select_rank(values, count, 3 * (count - 1) / 4);
    double limit_ps = (double)high_ps + 1.5 * (double)(high_ps - low_ps);
    double least_ps = NTK_REGION_OUTLIER_RATIO * (double)region->median_ps;
    limit_ps = limit_ps > least_ps ? limit_ps : least_ps;
    for (size_t i = 0; i < count && (double)region->worst_ps > limit_ps; i++) {
        if ((double)duration_of(&instances[i]) > limit_ps) {
            keep_outlier(region, &instances[i], i);
        }
    }
}

static int measure_all(const struct ntk_program *program, struct ntk_regions *regions)
{
    struct ntk_long_list values;
    size_t most = 0;

    for (size_t i = 0; i < regions->region_count; i++) {
        most = regions->regions[i].count > most ? regions->regions[i].count : most;
    }
    ntk_long_list_init(&values, program->trace, sizeof(int64_t), LISTS);
    int ret = ntk_long_list_resize(&values, most);
    for (size_t i = 0; i < regions->region_count && ret == 0; i++) {
        struct ntk_region *region = &regions->regions[i];
        measure(region, ntk_region_instances(regions, region), values.items);
    }
    ntk_long_list_give_back(&regions->instances);
    ntk_long_list_fini(&values);
    return ret;
}

/* ---- names ---- */

/* Orders regions by key and start, because regions with equal keys get a number in order of their
 * start. */
static int compare_keys(const void *a, const void *b)
{
    const struct ntk_region *x = *(const struct ntk_region *const *)a;
    const struct ntk_region *y = *(const struct ntk_region *const *)b;
    int order = strcmp(x->key, y->key);

    if (order || x->start_ps == y->start_ps) {
        return order ? order : (x < y ? -1 : 1);
    }
    return x->start_ps < y->start_ps ? -1 : 1;
}

/* Returns NULL if out of memory. */
static char *with_number(const char *text, size_t number)
{
    char *made = NULL;

    return asprintf(&made, "%s (%zu)", text, number) < 0 ? NULL : made;
}

static int number_keys(struct ntk_regions *regions)
{
    struct ntk_region **sorted = calloc(regions->region_count + 1, sizeof *sorted);
    char *before = NULL; /* original key of the previous region */
    size_t alike = 0;
    int ret = sorted ? 0 : -ENOMEM;

    for (size_t i = 0; i < regions->region_count && ret == 0; i++) {
        sorted[i] = &regions->regions[i];
    }
    if (ret == 0) {
        qsort(sorted, regions->region_count, sizeof(struct ntk_region *), compare_keys);
    }
    for (size_t i = 0; i < regions->region_count && ret == 0; i++) {
        char *key = sorted[i]->key;
        alike = before && strcmp(before, key) == 0 ? alike + 1 : 1;
        if (alike > 1) {
            char *shown = sorted[i]->shown;
            sorted[i]->key = with_number(key, alike);
            sorted[i]->shown = with_number(shown, alike);
            ret = sorted[i]->key && sorted[i]->shown ? 0 : -ENOMEM;
            free(key);
            free(shown);
        } else {
            free(before);
            before = strdup(key);
            ret = before ? 0 : -ENOMEM;
        }
    }
    free(before);
    free(sorted);
    return ret;
}

static int name_all(const struct ntk_program *program, struct ntk_regions *regions)
{
    for (size_t i = 0; i < regions->region_count; i++) {
        struct ntk_region *region = &regions->regions[i];
        char plain[2 * NTK_REGION_NAME_BYTES];
        if (asprintf(&region->shown, "NC %u %s %s %s",
                     program->trace->cores[region->core_index].ntff->core,
                     ntk_region_engine_name(region), ntk_region_kind_name(region->kind),
                     region->name) < 0) {
            region->shown = NULL;
            return -ENOMEM;
        }
        if (asprintf(&region->key, "NC %u %s %s %s",
                     program->trace->cores[region->core_index].ntff->core,
                     ntk_region_engine_name(region), ntk_region_kind_name(region->kind),
                     ntk_region_plain_name(region->name, plain, sizeof plain)) < 0) {
            region->key = NULL;
            return -ENOMEM;
        }
    }
    return number_keys(regions);
}

/* ---- all of it ---- */

int ntk_analysis_regions(const struct ntk_program *program, struct ntk_regions *out_regions)
{
    struct ntk_region_find find = { .program = program,
                                    .regions = NTK_VEC_INIT(struct ntk_region) };
    struct ntk_regions regions = { 0 };
    uint32_t *places = NULL;
    int ret = 0;

    ntk_long_list_init(&find.raw, program->trace, sizeof(struct ntk_region_instance), LISTS);
    ntk_long_list_init(&regions.instances, program->trace, sizeof(struct ntk_region_instance),
                       LISTS);
    for (size_t c = 0; c < program->trace->core_count && ret == 0; c++) {
        ret = ntk_region_find_repeats(&find, c);
        ret = ret ? ret : ntk_region_find_layers(&find, c);
        ret = ret ? ret : ntk_region_find_collectives(&find, c);
    }
    if (ret == 0) {
        places = calloc(find.regions.count + 1, sizeof *places);
        ret = places ? arrange(&find, &regions, places) : -ENOMEM;
    }
    ret = ret ? ret : scatter(&find, &regions, places);
    ntk_long_list_fini(&find.raw);
    ret = ret ? ret : measure_all(program, &regions);
    ret = ret ? ret : name_all(program, &regions);
    ntk_vec_each(struct ntk_region, region, &find.regions) { /* after a failure */
        free(region->name);
    }
    ntk_vec_fini(&find.regions);
    free(places);
    if (ret < 0) {
        ntk_regions_fini(&regions);
        return ret;
    }
    regions.omitted = find.omitted;
    *out_regions = regions;
    return 0;
}

void ntk_regions_fini(struct ntk_regions *regions)
{
    for (size_t i = 0; i < regions->region_count; i++) {
        free(regions->regions[i].name);
        free(regions->regions[i].key);
        free(regions->regions[i].shown);
    }
    free(regions->regions);
    ntk_long_list_fini(&regions->instances);
    *regions = (struct ntk_regions){ 0 };
}
