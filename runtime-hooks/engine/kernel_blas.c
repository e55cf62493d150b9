/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define SONAME "libopenblas.so.0"

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static __typeof__(cblas_sgemm) *_Atomic sgemm;

/* Loads the library on one CPU. It counts the CPUs that are available to the loading thread, and
 * starts a thread for each except one. */
static void *load_without_threads(void)
{
    cpu_set_t allowed;
    cpu_set_t one;
    int cpu = 0;
    void *library;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    }
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    return library;
}

static int load(struct ntk_err *err)
{
    __typeof__(openblas_set_num_threads) *set_num_threads = NULL;
    __typeof__(cblas_sgemm) *product = NULL;
    void *library = load_without_threads();
    const char *reason;
    void *symbol;

    if (library) {
        symbol = dlsym(library, "openblas_set_num_threads");
        memcpy(&set_num_threads, &symbol, sizeof symbol);
        symbol = dlsym(library, "cblas_sgemm");
        memcpy(&product, &symbol, sizeof symbol);
    }
    if (!set_num_threads || !product) {
        reason = dlerror();
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "cannot load '%s': %s", SONAME,
                           reason ? reason : "no function cblas_sgemm");
    }
    set_num_threads(1); /* needed if another library has loaded it before */
    atomic_store(&sgemm, product);
    return 0;
}

int ntk_kernel_blas_open(struct ntk_err *err)
{
    int ret = 0;

    pthread_mutex_lock(&open_lock);
    if (!atomic_load(&sgemm)) {
        ret = load(err);
    }
    pthread_mutex_unlock(&open_lock);
    return ret;
}

void ntk_kernel_blas_multiply(const struct ntk_kernel_blas_product *p)
{
    atomic_load_explicit(&sgemm, memory_order_acquire)(
        CblasRowMajor, CblasTrans, CblasNoTrans, p->rows, p->columns, p->depth, 1.0F, p->a,
        p->a_step, p->b, p->b_step, p->adds ? 1.0F : 0.0F, p->out, p->out_step);
}
