/* SPDX-License-Identifier: MIT */
/*
 * neff - reading Neuron executable files.
 *
 * A NEFF is a 1024-byte header followed by a tar archive. This module turns the bytes into structs;
 * it prints nothing and does not decide which models a machine can run: ntk_neff_check_versions()
 * and the loader check version, features, target and LNC. docs/formats/neff.md describes the
 * format; neff_build.h writes it.
 *
 * Errors:  -EBADMSG   malformed in any way (libnrt: NRT_INVALID)
 *          -ENOTSUP   a version or feature that is not supported (NRT_UNSUPPORTED_NEFF_VERSION)
 *          -EFBIG     larger than the bounds below (NRT_INVALID)
 *          -ENOMEM, and errors of open() and read().
 * Owner:   ntk_neff_open*() allocates, ntk_neff_close() frees; everything in struct ntk_neff is
 *          borrowed and lives as long. Nothing refers to the caller's bytes.
 * Threads: several threads may read a struct ntk_neff, because nothing changes after opening.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/formats/neff/isa.h"

struct ntk_buf;

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NEFF_DIMS_MAX 8
#define NTK_NEFF_TRANSFER_DIMS_MAX 4
#define NTK_NEFF_TRANSFER_SOURCES_MAX 16
#define NTK_NEFF_QUEUES_MAX 16
#define NTK_NEFF_NONE UINT32_MAX /* value for absent ids and numbers below */
/* Limits of a file: payload on disk, all members inflated, one JSON member, number of members,
 * length of a name. */
#define NTK_NEFF_FILE_BYTES_MAX (UINT64_C(64) << 30)
#define NTK_NEFF_INFLATED_BYTES_MAX (UINT64_C(256) << 30)
#define NTK_NEFF_JSON_BYTES_MAX UINT64_C(4294967295)
#define NTK_NEFF_MEMBERS_MAX 65536
#define NTK_NEFF_MEMBER_NAME_MAX 1024

/* Feature bits that are supported unless NEURON_SOFT_NEFF_FEATURES says otherwise. */
#define NTK_NEFF_FEATURES_DEFAULT UINT64_C(0x8000000000000fff)
#define NTK_NEFF_FEATURES_LNC2 UINT64_C(0xc00) /* value in files for LNC 2 */

/* A byte of the state buffer has this address in a DMA transfer: partition * this + offset. */
#define NTK_NEFF_SBUF_PARTITION_STEP UINT64_C(262144)

struct ntk_neff_header {
    uint64_t pkg_version;
    uint64_t header_size;
    uint64_t data_size;
    uint64_t version_major;
    uint64_t version_minor;
    char build_version[129];
    uint32_t num_tpb;
    uint8_t hash[32];
    uint8_t uuid[16];
    char name[257];
    uint32_t requested_tpb_count;
    uint8_t tpb_per_node[64];
    uint64_t feature_bits;
    uint32_t lnc_size; /* value in the file; 0 in old files means 1 */
};

struct ntk_neff_member {
    char *name;     /* without a leading "./" */
    uint8_t *bytes; /* followed by an uncounted NUL, unless it landed */
    size_t bytes_count;
    uint8_t *head; /* for a constant that landed: its NumPy header, which is not in bytes */
    size_t head_bytes;
    bool is_landed;  /* bytes are in memory from struct ntk_neff_landing */
    bool is_omitted; /* bytes is NULL, because the member is large and no request names it */
};

struct ntk_neff_info { /* from info.json; "" and zeros if absent */
    char tool_version[128];
    char kelp_version[64];
    char nki_version[96];
    char name[257];
    uint32_t num_tpb;
    uint32_t num_tpb_requested;
};

/* ---- the graph of neff.json ---- */

struct ntk_neff_entry { /* number `output` of the outputs of node `node` */
    uint32_t node;
    uint32_t output;
};

enum ntk_neff_node_kind {
    NTK_NEFF_NODE_INPUT, /* node with op "null", is_param "0" */
    NTK_NEFF_NODE_PARAM, /* node with op "null", is_param "1" */
    NTK_NEFF_NODE_CORE,  /* func_name "__kelf": runs on a NeuronCore */
    NTK_NEFF_NODE_CPU,   /* any other function: runs on the host, see neff_cpu.h */
};

struct ntk_neff_tensor { /* facts about one output of one node */
    const char *name;    /* output name; for inputs, the node's name */
    enum ntk_dtype dtype;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX];
    uint64_t bytes_count; /* product of dims * element size; 0 if shape or dtype is absent */
    int64_t storage_id;   /* -1 if absent */
};

struct ntk_neff_node {
    enum ntk_neff_node_kind kind;
    const char *name;
    const char *func_name; /* "" for inputs */
    const char *library;   /* CPU nodes: member with the code; NULL if there is none */
    /* PARAM nodes: a variable of type FILE; NULL if the file has none */
    const struct ntk_neff_var *value;
    uint32_t kelf; /* CORE nodes: index in neff->kelfs, else NTK_NEFF_NONE */
    uint32_t input_count;
    struct ntk_neff_entry *inputs;
    /* outputs with unique names; LNC 2 files repeat each one once per subgraph */
    uint32_t output_count;
    struct ntk_neff_tensor *outputs;
};

/* Network inputs and outputs, by name and without duplicates. */
struct ntk_neff_io {
    const char *name;
    enum ntk_dtype dtype;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX];
    uint64_t bytes_count; /* size of the variable in def.json; for CPU nodes, size of the tensor */
    struct ntk_neff_entry entry;
};

/* ---- def.json and the engine JSONs of one subgraph ---- */

enum ntk_neff_var_type {
    NTK_NEFF_VAR_STATE_BUFFER,
    NTK_NEFF_VAR_INPUT,
    NTK_NEFF_VAR_OUTPUT,
    NTK_NEFF_VAR_FILE,    /* constant; data points into a member */
    NTK_NEFF_VAR_TMP_BUF, /* private scratchpad */
    NTK_NEFF_VAR_VIRTUAL, /* shared scratchpad at backing_offset */
    NTK_NEFF_VAR_POINTER, /* the address of the variable referenced_var_id */
    NTK_NEFF_VAR_DGE_TABLE,
};

struct ntk_neff_var {
    const char *name;
    enum ntk_neff_var_type type;
    uint32_t var_id;
    uint64_t bytes_count; /* 0 for state-buffer and dge-table if the file does not record it */
    uint64_t alignment;
    bool alt_fabric;       /* fabric_path is "alt" */
    const char *file_name; /* FILE only */
    const char *member;    /* FILE: name of the member in the archive */
    /* FILE: the array bytes of a .npy file, or all bytes of any other member; NULL with
     * options.leave_constants */
    const uint8_t *data;
    uint64_t data_bytes;        /* FILE: equal to bytes_count */
    uint64_t backing_offset;    /* VIRTUAL only */
    uint32_t referenced_var_id; /* POINTER only, else NTK_NEFF_NONE */
    uint32_t *list;             /* DGE_TABLE: var_ids */
    uint32_t list_count;
};

enum ntk_neff_queue_type {
    NTK_NEFF_QUEUE_IN,
    NTK_NEFF_QUEUE_OUT,
    NTK_NEFF_QUEUE_DATA,
    NTK_NEFF_QUEUE_EMBEDDING_UPDATE,
    NTK_NEFF_QUEUE_DYNAMIC,
};

struct ntk_neff_queue_set {
    const char *name;
    enum ntk_neff_queue_type type;
    uint32_t queue_count; /* 1 to 16 */
    uint32_t owner;       /* enum ntk_isa_engine; NTK_NEFF_NONE if absent */
    uint32_t semaphore_count;
    uint16_t semaphores[NTK_NEFF_QUEUES_MAX]; /* the semaphore_set, or the single semaphore */
    bool alt_fabric;
    bool pinned;
    uint32_t instance_count;
    const char **instances;       /* key queue_instances */
    uint64_t sbuf_scratch_offset; /* key dynamic_dma */
    uint64_t sbuf_scratch_bytes;
};

enum ntk_neff_transfer_op {
    NTK_NEFF_TRANSFER_COPY,
    NTK_NEFF_TRANSFER_CAST,
    NTK_NEFF_TRANSFER_ADD,
    NTK_NEFF_TRANSFER_MIN,
    NTK_NEFF_TRANSFER_MAX,
    NTK_NEFF_TRANSFER_FMA,
    NTK_NEFF_TRANSFER_TRANSPOSE,
};
/* The operation's name in a NEFF. */
const char *ntk_neff_transfer_op_name(enum ntk_neff_transfer_op op);

/*
 * One side of a transfer: outer loops dim_count - 1 ... 1 around sizes[0] contiguous bytes. steps
 * and sizes[0] are in bytes, the other sizes are counts. Addresses in the state buffer are
 * partition * NTK_NEFF_SBUF_PARTITION_STEP + offset.
 */
struct ntk_neff_pattern {
    uint32_t var; /* index in the subgraph's vars (not var_id) */
    enum ntk_dtype dtype;
    uint64_t offset;
    uint32_t dim_count;
    int64_t steps[NTK_NEFF_TRANSFER_DIMS_MAX];
    uint64_t sizes[NTK_NEFF_TRANSFER_DIMS_MAX];
};

struct ntk_neff_transfer {
    enum ntk_neff_transfer_op op;
    uint32_t source_count; /* 1; up to 16 if the file has from_arr */
    bool has_source_array; /* whether the file has from_arr */
    struct ntk_neff_pattern to;
    struct ntk_neff_pattern *from; /* source_count elements */
    float *scales;                 /* source_count elements; all 1 except for fma */
    bool has_constant;             /* min, max: the start value is set */
    enum ntk_dtype constant_dtype; /* FLOAT32, INT32 or UINT32 */
    double constant;
    uint32_t tiling_dim_count;   /* num_tiling_dimensions; 0 if absent */
    uint32_t transpose_shape[4]; /* TRANSPOSE only */
    uint32_t transpose_element_bytes;
    char transpose_order[8]; /* key transpose_op, such as "WZXY" */
};

struct ntk_neff_dma_group {
    uint32_t id;
    uint32_t queue_set;   /* index in the subgraph's queue_sets */
    const char *instance; /* instance_name; NULL if absent */
    uint32_t transfer_count;
    struct ntk_neff_transfer *transfers;
    uint32_t semaphore; /* NTK_NEFF_NONE if absent */
    uint32_t event;     /* NTK_NEFF_NONE if absent */
    uint32_t remote_semaphore_count;
    uint16_t *remote_semaphores;
    const char *function_start; /* "" if absent */
    bool section_start;
    const char *comment; /* "" if absent */
};

struct ntk_neff_table { /* for the vector engine's hardware; the vendor defines the content */
    const char *key;    /* such as "opcode_table" */
    const char *member; /* name in the archive */
    uint64_t bytes_count;
};

struct ntk_neff_engine {
    const char *json_name; /* name in def.json without the folder; NULL if the engine is absent */
    const char *binary_name;
    const uint8_t *code; /* a multiple of 64 bytes */
    size_t code_bytes;
    uint32_t nsx_version; /* 0: no nsx key, so a vendor's encoding */
    bool is_empty;        /* no bytes, or only zero bytes */
    uint32_t name_count;  /* number of nsx.names; name_id - 1 is the index */
    const char **names;
    uint32_t group_count;
    struct ntk_neff_dma_group *groups;
    uint32_t act_semaphore; /* NTK_NEFF_NONE if absent */
    uint32_t set_count;     /* number of activation_function_sets */
    const char **sets;
    const char *act_info_name; /* NULL if absent */
    uint32_t table_count;      /* number of dve_tables */
    struct ntk_neff_table *tables;
};

struct ntk_neff_act_function {
    const char *name;
    uint32_t bucket_count;
};

struct ntk_neff_act_set { /* one of act_func_sets in act_info.json */
    const char *name;
    uint32_t function_count;
    struct ntk_neff_act_function *functions;
};

struct ntk_neff_mapped_tensor { /* one row of tensor_map.json */
    const char *name;
    const char *dtype;
    const char *kind; /* "input", "output", or "" for internal tensors */
    const char *layer_name;
    const char *format; /* key sim_format */
    bool is_const;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX]; /* key sim_shape */
};

struct ntk_neff_reservation {
    const char *type;
    uint32_t base_partition;
    uint32_t partition_count;
    uint64_t offset;
    uint64_t bytes_count;
};

/* Absent values are the defaults of the vendor's compilers: exponents 8 and 15, saturating. */
struct ntk_neff_fp8_config {
    bool present;
    int32_t emax_e4m3;
    int32_t emax_e5m2;
    bool range_extension;
    bool sis;
    bool sns;
    bool ocp_saturation;
};

struct ntk_neff_var_place {
    uint32_t var_id, place; /* place is the index in vars */
};

struct ntk_neff_subgraph {
    const char *name;   /* such as "sg00" */
    const char *folder; /* folder of its definition, such as "sg00" */
    const char *version;
    uint32_t var_count;
    struct ntk_neff_var *vars;             /* in file order */
    struct ntk_neff_var_place *vars_by_id; /* NULL: search vars */
    uint32_t dge_table_count;
    uint32_t dge_table; /* index of the last dge-table in vars */
    uint32_t queue_set_count;
    /* in file order, which the queue field of instructions uses as index */
    struct ntk_neff_queue_set *queue_sets;
    struct ntk_neff_engine engines[NTK_ISA_ENGINE_COUNT];
    uint32_t feature_count;
    const char **features; /* key neff_features */
    uint32_t runtime_event_count;
    uint32_t runtime_semaphore_count;
    uint32_t reservation_count;
    struct ntk_neff_reservation *reservations;
    uint32_t cc_stream_count;
    struct ntk_neff_fp8_config fp8;
    uint32_t act_set_count;
    struct ntk_neff_act_set *act_sets;
    uint32_t mapped_count;
    struct ntk_neff_mapped_tensor *mapped;
};

struct ntk_neff_kelf { /* kelf-N.json: the subgraphs of one core node, one per physical core */
    const char *file_name;
    const char *version;
    const char *target; /* "sunda", "cayman", "mariana", "*"; "" if absent */
    uint32_t subgraph_count;
    struct ntk_neff_subgraph *subgraphs;
};

enum ntk_neff_hash {
    NTK_NEFF_HASH_MATCHES,
    NTK_NEFF_HASH_DIFFERS,
    /* A hash of package 2 that the vendor's compilers store; it does not cover the payload and
     * differs between valid files. */
    NTK_NEFF_HASH_OTHER_KIND,
};

struct ntk_neff {
    struct ntk_neff_header header;
    bool is_compressed; /* the payload is a gzip stream */
    uint32_t member_count;
    struct ntk_neff_member *members; /* in archive order */
    struct ntk_neff_info info;
    uint32_t kelf_count;
    struct ntk_neff_kelf *kelfs;
    uint32_t node_count;
    struct ntk_neff_node *nodes; /* in file order; a node's inputs come before it */
    uint32_t input_count;
    struct ntk_neff_io *inputs;
    uint32_t output_count;
    struct ntk_neff_io *outputs;
    bool is_vendor;          /* an engine binary that is not empty has no nsx key */
    enum ntk_neff_hash hash; /* set with options.check_hash */
    void *private_data;
};

/* Opens a file for programs that inspect it: without the bytes of constants, but with debug
 * members. */
int ntk_neff_open(const char *path, struct ntk_neff **out_neff, struct ntk_err *err);
int ntk_neff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_neff **out_neff,
                        struct ntk_err *err);
void ntk_neff_close(struct ntk_neff *neff);

/*
 * Memory for constants, so that they are inflated directly into their destination. Not used for
 * small constants, nor for constants before the def.json that names them unless they are .npy
 * files.
 */
struct ntk_neff_landing {
    /* Returns memory for a member's array; NULL: the reader allocates it. The caller keeps the
     * memory, even if reading fails, and it must outlast the NEFF. alignment is 0 if unknown.
     * *out_is_there: the memory already contains this array and is not written. */
    void *(*take)(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                  bool *out_is_there);
    uint64_t bytes_min; /* size below which members are not requested */
    void *ctx;
};

struct ntk_neff_open_options {
    const struct ntk_neff_landing *landing; /* NULL: the reader allocates everything */
    bool check_hash;      /* check it in the same pass; the result is neff->hash */
    bool leave_constants; /* the bytes of constants are not needed */
    /* The bytes of engines are not needed: code may be NULL. */
    bool leave_code;
    bool keep_inputs; /* members below inputs/ are needed */
    bool keep_debug;  /* debug members are needed, see neff_positions.h */
};

int ntk_neff_open_with(const void *bytes, size_t bytes_count,
                       const struct ntk_neff_open_options *options, struct ntk_neff **out_neff,
                       struct ntk_err *err);

/* Memory that records from a NEFF's members may still take: parts that are not needed on a core
 * stay within NTK_NEFF_MEMORY_TEXT. */
#define NTK_NEFF_MEMORY_TEXT "the memory limit for a NEFF of this size (4 times its size + 64 MiB)"
uint64_t ntk_neff_memory_left(const struct ntk_neff *neff);

/* The fields in the first NTK_NEFF_HEADER_BYTES of a file, unchecked. */
struct ntk_neff_header ntk_neff_header_of(const uint8_t *bytes);
/* Reads only the header, with the checks that need nothing else. */
int ntk_neff_read_header(const void *bytes, size_t bytes_count, struct ntk_neff_header *out_header,
                         struct ntk_err *err);

/* Checks package and NEFF version, and features against a mask. Returns 0 or -ENOTSUP. open() only
 * checks the package version. */
int ntk_neff_check_versions(const struct ntk_neff_header *header, uint64_t supported_features,
                            struct ntk_err *err);

/* Appends the names of the features, such as "virtual-core, bit 17"; "N/A" for none. */
void ntk_neff_features_show(const struct ntk_neff_header *header, struct ntk_buf *out);

/* Returns MATCHES or DIFFERS: compares the stored hash with the MD5 (package 2) or SHA-256 (package
 * 1) of the payload, or of its gzip stream without trailing zeros. bytes are the whole file. */
int ntk_neff_hash_check(const void *bytes, size_t bytes_count, enum ntk_neff_hash *out_hash,
                        struct ntk_err *err);

/* SHA-256 of header and payload: equal for equal files. bytes are the whole file. */
int ntk_neff_digest(const void *bytes, size_t bytes_count, uint8_t out_digest[32],
                    struct ntk_err *err);

/* Borrowed; NULL if the archive has no such member. */
const struct ntk_neff_member *ntk_neff_member_get(const struct ntk_neff *neff, const char *name);
/* Returns true if a member contains names and positions for users; it is not needed otherwise. */
bool ntk_neff_member_is_debug(const char *name);
/* The number of multiply-adds of the model in all its core nodes, from hlo_stats.json; false if no
 * compiler counted them. */
bool ntk_neff_model_macs(const struct ntk_neff *neff, uint64_t *out_macs);
/* Returns true if a debug member contains the kernel tree, see neff_kernel.h. */
bool ntk_neff_member_is_kernel_tree(const char *name);
/* NULL if there is none. */
const struct ntk_neff_var *ntk_neff_var_by_id(const struct ntk_neff_subgraph *subgraph,
                                              uint32_t var_id);
const struct ntk_neff_var *ntk_neff_var_by_name(const struct ntk_neff_subgraph *subgraph,
                                                const char *name);
/* The tensor that an entry names; NULL if the entry is not in this graph. */
const struct ntk_neff_tensor *ntk_neff_tensor_get(const struct ntk_neff *neff,
                                                  struct ntk_neff_entry entry);
/* lnc_size, where 0 means 1. */
uint32_t ntk_neff_lnc(const struct ntk_neff_header *header);

/* Bytes that a load accounts for, each summed over all subgraphs of one core node. */
struct ntk_neff_sizes {
    uint64_t code;            /* engine binaries */
    uint64_t constants;       /* file variables */
    uint64_t private_scratch; /* tmp-buf variables */
    uint64_t shared_scratch; /* greatest end of a virtual variable; sum of the main and alt paths */
    uint64_t rings_io;       /* 16 bytes per descriptor of groups that touch an input or output */
    uint64_t rings_spill;    /* 16 bytes per descriptor of the other groups */
    uint64_t io;             /* input and output variables of the first subgraph */
    uint64_t tables;         /* dve_tables, which are in the engine, not in device memory */
};

void ntk_neff_subgraph_sizes(const struct ntk_neff_subgraph *subgraph,
                             struct ntk_neff_sizes *out_sizes);
/* Number of descriptors of a transfer: runs of its destination that remain after the tiling
 * dimensions. */
uint64_t ntk_neff_transfer_descriptors(const struct ntk_neff_transfer *transfer);

/* The array of a .npy file: borrowed bytes after its header. */
struct ntk_neff_npy {
    const uint8_t *data;
    size_t data_bytes;
    char descr[32]; /* such as "<f4", "<V2" */
    bool fortran_order;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX];
};

/* Same, from only the first start_bytes bytes of a file of bytes_count; data is NULL, and the array
 * begins at *out_offset. */
int ntk_neff_npy_read_start(const void *bytes, size_t start_bytes, uint64_t bytes_count,
                            struct ntk_neff_npy *out_npy, size_t *out_offset, struct ntk_err *err);
int ntk_neff_npy_read(const void *bytes, size_t bytes_count, struct ntk_neff_npy *out_npy,
                      struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
