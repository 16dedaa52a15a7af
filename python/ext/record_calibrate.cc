#include <algorithm>
#include <array>
#include <cmath>

#include "crosscut/calibrate.h"
#include "crosscut/in_python.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"

namespace crosscut::python {
namespace {

constexpr int kRounds = 11;
constexpr int kScopes = 200;

struct Round {
  double bare, scoped, inside;  // ticks of all scopes; of the inside of one
};

double Middle(std::array<double, kRounds> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// A function of a Python number; ticks of one call, or -1 with the error cleared.
double Time(PyObject* function, PyObject* count) {
  const uint64_t begin = crosscut_ticks_();
  const Ref done(PyObject_CallOneArg(function, count));
  const uint64_t end = crosscut_ticks_();
  if (!done) PyErr_Clear();
  return done ? static_cast<double>(end - begin) : -1;
}

bool Measure(PyObject* bare, PyObject* scoped, std::array<Round, kRounds>* rounds) {
  const Ref count(PyLong_FromLong(kScopes));
  PrivateChunk chunk;
  if (!count || !chunk.ok()) return false;
  bool good = true;
  for (Round& round : *rounds) {
    chunk.Record(false);
    round.bare = Time(bare, count.get());
    chunk.Record(true);
    round.scoped = Time(scoped, count.get());
    round.inside = chunk.MeanInside();
    good = good && round.bare >= 0 && round.scoped >= 0;
  }
  return good;
}

void Report(const std::array<Round, kRounds>& rounds) {
  std::array<double, kRounds> cost, inside, deviation;
  for (int i = 0; i < kRounds; ++i) {
    cost[i] = std::max(0.0, (rounds[i].scoped - rounds[i].bare) / kScopes);
    inside[i] = std::min(rounds[i].inside, cost[i]);
  }
  const double total = Middle(cost);
  for (int i = 0; i < kRounds; ++i) deviation[i] = std::fabs(cost[i] - total);
  // 95 % of a median, from the median absolute deviation: other processes make outliers.
  const double half = 1.96 * 1.2533 * 1.4826 * Middle(deviation) / std::sqrt(double{kRounds});
  const double ps = 1000 * crosscut_ns_per_tick();
  const double within = std::min(Middle(inside), total);
  const auto whole = [ps](double ticks) { return static_cast<int64_t>(ticks * ps); };
  crosscut_probe_cost(OperationProbe(), whole(within), whole(total) - whole(within),
                      whole(std::max(0.0, total - half)), whole(total + half),
                      int64_t{kRounds} * kScopes);
}

void Calibrate(void*) {
  const InPython python;
  if (!python) return;
  ThisThreadIsOurs();
  const Ref scope(PyDict_New()), module(PyImport_ImportModule("crosscut._record"));
  const Ref type(module ? PyObject_GetAttrString(module.get(), "operation") : nullptr);
  if (!scope || !type) return PyErr_Clear();
  PyObject* const names = scope.get();
  PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
  PyDict_SetItemString(names, "operation", type.get());
  const Ref ran(
      PyRun_String("def bare(n):\n"
                   "    for _ in range(n): pass\n"
                   "def scoped(n):\n"
                   "    for _ in range(n):\n"
                   "        with operation('(calibration)'): pass\n",
                   Py_file_input, names, names));
  std::array<Round, kRounds> rounds;
  if (ran && Measure(PyDict_GetItemString(names, "bare"), PyDict_GetItemString(names, "scoped"),
                     &rounds)) {
    Report(rounds);
  }
  PyErr_Clear();
}

// Annotations are the user's own: no level takes them out. What the recorder hides in control
// steps it hides by itself.
int KeepLevel(void*, crosscut_level) { return 0; }

}  // namespace

void AddAnnotationSource() {
  static bool added = false;
  if (added) return;
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "annotations";
  source.version = crosscut_version();
  source.set_level = KeepLevel;
  source.calibrate = Calibrate;
  source.marks = 1;
  added = Apart([&] { return crosscut_source_add(&source); }) != 0;
}

}  // namespace crosscut::python
