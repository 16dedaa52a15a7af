// write_log PATH PID: makes the log of one process from words on stdin, for tests that write what
// no recorder would. Input, again and again: stream u32, 0 u32, count u64, so many words; stream 0,
// the session's, comes first.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/file.h"
#include "src/format/log_writer.h"

namespace {

using crosscut::Status;
using crosscut::format::LogWriter;

struct Head {
  uint32_t stream, zero;
  uint64_t count;
};

Status Append(const Head& head, const std::vector<uint64_t>& words, LogWriter* log) {
  const crosscut::format::Piece piece{0, 0, 0, words};
  return head.stream == 0 ? log->AppendSession(piece) : log->AppendEvents(head.stream, {&piece, 1});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto file = crosscut::base::OpenFile(argv[1], crosscut::base::OpenMode::kCreateNew);
  if (!file.ok()) return 1;
  crosscut::format::LogIdentity identity;
  identity.pid = std::strtoll(argv[2], nullptr, 10);
  identity.nonce = static_cast<uint64_t>(identity.pid);
  auto log = LogWriter::Create(std::move(*file), identity);
  if (!log.ok()) return 1;
  Head head;
  while (std::fread(&head, sizeof head, 1, stdin) == 1) {
    std::vector<uint64_t> words(head.count);
    if (std::fread(words.data(), 8, words.size(), stdin) != words.size()) return 1;
    if (const Status status = Append(head, words, log->get()); !status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  return (*log)->Finish().ok() ? 0 : 1;
}
