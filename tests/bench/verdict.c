/* SPDX-License-Identifier: MIT */
/*
 * verdict - prints one figure of a script in the form of the benches in C; lib.sh calls it.
 *
 * verdict NAME VALUE UNIT [most|least|exact TARGET], verdict NAME missing REASON. Exit code 1:
 * missed.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/bench/rounds.h"

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[2], "missing") == 0) {
        rounds_print_missing(argv[1], argv[3]);
        return 0;
    }
    rounds_require(argc == 4 || argc == 6, "usage: NAME VALUE UNIT [most|least|exact TARGET]");
    char *end = NULL;
    double value = strtod(argv[2], &end);
    double target = argc == 6 ? strtod(argv[5], NULL) : 0;

    rounds_require(end != argv[2] && *end == '\0', "a figure is missing");
    if (argc == 6 && strcmp(argv[4], "exact") == 0) {
        rounds_print_exact(argv[1], value, argv[3], target);
    } else {
        rounds_print_value(argv[1], value, argv[3], target,
                           argc == 6 && strcmp(argv[4], "least") == 0);
    }
    return rounds_result();
}
