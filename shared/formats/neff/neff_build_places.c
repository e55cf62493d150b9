/* SPDX-License-Identifier: MIT */
/* neff_build_places - records source positions of instructions while a program is built. */
#include "shared/formats/neff/neff_build_private.h"

#include <string.h>

/* The source position of code that this thread appends; line 0: unknown. */
static _Thread_local struct ntk_neff_place here;

void ntk_neff_build_place(const struct ntk_neff_place *place)
{
    here = place ? *place : (struct ntk_neff_place){ 0 };
}

/* Adds a place. Returns 1 + its index, or 0 if out of memory. */
static uint32_t add(struct ntk_neff_kernel *kernel, const struct build_place *place)
{
    if (ntk_vec_push(&kernel->places, place) < 0) {
        neff_build_no_memory(kernel->build);
        return 0;
    }
    return (uint32_t)kernel->places.count;
}

uint32_t neff_build_place_now(struct ntk_neff_kernel *kernel)
{
    const struct ntk_vec *places = &kernel->places;
    const struct build_place *last = kernel->place ? ntk_vec_at(places, kernel->place - 1) : NULL;

    if (here.line == 0) {
        return 0;
    }
    if (!last || last->at.line != here.line || strcmp(last->at.file, here.file) != 0) {
        kernel->place =
            add(kernel, &(struct build_place){ .at = here, .parent = kernel->iteration });
    }
    return kernel->place;
}

uint64_t ntk_neff_kernel_loop(struct ntk_neff_kernel *kernel, const char *variable,
                              const struct ntk_neff_place *place)
{
    kernel->place = 0;
    if (!neff_build_failed(kernel->build)) {
        kernel->iteration =
            add(kernel, &(struct build_place){
                            .at = *place, .variable = variable, .parent = kernel->iteration });
    }
    return 0;
}

bool ntk_neff_kernel_iterate(struct ntk_neff_kernel *kernel, uint64_t value, bool continues)
{
    if (neff_build_failed(kernel->build) || !kernel->iteration) {
        return continues;
    }
    struct build_place one =
        *(struct build_place *)ntk_vec_at(&kernel->places, kernel->iteration - 1);

    kernel->place = 0;
    one.value = value;
    kernel->iteration = continues ? add(kernel, &one) : one.parent;
    return continues;
}

bool ntk_neff_build_names_file(const struct ntk_neff_build *build, const char *file)
{
    for (size_t i = 0; i < build->nodes.count; i++) {
        const struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        ntk_vec_each(struct build_place, place, &node->kernel.places) {
            if (strcmp(place->at.file, file) == 0) {
                return true;
            }
        }
    }
    return false;
}
