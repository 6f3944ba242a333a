"""Measuring instruments: our own SIP/RTP caller and the benchmarks that place real calls with it."""
