#include "src/verbs/recording/run_name.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "src/base/launcher.h"
#include "src/base/lists.h"

namespace crosscut::verbs {
namespace {

constexpr const char* kJobs[] = {"SLURM_JOB_ID", "PBS_JOBID",   "LSB_JOBID",
                                 "COBALT_JOBID", "FLUX_JOB_ID", "JOB_ID"};

// The variable's value; "" where it is not set.
std::string Value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// As the report takes it (src/runtime/rank.cc), else of a launcher that tells no size.
Result<std::string> Rank() {
  for (const bool with_size : {true, false}) {
    for (const base::RankVariables& from : base::kRankVariables) {
      std::string rank = Value(from.rank);
      if (IsNumber(rank) && (!with_size || IsNumber(Value(from.size)))) return rank;
    }
  }
  const auto name = [](const base::RankVariables& from) { return from.rank; };
  return Status::Invalid("no launcher has set a rank here (" +
                         base::Joined(base::kRankVariables, ", ", name) + ")");
}

Result<std::string> Job() {
  if (std::string job = BatchJob(); !job.empty()) return job;
  return Status::Invalid("no scheduler has set a job's id here (" + base::Joined(kJobs, ", ") +
                         ")");
}

Result<std::string> Host() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return Status::Io(std::strerror(errno));
  return std::string(name);
}

// What stands for the placeholder at `at`, behind its "%"; moves `at` behind it.
Result<std::string> Replacement(const std::string& name, size_t* at) {
  const char letter = *at < name.size() ? name[(*at)++] : '\0';
  switch (letter) {
    case '%': return std::string("%");
    case 'p': return std::to_string(getpid());
    case 'h': return Host();
    case 'r': return Rank();
    case 'j': return Job();
    default: break;
  }
  const size_t end = name.find('}', *at);
  if (letter != 'q' || *at >= name.size() || name[*at] != '{' || end == std::string::npos) {
    return Status::Invalid("the placeholders are %p, %h, %r, %j, %q{NAME} and %%");
  }
  const std::string variable = name.substr(*at + 1, end - *at - 1);
  *at = end + 1;
  std::string value = Value(variable.c_str());
  if (value.empty()) return Status::Invalid(variable + " is not set");
  return value;
}

}  // namespace

Result<std::string> ExpandRunName(const std::string& name) {
  std::string out;
  for (size_t at = 0; at < name.size();) {
    if (name[at] != '%') {
      out += name[at++];
      continue;
    }
    const size_t begin = at++;
    auto replacement = Replacement(name, &at);
    if (!replacement.ok()) {
      return replacement.status().At("-o " + name + ": " + name.substr(begin, at - begin));
    }
    out += *replacement;
  }
  return out;
}

std::string BatchJob() {
  for (const char* variable : kJobs) {
    if (std::string job = Value(variable); !job.empty()) return job;
  }
  return "";
}

}  // namespace crosscut::verbs
