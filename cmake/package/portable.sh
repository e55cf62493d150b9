#!/bin/bash
# portable.sh FOLDER VERSION EPOCH - makes FOLDER/neuron-toolkit-VERSION-ARCH.tar.zst, which runs on every Linux with glibc 2.31
# or later. Builds in FOLDER/root, a Debian 11 made with debootstrap. A later run continues there; to begin
# from nothing, remove FOLDER/root. Needs root and network. The cmake of this system builds there, with its own libraries.
set -euo pipefail
export LC_ALL=C
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/cmake/package/root.sh"
folder=$(realpath -m "$1") version=$2 epoch=$3
root=$folder/root

[ "$(id -u)" = 0 ] || {
    echo "portable.sh: only root can create the Debian 11 system" >&2
    exit 1
}
mkdir -p "$folder"
if [ ! -e "$root/.made" ]; then
    rm -rf --one-file-system "$root"
    make_root bullseye "$root" "$folder/debootstrap.log" || {
        echo "portable.sh: cannot create the Debian 11 system from $ntk_mirror" >&2
        exit 1
    }
    touch "$root/.made"
fi
printf '%s main\n' "deb $ntk_mirror bullseye" "deb $ntk_mirror bookworm" "deb-src $ntk_mirror bookworm" >"$root/etc/apt/sources.list"
echo 'APT::Default-Release "bullseye"; APT::Sandbox::User "root";' >"$root/etc/apt/apt.conf.d/50release"

# cmake is too old there. This system's is started by this system's loader.
host=$root/opt/host
rm -rf "$host"
mkdir -p "$host"/{bin,lib,libexec,share}
cmake=$(readlink -f "$(command -v cmake)")
echo 'message("${CMAKE_ROOT}")' >"$host/root.cmake"
cp "$cmake" "$host/libexec/cmake"
cp -r "$(cmake -P "$host/root.cmake" 2>&1)" "$host/share/"
ldd "$cmake" | sed -n 's/^[^/]*\(\/[^ ]*\) (.*/\1/p' | xargs -I{} cp -L {} "$host/lib/"
loader=$(readelf -l "$cmake" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
cat >"$host/bin/cmake" <<TEXT
#!/bin/sh
exec /opt/host/lib/${loader##*/} --argv0 /opt/host/bin/cmake --library-path /opt/host/lib /opt/host/libexec/cmake "\$@"
TEXT
chmod +x "$host/bin/cmake"

# The sources, with the commit that a build without git finds in SOURCE.
rm -rf "$root/src"
copy_sources "$source" "$root/src"
if [ -e "$source/.git" ]; then
    modified=$("$source/cmake/source.sh" commit | sed -n 's/.*-modified/ -modified/p')
    (cd "$source" && echo "$(git rev-parse HEAD) $("$source/cmake/source.sh" time)$modified") >"$root/src/SOURCE"
fi

in_root "$root" "bash /src/cmake/package/portable_root.sh $version $epoch" PATH=/opt/host/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    SOURCE_DATE_EPOCH="$epoch" NTK_JOBS="${NTK_JOBS:-$(nproc)}"
chmod 644 "$root"/out/neuron-toolkit-*.tar.zst
mv "$root"/out/neuron-toolkit-*.tar.zst "$folder/"
