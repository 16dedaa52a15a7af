// The input of a reading verb, read and ready for analysis.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/analyze/tables.h"
#include "src/base/status.h"
#include "src/import/importer.h"
#include "src/report/data.h"
#include "src/trace/trace.h"
#include "src/verbs/output.h"

namespace crosscut::verbs {

struct Input {
  std::string path;
  trace::Trace trace;
  std::unique_ptr<analyze::Context> context;  // for `trace`
};

// Reads a run directory or any file that an importer knows. It first empties the rings of the run's
// ended processes into their logs, if this user may write the run.
Result<std::unique_ptr<Input>> ReadInput(const std::string& path,
                                         import::Purpose purpose = import::Purpose::kAnalysis);

// What a view of an input shows.
enum class Scope {
  kDocument,  // the tables that text and Markdown use
  kSummary,   // those of the short JSON
  kTables,    // every table except those with a row per event or stack
  kPage,      // these tables and the timeline
};
// If a function is given, it gets the tables one after another, and ReportData::tables stays empty.
// `steps`: numbers of steps whose spans a page keeps before those of others.
using TakeTable = std::function<void(const analyze::Table& table)>;
report::ReportData MakeReportData(const Input& input, Scope scope, const TakeTable& take = {},
                                  const std::vector<int64_t>& steps = {});

}  // namespace crosscut::verbs
