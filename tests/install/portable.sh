# portable.sh symbols - checks which versions of C library symbols each file needs in the archive of ./dev package
# --portable.
# portable.sh demo    - runs the demo from the archive in bare systems of Debian 11, 12 and 13.
. "$(dirname "$0")/lib.sh"
archive=$(find "$NTK_SOURCE_DIR/build/portable" -maxdepth 1 -name "neuron-toolkit-*-$(uname -m).tar.zst" 2>/dev/null | sort | tail -1) || archive=
[ "$archive" != "" ] || skip "no archive: run ./dev package --portable"
needs zstd readelf
tar --zstd -xf "$archive" -C "$scratch"
top=$(echo neuron-toolkit-*)

if [ "$1" = symbols ]; then
    # Every system has these, from the C library or from its package manager.
    system=' libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2 libgcc_s.so.1 '
    find "$top" -type f -exec file {} + | sed -n '/ELF.*dynamic/s/:.*//p' >elf
    [ "$(wc -l <elf)" -gt 15 ] || fail "only these files are ELF: $(cat elf)"
    newer() { awk -v oldest="$1" '{ split($1, is, "."); split(oldest, may, "."); if (is[1] + 0 > may[1] + 0 || is[2] + 0 > may[2] + 0) print }'; }
    while read -r file; do
        readelf -V "$file" | sed -n '/^Version needs/,$s/.*Name: \([A-Z]*\)_\([0-9.]*\) .*/\1 \2/p' | sort -u >versions
        highest=$(sed -n 's/^GLIBC //p' versions | sort -V | tail -1)
        echo "${file#*/} needs glibc ${highest:-of any version}"
        may=2.31
        [[ $file != */libneuron-hooks* ]] || may=2.17
        [ "$(sed -n 's/^GLIBC //p' versions | newer $may)" = "" ] || complain "$file needs glibc $highest, newer than $may"
        ! greps -E '^(GLIBCXX|CXXABI)' versions || complain "$file needs a C++ library"
        for soname in $(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
            [[ $system == *" $soname "* || $soname == ld-linux* ]] || [ "$(find "$top" -name "$soname")" != "" ] ||
                complain "$file needs $soname, which is not in the archive"
        done
        path=$(readelf -d "$file" | sed -n 's/.*(R.*PATH).*\[\(.*\)\]$/\1/p')
        [[ $file != */libneuron-hooks* || $path == "" ]] || complain "$file makes a job search $path"
        [[ ! $path =~ (^|:)[^$] ]] || complain "$file searches $path, which is not relative to itself"
    done <elf
    [ "$(find "$top" -name 'libicu*' -o -name 'libxml2*' -o -name 'libstdc++*')" = "" ] || fail "the archive has ICU, libxml2 or libstdc++"
    jq -e '[.packages[].name] | contains(["libssl-dev", "curl", "libsqlite3-dev", "libarchive", "libgnutls30", "libopenblas0-pthread"])' \
        "$top"/share/doc/neuron-toolkit/neuron-toolkit.spdx.json >/dev/null || fail "the bill of materials lacks libraries"
    exit 0
fi

[ "${NTK_PACKAGE_CHECK:-0}" = 1 ] || skip "takes long: run ./dev package --portable --check"
[ "$(id -u)" = 0 ] || skip "only root makes bare systems"
. "$NTK_SOURCE_DIR/cmake/package/root.sh"
needs debootstrap unshare
for suite in bullseye bookworm trixie; do
    root=$scratch/$suite code=0
    make_root "$suite" "$root" debootstrap.log || code=$?
    [ $code != 2 ] || skip "$ntk_mirror has no $suite, or is out of reach"
    [ $code = 0 ] || fail "see debootstrap.log"
    mkdir -p "$root/opt/stand-in"
    cp -a "$top" "$root/opt/neuron-toolkit"
    cp "$NTK_SOURCE_DIR/tests/demo/demo.sh" "$root/opt/"
    # A bare system lacks both programs, and SQLite of Debian 11 is too old to read the database.
    cat >"$root/opt/stand-in/curl" <<'TEXT'
#!/bin/bash
url=${*: -1}
url=${url#http://}
exec 3<>"/dev/tcp/${url%%:*}/$(echo "$url" | sed 's/[^:]*:\([0-9]*\).*/\1/')"
printf 'GET /%s HTTP/1.0\r\n\r\n' "${url#*/}" >&3
sed '1,/^\r$/d' <&3
TEXT
    cat >"$root/opt/stand-in/sqlite3" <<'TEXT'
#!/bin/sh
case $4 in *process_overview) question=processes ;; *) question=cores ;; esac
exec neuron-monitor query $question --db "$3"
TEXT
    chmod +x "$root"/opt/stand-in/*
    in_root "$root" '/opt/demo.sh /opt/neuron-toolkit
        code=0; /opt/neuron-toolkit/bin/neuron-monitor run --audit -- echo audited || code=$?; echo audit $code' \
        PATH=/opt/stand-in:/usr/sbin:/usr/bin:/sbin:/bin >"demo-$suite.log" 2>&1 </dev/null || complain "$suite: the demo failed"
    greps '^That was the demo' "demo-$suite.log" || complain "$suite: the demo did not reach its end"
    greps '^neuroncore_utilization_ratio' "demo-$suite.log" || complain "$suite: no metrics"
    greps 'mlp-serving' "demo-$suite.log" || complain "$suite: no process in the database"
    if [ $suite = bullseye ]; then
        greps -- '--audit requires glibc 2.36 or later: with glibc 2.31' "demo-$suite.log" && greps '^audit 126' "demo-$suite.log" || complain "$suite: audit is not rejected"
    else
        greps '^audit 0' "demo-$suite.log" || complain "$suite: no audit"
    fi
    echo "$suite: $(sed -n 's/^That was the demo: //p' "demo-$suite.log")"
    rm -rf --one-file-system "$root"
done
