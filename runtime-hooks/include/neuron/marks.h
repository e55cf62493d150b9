/* SPDX-License-Identifier: MIT */
/*
 * marks - names for a program's own work: ranges and instants that monitors, neuron-top and traces
 * show next to the activity of the runtime.
 *
 *     uint64_t began = neuron_mark_begin();
 *     ... the step ...
 *     neuron_mark_end(began, "step", step);
 *     neuron_mark("epoch", epoch);
 *
 * and in C++: { neuron::range step("step", number); ... }
 *
 * There is nothing to link. The calls search for hooks in the libraries of the process (libnrt.so.1
 * or libcnrt.so.4 of this toolkit, libneuron-hooks.so around the vendor's libnrt.so.1); without
 * them, or with hooks that are off, the calls cost almost nothing, and none ever fails. With glibc
 * before 2.34 link with -ldl.
 *
 * name:  a few recurring words ("step", "forward", "save"). Each is stored once, and a process has
 *        room for some thousand: put numbers in value. Names longer than 256 bytes are cut; bytes
 *        that are not printable UTF-8 are replaced where they are shown.
 * value: a number of the program's: the step, a batch, bytes. A range may end in another thread
 * than it started in; ranges may overlap and nest. One that does not end is not shown. Threads:
 * any. Not for signal handlers.
 */
#ifndef NEURON_MARKS_H
#define NEURON_MARKS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exported by the hooks, with a stable interface: the raw clock, and a range up to now (began: from
 * neuron_mark_now(); 0: an instant). */
typedef uint64_t neuron_mark_now_function(void);
typedef void neuron_mark_write_function(const char *name, uint64_t began, uint64_t value);

struct neuron_marks {
    neuron_mark_now_function *now;
    neuron_mark_write_function *write; /* NULL: no hooks so far */
    uint32_t looked;                   /* number of failed searches */
};

/* One per file that includes this header; words are written atomically and always with the same
 * value. */
static struct neuron_marks neuron_marks;

static inline void *neuron_marks_symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_LAZY | (library ? RTLD_NOLOAD : 0));

    return handle ? dlsym(handle, name) : NULL; /* the handle stays open: so does the library */
}

static inline int neuron_marks_look(const char *library)
{
    void *now = neuron_marks_symbol(library, "neuron_mark_now");
    void *write = now ? neuron_marks_symbol(library, "neuron_mark_write") : NULL;

    if (!write) {
        return 0;
    }
    neuron_mark_now_function *now_function;
    neuron_mark_write_function *write_function;

    memcpy(&now_function, &now, sizeof now);
    memcpy(&write_function, &write, sizeof write);
    __atomic_store_n(&neuron_marks.now, now_function, __ATOMIC_RELAXED);
    __atomic_store_n(&neuron_marks.write, write_function, __ATOMIC_RELEASE);
    return 1;
}

/* The runtime may be loaded later: calls 1, 2, 4, 8, ... search again. */
static inline neuron_mark_write_function *neuron_marks_get(void)
{
    neuron_mark_write_function *write = __atomic_load_n(&neuron_marks.write, __ATOMIC_ACQUIRE);

    if (__builtin_expect(write == NULL, 0)) {
        uint32_t looked = __atomic_add_fetch(&neuron_marks.looked, 1, __ATOMIC_RELAXED);

        if ((looked & (looked - 1)) == 0 &&
            (neuron_marks_look(NULL) || neuron_marks_look("libnrt.so.1") ||
             neuron_marks_look("libcnrt.so.4"))) {
            write = __atomic_load_n(&neuron_marks.write, __ATOMIC_ACQUIRE);
        }
    }
    return write;
}

/* The start of a range; 0: not recorded. */
static inline uint64_t neuron_mark_begin(void)
{
    return neuron_marks_get() ? __atomic_load_n(&neuron_marks.now, __ATOMIC_RELAXED)() : 0;
}

static inline void neuron_mark_end(uint64_t began, const char *name, uint64_t value)
{
    neuron_mark_write_function *write = began ? neuron_marks_get() : NULL;

    if (write) {
        write(name, began, value);
    }
}

/* A moment. */
static inline void neuron_mark(const char *name, uint64_t value)
{
    neuron_mark_write_function *write = neuron_marks_get();

    if (write) {
        write(name, 0, value);
    }
}

#ifdef __cplusplus
}

namespace neuron
{
class range
{
  public:
    /* name: lives as long as the range. */
    explicit range(const char *name, uint64_t value = 0)
        : name_(name), value_(value), began_(neuron_mark_begin())
    {
    }
    ~range()
    {
        neuron_mark_end(began_, name_, value_);
    }
    range(const range &) = delete;
    range &operator=(const range &) = delete;

  private:
    const char *name_;
    uint64_t value_;
    uint64_t began_;
};
} // namespace neuron
#endif
#endif
