"""Settings of an experiment: defaults, the TOML file, and what is refused, by name."""

import numpy as np
import pytest

import truerank as tr
from truerank.errors import FileFormatError, InputError, MissingDataError, ResourceError
from truerank.experiment.config import read_config
from truerank.experiment.methods import METHODS


def test_every_setting_of_a_file_is_read(tmp_path):
    tr.Independent(tr.geometric(8, 0.2)).save(tmp_path / "measured.json")
    (tmp_path / "here.toml").write_text(
        """
        title = "A try"
        truncation_positions = [4, 8]
        sessions_per_list = 3
        methods = ["robust", "clicks"]
        seeds = [1, 2]
        [dataset]
        name = "mq2008"
        folder = "data"
        fold = 4
        [initial_ranking]
        source = "dataset"
        [browsing.steep]
        model = "continuous"
        power = 2
        [browsing.grid]
        model = "row_skipping"
        gamma = 0.2
        continuation = 0.9
        row_lengths = [4, 4]
        [browsing.measured]
        model = "file"
        path = "measured.json"
        [booster]
        num_leaves = 7
        """
    )
    config = read_config(tmp_path / "here.toml")
    assert config.dataset.options == {"folder": str(tmp_path / "data"), "fold": 4}
    assert [browsing.name for browsing in config.browsing] == ["steep", "grid", "measured"]
    steep, grid, measured = (browsing.model for browsing in config.browsing)
    assert np.allclose(steep.marginal([1, 2, 8]), [1, 1 / 4, 1 / 64])
    assert isinstance(grid, tr.RowSkipping)
    assert np.allclose(measured.marginal([2]), tr.geometric(8, 0.2)[1])
    assert (config.methods, config.seeds, config.sessions_per_list) == (("robust", "clicks"), (1, 2), 3)
    assert (config.booster["num_leaves"], config.booster["n_estimators"]) == (7, 300)
    assert (config.initial_ranking.source, config.title) == ("dataset", "A try")


def test_paths_may_name_environment_variables(monkeypatch):
    monkeypatch.setenv("JUDGED", "/somewhere")
    config = read_config({"dataset": {"name": "yahoo-set1", "folder": "${JUDGED}/yahoo"}})
    assert config.dataset.options == {"folder": "/somewhere/yahoo"}


@pytest.mark.parametrize("path", ["${UNSET_HERE}/yahoo", "$UNSET_HERE/yahoo"])
def test_an_environment_variable_that_is_not_set_is_named(monkeypatch, path):
    monkeypatch.delenv("UNSET_HERE", raising=False)
    with pytest.raises(InputError, match=r"'\$.*/yahoo' names the environment variable UNSET_HERE, which is not set"):
        read_config({"dataset": {"name": "yahoo-set1", "folder": path}})
    with pytest.raises(InputError, match=r"browsing.x .* names the environment variable UNSET_HERE"):
        read_config({"browsing": {"x": {"model": "file", "path": path}}})


def test_a_dollar_sign_may_be_part_of_a_name(tmp_path):
    (tmp_path / "in$UNSET_HERE").mkdir()
    config = read_config({"dataset": {"name": "yahoo-set1", "folder": f"{tmp_path}/in$UNSET_HERE"}})
    assert config.dataset.options == {"folder": f"{tmp_path}/in$UNSET_HERE"}


def test_the_ranked_layout_comes_with_its_own_ranking():
    assert read_config({"dataset": {"name": "ranked", "folder": "x"}}).initial_ranking.source == "dataset"
    assert read_config({}).initial_ranking.source == "trained"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"truncation_position": [10]}, "truncation_position is not a setting; did you mean truncation_positions"),
        ({"truncation_positions": [10, 0]}, "an entry of truncation_positions is 0; it must be a whole number from 1"),
        ({"truncation_positions": [10, 10]}, r"truncation_positions is \[10, 10\]; each may be named once"),
        ({"truncation_positions": []}, r"truncation_positions is \[\]; it must be a list, and not an empty one"),
        ({"sessions_per_list": 1.5}, "sessions_per_list is 1.5; it must be a whole number from 1"),
        ({"seeds": [-1]}, "an entry of seeds is -1; it must be a whole number from 0"),
        ({"methods": ["robust", "robbust"]}, "methods holds 'robbust'; known are ratio-0, clicks"),
        ({"methods": ["robust"]}, "methods names one method; a comparison needs two"),
        ({"dataset": {"name": "yahoo"}}, "dataset.name is 'yahoo'; it must be one of 'shop', 'web', 'istella'"),
        ({"dataset": {"name": "web", "lists": [10, 10]}}, r"dataset.lists is \[10, 10\]; it must say how many lists"),
        ({"dataset": {"name": "web", "lists": [10, 0, 1]}}, "an entry of dataset.lists is 0"),
        ({"dataset": {"name": "web", "folder": "x"}}, "dataset.folder is not a setting"),
        ({"dataset": {"name": "yahoo-set1"}}, "dataset.folder is missing"),
        ({"dataset": {"name": "svmlight", "train": 3}}, "dataset.train is 3; it must be text"),
        ({"dataset": {"name": "svmlight", "train": "x", "test_share": 1}}, "dataset.test_share is 1; it must be below"),
        ({"dataset": "web"}, "dataset is 'web'; it must be a table"),
        ({"initial_ranking": {"share": 0}}, "initial_ranking.share is 0; it must be a number above 0"),
        ({"initial_ranking": {"share": 2}}, "initial_ranking.share is 2.0; it is a part of the lists"),
        ({"initial_ranking": {"source": "random"}}, "initial_ranking.source is 'random'; it must be one of"),
        ({"booster": {"num_leafs": 3}}, "booster.num_leafs is not a setting; did you mean num_leaves"),
        ({"booster": {"bagging_fraction": 2}}, "booster.bagging_fraction is 2.0; it is a part of the whole"),
        ({"booster": {"num_leaves": 200_000}}, "booster.num_leaves is 200000; LightGBM takes 131072 at most"),
        ({"booster": {"learning_rate": "fast"}}, "booster.learning_rate is 'fast'; it must be a number above 0"),
        ({"browsing": ["cascade"]}, "browsing.cascade.model is 'cascade'; it must be one of"),
        ({"browsing": ["continuous", "continuous"]}, "browsing is .*; each may be named once"),
        ({"browsing": {"a b": {}}}, "a browsing model is named 'a b'"),
        ({"browsing": {"x": {"model": "continuous", "slope": 1}}}, "browsing.x.slope is not a setting"),
        ({"browsing": {"x": {"model": "continuous", "theta": [0.5, 0.9]}}}, "browsing.x cannot be used: "),
        ({"browsing": {"x": {"model": "independent", "theta": [1, 0.5]}}}, "browsing.x covers 2 positions and"),
        ({"browsing": {"x": {"model": "row_skipping", "gamma": 0.5}}}, "browsing.x.continuation is missing"),
        ({"browsing": {"x": {"model": "file", "path": "/no/file.json"}}}, "no/file.json"),
        ({"browsing": 3}, "browsing is 3; it must list names"),
    ],
)
def test_what_is_wrong_is_refused_by_name(settings, message):
    with pytest.raises((InputError, FileNotFoundError), match=message):
        read_config(settings)


def test_a_file_that_is_no_toml_is_named(tmp_path):
    (tmp_path / "bad.toml").write_text("seeds = [1")
    with pytest.raises(FileFormatError, match=r"bad\.toml is not TOML"):
        read_config(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(FileFormatError, match=r"bad\.toml is not TOML"):
        read_config(tmp_path / "bad.toml")


def test_a_file_that_settings_name_and_that_is_not_there_is_told_from_the_settings(tmp_path):
    (tmp_path / "here.toml").write_text('[browsing.x]\nmodel = "file"\npath = "nope.json"\n')
    with pytest.raises(MissingDataError, match=r"browsing names .*nope\.json, which is not there") as error:
        read_config(tmp_path / "here.toml")
    assert "here.toml" not in str(error.value)


def test_the_most_leaves_that_lightgbm_takes_are_allowed():
    assert read_config({"booster": {"num_leaves": 131_072}}).booster["num_leaves"] == 131_072


def test_a_log_too_large_for_lightgbms_own_correction_is_refused():
    from truerank.experiment.lightgbm_peer import refuse_too_large

    refuse_too_large(3_000_000, 700)
    with pytest.raises(ResourceError, match="306,272,000 rows of 700 features need about 218 GiB"):
        refuse_too_large(306_272_000, 700)
    with pytest.raises(ResourceError, match=r"12,000,000 rows of 700 features \(4 models at a time\) need about 9 GiB"):
        refuse_too_large(12_000_000, 700, at_a_time=4)


def test_every_method_has_a_title_of_its_own():
    titles = [method.title for method in METHODS.values()]
    assert len(set(titles)) == len(titles)
