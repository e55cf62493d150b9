# install.sh BUILD - installs a build below DESTDIR and runs it from there. Files outside the scratch folder are not
# touched.
build=$1
. "$(dirname "$0")/lib.sh"

# Existing files below the prefix stay.
installed() { DESTDIR=$scratch/dest "$NTK_SOURCE_DIR/cmake/installed.sh" "$@" >install.log 2>&1 || fail "see install.log"; }
tree() { find dest -printf '%P %y %m %l\n' | LC_ALL=C sort; }
mkdir -p dest/opt/ntk/{bin,share/doc/other,lib/systemd}
echo other >dest/opt/ntk/bin/other
tree >before
installed install "$build" /opt/ntk
for package in tools soft_runtime rtd dev; do
    "has_$package" dest/opt/ntk /opt/ntk
done
runs "$scratch/dest/opt/ntk" "$runs_tools$runs_soft_runtime$runs_rtd
    neuron-profile start-session --version"
[ "$(ls -A dest)" = opt ] || fail "unexpected files outside the prefix: $(ls -A dest)"
differences=$(diff <(sort "$build/install_manifest.txt") <(find dest -not -type d -not -name installed -not -name other | sed 's/^dest//' | sort)) ||
    fail "install_manifest.txt (<) and installed files (>): $differences"

# A second installation removes the files of the first that it does not have.
echo share/neuron-toolkit/old/stale >>dest/opt/ntk/share/neuron-toolkit/installed
echo share/neuron-toolkit/old/ >>dest/opt/ntk/share/neuron-toolkit/installed
mkdir dest/opt/ntk/share/neuron-toolkit/old && touch dest/opt/ntk/share/neuron-toolkit/old/stale
installed install "$build" "$(realpath -m --relative-to=. /opt/ntk)/" # another spelling of the prefix
[ ! -e dest/opt/ntk/share/neuron-toolkit/old ] || fail "an update leaves files of the older version"

# The units as the service manager reads them, if its checker is installed.
if command -v systemd-analyze >/dev/null; then
    for unit in neuron-monitor.service neuron-rtd-soft.service neuron-rtd-soft@.service; do
        sed 's#^ExecStart=/opt/ntk#ExecStart='"$scratch"'/dest/opt/ntk#' \
            "dest/opt/ntk/lib/systemd/system/$unit" >"${unit/@/@nrtd0}"
        systemd-analyze verify --man=no "$scratch/${unit/@/@nrtd0}" >verify.log 2>&1 ||
            fail "see verify.log"
        ! grep -qE '^[^ ]*neuron-[a-z-]*(@nrtd0)?\.service:' verify.log || fail "see verify.log"
    done
fi

uninstalls() {
    local differences
    installed uninstall /opt/ntk
    differences=$(diff before <(tree)) || fail "before it was installed (<) and after it was uninstalled (>): $differences"
    ! DESTDIR=$scratch/dest "$NTK_SOURCE_DIR/cmake/installed.sh" uninstall /opt/ntk >install.log 2>&1 ||
        fail "a file that was not installed is uninstalled"
}

# A program is built against the installation, with pkg-config and with CMake.
if [ -n "${NTK_SANITIZE:-}" ]; then # a plain program cannot load a sanitized library
    uninstalls
    exit 0
fi
root=$scratch/dest/opt/ntk
cat >popef.c <<'TEXT'
#include <popef.h>
#include <stddef.h>
int main(void) { return popef_data_type_size(0) < 100 ? 0 : 1; }
TEXT
cat >nrt.c <<'TEXT'
#include <nrt/nrt.h>
int main(void) { return nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS ? 0 : 1; }
TEXT
export PKG_CONFIG_PATH=$root/lib/pkgconfig
for pair in popef.c=popef nrt.c=neuron-soft-nrt; do
    # shellcheck disable=SC2046
    cc "${pair%=*}" -o "by_pkg_config" $(pkg-config --cflags --libs "${pair#*=}") >cc.log 2>&1 || fail "see cc.log"
    LD_LIBRARY_PATH=$root/lib:$root/lib/neuron-soft ./by_pkg_config || fail "${pair%=*} does not run"
done
for module in "$root"/lib/pkgconfig/*.pc; do
    name=$(basename "$module" .pc)
    printf 'int main(void) { return 0; }\n' >empty.c
    # shellcheck disable=SC2046
    cc empty.c -o empty -Wl,--no-as-needed $(pkg-config --cflags --libs "$name") >cc.log 2>&1 || fail "$name: see cc.log"
done
mkdir consumer
cat >consumer/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(neuron-toolkit 0.1 REQUIRED)
add_executable(by_cmake ../nrt.c)
target_link_libraries(by_cmake neuron-toolkit::neuron-soft-nrt neuron-toolkit::neuron-nds neuron-toolkit::popef
    neuron-toolkit::neuron-soft-cnml)
TEXT
{ cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$root" && cmake --build consumer/build; } >consumer.log 2>&1 ||
    fail "see consumer.log"
consumer/build/by_cmake || fail "by_cmake does not run"
uninstalls
