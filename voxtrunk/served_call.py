"""One served call: its flow, its events in the log, and the wall between it and the others."""

from __future__ import annotations

import asyncio
from typing import Final

from dialog.call_meter import CallMeter
from dialog.flow import FLOWS
from dialog.services import Services
from dialog.session import run_call
from probes.call_log import CallLog
from probes.events import CallEnd, CallError, CallStart, CallStats
from probes.mos import estimate_mos
from telephony.leg import EndCause, Leg, LegStats

PACKETIZATION_MS: Final = 20.0
"""A frame is sent when it is full: part of the one-way delay."""


class ServedCall:
    """Runs the flow of one answered leg and reports on it. Nothing that goes wrong in it gets out."""

    def __init__(
        self, leg: Leg, call: str, default_flow: str, services: Services, call_log: CallLog, *, stats_interval_s: float
    ) -> None:
        """
        Args:
            leg: answered.
            call: short id, unique in this process.
            default_flow: for a called user that is not the name of a flow.
            services: warmed up.
            call_log: gets the events.
            stats_interval_s: time between two ``call.stats``.
        """
        self._leg = leg
        self._call = call
        self._flow = leg.info.called_user if leg.info.called_user in FLOWS else default_flow
        self._services = services
        self._call_log = call_log
        self._stats_interval_s = stats_interval_s
        self._meter = CallMeter()
        self._started_ns = services.clock.now_ns()

    async def run(self) -> None:
        """From the answered leg to the end of the call. Only cancellation is passed on."""
        self._emit_start()
        stats = asyncio.create_task(self._emit_stats(), name=f"{self._call} stats")
        cause = EndCause.FAILED
        try:
            outcome = await run_call(
                self._leg,
                self._flow,
                services=self._services,
                call_log=self._call_log,
                call=self._call,
                meter=self._meter,
            )
            cause = outcome.cause
        except asyncio.CancelledError:
            cause = EndCause.WE_HUNG_UP
            raise
        except Exception as error:  # whatever it is, it is this call's: logged, and the others go on
            self._call_log.emit(CallError.from_exception(self._call, "session", error, fatal=True))
        finally:
            stats.cancel()
            self._emit_end(cause)

    def _emit_start(self) -> None:
        info = self._leg.info
        self._call_log.emit(
            CallStart(
                call=self._call,
                sip_call_id=info.call_id,
                direction="inbound" if info.inbound else "outbound",
                flow=self._flow,
                caller=info.remote_uri,
                called=info.called_user,
                codec=info.codec,
                codec_rate_hz=info.codec_rate_hz,
                transport=info.transport,
                media_encryption=info.media_encryption,
                setup_ms=info.setup_ms,
            )
        )

    async def _emit_stats(self) -> None:
        while True:
            await asyncio.sleep(self._stats_interval_s)
            stats = self._leg.stats()
            chunks = self._meter.chunk_ms
            self._call_log.emit(
                CallStats(
                    call=self._call,
                    elapsed_s=self._elapsed_s(),
                    frames_in=stats.frames_in,
                    frames_out=stats.frames_out,
                    frames_late=stats.frames_late,
                    frames_lost=stats.frames_lost,
                    frames_dropped=stats.frames_dropped,
                    underruns=stats.underruns,
                    jitter_ms=stats.jitter_ms,
                    jitter_buffer_ms=stats.jitter_buffer_ms,
                    round_trip_ms=stats.round_trip_ms,
                    chunk_p50_ms=chunks.percentile(50),
                    chunk_p95_ms=chunks.percentile(95),
                    chunk_p99_ms=chunks.percentile(99),
                    mos=self._mos(stats),
                )
            )

    def _emit_end(self, cause: EndCause) -> None:
        stats = self._leg.stats()
        turns = self._meter.turn_ms
        self._call_log.emit(
            CallEnd(
                call=self._call,
                cause=cause,
                duration_s=self._elapsed_s(),
                turns=self._meter.turns,
                frames_in=stats.frames_in,
                frames_out=stats.frames_out,
                frames_lost=stats.frames_lost,
                underruns=stats.underruns,
                mos=self._mos(stats),
                turn_p50_ms=turns.percentile(50),
                turn_p95_ms=turns.percentile(95),
            )
        )

    def _elapsed_s(self) -> float:
        return (self._services.clock.now_ns() - self._started_ns) / 1e9

    def _mos(self, stats: LegStats) -> float:
        expected = stats.frames_in + stats.frames_lost
        loss_percent = 100 * stats.frames_lost / expected if expected else 0.0
        delay_ms = stats.round_trip_ms / 2 + stats.jitter_buffer_ms + PACKETIZATION_MS
        return estimate_mos(loss_percent, delay_ms, self._leg.info.codec)
