"""Text to speech: text in, 16 kHz PCM out, behind the :class:`~synth.synthesizer.Synthesizer` interface."""
