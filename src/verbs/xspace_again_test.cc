// A trace that goes out as an XSpace and is read again is what it was: at random. What plugins
// collected goes out as it came.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/base/counted.h"
#include "src/export/exporter.h"
#include "src/export/testing/memory_sink.h"
#include "src/import/importer.h"
#include "src/import/native/native_collected.h"
#include "src/trace/builder.h"
#include "src/verbs/testing/drawn_space.h"

namespace crosscut::verbs {
namespace {

using trace::Kind;
using trace::Layer;
using trace::TrackBuilder;
using trace::TrackKind;

class Made {
 public:
  Made(uint32_t seed, std::string folder) : random_(seed), folder_(std::move(folder)) {}

  trace::Trace Trace() {
    const int processes = Up(2) + 1;
    builder_.trace().realtime_offset_ns = Up(2) * int64_t{1'770'000'000'000'000'000};
    for (int i = 0; i < processes; ++i) AddProcess(i);
    return builder_.Finish();
  }
  // What must be in the file, of what plugins collected.
  const std::vector<std::string>& collected() const { return collected_; }

 private:
  int Up(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  void AddProcess(int number) {
    const auto id = builder_.AddProcess("key-" + std::to_string(number));
    trace::Process& process = builder_.process(id);
    process.name = builder_.Text(Up(2) ? "train.py" : "worker");
    process.pid = 40 + number;
    process.start_ns = 100 + Up(100);
    process.end_ns = 5000 + Up(100);
    if (number > 0 && Up(2)) process.parent = trace::ProcessId{0};
    if (Up(3) == 0) process.complete = false, process.why_incomplete = builder_.Text("killed");
    if (Up(3) == 0) process.paused.push_back({1000, 1000 + Up(300)});
    std::vector<TrackBuilder*> threads, queues;
    for (int i = 0; i <= Up(3); ++i) threads.push_back(AddTrack(id, TrackKind::kThread, 10 + i));
    threads[0]->track().main = Up(2) != 0;
    if (Up(2)) AddTrack(id, TrackKind::kAsync, 1'000'000'001);
    const char* devices[] = {"NVIDIA X", "/device:CUSTOM:CHIP", "", "/device:GPU:0"};
    for (int i = 0, count = Up(5); i < count; ++i) {
      TrackBuilder* queue = AddTrack(id, TrackKind::kDevice, 5 + i);
      queue->track().device = i;
      queue->track().device_name = builder_.Text(devices[i]);
      queues.push_back(queue);
    }
    if (Up(2))
      builder_.process(id).lead = threads[static_cast<size_t>(Up(2)) % threads.size()]->id();
    for (TrackBuilder* thread : threads) FillHost(thread, /*launches=*/!queues.empty());
    for (TrackBuilder* queue : queues) FillDevice(queue);
    if (Up(4)) AddSteps(threads[0]->id());
    import::NativeSession session;
    for (TrackBuilder* queue : queues) {
      session.device_tracks.emplace_back().device = queue->track().device;
    }
    Collect(number, &session);
    const int64_t offset = builder_.trace().realtime_offset_ns;
    (void)import::TakeCollected(folder_, session, {&builder_, id, offset});
  }

  // Profiles of two sources, in parts.
  void Collect(int process, import::NativeSession* session) {
    const int64_t offset = builder_.trace().realtime_offset_ns;
    if (Up(2)) session->meta.emplace_back("xspace_line.4711", "3");
    for (int i = 0, count = Up(4); i < count; ++i) {
      const int64_t begin = offset == 0 ? 0 : offset + 100 + Up(50);
      const std::string name = std::to_string(process) + "-" + std::to_string(i) + ".xplane.pb";
      DrawnSpace space(&random_, offset, begin);
      std::ofstream(folder_ + "/" + name, std::ios::binary)
          << space.bytes() << std::string(static_cast<size_t>(Up(2)) * 3, '\0');
      session->meta.emplace_back("collected:" + std::to_string(i),
                                 std::string("xspace\t") + (Up(2) ? "chip" : "tensorflow") + "\t" +
                                     name + "\t" + std::to_string(begin) + "\t7");
      const std::vector<std::string> told = Described(space.bytes(), begin);
      collected_.insert(collected_.end(), told.begin(), told.end());
    }
  }

  TrackBuilder* AddTrack(trace::ProcessId process, TrackKind kind, int64_t os_id) {
    TrackBuilder& track = builder_.AddTrack(process, kind);
    track.track().name = builder_.Text(Up(2) ? "worker (main)" : "");
    track.track().os_id = os_id;
    return &track;
  }

  trace::NameId SomeName(Layer layer) {
    static constexpr const char* kTexts[] = {"forward", "cuLaunch", "$a.py:3 f", "aten::mm",
                                             "step"};
    trace::Name name = {builder_.Text(kTexts[Up(5)])};
    name.layer = layer;
    if (layer != Layer::kDevice && Up(3) == 0) {
      name.kind = Kind::kOperation;
      name.layer = Layer::kNone;
      name.found = Up(2) != 0;
    } else if (Up(8) == 0) {
      name.crosses = true;
    }
    name.waits = Up(5) == 0;
    return builder_.AddName(name);
  }

  void SomeArgs(TrackBuilder* track) {
    if (Up(4) == 0) track->Arg(builder_.Text(Up(2) ? "bytes" : "layer"), Up(1000) - 500);
    if (Up(6) == 0) track->ArgText(builder_.Text("tf_op"), builder_.Text("of the program"));
    const trace::StringId id = builder_.Text("correlation_id");
    const int kind = Up(12);
    if (kind == 0) track->Arg(id, Up(9) - 2);
    if (kind == 1) track->ArgText(id, builder_.Text("none"));
  }

  // One of an allocator, one of PyTorch's, or one that nothing is known of.
  void SomeMemory(TrackBuilder* track, int64_t at) {
    track->Instant(at, builder_.AddName({builder_.Text("[memory]")}));
    if (Up(8)) track->Arg(builder_.Text("Bytes"), Up(2000) - 1000);
    if (Up(2)) track->Arg(builder_.Text("Total Allocated"), Up(100'000));
    if (Up(2)) track->Arg(builder_.Text("Addr"), Up(5));
    if (Up(2)) {
      track->ArgText(builder_.Text("Allocator"), builder_.Text(Up(2) ? "GPU_0_bfc" : "cpu"));
    } else {
      track->Arg(builder_.Text("Device Type"), Up(3));
    }
  }

  void FillHost(TrackBuilder* track, bool launches) {
    int64_t at = 200;
    std::vector<trace::NameId> open;
    for (int i = Up(60); i > 0; --i, at += 1 + Up(40)) {
      const int what = Up(12);
      if (what >= 10) SomeMemory(track, at - Up(20));
      if (Up(20) == 0) track->Instant(at, builder_.AddName({builder_.Text("a mark")}));
      if (Up(20) == 0) track->Instant(at, builder_.AddName({builder_.Text("[memory unseen]")}));
      if (what < 5) {
        const auto name = SomeName(static_cast<Layer>(Up(trace::kLayerCount - 2)));
        track->Begin(at, name);
        SomeArgs(track);
        if (launches && Up(3) == 0) track->FlowOut(at, next_flow_++);
        open.push_back(name);
      } else if (what < 8 && !open.empty()) {
        track->EndNamed(at, open[static_cast<size_t>(Up(static_cast<int>(open.size())))]);
      } else if (what == 9) {
        track->Base(at, static_cast<Layer>(Up(trace::kLayerCount - 2)));
      }
    }
  }

  void FillDevice(TrackBuilder* track) {
    int64_t at = 300;
    for (int i = Up(8); i > 0; --i, at += 60) {
      track->Begin(at, SomeName(Layer::kDevice));
      if (arrived_ < next_flow_ && Up(2)) track->FlowIn(at, arrived_++);
      SomeArgs(track);
      track->End(at + 1 + Up(50));
    }
  }

  void AddSteps(trace::TrackId track) {
    const auto name = builder_.AddName({builder_.Text("batch"), Kind::kStep});
    int64_t at = 250;
    for (int i = 0; i < Up(6); ++i, at += 100 + Up(50)) {
      builder_.StepBegin(track, at, name);
      builder_.StepLevel(track, i + 7, static_cast<uint8_t>(Up(5)), Up(3) == 0);
      if (Up(5)) builder_.StepEnd(track, at + 90);
    }
  }

  std::mt19937 random_;
  const std::string folder_;
  trace::Builder builder_;
  std::vector<std::string> collected_;
  uint64_t next_flow_ = 1, arrived_ = 1;
};

// What must come back, as lines; times are those of the wall clock.
class Lines {
 public:
  // `again`: the trace has gone out; else marks go out only with what plugins collected.
  Lines(const trace::Trace& trace, bool again) : trace_(trace), again_(again) {
    for (uint32_t i = 0; i < trace.processes.size(); ++i) AddProcess(i);
    for (const trace::Track& track : trace.tracks) AddTrack(track);
    for (const trace::Flow& flow : trace.flows) {
      if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
      lines_.push_back(Where(flow.from_track) + "#" + std::to_string(flow.from) + " -> " +
                       Where(flow.to_track) + "#" + std::to_string(flow.to));
    }
    std::sort(lines_.begin(), lines_.end());
  }
  const std::vector<std::string>& lines() const { return lines_; }
  // What its XSpace says of marks.
  std::string left_out() const {
    return left_out_ == 0 ? "" : "no room for " + base::Counted(left_out_, "{mark|marks}");
  }

 private:
  std::string Time(int64_t ns) const {
    return " " + std::to_string(ns + trace_.realtime_offset_ns);
  }
  std::string Text(trace::StringId id) const { return " '" + std::string(trace_.text(id)) + "'"; }
  std::string Where(trace::TrackId id) const {
    return id.valid() ? Title(trace_.tracks[id.value]) : "-";
  }
  static std::string Title(const trace::Track& track) {
    return "track " + std::to_string(track.process.value) + "/" +
           std::to_string(static_cast<int>(track.kind)) + "/" + std::to_string(track.device) + "/" +
           std::to_string(track.os_id);
  }

  void AddProcess(uint32_t index) {
    const trace::Process& p = trace_.processes[index];
    const std::string title = "process " + std::to_string(index);
    std::string line = title + Text(p.key) + Text(p.name) + Text(p.why_incomplete) + " pid " +
                       std::to_string(p.pid) + Time(p.start_ns) + Time(p.end_ns) +
                       (p.complete ? "" : " incomplete") + " lead " + Where(p.lead);
    if (p.parent.valid()) line += " parent " + std::to_string(p.parent.value);
    for (const auto& pause : p.paused) line += " pause" + Time(pause.begin_ns) + Time(pause.end_ns);
    lines_.push_back(line);
    for (const trace::Step& s : p.steps) {
      lines_.push_back(title + " step " + std::to_string(s.number) + Time(s.begin_ns) +
                       Time(s.end_ns) + Text(s.kind) + " level " + std::to_string(s.level) +
                       (s.after_switch ? " switch" : "") + (s.open ? " open " : " ") +
                       Where(s.track));
    }
  }

  void AddTrack(const trace::Track& track) {
    const std::string title = Title(track);
    std::string line = title + Text(track.name) + Text(track.device_name) +
                       (track.main ? " main" : "") + Time(track.begin_ns) + Time(track.end_ns);
    for (size_t i = 0; i < track.base.size(); ++i) {
      line +=
          " base" + Time(track.base_at_ns[i]) + " " + std::string(trace::LayerName(track.base[i]));
    }
    lines_.push_back(line);
    for (uint32_t i = 0; i < track.spans.size(); ++i) {
      const trace::Name& name = trace_.name(track.spans.name[i]);
      line = title + " span " + std::to_string(i) + Time(track.spans.begin_ns[i]) +
             Time(track.spans.end_ns[i]) + Text(name.text) + " kind " +
             std::to_string(static_cast<int>(name.kind)) + " " +
             std::string(trace::LayerName(name.layer)) + (name.waits ? " waits" : "") +
             (name.found ? " found" : "") + (name.crosses ? " crosses" : "") + " in " +
             std::to_string(track.spans.parent[i]);
      for (const trace::Arg& arg : track.args.of(i)) {
        line += Text(arg.key) + "=" + (arg.is_text ? Text(arg.text()) : std::to_string(arg.value));
      }
      const auto& cut = track.spans.continued;
      if (std::binary_search(cut.begin(), cut.end(), i)) line += " goes on";
      lines_.push_back(line);
    }
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      const trace::StringId name = trace_.name(track.instants.name[i]).text;
      const bool kept = again_ || track.profile >= 0;
      if (!kept && !trace_.text(name).starts_with("[memory")) {
        ++left_out_;
        continue;
      }
      line = title + Text(name) + Time(track.instants.at_ns[i]);
      for (const trace::Arg& arg : track.instant_args.of(i)) {
        line += Text(arg.key) + "=" + (arg.is_text ? Text(arg.text()) : std::to_string(arg.value));
      }
      lines_.push_back(line);
    }
  }

  const trace::Trace& trace_;
  const bool again_;
  std::vector<std::string> lines_;
  uint64_t left_out_ = 0;
};

int64_t Setting(const char* name, int64_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? atoll(text) : otherwise;
}

TEST(XSpaceAgain, AnyTraceComesBackAsItWas) {
  char folder[] = "/tmp/crosscut-again-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/x.xplane.pb";
  // Always the same 500; in a soak others, for so long.
  using Clock = std::chrono::steady_clock;
  const std::chrono::seconds soak(Setting("CROSSCUT_MACHINE_SECONDS", 0));
  const auto until = Clock::now() + soak;
  const auto first =
      static_cast<uint32_t>(Setting("CROSSCUT_MACHINE_SEED", soak.count() > 0 ? time(nullptr) : 0));
  for (uint32_t i = 0; (i < 500 || Clock::now() < until) && !HasFailure(); ++i) {
    const uint32_t seed = first + i;
    SCOPED_TRACE(seed);
    Made made(seed, folder);
    const trace::Trace trace = made.Trace();
    std::string bytes;
    const auto sink = exporting::MemorySink(&bytes);
    ASSERT_TRUE(exporting::WriteXSpace(trace, sink.get()).ok());
    std::ofstream(path, std::ios::binary) << bytes;
    const auto again = import::Import(path);
    ASSERT_TRUE(again.ok()) << again.status().message();
    const Lines was(trace, /*again=*/false), is(*again, /*again=*/true);
    for (size_t i = 0; i < std::min(was.lines().size(), is.lines().size()); ++i) {
      ASSERT_EQ(is.lines()[i], was.lines()[i]);
    }
    ASSERT_EQ(is.lines().size(), was.lines().size());
    std::string gaps;
    for (const std::string& gap : again->gaps) gaps += gap;
    ASSERT_NE(gaps.find(was.left_out()), std::string::npos) << was.left_out() << " / " << gaps;
    std::multiset<std::string> out;
    for (std::string& one : Described(bytes, 0)) out.insert(std::move(one));
    for (const std::string& one : made.collected()) {
      const auto at = out.find(one);
      ASSERT_NE(at, out.end()) << testing::PrintToString(one);
      out.erase(at);
    }
    // A damaged file, or one of somebody who means harm, is refused or read.
    std::mt19937 random(seed);
    for (int i = 0; i < 5; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::ofstream(path, std::ios::binary) << bytes;
    (void)import::Import(path);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace crosscut::verbs
