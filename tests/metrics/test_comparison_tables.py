"""Comparisons as tables: the paper's form, and names that mean something to Markdown, LaTeX or HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt

import truerank as tr
from truerank.errors import InputError
from truerank.metrics import table_formats
from truerank.metrics.tables import tabulate

N = 40
RANKS = {  # where each model puts the one relevant item of each of 40 lists
    "Unbiased LambdaMART": [2] * 40,
    "LambdaMART (clicks)": [2] * 20 + [4] * 20,
    "Robust Unbiased LambdaMART": [1] * 18 + [2] * 22,
    "Other": [1] * 5 + [2] * 35,
}
FRAME = ("Robust Unbiased LambdaMART", "Other")


def comparison_of(ranks, metrics=("mrr", "precision@1"), **options):
    """Lists of four items of which the first is relevant, and one list without a relevant item."""
    labels, scores = np.zeros((N + 1, 4), dtype=int), {}
    labels[:N, 0] = 1
    for name, reached in ranks.items():
        scores[name] = np.tile([0.0, 3, 2, 1], (N + 1, 1))
        scores[name][:N, 0] = 4.5 - np.array(reached)
    models = {name: rows.ravel() for name, rows in scores.items()}
    return tr.evaluate(models, labels.ravel(), [4] * (N + 1), metrics, **{"bootstrap": 0, **options})


@pytest.fixture(scope="module")
def comparison():
    return comparison_of(RANKS)


# the paper's form: the baseline as it is, the others as changes of it, bold, frames


def test_plain_text(comparison):
    """By hand: 1/2; 3/8 is −25 %; (18 + 22/2) / 40 = .725 is +45 %; (5 + 35/2) / 40 = .5625 is +12.5 %."""
    assert comparison.table().splitlines() == str(comparison).splitlines()
    assert comparison.table().splitlines() == [
        "Model                           MRR   Precision@1",
        "Unbiased LambdaMART           0.500         0.000",
        "LambdaMART (clicks)         -25.00%*            —",
        "Robust Unbiased LambdaMART  +45.00%*            —*",
        "Other                       +12.50%             —",
        "",
        "40 lists (1 without a relevant item dropped). Unbiased LambdaMART in absolute",
        "values, the others as change relative to it. * p < 0.05, paired two-sided",
        "t-test, Bonferroni over 6 comparisons.",
    ]


def test_plain_text_with_frames(comparison):
    lines = comparison.table(FRAME).splitlines()
    assert lines[:5] == [
        "Model                            MRR    Precision@1",
        "Unbiased LambdaMART            0.500          0.000",
        "LambdaMART (clicks)          -25.00%*             —",
        "Robust Unbiased LambdaMART  [+45.00%*]           [—*]",
        "Other                        +12.50%              —",
    ]
    assert lines[-2:] == [
        "t-test, Bonferroni over 6 comparisons. [ ] Robust Unbiased LambdaMART against",
        "Other: p < 0.05, the same test, not corrected.",
    ]


def test_markdown(comparison):
    assert comparison.to_markdown(FRAME).splitlines() == [
        "| Model | MRR | Precision@1 |",
        "| --- | ---: | ---: |",
        "| Unbiased LambdaMART | 0.500 | 0.000 |",
        "| LambdaMART (clicks) | **-25.00%** | — |",
        "| Robust Unbiased LambdaMART | [**+45.00%**] | [**—**] |",
        "| Other | +12.50% | — |",
        "",
        "40 lists (1 without a relevant item dropped). Unbiased LambdaMART in absolute values, the others as change "
        "relative to it. **Bold:** p < 0.05, paired two-sided t-test, Bonferroni over 6 comparisons. [ ] Robust "
        "Unbiased LambdaMART against Other: p < 0.05, the same test, not corrected.",
    ]


def test_latex(comparison):
    caption, *lines = comparison.to_latex(FRAME).splitlines()
    assert caption.startswith("% 40 lists (1 without a relevant item dropped). ")
    assert lines == [
        r"\begin{tabular}{lcc}",
        r"Model & MRR & Precision@1 \\",
        r"\hline",
        r"\hline",
        r"Unbiased LambdaMART & 0.500 & 0.000 \\",
        r"LambdaMART (clicks) & \textbf{-25.00\%} & --- \\",
        r"Robust Unbiased LambdaMART & \framebox{\textbf{+45.00\%}} & \framebox{\textbf{---}} \\",
        r"Other & +12.50\% & --- \\",
        r"\hline",
        r"\end{tabular}",
    ]


class Cells(HTMLParser):
    """The cells of a page's table: (tag, attributes, text), and every tag in order."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.tags = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag in ("th", "td"):
            self.cells.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        self.tags.append("/" + tag)

    def handle_data(self, data):
        if self.cells:
            self.cells[-1][2] += data.strip("\n")


def test_html(comparison):
    page = comparison.to_html(FRAME)
    found = Cells(page)
    assert [text for _, _, text in found.cells] == [
        *("Model", "MRR", "Precision@1"),
        *("Unbiased LambdaMART", "0.500", "0.000"),
        *("LambdaMART (clicks)", "-25.00%", "—"),
        *("Robust Unbiased LambdaMART", "+45.00%", "—"),
        *("Other", "+12.50%", "—"),
    ]
    framed = [text for _, attributes, text in found.cells if attributes.get("class") == "framed"]
    assert framed == ["+45.00%", "—"]
    assert found.tags.count("strong") == found.tags.count("/strong") == 3
    assert sorted(tag for tag in found.tags if tag[0] != "/") == sorted(tag[1:] for tag in found.tags if tag[0] == "/")
    assert "40 lists (1 without a relevant item dropped)" in page
    assert "http" not in page
    assert comparison._repr_html_() == comparison.to_html()


def test_the_cells_of_html_tell_the_numbers_behind_them():
    found = Cells(comparison_of(RANKS, bootstrap=100).to_html()).cells
    title = found[10][1]["title"]
    assert title.startswith("mean 0.7250, 95% interval 0.")
    assert "difference +0.2250, 95% interval 0." in title
    assert title.endswith("p = 1.6e-06, corrected 9.6e-06; d = 0.89")
    assert "interval" not in comparison_of(RANKS).to_html()


def test_bold_is_a_corrected_test_and_a_frame_is_not(comparison):
    """`Other` differs from the baseline with p = .023: uncorrected it is significant, for six tests it is not."""
    assert comparison["Other", "mrr"].p_value == pytest.approx(0.0234, abs=1e-4)
    framed = ("Other", "Unbiased LambdaMART")
    assert r"Other & \framebox{+12.50\%} & \framebox{---}" in comparison.to_latex(framed)
    assert r"Other & \textbf{+12.50\%}" in comparison_of(RANKS, correction=None).to_latex()
    assert r"\framebox" not in comparison_of(RANKS, level=0.01).to_latex(framed)


def test_the_baseline_comes_first_and_may_be_framed():
    lines = comparison_of(RANKS, baseline="Other").to_markdown(("Other", "LambdaMART (clicks)")).splitlines()
    assert lines[2] == "| Other | [0.562] | [0.125] |"
    assert [line.split(" | ")[0] for line in lines[3:6]] == [f"| {name}" for name in list(RANKS)[:3]]


def test_a_change_too_small_to_see_has_no_minus():
    ranks = {"base": [1] * N, "same": [1] * N}
    assert "+0.00%" in comparison_of(ranks).table()
    labels = np.tile([1, 0], 30_000)
    nearly = np.tile([1.0, 0], 30_000)
    nearly[0] = -1
    found = tr.evaluate({"base": labels, "nearly": nearly}, labels, [2] * 30_000, "mrr", bootstrap=0)
    assert found["nearly", "mrr"].difference < 0
    assert "+0.00%" in found.table()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"empty": "zero"}, "41 lists (1 without a relevant item counted as 0)."),
        ({"empty": "one"}, "41 lists (1 without a relevant item counted as 1)."),
        ({"correction": "holm", "n_comparisons": 1500}, "Holm over 1,500 comparisons."),
        ({"correction": None}, "t-test, not corrected."),
        ({"level": 0.001}, "* p < 0.001,"),
        ({"metrics": ["ndcg@3"], "gain": "linear"}, "NDCG with gain linear."),
    ],
)
def test_the_caption_says_what_was_done(options, words):
    assert words in " ".join(comparison_of(RANKS, **options).table().split())


def test_one_model_alone_needs_no_word_about_others():
    assert comparison_of({"only": [1] * N}).table().endswith("\n\n40 lists (1 without a relevant item dropped).")


# several comparisons in one table


@pytest.fixture(scope="module")
def blocks():
    pair = [comparison_of(RANKS), comparison_of({**RANKS, "Other": [3] * N})]
    return tabulate(dict(zip(["10", "20 & up"], tr.adjust_together(pair), strict=True)), FRAME, "Trunc. pos.")


def test_blocks_of_text_and_markdown_are_named_in_their_first_line(blocks):
    lines = table_formats.text(blocks).splitlines()
    assert [line[:20].rstrip() for line in lines[:9]] == [
        "Trunc. pos.  Model",
        "10           Unbiase",
        "             LambdaM",
        "             Robust",
        "             Other",
        "20 & up      Unbiase",
        "             LambdaM",
        "             Robust",
        "             Other",
    ]
    assert "Bonferroni over 12 comparisons" in " ".join(" ".join(lines).split())
    rows = table_formats.markdown(blocks).splitlines()
    assert rows[:4] == [
        "| Trunc. pos. | Model | MRR | Precision@1 |",
        "| --- | --- | ---: | ---: |",
        "| 10 | Unbiased LambdaMART | 0.500 | 0.000 |",
        "|  | LambdaMART (clicks) | **-25.00%** | — |",
    ]
    assert rows[6].startswith(r"| 20 \& up | Unbiased")


def test_blocks_of_latex_are_those_of_the_paper(blocks):
    lines = table_formats.latex(blocks).splitlines()
    assert lines[1:] == [
        r"% \usepackage{multirow}",
        r"\begin{tabular}{llcc}",
        r"Trunc. pos. & Model & MRR & Precision@1 \\",
        r"\hline",
        r"\hline",
        r"\multirow{4}{*}{10} & Unbiased LambdaMART & 0.500 & 0.000 \\",
        r" & LambdaMART (clicks) & \textbf{-25.00\%} & --- \\",
        r" & Robust Unbiased LambdaMART & \framebox{\textbf{+45.00\%}} & \framebox{\textbf{---}} \\",
        r" & Other & +12.50\% & --- \\",
        r"\hline",
        r"\multirow{4}{*}{20 \& up} & Unbiased LambdaMART & 0.500 & 0.000 \\",
        r" & LambdaMART (clicks) & \textbf{-25.00\%} & --- \\",
        r" & Robust Unbiased LambdaMART & \framebox{\textbf{+45.00\%}} & \framebox{\textbf{---}} \\",
        r" & Other & \textbf{-33.33\%} & --- \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_blocks_of_html_span_their_rows(blocks):
    found = Cells(table_formats.html(blocks))
    spans = [(attributes["rowspan"], text) for _, attributes, text in found.cells if "rowspan" in attributes]
    assert spans == [("4", "10"), ("4", "20 & up")]
    assert found.tags.count("tbody") == 2


def test_blocks_with_unequal_numbers_of_lists_say_so():
    pair = tr.adjust_together([comparison_of(RANKS), comparison_of(RANKS)])
    labels = np.tile([1, 0], 50)
    longer = tr.evaluate(
        dict.fromkeys(RANKS, labels), labels, [2] * 50, ["mrr", "precision@1"], bootstrap=0, n_comparisons=12
    )
    assert "40 lists (1 without" in tabulate(dict(zip("ab", pair, strict=True)), heading="set").caption("*", "")
    assert "40 to 50 lists (0 to 1 without" in tabulate({"a": pair[0], "b": longer}, heading="set").caption("*", "")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"baseline": "Other"}, "baseline is 'Unbiased LambdaMART' in one block and 'Other' in another"),
        ({"metrics": ["map"]}, r"metrics is \('mrr', 'precision@1'\) in one block"),
        ({"correction": "holm"}, "correction is 'bonferroni' in one block and 'holm' in another"),
        ({"empty": "one"}, "empty is 'drop' in one block and 'one' in another"),
        ({}, "corrected for 6 comparisons and the table shows 12. Hint: truerank.adjust_together"),
    ],
)
def test_blocks_that_one_caption_cannot_describe_are_refused(comparison, second, message):
    with pytest.raises(InputError, match=message):
        tabulate({"10": comparison, "20": comparison_of(RANKS, **second)}, heading="Trunc. pos.")


@pytest.mark.parametrize(
    ("names", "heading", "message"),
    [
        ([], None, "comparisons is empty"),
        (["10", "20"], None, "there are 2 blocks and no heading"),
        (["1\n0"], "x", r"a block is named '1\\n0'"),
        (["10"], "x\ty", r"a block is named 'x\\ty'"),
    ],
)
def test_blocks_need_names_that_fit_a_line(comparison, names, heading, message):
    with pytest.raises(InputError, match=message):
        tabulate(dict.fromkeys(names, comparison), heading=heading)


@pytest.mark.parametrize("frame", ["Other", ("Other",), ("Other", "Other"), ("a", "b", "c")])
def test_a_frame_names_two_models(comparison, frame):
    with pytest.raises(InputError, match=r"frame is .*; it must name two models"):
        comparison.table(frame)


def test_a_frame_names_models_that_are_there(comparison):
    with pytest.raises(InputError, match="model 'Robust' is not in the comparison"):
        comparison.table(("Robust", "Other"))


# names

names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12).map(lambda s: s.strip())
hard_names = [
    "[x](y)", "**a**", "&amp; &lt;", "a|b", "`code`", "<b>", "$x$", "~~a~~", r"\|", "#1", "[opt]", "*", "1_000", r"\\",
    "100%", "a^2", "{", "}", "x~y", "--", "'\"", "t⁺", "x⁻¹₂", "größer",
]  # fmt: skip


def with_hard_names(test):
    for name in hard_names:
        test = example(name)(test)
    return settings(max_examples=40)(given(names)(test))


def table_of(name):
    """A table in which `name` is a model, a block and the heading."""
    return tabulate({name: comparison_of({"base": [2] * N, name + ".": [1] * N}, ["map"])}, heading=name)


@with_hard_names
def test_any_name_survives_markdown(name):
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    found = [text for _, _, text in Cells(reader.render(table_formats.markdown(table_of(name)))).cells]
    assert found[0] == found[3] == name
    assert found[7] == f"{name}."
    assert len(found) == 9


@with_hard_names
def test_any_name_survives_html(name):
    found = [text for _, _, text in Cells(table_formats.html(table_of(name))).cells]
    assert found[0] == found[3] == name
    assert found[6] == f"{name}."
    assert len(found) == 8


LATEX = re.compile(
    r"\\text(?P<word>backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\(?P<escaped>[&%$#_{}])"
    r"|\{(?P<grouped>[][*])\}|\\text(?P<script>super|sub)script\{(?P<raised>[-+\d])\}"
    r"|(?P<plain>[^\\&%$#_{}~^<>|[\]*⁺⁻⁰¹²³⁴₊₋₀₁₂₃])"
)
SCRIPTS = {"super": str.maketrans("+-0123", "⁺⁻⁰¹²³"), "sub": str.maketrans("+-0123", "₊₋₀₁₂₃")}
WORDS = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"}


def read_latex(source):
    """What LaTeX prints for a text; fails at any character that means something to it and is not escaped."""
    printed, place = "", 0
    while place < len(source):
        token = LATEX.match(source, place)
        assert token, source[place:]
        raised = token["raised"] and token["raised"].translate(SCRIPTS[token["script"]])
        printed += WORDS.get(token["word"]) or token["escaped"] or token["grouped"] or raised or token["plain"]
        place = token.end()
    return printed


@with_hard_names
def test_any_name_survives_latex(name):
    lines = table_formats.latex(table_of(name)).splitlines()
    rows = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines if line.endswith(r" \\")]
    assert [len(row) for row in rows] == [3, 3, 3]
    assert read_latex(rows[0][0]) == name
    assert read_latex(rows[1][0].removeprefix(r"\multirow{2}{*}{")[:-1]) == name
    assert read_latex(rows[2][1]) == f"{name}."
    assert all(line.startswith("%") for line in lines[:2])
    assert not any(line.lstrip().startswith(("[", "*")) for line in lines)


def test_what_stands_high_or_low_is_set_so_in_latex():
    """The letters for it are unknown to the fonts of pdflatex."""
    lines = table_formats.latex(table_of("t⁺ and x⁻²")).splitlines()
    assert r"t\textsuperscript{+} and x\textsuperscript{-}\textsuperscript{2}. & \textbf" in "\n".join(lines)
    assert all(line.isascii() for line in lines if not line.startswith("%"))
