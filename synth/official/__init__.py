"""NVIDIA's BigVGAN checkpoints as streaming vocoders: read, made causal, exported, measured.

Made for the layouts that :mod:`synth.official.config` lists. Needs the ``train`` extra; what it writes does not.
"""
