// Names that settings take: of `record`, and of the environment of a program that records itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crosscut::format {

// What --sources and CROSSCUT_SOURCES may list. python/crosscut has the sources themselves.
inline constexpr std::string_view kSources[] = {"operations", "pytorch", "tensorflow", "jax",
                                                "opencl",     "cupti",   "pycalls",    "none"};
// What --python and CROSSCUT_PYTHON may be.
inline constexpr std::string_view kPythonLevels[] = {"off", "boundary", "samples", "calls"};

// Why `list`, names joined by commas, cannot be meant: "unknown source pytroch; did you mean
// pytorch? ..."; "" where it can. Blanks around a name do not count, an empty list is the default.
std::string ProblemOfSources(std::string_view list);

// The same of a level of Python.
std::string ProblemOfPython(std::string_view level);

}  // namespace crosscut::format
