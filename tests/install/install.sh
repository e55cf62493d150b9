# install.sh BUILD - installs a build below DESTDIR and as a .deb into its own root, and runs it
# from there. Nothing outside the scratch folder is touched.
build=$1
. "$(dirname "$0")/../e2e/lib.sh"
programs="neuron-bench neuron-cli neuron-ls neuron-monitor neuron-monitor-cloudwatch neuron-monitor-k8s-info neuron-monitor-otlp neuron-monitor-prometheus neuron-packager neuron-profile neuron-explorer neuron-rtd neuron-top popef_dump popef_make popef_run"

ldconfig=$(PATH=$PATH:/usr/sbin:/sbin command -v ldconfig || true)

# has ROOT: every file that users, shells, linkers and the service manager search for.
has() {
    local program file
    for program in $programs; do
        [ -x "$1/bin/$program" ] || fail "$1/bin/$program is missing"
        [ -s "$1/share/man/man1/$program.1" ] || [ -s "$1/share/man/man1/$program.1.gz" ] ||
            fail "$1 has no man page of $program"
        for file in bash-completion/completions/$program zsh/site-functions/_$program \
            fish/vendor_completions.d/$program.fish; do
            grep -q "$program" "$1/share/$file" || fail "$1/share/$file is missing or not of $program"
        done
    done
    [ "$(readlink "$1/lib/neuron-soft/libnrt.so.1")" != "" ] || fail "$1/lib/neuron-soft/libnrt.so.1 is not a link"
    [ -e "$1/lib/neuron-hooks/libneuron-hooks.so" ] && [ "$(readlink -e "$1/lib/neuron-hooks/libnrt.so.1")" != "" ] ||
        fail "$1 has no hooks"
    # What ldconfig makes of the folder: nothing that a job would take for the vendor's runtime.
    mkdir -p "$scratch/ldconfig" && rm -f "$scratch"/ldconfig/* && cp -P "$1"/lib/*.so* "$scratch/ldconfig"
    [ -z "$ldconfig" ] || "$ldconfig" -n "$scratch/ldconfig" || fail "ldconfig fails"
    [ ! -e "$scratch/ldconfig/libnrt.so.1" ] || fail "the loader finds $(readlink -f "$scratch/ldconfig/libnrt.so.1") as libnrt.so.1"
    for program in neuron-monitor-cloudwatch neuron-monitor-k8s-info neuron-monitor-prometheus; do
        [ "$(readlink "$1/bin/$program.py")" = $program ] || fail "$1 lacks the vendor's name of $program"
    done
    [ -x "$1/libexec/neuron-toolkit/neuron-profile-session" ] || fail "$1 lacks neuron-profile-session"
    [ -s "$1/include/nrt/nrt.h" ] || fail "$1/include/nrt/nrt.h is missing"
    [ -s "$1/include/popef.h" ] && [ "$(readlink "$1/lib/libpopef.so.1")" != "" ] || fail "$1 lacks libpopef.so.1 or its header"
    [ -s "$1/share/neuron-toolkit/neuron-monitor-report.schema.json" ] || fail "$1 has no schema of reports"
    [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-prolog" ] && [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-epilog" ] &&
        [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-task-prolog" ] &&
        [ -s "$1/share/neuron-toolkit/slurm/neuron-slurm-common.sh" ] || fail "$1 lacks prolog or epilog of Slurm"
    grep -qx "ExecStart=$2/bin/neuron-monitor .*" "$1/lib/systemd/system/neuron-monitor.service" ||
        fail "the unit of $1 does not start $2/bin/neuron-monitor"
    grep -qx 'EnvironmentFile=-/etc/default/neuron-monitor' "$1/lib/systemd/system/neuron-monitor.service" &&
        grep -q '^ExecStart=.* \$NEURON_MONITOR_OPTIONS$' "$1/lib/systemd/system/neuron-monitor.service" ||
        fail "the unit of $1 reads no file of options"
    grep -qx "ExecStart=$2/bin/neuron-rtd \$NEURON_RTD_OPTIONS" "$1/lib/systemd/system/neuron-rtd-soft.service" &&
        grep -qx "ExecStart=$2/bin/neuron-rtd -i %i \$NEURON_RTD_OPTIONS" "$1/lib/systemd/system/neuron-rtd-soft@.service" ||
        fail "the units of $1 do not start $2/bin/neuron-rtd"
    # The vendor's runtime 1.x has a unit with this name.
    [ ! -e "$1/lib/systemd/system/neuron-rtd.service" ] || fail "$1 has the vendor's unit neuron-rtd.service"
}

# runs ROOT: a report and a model, with nothing but what is installed below ROOT.
runs() {
    env -u NTK_LIB_DIR -u NEURON_LIBNRT LD_LIBRARY_PATH="$1/lib" PATH="$1/bin:/usr/bin:/bin" bash -euc '
        neuron-packager example mlp -o mlp.neff
        neuron-monitor --once --period 100ms | jq -e .neuron_hardware_info >/dev/null
        neuron-bench exec mlp.neff --count 1 | grep -x "library     $0/lib/neuron-soft/libnrt.so.1 (software)"
        neuron-ls --version
        neuron-profile start-session --version
        neuron-top --version' "$1" || fail "what is installed in $1 does not run"
}

DESTDIR=$scratch/dest cmake --install "$build" --prefix /opt/ntk >install.log || fail "see install.log"
has dest/opt/ntk /opt/ntk
runs "$scratch/dest/opt/ntk"
[ "$(ls -A dest)" = opt ] || fail "files outside the prefix: $(ls -A dest)"
# What docs/operate.md removes by this list is all that there is.
differences=$(diff <(sort "$build/install_manifest.txt") <(find dest -not -type d | sed 's/^dest//' | sort)) ||
    fail "install_manifest.txt (<) and what is installed (>): $differences"

# The units as the service manager reads them, where its checker is installed.
if command -v systemd-analyze >/dev/null; then
    for unit in neuron-monitor.service neuron-rtd-soft.service neuron-rtd-soft@.service; do
        sed 's#^ExecStart=/opt/ntk#ExecStart='"$scratch"'/dest/opt/ntk#' \
            "dest/opt/ntk/lib/systemd/system/$unit" >"${unit/@/@nrtd0}"
        systemd-analyze verify --man=no "$scratch/${unit/@/@nrtd0}" >verify.log 2>&1 ||
            fail "see verify.log"
        ! grep -qE '^[^ ]*neuron-[a-z-]*(@nrtd0)?\.service:' verify.log || fail "see verify.log"
    done
fi

needs dpkg-shlibdeps
(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages" >cpack.log 2>&1) ||
    fail "see cpack.log"
deb=$(ls packages/*.deb)
dpkg-deb --field "$deb" Depends | greps libc6 || fail "the package does not depend on libc6"
mkdir -p root/var/lib/dpkg/{info,updates,triggers}
touch root/var/lib/dpkg/{status,available}
if [ "$(id -u)" != 0 ]; then # files with owners are not for everybody to unpack
    dpkg-deb -x "$deb" root
    has root/usr /usr
    runs "$scratch/root/usr"
    exit 0
fi
# Its scripts run outside the root, with a stand-in for the one program that they call.
mkdir -p stand-in
printf '#!/bin/sh\ntouch %s/ldconfig-ran\n' "$scratch" >stand-in/ldconfig
chmod +x stand-in/ldconfig
export PATH=$scratch/stand-in:$PATH
in_root() {
    dpkg --root="$scratch/root" --force-not-root --force-depends --force-script-chrootless --log=/dev/null "$@" \
        >dpkg.log 2>&1 || fail "see dpkg.log"
}
in_root -i "$deb"
[ -e ldconfig-ran ] || fail "the linker's cache does not learn of libpopef.so.1"
has root/usr /usr
runs "$scratch/root/usr"
in_root -r neuron-toolkit
[ ! -e root/usr/bin/neuron-monitor ] || fail "a removed package leaves neuron-monitor behind"
