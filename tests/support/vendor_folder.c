/* SPDX-License-Identifier: MIT */
#include "tests/support/vendor_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/formats/common/protobuf_write.h"
#include "tests/support/scratch.h"

#define VERSION_3_OFFSET 100

static void require(bool is_good)
{
    if (!is_good) {
        abort();
    }
}

static void name_add(struct ntk_vec *table, uint64_t id, const char *text)
{
    struct ntk_vendor_trace_name name = { id, strdup(text) };

    require(name.text && ntk_vec_push(table, &name) == 0);
}

void vendor_folder_init(struct vendor_folder *folder, unsigned version)
{
    *folder = (struct vendor_folder){
        .info = { .version = version,
                  .process_id = 41,
                  .session_id = version > 2,
                  .begin_ns = 1000,
                  .end_ns = 100000,
                  .lnc = 2,
                  .instance_id = "i-test",
                  .instance_type = "trn2.3xlarge",
                  .ip_address = "192.0.2.7",
                  .host_name = "secret-host",
                  .processor_count = 2,
                  .processor_name = "cpu",
                  .memory_bytes = 4000,
                  .ultraserver_index = NTK_VENDOR_TRACE_NO_INDEX },
        .type_offset = version > 2 ? VERSION_3_OFFSET : 0,
    };
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_init(&folder->info.tables[t], sizeof(struct ntk_vendor_trace_name));
    }
    name_add(&folder->info.tables[NTK_VENDOR_TRACE_MODELS], 0, "invalid_interned_string");
    name_add(&folder->info.tables[NTK_VENDOR_TRACE_MODELS], 77, "/home/user/model.neff");
    name_add(&folder->info.tables[NTK_VENDOR_TRACE_USAGES], 0, "generic");
    name_add(&folder->info.tables[NTK_VENDOR_TRACE_ERRORS], 0, "SUCCESS");
    name_add(&folder->info.tables[NTK_VENDOR_TRACE_ERRORS], 12, "OUT_OF_MEMORY");
}

void vendor_folder_fini(struct vendor_folder *folder)
{
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_each(struct ntk_vendor_trace_name, name, &folder->info.tables[t]) {
            free(name->text);
        }
        ntk_vec_fini(&folder->info.tables[t]);
    }
    ntk_buf_fini(&folder->records);
    ntk_buf_fini(&folder->cpu);
    ntk_buf_fini(&folder->memory);
}

uint64_t vendor_folder_type(struct vendor_folder *folder, const char *name)
{
    struct ntk_vec *types = &folder->info.tables[NTK_VENDOR_TRACE_TYPES];

    ntk_vec_each(const struct ntk_vendor_trace_name, known, types) {
        if (strcmp(known->text, name) == 0) {
            return known->id;
        }
    }
    uint64_t id = types->count + 1 + folder->type_offset;
    name_add(types, id, name);
    return id;
}

static void pairs_put(struct ntk_buf *buf, const char *pairs)
{
    char *copy = strdup(pairs ? pairs : "");
    char *rest = NULL;

    require(copy);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');

        if (value) {
            *value++ = '\0';
        }
        ntk_vendor_trace_put_pair(buf, word, value ? value : "");
    }
    free(copy);
}

uint64_t vendor_folder_add(struct vendor_folder *folder, const struct vendor_moment *moment)
{
    uint64_t number = (uint64_t)moment->ring << 48 | ++folder->next[moment->ring];
    struct ntk_vendor_trace_record record = {
        .time_ns = moment->time_ns,
        .type = vendor_folder_type(folder, moment->type),
        .thread_id = moment->thread,
        .number = number,
        .tracking_id = moment->tracking_id ? moment->tracking_id : number,
        .sequence = moment->sequence,
        .phase = (uint8_t)moment->phase,
    };
    size_t begin = ntk_vendor_trace_put_begin(&folder->records);

    ntk_vendor_trace_put_record(&folder->records, &record);
    pairs_put(&folder->records, moment->pairs);
    ntk_vendor_trace_put_end(&folder->records, begin);
    return number;
}

uint64_t vendor_folder_span(struct vendor_folder *folder, const char *type, uint32_t thread,
                            uint64_t start_ns, uint64_t end_ns, const char *start_pairs,
                            const char *stop_pairs)
{
    struct vendor_moment moment = { .type = type,
                                    .phase = NTK_VENDOR_TRACE_START,
                                    .time_ns = start_ns,
                                    .thread = thread,
                                    .pairs = start_pairs };
    uint64_t number = vendor_folder_add(folder, &moment);

    moment.phase = NTK_VENDOR_TRACE_STOP;
    moment.time_ns = end_ns;
    moment.tracking_id = number;
    moment.pairs = stop_pairs;
    (void)vendor_folder_add(folder, &moment);
    return number;
}

void vendor_folder_cpu(struct vendor_folder *folder, uint64_t time_ns, uint64_t processor,
                       float percent)
{
    size_t begin = ntk_vendor_trace_put_begin(&folder->cpu);

    ntk_protobuf_put_float(&folder->cpu, 1, percent);
    ntk_protobuf_put_number(&folder->cpu, 2, time_ns);
    ntk_protobuf_put_number(&folder->cpu, 3, processor);
    ntk_vendor_trace_put_end(&folder->cpu, begin);
}

void vendor_folder_memory(struct vendor_folder *folder, uint64_t time_ns, uint64_t bytes)
{
    size_t begin = ntk_vendor_trace_put_begin(&folder->memory);

    ntk_protobuf_put_number(&folder->memory, 1, bytes);
    ntk_protobuf_put_number(&folder->memory, 2, time_ns);
    ntk_vendor_trace_put_end(&folder->memory, begin);
}

static void file_write(const char *folder, const char *name, const struct ntk_buf *bytes)
{
    char *path = test_scratch_path(folder, name);

    require(ntk_buf_ok(bytes) &&
            ntk_fs_write(path, bytes->bytes ? bytes->bytes : "", bytes->bytes_count, NULL) == 0);
    free(path);
}

void vendor_folder_write_info(const struct vendor_folder *folder, const char *path)
{
    struct ntk_buf info = { 0 };

    ntk_vendor_trace_put_info(&info, &folder->info);
    file_write(path, "trace_info.pb", &info);
    ntk_buf_fini(&info);
}

void vendor_folder_write(const struct vendor_folder *folder, const char *path)
{
    vendor_folder_write_info(folder, path);
    file_write(path, "ntrace.pb", &folder->records);
    file_write(path, "cpu_util.pb", &folder->cpu);
    file_write(path, "host_mem.pb", &folder->memory);
}
