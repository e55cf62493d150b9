# package.sh BUILD - makes the Debian packages of a build, compares their dependencies with the needs of their
# programs, and installs them below the scratch folder.
build=$1
. "$(dirname "$0")/lib.sh"
needs dpkg-shlibdeps readelf

names=(tools=neuron-tools soft_runtime=neuron-soft-runtime rtd=neuron-rtd dev=neuron-toolkit-dev)
compression=(-D CPACK_DEBIAN_COMPRESSION_TYPE=none)
[ "${NTK_PACKAGE_CHECK:-0}" != 1 ] || compression=() # lintian rejects packages without
(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" "${compression[@]}" -B "$scratch/packages" >cpack.log 2>&1) || fail "see cpack.log"
deb_of() { echo packages/"$1"_*.deb; }
for name in "${names[@]}"; do
    mkdir -p "alone/${name%%=*}"
    dpkg-deb -x "$(deb_of "${name#*=}")" "alone/${name%%=*}" || fail "no package ${name#*=}: $(ls packages)"
    "has_${name%%=*}" "alone/${name%%=*}/usr" /usr
done

# Each file of `cmake --install` is in exactly one package.
NTK_PACKAGE_KIND=DEB DESTDIR=$scratch/dest cmake --install "$build" --prefix /usr >install.log || fail "see install.log"
packed() { (cd "$1" && find . -not -type d) | sort; }
for name in "${names[@]}"; do packed "alone/${name%%=*}"; done | sort >packed
differences=$(diff packed <(packed dest)) || fail "the packages (<) and the installation (>) differ: $differences"
mkdir together && for name in "${names[@]}"; do cp -a "alone/${name%%=*}/." together; done

# A package depends on exactly the packages of the libraries that its files need.
depends_of() { dpkg-deb --field "$(deb_of "$1")" Depends | tr ',' '\n' | sed 's/^ *//; s/[ :|].*//' | sort -u; }
needed_by() {
    find "$1" -type f -exec readelf -d {} + 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u
}
# The package of each library on this system, as the loader finds it, in lines SONAME PACKAGE. dpkg knows one of three
# names of a file, and starts slowly.
[ "$ldconfig" != "" ] || skip "ldconfig is missing"
"$ldconfig" -p >cache
while read -r soname; do
    path=$(awk -v name="$soname" '$1 == name { print $NF; exit }' cache)
    [ "$path" = "" ] || printf '%s %s\n' "$soname" "$path" "$soname" "/usr$path" "$soname" "$(readlink -f "$path")"
done < <(needed_by alone | sort -u) >paths
{ cut -d ' ' -f 2 paths | sort -u | xargs -r dpkg -S 2>/dev/null || true; } | sed -n 's/^\([^:,]*\)[:,].* \(.*\)$/\2 \1/p' >owners
awk 'NR == FNR { package[$1] = $2; next } $2 in package { print $1, package[$2] }' owners paths | sort -u >providers
for name in "${names[@]}"; do
    for soname in $(needed_by "alone/${name%%=*}"); do
        [ "$(find "alone/${name%%=*}" -name "$soname")" = "" ] || continue # in the package itself
        sed -n "s/^${soname//./\\.} //p" providers
    done | sort -u >needed
    case $name in
    tools=*) echo libcurl4 >>needed ;; # loaded on first use, as is the next
    soft_runtime=* | rtd=*) echo libopenblas0 >>needed ;;
    dev=*) echo neuron-soft-runtime >>needed ;;
    esac
    differences=$(diff <(sort -u needed) <(depends_of "${name#*=}")) ||
        fail "${name#*=}: packages of its libraries (<) and its dependencies (>) differ: $differences"
done
! needed_by alone/tools | greps -E 'blas|grpc|absl' || fail "neuron-tools needs OpenBLAS or gRPC"
# The shared libarchive brings ICU (cmake/ntk_packages.cmake).
is_static=$(sed -n 's/^NTK_ARCHIVE_STATIC_LINKS:INTERNAL=//p' "$build/CMakeCache.txt")
# Everything that is installed with it on a bare machine, if apt knows packages.
: >status
if closure=$(apt-get -s -o Dir::State::status="$scratch/status" -o Debug::NoLocking=1 --no-install-recommends \
    install "$scratch/$(deb_of neuron-tools)" 2>/dev/null); then
    ! greps -E "^Inst (libopenblas|libgrpc|libabsl${is_static:+|libicu|libxml2})" <<<"$closure" || fail "neuron-tools brings OpenBLAS, gRPC or ICU"
fi
# Jobs that load the software runtime do not get ICU either.
for name in ${is_static:+"${names[@]}"}; do
    ! needed_by "alone/${name%%=*}" | greps -E '^lib(archive|xml2|icu)' || fail "${name#*=} needs libarchive, and that ICU"
done

# The fields of a Debian package.
for name in "${names[@]}"; do
    for file in copyright changelog.Debian.gz; do
        [ -s "alone/${name%%=*}/usr/share/doc/${name#*=}/$file" ] || fail "${name#*=} has no $file"
    done
done
zcat alone/tools/usr/share/doc/neuron-tools/changelog.Debian.gz >changelog
version=$(dpkg-deb --field "$(deb_of neuron-tools)" Version)
dpkg-parsechangelog -l changelog -S Version 2>parse.log | grep -x "$version" >/dev/null && [ ! -s parse.log ] || fail "the changelog is not of version $version"
[ "$(find alone -path '*/man1/*' -not -name '*.gz')" = "" ] || fail "a man page is not compressed"
# Every option of the agent is a comment of its configuration file.
neuron-monitor --help | sed -n 's/^ *\(-., \)\?\(--[a-z0-9-]*\).*/\2/p' >options
[ "$(wc -l <options)" -gt 20 ] || fail "only these options: $(cat options)"
while read -r option; do
    grep -q "^#.*$option" alone/tools/etc/default/neuron-monitor || fail "/etc/default/neuron-monitor lacks $option"
done <options
greps -v '^#' <alone/tools/etc/default/neuron-monitor | greps -vx 'NEURON_MONITOR_OPTIONS=' && fail "an option is set"

# The bill of materials has each file with its checksum, and the package of each library.
for name in "${names[@]}"; do
    folder=alone/${name%%=*} sbom=alone/${name%%=*}/usr/share/doc/${name#*=}/${name#*=}.spdx.json
    jq -e --arg name "${name#*=}" '.spdxVersion == "SPDX-2.3" and .packages[0].name == $name' "$sbom" >/dev/null || fail "$sbom is not SPDX"
    jq -r '.files[] | (.checksums[] | select(.algorithm == "SHA256") | .checksumValue) + "  " + .fileName' "$sbom" >sums
    (cd "$folder" && sha256sum --quiet -c "$scratch/sums") || fail "$sbom has wrong checksums"
    differences=$(diff <(sed 's/^[0-9a-f]*  //' sums | sort) <(cd "$folder" && find . -type f -not -name '*.spdx.json' | sort)) ||
        fail "$sbom (<) and the package (>) have different files: $differences"
    # Its dependencies equal those of the package manager, except packages of this build.
    differences=$(diff <(jq -r '.packages[1:][].name' "$sbom" | sed 's/^libopenblas0-.*/libopenblas0/' | sort -u) \
        <(depends_of "${name#*=}" | { grep -v '^neuron-' || true; })) || fail "libraries of $sbom (<) and dependencies (>) differ: $differences"
    [ "$(jq '[.packages[].SPDXID, .files[].SPDXID] as $ids | [.relationships[] | .spdxElementId, .relatedSpdxElement]
        | unique - $ids - ["SPDXRef-DOCUMENT"] | length' "$sbom")" = 0 ] || fail "$sbom has relations of unlisted packages"
    jq -e '[.packages[1:][] | select(.versionInfo == "NOASSERTION")] == []' "$sbom" >/dev/null || fail "$sbom lacks versions"
done

if [ "${NTK_PACKAGE_CHECK:-0}" = 1 ]; then
    # A program links only libraries that it calls. The hooks also link those that have these calls on older systems.
    for file in $(find alone -type f -not -name libneuron-hooks.so -exec file {} + | sed -n '/ELF.*dynamic/s/:.*//p'); do
        unused=$(LD_LIBRARY_PATH=$scratch/together/usr/lib ldd -u "$file" | sed 1d)
        [ "$unused" = "" ] || complain "$file links libraries that it does not use: $unused"
    done
    # Each build produces the same package.
    for round in 1 2; do
        (cd "$scratch" && SOURCE_DATE_EPOCH=1000000000 cpack --config "$build/CPackConfig.cmake" \
            -D CPACK_COMPONENTS_ALL=rtd -B "$scratch/round$round" >cpack.log 2>&1) || fail "see cpack.log"
        sleep 1 # files have times in seconds
    done
    cmp round1/neuron-rtd_*.deb round2/neuron-rtd_*.deb || fail "two packages of one build differ"
    needs lintian
    lintian --allow-root --fail-on error,warning packages/*.deb >lintian.log 2>&1 || fail "see lintian.log"
fi

for package in tools soft_runtime rtd; do
    runs_it=runs_$package
    [ "$package" != soft_runtime ] || (cd "$scratch" && runs "$scratch/alone/tools/usr" 'neuron-packager example mlp -o mlp.neff')
    runs "$scratch/alone/$package/usr" "${!runs_it}"
done

# dpkg installs, upgrades and removes them. Scripts run outside the root, with stand-ins for the programs they call.
if [ "$(id -u)" != 0 ]; then # only root can unpack files with other owners
    exit 0
fi
mkdir -p root/var/lib/dpkg/{info,updates,triggers} root/run/systemd/system stand-in
touch root/var/lib/dpkg/{status,available}
for name in ldconfig systemctl deb-systemd-invoke; do
    printf '#!/bin/sh\necho %s "$@" >>%s/called\n' $name "$scratch" >stand-in/$name
done
chmod +x stand-in/*
export PATH=$scratch/stand-in:$PATH
in_root() {
    : >called
    dpkg --root="$scratch/root" --force-not-root --force-depends --force-script-chrootless --force-confold --log=/dev/null "$@" \
        >dpkg.log 2>&1 || fail "see dpkg.log"
}
in_root -i packages/*.deb
greps -x ldconfig called || fail "the linker's cache does not learn of libpopef.so.1"
! greps invoke called || fail "the first installation starts or stops a service: $(cat called)"
for name in "${names[@]}"; do "has_${name%%=*}" root/usr /usr; done
has_user() { # no rights by default, and no login
    ! command -v systemd-sysusers >/dev/null || greps '^neuron-monitor:x:[0-9]*:[0-9]*:[^:]*:/var/lib/neuron-monitor:.*/nologin$' root/etc/passwd ||
        fail "the service has no user: $(cat root/etc/passwd)"
}
has_user
user=$(cat root/etc/passwd 2>/dev/null || true)
mkdir -p root/var/lib/neuron-monitor root/etc/systemd/system/{multi-user.target.wants,neuron-monitor.service.d,neuron-rtd-soft@nrtd0.service.d}
touch root/etc/systemd/system/{neuron-monitor,neuron-rtd-soft@nrtd0}.service.d/override.conf
touch root/var/lib/neuron-monitor/monitor.db
ln -s /usr/lib/systemd/system/neuron-monitor.service root/etc/systemd/system/multi-user.target.wants/
echo 'NEURON_MONITOR_OPTIONS=--label node=a7' >root/etc/default/neuron-monitor
in_root -i "$(deb_of neuron-tools)"
greps -x 'deb-systemd-invoke try-restart neuron-monitor.service' called || fail "an upgrade does not restart the service: $(cat called)"
[ "$(cat root/etc/default/neuron-monitor)" = 'NEURON_MONITOR_OPTIONS=--label node=a7' ] || fail "an upgrade changes the configuration"
[ "$(cat root/etc/passwd 2>/dev/null || true)" = "$user" ] || fail "an upgrade changes the user of the service: $(cat root/etc/passwd)"
in_root -r "${names[@]#*=}"
greps -x 'deb-systemd-invoke stop neuron-monitor.service' called || fail "removal does not stop the service: $(cat called)"
greps -x "deb-systemd-invoke stop neuron-rtd-soft.service neuron-rtd-soft@\*.service" called || fail "removal does not stop the daemons: $(cat called)"
[ ! -e root/usr/bin/neuron-monitor ] || fail "removing the package left neuron-monitor installed"
[ ! -L root/etc/systemd/system/multi-user.target.wants/neuron-monitor.service ] || fail "a removed service is still enabled"
[ -e root/var/lib/neuron-monitor/monitor.db ] && [ -e root/etc/default/neuron-monitor ] || fail "removal deletes data"
in_root -P "${names[@]#*=}"
has_user # its number must not be reused for another user
rm -f root/etc/{passwd,group,shadow,gshadow}{,-} root/etc/.pwd.lock
left=$(find root/etc root/usr root/var/lib/neuron-monitor -not -type d -or -name '*.d' 2>/dev/null || true)
[ "$left" = "" ] && [ ! -e root/var/lib/neuron-monitor ] || fail "purged packages leave $left"
