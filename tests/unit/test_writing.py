"""Files are written whole or not at all, whoever writes them."""

import polars as pl
import pytest

from hetsched.errors import OutputError
from hetsched.files import write_whole


def breaks_down(path):
    path.write_bytes(b"half")
    raise OSError(28, "No space left on device")


def panics(path):
    path.write_bytes(b"half")
    raise pl.exceptions.ComputeError("cannot go on\nmore about it")


@pytest.mark.parametrize(("write", "reason"), [(breaks_down, "No space left on device"), (panics, "cannot go on")])
def test_the_old_file_stays_when_the_new_one_cannot_be_finished(tmp_path, write, reason):
    path = tmp_path / "a.txt"
    write_whole(path, b"before")
    with pytest.raises(OutputError) as caught:
        write_whole(path, write)
    assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_what_is_no_reason_of_the_systems_goes_through_and_leaves_nothing(tmp_path):
    def wrong(path):
        path.write_bytes(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "a.txt", wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    write_whole(tmp_path / "a", b"")
    with pytest.raises(OutputError, match=r"a/b\.txt: cannot be written: .*/a is not a folder$"):
        write_whole(tmp_path / "a" / "b.txt", b"")
    with pytest.raises(OutputError, match=r"a/b/c\.txt: cannot be written: not a folder$"):
        write_whole(tmp_path / "a" / "b" / "c.txt", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder: cannot be written: a directory"):
        write_whole(tmp_path / "folder", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "a.txt"

    def slow(temporary):
        temporary.write_bytes(b"fi")
        write_whole(path, b"second")
        with temporary.open("ab") as file:
            file.write(b"rst")

    write_whole(path, slow)
    assert path.read_bytes() == b"first"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("letter", ["a", "\N{SNOWMAN}", "\N{PILE OF POO}"])
def test_a_name_as_long_as_names_may_be_is_written(tmp_path, letter):
    path = tmp_path / (letter * (255 // len(letter.encode())))
    write_whole(path, b"all")
    assert path.read_bytes() == b"all"
