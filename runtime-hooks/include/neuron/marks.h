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
 * A program that works for a traced request names the request's span, so that executions become
 * its children in exported traces (docs/marks.md):
 *
 *     neuron_mark_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
 *     ... executions ...
 *     neuron_mark_traceparent(NULL);
 *
 * No library needs to be linked. The calls search for hooks in the libraries of the process
 * (libnrt.so.1 or libcnrt.so.4 of this toolkit, libneuron-hooks.so around the vendor's
 * libnrt.so.1); without them, or with hooks that are off, the calls cost almost nothing, and none
 * ever fails. With glibc before 2.34 link with -ldl.
 *
 * name:  a few recurring words ("step", "forward", "save"). Each is stored once, and a process has
 *        room for a few thousand: put numbers in value. Longer names are cut at 256 bytes; bytes
 *        that are not printable UTF-8 are replaced where they are shown.
 * value: a number of the program's: the step, a batch, bytes. A range may end in another thread
 * than it started in; ranges may overlap and nest. One that does not end is not shown. Threads:
 * any, but not signal handlers.
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

/* Functions that the hooks export, with a stable interface: the raw clock, and a range from `began`
 * (a neuron_mark_now(); 0: an instant) to now. */
typedef uint64_t neuron_mark_now_function(void);
typedef void neuron_mark_write_function(const char *name, uint64_t began, uint64_t value);
/* Returns 1 if the traceparent is valid (or NULL) and recorded. */
typedef int neuron_mark_trace_function(const char *traceparent);

struct neuron_marks {
    neuron_mark_now_function *now;
    neuron_mark_write_function *write; /* NULL: no hooks found yet */
    neuron_mark_trace_function *trace; /* NULL: the hooks are of an older version */
    uint32_t looked;                   /* number of failed searches */
};

/* One per file that includes this header. Its words are written atomically, always with the same
 * value. */
static struct neuron_marks neuron_marks;

static inline void *neuron_marks_symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_LAZY | (library ? RTLD_NOLOAD : 0));

    /* the handle stays open, which keeps the library loaded */
    return handle ? dlsym(handle, name) : NULL;
}

static inline int neuron_marks_look(const char *library)
{
    void *now = neuron_marks_symbol(library, "neuron_mark_now");
    void *write = now ? neuron_marks_symbol(library, "neuron_mark_write") : NULL;
    void *trace = write ? neuron_marks_symbol(library, "neuron_mark_trace") : NULL;

    if (!write) {
        return 0;
    }
    neuron_mark_now_function *now_function;
    neuron_mark_write_function *write_function;
    neuron_mark_trace_function *trace_function;

    memcpy(&now_function, &now, sizeof now);
    memcpy(&write_function, &write, sizeof write);
    memcpy(&trace_function, &trace, sizeof trace);
    __atomic_store_n(&neuron_marks.trace, trace_function, __ATOMIC_RELAXED);
    __atomic_store_n(&neuron_marks.now, now_function, __ATOMIC_RELAXED);
    __atomic_store_n(&neuron_marks.write, write_function, __ATOMIC_RELEASE);
    return 1;
}

/* Finds the hooks. The runtime may be loaded later, so calls 1, 2, 4, 8, ... search again. */
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

/* The start of a range; 0 if it is not recorded. */
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

/* Marks an instant. */
static inline void neuron_mark(const char *name, uint64_t value)
{
    neuron_mark_write_function *write = neuron_marks_get();

    if (write) {
        write(name, 0, value);
    }
}

/* Sets the W3C traceparent of the request that this thread works for, until the next call; NULL:
 * none. Returns 1 if it is recorded; 0 without hooks, or if it is invalid: the thread then has no
 * traceparent, either. */
static inline int neuron_mark_traceparent(const char *traceparent)
{
    neuron_mark_trace_function *trace =
        neuron_marks_get() ? __atomic_load_n(&neuron_marks.trace, __ATOMIC_RELAXED) : NULL;

    return trace ? trace(traceparent) : 0;
}

#ifdef __cplusplus
}

namespace neuron
{
/* Sets a traceparent for a scope. Scopes do not nest: the end of any scope ends the thread's
 * traceparent. */
class traceparent
{
  public:
    explicit traceparent(const char *text)
    {
        neuron_mark_traceparent(text);
    }
    ~traceparent()
    {
        neuron_mark_traceparent(nullptr);
    }
    traceparent(const traceparent &) = delete;
    traceparent &operator=(const traceparent &) = delete;
};

class range
{
  public:
    /* name must live as long as the range. */
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
