#!/bin/sh
# Says in one line each which tools the build lacks and how to get them on Debian; exits 2 if any is missing.
# Reads $PYTHON, the interpreter to build for, and $PROFILES: if it is set, a build is to be optimised by profiles.
set -u
python=${PYTHON:-python3}
rust_minor_needed=88
missing=0

lack() {
    echo "make: $1; $2" >&2
    missing=2
}

rust_version() {
    rustc --version 2>/dev/null | cut -d ' ' -f 2
}

if ! command -v "$python" >/dev/null; then
    lack "$python is missing" "apt install python3 python3-venv"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    lack "$python is $("$python" -V 2>&1 | cut -d ' ' -f 2), 3.10 or newer is needed" \
        "give a newer one: make PYTHON=/path/to/python3.12 …"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    lack "$python has no venv" "apt install python3-venv"
fi

if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    lack "Rust (rustc and cargo) is missing" "apt install rustup && rustup default stable, or see rustup.rs"
elif [ -z "$(rust_version)" ]; then
    lack "rustc does not run" "rustup default stable"
elif ! rust_version | awk -F . '{ exit !($1 > 1 || $2 >= '$rust_minor_needed') }'; then
    lack "rustc is $(rust_version), 1.$rust_minor_needed or newer is needed" \
        "rustup update stable (apt install rustup, or see rustup.rs)"
fi

if [ -n "${PROFILES:-}" ] && ! ls "$(rustc --print sysroot 2>/dev/null)"/lib/rustlib/*/bin/llvm-profdata >/dev/null 2>&1; then
    lack "llvm-profdata of this Rust is missing" "rustup component add llvm-tools"
fi

command -v cc >/dev/null || lack "a C linker (cc) is missing" "apt install gcc libc6-dev"

exit $missing
