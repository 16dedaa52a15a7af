// The page's script and style as src/report/page/bundle.mjs made them, and the hashes by which the
// page's content security policy allows these two and nothing else.
#pragma once

#include <string_view>

namespace crosscut::report {

extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScriptHash;  // "sha256-..."
extern const std::string_view kPageStyleHash;

}  // namespace crosscut::report
