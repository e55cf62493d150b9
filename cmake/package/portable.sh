#!/bin/bash
# portable.sh FOLDER VERSION EPOCH - makes FOLDER/neuron-toolkit-VERSION-ARCH.tar.zst, which runs on every Linux with glibc 2.31
# or later. Builds in FOLDER/root, a Debian 11 made with debootstrap. A later run continues there; to begin
# from nothing, remove FOLDER/root. Needs root and network. The cmake of this system builds there, with its own libraries.
set -euo pipefail
export LC_ALL=C
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(realpath -m "$1") version=$2 epoch=$3
mirror=${NTK_PORTABLE_MIRROR:-http://deb.debian.org/debian}
root=$folder/root
export PATH=$PATH:/usr/sbin:/sbin

[ "$(id -u)" = 0 ] || {
    echo "portable.sh: only root makes a system of Debian 11" >&2
    exit 1
}
mkdir -p "$folder"
if [ ! -e "$root/.made" ]; then
    rm -rf --one-file-system "$root"
    debootstrap --variant=minbase bullseye "$root" "$mirror" >"$folder/debootstrap.log" 2>&1 || {
        tail -5 "$folder/debootstrap.log" >&2
        exit 1
    }
    touch "$root/.made"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service starts
chmod +x "$root/usr/sbin/policy-rc.d"
printf '%s main\n' "deb $mirror bullseye" "deb $mirror bookworm" "deb-src $mirror bookworm" >"$root/etc/apt/sources.list"
echo 'APT::Default-Release "bullseye";' >"$root/etc/apt/apt.conf.d/50release"

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
mkdir "$root/src"
if [ -e "$source/.git" ]; then
    (cd "$source" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$root/src"
    modified=$("$source/cmake/source.sh" commit | sed -n 's/.*-modified/ -modified/p')
    (cd "$source" && echo "$(git rev-parse HEAD) $("$source/cmake/source.sh" time)$modified") >"$root/src/SOURCE"
else
    tar -C "$source" -c --exclude=./build . | tar -x -C "$root/src"
fi

# Mounts are in a namespace, so that none is left whatever ends this script; so are processes.
unshare --mount --pid --fork --kill-child bash -euc '
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
    exec env -i HOME=/root PATH=/opt/host/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH="$3" \
        NTK_JOBS="${NTK_JOBS:-$(nproc)}" chroot "$1" bash /src/cmake/package/portable_root.sh "$2" "$3"' portable "$root" "$version" "$epoch"
chmod 644 "$root"/out/neuron-toolkit-*.tar.zst
mv "$root"/out/neuron-toolkit-*.tar.zst "$folder/"
