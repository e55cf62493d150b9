# lib.sh - which files each package has, and that its programs run. `cmake --install` installs all of them below one
# prefix.
. "$(dirname "$0")/../e2e/lib.sh"

ldconfig=$(PATH=$PATH:/usr/sbin:/sbin command -v ldconfig || true)

# has_programs ROOT PROGRAM...: each with its manual and completions.
has_programs() {
    local root=$1 program file
    shift
    for program in "$@"; do
        [ -x "$root/bin/$program" ] || fail "$root/bin/$program is missing"
        [ -s "$root/share/man/man1/$program.1" ] || [ -s "$root/share/man/man1/$program.1.gz" ] ||
            fail "$root has no man page of $program"
        for file in bash-completion/completions/$program zsh/site-functions/_$program \
            fish/vendor_completions.d/$program.fish; do
            grep -q "$program" "$root/share/$file" || fail "$root/share/$file is missing or does not belong to $program"
        done
    done
}

# has_units ROOT PREFIX UNIT=PROGRAM...
has_units() {
    local root=$1 prefix=$2 unit
    shift 2
    for unit in "$@"; do
        grep -qx "ExecStart=$prefix/bin/${unit#*=}" "$root/lib/systemd/system/${unit%%=*}" ||
            fail "${unit%%=*} of $root does not start $prefix/bin/${unit#*=}"
    done
}

# has_PACKAGE ROOT PREFIX: every file that users, shells, linkers and the service manager look up. PREFIX is the
# run-time path of ROOT.
has_tools() {
    local program file newer
    has_programs "$1" neuron-ls neuron-monitor neuron-monitor-cloudwatch neuron-monitor-k8s-info neuron-monitor-otlp \
        neuron-monitor-prometheus neuron-packager neuron-profile neuron-explorer neuron-top
    [ -e "$1/lib/neuron-hooks/libneuron-hooks.so" ] && [ "$(readlink -e "$1/lib/neuron-hooks/libnrt.so.1")" != "" ] ||
        fail "$1 has no hooks"
    # Jobs with a C library older than this system's load them.
    for file in libneuron-hooks.so libneuron-hooks-audit.so; do
        [ -z "${NTK_SANITIZE:-}" ] || break
        newer=$(objdump -T "$1/lib/neuron-hooks/$file" | sed -nE 's/.*UND.*\(?GLIBC_([0-9.]+)\)? +(.*)/\1 \2/p' |
            awk '{ split($1, part, "."); if (part[1] > 2 || part[2] > 17) print }')
        [ -z "$newer" ] || fail "$file needs a newer C library than 2.17: $newer"
        # A stricter alignment fails on AArch64 if jobs use dlopen() or an audit library.
        objdump -p "$1/lib/neuron-hooks/$file" | awk '$1 == "TLS" { sub(/.*\*\*/, "", $NF); if ($NF + 0 > 4) exit 1 }' ||
            fail "variables of threads in $file are aligned to more than 16 bytes"
    done
    for program in neuron-monitor-cloudwatch neuron-monitor-k8s-info neuron-monitor-prometheus; do
        [ "$(readlink "$1/bin/$program.py")" = $program ] || fail "$1 lacks the vendor's name of $program"
    done
    [ -s "$1/share/neuron-toolkit/neuron-monitor-report.schema.json" ] || fail "$1 has no schema of reports"
    [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-prolog" ] && [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-epilog" ] &&
        [ -x "$1/share/neuron-toolkit/slurm/neuron-slurm-task-prolog" ] &&
        [ -s "$1/share/neuron-toolkit/slurm/neuron-slurm-common.sh" ] || fail "$1 lacks prolog or epilog of Slurm"
    [ -s "$1/share/doc/neuron-toolkit/operate.md" ] && [ -s "$1/share/neuron-toolkit/prometheus/neuron.rules.yml" ] ||
        fail "$1 lacks documents or rules"
    (cd "$1/share/doc/neuron-toolkit" && grep -roE --include='*.md' '\]\([^):# ]+' . | sed 's/:\](/ /' | grep -v ' https*$') >links
    while read -r page link; do
        [ -e "$1/share/doc/neuron-toolkit/${page%/*}/$link" ] || fail "$page of $1 links to $link, which is not installed"
    done <links
    [ "$(wc -l <links)" -gt 100 ] || fail "the pages of $1 have too few links"
    # Files that name others of the installation name them below its prefix.
    sed -nE "s#.*runbook_url: file://$2/([^\#]*).*#\1#p" "$1"/share/neuron-toolkit/prometheus/*.rules.yml >rule_files
    sed -nE "s#^[A-Za-z]*log=$2/(.*)#\1#p" "$1/share/neuron-toolkit/slurm/slurm.conf" >slurm_files
    [ -s rule_files ] && [ -s slurm_files ] || fail "the rules or slurm.conf of $1 name no file below $2"
    for file in $(cat rule_files slurm_files); do
        [ -s "$1/$file" ] || fail "$1 lacks $file, which its rules or slurm.conf name"
    done
    [ "$2" = /usr ] || ! grep -rl -e /usr/share/neuron-toolkit -e /usr/share/doc/neuron-toolkit "$1/share/neuron-toolkit" ||
        fail "a file of $1 has the paths of the package"
    has_units "$1" "$2" 'neuron-monitor.service=neuron-monitor .* $NEURON_MONITOR_OPTIONS'
    local user
    user=$(sed -n 's/^User=//p' "$1/lib/systemd/system/neuron-monitor.service")
    [ "$user" != "" ] && grep -q "^u $user " "$1/lib/sysusers.d/neuron-monitor.conf" || fail "the unit of $1 does not set a user"
    grep -qx 'EnvironmentFile=-/etc/default/neuron-monitor' "$1/lib/systemd/system/neuron-monitor.service" ||
        fail "the unit of $1 reads no options file"
}

has_soft_runtime() {
    has_programs "$1" neuron-bench neuron-graph popef_dump popef_make popef_run
    [ "$(readlink "$1/lib/neuron-soft/libnrt.so.1")" != "" ] || fail "$1/lib/neuron-soft/libnrt.so.1 is not a link"
    [ "$(readlink "$1/lib/libpopef.so.1")" != "" ] || fail "$1 lacks libpopef.so.1"
    # ldconfig finds nothing in the folder that a job could mistake for the vendor's runtime.
    mkdir -p "$scratch/ldconfig" && rm -f "$scratch"/ldconfig/* && cp -P "$1"/lib/*.so* "$scratch/ldconfig"
    [ -z "$ldconfig" ] || "$ldconfig" -n "$scratch/ldconfig" || fail "ldconfig fails"
    [ ! -e "$scratch/ldconfig/libnrt.so.1" ] || fail "the loader finds $(readlink -f "$scratch/ldconfig/libnrt.so.1") as libnrt.so.1"
}

has_rtd() {
    has_programs "$1" neuron-cli neuron-rtd
    [ -x "$1/libexec/neuron-toolkit/neuron-profile-session" ] || fail "$1 lacks neuron-profile-session"
    has_units "$1" "$2" 'neuron-rtd-soft.service=neuron-rtd $NEURON_RTD_OPTIONS' \
        'neuron-rtd-soft@.service=neuron-rtd -i %i $NEURON_RTD_OPTIONS'
    # The vendor's runtime 1.x has a unit with this name.
    [ ! -e "$1/lib/systemd/system/neuron-rtd.service" ] || fail "$1 has the vendor's unit neuron-rtd.service"
}

has_dev() {
    local file
    for file in include/nrt/nrt.h include/popef.h lib/libnds.a lib/neuron-soft/libnrt.so lib/libpopef.so lib/libcnrt.so \
        lib/libcnml.so lib/pkgconfig/neuron-soft-nrt.pc lib/cmake/neuron-toolkit/neuron-toolkit-config.cmake \
        lib/neuware/lib64 lib/neuware/include; do
        [ -e "$1/$file" ] || [ -L "$1/$file" ] || fail "$1/$file is missing"
    done
}

# runs ROOT COMMANDS: runs them with only what is installed below ROOT.
runs() {
    env -u NTK_LIB_DIR -u NEURON_LIBNRT LD_LIBRARY_PATH="$1/lib" PATH="$1/bin:/usr/bin:/bin" bash -euc "$2" "$1" ||
        fail "the installation in $1 does not run"
}
runs_tools='
    neuron-packager example mlp -o mlp.neff
    neuron-monitor --once --period 100ms | jq -e .neuron_hardware_info >/dev/null
    neuron-ls --version
    neuron-profile --version
    neuron-top --version'
runs_soft_runtime='
    neuron-bench exec mlp.neff --count 1 | grep -x "library     $0/lib/neuron-soft/libnrt.so.1 (software)"'
runs_rtd='
    neuron-rtd --version
    neuron-cli --version'
