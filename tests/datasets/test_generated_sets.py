"""The generated data sets: in the shape they promise, worth ranking, and the same for the same seed."""

from __future__ import annotations

import os
import tracemalloc

import lightgbm
import numpy as np
import pytest

import truerank as tr
from truerank.datasets import shop
from truerank.datasets.generate import GENERATORS
from truerank.datasets.worlds import grade_limits
from truerank.errors import InputError

WEB, SHOP = (1_000, 100, 600), (2_000, 200, 1_500)


@pytest.fixture(scope="module")
def web():
    return tr.generate_dataset("web", WEB, seed=3)


@pytest.fixture(scope="module")
def products():
    return tr.generate_dataset("shop", SHOP, seed=3)


def starts(lists):
    return np.cumsum(lists.group) - lists.group


def assert_same(one, other):
    for name in ("X", "labels", "group", "query"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def first_lists(lists, n):
    rows = int(lists.group[:n].sum())
    return type(lists)(lists.X[:rows], lists.labels[:rows], lists.group[:n], lists.query[:n])


@pytest.fixture(scope="module")
def trained_on_web(web):
    return lambdamart(web.train, 80)


@pytest.fixture(scope="module")
def trained_on_products(products):
    return lambdamart(products.train, 60)


# shape


def test_full_web_has_as_many_lists_and_documents_as_the_original_with_a_long_tail():
    _, sizes = GENERATORS["web"]
    for part, (lists, documents) in zip(sizes, ((19_944, 473_134), (2_994, 71_083), (6_983, 165_660)), strict=True):
        drawn = part.draw(part.lists, (0,))
        assert (len(drawn), drawn.sum()) == (lists, documents)
        assert drawn.min() == 1
        assert drawn.max() > 100
        assert np.median(drawn) < drawn.mean() - 3
        assert np.quantile(drawn, 0.99) > 3 * drawn.mean()
        assert not np.array_equal(drawn, part.draw(part.lists, (1,)))


def test_more_lists_than_the_full_size_can_be_asked_for():
    part = GENERATORS["web"][1][1]
    assert part.draw(2 * part.lists, (0,)).sum() == 2 * part.items
    np.testing.assert_array_equal(part.draw(4_000, (0,))[: part.lists], part.draw(part.lists, (0,)))


@pytest.mark.parametrize("name", GENERATORS)
def test_all_parts_have_what_was_asked_for(name, web, products):
    splits, counts = {"web": (web, WEB), "shop": (products, SHOP)}[name]
    parts = (splits.train, splits.valid, splits.test)
    assert tuple(part.n_lists for part in parts) == counts
    assert len(np.unique(np.concatenate([part.query for part in parts]))) == sum(counts)
    for part in parts:
        assert part.X.dtype == np.float32
        assert part.X.flags.c_contiguous
        assert part.labels.dtype == np.int32
        assert len(part.X) == part.n_rows == part.group.sum()
        assert np.isfinite(part.X).all()


def test_519_of_the_700_features_of_web_are_used_and_lie_between_0_and_1(web):
    used = web.train.X.any(axis=0)
    assert web.train.X.shape[1] == 700
    assert used.sum() == 519
    for part in (web.train, web.valid, web.test):
        np.testing.assert_array_equal(part.X.any(axis=0), used)
        assert part.X.min() == 0
        assert part.X.max() <= 1
        assert (part.X[:, used].std(axis=0) > 0.01).all()


def test_no_two_features_of_web_are_the_same_and_many_say_nearly_the_same(web):
    X = web.train.X[:, web.train.X.any(axis=0)]
    alike = np.abs(np.corrcoef(X, rowvar=False)) - np.eye(X.shape[1])
    assert alike.max() < 0.999
    assert np.sum(alike.max(axis=1) > 0.6) > 150


def test_some_features_of_web_are_of_the_query(web):
    train = web.train
    spread = np.maximum.reduceat(train.X, starts(train)) - np.minimum.reduceat(train.X, starts(train))
    of_query = train.X.any(axis=0) & ~spread.any(axis=0)
    assert of_query.sum() == 30
    assert (train.X[:, of_query].std(axis=0) > 0.1).all()


def test_every_feature_of_shop_varies_and_is_named(products):
    assert products.train.X.shape[1] == len(shop.FEATURES) == len(set(shop.FEATURES))
    for part in (products.train, products.valid, products.test):
        assert (part.X.std(axis=0) > 0.05).all()
    for name in shop.FEATURES:
        assert f"`{name}`" in shop.__doc__


# labels


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_have_the_shares_they_should(name, seed):
    """Over 20,000 lists; the limits come from 8,192 others. The tolerance is four standard errors, by lists."""
    draw_world, sizes = GENERATORS[name]
    world = draw_world(seed)
    limits = grade_limits(world, sizes[0], seed)
    group, rng = sizes[0].draw(20_000, (seed,)), np.random.default_rng(seed)
    labels = np.searchsorted(limits, world.draw_utility(world.draw_hidden(group, rng), rng), side="right")
    for label, share in enumerate(world.label_shares):
        excess = np.add.reduceat((labels == label) - share, np.cumsum(group) - group)
        standard_error = excess.std() * np.sqrt(20_000) * np.sqrt(1 + 20_000 / 8_192) / len(labels)
        assert standard_error < 0.005
        assert abs(np.mean(labels == label) - share) < 4 * standard_error
    if name == "web":
        assert world.label_shares == (0.22, 0.50, 0.22, 0.04, 0.02)
        assert 0.03 < np.mean(np.maximum.reduceat(labels, np.cumsum(group) - group) == 0) < 0.042


def test_labels_and_lists_without_a_relevant_item_are_as_promised_in_what_is_handed_out(web):
    """1,000 lists: the standard error of 22 % is about 1 %, of 3.6 % of lists 0.6 %."""
    train = web.train
    shares = np.bincount(train.labels) / train.n_rows
    np.testing.assert_allclose(shares, (0.22, 0.50, 0.22, 0.04, 0.02), atol=0.03)
    assert 0.018 < np.mean(np.maximum.reduceat(train.labels, starts(train)) == 0) < 0.054


def test_relevance_does_not_depend_on_the_place_in_the_list(web):
    train = web.train
    centred = train.labels - np.repeat(np.add.reduceat(train.labels, starts(train)) / train.group, train.group)
    first = centred[starts(train)]
    assert abs(first.mean()) < 4 * first.std() / np.sqrt(len(first))


# worth ranking


def linear_ranker(train):
    """Least squares on features and labels, both less their average in the list."""

    def less_average(values):
        return values - np.repeat(np.add.reduceat(values, starts(train)) / train.group[:, None], train.group, axis=0)

    used = train.X.any(axis=0)
    X = less_average(train.X[:, used].astype(np.float64))
    scale = X.std(axis=0) + 1e-6
    X /= scale
    y = less_average(train.labels[:, None].astype(np.float64))
    weights = np.linalg.solve(X.T @ X + 30 * np.eye(used.sum()), X.T @ y)[:, 0] / scale
    return lambda features: features[:, used] @ weights


def lambdamart(train, trees):
    ranker = lightgbm.LGBMRanker(
        n_estimators=trees, learning_rate=0.08, num_leaves=31, min_child_samples=50, colsample_bytree=0.5, verbose=-1
    )
    return ranker.fit(train.X, train.labels, group=train.group).predict


def margin(better, worse, test):
    """How much better NDCG@10 is on average, and in standard errors of the paired difference."""
    better, worse = (tr.ndcg(score(test.X), test.labels, test.group, 10) for score in (better, worse))
    difference = (better - worse)[~np.isnan(better)]
    return difference.mean(), difference.mean() / difference.std() * np.sqrt(len(difference))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_trained_ranker_beats_a_linear_one_which_beats_chance(name, request):
    lists, ranker = {"web": ("web", "trained_on_web"), "shop": ("products", "trained_on_products")}[name]
    splits, trained = request.getfixturevalue(lists), request.getfixturevalue(ranker)
    linear = linear_ranker(splits.train)
    gain, errors = margin(trained, linear, splits.test)
    assert gain > 0.01
    assert errors > 3
    gain, errors = margin(linear, lambda X: np.random.default_rng(0).random(len(X)), splits.test)
    assert gain > 0.1
    assert errors > 10
    assert np.nanmean(tr.ndcg(trained(splits.test.X), splits.test.labels, splits.test.group, 10)) < 0.9


def test_a_ranker_trained_on_few_lists_is_mediocre(web, trained_on_web):
    """One in a hundred of the full size: as the initial ranking of the paper's experiment."""
    few = lambdamart(first_lists(web.train, 199), 50)
    gain, errors = margin(trained_on_web, few, web.test)
    assert gain > 0.015
    assert errors > 3
    assert margin(few, lambda X: np.random.default_rng(0).random(len(X)), web.test)[0] > 0.1


# the same for the same seed


@pytest.mark.parametrize("name", GENERATORS)
def test_smaller_parts_are_the_first_lists_of_larger_ones_for_any_number_of_threads(name, monkeypatch):
    large = tr.generate_dataset(name, (520, 30, 257), seed=5)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    small = tr.generate_dataset(name, (300, 30, 256), seed=5)
    assert_same(small.train, first_lists(large.train, 300))
    assert_same(small.valid, large.valid)
    assert_same(small.test, first_lists(large.test, 256))


@pytest.mark.parametrize("name", GENERATORS)
def test_another_seed_is_another_world_and_parts_differ(name):
    one, other = (tr.generate_dataset(name, (20, 20, 20), seed=seed) for seed in (0, 1))
    assert not np.array_equal(one.train.group, other.train.group)
    assert not np.array_equal(one.train.group, one.test.group)
    assert not np.isin(one.train.X[:, 0], [0]).all() or name == "web"
    rows = min(one.train.n_rows, other.train.n_rows)
    assert not np.array_equal(one.train.X[:rows], other.train.X[:rows])
    if name == "web":
        assert not np.array_equal(one.train.X.any(axis=0), other.train.X.any(axis=0))


@pytest.mark.parametrize("name", GENERATORS)
def test_one_list_a_part_will_do(name):
    splits = tr.generate_dataset(name, (1, 1, 1))
    assert [part.n_lists for part in (splits.train, splits.valid, splits.test)] == [1, 1, 1]


def test_memory_holds_the_result_and_a_few_blocks():
    tracemalloc.start()
    train = tr.generate_dataset("web", (1_200, 1, 1)).train
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert train.X.nbytes > 70e6
    assert peak < 1.4 * train.X.nbytes


def test_progress_counts_lists():
    told = []
    tr.generate_dataset("shop", (300, 10, 10), progress=lambda done, total: told.append((done, total)))
    assert told == [(256, 320), (300, 320), (310, 320), (320, 320)]


# the shop


def test_shop_feedback_and_grid_make_a_log_of_clicks_carts_and_purchases(products):
    train = products.train
    grid = tr.RowSkipping(0.3, 0.95, shop.row_lengths(shop.LARGEST_PAGE))
    sessions = tr.simulate_clicks(train, grid, 8, seed=1, feedback=shop.FEEDBACK, require_click=False)
    counts = np.bincount(sessions.clicks)
    assert len(counts) == 4
    assert (counts[:-1] > counts[1:]).all()
    grade, seen = train.labels[sessions.item], grid.marginal(sessions.positions)
    for level in (1, 2, 3):
        expected = np.array(shop.FEEDBACK)[grade, level - 1] * seen
        excess = (sessions.clicks >= level) - expected
        assert abs(excess.sum()) < 4 * np.sqrt(np.sum(expected * (1 - expected)))


def test_how_people_look_at_the_shop_is_found_again_from_its_log(products, tmp_path):
    """γ and C within four standard errors; the grid is read from the columns of the log."""
    grid = tr.RowSkipping(0.3, 0.9, shop.row_lengths(12))
    log = tr.simulate_log(
        first_lists(products.train, 150),
        grid,
        tmp_path / "log.parquet",
        100,
        seed=2,
        at=12,
        feedback=shop.FEEDBACK,
        require_click=False,
    )
    found = tr.propensity.row_skipping(log).parameters
    for name, truth in (("gamma", 0.3), ("continuation", 0.9)):
        estimate, standard_error = found[name]
        assert standard_error < 0.04
        assert abs(estimate - truth) < 4 * standard_error


def test_shop_documents_its_feedback():
    for grade, chances in enumerate(shop.FEEDBACK):
        assert f"| {grade} | {' | '.join(f'{chance:g}' for chance in chances)} |".replace("0.2 |", "0.20 |") in (
            shop.__doc__
        )


def test_rows_of_the_grid_hold_four_and_the_last_what_is_left():
    assert [shop.row_lengths(n) for n in (1, 4, 9)] == [[1], [4], [4, 4, 1]]
    with pytest.raises(InputError, match="n_products is 0"):
        shop.row_lengths(0)


# refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "yahoo-set1"}, "no generator named 'yahoo-set1'; there are shop, web.*load_dataset"),
        ({"lists": 100}, "lists is 100; it needs three numbers"),
        ({"lists": (100, 10)}, "three numbers"),
        ({"lists": (100, 0, 10)}, "lists, to valid, is 0; it must be a whole number from 1"),
        ({"lists": (100, 10, 2.5)}, "lists, to test, is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
    ],
)
def test_what_cannot_be_generated_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        tr.generate_dataset(**{"name": "shop", **arguments})


def test_asking_the_loader_for_a_generated_set_says_where_it_is():
    with pytest.raises(InputError, match=r"no data set named 'web'.*truerank\.generate_dataset"):
        tr.load_dataset("web")
    with pytest.raises(InputError, match="folder is missing: it says where the files of mq2008 are"):
        tr.load_dataset("mq2008")
