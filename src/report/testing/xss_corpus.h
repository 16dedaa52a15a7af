// Names that try to run as code, or to break out of their place in a page.
#pragma once

#include <string>
#include <vector>

namespace crosscut::report {

std::vector<std::string> XssCorpus();

}  // namespace crosscut::report
