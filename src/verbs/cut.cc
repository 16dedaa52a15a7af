#include "src/verbs/cut.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>

#include "src/base/file.h"

namespace crosscut::verbs {
namespace {

constexpr size_t kMostBytes = 16 << 20;

// Its description says what the command was, in which the part was recorded, too.
Status CopyDescription(const std::string& input, const std::string& output) {
  auto text = base::ReadSmallFile(input + "/run.json", kMostBytes);
  if (!text.ok()) return {};  // a run that the program itself began may have none yet
  auto file = base::OpenFile(output + "/run.json", base::OpenMode::kCreateNew);
  if (!file.ok()) return file.status();
  return (*file)->Append(std::as_bytes(std::span(*text)));
}

}  // namespace

Status CutRun(const std::string& input, const std::string& key, const format::Cut& cut,
              const std::string& output) {
  if (mkdir(output.c_str(), 0700) != 0) return Status::Io(output + ": " + strerror(errno));
  Status status = CopyDescription(input, output);
  const std::string log = output + "/" + key + ".crosscut";
  if (status.ok()) status = format::CutProcess(input, key, cut, log);
  if (!status.ok()) {
    std::error_code error;
    std::filesystem::remove_all(output, error);
  }
  return status;
}

}  // namespace crosscut::verbs
