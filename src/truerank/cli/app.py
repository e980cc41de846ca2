"""The verbs of `truerank`, and what a person sees when one of them fails.

Exit codes: 0 done; 1 refused, with one line that says what to do; 2 wrong usage; 3 a fault of truerank itself; 130
stopped by Ctrl-C. Files are written whole or not at all, whichever it was.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from truerank.cli import console
from truerank.errors import TruerankError

# In the order of the help; each is a function of this name in a file of this name, which imports nothing heavy at its
# top: `truerank --help` reads them all.
VERBS = ("demo", "simulate", "summary", "estimate", "train", "evaluate", "reproduce", "report")

REFUSED, FAULT, INTERRUPTED = 1, 3, 130

app = typer.Typer(
    name="truerank",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _verb in VERBS:
    app.command(_verb)(getattr(importlib.import_module(f"truerank.cli.{_verb}"), _verb))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"truerank {importlib.metadata.version('truerank')}")
        raise typer.Exit


@app.callback()
def _truerank(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Unbiased rankers from biased clicks.

    `truerank VERB --help` explains a verb and has an example that runs.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(app)
    with warnings.catch_warnings():
        warnings.showwarning = console.show_warning
        try:
            command(given, prog_name="truerank")
        except (TruerankError, OSError) as error:
            _fail(error, REFUSED, _message(error), "--debug" in given)
        except Exception as error:
            said = f"{type(error).__name__}: {error}. Hint: `truerank --debug …` shows where; please report it"
            _fail(error, FAULT, said, "--debug" in given)
        except SystemExit as stop:
            if stop.code == INTERRUPTED:
                console.say("\nstopped; files that were not complete are not there")
            raise


def _message(error: TruerankError | OSError) -> str:
    """What an error says; of the system's own, the file and what is wrong with it."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _fail(error: Exception, code: int, message: str, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    console.fail(" ".join(message.split()))
    sys.exit(code)
