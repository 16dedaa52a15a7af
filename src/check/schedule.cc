#include "src/check/schedule.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <sstream>

#include "src/check/harness/options.h"
#include "src/check/harness/tensorflow.h"

namespace crosscut::check {
namespace {

constexpr useconds_t kPollUs = 2000;

// Whether the plugin was not tried for lack of a TensorFlow that can be loaded.
bool Lacked(const Outcome& outcome) {
  return !outcome.findings.empty() &&
         outcome.findings.back().rule == std::string_view("C1.tensorflow");
}

// The same, and nobody has looked for one yet.
bool WantsTensorFlow(const Outcome& outcome) {
  return options().tensorflow.folder.empty() && Lacked(outcome);
}

// Whatever else goes wrong at the registration, a host can name and go on.
bool EndedTheProcess(const Outcome& outcome) {
  if (outcome.findings.empty()) return false;
  const std::string_view rule = outcome.findings.back().rule;
  return rule == "C13.crash" || rule == "C16.exit";
}

Outcome RunAlone(const Test& test) {
  Child child(test);
  while (!child.Poll()) usleep(kPollUs);
  return child.Take();
}

class Schedule {
 public:
  Result<std::vector<TestResult>> Run() {
    // Later tests only make sense where these found that there is something to test.
    Load();
    for (const char* gate : {"C2", "trial"}) {
      const Test* test = FindTest(gate);
      if (stopped_.empty() && test->level <= options().level) RunBeside({test});
    }
    if (stopped_.empty()) {
      RunThose([](const Test& test) { return *test.needs == 0; });
      RunThose([this](const Test& test) { return *test.needs != 0 && Lacks(test).empty(); });
    }
    if (!trouble_.empty()) return Status::Io(trouble_);
    return Results();
  }

 private:
  static bool Wanted(const Test& test) {
    const Options& o = options();
    if (o.skip.contains(test.id)) return false;
    return o.only.empty() ? test.level <= o.level : o.only.contains(test.id);
  }

  // The first test, and once more with TensorFlow where the plugin turns out to need it.
  void Load() {
    Outcome outcome = RunAlone(*FindTest("C1"));
    if (WantsTensorFlow(outcome)) {
      if (const Status status = GiveTensorFlow(); status.ok()) {
        outcome = RunAlone(*FindTest("C1"));
      } else {
        Finding& finding = outcome.findings.back();
        const std::string text = finding.text + ("; " + std::string(status.message()));
        snprintf(finding.text, sizeof finding.text, "%s", text.c_str());
      }
    }
    Take(std::move(outcome));
  }

  void RunThose(const std::function<bool(const Test&)>& wanted) {
    std::vector<const Test*> together, alone;
    for (const Test& test : Tests()) {
      if (test.run == RunLoad || test.run == RunAbi || !Wanted(test) || !wanted(test)) continue;
      (test.alone ? alone : together).push_back(&test);
    }
    RunBeside(together);
    for (const Test* test : alone) RunBeside({test});
  }

  // The rule of a test that this one builds on and that failed, or "".
  std::string Lacks(const Test& test) const {
    std::istringstream needs(test.needs);
    for (std::string id; needs >> id;) {
      for (const Finding& finding : FindingsOf(id)) {
        if (finding.severity == Severity::kFail) return finding.rule;
      }
    }
    return "";
  }

  void RunBeside(const std::vector<const Test*>& tests) {
    std::list<Child> running;
    size_t next = 0;
    while ((next < tests.size() && trouble_.empty()) || !running.empty()) {
      while (next < tests.size() && trouble_.empty() &&
             running.size() < static_cast<size_t>(options().jobs)) {
        running.emplace_back(*tests[next++]);
      }
      for (auto at = running.begin(); at != running.end();) {
        if (at->Poll()) {
          Take(at->Take());
          at = running.erase(at);
        } else {
          ++at;
        }
      }
      usleep(kPollUs);
    }
  }

  void Take(Outcome outcome) {
    if (!outcome.trouble.empty()) stopped_ = trouble_ = outcome.trouble;
    if (outcome.fatal) {
      const bool named = !outcome.findings.empty();
      stopped_ = named ? outcome.findings.back().rule : outcome.id;
    }
    outcomes_.push_back(std::move(outcome));
  }

  // A finding belongs to the test that its rule is named after, and is told once.
  std::vector<Finding> FindingsOf(const std::string& id) const {
    std::vector<Finding> found;
    for (const Outcome& outcome : outcomes_) {
      for (const Finding& finding : outcome.findings) {
        const std::string_view rule = finding.rule;
        const bool known = std::any_of(found.begin(), found.end(),
                                       [&](const Finding& f) { return rule == f.rule; });
        if (rule.substr(0, rule.find('.')) == id && !known) found.push_back(finding);
      }
    }
    return found;
  }

  TestResult ResultOf(const Test& test) const {
    TestResult result = {&test, Verdict::kPass, FindingsOf(test.id), "", 0};
    const auto ran = std::find_if(outcomes_.begin(), outcomes_.end(),
                                  [&](const Outcome& o) { return o.id == test.id; });
    if (ran != outcomes_.end()) {
      result.seconds = ran->seconds;
      result.why = ran->skip.empty() ? ran->note : ran->skip;
    }
    const bool failed = std::any_of(result.findings.begin(), result.findings.end(),
                                    [](auto& f) { return f.severity == Severity::kFail; });
    if (!result.findings.empty()) {
      result.verdict = failed ? Verdict::kFail : Verdict::kWarn;
    } else if (ran == outcomes_.end()) {
      result.verdict = Verdict::kSkip;
      result.why = "not tried: see " + (stopped_.empty() ? Lacks(test) : stopped_);
    } else if (!ran->skip.empty()) {
      result.verdict = Verdict::kSkip;
    }
    return result;
  }

  std::vector<TestResult> Results() const {
    std::vector<TestResult> results;
    for (const Test& test : Tests()) {
      TestResult result = ResultOf(test);
      if (Wanted(test) || !result.findings.empty()) results.push_back(std::move(result));
    }
    return results;
  }

  std::vector<Outcome> outcomes_;
  std::string trouble_;  // of the checker itself
  std::string stopped_;  // the rule whose breach makes the rest pointless
};

}  // namespace

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "PASS";
    case Verdict::kWarn: return "WARN";
    case Verdict::kFail: return "FAIL";
    case Verdict::kSkip: return "SKIP";
  }
  return "?";
}

Status GiveTensorFlow() {
  const std::string& named = options().python;
  const auto found = FindTensorFlow(named.empty() ? "python3" : named);
  if (!found.ok()) {
    // Who records knows nothing of our options.
    const char* step = options().probe ? ": put a Python that has it first in PATH"
                                       : ": name a Python that has it (--python PATH)";
    return Status::NotFound(std::string(found.status().message()) + step);
  }
  options().tensorflow = *found;
  return Status();
}

Result<std::string> Probe() {
  const Test& trial = *FindTest(options().registers ? "registration" : "trial");
  Outcome outcome = RunAlone(trial);
  if (WantsTensorFlow(outcome)) {
    if (const Status status = GiveTensorFlow(); !status.ok()) return status;
    outcome = RunAlone(trial);
  }
  if (!outcome.trouble.empty()) return Status::Io(outcome.trouble);
  if (!outcome.fatal || (options().registers && !EndedTheProcess(outcome))) return std::string();
  if (Lacked(outcome)) return Status::NotFound(outcome.findings.back().text);
  std::string why = outcome.findings.empty() ? outcome.skip : outcome.findings.back().text;
  for (char& c : why) c = static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return why;
}

Result<std::vector<TestResult>> RunTests() { return Schedule().Run(); }

}  // namespace crosscut::check
