#include "src/trace/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace Text(const std::string& text) {
  auto trace = ParseText("# crosscut trace\n" + text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

constexpr const char* kFirst = R"(
process rank pid=1 window=0..100 name=a
thread main tid=1 main lead
op forward 0 50
span add 10 20 framework
arg note "shared word"
realtime 1000
)";
constexpr const char* kSecond = R"(
process other pid=5 window=0..10
thread main tid=5 main
process rank pid=2 parent=other window=0..100 name=b
pause 30 40
probe op 1 2 3 4 5
thread main tid=2 main lead
span launch 5 9 runtime
out 7 6
arg note "shared word"
arg bytes 3
lose full 2 50 60
step step 0 90
count queue 12 3
device gpu stream=7
span kernel 20 30 device
in 7 20
realtime 1500
)";

TEST(Merge, SaysWhereTheInputsStandOnNoCommonClock) {
  Trace whole = Text("process a pid=1 window=0..9\nrealtime 1000\n");
  Append(Text("process b pid=2 window=0..9\n"), &whole);
  EXPECT_THAT(whole.gaps, ElementsAre("Of the inputs not all know the time of day: they do not "
                                      "stand on one clock."));
}

TEST(Merge, PutsTheSecondOnTheFirstsClockAndKeepsAllThatHangsTogether) {
  Trace whole = Text(kFirst);
  Append(Text(kSecond), &whole);
  ASSERT_EQ(whole.processes.size(), 3u);
  const Process& rank = whole.processes[2];
  EXPECT_EQ(whole.text(rank.key), "rank (2)");
  EXPECT_EQ(whole.text(rank.name), "b");
  EXPECT_EQ(rank.parent.value, 1u);
  EXPECT_EQ(rank.start_ns, 500);
  EXPECT_EQ(rank.paused[0].begin_ns, 530);
  EXPECT_EQ(rank.steps[0].end_ns, 590);
  EXPECT_EQ(whole.text(rank.probes[0].probe), "op");
  ASSERT_EQ(whole.tracks.size(), 4u);
  const Track& host = whole.tracks[2];
  EXPECT_EQ(rank.lead.value, 2u);
  EXPECT_EQ(host.process.value, 2u);
  EXPECT_THAT(host.spans.begin_ns, ElementsAre(505));
  EXPECT_EQ(whole.text(whole.name(host.spans.name[0]).text), "launch");
  std::vector<Arg> args;
  for (const Arg& arg : host.args.of(0)) args.push_back(arg);
  ASSERT_EQ(args.size(), 2u);
  EXPECT_EQ(whole.text(args[0].text()), "shared word");
  EXPECT_EQ(args[1].value, 3);
  EXPECT_EQ(host.losses[0].end_ns, 560);
  EXPECT_EQ(whole.text(host.losses[0].reason), "full");
  ASSERT_EQ(whole.flows.size(), 1u);
  EXPECT_EQ(whole.flows[0].from_track.value, 2u);
  EXPECT_EQ(whole.flows[0].to_track.value, 3u);
  EXPECT_EQ(whole.flows[0].to_ns, 520);
  EXPECT_EQ(whole.counters[0].process.value, 2u);
  EXPECT_EQ(whole.counters[0].at_ns[0], 512);
  EXPECT_EQ(whole.text(whole.name(whole.counters[0].name).text), "queue");
  EXPECT_TRUE(whole.gaps.empty());
}

// All that a trace has of one process on, with texts in place of ids.
class Told {
 public:
  Told(const Trace& trace, uint32_t first_process, uint32_t first_track) : trace_(trace) {
    for (size_t p = first_process; p < trace.processes.size(); ++p) Add(trace.processes[p]);
    for (size_t t = first_track; t < trace.tracks.size(); ++t) Add(trace.tracks[t]);
    for (const Flow& flow : trace.flows) {
      if (flow.to_track.value < first_track) continue;
      Line("flow", flow.id, flow.from_track.value, flow.from, flow.from_ns, flow.to_track.value,
           flow.to, flow.to_ns);
    }
    for (const CounterSeries& series : trace.counters) {
      Line("counter", series.process.value, NameText(series.name));
      for (size_t i = 0; i < series.at_ns.size(); ++i) Line(series.at_ns[i], series.value[i]);
    }
  }
  const std::string& text() const { return text_; }

 private:
  template <class... Parts>
  void Line(const Parts&... parts) {
    const auto one = [this](const auto& part) {
      using Part = std::decay_t<decltype(part)>;
      if constexpr (std::is_same_v<Part, StringId>) {
        text_ += trace_.text(part);
      } else if constexpr (std::is_arithmetic_v<Part>) {
        text_ += std::to_string(part);
      } else {
        text_ += part;
      }
      text_ += ' ';
    };
    (one(parts), ...);
    text_ += '\n';
  }
  std::string NameText(NameId id) const {
    const Name& name = trace_.name(id);
    std::string out(trace_.text(name.text));
    for (const StringId more : {name.probe, name.overload, name.category}) {
      out += "|" + std::string(trace_.text(more));
    }
    return out + "|" + std::to_string(static_cast<int>(name.kind)) +
           std::to_string(static_cast<int>(name.layer)) + std::to_string(name.called_at);
  }
  void Add(const Process& p) {
    Line("process", p.key, p.name, p.pid, p.parent.value, p.start_method, p.start_ns, p.end_ns,
         p.why_incomplete, p.lead.value);
    for (const Interval& pause : p.paused) Line("pause", pause.begin_ns, pause.end_ns);
    for (const Step& step : p.steps) {
      Line("step", step.number, step.kind, step.begin_ns, step.end_ns, step.track.value);
    }
    for (const Phase& phase : p.phases) Line("phase", phase.name, phase.begin_ns, phase.end_ns);
    for (const ProbeCost& cost : p.probes) Line("probe", cost.probe, cost.inside_ps);
    for (const Source& s : p.sources) Line("source", s.name, s.version, s.state, s.message);
    for (const Clock& clock : p.clocks) Line("clock", clock.name, clock.anchors, clock.error_ns);
    for (const auto& [key, value] : p.meta) Line("meta", key, value);
  }
  void Add(const Track& t) {
    Line("track", t.process.value, t.name, t.device_name, t.os_id, t.device, t.begin_ns, t.end_ns);
    for (size_t i = 0; i < t.base.size(); ++i) {
      Line("base", t.base_at_ns[i], static_cast<int>(t.base[i]));
    }
    for (SpanIndex i = 0; i < t.spans.size(); ++i) {
      Line("span", NameText(t.spans.name[i]), t.spans.begin_ns[i], t.spans.end_ns[i],
           t.spans.StatedEnd(i), t.spans.parent[i]);
      for (const Arg& arg : t.args.of(i)) AddArg(arg);
    }
    for (size_t i = 0; i < t.instants.at_ns.size(); ++i) {
      Line("instant", NameText(t.instants.name[i]), t.instants.at_ns[i]);
      for (const Arg& arg : t.instant_args.of(static_cast<SpanIndex>(i))) AddArg(arg);
    }
    for (const Loss& l : t.losses) Line("loss", l.begin_ns, l.end_ns, l.count, l.reason);
  }
  void AddArg(const Arg& arg) {
    if (arg.is_text) {
      Line("arg", arg.key, arg.text());
    } else {
      Line("arg", arg.key, arg.value);
    }
  }

  const Trace& trace_;
  std::string text_;
};

// A trace of two processes whose times all lie `later`.
std::string Job(int64_t later) {
  const auto at = [later](int64_t ns) { return std::to_string(later + ns); };
  const auto to = [&](int64_t from, int64_t until) { return at(from) + " " + at(until); };
  return "process parent pid=5 window=" + at(0) + ".." + at(10) +
         "\nthread main tid=5 main life=" + at(1) + ".." + at(9) +
         "\nprocess child pid=6 parent=parent start=fork window=" + at(0) + ".." + at(100) +
         " name=c incomplete=killed\npause " + to(30, 40) +
         "\nprobe op 1 2 3 4 5\nsource pytorch 2.13.0 on it works\nclock tsc 12 40\nmeta seed 7\n"
         "thread main tid=6 main lead base=python life=" +
         at(2) + ".." + at(99) + "\nop forward " + to(3, 60) + "\nspan aten::add " + to(5, 9) +
         " framework at=12 overload=Tensor probe=op\nout 7 " + at(6) +
         "\narg note \"shared word\"\narg bytes 3\ninstant tick " + at(11) +
         "\narg why \"of it\"\nbase " + at(70) + " idle\nlose full 2 " + to(50, 60) +
         "\nstep step " + to(0, 90) + " number=3\nphase warm " + to(0, 20) + "\ncount queue " +
         at(12) + " 3\ndevice gpu device=2 stream=7\nspan kernel " + to(20, 30) + " device\nin 7 " +
         at(20) + "\n";
}

TEST(Merge, IsWhatOneFileOfBothWouldBe) {
  constexpr const char* kBefore =
      "process rank pid=1 window=0..9\nthread main tid=1 main lead\n"
      "span x 1 2 native\n";
  Trace together = Text(kBefore + Job(500)),
        merged = Text(std::string(kBefore) + "realtime 1000\n");
  Trace later = Text(Job(0) + "realtime 1500\n");
  const auto state = [](Trace* trace, size_t track, int64_t end) {  // longer than it could be
    trace->tracks[track].spans.stated_ends.emplace_back(0, end);
  };
  state(&together, 3, 540);
  state(&later, 2, 40);
  Append(std::move(later), &merged);
  EXPECT_EQ(Told(merged, 1, 1).text(), Told(together, 1, 1).text());
  EXPECT_THAT(Told(merged, 1, 1).text(), HasSubstr("520 530 540"));
}

TEST(Merge, SaysOnceWhereThereIsNoCommonClock) {
  Trace whole = Text(kFirst);
  Append(Text("process x pid=9 window=0..10\nthread main tid=9 main\n"), &whole);
  Append(Text("process y pid=9 window=0..10\nthread main tid=9 main\n"), &whole);
  EXPECT_EQ(whole.processes[1].start_ns, 0);
  EXPECT_THAT(whole.gaps, ElementsAre(HasSubstr("not stand on one clock")));
}

TEST(Merge, OfWallClocksWithAndWithoutABaseIsOnOne) {
  Trace whole = Text("process a pid=1 window=1500..1600\n");
  whole.clock = "CLOCK_REALTIME";
  Append(Text("process b pid=2 window=0..9\nrealtime 1520\n"), &whole);
  Trace other = Text("process c pid=3 window=1530..1531\n");
  other.clock = "CLOCK_REALTIME";
  Append(std::move(other), &whole);
  EXPECT_EQ(whole.processes[1].start_ns, 1520);
  EXPECT_EQ(whole.processes[2].start_ns, 1530);
  EXPECT_TRUE(whole.gaps.empty());
}

TEST(Merge, IntoNothingIsTheTraceItself) {
  Trace whole;
  Append(Text(kSecond), &whole);
  EXPECT_EQ(whole.processes.size(), 2u);
  EXPECT_EQ(whole.processes[1].start_ns, 0);
  EXPECT_TRUE(whole.gaps.empty());
}

}  // namespace
}  // namespace crosscut::trace
