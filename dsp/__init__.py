"""Signal processing that several packages use. Imports nothing of ours."""
