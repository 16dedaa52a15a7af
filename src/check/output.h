// What a check found, as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "src/check/schedule.h"

namespace crosscut::check {

std::string AsText(const std::vector<TestResult>& results);
std::string AsJson(const std::vector<TestResult>& results);
// Whether any test failed.
bool AnyFailed(const std::vector<TestResult>& results);

}  // namespace crosscut::check
