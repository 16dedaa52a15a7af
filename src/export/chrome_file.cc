#include "src/export/chrome_file.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "src/export/chrome_text.h"
#include "src/export/told_args.h"
#include "src/trace/whole_spans.h"

namespace crosscut::exporting {
namespace {

using trace::SpanIndex;
using trace::Track;

constexpr std::string_view kGapsKey = "crosscutGaps";  // of our own

class ChromeFileWriter {
 public:
  ChromeFileWriter(const trace::Trace& trace, Sink* sink) : trace_(trace), text_(trace, sink) {}

  Result<Gaps> Write() {
    const Gaps gaps{trace_.gaps, {}};
    Head();
    Prepare();
    trace_.kept.events.ForEach(
        [this](std::string_view event) {
          text_.Begin();
          text_.Json(event);
          text_.Flush();
        },
        [this](uint32_t series) { PutNextOf(series); });
    text_.Raw("\n]");
    if (!trace_.gaps.empty()) {
      text_.Raw(",\n");
      text_.PutGaps(gaps);
    }
    text_.Raw("}\n");
    text_.Flush(/*all=*/true);
    if (!text_.status().ok()) return text_.status();
    return gaps;
  }

 private:
  // Of equal keys the last counts, as for readers of JSON.
  void Head() {
    std::unordered_map<std::string_view, size_t> last;
    const auto& facts = trace_.kept.facts;
    for (size_t i = 0; i < facts.size(); ++i) last[facts[i].first] = i;
    text_.Raw("{");
    for (size_t i = 0; i < facts.size(); ++i) {
      if (last[facts[i].first] != i || facts[i].first == kGapsKey) continue;
      text_.Raw("\"" + facts[i].first + "\": ");
      text_.Json(facts[i].second);
      text_.Raw(",\n");
    }
    text_.Raw("\"traceEvents\": [\n");
  }

  // The head of a track's events, and of those of one name.
  std::string PlaceOf(const Track& track) {
    std::string place;
    if (track.file_pid.valid()) {
      place += ", \"pid\": " + text_.AsJson(trace_.text(track.file_pid));
    }
    if (track.file_tid.valid()) {
      place += ", \"tid\": " + text_.AsJson(trace_.text(track.file_tid));
    }
    return place;
  }
  const std::string& NameOf(trace::NameId id) {
    if (id.value >= names_.size()) names_.resize(trace_.names.size());
    std::string& text = names_[id.value];
    if (!text.empty()) return text;
    const trace::Name& name = trace_.name(id);
    const std::string_view category = trace_.text(name.category);
    if (name.category.valid()) {
      text = "\"cat\": " + base::JsonText(category) + ", ";
    }
    text += "\"name\": " + base::JsonText(trace_.text(name.text));
    return text;
  }

  // How far a series is written on one of its tracks.
  struct Cursor {
    uint32_t track;
    uint32_t next = 0;
  };

  void Prepare() {
    std::unordered_map<uint32_t, std::vector<uint32_t>> tracks;  // by row
    for (uint32_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      tracks[track.file_row].push_back(i);
      places_.push_back(PlaceOf(track));
    }
    for (const trace::KeptSeries& series : trace_.kept.series) {
      std::vector<Cursor>& cursors = cursors_.emplace_back();
      for (const uint32_t track : tracks[series.row]) cursors.push_back({track});
    }
  }

  // False: the series has no more.
  bool PutNextOf(uint32_t number) {
    if (!text_.status().ok()) return false;
    const trace::KeptSeries& series = trace_.kept.series[number];
    Cursor* first = nullptr;
    for (Cursor& cursor : cursors_[number]) {
      if (!Advance(series, &cursor)) continue;
      if (first == nullptr || (!series.instants && IsBefore(cursor, *first))) first = &cursor;
    }
    if (first == nullptr) return false;
    series.instants ? Instant(*first) : Span(*first);
    ++first->next;
    return text_.Flush();
  }
  // To the next that is of the series; false: there is none.
  bool Advance(const trace::KeptSeries& series, Cursor* cursor) const {
    const Track& track = trace_.tracks[cursor->track];
    const auto of_it = [&](trace::NameId name) {
      return trace_.name(name).category == series.category;
    };
    if (series.instants) {
      const std::vector<trace::NameId>& names = track.instants.name;
      while (cursor->next < names.size() && !of_it(names[cursor->next])) ++cursor->next;
      return cursor->next < names.size();
    }
    const trace::WholeSpans& wholes = wholes_[cursor->track];
    const size_t size = track.spans.size();
    while (cursor->next < size &&
           (!of_it(track.spans.name[cursor->next]) || wholes.first(cursor->next) != cursor->next)) {
      ++cursor->next;
    }
    return cursor->next < size;
  }
  bool IsBefore(const Cursor& a, const Cursor& b) const {
    const trace::Spans& one = trace_.tracks[a.track].spans;
    const trace::Spans& other = trace_.tracks[b.track].spans;
    if (one.begin_ns[a.next] != other.begin_ns[b.next]) {
      return one.begin_ns[a.next] < other.begin_ns[b.next];
    }
    return one.end_ns[a.next] > other.end_ns[b.next];
  }

  void Span(const Cursor& cursor) {
    const trace::Spans& spans = trace_.tracks[cursor.track].spans;
    const SpanIndex span = cursor.next;
    const trace::Args& args = trace_.tracks[cursor.track].args;
    const int64_t begin = spans.begin_ns[span];
    const bool joined = trace_.name(spans.name[span]).scope();
    int64_t end = spans.StatedEnd(span);
    if (joined) end = std::max(end, wholes_[cursor.track].end_ns(span));
    text_.Begin();
    text_.Raw("{\"ph\": \"X\", ");
    text_.Raw(NameOf(spans.name[span]));
    if (!HasBeside(args.of(span), pid_)) text_.Raw(places_[cursor.track]);
    text_.Raw(", \"ts\": ");
    text_.ShortUs(begin);
    text_.Raw(", \"dur\": ");
    text_.ShortUs(end - begin);
    Fields(args.of(span));
    text_.Raw("}");
  }

  void Instant(const Cursor& cursor) {
    const Track& track = trace_.tracks[cursor.track];
    const uint32_t instant = cursor.next;
    const trace::Args::Range args = track.instant_args.of(instant);
    text_.Begin();
    text_.Raw("{");
    if (!HasBeside(args, phase_)) text_.Raw("\"ph\": \"i\", ");
    if (!HasBeside(args, scope_)) text_.Raw("\"s\": \"t\", ");
    text_.Raw(NameOf(track.instants.name[instant]));
    if (!HasBeside(args, pid_)) text_.Raw(places_[cursor.track]);
    text_.Raw(", \"ts\": ");
    text_.ShortUs(track.instants.at_ns[instant]);
    Fields(args);
    text_.Raw("}");
  }
  static bool HasBeside(const trace::Args::Range& args, trace::StringId key) {
    for (const trace::Arg& arg : args) {
      if (arg.beside && arg.key == key) return true;
    }
    return false;
  }

  void Fields(const trace::Args::Range& args) {
    bool any = false;
    ForEachTold(args, [&](const trace::Arg& arg) {
      text_.Raw(any ? ", " : ", \"args\": {");
      text_.Field(arg);
      any = true;
    });
    if (any) text_.Raw("}");
    for (auto at = args.begin(); at != args.end(); ++at) {
      const trace::Arg arg = *at;
      const bool absent = arg.is_json && trace_.text(arg.text()).empty();
      if (!arg.beside || absent || args.StandsLater(at)) continue;
      text_.Raw(", ");
      text_.Field(arg);
    }
  }

  const trace::Trace& trace_;
  ChromeText text_;
  std::vector<std::string> places_;  // by track
  const trace::WholeSpansByTrack wholes_{trace_};
  std::vector<std::vector<Cursor>> cursors_;  // by series
  std::vector<std::string> names_;            // by name
  const trace::StringId pid_ = trace_.strings.Find("pid"), phase_ = trace_.strings.Find("ph"),
                        scope_ = trace_.strings.Find("s");
};

}  // namespace

bool IsOfChromeFile(const trace::Trace& trace) { return trace.kept.format == "chrome"; }

Result<Gaps> WriteChromeFileAgain(const trace::Trace& trace, Sink* sink) {
  return ChromeFileWriter(trace, sink).Write();
}

}  // namespace crosscut::exporting
