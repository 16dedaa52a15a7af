#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "src/base/descriptors.h"
#include "src/base/shown_text.h"
#include "src/cli/commands.h"
#include "src/cli/parser.h"
#include "src/cli/texts.h"

namespace crosscut::cli {

void Talk(std::string_view line) {
  const std::string text = "crosscut: " + base::ShownText(line) + "\n";
  const base::NoSignal no_pipe(SIGPIPE), no_limit(SIGXFSZ);
  fwrite(text.data(), 1, text.size(), stderr);
}

int Fail(const Status& status) {
  Talk(status.message());
  const bool usage = status.code() == Status::Code::kUnsupported;
  return usage ? kUsage : kUnreadable;
}

int Ended(bool incomplete) {
  if (!incomplete) return kGood;
  Talk("not all of the input can be read; crosscut table INPUT gaps says what is missing");
  return kUnreadable;
}

int Print(std::string_view text, bool incomplete) {
  if (base::WriteAll(STDOUT_FILENO, text) || errno == EPIPE) {
    return Ended(incomplete);
  }
  Talk(std::string("stdout: ") + std::strerror(errno));
  return kUnreadable;
}

namespace {

// The verbs in the order of help.
void AddVerbs(Verb* program) {
  for (const auto make : {RecordVerb, StartVerb,  StopVerb,     SnapshotVerb,    ReportVerb,
                          OpenVerb,   RunsVerb,   TableVerb,    DiffVerb,        BaselineVerb,
                          InfoVerb,   PlotVerb,   MapVerb,      ReduceVerb,      ExportVerb,
                          ImportVerb, DoctorVerb, ValidateVerb, CheckPluginVerb, TensorFlowVerb}) {
    program->verbs.push_back(make());
  }
  program->verbs.push_back(CompletionVerb(program));
  program->verbs.push_back(HelpVerb(program));
}

int Main(int argc, char** argv) {
  Verb program("", "", "",
               "Crosscut shows where a machine-learning program's wall time goes.\n\n"
               "  crosscut record python train.py     run it and record\n"
               "  crosscut report                     see where the time went\n");
  program.Take({{"--version", kNowhere, "Display program version information and exit"}});
  program.notes =
      "record exits as its command does. The others exit with 0 if all is well, 1 for a finding,\n"
      "2 for a wrong command line, 3 for an input that is unreadable or incomplete.";
  AddVerbs(&program);
  if (argc > 1) return ParseAndRun(program, {argv + 1, argv + argc});
  (void)Print(Overview(program), false);
  return kUsage;
}

}  // namespace
}  // namespace crosscut::cli

int main(int argc, char** argv) {
  crosscut::base::HoldStandardDescriptors();
  crosscut::cli::TakeInterpreter();
  try {
    return crosscut::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    crosscut::cli::Talk("out of memory");
  } catch (const std::exception& error) {
    crosscut::cli::Talk(error.what());
  }
  return crosscut::cli::kUnreadable;
}
