// A folder for what a test writes, which goes with it. It is in memory where that can be written: a
// log is synced when it ends, for which a busy disk takes longer than the test takes for all else.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace crosscut::base {

class TestFolder {
 public:
  TestFolder() : path_(access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp") {
    path_ += "/unit-test-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + " cannot be made");
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace crosscut::base
