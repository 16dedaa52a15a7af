// Which machine a run is made on: for who compares runs.
#pragma once

#include <string>

namespace crosscut::verbs {

// "AMD EPYC 7763 64-Core Processor, 8 processors": the processor's model, or its architecture where
// the kernel tells no model, and how many of them this process may use.
std::string DescribeMachine();

}  // namespace crosscut::verbs
