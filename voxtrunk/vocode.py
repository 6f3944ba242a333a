"""``voxtrunk vocode``: a recording through analysis and vocoder, chunk by chunk as in a call."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from synth.resynthesis import Resynthesis, in_chunks
from synth.vocoder import Vocoder
from synth.vocoder_file import VocoderError
from telephony.leg import SAMPLE_RATE_HZ, Pcm, TelephonyError
from telephony.wav_leg import write_wav


def vocode_file(source: Path, out: Path, vocoder_path: Path, chunk_ms: float = 20.0) -> str:
    """Copy ``source`` to ``out`` (16 kHz mono, 16 bit) through a vocoder; same length, the delay taken off.

    Args:
        source: a recording of any rate and number of channels that libsndfile reads.
        out: WAV to write.
        vocoder_path: the vocoder's file.
        chunk_ms: a whole number of the vocoder's frames.

    Returns:
        What was done, for the terminal.

    Raises:
        TelephonyError: ``source`` cannot be read or is empty.
        VocoderError: the vocoder cannot be used, or not in such chunks.
        OSError: ``out`` cannot be written.
    """
    import soxr

    recording, rate_hz = _read(source)
    chunk_frames = _chunk_frames(vocoder_path, chunk_ms)
    with Vocoder.open(vocoder_path, chunk_frames=chunk_frames) as vocoder:
        file = vocoder.file
        chunk_samples = chunk_frames * file.hop_samples
        # What is loaded at first use is not what a chunk takes.
        in_chunks(vocoder, np.full(2 * chunk_samples, 0.1, np.float32), chunk_samples)
        speech = np.asarray(soxr.resample(recording, rate_hz, file.sample_rate_hz), np.float32)
        copy = in_chunks(vocoder, speech, chunk_samples)
        write_wav(out, np.asarray(soxr.resample(copy.pcm, file.sample_rate_hz, SAMPLE_RATE_HZ), np.float32))
        return _in_words(out, file.name, file.precision, copy, len(speech) / file.sample_rate_hz)


def _read(source: Path) -> tuple[Pcm, int]:
    import soundfile

    try:
        samples, rate_hz = soundfile.read(source, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise TelephonyError(f"{source}: not a readable recording ({error.error_string})") from error
    if not len(samples):
        raise TelephonyError(f"{source}: there is nothing in it")
    return samples.mean(axis=1), rate_hz


def _chunk_frames(vocoder_path: Path, chunk_ms: float) -> int:
    from synth.vocoder_file import VocoderFile

    file = VocoderFile.open(vocoder_path)
    frame_ms = file.hop_samples * 1000.0 / file.sample_rate_hz
    frames = round(chunk_ms / frame_ms)
    if frames < 1 or abs(frames * frame_ms - chunk_ms) > 1e-6 * chunk_ms:
        raise VocoderError(
            f"{file.name} has frames of {frame_ms:g} ms; chunks are one or more of them, not {chunk_ms:g} ms"
        )
    return frames


def _in_words(out: Path, name: str, precision: str, copy: Resynthesis, seconds: float) -> str:
    return (
        f"{out}: {seconds:.2f} s through {name} ({precision}), real-time factor {copy.took_ms / 1000 / seconds:.3f}, "
        f"first chunk {copy.first_chunk_ms:.1f} ms, delay {copy.delay_ms:.1f} ms beyond the chunk"
    )
