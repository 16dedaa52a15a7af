#include "calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "call_stack.h"
#include "calls.h"
#include "collections.h"
#include "crosscut/calibrate.h"
#include "entries.h"
#include "patches.h"
#include "python.h"

namespace crosscut::pycalls {
namespace {

constexpr int kRounds = 15;
constexpr int kCalls = 1000;

// One round: ticks of kCalls bare and probed calls, ticks inside a probed pair.
struct Round {
  double bare, probed, inside;
};

double Middle(std::array<double, kRounds> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// `inside_bare`: the share of a bare call that lies between the probe's two clock readings.
void Report(uint32_t probe, const std::array<Round, kRounds>& rounds, double inside_bare) {
  std::array<double, kRounds> cost, inside;
  for (int i = 0; i < kRounds; ++i) {
    const double bare = rounds[i].bare / kCalls;
    cost[i] = std::max(0.0, rounds[i].probed / kCalls - bare);
    inside[i] = std::clamp(rounds[i].inside - inside_bare * bare, 0.0, cost[i]);
  }
  const double total = Middle(cost);
  std::array<double, kRounds> deviations;
  for (int i = 0; i < kRounds; ++i) deviations[i] = std::fabs(cost[i] - total);
  // A median's standard error from the median absolute deviation: outliers are other processes.
  const double half = 1.96 * 1.2533 * 1.4826 * Middle(deviations) / std::sqrt(double{kRounds});
  const double ps = 1000 * crosscut_ns_per_tick();
  const double in = std::min(Middle(inside), total);
  const auto whole = [ps](double ticks) { return static_cast<int64_t>(ticks * ps); };
  // In whole picoseconds the parts add up to what the interval is about.
  crosscut_probe_cost(probe, whole(in), whole(total) - whole(in),
                      whole(std::max(0.0, total - half)), whole(total + half),
                      int64_t{kRounds} * kCalls);
}

PyObject* Dummy(PyObject* self, PyObject*) { return self; }

using Function = PyObject* (*)(PyObject*, PyObject*);

double TimeCalls(Function volatile* function) {
  const uint64_t begin = crosscut_ticks_();
  for (int i = 0; i < kCalls; ++i) (*function)(Py_None, nullptr);
  return static_cast<double>(crosscut_ticks_() - begin);
}

template <class Call>
double TimeLoop(Call call) {
  const uint64_t begin = crosscut_ticks_();
  call();
  return static_cast<double>(crosscut_ticks_() - begin);
}

}  // namespace

void CalibrateBoundary() {
  PrivateChunk chunk;
  static void* stub =
      LoneStub(reinterpret_cast<void*>(Dummy), {"calibration", CROSSCUT_OVERHEAD, 0});
  if (!chunk.ok() || stub == nullptr) return;
  Function volatile bare = Dummy;
  Function volatile thunk = reinterpret_cast<Function>(stub);
  std::array<Round, kRounds> rounds;
  for (Round& round : rounds) {
    chunk.Record(false);
    round.bare = TimeCalls(&bare);
    chunk.Record(true);
    round.probed = TimeCalls(&thunk);
    round.inside = chunk.MeanInside();
  }
  chunk.Record(false);
  Report(BoundaryProbe(), rounds, 1.0);
}

void CalibrateCollections() {
  PrivateChunk chunk;
  PyObject* callback = CollectionCallback();
  const Ref info(Py_BuildValue("{s:i}", "generation", 0));
  const Ref phases(Py_BuildValue("(ss)", "start", "stop"));
  if (!chunk.ok() || callback == nullptr || !info || !phases) return PyErr_Clear();
  std::array<Round, kRounds> rounds;
  for (Round& round : rounds) {
    chunk.Record(true);
    round.bare = 0;
    round.probed = TimeLoop([&] {
      for (int i = 0; i < 2 * kCalls; ++i) {
        PyObject* args[] = {PyTuple_GET_ITEM(phases.get(), i & 1), info.get()};
        Ref done(PyObject_Vectorcall(callback, args, 2, nullptr));
      }
    });
    round.inside = chunk.MeanInside();
  }
  Report(CollectionProbe(), rounds, 0.0);
}

void CalibrateCalls() {
  PrivateChunk chunk;
  const PrivateStack stack;
  const Ref names(PyDict_New());
  if (!chunk.ok() || !names) return PyErr_Clear();
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  const Ref ran(
      PyRun_String("def call(): pass\n"
                   "def loop(n):\n"
                   "    for _ in range(n): call()\n",
                   Py_file_input, names.get(), names.get()));
  const Ref count(PyLong_FromLong(kCalls));
  PyObject* loop = ran ? PyDict_GetItemString(names.get(), "loop") : nullptr;
  PyObject* call = ran ? PyDict_GetItemString(names.get(), "call") : nullptr;
  if (loop == nullptr || call == nullptr || !count) return PyErr_Clear();
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(call));
  std::array<Round, kRounds> rounds;
  for (Round& round : rounds) {
    chunk.Record(false);
    round.bare = TimeLoop([&] { Ref done(PyObject_CallOneArg(loop, count.get())); });
    chunk.Record(true);
    bool hooked = false;
    round.probed = TimeLoop([&] { hooked = CallHooked(loop, count.get(), code); });
    if (!hooked) return chunk.Record(false);
    round.inside = chunk.MeanInside();
  }
  chunk.Record(false);
  Report(PycallProbe(), rounds, 0.0);
}

}  // namespace crosscut::pycalls
