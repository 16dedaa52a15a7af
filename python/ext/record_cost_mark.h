// What work of ours costs that leaves no event of its own, so that it costs little: one event, with
// a probe, stands for 64 of a thread's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "crosscut/calibrate.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"

namespace crosscut::python {

// One for each kind of work; never destroyed.
class CostMark {
 public:
  // `text` lives as long: the probe's name, and the event's.
  explicit CostMark(const char* text) : text_(text) {}

  // One more; `so_far`: how many there were of this thread. At the first that is `calm`, which is
  // where nothing that the work would touch is open, it is measured by `once`, which does it for an
  // object that nobody else has. What `once` records is dropped. Needs the GIL, where there is one.
  template <class Once>
  void Count(int* so_far, bool calm, Once once) {
    if (++*so_far % kPerMark != 0) return;
    const PendingException kept;
    if (calm && !calibrated_.exchange(true)) Calibrate(once);
    crosscut_instant(crosscut_intern(text_, SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE,
                                     CROSSCUT_NO_LAYER, Probe()));
  }

 private:
  static constexpr int kPerMark = 64, kRounds = 11, kRepeats = 4;

  uint32_t Probe() const {
    return crosscut_intern(text_, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  }

  template <class Once>
  void Calibrate(Once once) {
    PyObject* none = PySet_New(nullptr);
    if (none == nullptr) return PyErr_Clear();
    std::array<double, kRounds> ticks;  // of a mark's
    {
      PrivateChunk chunk;
      for (double& round : ticks) {
        if (chunk.ok()) chunk.Record(true);
        const uint64_t begin = crosscut_ticks_();
        for (int i = 0; i < kRepeats * kPerMark; ++i) once(none);
        round = static_cast<double>(crosscut_ticks_() - begin) / kRepeats;
      }
    }
    Py_DECREF(none);
    std::sort(ticks.begin(), ticks.end());
    const auto ps = [](double of) {
      return static_cast<int64_t>(1000 * crosscut_ns_per_tick() * of);
    };
    crosscut_probe_cost(Probe(), 0, ps(ticks[kRounds / 2]), ps(ticks[1]), ps(ticks[kRounds - 2]),
                        kRounds * kRepeats);
  }

  const char* text_;
  std::atomic<bool> calibrated_{false};
};

}  // namespace crosscut::python
