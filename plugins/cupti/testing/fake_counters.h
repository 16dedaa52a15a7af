// CUPTI's range profiler as the headers describe it, simulated: part of FakeCupti.
//
// Each function is refused in a state in which CUPTI refuses it. What a kernel's counters say is a
// function that the test gives; several threads may ask.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../api.h"

namespace crosscut::cupti {

class FakeCounters {
 public:
  // ---- To program ------------------------------------------------------------------------------
  std::map<std::string, std::string> metrics = {{"sm__cycles_elapsed.max", "cycles"},
                                                {"dram__bytes.sum", "bytes"},
                                                {"smsp__inst_executed.sum", "inst"}};  // units
  size_t metrics_a_pass = 64;
  std::function<double(const std::string& metric, uint32_t launch)> value =
      [](const std::string& metric, uint32_t launch) {
        return static_cast<double>(launch) + static_cast<double>(metric.size()) / 64;
      };

  // ---- To ask ----------------------------------------------------------------------------------
  size_t open() const { return profilers_.size() + hosts_.size(); }
  bool is_initialized() const { return initialized_; }

  // ---- The device ------------------------------------------------------------------------------
  // Runs the kernel of a launch in `context`. How often.
  size_t Run(CUcontext context, uint32_t launch);

  void FillTable(Api* api);

 private:
  using Ranges = std::vector<std::vector<uint32_t>>;  // their launches
  struct Profiler {
    CUcontext context;
    bool is_configured, is_started, in_range;
    CUpti_ProfilerRange range;
    size_t passes, most;
    uint8_t* image;
    Ranges ranges;
  };
  struct Host {
    std::vector<std::string> metrics;
  };
  static FakeCounters& Of();
  // Null: there is none.
  Profiler* Find(const void* object) const;
  Host* FindHost(const void* object) const;
  void FillHost(Api* api);
  void FillImages(Api* api);
  void FillRanges(Api* api);
  void FillEdges(Api* api);
  void FillResults(Api* api);

  std::recursive_mutex mutex_;
  bool initialized_ = false;
  std::map<const void*, std::unique_ptr<Profiler>> profilers_;
  std::map<const void*, std::unique_ptr<Host>> hosts_;
  Ranges decoded_;
};

}  // namespace crosscut::cupti
