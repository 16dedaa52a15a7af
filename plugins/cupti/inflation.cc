#include "inflation.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

constexpr size_t kMostBytes = 4096;
constexpr int64_t kMostPs = 1'000'000'000'000;  // a second

struct File {
  explicit File(const char* path) : file(std::fopen(path, "re")) {}
  ~File() {
    if (file != nullptr) std::fclose(file);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::FILE* const file;
};

// The driver's own words for its version, "-" where there are none.
void ReadDriver(char* text, size_t bytes) {
  std::snprintf(text, bytes, "-");
  const File version("/proc/driver/nvidia/version");
  if (version.file == nullptr || std::fgets(text, static_cast<int>(bytes), version.file) == nullptr)
    return;
  text[std::strcspn(text, "\n")] = '\0';
}

bool CachePath(char* path, size_t bytes) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  int length = -1;
  if (cache != nullptr && cache[0] == '/') {
    length = std::snprintf(path, bytes, "%s/crosscut/cupti-cost", cache);
  } else if (home != nullptr && home[0] == '/') {
    length = std::snprintf(path, bytes, "%s/.cache/crosscut/cupti-cost", home);
  }
  return length > 0 && static_cast<size_t>(length) < bytes;
}

bool TakeKind(const char* line, Inflation* inflation) {
  char word[16];
  Inflation::OfKind of;
  if (std::sscanf(line, "%15s %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, word, &of.ps,
                  &of.low_ps, &of.high_ps, &of.samples) != 5) {
    return false;
  }
  if (of.low_ps < 0 || of.low_ps > of.ps || of.ps > of.high_ps || of.high_ps > kMostPs)
    return false;
  for (size_t kind = 0; kind < kCallKinds; ++kind) {
    if (std::strcmp(word, kCallWords[kind]) != 0) continue;
    inflation->kinds[kind] = of;
    return true;
  }
  return false;
}

}  // namespace

bool ReadInflation(const char* path, uint32_t cupti_version, Inflation* inflation, char* why,
                   size_t bytes) {
  char in_cache[kMostBytes];
  why[0] = '\0';
  const bool asked = path != nullptr;
  if (!asked && !CachePath(in_cache, sizeof in_cache)) return false;
  const File file(asked ? path : in_cache);
  if (file.file == nullptr) {
    if (asked) std::snprintf(why, bytes, "option inflation: %.300s cannot be read", path);
    return false;
  }
  char driver[512], wanted[600], line[600];
  ReadDriver(driver, sizeof driver);
  std::snprintf(wanted, sizeof wanted, "cupti %u driver %s\n", cupti_version, driver);
  if (std::fgets(line, sizeof line, file.file) == nullptr || std::strcmp(line, wanted) != 0) {
    std::snprintf(why, bytes,
                  "what CUPTI itself costs was measured with another CUPTI or driver, and is not "
                  "subtracted (python -m crosscut.cupti_cost)");
    return false;
  }
  while (std::fgets(line, sizeof line, file.file) != nullptr) {
    if (TakeKind(line, inflation)) continue;
    *inflation = Inflation();
    std::snprintf(why, bytes, "the file of what CUPTI itself costs is not understood");
    return false;
  }
  return true;
}

}  // namespace crosscut::cupti
