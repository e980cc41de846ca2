"""Train with truerank, serve with LightGBM alone: the model is a plain LightGBM text file.

python examples/serve_with_lightgbm.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SERVER = """
import sys
import lightgbm
import numpy as np

booster = lightgbm.Booster(model_file="model.txt")
page = np.loadtxt("page.csv", delimiter=",")
print(*np.argsort(-booster.predict(page)))
print("truerank was not needed" if "truerank" not in sys.modules else "truerank was imported")
"""


def train(folder: Path) -> list[int]:
    """Train on a click log; keep the model and one page to rank. The order that truerank gives comes back."""
    import truerank as tr

    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(10_000, 5)), [10] * 1_000
    relevant = rng.random(len(X)) < 1 / (1 + np.exp(2 - 2 * X[:, 0]))
    looks = tr.Continuous(tr.inverse_rank(10))
    clicks = relevant & looks.sample(1_000, 10, rng).ravel()
    ranker = tr.LambdaMARTRanker("robust", looks, n_estimators=30)
    ranker.fit(X, clicks, group=group, position=tr.list_order(group))
    ranker.save_model(folder / "model.txt")
    np.savetxt(folder / "page.csv", X[:10], delimiter=",")
    return [int(k) for k in np.argsort(-ranker.predict(X[:10]))]


def main() -> None:
    """Train here, rank a page in a process that knows only LightGBM, and compare."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = train(Path(folder))
        answer = subprocess.run(
            [sys.executable, "-c", SERVER], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
    served, how = answer.splitlines()
    print("order served by LightGBM alone:", served)
    print(how)
    if [int(k) for k in served.split()] != wanted:
        sys.exit(f"truerank would have served {wanted}")


if __name__ == "__main__":
    main()
