"""The errors and warnings of truerank: every message says what is wrong, the value seen, and what to do."""


class TruerankError(Exception):
    """Base of everything truerank raises on purpose."""


class InputError(TruerankError, ValueError):
    """Data or an argument that cannot be used as given."""


class ExaminationError(InputError):
    """An examination model that is not a set of probabilities, or a position it does not cover."""


class IdentificationError(InputError):
    """A log from which what was asked for cannot be told, however it is computed."""


class FileFormatError(InputError):
    """A file that is damaged, or not in the format it should have."""


class MissingDataError(InputError, FileNotFoundError):
    """Files of a data set are not where they were looked for."""


class ResourceError(TruerankError):
    """Memory or disk ran out."""


class MissingExtraError(TruerankError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Hint: pip install 'truerank[{extra}]'")


class TruerankWarning(UserWarning):
    """Base of the warnings of truerank."""


class ClippedPropensityWarning(TruerankWarning):
    """Propensities were raised to `min_propensity`, as asked: less variance, some bias."""


class PropensityWarning(TruerankWarning):
    """Estimated or imported propensities that should be looked at before they are used."""


class BiasedMetricWarning(TruerankWarning):
    """A debiased model is being judged by a metric that shares the bias of the clicks."""


class DefaultPositionWarning(TruerankWarning):
    """No positions were given, so the order of the rows is taken to be the order shown."""


class CacheWarning(TruerankWarning):
    """What was read could not be kept for the next time."""
