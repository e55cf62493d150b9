/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/neff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_build.h"
#include "shared/formats/neff/neff_layout.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* The members of a small NEFF of another tool: no nsx, names in any case. Each test replaces one
 * member, or a text in one. */
struct archive {
    struct ntk_neff_pack_member members[16];
    char texts[16][4096];
    size_t count;
};

static const char *const neff_json =
    "{\"nodes\":["
    "{\"op\":\"null\",\"name\":\"x\",\"inputs\":[],\"output_names\":[\"x\"],\"is_param\":\"0\"},"
    "{\"op\":\"tvm_op\",\"name\":\"sg\",\"attrs\":{\"func_name\":\"__kelf\",\"kelf\":\"kelf-a."
    "json\","
    "\"num_inputs\":\"1\",\"num_outputs\":\"2\",\"flatten_data\":\"0\"},\"inputs\":[[0,0,0]],"
    "\"output_names\":[\"y\",\"y\"]}],"
    "\"arg_nodes\":[0],\"heads\":[[1,0,0],[1,1,0]],"
    "\"attrs\":{\"shape\":[\"list_shape\",[[4,8],[4,8],[4,8]]],"
    "\"storage_id\":[\"list_int\",[0,1,2]],"
    "\"dltype\":[\"list_str\",[\"bfloat16\",\"bfloat16\",\"bfloat16\"]]},"
    "\"node_row_ptr\":[0,1,3]}";
static const char *const kelf_json =
    "{\"graphs\":[{\"definition\":\"sg00/def.json\",\"name\":\"sg00\"}],\"version\":\"0.5\","
    "\"target\":\"cayman\"}";
static const char *const def_json =
    "{\"version\":\"0.6\",\"sp\":\"sp.json\",\"sp_instr\":\"sp.bin\",\"act\":\"Activation.json\","
    "\"dma_queue\":{"
    "\"qSPIO0\":{\"type\":\"in\",\"num_queues\":16,\"owner\":\"sp\",\"semaphore_set\":[8,9],"
    "\"queue_instances\":[\"ring0\"]},"
    "\"qPoolDynamic\":{\"type\":\"dynamic\",\"owner\":\"pool\",\"semaphore\":24,"
    "\"dynamic_dma\":{\"SB_scratch_partition_offset\":0,\"SB_scratch_partition_size\":16384}}},"
    "\"var\":{\"SB\":{\"type\":\"state-buffer\",\"var_id\":0},"
    "\"x\":{\"type\":\"input\",\"var_id\":1,\"size\":64,\"ops\":[]},"
    "\"y\":{\"type\":\"output\",\"var_id\":2,\"size\":64,\"ops\":[]},"
    "\"w\":{\"type\":\"file\",\"var_id\":3,\"size\":16,\"file_name\":\"w.bin\",\"alignment\":16},"
    "\"v\":{\"type\":\"virtual\",\"var_id\":4,\"size\":1000,\"backing_variable_off\":24},"
    "\"t\":{\"type\":\"tmp-buf\",\"var_id\":5,\"size\":77},"
    "\"p\":{\"type\":\"pointer\",\"var_id\":6,\"size\":8,\"referenced_var_id\":3},"
    "\"d\":{\"type\":\"dge-table\",\"var_id\":7,\"list\":[1,2]}},"
    "\"neff_features\":[\"neff_feature_vnc\"],"
    "\"fp8_conversion_config\":{\"emax_fp8_e4m3\":8,\"emax_fp8_e5m2\":15,"
    "\"fp8_range_extension\":true,\"fp8_sis\":false,\"fp8_sns\":false,\"ocp_sat\":true},"
    "\"runtime_event_count\":12,\"runtime_semaphore_count\":3,"
    "\"runtime_statebuffer_reservation\":[{\"type\":\"evtaccel\",\"base_partition\":0,"
    "\"partitions\":128,\"offset\":229368,\"size\":8}],\"cc_streams\":{\"num_streams\":0},"
    "\"#rank_world_size\":0}";
static const char *const sp_json =
    "{\"name\":\"sp.json\",\"instr\":\"sp.bin\",\"dma\":["
    "{\"id\":0,\"queue\":\"qSPIO0\",\"semaphore\":8,\"#comment\":\"I-1\",\"desc\":["
    "{\"op\":\"copy\",\"from\":\"x\",\"from_off\":0,\"from_steps\":[1,16],\"from_sizes\":[16,4],"
    "\"from_dtype\":\"bfloat16\",\"to\":\"SB\",\"to_off\":512,\"to_steps\":[1,262144],"
    "\"to_sizes\":[16,4],\"to_dtype\":\"bfloat16\",\"num_tiling_dimensions\":1}]},"
    "{\"id\":1,\"instance_name\":\"ring0\",\"event\":3,\"remote_semaphores\":[9],"
    "\"function_start\":\"f\",\"section_start_desc\":true,\"desc\":["
    "{\"op\":\"cast\",\"from\":\"SB\",\"from_off\":512,\"from_steps\":[1,262144],"
    "\"from_sizes\":[32,4],\"from_dtype\":\"float32\",\"to\":\"y\",\"to_off\":0,"
    "\"to_steps\":[1,16],\"to_sizes\":[16,4],\"to_dtype\":\"float16\"}]},"
    "{\"id\":2,\"queue\":\"qSPIO0\",\"desc\":["
    "{\"op\":\"fma\",\"scale\":0.5,\"scale_dtype\":\"float32\",\"from_arr\":["
    "{\"from\":\"x\",\"from_off\":0,\"from_steps\":[1],\"from_sizes\":[16],\"from_dtype\":"
    "\"float32\"},"
    "{\"from\":\"v\",\"from_off\":4,\"from_steps\":[1],\"from_sizes\":[16],\"from_dtype\":"
    "\"float32\","
    "\"scale\":2}],\"to\":\"t\",\"to_off\":0,\"to_steps\":[1],\"to_sizes\":[16],"
    "\"to_dtype\":\"float32\"},"
    "{\"op\":\"max\",\"constant\":-1.5,\"constant_dtype\":\"float32\",\"from\":\"x\",\"from_off\":"
    "0,"
    "\"from_steps\":[1],\"from_sizes\":[16],\"from_dtype\":\"float32\",\"to\":\"t\",\"to_off\":0,"
    "\"to_steps\":[1],\"to_sizes\":[16],\"to_dtype\":\"float32\"},"
    "{\"from\":\"x\",\"from_off\":0,\"from_steps\":[1,16],\"from_sizes\":[16,4],\"to\":\"y\","
    "\"to_off\":0,\"to_steps\":[1,8],\"to_sizes\":[8,8],\"transpose_shape\":[1,1,4,8],"
    "\"transpose_element_size\":2,\"transpose_op\":\"WZXY\",\"num_tiling_dimensions\":2}]}]}";
static const char *const act_json =
    "{\"name\":\"Activation.json\",\"dma\":[],\"act_info\":\"act_info.json\",\"act_semaphore\":12,"
    "\"activation_function_sets\":[\"exp_and_others\"]}";
static const char *const act_info_json =
    "{\"pwp_file_keys\":[\"bkt_bin\"],\"act_func_sets\":[{\"name\":\"exp_and_others\","
    "\"act\":{\"exp\":400,\"copy\":1}}]}";
static const char *const map_json =
    "{\"x\":{\"dtype\":\"bfloat16\",\"is_const\":false,\"kind\":\"input\",\"layer_name\":\"x\","
    "\"sim_format\":\"NC\",\"sim_shape\":[4,8]},\"inner\":{\"is_const\":true}}";

static void put(struct archive *a, const char *name, const void *bytes, size_t count)
{
    memcpy(a->texts[a->count], bytes, count);
    a->members[a->count] = (struct ntk_neff_pack_member){ name, a->texts[a->count], count };
    a->count++;
}

static void make(struct archive *a)
{
    static const uint8_t code[64] = { 0xa4, 0x10 };

    a->count = 0;
    put(a, "neff.json", neff_json, strlen(neff_json));
    put(a, "kelf-a.json", kelf_json, strlen(kelf_json));
    put(a, "sg00/def.json", def_json, strlen(def_json));
    put(a, "sg00/sp.json", sp_json, strlen(sp_json));
    put(a, "sg00/sp.bin", code, sizeof code);
    put(a, "sg00/Activation.json", act_json, strlen(act_json));
    put(a, "sg00/act_info.json", act_info_json, strlen(act_info_json));
    put(a, "sg00/tensor_map.json", map_json, strlen(map_json));
    put(a, "sg00/w.bin", "0123456789abcdef", 16);
}

/* Replaces a text in a member; member and text must exist. */
static void replace(struct archive *a, const char *member, const char *from, const char *to)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->members[i].name, member) == 0) {
            char *at;
            size_t rest;

            a->texts[i][a->members[i].bytes_count] = '\0';
            at = strstr(a->texts[i], from);
            if (!at) {
                fail_msg("%s has no %s", member, from);
                return;
            }
            rest = strlen(at + strlen(from)) + 1;
            memmove(at + strlen(to), at + strlen(from), rest);
            for (size_t k = 0; to[k]; k++) {
                at[k] = to[k];
            }
            a->members[i].bytes_count = strlen(a->texts[i]);
            return;
        }
    }
    fail_msg("no member %s", member);
}

static int open_archive(const struct archive *a, struct ntk_neff **out_neff, struct ntk_err *err)
{
    struct ntk_neff_header header = { .pkg_version = 2, .version_major = 2, .name = "test" };
    uint8_t *bytes;
    size_t count;
    int ret;

    assert_int_equal(ntk_neff_pack(&header, a->members, a->count, true, &bytes, &count, err), 0);
    ret = ntk_neff_open_bytes(bytes, count, out_neff, err);
    free(bytes);
    return ret;
}

static void every_member_of_a_neff_is_read_into_its_fields(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };
    const struct ntk_neff_subgraph *sg;
    const struct ntk_neff_engine *sp;
    const struct ntk_neff_transfer *t;
    struct ntk_neff_sizes sizes;

    make(a);
    if (open_archive(a, &neff, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_true(neff->is_vendor);
    assert_int_equal(neff->kelf_count, 1);
    assert_string_equal(neff->kelfs[0].file_name, "kelf-a.json");
    assert_int_equal(neff->output_count, 1);
    assert_string_equal(neff->outputs[0].name, "y");
    assert_int_equal(neff->outputs[0].bytes_count, 64);
    assert_int_equal(neff->outputs[0].dtype, NTK_DTYPE_BFLOAT16);
    assert_int_equal(neff->nodes[1].inputs[0].node, 0);
    assert_int_equal(neff->nodes[1].output_count, 1);

    sg = &neff->kelfs[0].subgraphs[0];
    assert_int_equal(sg->var_count, 8);
    assert_int_equal(ntk_neff_var_by_id(sg, 4)->backing_offset, 24);
    assert_int_equal(ntk_neff_var_by_id(sg, 6)->referenced_var_id, 3);
    assert_int_equal(ntk_neff_var_by_id(sg, 7)->list[1], 2);
    assert_memory_equal(ntk_neff_var_by_id(sg, 3)->data, "0123456789abcdef", 16);
    assert_null(ntk_neff_var_by_id(sg, 8));
    assert_non_null(sg->vars_by_id);
    assert_int_equal(sg->dge_table_count, 1);
    assert_ptr_equal(&sg->vars[sg->dge_table], ntk_neff_var_by_id(sg, 7));
    assert_int_equal(sg->queue_set_count, 2);
    assert_int_equal(sg->queue_sets[0].semaphore_count, 2);
    assert_string_equal(sg->queue_sets[0].instances[0], "ring0");
    assert_int_equal(sg->queue_sets[1].semaphores[0], 24);
    assert_int_equal(sg->queue_sets[1].queue_count, 1);
    assert_int_equal(sg->queue_sets[1].sbuf_scratch_bytes, 16384);
    assert_true(sg->fp8.present);
    assert_int_equal(sg->fp8.emax_e5m2, 15);
    assert_true(sg->fp8.ocp_saturation);
    assert_int_equal(sg->runtime_event_count, 12);
    assert_int_equal(sg->reservations[0].offset, 229368);
    assert_string_equal(sg->features[0], "neff_feature_vnc");
    assert_int_equal(sg->act_sets[0].functions[0].bucket_count, 400);
    assert_int_equal(sg->mapped_count, 2);
    assert_int_equal(sg->mapped[0].dims[1], 8);
    assert_true(sg->mapped[1].is_const);

    assert_int_equal(sg->engines[NTK_ISA_ENGINE_ACT].act_semaphore, 12);
    assert_string_equal(sg->engines[NTK_ISA_ENGINE_ACT].sets[0], "exp_and_others");
    assert_true(sg->engines[NTK_ISA_ENGINE_ACT].is_empty);
    assert_null(sg->engines[NTK_ISA_ENGINE_PE].json_name);
    sp = &sg->engines[NTK_ISA_ENGINE_SP];
    assert_int_equal(sp->code_bytes, 64);
    assert_int_equal(sp->group_count, 3);
    assert_int_equal(sp->groups[0].semaphore, 8);
    assert_int_equal(sp->groups[0].event, NTK_NEFF_NONE);
    assert_string_equal(sp->groups[0].comment, "I-1");
    assert_int_equal(sp->groups[1].queue_set, 0);
    assert_string_equal(sp->groups[1].instance, "ring0");
    assert_int_equal(sp->groups[1].event, 3);
    assert_int_equal(sp->groups[1].remote_semaphores[0], 9);
    assert_string_equal(sp->groups[1].function_start, "f");
    assert_true(sp->groups[1].section_start);
    t = sp->groups[2].transfers;
    assert_int_equal(t[0].op, NTK_NEFF_TRANSFER_FMA);
    assert_int_equal(t[0].source_count, 2);
    assert_true(t[0].scales[0] == 0.5F);
    assert_true(t[0].scales[1] == 2.0F);
    assert_int_equal(t[1].op, NTK_NEFF_TRANSFER_MAX);
    assert_true(t[1].has_constant);
    assert_true(t[1].constant == -1.5);
    assert_int_equal(t[2].op, NTK_NEFF_TRANSFER_TRANSPOSE);
    assert_string_equal(t[2].transpose_order, "WZXY");
    assert_int_equal(t[2].transpose_shape[3], 8);
    assert_int_equal(t[2].to.dtype, NTK_DTYPE_UINT8);

    ntk_neff_subgraph_sizes(sg, &sizes);
    assert_int_equal(sizes.shared_scratch, 1024);
    assert_int_equal(sizes.private_scratch, 77);
    assert_int_equal(sizes.constants, 16);
    assert_int_equal(sizes.code, 64);
    ntk_neff_close(neff);
    free(a);
}

static void an_inconsistent_member_is_rejected_with_the_reason(void **state)
{
    static const struct {
        const char *member;
        const char *from;
        const char *to;
        int code;
        const char *text; /* NULL: the message is libarchive's or jansson's */
    } rows[] = {
        { "neff.json", "[[0,0,0]]", "[[1,0,0]]", -EBADMSG,
          "neff.json: an entry must refer to an output of an earlier node" },
        { "neff.json", "[[0,0,0]]", "[[0,7,0]]", -EBADMSG,
          "neff.json: an entry must refer to an output of an earlier node" },
        { "neff.json", "[1,1,0]", "[1,-1,0]", -EBADMSG,
          "neff.json: an entry must refer to an output of an earlier node" },
        { "neff.json", "tvm_op", "tvm_no", -EBADMSG,
          "neff.json: node 'sg' has the unknown op 'tvm_no'" },
        { "neff.json", "kelf-a.json", "kelf-b.json", -EBADMSG, "the archive has no kelf-b.json" },
        { "neff.json", "\"nodes\"", "\"nodez\"", -EBADMSG, "neff.json: nodes must be a list" },
        { "neff.json", "}", "", -EBADMSG, NULL },
        { "kelf-a.json", "sg00/def.json", "../def.json", -EBADMSG,
          "the archive has no ../def.json" },
        { "kelf-a.json", "[{\"definition\":\"sg00/def.json\",\"name\":\"sg00\"}]", "[]", -EBADMSG,
          "kelf-a.json: no graphs" },
        { "sg00/def.json", "\"var_id\":2", "\"var_id\":1", -EBADMSG, "sg00: duplicate var_id 1" },
        { "sg00/def.json", "\"type\":\"virtual\"", "\"type\":\"cloud\"", -EBADMSG,
          "sg00: variable 'v' has the unknown type 'cloud'" },
        { "sg00/def.json", "\"size\":16", "\"size\":17", -EBADMSG,
          "sg00: constant 'w' has 17 bytes, but its file has 16" },
        { "sg00/def.json", "w.bin", "x.bin", -EBADMSG,
          "sg00: the archive has no sg00/x.bin for constant 'w'" },
        { "sg00/def.json", "\"size\":1000", "\"size\":-1", -EBADMSG,
          "v: size must be a number from 0 to 281474976710656" },
        { "sg00/def.json", "\"referenced_var_id\":3", "\"referenced_var_id\":33", -EBADMSG,
          "sg00: pointer 'p' refers to an unknown variable" },
        { "sg00/def.json", "[1,2]", "[1,9]", -EBADMSG,
          "sg00: table d refers to an unknown variable" },
        { "sg00/def.json", "\"num_queues\":16", "\"num_queues\":17", -EBADMSG,
          "qSPIO0: num_queues must be a number from 0 to 16" },
        { "sg00/def.json", "\"num_queues\":16", "\"num_queues\":0", -EBADMSG,
          "sg00: queue set 'qSPIO0' has no queue" },
        { "sg00/def.json", "\"type\":\"in\"", "\"type\":\"up\"", -EBADMSG,
          "sg00: queue set 'qSPIO0' has the unknown type 'up'" },
        { "sg00/def.json", "\"owner\":\"sp\"", "\"owner\":\"gp\"", -EBADMSG,
          "sg00: queue set 'qSPIO0' has an unknown engine: 'gp'" },
        { "sg00/def.json", "[8,9]", "[8,256]", -EBADMSG,
          "sg00: queue set 'qSPIO0' refers to an unknown semaphore" },
        { "sg00/def.json", "\"queue_instances\":[\"ring0\"]", "\"queue_instances\":[\"r\",\"r\"]",
          -EBADMSG, "sg00: duplicate queue instance 'r'" },
        { "sg00/def.json", "sp.bin", "no.bin", -EBADMSG, "the archive has no sg00/no.bin" },
        { "sg00/sp.json", "\"queue\":\"qSPIO0\"", "\"queue\":\"qNone\"", -EBADMSG,
          "sg00/sp.json: group 0 uses an undeclared queue: qNone" },
        { "sg00/sp.json", "ring0", "ring9", -EBADMSG,
          "sg00/sp.json: group 1 uses an undeclared queue: ring9" },
        { "sg00/sp.json", "\"from\":\"x\"", "\"from\":\"z\"", -EBADMSG,
          "sg00/sp.json: group 0 moves from an undeclared variable: z" },
        { "sg00/sp.json", "\"from_off\":0", "\"from_off\":1", -EBADMSG,
          "sg00/sp.json: group 0 exceeds variable 'x': bytes 1 to 65 of 64" },
        { "sg00/sp.json", "\"from_steps\":[1,16]", "\"from_steps\":[1,-16]", -EBADMSG,
          "sg00/sp.json: group 0 exceeds variable 'x': bytes -48 to 16 of 64" },
        { "sg00/sp.json", "\"from_sizes\":[16,4]", "\"from_sizes\":[16,0]", -EBADMSG,
          "sg00/sp.json: group 0: invalid step or size" },
        { "sg00/sp.json", "\"from_sizes\":[16,4]", "\"from_sizes\":[16]", -EBADMSG,
          "sg00/sp.json: group 0: the numbers of steps and sizes differ" },
        { "sg00/sp.json", "\"from_steps\":[1,16]", "\"from_steps\":[1,16,1,1,1]", -EBADMSG,
          "sg00/sp.json: from_steps has 5 elements (at most 4)" },
        { "sg00/sp.json", "\"from_sizes\":[16,4]", "\"from_sizes\":[8,4]", -EBADMSG,
          "sg00/sp.json: group 0 copies 32 bytes to 64" },
        { "sg00/sp.json", "\"from_dtype\":\"bfloat16\"", "\"from_dtype\":\"float9\"", -EBADMSG,
          "sg00/sp.json: unknown dtype in from_dtype" },
        { "sg00/sp.json", "\"from_sizes\":[32,4]", "\"from_sizes\":[16,4]", -EBADMSG,
          "sg00/sp.json: group 1: source and destination have different numbers of elements" },
        { "sg00/sp.json", "\"semaphore\":8", "\"semaphore\":256", -EBADMSG,
          "sg00/sp.json: semaphore must be a number from 0 to 255" },
        { "sg00/sp.json", "\"op\":\"fma\"", "\"op\":\"fam\"", -EBADMSG,
          "sg00/sp.json: group 2: unknown op 'fam'" },
        { "sg00/sp.json", "\"constant_dtype\":\"float32\"", "\"constant_dtype\":\"int8\"", -EBADMSG,
          "sg00/sp.json: group 2: constant_dtype must be float32, int32 or uint32" },
        { "sg00/sp.json", "\"constant\":-1.5,", "", -EBADMSG,
          "sg00/sp.json: group 2: constant must be a number if constant_dtype is set" },
        { "sg00/sp.json", "WZXY", "WZXX", -EBADMSG,
          "sg00/sp.json: group 2: transpose_op must be a permutation of W, X, Y and Z" },
        { "sg00/sp.json", "[1,1,4,8]", "[1,1,4,9]", -EBADMSG,
          "sg00/sp.json: group 2: the data size is not a multiple of the tile size of "
          "transpose_shape" },
        { "sg00/def.json", "\"alignment\":16", "\"alignment\":24", -EBADMSG,
          "sg00: variable 'w': alignment 24 is not a power of two" },
        { "sg00/def.json", "\"owner\":\"sp\"", "\"fabric_path\":\"mian\"", -EBADMSG,
          "qSPIO0: invalid fabric_path 'mian': expected main or alt" },
        { "sg00/def.json", "\"size\":77", "\"size\":77,\"fabric_path\":\"\"", -EBADMSG,
          "t: invalid fabric_path '': expected main or alt" },
        { "sg00/def.json", "\"size\":77", "\"size\":77,\"file_name\":\"w.bin\"", -EBADMSG,
          "sg00: variable 't' has file_name, which belongs to type 'file', not 'tmp-buf'" },
        { "sg00/def.json", "\"size\":77", "\"size\":77,\"backing_variable_off\":0", -EBADMSG,
          "sg00: variable 't' has backing_variable_off, which belongs to type 'virtual', not "
          "'tmp-buf'" },
        { "sg00/def.json", "\"size\":77", "\"size\":77,\"referenced_var_id\":1", -EBADMSG,
          "sg00: variable 't' has referenced_var_id, which belongs to type 'pointer', not "
          "'tmp-buf'" },
        { "sg00/def.json", "\"size\":77", "\"size\":77,\"list\":[]", -EBADMSG,
          "sg00: variable 't' has list, which belongs to type 'dge-table', not 'tmp-buf'" },
        { "sg00/sp.json", "\"scale_dtype\":\"float32\",", "", -EBADMSG,
          "sg00/sp.json: group 2: scale_dtype of an fma must be float32" },
        { "sg00/sp.json", "\"scale_dtype\":\"float32\"", "\"scale_dtype\":\"float16\"", -EBADMSG,
          "sg00/sp.json: group 2: scale_dtype of an fma must be float32" },
        { "sg00/sp.json", "\"from_arr\":[", "\"from\":\"x\",\"from_arr\":[", -EBADMSG,
          "sg00/sp.json: group 2: expected from_arr or from, not both" },
        { "sg00/sp.json", "\"from_arr\":[", "\"from_arr\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,",
          -EBADMSG, "sg00/sp.json: from_arr has 17 elements (at most 16)" },
        { "sg00/sp.json", "\"from_arr\":[", "\"from_arr\":[],\"#\":[", -EBADMSG,
          "sg00/sp.json: group 2: from_arr is empty" },
        { "sg00/sp.json", "\"from_arr\":[", "\"from_arr\":[{},", -EBADMSG,
          "sg00/sp.json: group 2 moves from an undeclared variable: no name" },
        { "sg00/sp.json", "\"op\":\"fma\"", "\"op\":\"cast\"", -EBADMSG,
          "sg00/sp.json: group 2: from_arr is only allowed for computations" },
        { "sg00/sp.json", "\"transpose_element_size\":2", "\"transpose_element_size\":0", -EBADMSG,
          "sg00/sp.json: group 2: transpose_element_size is 0" },
        { "sg00/sp.json", "\"instr\":\"sp.bin\"", "\"nsx\":{\"version\":2}", -ENOTSUP,
          "sg00/sp.json: unsupported instruction encoding 2 (supported: 1)" },
        { "sg00/sp.json", "\"instr\":\"sp.bin\"", "\"nsx\":{}", -EBADMSG,
          "sg00/sp.json: nsx has no version" },
        { "sg00/w.bin", "0123", "012", -EBADMSG,
          "sg00: constant 'w' has 16 bytes, but its file has 15" },
        { "sg00/tensor_map.json", "{", "[", -EBADMSG, NULL },
    };
    struct archive *a = calloc(1, sizeof *a);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_neff *neff = NULL;
        struct ntk_err err = { 0 };

        make(a);
        replace(a, rows[i].member, rows[i].from, rows[i].to);
        assert_int_equal(open_archive(a, &neff, &err), rows[i].code);
        assert_null(neff);
        assert_true(err.text[0] != '\0');
        if (rows[i].text) {
            assert_string_equal(err.text, rows[i].text);
        }
    }
    free(a);
}

static void a_missing_member_is_rejected_unless_it_is_optional(void **state)
{
    struct archive *a = calloc(1, sizeof *a);

    make(a);
    for (size_t i = 0; i < a->count; i++) {
        struct archive *less = calloc(1, sizeof *less);
        bool optional = strcmp(a->members[i].name, "sg00/act_info.json") == 0 ||
                        strcmp(a->members[i].name, "sg00/tensor_map.json") == 0;
        struct ntk_neff *neff = NULL;

        for (size_t k = 0; k < a->count; k++) {
            if (k != i) {
                put(less, a->members[k].name, a->members[k].bytes, a->members[k].bytes_count);
            }
        }
        assert_int_equal(open_archive(less, &neff, NULL), optional ? 0 : -EBADMSG);
        ntk_neff_close(neff);
        free(less);
    }
    free(a);
}

/* Method: as compilers of NC-v1 and of later chips write them, on the only engine of the file. */
static void vector_engine_tables_are_read_or_rejected(void **state)
{
    static const struct {
        const char *tables;
        const char *sentence; /* NULL: fine */
        uint32_t count;
    } cases[] = {
        { "[{\"control_table\":\"w.bin\",\"datapath_table\":\"w.bin\",\"opcode_table\":\"w.bin\"}]",
          NULL, 3 },
        { "[{\"control_fast_table\":\"w.bin\"},{\"control_slow_table\":\"w.bin\"}]", NULL, 2 },
        { "[]", NULL, 0 },
        { "[{\"opcode_table\":\"gone.bin\"}]",
          "sg00/sp.json: the archive has no sg00/gone.bin for opcode_table", 0 },
        { "[{\"opcode_table\":\"w.bin\"},{\"opcode_table\":\"w.bin\"}]",
          "sg00/sp.json: duplicate table 'opcode_table'", 0 },
        { "[{\"opcode_table\":1024}]", "sg00/sp.json: opcode_table of dve_tables has no file", 0 },
        { "[\"w.bin\"]", "sg00/sp.json: dve_tables[0] is not an object", 0 },
        { "[{\"opcode_table\":\"../kelf-a.json\"}]", "", 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct archive *a = calloc(1, sizeof *a);
        struct ntk_neff *neff = NULL;
        struct ntk_neff_sizes sizes;
        struct ntk_err err = { 0 };
        char text[256];

        make(a);
        snprintf(text, sizeof text, "\"instr\":\"sp.bin\",\"dve_tables\":%s", cases[i].tables);
        replace(a, "sg00/sp.json", "\"instr\":\"sp.bin\"", text);
        if (cases[i].sentence) {
            assert_int_equal(open_archive(a, &neff, &err), -EBADMSG);
            assert_true(!*cases[i].sentence || strcmp(err.text, cases[i].sentence) == 0);
        } else {
            assert_int_equal(open_archive(a, &neff, &err), 0);
            const struct ntk_neff_subgraph *sg = &neff->kelfs[0].subgraphs[0];
            assert_int_equal(sg->engines[NTK_ISA_ENGINE_SP].table_count, cases[i].count);
            ntk_neff_subgraph_sizes(sg, &sizes);
            assert_int_equal(sizes.tables, 16 * cases[i].count);
        }
        ntk_neff_close(neff);
        free(a);
    }
}

static void programs_of_zero_bytes_are_empty_and_not_vendor_programs(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff *neff = NULL;

    make(a);
    memset(a->texts[4], 0, 64);
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    assert_false(neff->is_vendor);
    assert_true(neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_SP].is_empty);
    ntk_neff_close(neff);
    make(a);
    a->members[4].bytes_count = 63;
    assert_int_equal(open_archive(a, &neff, NULL), -EBADMSG);
    free(a);
}

static void a_transpose_may_move_several_tiles(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff *neff = NULL;

    make(a);
    replace(a, "sg00/sp.json", "[1,1,4,8]", "[1,1,4,4]");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    ntk_neff_close(neff);
    make(a);
    replace(a, "sg00/sp.json", "[1,1,4,8]", "[1,1,8,8]"); /* half a tile */
    assert_int_equal(open_archive(a, &neff, NULL), -EBADMSG);
    free(a);
}

static void groups_started_by_one_trigger_must_have_the_same_length(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };

    make(a);
    replace(a, "sg00/sp.json", "\"id\":2", "\"id\":0");
    replace(a, "sg00/sp.json", "\"function_start\":\"f\",", "");
    assert_int_equal(open_archive(a, &neff, &err), -EBADMSG);
    assert_string_equal(err.text,
                        "sg00/sp.json: two groups with id 0 in queue set 'qSPIO0' are started by "
                        "the same trigger, one with 4 descriptors and one with 3");
    /* Another function or instance of the rings means another trigger. */
    make(a);
    replace(a, "sg00/sp.json", "\"id\":2", "\"id\":0");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    ntk_neff_close(neff);
    make(a);
    replace(a, "sg00/sp.json", "\"id\":1", "\"id\":0");
    replace(a, "sg00/sp.json", "\"function_start\":\"f\",", "");
    replace(a, "sg00/sp.json", "\"to_steps\":[1,16],\"to_sizes\":[16,4]",
            "\"num_tiling_dimensions\":2,\"to_steps\":[1,16],\"to_sizes\":[16,4]");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    ntk_neff_close(neff);
    free(a);
}

static void the_tile_of_a_transpose_is_optional(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    const struct ntk_neff_transfer *t;
    struct ntk_neff *neff = NULL;

    make(a);
    replace(a, "sg00/sp.json", "\"transpose_shape\":[1,1,4,8],\"transpose_element_size\":2,", "");
    replace(a, "sg00/sp.json", "{\"from\":\"x\",\"from_off\":0,\"from_steps\":[1,16]",
            "{\"from_dtype\":\"bfloat16\",\"from\":\"x\",\"from_off\":0,\"from_steps\":[1,16]");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    t = &neff->kelfs[0].subgraphs[0].engines[NTK_ISA_ENGINE_SP].groups[2].transfers[2];
    assert_int_equal(t->transpose_element_bytes, 2);
    assert_int_equal(t->transpose_shape[0], 1);
    assert_int_equal(t->transpose_shape[1], 1);
    assert_int_equal(t->transpose_shape[2], 4);
    assert_int_equal(t->transpose_shape[3], 8);
    ntk_neff_close(neff);
    /* 16 bytes are not a multiple of elements of 3 bytes. */
    make(a);
    replace(a, "sg00/sp.json", "\"transpose_shape\":[1,1,4,8],\"transpose_element_size\":2,",
            "\"transpose_element_size\":3,");
    assert_int_equal(open_archive(a, &neff, NULL), -EBADMSG);
    free(a);
}

static void omitted_fp8_keys_have_their_default_values(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    const struct ntk_neff_fp8_config *fp8;
    struct ntk_neff *neff = NULL;

    make(a);
    replace(a, "sg00/def.json", "\"emax_fp8_e4m3\":8,\"emax_fp8_e5m2\":15,", "");
    replace(a, "sg00/def.json", ",\"ocp_sat\":true", "");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    fp8 = &neff->kelfs[0].subgraphs[0].fp8;
    assert_true(fp8->present && fp8->ocp_saturation);
    assert_int_equal(fp8->emax_e4m3, 8);
    assert_int_equal(fp8->emax_e5m2, 15);
    ntk_neff_close(neff);
    make(a);
    replace(a, "sg00/def.json", "\"ocp_sat\":true", "\"ocp_sat\":false");
    assert_int_equal(open_archive(a, &neff, NULL), 0);
    assert_false(neff->kelfs[0].subgraphs[0].fp8.ocp_saturation);
    ntk_neff_close(neff);
    free(a);
}

/* ---- the header ---- */

static void put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* The offsets at which TensorFlow's vendor reader finds its fields. */
static void header_fields_are_at_the_offsets_of_the_vendor_format(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff_header header = { .pkg_version = 2,
                                      .version_major = 2,
                                      .num_tpb = 0x01020304,
                                      .requested_tpb_count = 0x05060708,
                                      .tpb_per_node = { 9, 10 },
                                      .feature_bits = 0xc00,
                                      .lnc_size = 2,
                                      .uuid = { 0xaa },
                                      .name = "name" };
    uint8_t *bytes;
    size_t count;

    make(a);
    assert_int_equal(ntk_neff_pack(&header, a->members, a->count, true, &bytes, &count, NULL), 0);
    assert_int_equal(bytes[0], 2);
    assert_memory_equal(bytes + 8, "\x00\x04\x00\x00\x00\x00\x00\x00", 8);
    assert_memory_equal(bytes + 168, "\x04\x03\x02\x01", 4);
    assert_memory_equal(bytes + 168 + 4 + 304, "\x08\x07\x06\x05", 4);
    assert_memory_equal(bytes + 480, "\x09\x0a\x00", 3);
    assert_int_equal(bytes[204], 0xaa);
    assert_memory_equal(bytes + 220, "name", 5);
    assert_memory_equal(bytes + 544, "\x00\x0c\x00\x00\x00\x00\x00\x00", 8);
    assert_int_equal(bytes[552], 2);
    assert_int_equal(bytes[1024], 0x1f);
    assert_int_equal(bytes[1025], 0x8b);
    for (int i = 556; i < 1024; i++) {
        assert_int_equal(bytes[i], 0);
    }
    free(bytes);
    free(a);
}

static void unsupported_and_damaged_headers_are_rejected_with_the_reason(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
        int code;
        const char *text;
    } rows[] = {
        { 0, 3, -ENOTSUP, "unsupported NEFF package version 3 (supported: 1 and 2)" },
        { 0, 0, -ENOTSUP, "unsupported NEFF package version 0 (supported: 1 and 2)" },
        { 8, 1023, -EBADMSG, NULL },
        { 8, UINT64_MAX, -EBADMSG, NULL },
        { 16, 0, -EBADMSG, NULL },
        { 16, UINT64_MAX, -EBADMSG, NULL },
        { 16, 100, -EBADMSG, NULL }, /* the gzip stream is truncated */
    };
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff_header header = { .pkg_version = 2 };
    uint8_t *bytes;
    size_t count;

    make(a);
    assert_int_equal(ntk_neff_pack(&header, a->members, a->count, true, &bytes, &count, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *copy = malloc(count);
        struct ntk_neff *neff = NULL;
        struct ntk_err err = { 0 };

        memcpy(copy, bytes, count);
        put64(copy + rows[i].offset, rows[i].value);
        assert_int_equal(ntk_neff_open_bytes(copy, count, &neff, &err), rows[i].code);
        assert_null(neff);
        if (rows[i].text) {
            assert_string_equal(err.text, rows[i].text);
        }
        free(copy);
    }
    /* Trailing bytes are allowed. */
    {
        uint8_t *longer = malloc(count + 100);
        struct ntk_neff *neff = NULL;

        memcpy(longer, bytes, count);
        memset(longer + count, 0xee, 100);
        assert_int_equal(ntk_neff_open_bytes(longer, count + 100, &neff, NULL), 0);
        ntk_neff_close(neff);
        free(longer);
    }
    for (size_t cut = 0; cut <= 1024; cut += 64) {
        struct ntk_neff *neff = NULL;

        assert_int_equal(ntk_neff_open_bytes(bytes, cut, &neff, NULL), -EBADMSG);
    }
    free(bytes);
    free(a);
}

static void versions_and_features_are_checked_against_a_mask(void **state)
{
    struct ntk_neff_header header = { .pkg_version = 2, .version_major = 2, .feature_bits = 0x100 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_neff_check_versions(&header, NTK_NEFF_FEATURES_DEFAULT, &err), 0);
    assert_int_equal(ntk_neff_check_versions(&header, UINT64_C(0x80000000000000ff), &err),
                     -ENOTSUP);
    assert_string_equal(err.text, "NEFF version: 2.0, features: 0x100 are not supported. Currently "
                                  "supporting: 0x80000000000000ff");
    header.version_major = 3;
    assert_int_equal(ntk_neff_check_versions(&header, UINT64_C(0xff), &err), -ENOTSUP);
    assert_string_equal(err.text, "NEFF version: 3.0, features: 0x100 are not supported. Currently "
                                  "supporting: versions up to 2, 0xff");
    header.feature_bits = 0;
    assert_int_equal(ntk_neff_check_versions(&header, NTK_NEFF_FEATURES_DEFAULT, NULL), -ENOTSUP);
    header.version_major = 0;
    header.version_minor = 6;
    assert_int_equal(ntk_neff_check_versions(&header, 0, NULL), 0);
    assert_int_equal(ntk_neff_lnc(&header), 1);
}

/* ---- damage of any kind ---- */

/* Method: single bytes of the compressed file and of each JSON member are changed at positions
 * spread over the whole. An accepted file must be closable, and nothing may crash (asan, ubsan). */
static void randomly_damaged_neffs_are_read_or_rejected(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    uint32_t seed = 7;
    int accepted = 0;

    for (int round = 0; round < 1500; round++) {
        struct ntk_neff *neff = NULL;
        size_t member;
        size_t changes;

        make(a);
        seed = seed * 1664525U + 1013904223U;
        member = seed >> 8 & 7;
        changes = 1 + (seed >> 20 & 3);
        while (changes-- > 0) {
            seed = seed * 1664525U + 1013904223U;
            a->texts[member][(seed >> 4) % a->members[member].bytes_count] =
                (char)"0123456789[]{},:\"-"[seed >> 27 & 15];
        }
        accepted += open_archive(a, &neff, NULL) == 0;
        ntk_neff_close(neff);
    }
    assert_in_range(accepted, 1, 1499);
    free(a);
}

static void deeply_nested_json_is_rejected(void **state)
{
    struct archive *a = calloc(1, sizeof *a);
    struct ntk_neff *neff = NULL;
    char *deep = malloc(200000);

    memset(deep, '[', 200000);
    make(a);
    a->members[0] = (struct ntk_neff_pack_member){ "neff.json", deep, 200000 };
    assert_int_equal(open_archive(a, &neff, NULL), -EBADMSG);
    free(deep);
    free(a);
}

static void unreadable_files_report_the_reason(void **state)
{
    char *folder = test_scratch_create();
    char *missing = test_scratch_path(folder, "missing.neff");
    struct ntk_neff *neff = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_neff_open(missing, &neff, &err), -ENOENT);
    assert_non_null(strstr(err.text, missing));
    assert_int_equal(ntk_neff_open(folder, &neff, NULL), -EISDIR);
    assert_null(neff);
    free(missing);
    test_scratch_destroy(folder);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_a_neff_is_read_into_its_fields),
        cmocka_unit_test(an_inconsistent_member_is_rejected_with_the_reason),
        cmocka_unit_test(a_missing_member_is_rejected_unless_it_is_optional),
        cmocka_unit_test(vector_engine_tables_are_read_or_rejected),
        cmocka_unit_test(programs_of_zero_bytes_are_empty_and_not_vendor_programs),
        cmocka_unit_test(a_transpose_may_move_several_tiles),
        cmocka_unit_test(the_tile_of_a_transpose_is_optional),
        cmocka_unit_test(groups_started_by_one_trigger_must_have_the_same_length),
        cmocka_unit_test(omitted_fp8_keys_have_their_default_values),
        cmocka_unit_test(header_fields_are_at_the_offsets_of_the_vendor_format),
        cmocka_unit_test(unsupported_and_damaged_headers_are_rejected_with_the_reason),
        cmocka_unit_test(versions_and_features_are_checked_against_a_mask),
        cmocka_unit_test(randomly_damaged_neffs_are_read_or_rejected),
        cmocka_unit_test(deeply_nested_json_is_rejected),
        cmocka_unit_test(unreadable_files_report_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
