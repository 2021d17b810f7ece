"""Command lines of a model: what is run, as the programs get it, and hostile ones that are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sira.systems.agents.commands import read_command
from sira.systems.agents.programs import ALLOWED, Refused

RG = ["--no-config", "--no-ignore", "--no-heading", "--color=never", "--text", "--no-mmap", "--sort=path"]
GREP = ["--color=never", "--text"]
SORT = ["--buffer-size=64M", "--parallel=1", "--temporary-directory=/dev/null"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("files")
    folder = top / "files"
    for name in ("000/000.txt", "000/001.txt", "001/000.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"@{name[:3]}\ttext\n")
    (top / "secret").write_text("secret")
    (folder / "link").symlink_to(top / "secret")
    (folder / "up").symlink_to(top)
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.mark.parametrize(
    ("line", "pipeline"),
    [
        ("rg kiln", [["rg", *RG, "-e", "kiln", "--", "."]]),
        ("rg -ni 'a|b' 000/000.txt", [["rg", *RG, "-n", "-i", "-e", "a|b", "--", "000/000.txt"]]),
        ('rg "it\'s  $5$" -A2 --max-count=3', None),
        ("rg -A5 -e -x -- 000", [["rg", *RG, "-A", "5", "-e", "-x", "--", "000"]]),
        ("rg -i -- --pre", [["rg", *RG, "-i", "-e", "--pre", "--", "."]]),
        ("rg --color=never -a --no-heading x", [["rg", *RG, "-e", "x", "--", "."]]),
        ("rg a | rg -v b | head -20", [["rg", *RG, "-e", "a", "--", "."], ["rg", *RG, "-v", "-e", "b", "--"],
                                      ["head", "-n", "20", "--"]]),
        ("rg a 2>/dev/null | head", [["rg", *RG, "-e", "a", "--", "."], ["head", "--"]]),
        ("grep -rn a .", [["grep", *GREP, "-n", "-H", "-e", "a", "--", "000/000.txt", "000/001.txt", "001/000.txt"]]),
        ("grep -R -h -e a -e b 000 -3",
         [["grep", *GREP, "-h", "-C", "3", "-e", "a", "-e", "b", "--", "000/000.txt", "000/001.txt"]]),
        ("sed -n '10,20p;$p' 000/000.txt", [["sed", "--sandbox", "-n", "-e", "10,20p;$p", "--", "000/000.txt"]]),
        ("sed 5q 000/000.txt", [["sed", "--sandbox", "-e", "5q", "--", "000/000.txt"]]),
        ("head -c100 000/*.txt", [["head", "-c", "100", "--", "000/000.txt", "000/001.txt"]]),
        ("tail -n +3 00?/000.txt", [["tail", "-n", "+3", "--", "000/000.txt", "001/000.txt"]]),
        ("cat 000/000.txt | cut -f1 | sort | uniq -c | sort -rn -k1,1",
         [["cat", "--", "000/000.txt"], ["cut", "-f", "1", "--"], ["sort", *SORT, "--"], ["uniq", "-c", "--"],
          ["sort", *SORT, "-r", "-n", "-k", "1,1", "--"]]),
        ("cut -d '\\t' -f 2 000/000.txt", [["cut", "-d", "\t", "-f", "2", "--", "000/000.txt"]]),
        ("ls -la", [["ls", "-1", "--"]]),
        ("wc -l - 000/000.txt", [["wc", "-l", "--", "-", "000/000.txt"]]),
        ("rg 'a;b&c>d<e(f)`g$(h)'", [["rg", *RG, "-e", "a;b&c>d<e(f)`g$(h)", "--", "."]]),
        ('rg "a\\|b" ', [["rg", *RG, "-e", "a\\|b", "--", "."]]),
        ("rg a\\;b", [["rg", *RG, "-e", "a;b", "--", "."]]),
        ("rg '|'", [["rg", *RG, "-e", "|", "--", "."]]),
        ("rg \"2>/dev/null\"", [["rg", *RG, "-e", "2>/dev/null", "--", "."]]),
        ("rg ' 2>/dev/null '", [["rg", *RG, "-e", " 2>/dev/null ", "--", "."]]),
        ("rg Größe", [["rg", *RG, "-e", "Größe", "--", "."]]),
        ("rg -g '000/*' a", [["rg", *RG, "-g", "000/*", "-e", "a", "--", "."]]),
    ],
)  # fmt: skip
def test_a_command_reaches_its_programs_in_one_form(line: str, pipeline: list[list[str]] | None, folder: Path) -> None:
    if pipeline is None:
        with pytest.raises(Refused):
            read_command(line, folder, ALLOWED)
    else:
        assert read_command(line, folder, ALLOWED) == pipeline


HOSTILE = [
    # Files outside
    "cat /etc/passwd", "cat ../secret", "cat 000/../../secret", "cat ./../secret", "cat 000/000.txt /etc/passwd",
    "cat ~/.ssh/id_rsa", "cat link", "cat up/secret", "cat loop", "rg secret up", "rg secret ..", "rg x /", "ls /",
    "ls ..", "ls up", "head -n5 link", "tail /proc/self/environ", "wc -l /etc/shadow", "grep -r root /etc",
    "grep -r x up", "sed -n 1p /etc/passwd", "sort /etc/passwd", "uniq /etc/passwd", "cut -c1 /etc/passwd",
    "cat 'up'/secret", "cat \"..\"/secret", "cat .\\./secret", "cat up/*", "cat ../*", "cat */../../secret",
    "rg x -- ../secret", "cat -- /etc/passwd", "cat 000/000.txt -- /etc/passwd", "cat //etc/passwd",
    # Programs that run or read others
    "rg --pre /bin/sh x", "rg --pre=/bin/sh x", "rg --pre-glob '*' --pre sh x", "rg -z x", "rg --search-zip x",
    "rg -iz x", "rg --hostname-bin /bin/id x", "rg --hostname-bin=/bin/id x", "rg -f /etc/passwd x", "rg -f link",
    "rg --file=/etc/passwd", "rg --ignore-file /etc/passwd x", "rg -L x", "rg --follow x", "rg -iL x", "rg --debug x",
    "rg --trace x", "rg -P '(a+)+$'", "rg --pcre2 x", "rg --engine=auto x", "rg -j 1000 x", "rg --files /",
    "rg --type-add 'x:*' x", "rg --hyperlink-format x", "rg --dfa-size-limit 9G x", "rg --regex-size-limit=9G x",
    "rg -r '$0' x", "rg --replace x y", "rg --mmap x", "rg --no-sort x", "rg --config x", "rg --pr sh x",
    "RIPGREP_CONFIG_PATH=link rg x", "env rg x", "rg -e x -f-", "rg -ef x -f up", "rg -g '!../x' x", "rg -g '{a}' x",
    "grep -f /etc/passwd x", "grep -f link 000/000.txt", "grep --file=link x", "grep -if link x", "grep -P '(a+)+$' -r",
    "grep -z x", "grep --include=/etc/* -r x", "grep --exclude-from=link x", "grep -D read x", "grep --devices=read x",
    "grep --fil=link x 000/000.txt", "egrep x", "zgrep x",
    # sed that reads, writes or runs
    "sed 'r /etc/passwd' 000/000.txt", "sed '1r/etc/passwd' 000/000.txt", "sed '1e id' 000/000.txt",
    "sed -n '1w /tmp/x' 000/000.txt", "sed -i 1d 000/000.txt", "sed -ni 1p 000/000.txt", "sed -in 1p 000/000.txt",
    "sed -n 's/a/b/w /tmp/x' 000/000.txt", "sed 's/a/id/e' 000/000.txt", "sed --in-place 1d 000/000.txt",
    "sed --in-place=.bak 1d 000/000.txt", "sed -f link", "sed --file=link 000/000.txt",
    "sed -e 1p -e 'w x' 000/000.txt",
    "sed '1,2p;3e' 000/000.txt", "sed '/a/w x' 000/000.txt", "sed '$!N;P;D' 000/000.txt",
    "sed -n '1p\nw x' 000/000.txt",
    "sed ':a;ba' 000/000.txt", "sed -z 1p 000/000.txt", "sed --follow-symlinks 1p link",
    "sed -s --debug 1p 000/000.txt",
    "sed -n 'R link' 000/000.txt", "sed '1a x' 000/000.txt", "sed -e 1p -- -i", "sed -l 1e 1p 000/000.txt",
    # sort and its kin
    "sort -o x 000/000.txt", "sort -ox 000/000.txt", "sort --output=x 000/000.txt", "sort -no x 000/000.txt",
    "sort --compress-program=id 000/000.txt", "sort --compress-program id 000/000.txt", "sort --comp id 000/000.txt",
    "sort -T /tmp 000/000.txt", "sort --temporary-directory=/tmp 000/000.txt", "sort -S 9G 000/000.txt",
    "sort --files0-from=link", "sort -R --random-source=/dev/zero 000/000.txt", "sort --parallel=99 000/000.txt",
    "sort -k '1;id' 000/000.txt", "uniq 000/000.txt x", "uniq - x", "wc --files0-from=link", "wc --files0-from -",
    "tail -f 000/000.txt", "tail -F 000/000.txt", "tail --follow=name 000/000.txt", "tail -nf 000/000.txt",
    "tail --pid=1 000/000.txt", "head -n 99999999999 000/000.txt", "head -c 1T 000/000.txt", "head -c huge 000/000.txt",
    "cut -f 1-99999999999 --output-delimiter=x 000/000.txt", "cut --complement -f1 000/000.txt", "cat -A /dev/zero",
    "cat /dev/zero", "cat /dev/tcp/127.0.0.1/80", "ls --color=always", "ls -1 --hyperlink", "ls -L",
    # A shell
    "cat 000/000.txt; id", "cat 000/000.txt && id", "cat 000/000.txt || id", "cat 000/000.txt & id", "id", "sh -c id",
    "cat `id`", "cat $(id)", "cat \"$(id)\"", "cat \"`id`\"", "cat $HOME/x", "cat ${HOME}", "rg \"$HOME\"", "cat <(id)",
    "cat 000/000.txt > x", "cat 000/000.txt >> x", "cat 000/000.txt 2> x", "cat 000/000.txt 2>/dev/nullx",
    "cat < 000/000.txt", "cat 000/000.txt >& x", "cat 000/000.txt |& id", "cat 000/000.txt | sh", "| id",
    "cat 000/000.txt | tee x", "cat 000/000.txt |", "cat 000/000.txt || cat 000/000.txt", "(cat 000/000.txt)",
    "cat 000/000.txt\nid", "cat 000/000.txt\rid", "cat '000/000.txt", 'cat "000/000.txt', "cat 000/000.txt\\",
    "xargs cat", "find . -exec id", "awk 'BEGIN{system(\"id\")}'", "perl -e 1", "python3 -c 1", "/bin/cat x", "./cat x",
    "../bin/cat x", "cat\0x", "cat 000/000.txt\0/etc/passwd", "cat \ud800", "ｃａｔ 000/000.txt", "cat／etc／passwd",
    "cat ∕etc∕passwd\u2028; id", "cat 000/000.txt ；\n id", "rg " + "x" * 3000, "rg " + "x" * 501, "cat " + "x " * 100,
    "", "  ", "rg", "sed -n", "grep x", "cat", "rg a " + "| rg a " * 1000, "rg a" + " | rg a" * 8, "$'\\x63at' x",
    "rg -A", "rg -A x y", "rg -A 99999999 y", "head -n", "rg -ie", "rg -", "rg --", "tail -9999999999",
    "cat 00[0/000.txt", "cat " + "x" * 300, "cat *" + "x" * 300, "cat " + "**/" * 90 + "*",
    "cat 000/000.txt/../../secret",
    "cat 000/**/../../../secret", "cat 000/000.tx?/../../../secret", "alias cat=id", "cat !!",
    "cat {/etc/passwd,x} ; :",
    ":(){ :|:& };:", "rg x | rg x & rg x", "exec cat x", "cd /; cat x", "pwd", "export A=b",
]  # fmt: skip


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_line_is_refused(line: str, folder: Path) -> None:
    if line in HARMLESS:
        check(read_command(line, folder, ALLOWED), folder)
        return
    with pytest.raises(Refused) as caught:
        read_command(line, folder, ALLOWED)
    assert 0 < len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


HARMLESS = frozenset({"rg -", "cat !!", "sed -e 1p -- -i", "rg -g '!../x' x"})
"""Without a shell these name files below the folder that are not there, or a form of names."""


def check(pipeline: list[list[str]], folder: Path) -> None:
    root = folder.resolve()
    assert 1 <= len(pipeline) <= 8
    for name, *words in pipeline:
        assert name in ALLOWED
        border = words.index("--")
        for path in words[border + 1 :]:
            assert path == "-" or (folder / path).resolve().is_relative_to(root)


@given(
    st.lists(
        st.sampled_from(
            ["rg", "cat", "sed", "sort", "grep", "head", " ", "-", "--", "i", "o", "f", "e", "n", "'", '"', "\\", "|",
             ";", "&", ">", "<", "$", "(", ")", "`", "/", "..", "../", "/etc/passwd", "up", "link", "*", "?", "[", "]",
             "000", "000/000.txt", "=", "1", "p", "w", "r", "--pre", "--output", "\n", "\t", "\0", "~", "#", "!", "é",
             "2>/dev/null"]
        ),
        max_size=25,
    ).map("".join)
)  # fmt: skip
def test_whatever_is_accepted_stays_inside(folder: Path, line: str) -> None:
    try:
        pipeline = read_command(line, folder, ALLOWED)
    except Refused:
        return
    check(pipeline, folder)
    known = {"-n", "-i", "-e", "-c", "-1", "-r", "-s", "--", *RG, *GREP, *SORT, "--sandbox"}
    for name, *words in pipeline:
        values = set(ALLOWED[name].values) | {"-e"}
        options = words[: words.index("--")]
        while options:
            option = options.pop(0)
            assert (
                option in known or option.removeprefix("-") in ALLOWED[name].flags or option in values or option == "-H"
            )
            if option in values:
                options.pop(0)


def test_programs_that_are_not_here_are_refused_with_those_that_are(folder: Path) -> None:
    with pytest.raises(Refused) as caught:
        read_command("rg x", folder, ["grep", "cat"])
    assert str(caught.value) == "'rg' is not here: there are grep, cat"
