#include "src/analyze/testing/brute_force.h"

#include <algorithm>
#include <vector>

namespace crosscut::analyze::testing {

using trace::Kind;
using trace::Layer;

namespace {

bool IsWork(Layer l) { return (Bit(l) & kHostBits) != 0; }

bool BusyAt(const trace::Trace& trace, const trace::Track& t, int64_t at) {
  bool busy = false;
  for (size_t s = 0; s < t.spans.size(); ++s) {
    if (t.spans.begin_ns[s] > at || t.spans.end_ns[s] <= at) continue;
    const trace::Name& name = trace.name(t.spans.name[s]);
    if (name.kind == Kind::kSpan) busy = name.layer != Layer::kIdle;
  }
  return busy;
}

// The layer of the innermost span there that has one: those without one add nothing.
LayerSet AsyncAt(const trace::Trace& trace, const trace::Track& t, int64_t at) {
  LayerSet set = 0;
  for (size_t s = 0; s < t.spans.size(); ++s) {
    if (t.spans.begin_ns[s] > at || t.spans.end_ns[s] <= at) continue;
    const trace::Name& name = trace.name(t.spans.name[s]);
    if (name.kind == Kind::kSpan && IsWork(name.layer)) set = Bit(name.layer);
  }
  return set;
}

// `beside`: what asynchronous spans add.
LayerSet HostAt(const std::vector<ThreadInstant>& threads, const ThreadInstant* lead,
                LayerSet beside) {
  const bool another = std::any_of(threads.begin(), threads.end(), [&](const ThreadInstant& t) {
    return &t != lead && t.alive && t.in_span && IsWork(t.layer);
  });
  LayerSet set = beside;
  bool any = false, all_blocked = true;
  for (const ThreadInstant& t : threads) {
    if (!t.alive) continue;
    any = true;
    all_blocked &= t.layer == Layer::kIdle;
    if (IsWork(t.layer) && !(&t == lead && t.waits && another)) set |= Bit(t.layer);
  }
  return set == 0 && any && all_blocked ? kIdleBit : set;
}

}  // namespace

ThreadInstant ThreadAt(const trace::Trace& trace, const trace::Track& t, int64_t at) {
  ThreadInstant out;
  out.alive = t.begin_ns <= at && at < t.end_ns;
  if (!out.alive) return out;
  for (size_t i = 0; i < t.base.size(); ++i) {
    if (t.base_at_ns[i] > at) continue;
    out.layer = IsWork(t.base[i]) || t.base[i] == Layer::kIdle ? t.base[i] : Layer::kNone;
  }
  bool declared = false;  // an operation around it
  for (size_t s = 0; s < t.spans.size(); ++s) {
    if (t.spans.begin_ns[s] > at || t.spans.end_ns[s] <= at) continue;
    const trace::Name& name = trace.name(t.spans.name[s]);
    out.in_span = true;
    if (name.scope() && !name.found) {
      declared = true;
      out.operation = trace.text(name.text);
      out.part = "";
    } else if (name.scope()) {
      (declared ? out.part : out.operation) = trace.text(name.text);
    }
    const bool has_layer =
        name.kind == Kind::kSpan && (IsWork(name.layer) || name.layer == Layer::kIdle);
    if (out.layer == Layer::kOverhead) continue;  // whatever lies in it is ours, too
    if (has_layer) out.layer = name.layer;
    if (has_layer || name.waits) out.waits = name.waits;
  }
  return out;
}

InstantKey KeyAt(const trace::Trace& trace, int64_t at) {
  const trace::Process& p = trace.processes[0];
  std::vector<ThreadInstant> threads;
  size_t lead = SIZE_MAX;
  bool busy = false;
  LayerSet beside = 0;
  for (uint32_t i = 0; i < trace.tracks.size(); ++i) {
    const trace::Track& t = trace.tracks[i];
    if (t.kind == trace::TrackKind::kDevice) {
      busy |= !t.ours && BusyAt(trace, t, at);
    } else if (t.kind == trace::TrackKind::kAsync) {
      beside |= AsyncAt(trace, t, at);
    } else if (!t.ours) {
      if (p.lead.value == i) lead = threads.size();
      threads.push_back(ThreadAt(trace, t, at));
    }
  }
  const ThreadInstant* l = lead == SIZE_MAX ? nullptr : &threads[lead];
  const auto set = static_cast<LayerSet>(HostAt(threads, l, beside) | (busy ? kDeviceBit : 0));
  return {l == nullptr ? "" : l->operation, set};
}

std::optional<StepInForce> StepAt(const trace::Process& p, int64_t at) {
  const auto holds = [at](const auto& part) { return part.begin_ns <= at && at < part.end_ns; };
  const auto step = std::find_if(p.steps.begin(), p.steps.end(), holds);
  if (step != p.steps.end()) return StepInForce{&*step, std::max(step->begin_ns, p.start_ns)};
  std::optional<StepInForce> last;  // the probes stay as it had them
  for (const trace::Step& s : p.steps) {
    if (s.end_ns <= at && s.end_ns > std::max(s.begin_ns, p.start_ns)) last = {&s, s.end_ns};
  }
  return last;
}

std::optional<InstantKey> InstantAt(const trace::Trace& trace, int64_t at) {
  const trace::Process& p = trace.processes[0];
  const auto holds = [at](const auto& part) { return part.begin_ns <= at && at < part.end_ns; };
  if (std::any_of(p.paused.begin(), p.paused.end(), holds)) return std::nullopt;
  const std::optional<StepInForce> step = StepAt(p, at);
  if (step && step->control()) {
    return InstantKey{KeyAt(trace, step->since_ns).first, kControlBit};
  }
  InstantKey key = KeyAt(trace, at);
  if (step && step->left_out() && key.second != Bit(Layer::kOverhead)) key.second = kControlBit;
  return key;
}

std::string PartAt(const trace::Trace& trace, int64_t at) {
  const trace::Process& p = trace.processes[0];
  if (p.lead.value >= trace.tracks.size()) return "";
  const std::optional<StepInForce> step = StepAt(p, at);
  const int64_t then = step && step->control() ? step->since_ns : at;
  return ThreadAt(trace, trace.tracks[p.lead.value], then).part;
}

std::set<int64_t> Edges(const trace::Trace& trace) {
  const trace::Process& p = trace.processes[0];
  std::set<int64_t> edges = {p.start_ns, p.end_ns};
  for (const trace::Track& t : trace.tracks) {
    edges.insert(t.spans.begin_ns.begin(), t.spans.begin_ns.end());
    edges.insert(t.spans.end_ns.begin(), t.spans.end_ns.end());
    edges.insert(t.base_at_ns.begin(), t.base_at_ns.end());
    edges.insert({t.begin_ns, t.end_ns});
  }
  for (const auto& i : p.paused) edges.insert({i.begin_ns, i.end_ns});
  for (const auto& s : p.steps) edges.insert({s.begin_ns, s.end_ns});
  return edges;
}

}  // namespace crosscut::analyze::testing
