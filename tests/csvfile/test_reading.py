# SPDX-License-Identifier: GPL-2.0-or-later
"""CSV files as people have them: a correct result, or one sentence that says what is wrong."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernsmith.csvfile import Columns, Reading, read_samples, read_summaries
from kernsmith.errors import UserError

PLAIN = {"a": [1.5, 2.0], "b": [3.0]}


def groups(reading: Reading) -> dict[str, list[float]]:
    """Values by group of the only stratum."""
    (stratum,) = reading.strata
    return {sample.name: sample.values.tolist() for sample in stratum.samples}


def read(path: Path, text: str | bytes, columns: Columns | None = None) -> Reading:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_samples(path, columns or Columns("v", ("g",)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "times.csv"


@pytest.mark.parametrize(
    "text",
    [
        "g,v\na,1.5\na,2\nb,3\n",
        "g,v\r\na,1.5\r\na,2\r\nb,3\r\n",
        "g,v\ra,1.5\ra,2\rb,3\r",
        "g;v\na;1,5\na;2,0\nb;3\n",
        "g\tv\na\t1.5\na\t2\nb\t3\n",
        "g|v\na|1.5\na|2\nb|3\n",
        " g , v \n a , 1.5 \na,2\nb,3\n",
        '"g","v"\n"a","1,5"\n"a","2"\n"b","3"\n',
        "\ufeffg,v\na,1.5\na,2\nb,3\n",
        "g,v\n\na,1.5\n\na,2\nb,3\n\n\n",
        "\n \ng,v\na,1.5\na,2\nb,3\n",
        "\r\rg,v\ra,1.5\ra,2\rb,3\r",
        "x,v,g\n,1.5,a\n,2,a\n,3e0,b",
        "g,v\na,1.5\na,2\nb,3\n".encode("utf-16"),
    ],
)
def test_separators_line_ends_decimal_commas_and_encodings(file: Path, text: str | bytes) -> None:
    assert groups(read(file, text)) == PLAIN


@pytest.mark.parametrize("column", ["g", "v"])
def test_cells_in_another_encoding_are_never_taken_for_each_other(file: Path, column: str) -> None:
    text = "g,v,x\né,1,a\nè,2,a\n" if column == "g" else "g,v,x\na,1,a\na,é,a\n"
    with pytest.raises(UserError, match=r"line [23] is not UTF-8: save the file"):
        read(file, text.encode("latin-1"))


def test_of_columns_that_are_not_asked_for_the_encoding_does_not_matter(file: Path) -> None:
    text = "x,v,g\né,1.5,a\nè,2,a\né,3,b\n"
    assert groups(read(file, text.encode("latin-1"))) == PLAIN


def test_decimal_commas_are_mentioned(file: Path) -> None:
    assert read(file, "g;v\na;1,5\n").notes == ("the commas in 'v' were read as decimal commas",)


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "nan", "null", "-"])
def test_rows_without_a_value_are_left_out_and_mentioned(file: Path, missing: str) -> None:
    reading = read(file, f"g,v\na,1.5\na,{missing}\na,2\nb,3\n")
    assert groups(reading) == PLAIN
    assert reading.notes == ("1 of 4 rows have no 'v' and were left out: line 3",)


def test_rows_without_a_level_are_left_out_and_mentioned(file: Path) -> None:
    reading = read(file, "g,v\na,1.5\n,9\na,2\nb,3\n")
    assert groups(reading) == PLAIN
    assert reading.notes == ("1 of 4 rows have no 'g' and were left out: line 3",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty; its first line must name the columns"),
        ("\n\n", "is empty; its first line must name the columns"),
        ("\n\ng,v\na,1\nb,fast\n", "line 5: 'fast' in column 'v' is not a number"),
        ('g,v\n"a\nb",1\n\nb,fast\n', "line 5: 'fast' in column 'v' is not a number"),
        ('g,v\n"a\r\nb",fast\r\n', "line 2: 'fast' in column 'v' is not a number"),
        ('g,v\r"a\rb",1\rb,fast\r', "line 4: 'fast' in column 'v' is not a number"),
        ('g,v\n"a\nb",1\nb,inf\n'.encode("utf-16"), "line 4: 'v' is infinite"),
        ("g,v\n", "has no rows below its header"),
        ("g,v\na,\n", "has no row with a value in 'v' and all its levels"),
        ("h,v\na,1\n", "has no column 'g'; its columns are 'h', 'v'"),
        ("g,g,v\na,b,1\n", "has 2 columns called 'g'; rename all but one"),
        ("g,v\na,1\nb,fast\n", "line 3: 'fast' in column 'v' is not a number"),
        ('g,v\na,1\nb,"1,234.5"\n', "write numbers without separators of thousands"),
        ("g,v\na,1\nb,inf\n", "line 3: 'v' is infinite; values must be finite"),
        ("g,v\na,1\nb,1e999\n", "line 3: 'v' is infinite; values must be finite"),
        ("g,v\na,1\nb,1e61\n", "line 3: 'v' is not between 1e-60 and 1e+60 in size"),
        ("g,v\na,1\nb,2,3\n", "line 3: 3 cells where the header names 2 columns"),
        (b"\x89PNG\0\0", "is not a text file; a CSV file is expected"),
    ],
)
def test_refusals_are_sentences(file: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        read(file, text)
    assert sentence in str(caught.value)
    assert str(file) in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        read_samples(tmp_path / "none.csv", Columns("v", ("g",)))
    with pytest.raises(UserError, match="is a folder"):
        read_samples(tmp_path, Columns("v", ("g",)))


def test_a_column_has_one_role(file: Path) -> None:
    with pytest.raises(UserError, match="'g' cannot be two of --value, --by and --within"):
        read(file, "g,v\na,1\n", Columns("v", ("g",), within="g"))


@pytest.mark.parametrize(
    ("when", "order"),
    [
        (["2", "10", "1"], [1, 2, 0]),
        (["2024-01-02 10:00:00", "2024-01-10 09:00:00", "2024-01-01 23:00:00"], [1, 2, 0]),
        (["b", "c", "a"], [1, 2, 0]),
        (["1", "1", "1"], [0, 1, 2]),
        (["1", "", "0"], [1, 2, 0]),
    ],
)
def test_the_run_order_is_by_number_by_time_or_by_text(
    file: Path, when: list[str], order: list[int]
) -> None:
    text = "g,v,t\n" + "".join(f"a,{index},{each}\n" for index, each in enumerate(when))
    (stratum,) = read(file, text, Columns("v", ("g",), order="t")).strata
    assert stratum.samples[0].position.tolist() == order


def test_factors_and_strata(file: Path) -> None:
    text = "m,g,h,v\nx,a,1,1\ny,a,1,2\nx,b,2,3\nx,a,1,4\n"
    x, y = read(file, text, Columns("v", ("g", "h"), within="m")).strata
    assert (x.name, y.name) == ("x", "y")
    assert [(s.name, s.values.tolist()) for s in x.samples] == [
        ("a × 1", [1.0, 4.0]),
        ("b × 2", [3.0]),
    ]
    assert x.samples[0].position.tolist() == [0, 2]
    assert x.samples[0].row.tolist() == [2, 5]


def test_a_published_table(file: Path) -> None:
    file.write_text("group,n,mean,sd\ngcc,3,27019.877,52.478445\nclang,3,26641.11,\n")
    (stratum,) = read_summaries(file).strata
    gcc, clang = stratum.summaries
    assert (gcc.name, gcc.n, gcc.mean, gcc.sd) == ("gcc", 3, 27019.877, 52.478445)
    assert np.isnan(clang.sd)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("a,3,,1", "line 2: the group has no mean"),
        ("a,2.5,1,1", "line 2: n must be a whole number of at least 1"),
        ("a,,1,1", "line 2: n must be a whole number of at least 1"),
        ("a,3,1,-1", "line 2: a standard deviation cannot be negative"),
        ("a,3,1,1\na,3,1,1", "line 3: group 'a' occurs twice"),
        ("a,3,x,1", "line 2: 'x' in column 'mean' is not a number"),
    ],
)
def test_tables_that_cannot_be(file: Path, row: str, sentence: str) -> None:
    file.write_text(f"group,n,mean,sd\n{row}\n")
    with pytest.raises(UserError) as caught:
        read_summaries(file)
    assert sentence in str(caught.value)


CELLS = st.one_of(
    st.sampled_from(
        ["1", "2.5", "1,5", "", "NA", "a", "=1+1", "<b>", '"', "\r", "-", "1e400", "'"]
    ),
    st.text(max_size=6),
    st.floats(width=32).map(str),
)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_lone_quotation_mark_in_a_column_of_numbers(file: Path, end: str) -> None:
    _read_or_refuse(file, f'g,v\na,1\nb,"{end}'.encode())
    _read_or_refuse(file, f'v\n"{end}'.encode())


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.lists(CELLS, max_size=4), max_size=8),
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    header=st.sampled_from([["g", "v"], ["g", "v", "o"], ["v"], ["g", "v", ""], []]),
)
def test_any_table_is_read_or_refused_in_a_sentence(
    file: Path, rows: list[list[str]], separator: str, end: str, header: list[str]
) -> None:
    text = end.join(separator.join(row) for row in [header, *rows])
    _read_or_refuse(file, text.encode("utf-8", "surrogatepass"))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    start=st.sampled_from([b"", b"g,v\n", b"g;v\r\n", b"\xff\xfe", b'"g","v"\n']), rest=st.binary()
)
def test_any_bytes_are_read_or_refused_in_a_sentence(file: Path, start: bytes, rest: bytes) -> None:
    _read_or_refuse(file, start + rest)


def _read_or_refuse(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    for columns in (Columns("v", ("g",)), Columns("v", ("g",), order="g")):
        try:
            reading = read_samples(file, columns)
        except UserError as refusal:
            assert str(file) in str(refusal)
        else:
            for stratum in reading.strata:
                assert all(np.isfinite(sample.values).all() for sample in stratum.samples)
    try:
        read_summaries(file, ("g",))
    except UserError as refusal:
        assert str(file) in str(refusal)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(1e-60, 1e12)), min_size=1))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_come_back_exactly(file: Path, rows: list[tuple[str, float]]) -> None:
    text = "g,v\n" + "".join(f"{group},{value!r}\n" for group, value in rows)
    expected: dict[str, list[float]] = {}
    for group, value in rows:
        expected.setdefault(group, []).append(value)
    assert groups(read(file, text)) == expected


def test_times_of_day_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    for times in (("9:05:00", "10:00:00", "9:30"), ("9:05", "10:00", "9:30:59.5")):
        rows = "".join(f"a,{n},{time}\n" for n, time in enumerate(times))
        file.write_text(f"g,v,t\n{rows}")
        read = read_samples(file, Columns("v", ("g",), order="t"))
        (sample,) = read.strata[0].samples
        assert sample.position.tolist() == [0, 2, 1]
        assert read.notes == ()


def test_an_order_of_text_and_rows_without_an_entry_are_told(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("g,v,t\na,1,run-b\na,2,\na,3,run-a\n")
    read = read_samples(file, Columns("v", ("g",), order="t"))
    assert read.strata[0].samples[0].position.tolist() == [1, 2, 0]
    assert read.notes == (
        "'t' is neither numbers nor times: its order is that of text",
        "1 of 3 rows have no 't' and are taken as the last: line 3",
    )


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("a,3,10,1,20,10,1", "line 2: min is 20, above median, which is 10"),
        ("a,3,10,1,1,,9", "line 2: mean is 10, above max, which is 9"),
        (",3,10,1,1,10,20", "line 2: the group has no name"),
    ],
)
def test_summaries_that_cannot_be(tmp_path: Path, row: str, sentence: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(f"group,n,mean,sd,min,median,max\n{row}\n")
    with pytest.raises(UserError, match=sentence):
        read_summaries(file)
