# package.sh BUILD - makes the Debian packages of a build, compares their dependencies with what their programs need, and
# installs them below the scratch folder.
build=$1
. "$(dirname "$0")/lib.sh"
needs dpkg-shlibdeps readelf

names=(tools=neuron-tools soft_runtime=neuron-soft-runtime rtd=neuron-rtd dev=neuron-toolkit-dev)
(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B "$scratch/packages" >cpack.log 2>&1) ||
    fail "see cpack.log"
deb_of() { echo packages/"$1"_*.deb; }
for name in "${names[@]}"; do
    mkdir -p "alone/${name%%=*}"
    dpkg-deb -x "$(deb_of "${name#*=}")" "alone/${name%%=*}" || fail "no package ${name#*=}: $(ls packages)"
    "has_${name%%=*}" "alone/${name%%=*}/usr" /usr
done

# Each file that `cmake --install` installs is in one package.
DESTDIR=$scratch/dest cmake --install "$build" --prefix /usr >install.log || fail "see install.log"
packed() { (cd "$1" && find . -not -type d) | grep -v '^./usr/share/doc/neuron-[a-z-]*/\(copyright\|changelog\)' | sort; }
for name in "${names[@]}"; do packed "alone/${name%%=*}"; done | sort >packed
differences=$(diff packed <(packed dest)) || fail "in packages (<) and installed (>): $differences"
mkdir together && for name in "${names[@]}"; do cp -a "alone/${name%%=*}/." together; done

# A package depends on the packages of the libraries that its files name, and on no other.
depends_of() { dpkg-deb --field "$(deb_of "$1")" Depends | tr ',' '\n' | sed 's/^ *//; s/[ :|].*//' | sort -u; }
needed_by() {
    find "$1" -type f -exec readelf -d {} + 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u
}
# provider SONAME: the package of the system that has the library, as the loader finds it.
provider() {
    local path
    path=$(awk -v name="$1" '$1 == name { print $NF; exit }' cache)
    [ "$path" != "" ] || return 0
    { dpkg -S "$path" || dpkg -S "/usr$path" || dpkg -S "$(readlink -f "$path")"; } 2>/dev/null | sed -n '1s/[:,].*//p'
}
[ "$ldconfig" != "" ] || skip "ldconfig is missing"
"$ldconfig" -p >cache
for name in "${names[@]}"; do
    for soname in $(needed_by "alone/${name%%=*}"); do
        [ "$(find "alone/${name%%=*}" -name "$soname")" = "" ] || continue # its own
        provider "$soname"
    done | sort -u >needed
    case $name in
    soft_runtime=* | rtd=*) echo libopenblas0 >>needed ;; # loaded when it is used
    dev=*) echo neuron-soft-runtime >>needed ;;
    esac
    differences=$(diff <(sort -u needed) <(depends_of "${name#*=}")) ||
        fail "${name#*=}: packages of its libraries (<) and what it depends on (>): $differences"
done
! needed_by alone/tools | greps -E 'blas|grpc|absl' || fail "neuron-tools needs OpenBLAS or gRPC"
# A program names only libraries that it calls.
if [ -z "${NTK_SANITIZE:-}" ]; then
    for file in $(find alone -type f -exec file {} + | sed -n '/ELF.*dynamic/s/:.*//p'); do
        unused=$(LD_LIBRARY_PATH=$scratch/together/usr/lib ldd -u "$file" | sed 1d)
        [ "$unused" = "" ] || complain "$file links libraries that it does not use: $unused"
    done
fi
# All that comes with it on a machine that has nothing yet, where apt knows packages.
: >status
if closure=$(apt-get -s -o Dir::State::status="$scratch/status" -o Debug::NoLocking=1 --no-install-recommends \
    install "$scratch/$(deb_of neuron-tools)" 2>/dev/null); then
    ! greps -E '^Inst (libopenblas|libgrpc|libabsl)' <<<"$closure" || fail "neuron-tools brings OpenBLAS or gRPC"
fi

# dpkg installs, upgrades and removes them. Scripts run outside the root, with stand-ins for what they call.
for package in tools soft_runtime rtd; do
    runs_it=runs_$package
    [ "$package" = tools ] && runs "$scratch/alone/tools/usr" "$runs_tools" || runs "$scratch/alone/$package/usr" "${!runs_it}"
done
if [ "$(id -u)" != 0 ]; then # files with owners are not for everybody to unpack
    exit 0
fi
mkdir -p root/var/lib/dpkg/{info,updates,triggers} stand-in
touch root/var/lib/dpkg/{status,available}
printf '#!/bin/sh\ntouch %s/ldconfig-ran\n' "$scratch" >stand-in/ldconfig
chmod +x stand-in/ldconfig
export PATH=$scratch/stand-in:$PATH
in_root() {
    dpkg --root="$scratch/root" --force-not-root --force-depends --force-script-chrootless --log=/dev/null "$@" \
        >dpkg.log 2>&1 || fail "see dpkg.log"
}
in_root -i packages/*.deb
[ -e ldconfig-ran ] || fail "the linker's cache does not learn of libpopef.so.1"
for name in "${names[@]}"; do "has_${name%%=*}" root/usr /usr; done
in_root -r "${names[@]#*=}"
[ ! -e root/usr/bin/neuron-monitor ] || fail "a removed package leaves neuron-monitor behind"
