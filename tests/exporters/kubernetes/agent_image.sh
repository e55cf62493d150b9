#!/bin/bash
# agent_image - the files of Dockerfile.agent run as an unprivileged user with nothing else in their root folder.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
skip_sanitized
"$NTK_SOURCE_DIR/exporters/kubernetes/agent-image.sh" "$NTK_BUILD_DIR" image
is_static=$(sed -n 's/^NTK_ARCHIVE_STATIC_LINKS:INTERNAL=//p' "$NTK_BUILD_DIR/CMakeCache.txt") # otherwise libarchive brings ICU
[ "$(find image -name 'sh' -o -name 'bash' -o -name 'dpkg' -o -name 'libopenblas*' -o -name 'libgrpc*' ${is_static:+-o -name 'libicu*'})" = "" ] ||
    fail "the image has more than the agent: $(find image -type f)"
du -sm image/ | sed 's/\t.*/ MiB: the image of the agent/'
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "only root changes the root folder"
in_image() {
    unshare -m bash -c 'mount --make-rprivate / && mount -t proc proc image/proc && mount -t sysfs -o ro sysfs image/sys && exec "$@"' image \
        env -i "$(PATH=$PATH:/usr/sbin command -v chroot)" --userspec 65534:65534 image /bin/neuron-monitor "$@"
}
in_image --version >version || fail "the agent does not start"
in_image --once --period 100ms >report.json 2>agent.log || fail "the agent does not run"
jq -e .neuron_hardware_info report.json >/dev/null || fail "no report: $(head -c 300 report.json)"
# libcurl is loaded by the first request.
said() { in_image hang http://127.0.0.1:1 >hang.out 2>&1 || true; greps "$1" <hang.out || fail "a request says: $(cat hang.out)"; }
said 'Failed to connect to 127.0.0.1'
if [ -e image/usr/lib/libcurl.so.4 ]; then
    rm image/usr/lib/libcurl*
    said 'cannot load libcurl: libcurl'
fi
