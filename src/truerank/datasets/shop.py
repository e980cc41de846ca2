"""The generated data set `shop`: searches in an online shop, whose results stand in a grid of four columns.

A product is judged from 0 (not what was searched for) to 4 (just the one) by how it matches the query, how good an
offer it is and how well known, where the query decides what matters: some people hunt for bargains, some for a brand,
and some just look around. The features, named in `FEATURES`, are what a shop knows:

| feature | what it is |
| --- | --- |
| `text_match`, `title_match`, `category_match` | how well description, title and category match the query |
| `brand_match` | 1 if the query names a brand and the product is of it |
| `price`, `price_to_list` | the price on a logarithmic scale; the same, less the average of the list |
| `discount` | by how much the price is reduced; mostly 0 |
| `rating`, `log_reviews` | the average of one to five stars; the logarithm of 1 + how many gave some |
| `popularity`, `views`, `sales` | three measures of how well known it is, which agree by and large |
| `novelty`, `delivery_days`, `in_stock` | how new it is; 1 to 13 days; 1 or 0 |
| `image_quality` | of the picture, from 0 to 1 |
| `query_words`, `query_names_brand`, `query_frequency` | the same for all products of a list |
| `list_size` | how many products were found |

Grids: `row_lengths(n)` lays out n products for `truerank.RowSkipping`. Graded feedback: `FEEDBACK`, for
`simulate_clicks(feedback=...)`, has P(click), P(cart or more) and P(purchase) of an examined product of each grade:

| grade | click | cart | purchase |
| --- | --- | --- | --- |
| 0 | 0 | 0 | 0 |
| 1 | 0.06 | 0.01 | 0.002 |
| 2 | 0.18 | 0.05 | 0.015 |
| 3 | 0.38 | 0.15 | 0.06 |
| 4 | 0.65 | 0.38 | 0.20 |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.datasets.worlds import Floats, ListSizes
from truerank.ragged import check_number, offsets_from_sizes
from truerank.types import FloatArray, IntArray

COLUMNS = 4
FEEDBACK = (
    (0.0, 0.0, 0.0),
    (0.06, 0.01, 0.002),
    (0.18, 0.05, 0.015),
    (0.38, 0.15, 0.06),
    (0.65, 0.38, 0.20),
)
FEATURES = (
    "text_match",
    "title_match",
    "category_match",
    "brand_match",
    "price",
    "price_to_list",
    "discount",
    "rating",
    "log_reviews",
    "popularity",
    "views",
    "sales",
    "novelty",
    "delivery_days",
    "in_stock",
    "image_quality",
    "query_words",
    "query_names_brand",
    "query_frequency",
    "list_size",
)
LARGEST_PAGE = 48


def row_lengths(n_products: int) -> list[int]:
    """How many products each row of the grid holds; the last may have fewer.

    >>> row_lengths(10)
    [4, 4, 2]
    """
    check_number(n_products, "n_products", 1, whole=True)
    full, rest = divmod(int(n_products), COLUMNS)
    return [COLUMNS] * full + [rest] * (rest > 0)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What stands behind some lists: their sizes, and a number a product; what is of the query is repeated for each."""

    sizes: IntArray
    match: Floats
    in_category: Floats
    of_brand: Floats
    price: Floats
    discount: Floats
    quality: Floats
    known: Floats
    reviews: Floats
    newness: Floats
    days: Floats
    in_stock: Floats
    bargain: Floats
    brand_query: Floats
    browsing: Floats
    luck: Floats

    @property
    def price_to_list(self) -> Floats:
        """The price, less the average of the list."""
        averages = np.add.reduceat(self.price, offsets_from_sizes(self.sizes)[:-1]) / self.sizes
        return self.price - np.repeat(averages, self.sizes).astype(np.float32)


@dataclass(frozen=True, slots=True)
class ShopWorld:
    """How features and relevance hang together, for one seed: how much people mind this and that."""

    match: float
    category: float
    brand: float
    price: float
    quality: float
    known: float
    newness: float
    waiting: float
    luck: float = 0.9
    n_features: int = len(FEATURES)
    label_shares: tuple[float, ...] = (0.35, 0.30, 0.20, 0.10, 0.05)

    @classmethod
    def drawn(cls, seed: int) -> ShopWorld:
        """The world of a seed."""
        usual = (1.2, 0.9, 1.3, 0.9, 0.9, 0.5, 0.7, 0.4)
        return cls(*(np.random.default_rng([seed, 0]).uniform(0.8, 1.2, len(usual)) * usual).tolist())

    def draw_hidden(self, sizes: IntArray, rng: np.random.Generator) -> Hidden:
        """Products that match a query more or less, and what the query is after."""
        n = int(sizes.sum())

        def normal() -> Floats:
            return rng.standard_normal(n, dtype=np.float32)

        def happens(chance: float) -> Floats:
            return (rng.random(n, dtype=np.float32) < chance).astype(np.float32)

        def of_query(values: npt.NDArray[Any]) -> Floats:
            return np.repeat(values.astype(np.float32), sizes)

        bargain, browsing, luck, price_level = (of_query(rng.standard_normal(len(sizes))) for _ in range(4))
        brand_query = of_query(rng.random(len(sizes)) < 0.35)
        quality, known = normal(), normal()
        return Hidden(
            sizes=sizes,
            match=normal() + 0.3 * luck,
            in_category=happens(0.8),
            of_brand=happens(0.3) * brand_query,
            price=0.7 * normal() + 0.3 * quality + price_level,
            discount=happens(0.25) * rng.uniform(0.05, 0.6, n).astype(np.float32),
            quality=quality,
            known=known,
            reviews=np.floor(np.exp(1.5 * known + 0.8 * normal() + 1)),
            newness=normal(),
            days=np.floor(1 + 13 * rng.random(n, dtype=np.float32) ** 2.5),
            in_stock=happens(0.92),
            bargain=bargain,
            brand_query=brand_query,
            browsing=browsing,
            luck=normal() * np.float32(self.luck) + np.float32(0.5) * luck,
        )

    def draw_utility(self, hidden: Hidden, rng: np.random.Generator) -> Floats:
        """What a product is worth to those who search: a good match first, then whatever the query is after."""
        h = hidden
        paid = h.price_to_list - 2 * h.discount
        fit = np.tanh(1.5 * h.match) * self.match + self.category * (h.in_category - 1)
        offer = np.where(h.bargain > 0.3, -paid * h.bargain, -0.5 * paid**2) * self.price
        offer += self.quality * h.quality * np.where(h.bargain > 0.3, 0.3, 1)
        offer += self.newness * np.maximum(h.browsing, 0) * h.newness + self.known * h.known
        offer -= self.waiting * (h.days > 5) + 2 * self.waiting * (1 - h.in_stock)
        brand = self.brand * h.brand_query * (h.of_brand - 0.3)
        utility: Floats = (fit + brand + offer / (1 + np.exp(-2 * h.match)) + h.luck).astype(np.float32)
        return utility

    def draw_features(self, hidden: Hidden, rng: np.random.Generator, X_out: Floats) -> None:
        """The columns of `FEATURES`."""
        h = hidden

        def blurred(values: Floats, noise: Any) -> Floats:
            return values + np.float32(noise) * rng.standard_normal(len(values), dtype=np.float32)

        def squashed(values: Floats) -> Any:
            return 1 / (1 + np.exp(-values))

        def of_query(values: Floats) -> Floats:
            return np.repeat(values[offsets_from_sizes(h.sizes)[:-1]], h.sizes)

        columns: dict[str, Any] = {
            "text_match": squashed(blurred(h.match, 0.6)),
            "title_match": squashed(blurred(h.match, 0.9)),
            "category_match": np.clip(blurred(0.2 + 0.6 * h.in_category, 0.15), 0, 1),
            "brand_match": h.of_brand,
            "price": 3 + h.price,
            "price_to_list": h.price_to_list,
            "discount": h.discount,
            "rating": np.round(np.clip(3.8 + 0.6 * blurred(h.quality, 1 / np.sqrt(1 + h.reviews)), 1, 5), 1),
            "log_reviews": np.log1p(h.reviews),
            "popularity": squashed(blurred(h.known, 0.5)),
            "views": np.floor(np.exp(blurred(4 + h.known, 0.6))),
            "sales": np.floor(np.exp(blurred(1 + h.known + 0.3 * h.quality, 0.6))),
            "novelty": squashed(blurred(h.newness, 0.4)),
            "delivery_days": h.days,
            "in_stock": h.in_stock,
            "image_quality": squashed(blurred(0.4 * h.quality, 1.0)),
            "query_words": np.clip(np.round(of_query(blurred(2.5 + h.brand_query - h.browsing, 0.7))), 1, 8),
            "query_names_brand": h.brand_query,
            "query_frequency": squashed(of_query(blurred(h.browsing - 0.5 * h.bargain, 0.5))),
            "list_size": np.repeat(h.sizes, h.sizes),
        }
        X_out[:] = np.column_stack([columns[name] for name in FEATURES])


def shop_sizes(lists: int) -> ListSizes:
    """Pages of 4 to 48 products."""
    return ListSizes(lists, _size_quantile)


def _size_quantile(share: FloatArray) -> IntArray:
    from scipy import stats

    sizes: IntArray = np.clip(COLUMNS + stats.gamma.ppf(share, 1.5, scale=13), COLUMNS, LARGEST_PAGE).astype(np.int64)
    return sizes
