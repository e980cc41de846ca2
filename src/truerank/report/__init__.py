"""What a person looks at: one HTML page with charts and their tables, which needs nothing else."""

from truerank.report.data import (
    Check,
    Clicks,
    Curve,
    Duel,
    Gap,
    Joint,
    Report,
    Score,
    Study,
    Training,
)

__all__ = ["Check", "Clicks", "Curve", "Duel", "Gap", "Joint", "Report", "Score", "Study", "Training"]
