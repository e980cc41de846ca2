"""What every pair function must do: its value by hand, its derivatives, and no overflow."""

import numpy as np
import pytest
from numpy import exp, log

from truerank import (
    Hinge,
    Independent,
    Jet,
    PairFunction,
    Ramp,
    RankNet,
    RankNetWithTies,
    Sigmoid,
    Square,
    UnbiasedPairwiseLoss,
)
from truerank.errors import InputError
from truerank.losses import SquaredHinge

TERMS = ("l11", "l10", "l01", "l00")

# Away from the kinks of the hinges, where σ (s_i − s_j) = ±1.
S_I = np.array([0.0, 1.7, -0.4, 2.0, -3.0, 0.3])
S_J = np.array([0.0, 0.3, 1.1, -2.0, 0.5, 0.25])


def terms_of(pair):
    """The terms of a pair function that are not zero, by name."""
    return {name: term for name in TERMS if (term := getattr(pair, name))(S_I, S_J) is not None}


@pytest.mark.parametrize("sigma", [1.0, 2.0])
@pytest.mark.parametrize(
    ("kind", "by_hand"),
    [
        (RankNet, lambda d: log(1 + exp(-d))),
        (Hinge, lambda d: max(0, 1 - d)),
        (SquaredHinge, lambda d: max(0, 1 - d) ** 2),
        (Square, lambda d: (1 - d) ** 2),
        (RankNetWithTies, lambda d: log(1 + exp(-d))),
        (Sigmoid, lambda d: 1 / (1 + exp(d))),
        (Ramp, lambda d: min(1, max(0, (1 - d) / 2))),
    ],
)
def test_l10_has_its_value_by_hand(kind, by_hand, sigma):
    expected = [by_hand(sigma * (s_i - s_j)) for s_i, s_j in zip(S_I, S_J, strict=True)]
    np.testing.assert_allclose(kind(sigma).l10(S_I, S_J).value, expected, rtol=1e-12)


@pytest.mark.parametrize("sigma", [1.0, 2.0])
@pytest.mark.parametrize("term", ["l11", "l00"])
def test_ties_have_their_value_by_hand(term, sigma):
    d = sigma * (S_I - S_J)
    expected = log(1 + exp(-d)) / 2 + log(1 + exp(d)) / 2
    np.testing.assert_allclose(getattr(RankNetWithTies(sigma), term)(S_I, S_J).value, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [RankNet, Hinge, SquaredHinge, Square, Sigmoid, Ramp])
def test_ties_cost_nothing_unless_asked_for(kind):
    assert kind().l11(S_I, S_J) is None
    assert kind().l00(S_I, S_J) is None


def test_derivatives_agree_with_central_differences(pair):
    h = 1e-6
    for term in terms_of(pair).values():
        jet = term(S_I, S_J)
        after_i, before_i = term(S_I + h, S_J), term(S_I - h, S_J)
        after_j, before_j = term(S_I, S_J + h), term(S_I, S_J - h)
        for given, after, before in (
            (jet.d_i, after_i.value, before_i.value),
            (jet.d_j, after_j.value, before_j.value),
            (jet.d_ii, after_i.d_i, before_i.d_i),
            (jet.d_jj, after_j.d_j, before_j.d_j),
            (jet.d_ij, after_j.d_i, before_j.d_i),
            (jet.d_ij, after_i.d_j, before_i.d_j),
        ):
            np.testing.assert_allclose(given, (after - before) / (2 * h), rtol=1e-6, atol=1e-6)


def test_l01_is_l10_with_the_pair_turned_round(built_in_pair):
    turned, straight = built_in_pair.l01(S_I, S_J), built_in_pair.l10(S_J, S_I)
    np.testing.assert_array_equal(np.stack(turned), np.stack(straight)[[0, 2, 1, 4, 3, 5]])


def test_ties_do_not_depend_on_the_order_of_the_pair():
    for term in (RankNetWithTies().l11, RankNetWithTies().l00):
        np.testing.assert_allclose(np.stack(term(S_I, S_J)), np.stack(term(S_J, S_I))[[0, 2, 1, 4, 3, 5]], atol=1e-12)


def test_swapping_a_jet_twice_changes_nothing(pair):
    jet = pair.l10(S_I, S_J)
    np.testing.assert_array_equal(np.stack(jet.swapped().swapped()), np.stack(jet))


def test_scores_far_apart_do_not_overflow(built_in_pair):
    far = np.array([1000.0, -1000.0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for term in terms_of(built_in_pair).values():
            assert np.all(np.isfinite(np.stack(term(far, -far / 1e3))))
    loss = UnbiasedPairwiseLoss(Independent([1, 0.5]), built_in_pair)
    for labels in ([1, 0], [0, 1], [1, 1], [0, 0]):
        given = (far / 2, labels, [1, 2], [2])
        assert np.isfinite(loss.value(*given))
        assert np.all(np.isfinite(loss.gradient_hessian(*given)))


def test_ranknet_far_on_the_wrong_side_costs_the_distance():
    np.testing.assert_allclose(RankNet().l10(np.array([-500.0]), np.array([500.0])).value, 1000)
    assert UnbiasedPairwiseLoss(None).value([-500, 500], [1, 0], None, [2]) == pytest.approx(2 * 1000)


@pytest.mark.parametrize("kind", [Sigmoid, Ramp])
def test_bounded_pair_functions_stay_between_0_and_1_and_cost_a_pair_1_in_both_orders_together(kind):
    far = np.array([-1e6, -30.0, -0.2, 0.0, 0.9, 1e6])
    one_way, other_way = kind().l10(far, 0 * far).value, kind().l01(far, 0 * far).value
    assert np.all((one_way >= 0) & (one_way <= 1))
    np.testing.assert_allclose(one_way + other_way, 1, rtol=1e-12)


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf")])
def test_sigma_that_is_not_above_zero_is_refused(sigma):
    for build in (RankNet, Hinge, lambda s: UnbiasedPairwiseLoss(None, "square", sigma=s)):
        with pytest.raises(InputError, match=rf"sigma is {sigma}; it must be a number above 0"):
            build(sigma)


@pytest.mark.parametrize("pair", ["rank_net", "", None, RankNet, 3, ["hinge"]], ids=str)
def test_unknown_pair_function_is_refused_with_the_known_names(pair):
    with pytest.raises(InputError, match=r"pair is .*; it must be a PairFunction or one of 'ranknet', 'hinge'"):
        UnbiasedPairwiseLoss(None, pair)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ranknet", RankNet),
        ("hinge", Hinge),
        ("squared_hinge", SquaredHinge),
        ("square", Square),
        ("ranknet_with_ties", RankNetWithTies),
        ("sigmoid", Sigmoid),
        ("ramp", Ramp),
    ],
)
def test_name_and_sigma_stand_for_the_pair_function(clicks, name, kind):
    by_name, built = UnbiasedPairwiseLoss(None, name, sigma=1.5), UnbiasedPairwiseLoss(None, kind(1.5))
    assert by_name.pair == built.pair
    assert by_name.value(*clicks) == built.value(*clicks)


def test_what_is_derived_from_a_built_in_uses_its_own_terms(clicks):
    class Doubled(RankNet):
        def l10(self, s_i, s_j):
            return Jet(*(2 * part for part in super().l10(s_i, s_j)))

    plain, doubled = UnbiasedPairwiseLoss(None, RankNet()), UnbiasedPairwiseLoss(None, Doubled())
    assert doubled.value(*clicks) == pytest.approx(2 * plain.value(*clicks))


def test_pair_function_without_l10_cannot_be_built():
    class Nothing(PairFunction):
        pass

    with pytest.raises(TypeError, match="l10"):
        Nothing()
