"""The sandbox: commands that run, and attacks by programs that no list of commands stands before: shells that read,
write, start others, call out, or do not end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sira.errors import EnvironmentFault
from sira.systems.agents import jail, sandbox
from sira.systems.agents.commands import read_command
from sira.systems.agents.programs import Refused
from sira.systems.agents.sandbox import Limits, Output, Toolbox, run_pipeline, toolbox, toolbox_of
from tests.systems.agents.test_commands import HOSTILE

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls are those of Linux")
needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="wants ripgrep (apt-get install ripgrep)")

SHORT = Limits(wall_s=1.0, cpu_s=1)


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("top")
    (top / "files/000").mkdir(parents=True)
    (top / "files/000/000.txt").write_text("@d1\tRaku kiln\n@d2\tÄpfel und Birnen\n@d1\tglow\n" * 20)
    (top / "secret").write_text("the secret\n")
    (top / "files/link").symlink_to(top / "secret")
    return top


@pytest.fixture(scope="module")
def walls(top: Path) -> tuple[str, ...]:
    return run_pipeline([["cat", "--", "000/000.txt"]], top / "files", toolbox(), Limits()).walls


def run(line: str, folder: Path, limits: Limits | None = None) -> Output:
    return run_pipeline(read_command(line, folder, toolbox().programs), folder, toolbox(), limits or Limits())


def attack(script: str, folder: Path, *names: str, without: tuple[str, ...] = (), limits: Limits = SHORT) -> Output:
    """A shell with these programs beside it, as if one had got past the list of commands."""
    tools = toolbox_of({name: os.path.realpath(path) for name in ("bash", *names) if (path := shutil.which(name))})
    return run_pipeline([["bash", "-c", script]], folder, tools, limits, without=without)


def snapshot(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def processes_of(group: str) -> list[str]:
    """The command lines of this machine that hold a text."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if group in words:
            found.append(words)
    return found


# Commands that run


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("grep -rc kiln .", "000/000.txt:20\n"),
        ("grep -i äpfel 000/000.txt | sort | uniq -c", "     20 @d2\tÄpfel und Birnen\n"),
        ("sed -n '2,3p' 000/000.txt", "@d2\tÄpfel und Birnen\n@d1\tglow\n"),
        ("cut -f1 000/000.txt | sort | uniq -c | sort -rn | head -1", "     40 @d1\n"),
        ("tail -n 1 000/000.txt | wc -l", "1\n"),
        ("ls", "000\nlink\n"),
        ("cat 000/*.txt | head -c 4", "@d1\t"),
        ("grep -m1 -A1 kiln 000/000.txt | cut -d '\t' -f 2", "Raku kiln\nÄpfel und Birnen\n"),
    ],
)
def test_allowed_commands_do_what_they_do_elsewhere(line: str, text: str, top: Path) -> None:
    output = run(line, top / "files")
    assert (output.text.decode(), output.errors, output.stopped) == (text, "", None)
    assert set(output.codes) == {0}


@needs_rg
def test_ripgrep_goes_through_the_folder_and_not_through_links(top: Path) -> None:
    output = run("rg -n -i 'äpfel|secret' | head -2", top / "files")
    assert output.text.decode() == "./000/000.txt:2:@d2\tÄpfel und Birnen\n./000/000.txt:5:@d2\tÄpfel und Birnen\n"
    assert run("rg secret", top / "files").codes == (1,)


def test_a_program_whose_reader_has_gone_ends_by_the_signal(top: Path, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("".join(f"{n}\n" for n in range(100_000)))
    output = run("sort many.txt | head -n 1", tmp_path)
    assert (output.text, output.errors, output.codes) == (b"0\n", "", (-signal.SIGPIPE, 0))


def test_errors_and_codes_are_told(top: Path) -> None:
    output = run("cat absent.txt", top / "files")
    assert output.codes == (1,)
    assert output.errors == "cat: absent.txt: No such file or directory\n"


def test_the_walls_are_named(walls: tuple[str, ...]) -> None:
    """On the kernels that CI knows all of them are there; where one is not, its attacks below skip."""
    assert walls[0] == "no new privileges"
    assert "seccomp" in walls or "network namespace" in walls or len(walls) == 1


# Hostile lines, end to end


def test_no_hostile_line_reads_outside_writes_or_lasts(top: Path, tmp_path: Path) -> None:
    """Whatever of them is run: the outside is not in its output, and nothing has changed."""
    before = snapshot(top)
    for line in HOSTILE:
        try:
            output = run(line, top / "files", SHORT)
        except Refused:
            continue
        assert b"root:" not in output.text
        assert b"the secret" not in output.text
    assert snapshot(top) == before


# Attacks behind the list of commands


def test_landlock_hides_every_file_outside(top: Path, walls: tuple[str, ...]) -> None:
    if not any(wall.startswith("landlock") for wall in walls):
        pytest.skip("this kernel has no Landlock")
    for path in (
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/1/status",
        str(top / "secret"),
        "link",
        "../secret",
        "/dev/zero",
    ):
        for output in (
            attack(f"exec cat {path}", top / "files", "cat"),
            attack(f"echo $(<{path})", top / "files"),
            run_pipeline([["grep", "-h", "-e", "", path]], top / "files", toolbox(), SHORT),
        ):
            assert output.text.strip() == b""
            assert output.codes != (0,) or output.errors
    for folder in ("/", "..", "/etc", "/proc", "/tmp", "/usr/lib"):
        assert run_pipeline([["ls", folder]], top / "files", toolbox(), SHORT).text == b""
    assert b"kiln" in attack("exec cat 000/000.txt", top / "files", "cat").text


def test_landlock_runs_no_other_program(top: Path, walls: tuple[str, ...]) -> None:
    if not any(wall.startswith("landlock") for wall in walls):
        pytest.skip("this kernel has no Landlock")
    for program in ("/usr/bin/id", "/bin/ls", sys.executable):
        output = attack(f"exec {program}", top / "files", "cat")
        assert output.codes == (126,)
        assert output.text == b""


@pytest.mark.parametrize("without", [(), ("landlock",)])
@pytest.mark.parametrize(
    "script",
    [
        "echo x > new", "echo x >> 000/000.txt", ": > 000/000.txt", "echo x > {top}/secret", "exec rm 000/000.txt",
        "exec mkdir new", "exec ln -s / new", "exec mv 000 001", "exec chmod 777 000", "exec touch 000/000.txt",
        "exec cp 000/000.txt new", "exec truncate -s 0 000/000.txt", "exec mknod new p", "exec rmdir 000",
        "exec dd if=000/000.txt of=new", "exec sort -o new 000/000.txt", "exec sed -i 1d 000/000.txt",
        "exec sort -S 1K -T . 000/000.txt", "exec tee new", "exec ln 000/000.txt new", "echo x > /tmp/sira-attack",
    ],
)  # fmt: skip
def test_nothing_is_written_with_or_without_landlock(
    script: str, without: tuple[str, ...], top: Path, walls: tuple[str, ...]
) -> None:
    if without and "seccomp" not in walls:
        pytest.skip("this kernel has no seccomp")
    before = snapshot(top)
    names = (
        "rm",
        "mkdir",
        "ln",
        "mv",
        "chmod",
        "touch",
        "cp",
        "truncate",
        "mknod",
        "rmdir",
        "dd",
        "sort",
        "sed",
        "tee",
    )
    output = attack(script.format(top=top), top / "files", *names, without=without)
    assert output.codes != (0,) or "-T" in script, output  # what little sort has, fits its memory
    assert snapshot(top) == before
    assert not Path("/tmp/sira-attack").exists()


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bool]]]:
    """A port of this machine, and whether anybody came."""
    came: list[bool] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def accept() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                came.append(True)
                connection.close()

        waiting = threading.Thread(target=accept)
        waiting.start()
        yield server.getsockname()[1], came
        stop.set()
        waiting.join()


@pytest.mark.parametrize("without", [(), ("landlock",), ("seccomp",), ("landlock", "seccomp")])
def test_nobody_calls_out(
    listener: tuple[int, list[bool]], without: tuple[str, ...], top: Path, walls: tuple[str, ...]
) -> None:
    port, came = listener
    if "seccomp" not in walls and "network namespace" not in walls:
        pytest.skip("this kernel lets no wall before the network be built")
    for kind in ("tcp", "udp"):
        output = attack(f"echo x > /dev/{kind}/127.0.0.1/{port}", top / "files", without=without)
        assert output.codes == (1,) or kind == "udp", output  # what is sent in an empty network, nobody hears
        if "seccomp" in without and "network namespace" not in output.walls:
            pytest.skip("this kernel lets no network namespace be made")
    time.sleep(0.3)
    assert came == []
    subprocess.run(["bash", "-c", f"echo x > /dev/tcp/127.0.0.1/{port}"], check=True)  # it would work outside
    time.sleep(0.3)
    assert came == [True]


@pytest.mark.parametrize(
    "script", ["cat 000/000.txt | cat", ":(){ :|:& };:", "sleep 60 & disown", "(cat 000/000.txt)", "echo $(cat link)"]
)
def test_no_process_starts_another(script: str, top: Path, walls: tuple[str, ...]) -> None:
    if "seccomp" not in walls:
        pytest.skip("this kernel has no seccomp")
    output = attack(script, top / "files", "cat", "sleep")
    assert "fork: " in output.errors
    assert attack(f"kill -0 {os.getpid()}", top / "files").codes == (1,)  # nor does it end one
    assert output.text.strip() == b""


def test_landlock_alone_holds_reading_and_writing(top: Path, walls: tuple[str, ...]) -> None:
    if not any(wall.startswith("landlock") for wall in walls):
        pytest.skip("this kernel has no Landlock")
    before = snapshot(top)
    for script in (
        "exec cat /etc/passwd",
        "echo x > new",
        "exec rm 000/000.txt",
        "exec mkdir new",
        "exec sort -o x 000/000.txt",
    ):
        output = attack(script, top / "files", "cat", "rm", "mkdir", "sort", without=("seccomp",))
        assert output.codes != (0,)
        assert output.text == b""
        assert "seccomp" not in output.walls
    assert b"kiln" in attack("exec cat 000/000.txt", top / "files", "cat", without=("seccomp",)).text
    assert snapshot(top) == before


def filtered(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """What a filter says of a system call: the four instructions that it is made of, carried out."""
    code = [struct.unpack("=HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    call = struct.pack("=iIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    held, at = 0, 0
    while True:
        what, then, otherwise, value = code[at]
        at += 1
        match what:
            case 0x20:
                (held,) = struct.unpack_from("=I", call, value)
            case 0x06:
                return value
            case _:
                holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[what]
                at += then if holds else otherwise


@pytest.mark.parametrize(
    ("machine", "audit", "numbers"),
    [("x86_64", 0xC000003E, (56, 234, 257, 41)), ("aarch64", 0xC00000B7, (220, 131, 56, 198))],
)
def test_the_filter_says_the_same_on_every_processor(
    machine: str, audit: int, numbers: tuple[int, int, int, int]
) -> None:
    clone, tgkill, openat, socket_ = numbers
    program = jail.filter_program(machine, 1234)
    assert program is not None
    allowed, refused, unknown = 0x7FFF0000, 0x50001, 0x50026
    assert filtered(program, audit, socket_) == refused
    assert filtered(program, audit, clone, 0x11) == refused  # a process
    assert filtered(program, audit, clone, 0x3D0F00) == allowed  # a thread
    assert filtered(program, audit, tgkill, 1234) == allowed
    assert filtered(program, audit, tgkill, 1) == refused
    assert filtered(program, audit, openat, 0, 0, os.O_RDONLY | os.O_CLOEXEC) == allowed
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC):
        assert filtered(program, audit, openat, 0, 0, flags) == refused
    assert [filtered(program, audit, number) for number in (435, 437)] == [unknown, unknown]  # clone3, openat2
    assert filtered(program, 0x40000003, 1) == 0x80000000  # another processor's calls
    assert jail.filter_program("odd", 1) is None


# Limits


def test_a_program_that_does_not_end_is_stopped(top: Path) -> None:
    start = time.monotonic()
    output = attack("while :; do :; done", top / "files", limits=Limits(wall_s=0.7, cpu_s=30))
    assert output.stopped == "seconds"
    assert output.codes == ()
    assert output.walls  # told before the programs start
    assert time.monotonic() - start < 3
    by_cpu = attack("while :; do :; done", top / "files", limits=Limits(wall_s=20, cpu_s=1))
    assert (by_cpu.stopped, by_cpu.codes) == (None, (-signal.SIGKILL,))


def test_output_without_end_is_cut_and_its_program_killed(top: Path) -> None:
    output = attack("while :; do echo 0123456789; done", top / "files", limits=Limits(wall_s=20, output_bytes=50_000))
    assert (output.stopped, len(output.text)) == ("bytes", 50_000)
    errors = attack("while :; do echo 0123456789 >&2; done", top / "files", limits=Limits(wall_s=1))
    assert (errors.stopped, len(errors.errors)) == ("seconds", 4_000)


def test_memory_is_bounded(top: Path) -> None:
    hog = "x=0123456789; while :; do x=$x$x; done"
    output = attack(hog, top / "files", limits=Limits(wall_s=20, cpu_s=15, memory_bytes=200_000_000))
    assert output.stopped is None
    assert output.codes != (0,)


def test_open_files_are_bounded(top: Path) -> None:
    script = 'for i in {10..200}; do eval "exec $i<000/000.txt" || exit 3; done'
    output = attack(script, top / "files", limits=Limits(wall_s=5, open_files=32))
    assert output.codes in ((1,), (3,))
    assert "Too many open files" in output.errors or "Bad file descriptor" in output.errors


EXPLODING = [
    r"grep -E '^(.?){25}(.?){25}(.?){25}$' 000/000.txt",
    r"grep -E '(((((a{1,100}){1,100}){1,100}){1,100}){1,100})' 000/000.txt",
    r"grep '\(.*\)*\1\(.*\)*\2\(.*\)*\3x' 000/000.txt",
    r"grep -E '(a*)*(b*)*(c*)*\1\2\3' 000/000.txt",
]


@pytest.mark.parametrize(
    "line",
    [
        *EXPLODING,
        pytest.param(r"rg '(((((\w{1,100}){1,100}){1,100}){1,100}){1,100})'", marks=needs_rg),
        pytest.param(r"rg '(.*)*(.*)*(.*)*(.*)*x$'", marks=needs_rg),
        pytest.param(r"rg '(?:\pL{1000}){1000}'", marks=needs_rg),
    ],
)
def test_patterns_that_explode_end_in_time(line: str, top: Path) -> None:
    start = time.monotonic()
    run(line, top / "files", SHORT)
    assert time.monotonic() - start < 5


def test_nothing_is_left_when_a_call_ends(top: Path) -> None:
    mark = "sira-sandbox-left-over"
    for script in (f": {mark}; while :; do :; done", f": {mark}; trap '' TERM HUP INT; while :; do :; done"):
        attack(script, top / "files", limits=Limits(wall_s=0.5))
        assert processes_of(mark) == []


PARENT = """
import sys
from pathlib import Path
from sira.systems.agents.sandbox import Limits, run_pipeline, toolbox_of
print("begins", flush=True)
tools = toolbox_of({"bash": "/bin/bash"})
run_pipeline([["bash", "-c", sys.argv[2]]] * 2, Path(sys.argv[1]), tools, Limits(60, cpu_s=60))
"""


def test_all_ends_with_a_parent_that_is_killed(top: Path) -> None:
    mark = "sira-sandbox-orphan"
    script = f": {mark}; trap '' TERM HUP INT; while :; do :; done"
    command = [sys.executable, "-c", PARENT, str(top / "files"), script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "begins\n"
        end = time.monotonic() + 20
        while len(processes_of(mark)) < 3 and time.monotonic() < end:
            time.sleep(0.05)
        assert len(processes_of(mark)) >= 3  # the parent, and two shells
        parent.kill()
    end = time.monotonic() + 5
    while processes_of(mark) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_of(mark) == []


def test_programs_see_an_empty_environment(top: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("--pre=cat\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    monkeypatch.setenv("GREP_OPTIONS", "-v")
    monkeypatch.setenv("LD_PRELOAD", "/nonexistent.so")
    monkeypatch.setenv("SECRET_KEY", "abc")
    output = attack("export -p", top / "files")
    assert "SECRET_KEY" not in output.text.decode() + output.errors
    assert "LD_PRELOAD" not in output.text.decode() + output.errors
    assert "LC_ALL" in output.text.decode()


def test_many_threads_run_commands_at_once(top: Path) -> None:
    found: list[bytes] = []
    workers = [
        threading.Thread(target=lambda: found.append(run("grep -c kiln 000/000.txt", top / "files").text))
        for _ in range(12)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [b"20\n"] * 12


# The programs of the machine


def test_only_programs_of_known_options_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in {
        "rg": "ripgrep 99",
        "grep": "grep (BSD grep, GNU compatible)",
        "sed": "sed (GNU sed) 4.9",
        "wc": "uutils",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.toolbox.cache_clear()
    try:
        assert set(toolbox().programs) == {"rg", "sed"}
        (tmp_path / "rg").unlink()
        sandbox.toolbox.cache_clear()
        with pytest.raises(EnvironmentFault, match="neither ripgrep nor GNU grep is here"):
            toolbox()
    finally:
        sandbox.toolbox.cache_clear()


def test_a_program_that_cannot_be_run_is_told(top: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("no program")
    output = run_pipeline([["odd"]], top / "files", Toolbox({"odd": str(tmp_path / "odd")}), SHORT)
    assert output.codes == (127,)
    assert output.errors.startswith("odd: cannot be run: ")
