// The verbs of the command line: their arguments, and what becomes of their results. Results go to
// stdout, messages to stderr.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace CLI {
class App;
}

namespace crosscut::cli {

enum ExitCode { kGood = 0, kFinding = 1, kUsage = 2, kUnreadable = 3 };

// Each function adds one verb. When its arguments are parsed, it stores in `*run` the action, which
// returns the exit code.
using Run = std::function<int()>;
struct CommandWords;  // filled in before the action runs
void AddRecord(CLI::App* app, Run* run, const CommandWords* words);
void AddControl(CLI::App* app, Run* run);  // start, stop, snapshot
void AddReport(CLI::App* app, Run* run);
void AddOpen(CLI::App* app, Run* run);
void AddRuns(CLI::App* app, Run* run);
void AddTable(CLI::App* app, Run* run);
void AddDiff(CLI::App* app, Run* run);
void AddBaseline(CLI::App* app, Run* run);
void AddExport(CLI::App* app, Run* run);
void AddImport(CLI::App* app, Run* run);
void AddInfo(CLI::App* app, Run* run);
void AddCheckPlugin(CLI::App* app, Run* run);
void AddDoctor(CLI::App* app, Run* run);
void AddPlot(CLI::App* app, Run* run);
void AddMap(CLI::App* app, Run* run);
void AddReduce(CLI::App* app, Run* run);
void AddTensorFlow(CLI::App* app, Run* run);
void AddValidate(CLI::App* app, Run* run, const CommandWords* words);
void AddCompletion(CLI::App* app, Run* run);
void AddHelp(CLI::App* app, Run* run);  // after the others

// Takes note of the Python that started this program, and removes it from the environment: commands
// that are run find theirs as it was. Call it first.
void TakeInterpreter();

// Writes "crosscut: " and the line to stderr. What it holds may come from anywhere: control
// characters, newlines among them, are shown as their pictures.
void Talk(std::string_view line);
// Writes the error to stderr and returns its exit code.
int Fail(const Status& status);
// Writes to stdout. Returns kGood, or kUnreadable where the input was incomplete or stdout fails. A
// reader that went away (`| head`) is no error.
int Print(std::string_view text, bool incomplete);

}  // namespace crosscut::cli
