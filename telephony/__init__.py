"""The phone side: SIP user agent, call legs, 20 ms PCM frames in and out, DTMF, transfer, admission."""
