from __future__ import annotations

import numpy as np
import pytest

from dialog.recogniser import RecogniserError
from dialog.services import build_services
from dialog.settings import FlowSettings, ListenSettings, SttSettings
from synth.settings import SynthSettings
from synth.synthesizer import SynthesisError


async def test_warm_services_are_ready_to_speak_and_to_hear() -> None:
    services = build_services(SynthSettings(), ListenSettings(), SttSettings(), FlowSettings())
    try:
        await services.warm_up()
        assert len(services.apology_pcm) > 16000
        assert np.abs(services.apology_pcm).max() > 0.1
        assert services.new_vad() is not services.new_vad()
        assert (await services.recogniser.transcribe(np.zeros(16000, np.float32))).text == ""
    finally:
        await services.close()


@pytest.mark.parametrize(
    ("synth", "stt", "error"),
    [
        (SynthSettings(voice="nobody"), SttSettings(), SynthesisError),
        (SynthSettings(), SttSettings(model="/nowhere"), RecogniserError),
    ],
)
async def test_an_engine_that_cannot_be_loaded_is_found_at_warm_up(
    synth: SynthSettings, stt: SttSettings, error: type[Exception]
) -> None:
    services = build_services(synth, ListenSettings(), stt, FlowSettings())
    try:
        with pytest.raises(ExceptionGroup) as caught:
            await services.warm_up()
        assert caught.group_contains(error)
    finally:
        await services.close()
