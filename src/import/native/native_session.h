// The content of the session stream of one recorded process: its names, facts, clocks and the edges
// of its sessions and pauses. Ticks stay ticks; native.cc converts them to ns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/format/format.h"
#include "src/format/run_reader.h"
#include "src/import/native/native_cells.h"
#include "src/import/native/native_clock.h"
#include "src/trace/builder.h"

namespace crosscut::import {

// A name as the process interned it.
struct NativeName {
  trace::NameId name;  // none: the id was never published
  trace::StringId text;
  trace::Kind kind = trace::Kind::kSpan;
  bool async = false;    // its instants are begins and ends of asynchronous spans
  bool goes_on = false;  // a span of it goes on with an earlier span of `name`
  bool unnamed = false;  // stands for all names for which there was no room
};

struct NativeSession {
  std::vector<NativeName> names;  // by the process's name id
  std::vector<Anchor> monotonic, realtime;
  struct Edge {
    uint64_t tick;
    uint16_t code;
    uint64_t reason;
    int64_t window = 0;  // of kStart: its number; 0: not started from outside
  };
  std::vector<Edge> edges;  // kStart, kStop, kPause, kResume in order
  struct Frames {
    uint64_t tick;
    bool in;
  };
  std::vector<Frames> frames;         // kFrames in order
  std::vector<uint64_t> memory_ends;  // from where on changes of memory were recorded no more
  trace::TrackBuilder::Frames frame_names;
  struct Cost {
    uint32_t probe;
    int64_t inside, outside, low, high, samples;
  };
  std::vector<Cost> costs;
  struct DeviceTrack {
    uint64_t id;
    int64_t device;
    uint64_t queue, clock, name, device_name;
  };
  std::vector<DeviceTrack> device_tracks;
  // By clock id. An anchor's `tick` is the clock's own ns, its `ns` those of CLOCK_MONOTONIC.
  std::map<uint64_t, std::vector<Anchor>> plugin_clocks;
  std::vector<std::pair<std::string, std::string>> meta;
  uint64_t cut_names = 0, lost_names = 0;  // too long; with ids too high to keep
  struct ThreadName {
    uint64_t tick;
    int64_t os_id;
    std::string name;
  };
  std::vector<ThreadName> thread_names;    // facts "thread:<os id>", which are not in `meta`
  Cells cells;                             // facts "cell:<file>", likewise; in: of processes before
  uint64_t first_tick = 0, last_tick = 0;  // of all session words; 0 where there are none
  uint64_t damaged_words = 0;              // words that could not be understood

  // The last value stated for `key`; "" where there is none.
  std::string_view Meta(std::string_view key) const;
  // The name of that id; one without a NameId where it is not known.
  const NativeName& name(uint64_t id) const {
    static const NativeName kUnknown;
    return id < names.size() ? names[id] : kUnknown;
  }
};

// Reads the stream into `session` and enters the names into the builder, also if it returns an
// error.
Status ReadSession(format::ProcessReader* reader, trace::Builder* builder, NativeSession* session);

}  // namespace crosscut::import
