#include "src/verbs/recording/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <string_view>

namespace crosscut::verbs {
namespace {

// The first line "model name : ..." of /proc/cpuinfo, which may be long: there is one a processor.
std::string ModelName() {
  std::string model;
  FILE* file = std::fopen("/proc/cpuinfo", "re");
  char line[512];
  while (file != nullptr && model.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    std::string_view text = line;
    const size_t colon = text.find(": ");
    if (!text.starts_with("model name") || colon == std::string_view::npos) continue;
    text.remove_prefix(colon + 2);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    model = text;
  }
  if (file != nullptr) std::fclose(file);
  return model;
}

}  // namespace

std::string DescribeMachine() {
  std::string out = ModelName();
  utsname names{};
  if (out.empty() && uname(&names) == 0) out = names.machine;
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return out;
  const int count = CPU_COUNT(&usable);
  return out + ", " + std::to_string(count) + (count == 1 ? " processor" : " processors");
}

}  // namespace crosscut::verbs
