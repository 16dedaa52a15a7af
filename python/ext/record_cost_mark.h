// What work of ours costs that leaves no event of its own, so that it costs little: one event, with
// a probe, stands for 64 of a thread's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "crosscut/calibrate.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"

namespace crosscut::python {

// One for each kind of work; never destroyed.
class CostMark {
 public:
  // `text` lives as long: the probe's name, and the event's. `records`: so does the work.
  explicit CostMark(const char* text, bool records = false) : text_(text), records_(records) {}

  // One more; `so_far`: how many there were of this thread. True: Measure() is to follow now, or
  // may at a later one. Needs the GIL, where there is one.
  bool Count(int* so_far) {
    if (++*so_far % kPerMark != 0) return false;
    crosscut_instant(crosscut_intern(text_, SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE,
                                     CROSSCUT_NO_LAYER, Probe()));
    // In pauses and control steps less is recorded.
    return __atomic_load_n(&crosscut_this_thread->enabled, __ATOMIC_RELAXED) == 1 && !measured_;
  }

  // What it costs, by `once`, which does the work for an object that nobody else has; once per
  // process, where nothing that the work would touch is open. What `once` records is dropped, so no
  // code of others may run then: a collection of garbage would run some, and waits.
  template <class Once>
  void Measure(Once once) {
    if (measured_.exchange(true)) return;
    const PendingException kept;
    PyObject* none = PySet_New(nullptr);
    if (none == nullptr) return PyErr_Clear();
    const uint32_t ours =
        crosscut_intern("setting up", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_OVERHEAD, 0, 0);
    crosscut_begin(ours);
    std::array<double, kRounds> ticks;  // of a mark's
    const bool timed = Time(none, &ticks, once);
    crosscut_end_named(ours);
    Py_DECREF(none);
    if (!timed) return;
    std::sort(ticks.begin(), ticks.end());
    const auto ps = [](double of) {
      return static_cast<int64_t>(1000 * crosscut_ns_per_tick() * of);
    };
    // Control steps have this work, too, so no comparison tells what a program pays for it that a
    // warm loop does not: it is what is usual (docs/accounting.md 5), with its bounds.
    crosscut_probe_cost(AlsoInControl(), ps(kUsual * ticks[kRounds / 2]), 0,
                        ps(kUsual / kSpread * ticks[1]), ps(kUsual * kSpread * ticks[kRounds - 2]),
                        kRounds * kRepeats);
  }

 private:
  static constexpr int kPerMark = 64, kRounds = 11, kRepeats = 4;
  static constexpr double kUsual = 3, kSpread = 4.8;  // exp(1.96 * 0.8)

  uint32_t Probe() const {
    return crosscut_intern(text_, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  }

  uint32_t AlsoInControl() const {
    const std::string text = std::string(text_) + ", also in control steps";
    return crosscut_intern(text.c_str(), text.size(), CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  }

  // False where there is no memory for what is to be dropped.
  template <class Once>
  bool Time(PyObject* none, std::array<double, kRounds>* ticks, Once once) const {
    std::optional<PrivateChunk> chunk;
    if (records_ && !chunk.emplace().ok()) return false;
    const bool collects = records_ && PyGC_Disable() != 0;
    for (double& round : *ticks) {
      if (chunk) chunk->Record(true);
      const uint64_t begin = crosscut_ticks_();
      for (int i = 0; i < kRepeats * kPerMark; ++i) once(none);
      round = static_cast<double>(crosscut_ticks_() - begin) / kRepeats;
    }
    if (collects) PyGC_Enable();
    return true;
  }

  const char* text_;
  const bool records_;
  std::atomic<bool> measured_{false};
};

}  // namespace crosscut::python
