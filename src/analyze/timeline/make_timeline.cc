#include "src/analyze/timeline/make_timeline.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/timeline/timeline_details.h"
#include "src/analyze/timeline/timeline_texts.h"
#include "src/analyze/timeline/timeline_tiles.h"

namespace crosscut::analyze {
namespace {

constexpr int64_t kFinest = 4096, kCoarsest = 256;  // tiles of the whole run

bool IsLead(const trace::Trace& trace, uint32_t t) {
  const trace::ProcessId p = trace.tracks[t].process;
  return trace.processes[p.value].lead.value == t;
}

// The tracks shown, by process: leads first, then threads, then devices; the busiest of each.
std::vector<std::vector<uint32_t>> ChooseTracks(const trace::Trace& trace, size_t max_tracks) {
  std::vector<uint32_t> all;
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    if (trace.tracks[t].process.value < trace.processes.size()) all.push_back(t);
  }
  const auto rank = [&](uint32_t t) {
    return std::pair(!IsLead(trace, t), -static_cast<int64_t>(trace.tracks[t].spans.size()));
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
  if (all.size() > max_tracks) all.resize(max_tracks);
  const auto place = [&](uint32_t t) {
    const trace::Track& track = trace.tracks[t];
    return std::tuple(!IsLead(trace, t), track.kind == trace::TrackKind::kDevice, track.ours, t);
  };
  std::sort(all.begin(), all.end(), [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  std::vector<std::vector<uint32_t>> by_process(trace.processes.size());
  for (const uint32_t t : all) by_process[trace.tracks[t].process.value].push_back(t);
  return by_process;
}

void MakeLevels(const trace::Trace& trace, const Timeline& timeline,
                const std::vector<ProcessEvents::Off>& off, TimelineTexts& texts,
                TimelineTrack& track) {
  const int64_t length = std::max<int64_t>(1, timeline.end_ns - timeline.begin_ns);
  int64_t tile_ns = (length - 1) / kFinest + 1;
  const auto text = [&](uint32_t name) { return texts.OfName(name); };
  std::vector<RawTile> raw = CutTrack(trace, trace.tracks[track.track], off,
                                      {timeline.begin_ns, timeline.end_ns}, tile_ns);
  for (int64_t tiles = kFinest; tiles >= kCoarsest; tiles /= 4) {
    track.levels.push_back({tile_ns, Pack(raw, tile_ns, text)});
    raw = Coarsen(raw);
    tile_ns *= 4;
  }
  std::reverse(track.levels.begin(), track.levels.end());
}

// Drops the finest levels of the least busy tracks until everything fits.
void Fit(const trace::Trace& trace, size_t max_tiles, Timeline& timeline) {
  std::vector<TimelineTrack*> tracks;
  size_t tiles = 0;
  for (TimelineProcess& p : timeline.processes) {
    for (TimelineTrack& t : p.tracks) {
      tracks.push_back(&t);
      for (const TimelineLevel& l : t.levels) tiles += l.tiles.size();
    }
  }
  std::stable_sort(tracks.begin(), tracks.end(), [&](const auto* a, const auto* b) {
    return trace.tracks[a->track].spans.size() < trace.tracks[b->track].spans.size();
  });
  for (size_t keep = 3; keep-- > 0;) {
    for (TimelineTrack* t : tracks) {
      while (tiles > max_tiles && t->levels.size() > keep) {
        tiles -= t->levels.back().tiles.size();
        t->levels.pop_back();
      }
    }
  }
}

}  // namespace

Timeline MakeTimeline(const trace::Trace& trace, const Context& context,
                      const TimelineOptions& options) {
  Timeline out;
  if (trace.processes.empty()) return out;
  out.begin_ns = std::numeric_limits<int64_t>::max();
  out.end_ns = std::numeric_limits<int64_t>::min();
  for (const trace::Process& p : trace.processes) {
    out.begin_ns = std::min(out.begin_ns, p.start_ns);
    out.end_ns = std::max(out.end_ns, p.end_ns);
  }
  const auto tracks = ChooseTracks(trace, options.max_tracks);
  TimelineTexts texts(trace, out, options.max_arg_bytes);
  size_t shown = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& process = trace.processes[p];
    TimelineProcess row = {p,
                           context.process_label({p}),
                           process.start_ns,
                           process.end_ns,
                           {},
                           Disjoint(process.paused, {process.start_ns, process.end_ns})};
    const auto off = ProcessEvents(process).OffTime();
    for (const uint32_t t : tracks[p]) {
      const trace::Track& track = trace.tracks[t];
      TimelineTrack line = {t,
                            context.track_label({t}),
                            track.kind == trace::TrackKind::kDevice,
                            IsLead(trace, t),
                            track.ours,
                            track.begin_ns,
                            track.end_ns,
                            {}};
      MakeLevels(trace, out, off, texts, line);
      row.tracks.push_back(std::move(line));
      ++shown;
    }
    out.processes.push_back(std::move(row));
  }
  out.omitted_tracks = trace.tracks.size() - shown;
  Fit(trace, options.max_tiles, out);
  AddDetails(context, tracks, options, texts, out);
  return out;
}

}  // namespace crosscut::analyze
