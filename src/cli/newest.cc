#include "src/cli/newest.h"

#include "src/base/shell_word.h"
#include "src/cli/commands.h"
#include "src/verbs/runs.h"

namespace crosscut::cli {

int TakeNewest(std::vector<std::string>* inputs) {
  if (!inputs->empty()) return kGood;
  const auto runs = verbs::FindRuns(".");
  if (!runs.ok()) return Fail(runs.status());
  if (runs->empty()) {
    Talk(
        "no input is named, and there is no run in this folder or in crosscut-runs; record one: "
        "crosscut record python train.py");
    return kUsage;
  }
  inputs->push_back(runs->front().path);
  Talk("the newest run: " + base::ShellWord(runs->front().path));
  return kGood;
}

}  // namespace crosscut::cli
