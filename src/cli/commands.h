// The verbs, and what becomes of their results. Results go to stdout, messages to stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/cli/arguments.h"

namespace crosscut::cli {

enum ExitCode { kGood = 0, kFinding = 1, kUsage = 2, kUnreadable = 3 };

Verb RecordVerb();
Verb StartVerb();
Verb StopVerb();
Verb SnapshotVerb();
Verb ReportVerb();
Verb OpenVerb();
Verb RunsVerb();
Verb TableVerb();
Verb DiffVerb();
Verb BaselineVerb();
Verb InfoVerb();
Verb PlotVerb();
Verb MapVerb();
Verb ReduceVerb();
Verb ExportVerb();
Verb ImportVerb();
Verb DoctorVerb();
Verb ValidateVerb();
Verb CheckPluginVerb();
Verb TensorFlowVerb();
// What is said of the other verbs of `program`, which has all of them when they run.
Verb CompletionVerb(const Verb* program);
Verb HelpVerb(const Verb* program);  // after the others

// Takes note of the Python that started this program, and removes it from the environment: commands
// that are run find theirs as it was. Call it first.
void TakeInterpreter();

// Writes "crosscut: " and the line to stderr. What it holds may come from anywhere: control
// characters, newlines among them, are shown as their pictures.
void Talk(std::string_view line);
// Writes the error to stderr and returns its exit code.
int Fail(const Status& status);
// The exit code of a verb that has written what it could. Says so where its input was incomplete.
int Ended(bool incomplete);
// Writes to stdout. Returns kGood, or kUnreadable where the input was incomplete or stdout fails. A
// reader that went away (`| head`) is no error.
int Print(std::string_view text, bool incomplete);
// Writes `head` and the names to stderr, on lines that fit a terminal.
void TalkNames(const std::string& head, const std::vector<std::string>& names);

// Why there is no verb `word` in `above`: the nearest one, or what can be done with the file of
// that name.
std::string UnknownVerb(const Verb& above, const std::string& word);
// What is wrong with a word behind `verb` that it does not take, with the nearest option.
std::string Unexpected(const Verb& verb, const std::string& word);
// Writes to stderr what is wrong, and which --help tells more. Returns kUsage.
int FailUsage(const Verb& verb, std::string_view problem);

}  // namespace crosscut::cli
