# reproducible.sh BUILD - a second build of the same commit, in another folder and at another time, produces identical
# packages.
build=$1
. "$(dirname "$0")/lib.sh"
[ "${NTK_PACKAGE_CHECK:-0}" = 1 ] || skip "takes long: run ./dev package --check"
grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' "$build/CMakeCache.txt" || skip "only release builds are the same in every folder"
commit=$("$NTK_SOURCE_DIR/cmake/source.sh" commit)
recorded=$(neuron-monitor --version | sed -n 's/^commit: //p')
[[ $commit != *-modified ]] && [ "$commit" = "$recorded" ] || skip "the build is of $recorded, the source tree of $commit"
[ ! -e "$NTK_SOURCE_DIR/.git" ] || needs git

# The time stamp of the first build's packages, which both builds use.
SOURCE_DATE_EPOCH=$("$NTK_SOURCE_DIR/cmake/source.sh" time)
export SOURCE_DATE_EPOCH
umask 022 # as ./dev sets it; CPack writes modes of its folders by it
pack() { (cd "$scratch" && cpack --config "$1/CPackConfig.cmake" -B "$2" >cpack.log 2>&1) || fail "see cpack.log"; }
pack "$build" "$scratch/first"

mkdir -p other/place
if [ -e "$NTK_SOURCE_DIR/.git" ]; then
    git -C "$NTK_SOURCE_DIR" archive HEAD | tar -x -C other/place
else
    (cd "$NTK_SOURCE_DIR" && tar -c --exclude=./build .) | tar -x -C other/place
fi
find other/place -exec touch -d @1234567890 {} +
(cd other/place && umask 077 && TZ=Pacific/Auckland cmake --preset release -B built/here && cmake --build built/here) >build.log 2>&1 ||
    fail "see build.log"
pack "$scratch/other/place/built/here" "$scratch/second"

for file in first/*.deb; do
    cmp -s "$file" "second/${file#first/}" && continue
    for round in first second; do
        mkdir -p "$round/tree" && dpkg-deb -R "$round/${file#first/}" "$round/tree"
        (cd "$round/tree" && find . -type f -exec sha256sum {} + | sort -k2) >"$round/sums"
    done
    complain "${file#first/} differs: $(diff first/sums second/sums | sed -n 's/^[<>] [0-9a-f]*  //p' | sort -u | tr '\n' ' ')"
    rm -rf first/tree second/tree
done
