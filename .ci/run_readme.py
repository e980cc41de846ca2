"""Run the Python of a README from top to bottom with what is installed, outside the checkout."""

import os
import re
import sys
import tempfile
from pathlib import Path


def main(readme: str) -> None:
    """Run every block that is not marked otherwise."""
    text = Path(readme).read_text(encoding="utf-8")
    blocks = re.findall(r"(<!-- not run.*?-->\n+)?```python\n(.*?)```", text, flags=re.DOTALL)
    source = "\n".join(code for skipped, code in blocks if not skipped)
    if not source:
        sys.exit(f"{readme} has no Python to run")
    os.chdir(tempfile.mkdtemp())
    exec(compile(source, readme, "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main(sys.argv[1])
