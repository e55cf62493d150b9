/* SPDX-License-Identifier: MIT */
/*
 * bench_cnml - operators of libcnml on one software core against OpenBLAS on one thread.
 *
 * The peer of a convolution is im2col in float32 and one product with its bias; the peer of a dense
 * layer is one product. The candidate is a forward call until its queue is empty: instructions and
 * float16 data through device memory, state buffer and PSUM, and products of tiles. CPU time of the
 * process, as both keep one thread busy. Ratio above 1: the core is slower.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "neuware/g2/cnml.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define ROUNDS 9
/* Forwards in a row: a core is cleared when it switches to another operator. */
#define REPEAT ROUNDS_SIZE(4, 1)
#define TARGET 0.9 /* of the peer's speed: time ratio 1 / 0.9 */

struct layer {
    const char *name;
    int n, c, h, w, outputs, kernel; /* kernel 0: dense; else padded to the same size */
    /* the candidate */
    cnmlBaseOp_t op;
    void *in_device, *out_device;
    cnrtQueue_t queue;
    /* the peer */
    float *in, *columns, *filter, *bias, *out;
};

/* CPU time of all threads of the process. It is less sensitive to other load on the machine. */
static uint64_t cpu_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void check(int status, const char *what)
{
    char cause[128];

    (void)snprintf(cause, sizeof cause, "%s: status %d", what, status);
    rounds_require(status == 0, cause);
}

static float *floats(size_t count, float scale)
{
    float *values = malloc(count * sizeof *values);

    if (!values) {
        check(1, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = ((float)(i * 37 % 256) - 128) / 128 * scale;
    }
    return values;
}

static cnmlTensor_t constant(cnmlTensorType_t type, int n, int c, int h, int w, float *values)
{
    cnmlTensor_t tensor = NULL;
    cnmlCpuTensor_t cpu = NULL;

    check((int)cnmlCreateTensor(&tensor, type, CNML_DATA_FLOAT16, n, c, h, w), "tensor");
    check((int)cnmlCreateCpuTensor(&cpu, type, CNML_DATA_FLOAT32, CNML_NCHW, n, c, h, w), "tensor");
    check((int)cnmlBindConstData(tensor, cpu, values), "bind");
    return tensor;
}

static void make(struct layer *l)
{
    int k = l->kernel ? l->kernel : 1;
    size_t pixels = (size_t)l->n * (size_t)l->h * (size_t)l->w;
    size_t depth = (size_t)l->c * (size_t)(k * k);
    cnmlTensor_t in = NULL;
    cnmlTensor_t out = NULL;
    cnmlCpuTensor_t cpu = NULL;
    cnmlConvOpParam_t param = NULL;

    l->in = floats(pixels * (size_t)l->c, 1);
    l->filter = floats((size_t)l->outputs * depth, 0.05F);
    l->bias = floats((size_t)l->outputs, 1);
    l->columns = floats(pixels * depth, 1);
    l->out = floats(pixels * (size_t)l->outputs, 1);
    check((int)cnmlCreateTensor(&in, CNML_TENSOR, CNML_DATA_FLOAT16, l->n, l->c, l->h, l->w),
          "tensor");
    check((int)cnmlCreateTensor(&out, CNML_TENSOR, CNML_DATA_FLOAT16, l->n, l->outputs, l->h, l->w),
          "tensor");
    check((int)cnmlCreateCpuTensor(&cpu, CNML_TENSOR, CNML_DATA_FLOAT32, CNML_NCHW, l->n, l->c,
                                   l->h, l->w),
          "tensor");
    if (l->kernel) {
        check((int)cnmlCreateConvOpParam(&param, 1, 1, 1, 1, k - 1, k - 1, CNML_NoSparse), "param");
        check((int)cnmlCreateConvOp(&l->op, param, in, out,
                                    constant(CNML_FILTER, l->outputs, l->c, k, k, l->filter),
                                    constant(CNML_CONST, 1, l->outputs, 1, 1, l->bias)),
              "conv");
    } else {
        check((int)cnmlCreateMlpOp(
                  &l->op, in, out, constant(CNML_FILTER, l->outputs, l->c, 1, 1, l->filter),
                  constant(CNML_CONST, 1, l->outputs, 1, 1, l->bias), CNML_NoSparse),
              "mlp");
    }
    check((int)cnmlCompileBaseOp(l->op, CNML_MLU270, 1), "compile");
    l->in_device = cnmlMallocBuffer(in);
    l->out_device = cnmlMallocBuffer(out);
    check((int)cnmlMemcpyTensorToDevice(cpu, l->in, in, l->in_device), "copy");
    check((int)cnrtCreateQueue(&l->queue), "queue");
}

static double device(void *ctx)
{
    struct layer *l = ctx;
    uint64_t start = cpu_ns();

    for (int i = 0; i < REPEAT; i++) {
        if (l->kernel) {
            check((int)cnmlComputeConvOpForward(l->op, l->in_device, l->out_device, NULL, l->queue),
                  "forward");
        } else {
            check((int)cnmlComputeMlpOpForward(l->op, l->in_device, l->out_device, NULL, l->queue),
                  "forward");
        }
    }
    check((int)cnrtSyncQueue(l->queue), "sync");
    return (double)(cpu_ns() - start) / 1e6 / REPEAT;
}

/* Row (c, i, j) of an image: what tap (i, j) of channel c sees at each pixel. */
static void im2col(const struct layer *l, const float *image, float *columns)
{
    int k = l->kernel;
    int pad = (k - 1) / 2;

    for (int row = 0; row < l->c * k * k; row++) {
        const float *plane = image + (size_t)(row / (k * k)) * (size_t)(l->h * l->w);
        int i = row / k % k - pad;
        int j = row % k - pad;

        for (int y = 0; y < l->h; y++) {
            float *to = columns + ((size_t)row * (size_t)l->h + (size_t)y) * (size_t)l->w;
            int from = y + i;
            int first = j < 0 ? -j : 0;
            int end = j > 0 ? l->w - j : l->w;

            if (from < 0 || from >= l->h) {
                memset(to, 0, (size_t)l->w * sizeof *to);
                continue;
            }
            memset(to, 0, (size_t)first * sizeof *to);
            memcpy(to + first, plane + (size_t)from * (size_t)l->w + first + j,
                   (size_t)(end - first) * sizeof *to);
            memset(to + end, 0, (size_t)(l->w - end) * sizeof *to);
        }
    }
}

static double product(struct layer *l)
{
    int area = l->h * l->w;
    int depth = l->c * l->kernel * l->kernel;
    uint64_t start = cpu_ns();

    if (!l->kernel) {
        for (int n = 0; n < l->n; n++) {
            memcpy(l->out + (size_t)n * (size_t)l->outputs, l->bias,
                   (size_t)l->outputs * sizeof *l->out);
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, l->n, l->outputs, l->c, 1, l->in, l->c,
                    l->filter, l->c, 1, l->out, l->outputs);
        return (double)(cpu_ns() - start) / 1e6;
    }
    for (int n = 0; n < l->n; n++) {
        float *out = l->out + (size_t)n * (size_t)l->outputs * (size_t)area;

        im2col(l, l->in + (size_t)n * (size_t)l->c * (size_t)area, l->columns);
        for (int k = 0; k < l->outputs; k++) {
            for (int p = 0; p < area; p++) {
                out[(size_t)k * (size_t)area + (size_t)p] = l->bias[k];
            }
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, l->outputs, area, depth, 1,
                    l->filter, depth, l->columns, area, 1, out, area);
    }
    return (double)(cpu_ns() - start) / 1e6;
}

static double blas(void *ctx)
{
    double sum = 0;

    for (int i = 0; i < REPEAT; i++) {
        sum += product(ctx);
    }
    return sum / REPEAT;
}

int main(int argc, char **argv)
{
    static struct layer layers[] = {
        { .name = "conv 16x64x32x32 k3",
          .n = 16,
          .c = 64,
          .h = 32,
          .w = 32,
          .outputs = 64,
          .kernel = 3 },
        { .name = "conv 4x256x28x28 k3",
          .n = 4,
          .c = 256,
          .h = 28,
          .w = 28,
          .outputs = 256,
          .kernel = 3 },
        { .name = "conv 8x256x28x28 k1",
          .n = 8,
          .c = 256,
          .h = 28,
          .w = 28,
          .outputs = 256,
          .kernel = 1 },
        { .name = "mlp 512x512x512", .n = 512, .c = 512, .h = 1, .w = 1, .outputs = 512 },
        { .name = "mlp 512x2048x1024", .n = 512, .c = 2048, .h = 1, .w = 1, .outputs = 1024 },
    };
    enum { LAYERS = sizeof layers / sizeof *layers };
    struct rounds_subject subjects[2 * LAYERS] = { 0 };
    char names[2 * LAYERS][48];
    char *folder;

    rounds_options(argc, argv);
    test_scratch_in_memory(); /* as the machine's files are in use */
    folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "mlu270", 1);
    openblas_set_num_threads(1);
    check((int)cnmlInit(0), "init");
    for (int i = 0; i < LAYERS; i++) {
        make(&layers[i]);
        (void)snprintf(names[2 * i], sizeof names[0], "%s, core", layers[i].name);
        (void)snprintf(names[2 * i + 1], sizeof names[0], "%s, OpenBLAS", layers[i].name);
        subjects[2 * i] = (struct rounds_subject){ names[2 * i], device, &layers[i] };
        subjects[2 * i + 1] = (struct rounds_subject){ names[2 * i + 1], blas, &layers[i] };
    }
    rounds_run(subjects, 2 * LAYERS, ROUNDS);
    for (int i = 0; i < 2 * LAYERS; i++) {
        rounds_print(&subjects[i], "ms");
    }
    for (int i = 0; i < LAYERS; i++) {
        rounds_print_ratio(layers[i].name, &subjects[2 * i], &subjects[2 * i + 1], 1 / TARGET);
    }
    (void)cnmlExit();
    test_scratch_destroy(folder);
    return rounds_result();
}
