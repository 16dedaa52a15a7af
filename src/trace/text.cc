#include "src/trace/text.h"

#include <charconv>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::trace {
namespace {

bool ToInt(std::string_view word, int64_t* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

bool IsTime(int64_t ns) {
  constexpr int64_t kFarthest = int64_t{1} << 61;
  return ns >= -kFarthest && ns <= kFarthest;
}

std::string_view Unquoted(std::string_view word) {
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"') {
    return word.substr(1, word.size() - 2);
  }
  return word;
}

// One line, cut into words.
struct Line {
  std::vector<std::string_view> words;
  std::string_view text;

  // All from words[i] on.
  std::string_view Rest(size_t i) const {
    if (i >= words.size()) return {};
    if (i + 1 == words.size()) return words[i];
    return text.substr(static_cast<size_t>(words[i].data() - text.data()));
  }
  // The value of "key=value" among the words from `from` on; "" where absent.
  std::string_view Option(std::string_view key, size_t from) const {
    for (size_t i = from; i < words.size(); ++i) {
      if (words[i].size() > key.size() && words[i].starts_with(key) &&
          words[i][key.size()] == '=') {
        return Unquoted(words[i].substr(key.size() + 1));
      }
    }
    return {};
  }
  bool Flag(std::string_view flag, size_t from) const {
    for (size_t i = from; i < words.size(); ++i) {
      if (words[i] == flag) return true;
    }
    return false;
  }
  // A time: no farther from 0 than differences of two still fit.
  bool Time(size_t i, int64_t* value) const { return Int(i, value) && IsTime(*value); }
  bool Int(size_t i, int64_t* value) const { return i < words.size() && ToInt(words[i], value); }
};

// A word ends at a blank; blanks between double quotes belong to it, and quotes around a whole word
// or the value of "key=" are not part of it.
Line Cut(std::string_view text) {
  Line line;
  line.text = text;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\t') {
      ++i;
      continue;
    }
    size_t end = i;
    for (bool quoted = false; end < text.size(); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (!quoted && (text[end] == ' ' || text[end] == '\t')) break;
    }
    line.words.push_back(Unquoted(text.substr(i, end - i)));
    i = end;
  }
  return line;
}

class Parser {
 public:
  // False where the line is wrong.
  bool Take(const Line& line);
  Trace Finish() {
    for (TrackBuilder* track : lives_) {
      const auto& [begin, end] = life_[track];
      track->Finish(begin, end);
    }
    Trace trace = builder_.Finish();
    for (std::string& gap : gaps_) trace.gaps.push_back(std::move(gap));
    trace.realtime_offset_ns = realtime_;
    return trace;
  }

 private:
  using Handler = bool (Parser::*)(const Line&);
  struct Verb {
    std::string_view name;
    Handler handler;
  };
  static const Verb kVerbs[];

  bool TakeProcess(const Line& line);
  bool TakeFact(const Line& line);
  bool TakeProcessFact(const Line& line, Process* process);
  bool TakeTrack(const Line& line);
  bool TakeSpan(const Line& line);
  bool TakeEdge(const Line& line);
  bool TakePoint(const Line& line);
  bool TakeArg(const Line& line);
  bool TakeLoss(const Line& line);
  bool TakeCount(const Line& line);
  bool TakeRun(const Line& line);
  StringId Text(std::string_view text) { return builder_.Text(text); }
  bool Range(std::string_view text, int64_t* begin, int64_t* end) const;
  void Name(const Line& line, size_t from, Kind kind, NameId* id);

  Builder builder_;
  std::unordered_map<std::string, ProcessId> processes_;
  ProcessId process_;
  TrackBuilder* track_ = nullptr;
  std::vector<TrackBuilder*> lives_;
  std::unordered_map<TrackBuilder*, std::pair<int64_t, int64_t>> life_;
  std::vector<std::string> gaps_;
  int64_t realtime_ = 0;
};

const Parser::Verb Parser::kVerbs[] = {
    {"process", &Parser::TakeProcess}, {"pause", &Parser::TakeFact},
    {"probe", &Parser::TakeFact},      {"source", &Parser::TakeFact},
    {"clock", &Parser::TakeFact},      {"meta", &Parser::TakeFact},
    {"thread", &Parser::TakeTrack},    {"device", &Parser::TakeTrack},
    {"async", &Parser::TakeTrack},     {"op", &Parser::TakeSpan},
    {"span", &Parser::TakeSpan},       {"request", &Parser::TakeSpan},
    {"step", &Parser::TakeEdge},       {"phase", &Parser::TakeEdge},
    {"instant", &Parser::TakePoint},   {"out", &Parser::TakePoint},
    {"in", &Parser::TakePoint},        {"base", &Parser::TakePoint},
    {"arg", &Parser::TakeArg},         {"lose", &Parser::TakeLoss},
    {"count", &Parser::TakeCount},     {"gap", &Parser::TakeRun},
    {"realtime", &Parser::TakeRun},
};

bool Parser::Take(const Line& line) {
  for (const Verb& verb : kVerbs) {
    if (verb.name == line.words[0]) return (this->*verb.handler)(line);
  }
  return false;
}

bool Parser::Range(std::string_view text, int64_t* begin, int64_t* end) const {
  const size_t dots = text.find("..");
  return dots != std::string_view::npos && ToInt(text.substr(0, dots), begin) &&
         ToInt(text.substr(dots + 2), end) && *begin <= *end && IsTime(*begin) && IsTime(*end);
}

void Parser::Name(const Line& line, size_t from, Kind kind, NameId* id) {
  trace::Name name;
  name.text = Text(line.words[1]);
  name.kind = kind;
  name.waits = line.Flag("waits", from);
  name.found = line.Flag("found", from);
  name.crosses = line.Flag("crosses", from);
  if (const auto probe = line.Option("probe", from); !probe.empty()) name.probe = Text(probe);
  if (const auto it = line.Option("overload", from); !it.empty()) name.overload = Text(it);
  int64_t called_at = 0;
  if (ToInt(line.Option("at", from), &called_at)) name.called_at = static_cast<int32_t>(called_at);
  for (size_t i = from; i < line.words.size(); ++i) ParseLayer(line.words[i], &name.layer);
  *id = builder_.AddName(name);
}

bool Parser::TakeProcess(const Line& line) {
  if (line.words.size() < 2) return false;
  const std::string key(line.words[1]);
  if (processes_.contains(key)) return false;
  process_ = builder_.AddProcess(key);
  processes_.emplace(key, process_);
  track_ = nullptr;
  Process& process = builder_.process(process_);
  const auto name = line.Option("name", 2);
  process.name = Text(name.empty() ? std::string_view(key) : name);
  if (const auto pid = line.Option("pid", 2); !pid.empty() && !ToInt(pid, &process.pid)) {
    return false;
  }
  if (const auto parent = line.Option("parent", 2); !parent.empty()) {
    const auto found = processes_.find(std::string(parent));
    if (found == processes_.end()) return false;
    process.parent = found->second;
    process.parent_pid = builder_.process(found->second).pid;
  }
  process.start_method = Text(line.Option("start", 2));
  if (const auto why = line.Option("incomplete", 2); !why.empty()) {
    process.complete = false;
    process.why_incomplete = Text(why);
  }
  return Range(line.Option("window", 2), &process.start_ns, &process.end_ns);
}

bool Parser::TakeFact(const Line& line) {
  return process_.valid() && line.words.size() >= 2 &&
         TakeProcessFact(line, &builder_.process(process_));
}

bool Parser::TakeProcessFact(const Line& line, Process* process) {
  const std::string_view verb = line.words[0];
  int64_t n[5];
  if (verb == "pause") {
    if (!line.Time(1, &n[0]) || !line.Time(2, &n[1])) return false;
    process->paused.push_back({n[0], n[1]});
  } else if (verb == "probe") {
    for (size_t i = 0; i < 5; ++i) {
      if (!line.Int(i + 2, &n[i])) return false;
    }
    process->probes.push_back({Text(line.words[1]), n[0], n[1], n[2], n[3], n[4]});
  } else if (verb == "source") {
    if (line.words.size() < 4) return false;
    process->sources.push_back(
        {Text(line.words[1]), Text(line.words[2]), Text(line.words[3]), Text(line.Rest(4))});
  } else if (verb == "clock") {
    if (!line.Int(2, &n[0]) || !line.Int(3, &n[1])) return false;
    process->clocks.push_back({Text(line.words[1]), n[0], n[1]});
  } else {
    process->meta.emplace_back(Text(line.words[1]), Text(line.Rest(2)));
  }
  return true;
}

bool Parser::TakeTrack(const Line& line) {
  if (!process_.valid() || line.words.size() < 2) return false;
  const bool device = line.words[0] == "device";
  const auto kind = device                     ? TrackKind::kDevice
                    : line.words[0] == "async" ? TrackKind::kAsync
                                               : TrackKind::kThread;
  track_ = &builder_.AddTrack(process_, kind);
  Process& process = builder_.process(process_);
  Track& track = track_->track();
  track.name = Text(line.words[1]);
  track.main = line.Flag("main", 2);
  track.ours = line.Flag("ours", 2);
  if (line.Flag("lead", 2)) process.lead = track_->id();
  const auto os_id = line.Option(device ? "stream" : "tid", 2);
  if (!os_id.empty() && !ToInt(os_id, &track.os_id)) return false;
  if (device) {
    track.device = 0;
    const auto number = line.Option("device", 2);
    if (!number.empty() && !ToInt(number, &track.device)) return false;
  }
  std::pair<int64_t, int64_t> life{process.start_ns, process.end_ns};
  const auto text = line.Option("life", 2);
  if (!text.empty() && !Range(text, &life.first, &life.second)) return false;
  life_[track_] = life;
  lives_.push_back(track_);
  Layer base = Layer::kNone;
  if (!ParseLayer(line.Option("base", 2), &base)) return false;
  track_->Base(life.first, base);
  return true;
}

bool Parser::TakeSpan(const Line& line) {
  int64_t begin, end;
  if (track_ == nullptr || !line.Time(2, &begin) || !line.Time(3, &end) || end < begin)
    return false;
  NameId name;
  Name(line, 4,
       line.words[0] == "op"        ? Kind::kOperation
       : line.words[0] == "request" ? Kind::kStep
                                    : Kind::kSpan,
       &name);
  track_->SpanAt(begin, end, name);
  return true;
}

bool Parser::TakeEdge(const Line& line) {
  int64_t begin, end, number = Builder::kNoNumber, level = 3;
  if (track_ == nullptr || !line.Time(2, &begin) || !line.Time(3, &end) || end < begin)
    return false;
  const bool step = line.words[0] == "step";
  NameId name;
  Name(line, 4, step ? Kind::kStep : Kind::kPhase, &name);
  if (!step) {
    builder_.PhaseBegin(track_->id(), begin, name);
    builder_.PhaseEnd(track_->id(), end);
    return true;
  }
  builder_.StepBegin(track_->id(), begin, name);
  const auto number_text = line.Option("number", 4), level_text = line.Option("level", 4);
  const bool numbers = (number_text.empty() || ToInt(number_text, &number)) &&
                       (level_text.empty() || ToInt(level_text, &level));
  if (!number_text.empty() || !level_text.empty()) {
    builder_.StepLevel(track_->id(), number, static_cast<uint8_t>(level), line.Flag("switch", 4));
  }
  builder_.StepEnd(track_->id(), end);
  return numbers;
}

bool Parser::TakePoint(const Line& line) {
  if (track_ == nullptr || line.words.size() < 3) return false;
  const std::string_view verb = line.words[0];
  int64_t number, at;
  if (verb == "instant") {
    NameId name;
    if (!line.Time(2, &at)) return false;
    Name(line, 3, Kind::kSpan, &name);
    track_->Instant(at, name);
  } else if (verb == "base") {
    Layer layer;
    if (!line.Time(1, &at) || !ParseLayer(line.words[2], &layer)) return false;
    track_->Base(at, layer);
  } else {
    if (!line.Int(1, &number) || !line.Time(2, &at)) return false;
    const auto id = static_cast<uint64_t>(number);
    if (verb == "out")
      track_->FlowOut(at, id);
    else
      track_->FlowIn(at, id);
  }
  return true;
}

bool Parser::TakeArg(const Line& line) {
  if (track_ == nullptr || line.words.size() < 3) return false;
  int64_t value;
  if (line.words.size() == 3 && line.Int(2, &value)) {
    track_->Arg(Text(line.words[1]), value);
  } else {
    track_->ArgText(Text(line.words[1]), Text(line.Rest(2)));
  }
  return true;
}

bool Parser::TakeLoss(const Line& line) {
  Loss loss;
  if (track_ == nullptr || !line.Int(2, &loss.count) || !line.Time(3, &loss.begin_ns) ||
      !line.Time(4, &loss.end_ns)) {
    return false;
  }
  loss.reason = Text(line.words[1]);
  track_->track().losses.push_back(loss);
  return true;
}

bool Parser::TakeCount(const Line& line) {
  int64_t at, value;
  NameId name;
  if (!process_.valid() || !line.Time(2, &at) || !line.Int(3, &value)) return false;
  Name(line, 4, Kind::kText, &name);
  builder_.Count(process_, name, at, value);
  return true;
}

bool Parser::TakeRun(const Line& line) {
  if (line.words[0] == "realtime") return line.Int(1, &realtime_);
  gaps_.emplace_back(line.Rest(1));
  return !gaps_.back().empty();
}

}  // namespace

Result<Trace> ParseText(std::string_view text) {
  Parser parser;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const Line line = Cut(row);
    if (line.words.empty() || row.starts_with('#') || line.words[0].starts_with('#')) continue;
    if (!parser.Take(line)) {
      return Status::Invalid("line " + std::to_string(number) + ": \"" +
                             std::string(row.substr(0, 200)) + "\" says nothing I understand");
    }
  }
  return parser.Finish();
}

}  // namespace crosscut::trace
