#include "src/analyze/verdict/places.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/intervals.h"
#include "src/analyze/verdict/line_samples.h"
#include "src/analyze/verdict/loops.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/analyze/verdict/rules.h"
#include "src/analyze/verdict/work_index.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kFewestSteps = 10;  // for what blocks of them say
constexpr double kLeast = 0.01;      // of the steps: of places with less no more is asked
// Between clocks and samples lies what threads take to hand over, and our own part of that.
constexpr double kHandOvers = 0.01;

// What the lead needs a processor for where it does it itself.
constexpr std::array kWork = {Cause::kPython,   Cause::kFramework,  Cause::kNative,
                              Cause::kLaunches, Cause::kAllocation, Cause::kCompilation,
                              Cause::kGc,       Cause::kInput,      Cause::kSimulator};

bool IsPurpose(Cause cause) { return VerdictRules()[static_cast<size_t>(cause)].purpose; }

// "models/net.py forward" of "models/net.py:41 forward".
std::string FunctionOf(std::string_view line) {
  const std::string_view number = NumberOfLine(line);
  if (number.size() == line.size()) return std::string(line);
  return std::string(number.substr(0, number.rfind(':'))) + std::string(line.substr(number.size()));
}

// Whether the one function holds the other, in the same line: "f" holds "f.<locals>.<listcomp>",
// which CPython 3.10 calls "<listcomp>".
bool Holds(std::string_view line, std::string_view other) {
  const std::string_view number = NumberOfLine(line);
  const auto nameless = [&](std::string_view of) {
    return of.substr(number.size()).starts_with(" <");
  };
  if (nameless(line) != nameless(other)) return nameless(other);
  return line.size() < other.size();
}

class Maker {
 public:
  Maker(const Context& context, uint32_t process)
      : trace_(context.trace()),
        process_(process),
        samples_(context.Shared<LineSamples>()),
        doing_(context.Shared<ThreadFacts>().doing),
        causes_(context.Shared<Causes>().processes[process]) {}

  std::vector<Place> Make() {
    std::map<Line, Place> by_line;
    for (size_t c = 0; c < kCauses; ++c) {
      if (IsOfProgram(static_cast<Cause>(c))) AddCause(c, &by_line);
    }
    std::vector<Place> places;
    for (auto& [line, place] : by_line) {
      if (place.all.ns > 0) places.push_back(std::move(place));
    }
    if (places.empty()) return places;  // of very many processes, most have none
    Sort(&places);
    JoinFunctions(&places);
    Sort(&places);
    JoinLoops(&places);
    Sort(&places);
    Bound(&places);
    return places;
  }

 private:
  static void Sort(std::vector<Place>* places) {
    std::stable_sort(places->begin(), places->end(),
                     [](const Place& a, const Place& b) { return a.all.ns > b.all.ns; });
  }

  void AddCause(size_t c, std::map<Line, Place>* by_line) const {
    const CauseSum& sum = causes_.causes[c];
    for (const auto& [line, blamed] : sum.lines) {
      if (!MayBeBlamed(line)) continue;
      Blamed alone = blamed;
      if (const auto hidden = sum.hidden.find(line); hidden != sum.hidden.end()) {
        alone.ns -= hidden->second.ns;
      }
      if (alone.ns <= 0) continue;
      Place& place = (*by_line)[line];
      place.line = line;
      place.all.Add(alone);
      place.causes[c] += alone.ns;
    }
  }

  double ShareOf(const Place& place) const { return Share(place.all.ns, causes_.program_ns()); }

  // When the lead is known to have had no processor.
  void FindPreempted() {
    const uint32_t lead = trace_.processes[process_].lead.value;
    if (lead >= trace_.tracks.size()) return;
    const trace::Spans& spans = trace_.tracks[lead].spans;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (doing_[spans.name[i].value] != Doing::kPreempted) continue;
      preempted_.Add({spans.begin_ns[i], spans.end_ns[i]});
    }
  }

  // In which step an instant lies, and where in it, but for waits for a processor, which come
  // anywhere.
  Meeting MeetingAt(int64_t at_ns) const {
    const std::vector<trace::Step>& steps = trace_.processes[process_].steps;
    const auto next =
        std::upper_bound(steps.begin(), steps.end(), at_ns,
                         [](int64_t at, const trace::Step& step) { return at < step.begin_ns; });
    if (next == steps.begin()) return {false, -1, 0};
    const trace::Step& step = *(next - 1);
    if (at_ns >= step.end_ns) return {false, -1, 0};
    const int64_t before_ns = preempted_.Before(step.begin_ns);
    const auto in_step = [&](int64_t at) {
      return at - step.begin_ns - (preempted_.Before(at) - before_ns);
    };
    return {false, next - steps.begin(), Share(in_step(at_ns), in_step(step.end_ns)),
            step.kind.value};
  }

  struct Seen {
    std::vector<Meeting> at;
    // Of them, as in LineSamples::OfLine.
    int64_t alone = 0, turns = 0, in_python = 0, elsewhere = 0;
  };
  Seen SeenAt(const Place& place) const {
    Seen out;
    place.ForEachLine([&](const Line& line) {
      samples_.ForEach(process_, line, [&](const LineSamples::OfLine& of_line) {
        out.in_python += of_line.in_python;
        out.elsewhere += of_line.elsewhere;
        for (const auto& [at_ns, thread, in] : of_line.seen) {
          out.at.push_back(MeetingAt(at_ns));
          out.at.back().at_ns = at_ns;
          out.at.back().thread = thread;
          out.alone += in == LineSamples::OfLine::In::kAlone;
          out.turns += in == LineSamples::OfLine::In::kTurns;
        }
      });
    });
    return out;
  }

  bool has_steps() const { return causes_.part == WindowPart::kSteps; }

  // Calls tell lines apart that make them, and so do loops within one. Without steps the loop may
  // be the program's own, so only what is Python alone is joined, whoever runs it.
  bool MayTakeTurns(const Seen& a, const Seen& b) const {
    for (const Seen* seen : {&a, &b}) {
      if (seen->alone > seen->turns) return false;
      if (!has_steps() && seen->in_python <= seen->elsewhere) return false;
    }
    std::vector<Meeting> all = a.at;
    for (const Meeting& meeting : b.at) {
      all.push_back(meeting);
      all.back().second = true;
    }
    std::sort(all.begin(), all.end(), [this](const Meeting& x, const Meeting& y) {
      if (!has_steps() && x.thread != y.thread) return x.thread < y.thread;
      return x.at_ns < y.at_ns;
    });
    return TakeTurns(all);
  }

  // Operators are the program's purpose, and each has a line of its own.
  bool MayBeOfLoop(const Place& place) const {
    return place.line.kind == LineKind::kOwn && ShareOf(place) >= kLeast &&
           !IsPurpose(place.cause());
  }

  static void Join(const Place& other, Place* place) {
    place->others.push_back(other.line);
    place->others.insert(place->others.end(), other.others.begin(), other.others.end());
    place->all.Add(other.all);
    for (size_t c = 0; c < kCauses; ++c) place->causes[c] += other.causes[c];
  }

  static void Drop(const std::vector<bool>& joined, std::vector<Place>* places) {
    size_t i = 0;
    std::erase_if(*places, [&](const Place&) { return joined[i++]; });
  }

  // A comprehension or a lambda is a function of its own, in the line of the one that holds it.
  void JoinFunctions(std::vector<Place>* places) const {
    std::map<std::pair<LineKind, std::string_view>, size_t> first;
    std::vector<bool> joined(places->size());
    for (size_t i = 0; i < places->size(); ++i) {
      const Line line = (*places)[i].line;
      const std::string_view text = trace_.text(line.text);
      const auto [at, fresh] = first.try_emplace({line.kind, NumberOfLine(text)}, i);
      if (fresh) continue;
      joined[i] = true;
      Place& place = (*places)[at->second];
      Join((*places)[i], &place);
      if (Holds(text, trace_.text(place.line.text))) {
        place.others.back() = place.line;
        place.line = line;
      }
    }
    Drop(joined, places);
  }

  void JoinLoops(std::vector<Place>* places) {
    size_t most = 0;
    while (most < places->size() && ShareOf((*places)[most]) >= kLeast) ++most;
    if (most < 2) return;
    FindPreempted();
    std::map<size_t, Seen> seen;  // of what may be joined
    const auto seen_at = [&](size_t i) -> const Seen& {
      const auto [at, fresh] = seen.try_emplace(i);
      if (fresh) at->second = SeenAt((*places)[i]);
      return at->second;
    };
    std::vector<std::string> functions;
    for (size_t i = 0; i < most; ++i) {
      functions.push_back(FunctionOf(trace_.text((*places)[i].line.text)));
    }
    std::vector<bool> joined(places->size());
    for (size_t i = 0; i < most; ++i) {
      Place& place = (*places)[i];
      if (joined[i] || !MayBeOfLoop(place)) continue;
      for (size_t j = i + 1; j < most; ++j) {
        Place& other = (*places)[j];
        if (joined[j] || functions[i] != functions[j] || !MayBeOfLoop(other)) continue;
        if (!MayTakeTurns(seen_at(i), seen_at(j))) continue;
        joined[j] = true;
        Join(other, &place);
        place.lines += other.lines;
      }
    }
    Drop(joined, places);
  }

  // By step: as the lead was at it, or waited for it; where most of it is neither, as its cause is.
  void FillSteps(Place* place) const {
    if (causes_.steps.empty()) return;
    place->steps.resize(causes_.steps.size());
    int64_t leads = 0;
    const auto add = [&](const StepParts& parts) {
      for (const auto& [step, ns] : parts) {
        place->steps[step] += ns;
        leads += ns;
      }
    };
    for (const CauseSum& sum : causes_.causes) {
      place->ForEachLine([&](const Line& line) {
        if (const auto at = sum.leads.find(line); at != sum.leads.end()) add(at->second.steps);
        if (const auto at = sum.others.find(line); at != sum.others.end()) add(at->second);
      });
    }
    if (2 * leads < place->all.ns) {
      const auto cause = static_cast<size_t>(place->cause());
      for (size_t i = 0; i < place->steps.size(); ++i) place->steps[i] = causes_.steps[i][cause];
      leads = causes_.causes[cause].ns;
    }
    const double scale = Share(place->all.ns, leads);
    for (int64_t& ns : place->steps) ns = std::llround(scale * static_cast<double>(ns));
  }

  // What lies under each place on the stacks of samples.
  struct Called {
    double all_ns = 0;            // what samples of the place above stand for
    std::map<size_t, double> by;  // of that, what some place is on the stack of
  };

  // The frames of a line and of what is in the same place, without folders, as stacks have them.
  void AddFrames(const Place& place, size_t i,
                 std::unordered_map<std::string_view, std::vector<size_t>>* out) const {
    place.ForEachLine(
        [&](const Line& line) { (*out)[FrameOfLine(trace_.text(line.text))].push_back(i); });
  }

  // By place: what was met by samples there, and who had called that.
  std::vector<Called> CallsOf(const std::vector<Place>& places, size_t most) const {
    std::unordered_map<std::string_view, std::vector<size_t>> frames;
    for (size_t i = 0; i < most; ++i) AddFrames(places[i], i, &frames);
    std::unordered_map<uint32_t, std::vector<size_t>> of_stack;
    const auto places_on = [&](trace::StringId stack) -> const std::vector<size_t>& {
      const auto [at, fresh] = of_stack.try_emplace(stack.value);
      std::string_view text = trace_.text(stack);
      while (fresh && !text.empty()) {
        const size_t end = text.find(';');
        const auto found = frames.find(text.substr(0, end));
        if (found != frames.end()) {
          at->second.insert(at->second.end(), found->second.begin(), found->second.end());
        }
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
      }
      std::sort(at->second.begin(), at->second.end());
      at->second.erase(std::unique(at->second.begin(), at->second.end()), at->second.end());
      return at->second;
    };
    std::vector<Called> out(places.size());
    const auto add = [&](size_t place, const Line& line) {
      // Its own frame may read like one of another file, in another folder, that is not there.
      const auto own = frames.find(FrameOfLine(trace_.text(line.text)));
      const auto is_own = [&](size_t i) {
        return i == place ||
               (own != frames.end() && std::ranges::find(own->second, i) != own->second.end());
      };
      samples_.ForEach(process_, line, [&](const LineSamples::OfLine& of_line) {
        for (const auto& [stack, covered_ns] : of_line.covered_ns) {
          const auto ns = static_cast<double>(covered_ns);
          out[place].all_ns += ns;
          for (const size_t i : places_on(trace::StringId{stack})) {
            if (!is_own(i)) out[place].by[i] += ns;
          }
        }
      });
    };
    for (size_t i = 0; i < places.size(); ++i) {
      places[i].ForEachLine([&](const Line& line) { add(i, line); });
    }
    return out;
  }

  // What of the steps goes with a place.
  struct Goes {
    CauseTimes causes;
    std::vector<int64_t> steps;
    int64_t ahead_ns = 0;  // of `causes`
    double reach_ns = 0;   // ReachOf() all of it
    double work_ns = 0;    // of `causes`: WorkAt() its lines
  };

  // With what others do ahead.
  Goes OwnOf(const Place& place) const {
    Goes out = {place.causes, place.steps};
    for (size_t c = 0; c < kCauses; ++c) {
      const std::map<Line, int64_t>& ahead = causes_.causes[c].ahead;
      place.ForEachLine([&](const Line& line) {
        const auto at = ahead.find(line);
        if (at == ahead.end()) return;
        out.causes[c] += at->second;
        out.ahead_ns += at->second;
      });
    }
    const double scale = 1 + Share(out.ahead_ns, place.all.ns);
    for (int64_t& ns : out.steps) ns = std::llround(scale * static_cast<double>(ns));
    out.reach_ns = scale * ReachOf(place.all);
    place.ForEachLine([&](const Line& line) { out.work_ns += WorkAt(line); });
    return out;
  }

  // What the lead itself does there and needs a processor for.
  double WorkAt(const Line& line) const {
    int64_t ns = 0;
    for (const Cause cause : kWork) {
      const auto& leads = causes_.causes[static_cast<size_t>(cause)].leads;
      if (const auto at = leads.find(line); at != leads.end()) ns += at->second.all.ns;
    }
    return static_cast<double>(ns);
  }

  double AllWork() const {
    int64_t ns = 0;
    for (const Cause cause : kWork) {
      for (const auto& [line, time] : causes_.causes[static_cast<size_t>(cause)].leads) {
        ns += time.all.ns;
      }
    }
    return static_cast<double>(ns);
  }

  // Of the time with waits for a processor.
  Place::Part WithWaits(const Place::Part& part, double of_work) const {
    const int64_t all_ns = causes_.whole_ns(Cause::kPreemption);
    const double waits = Share(causes_.preempted.ns, all_ns);
    if (waits <= 0 || part.share <= 0) return part;
    const double share = (1 - waits) * part.share + waits * std::min(1.0, of_work);
    const double scale = share / part.share;
    return {share, std::max(0.0, share - scale * (part.share - part.low)),
            part.high >= 1 ? 1 : std::min(1.0, share + scale * (part.high - part.share))};
  }

  // Whether the lead waits there most of the time, be it for threads that work.
  bool Awaits(const Place& place) const {
    const Cause cause = place.cause();
    if (cause == Cause::kWaiting || cause == Cause::kOtherProcess || cause == Cause::kLock) {
      return true;
    }
    int64_t ns = 0;
    for (const CauseSum& sum : causes_.causes) {
      place.ForEachLine([&](const Line& line) {
        const auto at = sum.leads.find(line);
        if (at == sum.leads.end()) return;
        for (const auto& [name, of_name] : at->second.names) {
          if (trace_.name({name}).layer == trace::Layer::kIdle) ns += of_name;
        }
      });
    }
    return 2 * ns > place.all.ns;
  }

  // The own part of each, and what would go with it.
  void Bound(std::vector<Place>* places) const {
    size_t most = 0;
    while (most < places->size() && ShareOf((*places)[most]) >= kLeast) ++most;
    std::vector<Goes> own;
    for (size_t i = 0; i < places->size(); ++i) {
      Place& place = (*places)[i];
      if (i < most) FillSteps(&place);
      place.own = PartOfSteps({place.causes, place.steps, 0, ReachOf(place.all)});
      own.push_back(OwnOf(place));
    }
    std::vector<Goes> all = own;
    const double work_ns = AllWork();
    const std::vector<Called> called = CallsOf(*places, most);
    for (size_t c = 0; c < places->size(); ++c) {
      if (called[c].all_ns <= 0) continue;
      for (const auto& [i, ns] : called[c].by) {
        // An event loop that runs what it calls waits for itself alone.
        if (Awaits((*places)[i])) continue;
        const double part = ns / called[c].all_ns;
        const auto of_callee = [part](int64_t ns) {
          return std::llround(part * static_cast<double>(ns));
        };
        for (size_t k = 0; k < kCauses; ++k) all[i].causes[k] += of_callee(own[c].causes[k]);
        all[i].ahead_ns += of_callee(own[c].ahead_ns);
        all[i].work_ns += part * own[c].work_ns;
        all[i].reach_ns = std::hypot(all[i].reach_ns, part * own[c].reach_ns);
        for (size_t s = 0; s < own[c].steps.size(); ++s) {
          all[i].steps[s] += of_callee(own[c].steps[s]);
        }
      }
    }
    for (size_t i = 0; i < places->size(); ++i) {
      // What lines do ahead overlaps: together they are waited for no longer than it takes.
      for (size_t c = 0; c < kCauses; ++c) {
        all[i].causes[c] = std::min(all[i].causes[c], causes_.causes[c].ns);
      }
      (*places)[i].ahead_ns = all[i].ahead_ns;
      (*places)[i].whole = PartOfSteps(all[i]);
      (*places)[i].gain = WithWaits((*places)[i].whole, all[i].work_ns / std::max(work_ns, 1.0));
    }
  }

  // How well samples tell the lines of each cause apart: as far as shares of so many draws go, and
  // as far as its own samples reach. Few of them may each stand for long.
  Place::Part PartOfSteps(const Goes& goes) const {
    const auto& [ns, steps, ahead_ns, reach_ns, work_ns] = goes;
    Place::Part part = {};
    double below = 0, above = 0, samples = 0;
    for (size_t c = 0; c < kCauses; ++c) {
      const CauseSum& sum = causes_.causes[c];
      if (ns[c] <= 0) continue;
      const double of_all = Share(sum.ns, causes_.program_ns());
      const double share = std::min(1.0, Share(ns[c], sum.ns));
      const auto [low, high] = SharesOfDraws(share, static_cast<double>(sum.samples));
      part.share += Share(ns[c], causes_.program_ns());
      below = std::hypot(below, of_all * (share - low));
      above = std::hypot(above, of_all * (high - share));
      samples += static_cast<double>(sum.samples);
    }
    if (samples == 0) return {part.share, 0, 1};
    double half = kHandOvers;
    if (steps.size() >= kFewestSteps) {
      std::vector<double> parts(steps.begin(), steps.end()), wholes;
      for (const auto& step : causes_.steps) {
        wholes.push_back(static_cast<double>(ProgramNs(step)));
      }
      half = std::hypot(half, RatioOf(parts, wholes).half);
    }
    const double reach = reach_ns / static_cast<double>(causes_.program_ns());
    part.low = std::max(0.0, part.share - std::hypot(std::max(below, reach), half));
    part.high = std::min(1.0, part.share + std::hypot(std::max(above, reach), half));
    return part;
  }

  const trace::Trace& trace_;
  const uint32_t process_;
  const LineSamples& samples_;
  const std::vector<Doing>& doing_;  // by name
  const ProcessCauses& causes_;
  BusyTimes preempted_;
};

}  // namespace

Cause Place::cause() const {
  return static_cast<Cause>(std::max_element(causes.begin(), causes.end()) - causes.begin());
}

CauseSum SumAt(const ProcessCauses& causes, const Place& place, Cause cause) {
  CauseSum out;
  for (const CauseSum& sum : causes.causes) {
    place.ForEachLine([&](const Line& line) {
      const auto time = sum.leads.find(line);
      if (time == sum.leads.end()) return;
      for (const auto& [name, ns] : time->second.names) out.names[name] += ns;
      for (const auto& [operation, ns] : time->second.operations) {
        out.operations[operation] += ns;
        out.ns += ns;
      }
    });
  }
  if (!IsOfDevices(cause) && 2 * out.ns >= place.all.ns) return out;
  // Names are known of the whole cause: as much of them as it has elsewhere may be there.
  const CauseSum& all = causes.causes[static_cast<size_t>(cause)];
  const int64_t elsewhere = all.ns - place.causes[static_cast<size_t>(cause)];
  const auto here = [&](const std::map<uint32_t, int64_t>& sums) {
    std::map<uint32_t, int64_t> of_place;
    for (const auto& [what, ns] : sums) {
      if (const int64_t least = std::min(ns, all.ns) - elsewhere; least > 0) of_place[what] = least;
    }
    return of_place;
  };
  out.ns = all.ns - elsewhere;
  out.names = here(all.names);
  out.operations = here(all.operations);
  return out;
}

int64_t GilAt(const ProcessCauses& causes, const Place& place) {
  int64_t ns = 0;
  place.ForEachLine([&](const Line& line) {
    if (const auto at = causes.gil.find(line); at != causes.gil.end()) ns += at->second.ns;
  });
  return ns;
}

Places::Places(const Context& context) {
  for (uint32_t p = 0; p < context.trace().processes.size(); ++p) {
    processes.push_back(Maker(context, p).Make());
  }
}

Table PlacesTable(const trace::Trace& trace, const Context& context) {
  const Places& places = context.Shared<Places>();
  TableRows table("places", Text("process"), Text("place"), Text("what"), Integer("lines"),
                  Text("cause"), Integer("ns"), Integer("place_ns"), Integer("low_ns"),
                  Integer("high_ns"), Integer("samples"), Integer("gain_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessCauses& causes = context.Shared<Causes>().processes[p];
    const auto total_ns = static_cast<double>(causes.program_ns());
    const auto all_ns = static_cast<double>(causes.whole_ns(Cause::kPreemption));
    for (const Place& place : places.processes[p]) {
      for (const auto& [ns, cause] : RankedCauses(place.causes)) {
        table.Add(context.process_label({p}), LineText(trace, place.line),
                  LineKindName(place.line.kind), place.lines, CauseName(cause), ns, place.all.ns,
                  std::llround(place.own.low * total_ns), std::llround(place.own.high * total_ns),
                  place.all.samples, std::llround(place.gain.share * all_ns));
      }
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
