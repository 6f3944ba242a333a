"""Turns the caller's frames into turns: a state machine without threads, tasks or a clock of its own."""

from __future__ import annotations

from collections import deque
from itertools import islice
from math import ceil
from typing import Final

import numpy as np

from dialog.listen_events import (
    BargeInSpeech,
    ListenEvent,
    Pause,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
)
from dialog.settings import ListenSettings
from dialog.vad import WINDOW_MS, Vad, Window
from telephony.leg import SAMPLE_RATE_HZ, Frame, Pcm

_HYSTERESIS: Final = 0.15
"""Inside speech a window counts as voiced down to this much under the threshold (Silero's own rule)."""

_ONSET_SLACK_WINDOWS: Final = 3
"""Unvoiced windows allowed among those that make up the onset of speech."""

_BLOCK_SAMPLES: Final = 128
_BLOCK_MS: Final = 1000 * _BLOCK_SAMPLES / SAMPLE_RATE_HZ
_BLOCK_DB: Final = -25.0
"""Blocks of 8 ms this far under the loudest of the sound are not counted as voiced for a barge-in."""

_WINDOW_NS: Final = int(WINDOW_MS * 1e6)


class Listener:
    """Finds where the caller speaks, pauses and has finished.

    Durations are counted in samples, so that network jitter does not shorten or lengthen a silence; the
    frames' capture times are only passed on. Memory is bounded by ``max_utterance_s``.
    """

    def __init__(self, settings: ListenSettings, vad: Vad) -> None:
        self._settings = settings
        self._vad = vad
        onset = ceil(settings.min_speech_ms / WINDOW_MS) + _ONSET_SLACK_WINDOWS
        self._onset: deque[bool] = deque(maxlen=onset)
        self._recent: deque[Window] = deque(maxlen=onset + ceil(settings.pre_roll_ms / WINDOW_MS))
        self._loud: deque[tuple[float, ...]] = deque(maxlen=ceil(settings.barge_in_window_ms / WINDOW_MS))
        self._utterance: list[Window] = []
        self._max_windows = int(settings.max_utterance_s * 1000 / WINDOW_MS)
        self._in_speech = False
        self._paused = False
        self._interrupted = False
        self._silent_windows = 0
        self._voiced_windows = 0
        self._started_ns = 0
        self._last_voiced_ns = 0

    @property
    def in_speech(self) -> bool:
        """True from the onset of speech to the end of the turn, pauses included."""
        return self._in_speech

    def feed(self, frame: Frame) -> list[ListenEvent]:
        """Take the next 20 ms; return what became known by it, in order."""
        events: list[ListenEvent] = []
        windows = self._vad.feed(frame.pcm)
        newest_end_ns = frame.captured_ns - self._vad.pending_samples * 1_000_000_000 // SAMPLE_RATE_HZ
        for age, window in zip(range(len(windows) - 1, -1, -1), windows, strict=True):
            end_ns = newest_end_ns - age * _WINDOW_NS
            events += self._speech(window, end_ns) if self._in_speech else self._silence(window, end_ns)
            if self._interrupts(window):
                events.append(BargeInSpeech(frame.captured_ns))
        return events

    def _silence(self, window: Window, end_ns: int) -> list[ListenEvent]:
        self._recent.append(window)
        self._onset.append(window.probability >= self._settings.vad_threshold)
        voiced = sum(self._onset)
        if voiced * WINDOW_MS < self._settings.min_speech_ms:
            return []
        since_first = len(self._onset) - self._onset.index(True)
        keep = min(len(self._recent), since_first + ceil(self._settings.pre_roll_ms / WINDOW_MS))
        self._in_speech = True
        self._utterance = list(islice(self._recent, len(self._recent) - keep, None))
        self._started_ns = end_ns - since_first * _WINDOW_NS
        self._last_voiced_ns = end_ns
        self._voiced_windows = voiced
        return [SpeechStarted(self._started_ns)]

    def _speech(self, window: Window, end_ns: int) -> list[ListenEvent]:
        events: list[ListenEvent] = []
        self._utterance.append(window)
        if window.probability >= self._settings.vad_threshold - _HYSTERESIS:
            self._silent_windows = 0
            self._voiced_windows += 1
            self._last_voiced_ns = end_ns
            if self._paused:
                self._paused = False
                events.append(SpeechResumed())
        else:
            self._silent_windows += 1
        silent_ms = self._silent_windows * WINDOW_MS
        if silent_ms >= self._settings.trailing_silence_ms:
            events += self._end_turn(end_ns, cut=False)
        elif len(self._utterance) >= self._max_windows:
            events += self._end_turn(end_ns, cut=True)
        elif silent_ms >= self._settings.early_pause_ms and not self._paused:
            self._paused = True
            if self._is_speech():
                events.append(Pause(self._audio(), self._last_voiced_ns))
        return events

    def _end_turn(self, end_ns: int, *, cut: bool) -> list[ListenEvent]:
        events: list[ListenEvent] = []
        if self._is_speech():
            speech_ms = self._voiced_windows * WINDOW_MS
            events.append(TurnEnded(self._audio(), self._started_ns, self._last_voiced_ns, end_ns, speech_ms, cut))
        trailing = self._utterance[len(self._utterance) - self._silent_windows :]
        self._reset()
        self._recent.extend(trailing)
        if cut:
            # The caller is still speaking: the next turn begins here, without repeating what this one holds.
            self._in_speech = True
            self._started_ns = self._last_voiced_ns = end_ns
        return events

    def _is_speech(self) -> bool:
        return self._voiced_windows * WINDOW_MS >= self._settings.min_speech_ms

    def _interrupts(self, window: Window) -> bool:
        """True once an utterance, when its voiced 8 ms blocks of late add up to the configured time."""
        if window.probability >= self._settings.vad_threshold:
            power = np.square(window.pcm.reshape(-1, _BLOCK_SAMPLES)).mean(axis=1)
            self._loud.append(tuple(power.tolist()))
        else:
            self._loud.append(())
        if self._interrupted or not self._in_speech:
            return False
        blocks = [power for window_blocks in self._loud for power in window_blocks]
        floor = max(blocks, default=0.0) * 10.0 ** (_BLOCK_DB / 10.0)
        voiced_ms = sum(power > floor for power in blocks) * _BLOCK_MS
        self._interrupted = bool(voiced_ms >= self._settings.barge_in_min_speech_ms)
        return self._interrupted

    def _audio(self) -> Pcm:
        return np.concatenate([window.pcm for window in self._utterance])

    def _reset(self) -> None:
        self._in_speech = self._paused = self._interrupted = False
        self._silent_windows = self._voiced_windows = 0
        self._utterance = []
        self._onset.clear()
        self._recent.clear()
        self._loud.clear()
