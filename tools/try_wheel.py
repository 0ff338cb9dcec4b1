"""Try a wheel as a user would: in new environments of other Pythons, from another folder, without Rust.

    python tools/try_wheel.py dist [PYTHON...]

Without names of interpreters it takes CPython 3.10 and the newest of those that are here, on the path or where pyenv
and uv keep theirs. It looks at the wheel itself first: what auditwheel says of the systems it runs on, and its size.
The sdist next to it is built by pip in an empty folder, which needs Rust, and what comes out is tried in the same way.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
OLDEST, MOST_MB, MOST_IMPORT_S = (3, 10), 8.0, 0.3
OLDEST_GLIBC = (2, 17)
NEEDED = ("py.typed", "__init__.pyi", "_core.pyi", "_core.abi3.so", "data/slurm-testbed.conf")
PLACES = ("~/.pyenv/versions/*/bin", "~/.local/share/uv/python/*/bin", "/opt/python/*/bin")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

EXAMPLES = """
import hetsched as hs
from hetsched.testing import check_schedule

{readme}
check_schedule(result, hs.Workload.from_polars(jobs), platform)
print("checked", hs.__file__)
"""
IMPORT = "import time; t = time.perf_counter(); import hetsched; print(time.perf_counter() - t)"


def interpreters() -> dict[tuple[int, int], Path]:
    """CPython by version, from the oldest that the wheel is for: one of each."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    for place in PLACES:
        anchor = Path(place).expanduser()
        folders += sorted(Path(anchor.anchor).glob(str(anchor.relative_to(anchor.anchor))))
    found: dict[tuple[int, int], Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("python3.*"))):
        version = re.fullmatch(r"python3\.(\d+)", path.name)
        if version and (3, int(version[1])) >= OLDEST and _runs(path, f"3.{version[1]}"):
            found.setdefault((3, int(version[1])), path)
    return found


def _runs(path: Path, version: str) -> bool:
    """True if it is that version, and no shim for one that is not chosen here."""
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
    done = subprocess.run([path, "-c", code], capture_output=True, encoding="utf-8", check=False)
    return done.returncode == 0 and done.stdout.split() == [version, "cpython"]


def faults_of(wheel: Path) -> Iterator[str]:
    """Faults of the file: its tags, its size, what it lacks."""
    tags = wheel.stem.split("-")[-3:]
    if tags[:2] != ["cp310", "abi3"]:
        yield f"for {tags[0]}-{tags[1]}, not for every CPython from 3.10 on"
    audited = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, encoding="utf-8", check=False
    )
    for source, said in (("its name", tags[2]), ("auditwheel", _consistent_with(audited.stdout))):
        glibc = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)", said)]
        if not glibc or min(glibc) > OLDEST_GLIBC:
            oldest = ".".join(map(str, OLDEST_GLIBC))
            yield f"not for systems as old as glibc {oldest}, by {source}: {said}{audited.stderr}"
    if (size_mb := wheel.stat().st_size / 1e6) > MOST_MB:
        yield f"{size_mb:.1f} MB, more than {MOST_MB:g}"
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    yield from (f"no hetsched/{name} in it" for name in NEEDED if f"hetsched/{name}" not in names)


def _consistent_with(said: str) -> str:
    """The platform of which auditwheel says that a wheel runs on it."""
    found = re.search(r"consistent with\s+the following platform tag:\s+\"([^\"]+)\"", said)
    return found[1] if found else said


def built_from(sdist: Path, folder: Path) -> Path:
    """The wheel that pip makes of an sdist where there is none for a system, with nothing else at hand."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-cache-dir", "--wheel-dir", "built"]
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HETSCHED_COMMIT")}
    subprocess.run([*command, sdist], cwd=folder, env=outside, check=True)
    (wheel,) = (folder / "built").glob("*.whl")
    return wheel


def same_files(one: Path, other: Path) -> Iterator[str]:
    """Files of the package that only one of two wheels has; what is compiled into them differs by the compiler."""
    names = []
    for wheel in (one, other):
        with zipfile.ZipFile(wheel) as content:
            names.append({name for name in content.namelist() if name.startswith("hetsched/")})
    yield from (f"{name} is not in both wheels" for name in sorted(names[0] ^ names[1]))


def try_it(wheel: Path, python: Path, folder: Path) -> None:
    """Install the wheel for that Python, and use it in `folder`."""
    subprocess.run([python, "-m", "venv", "env"], cwd=folder, check=True)
    # No Rust, no compiler, nothing of this project's.
    outside = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "CARGO_HOME")
    }
    outside |= {"PATH": str(folder / "env" / "bin"), "MPLBACKEND": "agg"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [folder / "env" / "bin" / command[0], *command[1:]],
            cwd=folder, env=outside, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{python}: {' '.join(command)[:100]}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"{wheel}[plots,report]")
    print(*run("hetsched", "--version").splitlines(), sep="; ")
    print(run("hetsched", "demo").splitlines()[-1])
    assert (folder / "hetsched-demo" / "report.html").stat().st_size > 100_000
    readme = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    (folder / "example.py").write_text(EXAMPLES.format(readme=readme), encoding="utf-8")
    said = run("python", "example.py")
    assert "1368 kJ" in said, said
    assert str(folder) in said, f"not the installed package: {said}"
    import_s = min(float(run("python", "-c", IMPORT)) for _ in range(3))
    assert import_s <= MOST_IMPORT_S, f"import hetsched takes {import_s:.2f} s"
    print(f"import hetsched: {import_s:.3f} s")
    shutil.copy(ROOT / "tests" / "typing" / "user.py", folder / "user.py")
    checked = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", folder / "env" / "bin" / "python", "user.py"],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    print(f"pyright on a user's script: {checked.stdout.splitlines()[-1] if checked.stdout else checked.stderr}")
    if "0 errors" not in checked.stdout:
        sys.exit(checked.stdout)


def main(arguments: Sequence[str]) -> int:
    """Look at the wheel in a folder, and try it."""
    (wheel,) = sorted(Path(arguments[0]).resolve().glob("*.whl"))
    wrong = list(faults_of(wheel))
    if wrong:
        sys.exit("\n".join(f"{wheel.name}: {fault}" for fault in wrong))
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    known = interpreters()
    chosen = [Path(given) for given in arguments[1:]] or [
        known[version] for version in sorted({OLDEST, max(known)} & {*known})
    ]
    if not arguments[1:] and OLDEST not in known:
        print(f"not tried: no CPython {OLDEST[0]}.{OLDEST[1]} is here")
    for python in chosen:
        with TemporaryDirectory() as folder:
            print(f"\n{python}")
            try_it(wheel, python, Path(folder))
    try_sdist(Path(arguments[0]).resolve(), wheel, chosen[0])
    return 0


def try_sdist(dist: Path, wheel: Path, python: Path) -> None:
    """Build the sdist in a folder, and try what comes out."""
    (sdist,) = sorted(dist.glob("*.tar.gz"))
    if shutil.which("cargo") is None:
        print(f"\n{sdist.name}: not tried: no cargo is here")
        return
    with TemporaryDirectory() as folder:
        print(f"\n{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, with {python}")
        built = built_from(sdist, Path(folder))
        if wrong := list(same_files(wheel, built)):
            sys.exit("\n".join(f"{sdist.name}: {fault}" for fault in wrong))
        place = Path(folder) / "elsewhere"
        place.mkdir()
        try_it(built, python, place)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
