// report, open, runs, export, import, info.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/counted.h"
#include "src/base/shell_word.h"
#include "src/cli/commands.h"
#include "src/cli/output.h"
#include "src/cli/python.h"
#include "src/cli/values.h"
#include "src/verbs/browser.h"
#include "src/verbs/export.h"
#include "src/verbs/import.h"
#include "src/verbs/info.h"
#include "src/verbs/report.h"
#include "src/verbs/runs.h"

namespace crosscut::cli {
namespace {

constexpr const char* kInputs =
    "run directory, as record makes it, or another tool's trace;\ndefault the newest run";

struct ReportArgs {
  std::vector<std::string> inputs;
  std::optional<verbs::ReportFormat> format;
  std::string file;
  bool summary = false;
};

int ReportCluster(const ReportArgs& args) {
  const auto format = args.format.value_or(verbs::ReportFormatOf(args.file));
  if (args.summary || format == verbs::ReportFormat::kMarkdown) {
    Talk("the report of a cluster is text, json or html");
    return kUsage;
  }
  std::vector<std::string> options;
  if (format == verbs::ReportFormat::kJson) options.push_back("--format=json");
  if (format == verbs::ReportFormat::kHtml) options.push_back("--format=html");
  if (!args.file.empty()) options.push_back("--output=" + args.file);
  return RunOnCluster("report", options, args.inputs);
}

int RunReport(ReportArgs args) {
  if (const int code = TakeNewest(&args.inputs); code != kGood) return code;
  if (IsCluster(args.inputs[0])) return ReportCluster(args);
  using verbs::ReportFormat;
  ReportFormat format = args.format.value_or(
      args.summary && args.file.empty() ? ReportFormat::kJson : verbs::ReportFormatOf(args.file));
  if (args.summary && format != ReportFormat::kJson) {
    Talk("--summary is JSON: leave out the other format");
    return kUsage;
  }
  if (args.summary) format = ReportFormat::kSummary;
  const bool one = format != ReportFormat::kText && format != ReportFormat::kMarkdown;
  if (one && args.inputs.size() > 1) {
    Talk("html and json take one input at a time");
    return kUsage;
  }
  verbs::ReportOptions options;
  options.format = format;
  const bool to_stdout = IsForStdout(args.file, &options);
  std::string text;
  bool incomplete = false;
  for (const std::string& input : args.inputs) {
    auto output = verbs::Report(input, options);
    if (!output.ok()) {
      if (const int code = Fail(output.status()); code != kUnreadable) return code;
      incomplete = true;
      continue;
    }
    if (text.empty()) {
      text = std::move(output->text);
    } else {
      text += "\n" + output->text;
    }
    incomplete = incomplete || output->incomplete;
  }
  if (text.empty()) return kUnreadable;
  return to_stdout ? Print(text, incomplete)
                   : WriteOutput(args.file, args.inputs, text, incomplete);
}

struct OpenArgs {
  std::vector<std::string> input;
  std::vector<int64_t> steps;
  std::string file;
};

int RunOpen(OpenArgs args) {
  if (verbs::IsStandardOutput(args.file)) {
    Talk("open needs a file to show; crosscut report --format=html prints the page");
    return kUsage;
  }
  if (const int code = TakeNewest(&args.input); code != kGood) return code;
  verbs::ReportOptions options;
  options.format = verbs::ReportFormat::kHtml;
  options.steps = std::move(args.steps);
  const auto page = verbs::Report(args.input[0], options);
  if (!page.ok()) return Fail(page.status());
  if (args.file.empty()) {
    args.file = verbs::PageOf(args.input[0]);
    // The run may be another's: what lies there by that name is replaced, not followed.
    const Status written = verbs::WriteWholeFile(args.file, page->text);
    if (!written.ok()) return Fail(written.At("the page (-o FILE puts it elsewhere)"));
  } else if (const auto written = verbs::WriteOutput(args.file, args.input, page->text);
             !written.ok()) {
    return Fail(written.status());
  }
  const std::string path = std::filesystem::absolute(args.file).string();
  const std::string browser = verbs::ShowPage(path);
  Talk("wrote " + args.file + " (" + verbs::KibiBytes(page->text.size()) + ")" +
       (browser.empty() ? "; no browser can be started here, so open it in one"
                        : ", shown by " + browser));
  if (!browser.empty()) return Ended(page->incomplete);
  return Print(path + "\n" + verbs::FileUrl(path) + "\n", page->incomplete);
}

int RunRuns(const std::string& folder) {
  const auto output = verbs::Runs(folder, isatty(STDOUT_FILENO) != 0 ? TerminalWidth() : 0);
  if (!output.ok()) return Fail(output.status());
  if (output->text.empty()) Talk("there is no run in " + folder);
  return Print(output->text, false);
}

struct ExportArgs {
  std::vector<std::string> input;
  std::string to, file;
};

int RunExport(ExportArgs args) {
  if (const int code = TakeNewest(&args.input); code != kGood) return code;
  const auto done = verbs::Export(args.input[0], args.to, args.file);
  if (!done.ok()) return Fail(done.status());
  for (const std::string& gap : done->gaps) Talk(gap);
  Talk("wrote " + args.file + " (" + done->format + ", " + verbs::KibiBytes(done->bytes) + ")");
  return Ended(done->incomplete);
}

struct ImportArgs {
  std::vector<std::string> files;
  std::string run;
};

int RunImport(const ImportArgs& args) {
  const auto done = verbs::ImportFiles(args.files, args.run);
  if (!done.ok()) return Fail(done.status());
  Talk(base::Counted(done->spans, "{span|spans} on ") +
       base::Counted(done->tracks, "{track|tracks} in ") + args.run + "; next: crosscut report " +
       base::ShellWord(args.run));
  return Ended(done->incomplete);
}

int RunInfo(std::vector<std::string> input) {
  if (const int code = TakeNewest(&input); code != kGood) return code;
  if (IsCluster(input[0])) return RunOnCluster("info", {}, input);
  const auto output = verbs::Info(input[0]);
  if (!output.ok()) return Fail(output.status());
  return Print(output->text, output->incomplete);
}

}  // namespace

Verb ReportVerb() {
  const auto args = std::make_shared<ReportArgs>();
  Verb verb("report", "Look", "crosscut report", "Show where the time went");
  verb.Take({
      {"INPUT ...", &args->inputs, kInputs},
      FormatOption(&args->format, kReportFormats,
                   "text, markdown, json or html; default what the name of -o ends with\n"
                   "(.txt, .md, .json, .html), else text"),
      {"-o FILE", &args->file,
       "write to this file instead of stdout; compressed if its name ends in .gz"},
      {"--summary", &args->summary,
       "at most 8 KB of JSON: what ran, what bounds it, what to ask next"},
  });
  verb.run = [=] { return RunReport(*args); };
  return verb;
}

Verb OpenVerb() {
  const auto args = std::make_shared<OpenArgs>();
  Verb verb("open", "Look", "crosscut open", "Show the report as a page with a timeline");
  verb.Take({
      {"INPUT", &args->input, kInputs},
      {"-o FILE", &args->file, "the page to write; default report.html in the run directory"},
      {"--steps N,...", &args->steps,
       "steps whose spans are on the page, by number: 17,42; there is room for a few",
       Rules{.check = StepNumber()}},
  });
  verb.notes =
      "Shown by $BROWSER, else by xdg-open where there is a display; else its path is printed.";
  verb.run = [=] { return RunOpen(*args); };
  return verb;
}

Verb RunsVerb() {
  const auto folder = std::make_shared<std::string>(".");
  Verb verb("runs", "Look", "crosscut runs", "List the runs that are here, the newest first");
  verb.Take({{"DIR", folder.get(), "where to look, and in its crosscut-runs; default here"}});
  verb.run = [=] { return RunRuns(*folder); };
  return verb;
}

Verb ExportVerb() {
  const auto args = std::make_shared<ExportArgs>();
  Verb verb("export", "Exchange", "crosscut export -o trace.json.gz",
            "Write a file for another tool");
  verb.Take({
      {"INPUT", &args->input, kInputs},
      {"--to FORMAT", &args->to,
       "format; default what the name of -o ends with:\n" + verbs::ListFormats(),
       Rules{.words = verbs::FormatNames()}},
      {"-o FILE", &args->file,
       "the file to write, - for stdout; compressed if its name ends in .gz",
       Rules{.required = true}},
  });
  verb.run = [=] { return RunExport(*args); };
  return verb;
}

Verb ImportVerb() {
  const auto args = std::make_shared<ImportArgs>();
  Verb verb("import", "Exchange", "crosscut import trace.json -o RUN",
            "Make a run from files that other tools wrote");
  verb.Take({
      {"FILE ...", &args->files, "profiles; every command that reads a run takes one as it is, too",
       Rules{.required = true}},
      {"-o RUN", &args->run, "run directory to make", Rules{.required = true}},
  });
  verb.run = [=] { return RunImport(*args); };
  return verb;
}

Verb InfoVerb() {
  const auto input = std::make_shared<std::vector<std::string>>();
  Verb verb("info", "Look", "crosscut info", "Show what an input is and what it holds");
  verb.Take({{"INPUT", input.get(), kInputs}});
  verb.run = [=] { return RunInfo(*input); };
  return verb;
}

}  // namespace crosscut::cli
