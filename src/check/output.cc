#include "src/check/output.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "src/base/json_text.h"
#include "src/check/harness/options.h"

namespace crosscut::check {
namespace {

constexpr size_t kWidth = 100;

// `text` in lines of at most kWidth, each indented. What a plugin says may hold anything, so
// control characters are left out.
std::string Wrapped(std::string_view text, size_t indent) {
  std::string clean, out;
  for (const char c : text) clean += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  std::string_view rest = clean;
  while (!rest.empty()) {
    size_t length = std::min(rest.size(), kWidth - indent);
    if (length < rest.size()) {
      const size_t space = rest.rfind(' ', length);
      if (space != std::string_view::npos && space > 0) length = space;
    }
    out += std::string(indent, ' ') + std::string(rest.substr(0, length)) + "\n";
    rest.remove_prefix(length);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  }
  return out;
}

const char* NameOf(Severity severity) { return severity == Severity::kFail ? "FAIL" : "WARN"; }

int CountOf(const std::vector<TestResult>& results, Verdict verdict) {
  return static_cast<int>(std::count_if(results.begin(), results.end(),
                                        [verdict](const auto& r) { return r.verdict == verdict; }));
}

void Member(const char* name, std::string_view value, std::string* out) {
  *out += std::string("\"") + name + "\": ";
  base::AppendJsonString(value, out);
}

std::string ResultAsJson(const TestResult& result) {
  std::string out = "{";
  Member("id", result.test->id, &out);
  out += ", \"level\": " + std::to_string(result.test->level) + ", ";
  Member("name", result.test->name, &out);
  out += ", ";
  Member("result", NameOf(result.verdict), &out);
  out += ", ";
  Member("note", result.why, &out);
  out += ", \"milliseconds\": " + std::to_string(static_cast<int>(result.seconds * 1000)) +
         ", \"findings\": [";
  for (const Finding& finding : result.findings) {
    out += &finding == result.findings.data() ? "{" : ", {";
    Member("rule", finding.rule, &out);
    out += ", ";
    Member("severity", NameOf(finding.severity), &out);
    out += ", ";
    Member("text", finding.text, &out);
    out += "}";
  }
  return out + "]}";
}

}  // namespace

bool AnyFailed(const std::vector<TestResult>& results) {
  return CountOf(results, Verdict::kFail) > 0;
}

std::string AsText(const std::vector<TestResult>& results) {
  std::string out;
  if (const std::string& folder = options().tensorflow.folder; !folder.empty()) {
    out = "TensorFlow at " + folder + " is loaded before the plugin\n";
  }
  for (const TestResult& result : results) {
    char line[120];
    snprintf(line, sizeof line, "%-4s  %-3s  level %-2d  %s\n", NameOf(result.verdict),
             result.test->id, result.test->level, result.test->name);
    out += line;
    for (const Finding& finding : result.findings) {
      out +=
          Wrapped(std::string(finding.rule) +
                      (finding.severity == Severity::kWarn ? " (warning): " : ": ") + finding.text,
                  6);
    }
    if (!result.why.empty() && result.verdict != Verdict::kFail) out += Wrapped(result.why, 6);
  }
  const auto count = [&](Verdict verdict) { return std::to_string(CountOf(results, verdict)); };
  return out + count(Verdict::kPass) + " passed, " + count(Verdict::kWarn) + " with warnings, " +
         count(Verdict::kFail) + " failed, " + count(Verdict::kSkip) + " skipped; level " +
         std::to_string(options().level) + ", seed " + std::to_string(options().seed) + "\n";
}

std::string AsJson(const std::vector<TestResult>& results) {
  std::string out = "{";
  Member("plugin", options().plugin, &out);
  out += ", ";
  Member("tensorflow", options().tensorflow.folder, &out);
  out += ", \"level\": " + std::to_string(options().level) +
         ", \"seed\": " + std::to_string(options().seed) +
         ", \"failed\": " + std::to_string(CountOf(results, Verdict::kFail)) +
         ", \"warned\": " + std::to_string(CountOf(results, Verdict::kWarn)) + ", \"tests\": [\n";
  for (const TestResult& result : results) {
    out += ResultAsJson(result) + (&result == &results.back() ? "\n" : ",\n");
  }
  return out + "]}\n";
}

}  // namespace crosscut::check
