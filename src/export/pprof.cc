// pprof's profile.proto: what `go tool pprof`, Speedscope, Grafana Pyroscope and Perfetto read.
// Where the trace has samples, each of its stacks with the samples and the time that they stand
// for; else the call paths of the spans of all threads, with the calls and the time of the
// innermost frame alone. Field numbers: github.com/google/pprof/proto/profile.proto.
#include <algorithm>
#include <charconv>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/export/exporter.h"
#include "src/trace/samples.h"
#include "src/trace/stacks.h"

namespace crosscut::exporting {
namespace {

enum class Profile : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kComment = 13,
  kDefaultType = 14
};
enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class Sample : protozero::pbf_tag_type { kLocations = 1, kValues = 2, kLabel = 3 };
enum class Label : protozero::pbf_tag_type { kKey = 1, kText = 2 };
enum class Mapping : protozero::pbf_tag_type { kId = 1, kFile = 5, kHasFunctions = 7 };
enum class Location : protozero::pbf_tag_type { kId = 1, kMapping = 2, kLine = 4 };
enum class Line : protozero::pbf_tag_type { kFunction = 1, kLine = 2 };
enum class Function : protozero::pbf_tag_type { kId = 1, kName = 2, kFile = 4, kStartLine = 5 };

template <class Message>
using Builder = protozero::pbf_builder<Message>;

struct Frame {
  std::string_view name, file = {}, library = {};
  int32_t line = 0, start_line = 0;
};

using Stack = std::vector<uint64_t>;  // locations, the innermost first
struct Values {
  int64_t count = 0, ns = 0;
};

// The tables of a profile, written at the end, and its samples, written as they come.
class PprofFile {
 public:
  explicit PprofFile(Sink* sink) : sink_(sink) { Text(""); }  // the text of number 0 is ""

  int64_t Text(std::string_view text) {
    const auto [at, fresh] = texts_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (fresh) Builder<Profile>(tables_).add_string(Profile::kString, at->first);
    return at->second;
  }

  uint64_t LocationOf(const Frame& frame) {
    const uint64_t function = FunctionOf(frame), mapping = MappingOf(frame.library);
    const auto [at, fresh] =
        locations_.emplace(std::tuple(function, mapping, frame.line), locations_.size() + 1);
    if (!fresh) return at->second;
    Builder<Profile> file(tables_);
    Builder<Location> location(file, Profile::kLocation);
    location.add_uint64(Location::kId, at->second);
    if (mapping != 0) location.add_uint64(Location::kMapping, mapping);
    Builder<Line> line(location, Location::kLine);
    line.add_uint64(Line::kFunction, function);
    if (frame.line != 0) line.add_int64(Line::kLine, frame.line);
    return at->second;
  }

  // `labels`: pairs of a name and a text.
  void Add(const Stack& stack, const Values& values,
           const std::vector<std::pair<int64_t, int64_t>>& labels) {
    Builder<Profile> file(samples_);
    {
      Builder<Sample> sample(file, Profile::kSample);
      const int64_t both[] = {values.count, values.ns};
      sample.add_packed_uint64(Sample::kLocations, stack.begin(), stack.end());
      sample.add_packed_int64(Sample::kValues, std::begin(both), std::end(both));
      for (const auto& [key, text] : labels) {
        Builder<Label> label(sample, Sample::kLabel);
        label.add_int64(Label::kKey, key);
        label.add_int64(Label::kText, text);
      }
    }
    if (samples_.size() < kFlushBytes) return;
    Flush(&samples_);
  }

  Status Finish(std::string_view counted, const std::vector<std::string>& comments,
                int64_t begin_realtime_ns, int64_t duration_ns) {
    const int64_t time = Text("time");
    const std::pair<int64_t, int64_t> types[] = {{Text(counted), Text("count")},
                                                 {time, Text("nanoseconds")}};
    std::vector<int64_t> words;
    for (const std::string& comment : comments) words.push_back(Text(comment));
    Builder<Profile> file(tables_);
    for (const auto& [type, unit] : types) {
      Builder<ValueType> value(file, Profile::kSampleType);
      value.add_int64(ValueType::kType, type);
      value.add_int64(ValueType::kUnit, unit);
    }
    if (begin_realtime_ns != 0) file.add_int64(Profile::kTimeNanos, begin_realtime_ns);
    file.add_int64(Profile::kDurationNanos, duration_ns);
    for (const int64_t text : words) file.add_int64(Profile::kComment, text);
    file.add_int64(Profile::kDefaultType, time);
    Flush(&samples_);
    Flush(&tables_);
    return status_;
  }

 private:
  static constexpr size_t kFlushBytes = 1 << 20;

  uint64_t FunctionOf(const Frame& frame) {
    const int64_t name = Text(frame.name), source = Text(frame.file);
    const auto [at, fresh] =
        functions_.emplace(std::tuple(name, source, frame.start_line), functions_.size() + 1);
    if (!fresh) return at->second;
    Builder<Profile> file(tables_);
    Builder<Function> function(file, Profile::kFunction);
    function.add_uint64(Function::kId, at->second);
    function.add_int64(Function::kName, name);
    if (source != 0) function.add_int64(Function::kFile, source);
    if (frame.start_line != 0) function.add_int64(Function::kStartLine, frame.start_line);
    return at->second;
  }

  // 0: none.
  uint64_t MappingOf(std::string_view library) {
    if (library.empty()) return 0;
    const int64_t name = Text(library);
    const auto [at, fresh] = mappings_.emplace(name, mappings_.size() + 1);
    if (!fresh) return at->second;
    Builder<Profile> file(tables_);
    Builder<Mapping> mapping(file, Profile::kMapping);
    mapping.add_uint64(Mapping::kId, at->second);
    mapping.add_int64(Mapping::kFile, name);
    mapping.add_bool(Mapping::kHasFunctions, true);
    return at->second;
  }

  void Flush(std::string* bytes) {
    if (status_.ok()) status_ = sink_->Write(*bytes);
    bytes->clear();
  }

  Sink* sink_;
  Status status_;
  std::string samples_, tables_;
  std::unordered_map<std::string, int64_t> texts_;
  std::map<std::tuple<int64_t, int64_t, int32_t>, uint64_t> functions_;
  std::map<std::tuple<uint64_t, uint64_t, int32_t>, uint64_t> locations_;
  std::map<int64_t, uint64_t> mappings_;
};

// "train.py:41 main" in parts; what is not of that form is a name. A path may hold anything.
Frame PythonFrame(std::string_view text) {
  const size_t colon = text.rfind(':'), space = text.find(' ', std::min(colon, text.size()));
  if (space == std::string_view::npos) return {text};
  Frame frame{text.substr(space + 1), text.substr(0, colon)};
  const char* const end = text.data() + space;
  const auto parsed = std::from_chars(text.data() + colon + 1, end, frame.line);
  return parsed.ec == std::errc() && parsed.ptr == end ? frame : Frame{text};
}

// Of the stacks of a thread: so many, and so many for each.
constexpr uint64_t kMostFrames = 8 << 20, kMostPerStack = 64;

class PprofWriter {
 public:
  PprofWriter(const trace::Trace& trace, Sink* sink)
      : trace_(trace), samples_(trace.strings), tree_(trace), file_(sink) {}

  Result<Gaps> Write(bool spans_only) {
    const bool sampled = !spans_only && HasSamples();
    const trace::TracksByProcess tracks(trace_);
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      for (const uint32_t t : tracks.of({p})) {
        const trace::Track& track = trace_.tracks[t];
        if (track.kind == trace::TrackKind::kDevice) continue;
        sampled ? AddSamples(track) : AddSpans(track);
      }
    }
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (const trace::Process& process : trace_.processes) {
      begin = std::min(begin, process.start_ns);
      end = std::max(end, process.end_ns);
    }
    const bool any = begin <= end;
    Gaps gaps = GapsOf(trace_, kGaps | (sampled ? kSamples : kSpans));
    std::vector<std::string> comments = gaps.all();
    comments.insert(comments.begin(),
                    sampled ? "Crosscut: samples of every thread"
                            : "Crosscut: spans, with the time of the innermost frame alone");
    const Status status =
        file_.Finish(sampled ? "samples" : "calls", comments,
                     any && trace_.KnowsTimeOfDay() ? begin + trace_.realtime_offset_ns : 0,
                     any ? end - begin : 0);
    if (!status.ok()) return status;
    return gaps;
  }

 private:
  using Node = trace::StackTree::Node;

  bool HasSamples() const {
    if (!samples_.any()) return false;
    bool found = false;
    for (const trace::Track& track : trace_.tracks) {
      samples_.ForEach(trace_, track, [&found](int64_t, const trace::Sample&) { found = true; });
      if (found) return true;
    }
    return false;
  }

  void AddSamples(const trace::Track& track) {
    std::map<std::pair<int64_t, Stack>, Values> stacks;  // by thread
    samples_.ForEach(trace_, track, [&](int64_t, const trace::Sample& sample) {
      Values& values = stacks[{sample.thread, StackOf(sample)}];
      values.count += 1;
      values.ns += sample.covers_ns;
    });
    for (const auto& [key, values] : stacks) {
      file_.Add(key.second, values,
                Labels(track,
                       key.first == 0 ? ThreadName(track) : "thread " + std::to_string(key.first)));
    }
  }

  Stack StackOf(const trace::Sample& sample) {
    Stack stack;
    const std::string waits(trace_.text(sample.waits));
    if (sample.waits.valid()) {
      stack.push_back(file_.LocationOf({"(waits for " + waits + ")"}));
    }
    const std::string_view library = trace_.text(sample.library);
    const std::string_view function = trace_.text(sample.function);
    if (!library.empty()) {
      stack.push_back(file_.LocationOf({function.empty() ? library : function, "", library}));
    }
    std::string_view frames = trace_.text(sample.stack);
    while (!frames.empty()) {
      const size_t last = frames.rfind(';');
      const size_t begin = last == std::string_view::npos ? 0 : last + 1;
      stack.push_back(file_.LocationOf(PythonFrame(frames.substr(begin))));
      frames = frames.substr(0, last == std::string_view::npos ? 0 : last);
    }
    return stack;
  }

  void AddSpans(const trace::Track& track) {
    const std::vector<trace::StackTree::Node> nodes = FullStacks(track, &tree_);
    const std::vector<int64_t> self = trace::SelfTimes(track.spans);
    const std::vector<Node> outer = OuterParts(nodes);
    std::map<std::pair<Node, bool>, Values> stacks;  // and whether they are deeper
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node node = outer.empty() ? nodes[i] : outer[nodes[i]];
      Values& values = stacks[{node, node != nodes[i]}];
      values.count += 1;
      values.ns += std::max(int64_t{0}, self[i]);
    }
    const auto labels = Labels(track, ThreadName(track));
    for (const auto& [key, values] : stacks) {
      const auto& [node, deeper] = key;
      Stack stack;
      if (deeper) stack.push_back(file_.LocationOf({"(deeper calls)"}));
      for (auto at = node; at != trace::StackTree::kRoot; at = tree_.parent(at)) {
        stack.push_back(LocationOf(at));
      }
      file_.Add(stack, values, labels);
    }
  }

  // What stands for each node: itself, or the one around it beyond which frames would be too many.
  // Empty where none is.
  std::vector<Node> OuterParts(std::vector<Node> nodes) {
    for (auto node = static_cast<Node>(depth_.size()); node < tree_.size(); ++node) {
      depth_.push_back(depth_[tree_.parent(node)] + 1);  // a node is younger than its parent
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::vector<size_t> stacks;  // that are so deep
    for (const Node node : nodes) {
      stacks.resize(std::max<size_t>(stacks.size(), depth_[node] + 1));
      ++stacks[depth_[node]];
    }
    uint64_t frames = 0, deeper = nodes.size();
    size_t most = 0;
    for (; most < stacks.size() && frames <= kMostFrames + kMostPerStack * nodes.size(); ++most) {
      deeper -= stacks[most];
      frames += deeper;
    }
    std::vector<Node> outer(most == stacks.size() ? 0 : depth_.size());
    for (Node node = 1; node < outer.size(); ++node) {
      outer[node] = depth_[node] <= most ? node : outer[tree_.parent(node)];
    }
    return outer;
  }

  uint64_t LocationOf(trace::StackTree::Node node) {
    if (by_node_.size() <= node) by_node_.resize(tree_.size());
    uint64_t& location = by_node_[node];
    if (location != 0) return location;
    const trace::Name& name = trace_.name(tree_.name(node));
    const std::string_view text = trace_.text(name.text);
    trace::CodePlace place;
    Frame frame{text};
    if (name.layer == trace::Layer::kPython && trace::ParseCodePlace(text, &place)) {
      frame = {place.function, place.file, "", place.line, place.line};
    }
    return location = file_.LocationOf(frame);
  }

  std::string ThreadName(const trace::Track& track) const {
    const std::string_view name = trace_.text(track.name);
    return name.empty() ? "thread " + std::to_string(track.os_id) : std::string(name);
  }

  std::vector<std::pair<int64_t, int64_t>> Labels(const trace::Track& track,
                                                  const std::string& thread) {
    const trace::Process& process = trace_.processes[track.process.value];
    const std::string_view name = trace_.text(process.name.valid() ? process.name : process.key);
    const std::string title = std::string(name) + " (pid " + std::to_string(process.pid) + ")";
    return {{file_.Text("process"), file_.Text(title)}, {file_.Text("thread"), file_.Text(thread)}};
  }

  const trace::Trace& trace_;
  const trace::SampleReader samples_;
  trace::StackTree tree_;
  PprofFile file_;
  std::vector<uint64_t> by_node_;      // locations; 0: not made yet
  std::vector<uint32_t> depth_ = {0};  // by node
};

}  // namespace

Result<Gaps> WritePprof(const trace::Trace& trace, Sink* sink) {
  return PprofWriter(trace, sink).Write(false);
}

Result<Gaps> WritePprofSpans(const trace::Trace& trace, Sink* sink) {
  return PprofWriter(trace, sink).Write(true);
}

}  // namespace crosscut::exporting
