"""The [log] section."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from probes.settings import LogSettings


def test_the_defaults_keep_transcripts_out() -> None:
    settings = LogSettings()
    assert (settings.level, settings.transcripts, settings.stats_interval_s) == ("info", False, 10.0)


@pytest.mark.parametrize(
    "wrong", [{"level": "loud"}, {"stats_interval_s": 0}, {"queue_lines": 1}, {"transcript": True}]
)
def test_wrong_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LogSettings.model_validate(wrong)


def test_every_key_is_described() -> None:
    assert all(field.description for field in LogSettings.model_fields.values())
