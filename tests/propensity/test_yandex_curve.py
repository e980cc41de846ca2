"""A real log without experiments: the truth is unknown, but estimators have to agree and the curve to fall."""

import csv
import gzip

import numpy as np
import pyarrow as pa
import pytest

import truerank as tr


@pytest.fixture(scope="module")
def log(real_data):
    with gzip.open(real_data / "yandex_click_log" / "serps.tsv.gz", "rt") as file:
        pages = list(csv.DictReader(file, delimiter="\t"))
    columns = {
        "session": range(len(pages)),
        "query": [page["query"] for page in pages],
        "items": [page["docs"] for page in pages],
        "clicks": [page["clicked_positions"] or None for page in pages],
    }
    return tr.open_pages(pa.table(columns))


def test_harvesting_and_em_agree_on_a_curve_that_falls(log):
    harvested, likely = tr.propensity.estimate(log), tr.propensity.em(log)
    assert harvested.method == "harvest"
    np.testing.assert_allclose(likely.theta, harvested.theta, rtol=0.04)
    assert np.all(np.diff(harvested.theta)[:7] < 0)
    low, high = harvested.interval()
    assert np.all((low[1:] > 0.15) & (high[1:] < 0.8))
    assert any("only 20 lists" in note for note in harvested.notes)


def test_every_position_of_it_can_be_told(log):
    found = tr.propensity.diagnose(log)
    assert found.identified
    assert found.impressions.tolist() == [35_064] * 10
