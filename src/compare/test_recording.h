// Runs of tests: drawn, or written as text (src/trace/text.h), as comparisons take them.
#ifndef CROSSCUT_SRC_COMPARE_TEST_RECORDING_H_
#define CROSSCUT_SRC_COMPARE_TEST_RECORDING_H_

#include <memory>
#include <string_view>
#include <utility>

#include "src/analyze/testing/test_trace.h"
#include "src/compare/comparison.h"

namespace crosscut::compare {

class Recording {
 public:
  explicit Recording(trace::Trace made)
      : trace_(std::make_unique<trace::Trace>(std::move(made))),
        context_(std::make_unique<analyze::Context>(*trace_)) {}
  explicit Recording(analyze::testing::TestTrace made) : Recording(std::move(made.Finish())) {}
  explicit Recording(std::string_view text) : Recording(analyze::testing::Parse(text)) {}

  trace::Trace& trace() { return *trace_; }
  // Is valid as long as this recording, wherever it is moved.
  Run run() const { return {trace_.get(), context_.get()}; }

 private:
  std::unique_ptr<trace::Trace> trace_;
  std::unique_ptr<analyze::Context> context_;
};

inline Comparison CompareTwo(const Recording& a, const Recording& b) {
  const Run runs[] = {a.run(), b.run()};
  return Compare({{runs, 1}, {runs + 1, 1}});
}

}  // namespace crosscut::compare

#endif  // CROSSCUT_SRC_COMPARE_TEST_RECORDING_H_
