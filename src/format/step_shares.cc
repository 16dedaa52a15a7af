#include "src/format/step_shares.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/nearest.h"
#include "src/base/quantity.h"

namespace crosscut::format {
namespace {

constexpr const char* kNames[] = {"control", "boundary", "operators", "everything", "marks"};
constexpr double kMillionthsPerPercent = kWholeShare / 100.0;

struct NamedPlan {
  const char* name;
  double percent[kStepLevels];
  StepLevel rest;  // gives and takes what other control shares leave
};
constexpr NamedPlan kPlans[] = {
    {"light", {3, 95, 1.5, 0.5}, kLevelBoundary},
    {"balanced", {4, 91, 4, 1}, kLevelBoundary},
    {"full", {5, 0, 0, 95}, kLevelEverything},
};

int LevelOf(const char* name, size_t length) {
  for (int level = 0; level < kStepLevels; ++level) {
    if (strlen(kNames[level]) == length && strncmp(kNames[level], name, length) == 0) return level;
  }
  return -1;
}

// One "level=percent" up to a comma or the end; where it ends, or null.
const char* ParsePart(const char* text, double (&percent)[kStepLevels], char* why, size_t size) {
  const size_t length = strcspn(text, "=,");
  const int level = LevelOf(text, length);
  if (level < 0) {
    const std::string_view name(text, length);
    std::vector<std::string> known(kNames, kNames + kStepLevels);
    for (const NamedPlan& plan : kPlans) known.emplace_back(plan.name);
    snprintf(why, size,
             "\"%.*s\" is neither light, balanced or full nor a level "
             "(control, boundary, operators, everything)%s",
             static_cast<int>(strcspn(text, ",")), text, base::DidYouMean(name, known).c_str());
    return nullptr;
  }
  const char* end = nullptr;
  const char* number = text + length + (text[length] == '=' ? 1 : 0);
  const double value = base::ReadNumber(number, &end);
  const bool ends = *end == '\0' || *end == ',';
  if (text[length] != '=' || end == number || !ends || !(value >= 0 && value <= 100)) {
    snprintf(why, size, "%s= takes a share of the steps, 0 to 100 per cent", kNames[level]);
    return nullptr;
  }
  if (percent[level] >= 0) {
    snprintf(why, size, "%s is given twice", kNames[level]);
    return nullptr;
  }
  percent[level] = value;
  return end;
}

bool ParseParts(const char* text, double (&percent)[kStepLevels], char* why, size_t size) {
  for (double& p : percent) p = -1;
  for (const char* at = text;; ++at) {
    at = ParsePart(at, percent, why, size);
    if (at == nullptr) return false;
    if (*at == '\0') return true;
  }
}

constexpr double kUsualControl = 5;

}  // namespace

const char* StepLevelName(StepLevel level) { return level <= kLevelMarks ? kNames[level] : "?"; }

bool ParseStepShares(const char* text, double control_percent, StepShares* shares, char* why,
                     size_t why_size) {
  double percent[kStepLevels];
  int rest = kLevelBoundary;
  const NamedPlan* named = nullptr;
  for (const NamedPlan& plan : kPlans) {
    if (strcmp(plan.name, text) == 0) named = &plan;
  }
  if (named != nullptr) {
    memcpy(percent, named->percent, sizeof percent);
    rest = named->rest;
    if (control_percent >= 0) percent[kLevelControl] = control_percent;
  } else {
    if (!ParseParts(text, percent, why, why_size)) return false;
    if (percent[kLevelControl] < 0) {
      percent[kLevelControl] = control_percent >= 0 ? control_percent : kUsualControl;
    }
  }
  StepShares out = {};
  int64_t left = kWholeShare;
  for (int level = 0; level < kStepLevels; ++level) {
    const bool is_rest = level == rest && (named != nullptr || percent[level] < 0);
    if (is_rest || percent[level] < 0) continue;
    out.of[level] = static_cast<uint32_t>(lround(percent[level] * kMillionthsPerPercent));
    left -= out.of[level];
  }
  if (left < -2) {  // rounding
    snprintf(why, why_size, "the shares add up to more than 100 per cent");
    return false;
  }
  if (left > 0) out.of[rest] += static_cast<uint32_t>(left);
  *shares = out;
  return true;
}

bool ParseBudget(const char* text, double* percent) {
  if (strcmp(text, "off") == 0) {
    *percent = -1;
    return true;
  }
  const char* end = nullptr;
  const double value = base::ReadNumber(text, &end);
  if (end == text || *end != '\0' || !(value > 0 && value <= 1000)) return false;
  *percent = value;
  return true;
}

void WriteStepShares(const StepShares& shares, char* text, size_t size) {
  size_t at = 0;
  for (int level = 0; level < kStepLevels && at < size; ++level) {
    char share[32];
    base::WriteNumber(shares.of[level] / kMillionthsPerPercent, share, sizeof share);
    const int n =
        snprintf(text + at, size - at, "%s%s=%s", level == 0 ? "" : ",", kNames[level], share);
    at += n > 0 ? static_cast<size_t>(n) : 0;
  }
}

}  // namespace crosscut::format
