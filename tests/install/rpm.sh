# rpm.sh BUILD - makes the RPM packages of a build, reads what they require and provide, and installs them below the
# scratch folder.
build=$1
. "$(dirname "$0")/lib.sh"
[ "${NTK_PACKAGE_CHECK:-0}" = 1 ] || skip "takes long: run ./dev package --check"
needs rpm rpmbuild

names=(tools=neuron-tools soft_runtime=neuron-soft-runtime rtd=neuron-rtd dev=neuron-toolkit-devel)
(cd "$scratch" && cpack -G RPM --config "$build/CPackConfig.cmake" -B "$scratch/packages" >cpack.log 2>&1) || fail "see cpack.log"
rpm_of() { echo packages/"$1"-[0-9]*.rpm; }
for name in "${names[@]}"; do
    file=$(rpm_of "${name#*=}")
    [ -e "$file" ] || fail "no package ${name#*=}: $(ls packages)"
    [ "$(rpm -qp --qf '%{LICENSE}' "$file")" = MIT ] || fail "${name#*=} has no licence"
    [ "$(rpm -qp --qf '%{SUMMARY}%{DESCRIPTION}' "$file" | wc -c)" -gt 80 ] || fail "${name#*=} has no description"
    rpm -qp --requires "$file" | sed 's/ *$//' >"requires-${name%%=*}"
    rpm -qp --provides "$file" >"provides-${name%%=*}"
    # Requirements that other RPM systems can satisfy: no symbol versions added by Debian, no vendor library.
    ! greps -E 'CURL_|NCURSES|libnrt|libcnrt|libcnml' "requires-${name%%=*}" || fail "${name#*=} requires packages that only Debian has"
    ! greps -E 'lib(nrt|cnrt|cnml|neuron-hooks)' "provides-${name%%=*}" || fail "${name#*=} provides a library of a vendor"
    # Amazon Linux 2023 has glibc 2.34.
    highest=$(sed -n 's/^libc\.so\.6(GLIBC_\([0-9.]*\)).*/\1/p' "requires-${name%%=*}" | sort -V | tail -1)
    echo "${name#*=} requires glibc ${highest:-of any version}"
done
! greps -E 'blas|grpc|gpr' requires-tools || fail "neuron-tools requires OpenBLAS or gRPC"
greps -Fx 'libc.so.6()(64bit)' requires-tools || fail "neuron-tools requires no libc.so.6"
greps 'libgrpc' requires-rtd || fail "neuron-rtd requires no gRPC"
greps blas requires-soft_runtime || fail "neuron-soft-runtime requires no OpenBLAS"
greps '^libpopef.so.1' provides-soft_runtime || fail "neuron-soft-runtime does not provide libpopef.so.1"
greps '^neuron-soft-runtime = ' requires-dev || fail "neuron-toolkit-devel does not require neuron-soft-runtime"
script_has() { rpm -qp --scripts "$(rpm_of "$1")" | greps "$2" || fail "no script of $1 has '$2'"; }
for action in try-restart stop; do script_has neuron-tools "systemctl.* $action neuron-monitor.service"; done
script_has neuron-rtd "systemctl stop neuron-rtd-soft.service 'neuron-rtd-soft@\*.service'"
script_has neuron-rtd 'rm -f /etc/systemd/system/\*/neuron-rtd-soft\*.service'
[ "$(rpm -qp --scripts "$(rpm_of neuron-soft-runtime)" | grep -c '^/sbin/ldconfig')" = 2 ] || fail "installation and removal of libpopef.so.1 do not run ldconfig"
[ "$(rpm -qpc "$(rpm_of neuron-tools)")" = /etc/default/neuron-monitor ] || fail "the configuration file is not one"

if command -v rpmlint >/dev/null; then
    rpmlint -c "$(dirname "$0")/rpmlint.toml" packages/*.rpm >rpmlint.log 2>&1 || fail "see rpmlint.log"
    greps '0 errors, 0 warnings' rpmlint.log || fail "see rpmlint.log"
fi

[ "$(id -u)" = 0 ] || skip "only root installs packages below a folder"
mkdir root
in_root() { rpm --root "$scratch/root" --nodeps --noscripts --nosignature "$@" >rpm.log 2>&1 || fail "see rpm.log"; }
in_root -i packages/*.rpm
for name in "${names[@]}"; do "has_${name%%=*}" root/usr /usr; done
runs "$scratch/root/usr" "$runs_tools$runs_soft_runtime$runs_rtd"
in_root -V "${names[@]#*=}"
echo 'NEURON_MONITOR_OPTIONS=--label node=a7' >root/etc/default/neuron-monitor
in_root -e "${names[@]#*=}"
[ "$(cat root/etc/default/neuron-monitor.rpmsave)" = 'NEURON_MONITOR_OPTIONS=--label node=a7' ] || fail "removal deletes the configuration"
left=$(find root/usr root/etc -mindepth 1 -name '*neuron*' -not -name '*.rpmsave')
[ "$left" = "" ] || fail "removed packages leave $left"
