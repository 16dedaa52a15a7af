// The recorder's clock: which counter event words are stamped with, and how it maps to the
// kernel's clocks. Decided once per process; every function may be called from any thread.
#pragma once

#include <cstdint>

#include "src/format/format.h"

namespace crosscut::record {

// One reading of counter and kernel clock together. `tick` was read within `error_ns` of `ns`.
struct ClockReading {
  uint64_t tick = 0;
  int64_t ns = 0;
  int64_t error_ns = 0;
};

// Decides the counter; called when the library is loaded, cheap when called again. The TSC is
// taken where the CPU calls it invariant, the kernel has not given it up as its clock source, and
// this process may read it; CROSSCUT_CLOCK=monotonic (honoured unless `secure`) forbids it.
void ClockInit(bool secure);

format::TickSource ClockSource();

// True where event words may be stamped inline with crosscut_ticks_().
bool ClockIsInline();

// Full ticks, not cut to 48 bits.
uint64_t ClockNow();

// Measured between the library's load and now; waits at most 0.2 ms where that was just now.
double ClockNsPerTick();

// How far a clock that was read between two readings of the counter, `width` ticks apart, may lie
// from the tick in their middle, and any later event from its own: half the bracket, and a tick,
// since a counter tells only which tick it is in. A tick is 0.3 ns of a TSC, and 42 ns on an arm64
// machine that counts at 24 MHz.
int64_t ReadingErrorNs(uint64_t width, double ns_per_tick);

// The tightest of several bracketed readings of `clock_id` (kClockMonotonic or kClockRealtime).
ClockReading ClockRead(format::ClockId clock_id);

// Tests: replaces the counter by `now` (null: back to the real one); the inline path stays off.
void ClockInjectForTest(uint64_t (*now)());

}  // namespace crosscut::record
