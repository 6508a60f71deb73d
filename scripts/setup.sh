#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sets kernsmith up in this clone, on Debian 12 or newer; needs root or sudo for packages only.
# `scripts/setup.sh test` also installs what only tests need: a browser, a database server.
# Says what it does, is silent when there is nothing to do, and may be run again at any time.
# The system's apt sources are read and never changed: what the system's suites do not offer comes
# from the backports of its own mirror, through lists of our own.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS

readonly STATE=build/setup
PACKAGES=(
    bc bison build-essential busybox-static ca-certificates ccache cpio flex git kmod libelf-dev
    libssl-dev rsync xz-utils zstd
    debhelper libdw-dev # what kbuild's bindeb-pkg needs
)
readonly TEST_PACKAGES=(
    chromium chromium-driver e2fsprogs gpg gpg-agent libarchive-tools linux-perf lz4 makepkg mmdebstrap openssh-server ovmf
    pacman-package-manager pahole postgresql qemu-utils rpm squashfs-tools tcc
)
readonly CLANG_WANTED=22 CLANG_OLDEST=19 QEMU_OLDEST=10 RUST_OLDEST=1.85 PYTHON_OLDEST=3.11

readonly kind=${1:+-$1}
if [ "$kind" = -test ]; then PACKAGES+=("${TEST_PACKAGES[@]}"); fi
if [ "$kind" = -test ] && [ -n "${KERNSMITH_TEST_ALL:-}" ]; then
    PACKAGES+=(guestfish libguestfs-xfs)
    # It starts a kernel of the host's; containers have none.
    compgen -G '/boot/vmlinuz-*' >/dev/null || PACKAGES+=(linux-image-cloud-amd64)
fi

say() { printf 'setup: %s\n' "$*"; }
die() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

# logged NAME COMMAND…: run it with its output in a log; show the end of that if it fails.
logged() {
    local log=$STATE/$1.log
    shift
    if ! "$@" >"$log" 2>&1 9>&-; then
        tail -n 30 "$log" >&2
        die "failed: $* (full log: $log)"
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        die "not root, and there is no sudo; run this as root: $*"
    fi
}

# digest PATH…: of the names and contents of all files there.
digest() {
    { find "$@" -type f -print0 2>/dev/null || true; } | sort -z | xargs -0r sha256sum |
        sha256sum | cut -c1-64
}

# is_done NAME KEY PRODUCT…: whether the step was done with this key and its products are there.
is_done() {
    local stamp=$STATE/$1 key=$2 product
    shift 2
    [ -f "$stamp" ] && [ "$(<"$stamp")" = "$key" ] || return 1
    for product; do [ -e "$product" ] || return 1; done
}

mark_done() { printf '%s\n' "$2" >"$STATE/$1"; }

at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

# ---- Debian packages ---------------------------------------------------------------------------

has_package() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# The upstream part of the version that apt would install; empty if there is none.
candidate() {
    LC_ALL=C apt-cache policy "$1" | sed -n 's/^  Candidate: //p' |
        sed 's/^(none)$//; s/^[0-9]*://; s/[-+~].*//'
}

good_rust() {
    local version
    version=$(rustc --version 2>/dev/null | cut -d' ' -f2) || return 1
    at_least "${version:-0}" $RUST_OLDEST && cargo --version >/dev/null 2>&1 &&
        cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1
}

# The first Python that is new enough and able to make virtual environments.
find_python() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$python" -c "import sys, venv, ensurepip
sys.exit(sys.version_info < tuple(map(int, '$PYTHON_OLDEST'.split('.'))))" 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
    return 1
}

# The version of the best clang that is installed with its linker and tools.
installed_clang() {
    local version
    for version in $CLANG_WANTED $(seq 40 -1 $CLANG_OLDEST); do
        if has_package "clang-$version" && has_package "lld-$version" &&
            has_package "llvm-$version"; then
            echo "$version"
            return
        fi
    done
    return 1
}

# The best offered LLVM: the wanted one, else the newest that is new enough.
offered_clang() {
    local version
    for version in $CLANG_WANTED $(apt-cache pkgnames clang- | sed -n 's/^clang-\([0-9]*\)$/\1/p' |
        sort -rn); do
        if [ "$version" -ge $CLANG_OLDEST ] && [ -n "$(candidate "clang-$version")" ]; then
            echo "$version"
            return
        fi
    done
    return 1
}

qemu_version() {
    qemu-system-x86_64 --version 2>/dev/null | sed -n 's/.*version \([0-9.]*\).*/\1/p' || true
}

missing_packages() {
    local package clang
    for package in "${PACKAGES[@]}"; do
        has_package "$package" || echo "$package"
    done
    find_python >/dev/null || echo python3 python3-venv
    good_rust || echo rust
    if ! clang=$(installed_clang); then
        echo clang
    elif ! has_package "libclang-rt-$clang-dev"; then
        echo "libclang-rt-$clang-dev"
    fi
    at_least "$(qemu_version)" $QEMU_OLDEST || echo qemu-system-x86
}

rust_packages() {
    if at_least "$(candidate rustc)" $RUST_OLDEST; then
        echo rustc cargo rustfmt rust-clippy
    elif at_least "$(candidate rustc-web)" $RUST_OLDEST; then
        echo rustc-web cargo-web rustfmt-web rust-web-clippy
    else
        die "apt offers no Rust $RUST_OLDEST or newer; install one with rustup (https://rustup.rs)"
    fi
}

# Install QEMU from the backports of the system's own suite and mirror, through a private apt state.
install_backport() {
    local codename mirror keyring signed='' apt
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt expands these
    mirror=$(apt-get indextargets --no-release-info --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' | awk -v suite="$codename" '
            $1 == "main" && ($2 == suite || $2 ~ /^(old)*stable$/) { print $3 }' | sort -u |
        awk '/\/debian\/?$/ { print; exit } { other = $0 } END { if (other) print other }' |
        head -n1)
    [ -n "$mirror" ] || die "apt offers no QEMU $QEMU_OLDEST or newer, and its sources name no" \
        "Debian mirror for '$codename' whose backports could have it: install QEMU yourself"
    for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
        [ -e "$keyring" ] && signed="[signed-by=$keyring] " && break
    done
    PRIVATE_APT=$(mktemp -d)
    trap 'as_root rm -rf "$PRIVATE_APT"' EXIT
    chmod 755 "$PRIVATE_APT"
    mkdir -p "$PRIVATE_APT"/{lists,cache/archives}/partial
    printf "deb $signed$mirror %s main\n" "$codename" "$codename-updates" "$codename-backports" \
        >"$PRIVATE_APT/sources.list"
    apt=(apt-get -y -o Dir::Etc::SourceList="$PRIVATE_APT/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PRIVATE_APT/lists"
        -o Dir::Cache="$PRIVATE_APT/cache" -o Acquire::Languages=none -o DPkg::Lock::Timeout=600)
    say "installing from $codename-backports (the system's apt sources stay as they are): $*"
    logged backports-update as_root "${apt[@]}" update
    logged backports as_root "${apt[@]}" install --no-install-recommends -t "$codename-backports" "$@"
}

install_packages() {
    local missing=() wanted=() rust=() backports=() package version
    mapfile -t missing < <(missing_packages | tr ' ' '\n')
    [ "${#missing[@]}" = 0 ] && return
    command -v apt-get >/dev/null || die "this system has no apt-get; install by hand:" \
        "${missing[*]} (clang, lld and llvm $CLANG_OLDEST or newer, QEMU $QEMU_OLDEST," \
        "Rust $RUST_OLDEST, Python $PYTHON_OLDEST)"
    say "fetching the lists of the system's apt sources"
    logged update as_root apt-get -o DPkg::Lock::Timeout=600 update
    for package in "${missing[@]}"; do
        case $package in
        rust)
            read -ra rust <<<"$(rust_packages)"
            [ "${#rust[@]}" != 0 ] || exit 2
            wanted+=("${rust[@]}")
            ;;
        clang)
            version=$(offered_clang) || die "apt offers no clang $CLANG_OLDEST or newer; on" \
                "Debian 12, its security suite has clang-$CLANG_WANTED: add that to apt's sources"
            wanted+=("clang-$version" "lld-$version" "llvm-$version" "libclang-rt-$version-dev")
            ;;
        qemu-system-x86)
            if at_least "$(candidate "$package")" $QEMU_OLDEST; then
                wanted+=("$package")
            else
                backports+=("$package")
            fi
            ;;
        *) wanted+=("$package") ;;
        esac
    done
    if [ "${#wanted[@]}" != 0 ]; then
        say "installing Debian packages: ${wanted[*]}"
        logged packages as_root apt-get -y -o DPkg::Lock::Timeout=600 install \
            --no-install-recommends "${wanted[@]}"
    fi
    [ "${#backports[@]}" = 0 ] || install_backport "${backports[@]}"
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" = 0 ] || die "still missing after installation: ${missing[*]}"
}

packages() {
    local key
    # Whatever is installed or removed changes dpkg's status, and so has this looked at again.
    package_key() {
        echo "$(sha256sum <scripts/setup.sh | cut -c1-64) $PATH $(stat -c %Y /var/lib/dpkg/status)"
    }
    key=$(package_key)
    is_done "packages$kind" "$key" && return
    install_packages
    mark_done "packages$kind" "$(package_key)"
}

# ---- the parts of this clone -------------------------------------------------------------------

python_parts() {
    local key python sources=(pyproject.toml Cargo.toml Cargo.lock
        native/arch native/exchange native/frontend native/trace native/layout native/profile
        native/python)
    key=$(digest "${sources[@]}")
    is_done python "$key" .venv/bin/kernsmith && .venv/bin/python -c '' 2>/dev/null && return
    if ! .venv/bin/python -c "import pip" 2>/dev/null; then
        python=$(find_python)
        say "making a virtual environment in .venv with $("$python" --version)"
        logged venv "$python" -m venv --clear .venv
    fi
    say "installing kernsmith and the Python packages it needs into .venv"
    logged python .venv/bin/python -m pip install --disable-pip-version-check -e '.[test]'
    # Building may have written Cargo.lock.
    mark_done python "$(digest "${sources[@]}")"
}

programs() {
    local key tracer=target/release/libkernsmith_tracer.so
    local sources=(Cargo.toml Cargo.lock
        native/arch native/compiler native/frontend native/trace native/tracer)
    key=$(digest "${sources[@]}")
    is_done programs "$key" "$tracer" target/release/kernsmith-compiler && return
    say "building the tracer and kbuild's compiler"
    logged programs cargo build --release --package kernsmith-tracer --package kernsmith-compiler
    mark_done programs "$(digest "${sources[@]}")"
}

guest() {
    local key product=build/guest/kernsmith-guest
    key=$(digest guest)
    is_done guest "$key" "$product" build/guest/{,timed/}kernsmith-own build/guest/held/kernsmith-guest build/guest/kernsmith-{root,runner,service,systemd} && return
    say "building the guest programs"
    logged guest make -C guest
    mark_done guest "$key"
}

mkdir -p $STATE
exec 9>$STATE/lock
flock -n 9 || {
    say "waiting for another set-up of this clone"
    flock 9
}
packages
# What pip fetches comes while the compilers work.
(
    programs
    guest
) &
python_parts
wait $!
