#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/export/chrome_text.h"
#include "src/export/exporter.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {
namespace {

class SpeedscopeWriter : ChromeText {
 public:
  SpeedscopeWriter(const trace::Trace& trace, Sink* sink)
      : ChromeText(trace, sink), trace_(trace) {}

  Result<Gaps> Write() {
    for (const trace::Process& process : trace_.processes) {
      base_ns_ = std::min(base_ns_, process.start_ns);
    }
    Raw("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n");
    Raw("\"exporter\": \"crosscut\", \"name\": ");
    String(trace_.command.empty() ? "crosscut" : trace_.command);
    Raw(", \"activeProfileIndex\": " + std::to_string(LongestTrack()) + ",\n");
    Frames();
    Raw("\"profiles\": [");
    bool first = true;
    for (const trace::Track& track : trace_.tracks) {
      if (track.spans.size() == 0) continue;
      Raw(first ? "\n" : ",\n");
      first = false;
      Profile(track);
    }
    Raw("],\n");
    Gaps gaps = GapsOf(trace_, kSpans | kWork | kTimes | kGaps);
    PutGaps(gaps);
    Raw("}\n");
    if (!Flush(/*all=*/true)) return status();
    return gaps;
  }

 private:
  // Index among the profiles of the lead with the most spans: what the reader sees first.
  size_t LongestTrack() const {
    size_t index = 0, best = 0, spans = 0;
    for (uint32_t t = 0; t < trace_.tracks.size(); ++t) {
      const trace::Track& track = trace_.tracks[t];
      const bool lead = trace_.processes[track.process.value].lead == trace::TrackId{t};
      if (lead && track.spans.size() > spans) {
        best = index;
        spans = track.spans.size();
      }
      if (track.spans.size() > 0) ++index;
    }
    return best;
  }

  // One frame for all names of one text: speedscope tells frames apart by what they say.
  void Frames() {
    std::unordered_map<uint32_t, uint32_t> index;
    Raw("\"shared\": {\"frames\": [");
    for (const trace::Name& name : trace_.names) {
      const auto [at, fresh] = index.emplace(name.text.value, static_cast<uint32_t>(index.size()));
      frames_.push_back(at->second);
      if (!fresh) continue;
      Raw(at->second == 0 ? "\n" : ",\n");
      const std::string_view text = trace_.text(name.text);
      trace::CodePlace place;
      const bool code = name.layer == trace::Layer::kPython && trace::ParseCodePlace(text, &place);
      Raw("{\"name\": ");
      String(code ? place.function : text);
      if (code) {
        Raw(", \"file\": ");
        String(place.file);
        Raw(", \"line\": " + std::to_string(place.line));
      }
      Raw("}");
    }
    Raw("]},\n");
  }

  void Profile(const trace::Track& track) {
    const trace::Spans& spans = track.spans;
    const int64_t end = *std::max_element(spans.end_ns.begin(), spans.end_ns.end());
    Raw("{\"type\": \"evented\", \"name\": ");
    String(ProfileName(track));
    Raw(", \"unit\": \"nanoseconds\", \"startValue\": ");
    Number(spans.begin_ns.front() - base_ns_);
    Raw(", \"endValue\": ");
    Number(end - base_ns_);
    Raw(", \"events\": [");
    first_event_ = true;
    for (size_t i = 0; i < spans.size() && status().ok(); ++i) {
      CloseUntil(spans.begin_ns[i]);
      const uint32_t frame = frames_[spans.name[i].value];
      Event('O', frame, spans.begin_ns[i]);
      const int64_t most = open_.empty() ? spans.end_ns[i] : open_.back().end_ns;
      open_.push_back({std::min(spans.end_ns[i], most), frame});
      Flush();
    }
    CloseUntil(INT64_MAX);
    Raw("]}");
  }

  void CloseUntil(int64_t until) {
    while (!open_.empty() && open_.back().end_ns <= until) {
      Event('C', open_.back().frame, open_.back().end_ns);
      open_.pop_back();
    }
  }

  void Event(char type, uint32_t frame, int64_t at) {
    Raw(first_event_ ? "\n" : ",\n");
    first_event_ = false;
    Raw("{\"type\": \"");
    Raw({&type, 1});
    Raw("\", \"frame\": ");
    Number(frame);
    Raw(", \"at\": ");
    Number(at - base_ns_);
    Raw("}");
  }

  std::string ProfileName(const trace::Track& track) const {
    const trace::Process& process = trace_.processes[track.process.value];
    std::string name(trace_.text(track.name));
    const bool host = track.kind != trace::TrackKind::kDevice;
    if (name.empty()) name = (host ? "thread " : "stream ") + std::to_string(track.os_id);
    const std::string_view owner = trace_.text(process.name.valid() ? process.name : process.key);
    return std::string(owner) + " " + std::to_string(process.pid) + ": " + name;
  }

  struct Open {
    int64_t end_ns;
    uint32_t frame;
  };
  const trace::Trace& trace_;
  int64_t base_ns_ = INT64_MAX;
  std::vector<uint32_t> frames_;  // by name
  std::vector<Open> open_;
  bool first_event_ = true;
};

}  // namespace

Result<Gaps> WriteSpeedscope(const trace::Trace& trace, Sink* sink) {
  return SpeedscopeWriter(trace, sink).Write();
}

}  // namespace crosscut::exporting
