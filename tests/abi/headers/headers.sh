#!/bin/bash
# headers - each header compiles alone: the public ones as C11, C17 and C++17 without a warning and
# without _GNU_SOURCE, all others as C17.
set -u
cd "${NTK_SOURCE_DIR:?}"
cc=$1 cxx=$2 generated=$3
failed=0
count=0

check() { # header, compiler, flags...
    local header=$1 out
    shift
    if ! out=$(printf '#include "%s"\n' "$header" |
        "$@" -fsyntax-only -Wall -Wextra -Werror -I. -Iruntime-hooks/include -I"$generated" - 2>&1); then
        printf 'header %s alone with: %s\n%s\n' "$header" "$*" "$out"
        failed=1
    fi
    count=$((count + 1))
}

public=$(find runtime-hooks/include shared/abi runtime-hooks/hooks -name '*.h' | sort)
for header in $public; do
    check "$header" "$cc" -x c -std=c11
    check "$header" "$cc" -x c -std=c17
    check "$header" "$cxx" -x c++ -std=c++17
done
for header in $(find shared runtime-hooks exporters agent top profiler -name '*.h' | sort); do
    case " $(echo $public) " in
    *" $header "*) ;;
    *) check "$header" "$cc" -x c -std=c17 -D_GNU_SOURCE ;;
    esac
done
echo "$count compilations"
exit $failed
