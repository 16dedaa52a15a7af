// The constants of the native trace: what a word in a ring means, what a chunk in a log holds.
//
// One vocabulary serves both halves. A recording thread writes 64-bit words into its ring; the
// drain packs the same words into log chunks; a reader gets the same words back. docs/format.md is
// the grammar. Numbers here are never reused for another meaning.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crosscut::format {

// ---- Words ------------------------------------------------------------------------------------
// An event word: the low 48 bits of the clock in bits 63..16, a code in bits 15..0. A word is
// never 0, so the first 0 in a ring chunk ends what was published.
inline constexpr int kCodeBits = 16;
inline constexpr uint64_t kCodeMask = 0xffff;
inline constexpr uint64_t kTickMask = (uint64_t{1} << 48) - 1;

// Codes >= kFirstNameCode begin a span whose name id is the code. Larger ids use kBeginWide.
inline constexpr uint16_t kFirstNameCode = 0x0100;
inline constexpr uint32_t kLastNameCode = 0xffff;

// Codes below kFirstNameCode. "n:" is the number of payload words that follow the event word.
enum Code : uint16_t {
  kEnd = 0x01,        // n: 0. Ends the innermost open span of the track that does not end by name
                      //    alone (EndsByName); those above it go on.
  kBeginWide = 0x02,  // n: 1, name id. Begins a span.
  kEndNamed = 0x03,   // n: 1, name id. Ends the innermost open span of that name and whatever is
                      //    open above it, except spans with an end of their own: above an operation
                      //    those with a probe, above another span those that end by name, above one
                      //    with kFlagCrosses all. Counted as unbalanced if none is open.
  kInstant = 0x04,    // n: 1, name id.
  kCounter = 0x05,    // n: 2, name id, value (int64).
  kArg = 0x06,        // n: 2, key name id, value (int64). Of the last span begun or instant.
  kArgName = 0x07,    // n: 2, key name id, value = a name id (an interned string).
  kFlowOut = 0x08,    // n: 1, flow id. An arrow leaves the innermost open span here.
  kFlowIn = 0x09,     // n: 1, flow id.
  kSpanAt = 0x0a,     // n: 3, name id, begin tick, end tick. A finished span from elsewhere.
  kStepLevel = 0x0b,  // n: 2, step number, level | kStepAfterSwitch. Follows the begin of a step.
                      // 0x0c was used before version 1.
  // Memory. A free of the CPU's allocator has only an address; readers know the block's size
  // and add up the totals.
  kAllocated = 0x0d,  // n: 2, address, bytes.
  kFreed = 0x0e,      // n: 1, address.
  kFreedAt = 0x0f,    // n: 2, address, tick. Freed earlier, while nothing was recorded.

  kRunning = 0x1f,  // n: 1, name id | to come << 32 | kRunningBegun. One of the calls that run on
                    //    this thread now, outermost first; "to come" says how many follow.

  kGoesOnWith = 0x2a,  // n: 2, tick, inside. The span begun last, under a name with kFlagGoesOn,
                       //    goes on with the one of its name that ended at that tick on this
                       //    thread: of several, with the one around so many of them.

  kThread = 0x10,     // n: 4, track id, OS thread id, base layer | flags, full tick. First word of
                      //    every ring chunk, and where another thread continues in the same chunk.
  kThreadEnd = 0x11,  // n: 0. The thread has ended.
  kBase = 0x12,       // n: 1, layer. The thread's layer outside every span, from here on.
  kOff = 0x13,        // n: 1, reason. Recording stopped on this thread (spans stay open).
  kOn = 0x14,         // n: 0. Recording goes on.
  kMemory = 0x16,     // n: 5, device (MemoryDevice), address, bytes (int64, < 0: freed), bytes
                      //    allocated and reserved on the device from then on.
  kNoMemory = 0x17,   // n: 4, device, bytes that could not be allocated, allocated, reserved then.
  kDrop = 0x15,       // n: 4, reason, count, first tick, last tick. Events lost just before here.

  // What a plugin pushed about a track that it declared (kTrack), in the stream of the thread that
  // pushed it, in any order of time. Times are ns of the track's clock.
  kSpanOn = 0x18,     // n: 4, track id, name id, begin, end. A finished span.
  kInstantOn = 0x19,  // n: 3, track id, name id, time.
  kCounterOn = 0x1a,  // n: 4, track id, name id, time, value (int64).
  kArgOn = 0x1b,      // n: 3, track id, key name id, value (int64). Of the last span or instant
                      //    pushed on that track by this thread.
  kArgNameOn = 0x1c,  // n: 3, track id, key name id, value = a name id.
  kFlowOn = 0x1d,     // n: 2, track id, flow id. An arrow arrives at the last span pushed so.
  kDropOn = 0x1e,     // n: 4, track id, count, begin, end. Events that the plugin lost.

  kName = 0x20,       // n: 3 + ceil(bytes / 8): id, attributes (NameAttributes), bytes, then text.
  kAnchor = 0x21,     // n: 4, clock id, tick, ns of that clock, error in ns. A plugin's clock
                      //    (id >= kFirstPluginClock): its ns, ns of CLOCK_MONOTONIC, error.
  kMeta = 0x22,       // n: 3 + ceil(b1 / 8) + ceil(b2 / 8): bytes of key, bytes of value, 0, key
                      //    text, value text. Facts of the process; keys are in docs/format.md.
  kPause = 0x23,      // n: 0. The user paused: time from here is excluded from the window.
  kResume = 0x24,     // n: 0.
  kStop = 0x25,       // n: 1, reason. The session ended.
  kProbeCost = 0x26,  // n: 6, probe name id, inside, outside, low, high, samples: picoseconds per
                      //    event; low and high bound inside + outside at 95 %.
  kStart = 0x27,      // n: 1, full tick. The session began.
  kTrack = 0x28,      // n: 6, track id, device, queue, clock id, name id, device's name id or 0: a
                      //    device's queue. Track ids count with threads' and are never a thread's.
  kFrames = 0x29,     // n: 1, 1: the hook on calls is installed; 0: it is removed, and spans with
                      //    kFlagFrame end here on all tracks.
};

// Codes of the session stream (track 0); all others stand in a thread's stream.
inline constexpr bool IsSessionCode(uint16_t code) { return code >= kName && code <= kFrames; }

// kRunning: a native call, whose span is open already if its begin was recorded.
inline constexpr uint64_t kRunningBegun = uint64_t{1} << 63;
inline constexpr uint64_t RunningToCome(uint64_t payload) { return payload >> 32 & 0x7fffffff; }

// The payload words of `code` behind its event word. A negative value -k means: k fixed words, and
// PayloadWords() computes the length of the tail. -100: the code is not known.
inline constexpr int FixedPayloadWords(uint16_t code) {
  if (code >= kFirstNameCode) return 0;
  switch (code) {
    case kEnd:
    case kThreadEnd:
    case kOn:
    case kPause:
    case kResume: return 0;
    case kBeginWide:
    case kEndNamed:
    case kInstant:
    case kFlowOut:
    case kFlowIn:
    case kFreed:
    case kBase:
    case kOff:
    case kStop:
    case kRunning:
    case kFrames:
    case kStart: return 1;
    case kCounter:
    case kArg:
    case kArgName:
    case kStepLevel:
    case kFlowOn:
    case kAllocated:
    case kFreedAt:
    case kGoesOnWith: return 2;
    case kSpanAt:
    case kInstantOn:
    case kArgOn:
    case kArgNameOn: return 3;
    case kThread:
    case kAnchor:
    case kDrop:
    case kSpanOn:
    case kCounterOn:
    case kDropOn:
    case kNoMemory: return 4;
    case kMemory: return 5;
    case kProbeCost:
    case kTrack: return 6;
    case kName:
    case kMeta: return -3;
    default: return -100;  // unknown: the rest of the chunk cannot be read
  }
}

// A device in kMemory and kNoMemory: its type in bits 63..32 (c10::DeviceType's numbers: 0 the CPU,
// 1 CUDA, ...), its index in bits 31..0, -1 where the type has only one.
inline constexpr uint64_t MemoryDevice(uint32_t type, int32_t index) {
  return uint64_t{type} << 32 | static_cast<uint32_t>(index);
}

inline constexpr uint64_t kMaxTextBytes = uint64_t{1} << 20;  // a name or meta text

// All payload words, given the fixed ones. `payload` holds at least -FixedPayloadWords(code) words
// if that is negative. Returns UINT64_MAX where a length in it is out of bounds or the code is not
// known.
inline constexpr uint64_t PayloadWords(uint16_t code, const uint64_t* payload) {
  const int fixed = FixedPayloadWords(code);
  if (fixed >= 0) return static_cast<uint64_t>(fixed);
  auto words = [](uint64_t bytes) { return (bytes + 7) / 8; };
  if (code == kName) return payload[2] > kMaxTextBytes ? UINT64_MAX : 3 + words(payload[2]);
  if (code == kMeta) {
    if (payload[0] > kMaxTextBytes || payload[1] > kMaxTextBytes) return UINT64_MAX;
    return 3 + words(payload[0]) + words(payload[1]);
  }
  return UINT64_MAX;
}

// Flow ids have the top bit set for arrows between processes. They have 01 in the two top bits for
// autograd's arrows, from an operator to the node that it made: then come PyTorch's number of the
// forward thread (22 bits) and autograd's number on that thread. All others are the process's own.
inline constexpr int kAutogradFlowShift = 62;
inline constexpr uint64_t kAutogradFlow = 1;
inline constexpr int kAutogradSequenceBits = 40;

// ---- What a name stands for -------------------------------------------------------------------
// Values of the C enum crosscut_layer (include/crosscut/crosscut.h) and of reports.
// src/collect/api_numbers.cc and src/import/native/native_numbers.cc check that they agree.
enum Layer : uint8_t {
  kLayerNone = 0,
  kLayerPython = 1,
  kLayerFramework = 2,
  kLayerRuntime = 3,
  kLayerSimulator = 4,
  kLayerData = 5,
  kLayerComm = 6,
  kLayerNative = 7,
  kLayerIdle = 8,
  kLayerOverhead = 9,
  kLayerDevice = 10,
  kLayerControl = 11,
};

// Steps and phases do not nest with the spans of their track. A begin of kind STEP ends the
// process's running step and begins the next; kEndNamed of a STEP name ends the running step. PHASE
// works alike. kEnd never ends them, and they leave every stack as it is.
enum Kind : uint8_t {
  kKindSpan = 0,
  kKindOperation = 1,
  kKindStep = 2,
  kKindPhase = 3,
  kKindText = 4,  // only a string: argument keys and values, probe names
};

enum NameFlags : uint8_t {
  kFlagWaits = 1,       // the caller waits for another thread's work while in this span
  kFlagNoLayer = 2,     // the span leaves the layer below it in force (operations always do)
  kFlagCalledAt = 4,    // the text ends in "@" and the decimal line of the Python caller that calls
                        // it; the name is what stands before
  kFlagOverloaded = 8,  // the text's first "." parts an operator's name from its overload's
  kFlagFound = 16,      // a step or operation: an adapter found it, the program did not declare it
  kFlagFrame = 16,      // a span: a call that a hook on calls records (kFrames)
  kFlagCrosses = 32,    // a span or operation: ends across the others of its track
  kFlagAsync = 64,      // its spans lie between two instants: docs/format.md
  kFlagGoesOn = 128,    // a span of it goes on with an earlier span of the same name
};

// Bits 7..0 kind, 15..8 layer, 23..16 NameFlags, 55..24 the name id of the probe kind that records
// spans of this name (0 = none known).
struct NameAttributes {
  Kind kind = kKindSpan;
  Layer layer = kLayerNone;
  uint8_t flags = 0;
  uint32_t probe = 0;

  constexpr uint64_t Pack() const {
    return uint64_t{kind} | uint64_t{layer} << 8 | uint64_t{flags} << 16 | uint64_t{probe} << 24;
  }
  static constexpr NameAttributes Unpack(uint64_t word) {
    return {static_cast<Kind>(word & 0xff), static_cast<Layer>(word >> 8 & 0xff),
            static_cast<uint8_t>(word >> 16 & 0xff), static_cast<uint32_t>(word >> 24)};
  }
};

// Whether only kEndNamed ends spans of the name.
inline constexpr bool EndsByName(const NameAttributes& name) {
  return name.kind == kKindOperation || (name.flags & kFlagCrosses) != 0;
}
// Whether `above` goes on when kEndNamed ends `name` below it on its track.
inline constexpr bool GoesOnAbove(const NameAttributes& name, const NameAttributes& above) {
  if ((name.flags & kFlagCrosses) != 0) return true;
  if (name.kind != kKindOperation) return EndsByName(above);
  return above.kind != kKindOperation && above.probe != 0;
}

// The third payload word of kThread: base layer in bits 7..0, flags above. Without kThreadContinues
// the track's stack is empty from here. That is so for a new thread, and for the first word of a
// thread in a new session: spans still open from the session before ended with that session's
// kStop.
inline constexpr uint64_t kThreadIsMain = 1 << 8;
inline constexpr uint64_t kThreadIsOurs = 1 << 9;      // the drain: its time is overhead
inline constexpr uint64_t kThreadContinues = 1 << 10;  // seen before: spans may be open

// Control steps and pauses: a thread writes nothing for a span that begins and ends inside one. The
// end of a span that began earlier is written as it happens. A span that begins inside and is still
// open when recording continues is written then; its begin is stamped at that switch (for steps of
// the lead: at the step's edge). So every track's stack is right again after the switch, and kOff
// and kOn may be absent. A stamp may lie a little before the one before it: readers clamp it, it is
// no wrap.
//
// The second payload word of kStepLevel.
enum StepLevel : uint64_t {
  kLevelControl = 0,
  kLevelBoundary = 1,
  kLevelOperators = 2,
  kLevelEverything = 3,
  kLevelMarks = 4,  // left out by the budget: between control and boundary
};
inline constexpr uint64_t kStepAfterSwitch = 1 << 8;  // counts in no comparison

enum DropReason : uint8_t {
  kDropFull = 1,         // no free ring chunk (drop-newest)
  kDropOverwritten = 2,  // flight recorder: older than what is kept
  kDropMemory = 3,       // no memory for a thread's state
  kDropDisk = 4,         // the log could not be written
  kDropDamaged = 5,      // found by a reader: checksum or grammar
  kDropNames = 6,        // the name table is full
  kDropFork = 7,         // a child's events before its own log was open
  kDropPlugin = 8,       // kDropOn: lost by a plugin before Crosscut had them
  kDropValue = 9,        // the program gave a value that cannot be kept: no number, not finite
};

enum StopReason : uint8_t {
  kStopAsked = 1,
  kStopExit = 2,
  kStopDisk = 3,
  kStopExec = 4,
  kStopError = 5,
  kStopLimit = 6,
};

enum ClockId : uint8_t { kClockMonotonic = 1, kClockRealtime = 2 };
inline constexpr uint32_t kFirstPluginClock = 16;  // named by the fact "clock:<id>"
enum TickSource : uint8_t { kTicksTsc = 1, kTicksMonotonicNs = 2, kTicksCntvct = 3 };

// ---- The ring file ----------------------------------------------------------------------------
// One file per process: a header (kRingHeaderBytes), then `chunk_count` chunks of kRingChunkBytes.
inline constexpr uint64_t kRingMagic = 0x31474e5254554343;  // "CCUTRNG1"
inline constexpr size_t kRingHeaderBytes = 64 << 10;  // so that chunks are aligned to their size
inline constexpr size_t kRingChunkBytes = 64 << 10;
inline constexpr size_t kRingChunkWords = kRingChunkBytes / 8;

// First words of every ring chunk; event words follow from index kRingChunkHeaderWords.
enum RingChunkWord {
  kChunkState = 0,     // RingChunkState in bits 7..0, bits 63..8 the fill number: counts each fill
                       // of any chunk of this ring, so that no fill is read twice
  kChunkBaseTick = 1,  // full tick at the claim: restores the upper bits of the event words
  kChunkDrained = 2,   // words (from index 0) that the log already holds
  kChunkTrack = 3,     // track id of the first thread that wrote here
  kChunkReserved = 4,
  kRingChunkHeaderWords = 8,
};
enum RingChunkState : uint8_t {
  kChunkFree = 0,    // contents are stale
  kChunkClean = 1,   // zeroed, may be claimed
  kChunkActive = 2,  // a thread writes here
  kChunkFull = 3,    // waits for the drain
};

// ---- The log ----------------------------------------------------------------------------------
inline constexpr uint64_t kLogMagic = 0x31474f4c54554343;  // "CCUTLOG1": first 8 bytes of a log
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;        // "CHNK"
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kLogHeaderBytes = 64;
inline constexpr size_t kChunkHeaderBytes = 32;  // magic u32, type u32, length u64, crc32c u32,
                                                 // header crc u32, reserved u64; little endian
inline constexpr uint64_t kMaxChunkBytes = 64 << 20;

enum ChunkType : uint32_t {
  kChunkSession = 1,  // raw session-stream words (names, anchors, meta)
  kChunkEvents = 2,   // packed words of one track out of one ring fill
  kChunkIndex = 3,    // offsets of the chunks before it
  kChunkEnd = 4,      // the log is complete
};

}  // namespace crosscut::format
