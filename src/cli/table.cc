// table.
#include "src/verbs/table.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/nearest.h"
#include "src/base/shown_text.h"
#include "src/cli/commands.h"
#include "src/cli/output.h"
#include "src/cli/python.h"
#include "src/cli/values.h"
#include "src/verbs/runs.h"

namespace crosscut::cli {
namespace {

struct TableArgs {
  std::string input, name, format, file = "-";
  verbs::TableQuery query;
};

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// What a verb can read, whatever it is called.
bool IsInput(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory) return verbs::IsRun(path);
  return kind != std::filesystem::file_type::not_found;
}

std::string FormatOf(std::string_view file) {
  if (file.ends_with(".gz")) file.remove_suffix(3);
  if (file.ends_with(".parquet")) return "parquet";
  return file.ends_with(".json") ? "json" : "csv";
}

std::vector<std::string> QueryOptions(const verbs::TableQuery& query) {
  std::vector<std::string> words;
  for (const std::string& condition : query.where) words.push_back("--where=" + condition);
  if (!query.sort.empty()) words.push_back("--sort=" + query.sort);
  if (query.limit != SIZE_MAX) words.push_back("--limit=" + std::to_string(query.limit));
  return words;
}

bool IsShownAsBytes(const TableArgs& args) {
  if (args.format != "parquet" || args.file != "-" || isatty(STDOUT_FILENO) == 0) return false;
  Talk("Parquet is no text for a terminal: name a file with -o");
  return true;
}

// Python reads clusters and writes Parquet, where pyarrow is.
int TableByPython(const TableArgs& args) {
  if (IsShownAsBytes(args)) return kUsage;
  std::vector<std::string> options = QueryOptions(args.query);
  options.push_back("--format=" + args.format);
  options.push_back("-o" + args.file);
  std::vector<std::string> inputs = {args.input};
  if (!args.name.empty()) inputs.push_back(args.name);
  return RunOnCluster("table", options, inputs);
}

int FailTable(const Status& status, const std::string& name) {
  const int code = Fail(status);
  if (code == kUsage && !verbs::IsTable(name)) {
    TalkNames("the tables are", verbs::TableNames());
  }
  return code;
}

int RunTable(TableArgs args) {
  const bool swapped = verbs::IsTable(args.input) && !IsInput(args.input) && IsInput(args.name);
  if (swapped) std::swap(args.input, args.name);  // either order is clear
  if (args.format.empty()) args.format = FormatOf(args.file);
  if (IsCluster(args.input)) return TableByPython(args);
  if (args.name.empty() && verbs::IsTable(args.input) && !IsInput(args.input)) {
    std::vector<std::string> newest;
    if (const int code = TakeNewest(&newest); code != kGood) return code;
    args.name = std::exchange(args.input, newest[0]);
  }
  if (args.name.empty() && !args.input.empty() && !IsThere(args.input)) {
    const std::string near = base::DidYouMean(args.input, verbs::TableNames());
    return Fail(Status::NotFound(args.input + ": there is no such input, and no such table" +
                                 (near.empty() ? "; crosscut table lists the tables" : near)));
  }
  if (args.name.empty()) return Print(verbs::ListTables(), false);
  if (args.format == "parquet") return TableByPython(args);
  verbs::TableOptions options;
  options.query = args.query;
  if (args.format == "json") options.format = verbs::TableFormat::kJson;
  const auto output = verbs::WriteTableOf(args.input, args.name, options, args.file);
  if (!output.ok()) return FailTable(output.status(), args.name);
  if (!output->remark.empty()) Talk(output->remark);
  return Ended(output->incomplete);
}

}  // namespace

Verb TableVerb() {
  const auto args = std::make_shared<TableArgs>();
  Verb verb("table", "Look", "crosscut table operators",
            "Print one table; without NAME, list them");
  verb.Take({
      {"INPUT", &args->input,
       "run directory, as record makes it, or another tool's trace; where there is\n"
       "none, a table of the newest run",
       Rules{.words = verbs::TableNames()}},
      {"NAME", &args->name, "which table", Rules{.words = verbs::TableNames()}},
      {"--where CONDITION", &args->query.where,
       "only rows that meet this, as in --where='wall_ns > 1ms': COLUMN OP VALUE\n"
       "with = != < <= > >= or ~ (contains); may be given several times"},
      {"--sort COLUMN", &args->query.sort,
       "order the rows by this column; --sort=-COLUMN: largest first"},
      {"--limit N", &args->query.limit, "only the first N rows",
       Rules{.check = WholeNumber(0, uint64_t{1} << 60)}},
      {"--format FORMAT", &args->format,
       "csv, json or parquet (needs pyarrow); default what the name of -o ends\n"
       "with, else csv",
       Rules{.words = {"csv", "json", "parquet"}, .only = "format"}},
      {"-o FILE", &args->file, "write to this file instead of stdout"},
  });
  verb.run = [=] { return RunTable(*args); };
  return verb;
}

}  // namespace crosscut::cli
