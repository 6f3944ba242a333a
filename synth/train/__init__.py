"""Training of the vocoder: ``python -m synth.train``. Needs the ``train`` extra."""
