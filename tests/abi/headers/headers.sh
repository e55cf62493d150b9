#!/bin/bash
# headers - each header compiles alone, without a warning: the public ones as C11, C17 and C++17, all others as C17.
# Headers that their own source includes first are covered by the build.
set -u
cd "${NTK_SOURCE_DIR:?}"
cc=$1 cxx=$2 generated=$3 include=$4
machine=$("$cc" -dumpmachine) # the target architecture, which may differ from the host's
failed=0
count=0

check() { # header, compiler, flags...
    local header=$1 out
    shift
    case $header in # only on one architecture
    *_x86_64.h | *_aarch64.h) [[ $header == *"_${machine%%-*}.h" ]] || return ;;
    esac
    if ! out=$(printf '#include "%s"\n' "$header" |
        "$@" -fsyntax-only -Wall -Wextra -Werror -I. -I"$include" -I"$generated" - 2>&1); then
        # Few packages are installed for cross-compiling, so headers that include a missing header are skipped.
        local missing
        missing=$(sed -n 's/.*fatal error: \(.*\): No such file.*/\1/p' <<<"$out")
        if [ -n "${NTK_EMULATED:-}" ] && [ -n "$missing" ] && [ ! -e "$missing" ]; then
            return
        fi
        printf 'header %s alone with: %s\n%s\n' "$header" "$*" "$out"
        failed=1
    fi
    count=$((count + 1))
}

three_ways() { # header, flags...
    local header=$1
    shift
    check "$header" "$cc" -x c -std=c11 "$@"
    check "$header" "$cc" -x c -std=c17 "$@"
    check "$header" "$cxx" -x c++ -std=c++17 "$@"
}

# The headers of libnrt and libpopef require no feature macros; the segment contract is POSIX code.
for header in $(find "$include" shared/formats/popef/popef.h -name '*.h' | sort); do
    three_ways "$header"
done
for header in $(find shared/abi -name '*.h' | sort) runtime-hooks/hooks/hooks.h; do
    three_ways "$header" -D_GNU_SOURCE
done
for header in $(find shared runtime-hooks exporters agent top profiler -name '*.h' | sort); do
    case $header in
    shared/abi/* | shared/formats/popef/popef.h | runtime-hooks/include/* | runtime-hooks/hooks/hooks.h) ;;
    *)
        first=
        [ ! -e "${header%.h}.c" ] || first=$(grep -m1 '^#include' "${header%.h}.c")
        [ "$first" = "#include \"$header\"" ] || check "$header" "$cc" -x c -std=c17 -D_GNU_SOURCE
        ;;
    esac
done
echo "$count compilations"
exit $failed
