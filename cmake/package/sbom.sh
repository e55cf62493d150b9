#!/bin/bash
# sbom.sh ROOT NAME VERSION EPOCH [SONAME...] - prints the bill of materials of a package as SPDX 2.3 JSON: the files below
# ROOT, and the packages of the libraries that its files need or load at run time (SONAME). The
# output is reproducible. The file NTK_SBOM_LIBRARIES lists libraries that are part of the files: name, version, purl.
set -euo pipefail
export LC_ALL=C
root=$1 name=$2 version=$3 epoch=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/sbin:/sbin

cd "$root"
find . -not -type d -printf '%P\n' >"$work/names"
find . -type f -not -name '*.spdx.json' -printf '%P\n' | sort >"$work/files"
tr '\n' '\0' <"$work/files" | xargs -0 sha1sum | cut -d' ' -f1 >"$work/sha1"
tr '\n' '\0' <"$work/files" | xargs -0 sha256sum | cut -d' ' -f1 >"$work/sha256"

# file soname, once for each needed library that is not one of these files.
{ tr '\n' '\0' <"$work/files" | xargs -0 readelf -d /dev/null 2>/dev/null || true; } |
    awk -v OFS='\t' 'FNR == NR { n = split($0, part, "/"); own[part[n]] = 1; next }
        /^File: / { file = substr($0, 7) }
        /\(NEEDED\)/ { gsub(/.*\[|\]$/, ""); if (!($0 in own)) print file, $0 }' "$work/names" - | sort -u >"$work/needed"
for soname; do printf '\t%s\n' "$soname"; done >>"$work/needed"

# soname package version purl: the package of this system that contains it.
cut -f2 "$work/needed" | sort -u >"$work/sonames"
ldconfig -p | awk -v OFS='\t' 'NR == FNR { wanted[$1] = 1; next } $1 in wanted { print $1, $NF; delete wanted[$1] }' "$work/sonames" - |
    while IFS=$'\t' read -r soname path; do
        # dpkg knows a file by its packaged name, on either side of the link /lib.
        printf '%s\n' "$path" "/usr$path" "$(readlink -f "$path")" | sort -u | sed "s|^|$soname\t|"
    done >"$work/paths"
distribution=$(. /etc/os-release && echo "$ID")
if command -v dpkg-query >/dev/null; then
    { cut -f2 "$work/paths" | xargs dpkg-query -S 2>/dev/null || true; } | sed -n 's/^\([^:,]*\)[:,].* \(.*\)/\2\t\1/p' >"$work/owners"
    cut -f2 "$work/owners" | sort -u |
        xargs -r dpkg-query -W -f='${Package}\t${Version}\tpkg:deb/'"$distribution"'/${Package}@${Version}?arch=${Architecture}\n' >"$work/packages"
else
    while IFS=$'\t' read -r soname path; do
        ! owner=$(rpm -qf --qf '%{NAME}\n' "$path" 2>/dev/null) || printf '%s\t%s\n' "$path" "$owner"
    done <"$work/paths" >"$work/owners"
    cut -f2 "$work/owners" | sort -u | xargs -r rpm -q --qf \
        '%{NAME}\t%{VERSION}-%{RELEASE}\tpkg:rpm/'"$distribution"'/%{NAME}@%{VERSION}-%{RELEASE}?arch=%{ARCH}\n' >"$work/packages"
fi
awk -F'\t' -v OFS='\t' 'FILENAME ~ /packages$/ { version[$1] = $2; purl[$1] = $3; next }
    FILENAME ~ /owners$/ { owner[$1] = $2; next }
    FILENAME ~ /paths$/ { if ($2 in owner) package[$1] = owner[$2]; next }
    $1 in package { print $1, package[$1], version[package[$1]], purl[package[$1]]; next }
    { print $1, $1, "NOASSERTION" }' "$work/packages" "$work/owners" "$work/paths" "$work/sonames" >"$work/libraries"
if [ -n "${NTK_SBOM_LIBRARIES:-}" ]; then
    awk -F'\t' -v OFS='\t' '{ print "", $1 }' "$NTK_SBOM_LIBRARIES" >>"$work/needed"
    awk -F'\t' -v OFS='\t' '{ print $1, $0 }' "$NTK_SBOM_LIBRARIES" >>"$work/libraries"
fi

jq -nc --rawfile files "$work/files" --rawfile sha1 "$work/sha1" --rawfile sha256 "$work/sha256" --rawfile needed "$work/needed" \
    --rawfile libraries "$work/libraries" --arg name "$name" --arg version "$version" --arg created "$(date -u -d "@$epoch" +%FT%TZ)" \
    --arg code "$(sort "$work/sha1" | tr -d '\n' | sha1sum | cut -d' ' -f1)" '
def lines: split("\n") | map(select(. != ""));
def id: "SPDXRef-" + gsub("[^A-Za-z0-9.-]"; "-");
($libraries | lines | map(split("\t"))) as $rows
| ($rows | map({key: .[0], value: (.[1] | "Package-" + . | id)}) | from_entries) as $of
| ($files | lines) as $paths
| ($paths | to_entries | map({key: .value, value: ("SPDXRef-File-" + (.key | tostring))}) | from_entries) as $file_id
| ($name | "Package-" + . | id) as $self
| {
    spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: "\($name)-\($version)",
    documentNamespace: "https://spdx.org/spdxdocs/\($name)-\($version)-\($code)",
    creationInfo: { created: $created, creators: ["Tool: neuron-toolkit sbom.sh"] },
    packages: ([{
        SPDXID: $self, name: $name, versionInfo: $version, downloadLocation: "NOASSERTION", filesAnalyzed: true,
        packageVerificationCode: { packageVerificationCodeValue: $code },
        licenseConcluded: "MIT", licenseDeclared: "MIT", licenseInfoFromFiles: ["NOASSERTION"], copyrightText: "NOASSERTION"
    }] + ($rows | group_by(.[1]) | map(.[0] as [$soname, $package, $found, $purl] | {
        SPDXID: ($package | "Package-" + . | id), name: $package, versionInfo: $found, downloadLocation: "NOASSERTION",
        filesAnalyzed: false, licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION", copyrightText: "NOASSERTION",
        comment: "Libraries: \(map(.[0]) | join(", "))"
    } + if $purl then { externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: $purl }] }
        else {} end))),
    files: [$paths, ($sha1 | lines), ($sha256 | lines)] | transpose | map({
        SPDXID: $file_id[.[0]], fileName: "./\(.[0])", licenseConcluded: "NOASSERTION", licenseInfoInFiles: ["NOASSERTION"],
        copyrightText: "NOASSERTION",
        checksums: [{ algorithm: "SHA1", checksumValue: .[1] }, { algorithm: "SHA256", checksumValue: .[2] }]
    }),
    relationships: ([{ spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: $self }]
        + ($paths | map({ spdxElementId: $self, relationshipType: "CONTAINS", relatedSpdxElement: $file_id[.] }))
        + ($needed | lines | map(split("\t") as [$file, $soname] | if $file == "" then
            { spdxElementId: $of[$soname], relationshipType: "RUNTIME_DEPENDENCY_OF", relatedSpdxElement: $self }
          else { spdxElementId: $file_id[$file], relationshipType: "DYNAMIC_LINK", relatedSpdxElement: $of[$soname] } end)
          | unique))
}'
