# root.sh - bare Debian systems in a folder, in which packages are built and tested. Source it. Needs root and debootstrap.
# NTK_MIRROR names another mirror, in which a root also finds its packages.
export PATH=$PATH:/usr/sbin:/sbin
ntk_mirror=${NTK_MIRROR:-http://deb.debian.org/debian}

# make_root SUITE ROOT LOG - returns 2 where the mirror is out of reach or does not have the suite.
make_root() {
    debootstrap --variant=minbase "$1" "$2" "$ntk_mirror" >"$3" 2>&1 || {
        ! grep '^E: Failed getting release file' "$3" >/dev/null || return 2
        tail -20 "$3" >&2
        return 1
    }
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d" # no service starts
    chmod +x "$2/usr/sbin/policy-rc.d"
}

# copy_sources SOURCE FOLDER - the files of the repository, without build output.
copy_sources() {
    mkdir -p "$2"
    if [ -e "$1/.git" ]; then
        (cd "$1" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$2"
    else
        tar -C "$1" -c --exclude=./build . | tar -x -C "$2"
    fi
}

# in_root ROOT COMMAND [NAME=VALUE...] - runs a shell command in the root. Mounts and processes are in namespaces, so that none
# is left when this script ends. $root_binds: pairs FOLDER=PLACE that it sees, too. $root_emulator: a line for the private
# binfmt_misc of a user namespace.
in_root() {
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    unshare --mount --pid --fork --kill-child bash -euc '
        mount --make-rprivate /
        for pair in $root_binds; do mkdir -p "$1/${pair#*=}" && mount --bind "${pair%%=*}" "$1/${pair#*=}"; done
        mount -t proc proc "$1/proc"
        mount -t sysfs -o ro sysfs "$1/sys" 2>/dev/null || mount --rbind /sys "$1/sys" # not in a user namespace
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
        ln -sfn pts/ptmx "$1/dev/ptmx"
        if [ -n "$root_emulator" ]; then
            mount -t binfmt_misc binfmt_misc "$1/proc/sys/fs/binfmt_misc"
            printf %s "$root_emulator" >"$1/proc/sys/fs/binfmt_misc/register"
        fi
        exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
            "${@:3}" chroot "$1" bash -euc "$2"' root "$@"
}
export root_binds= root_emulator=
