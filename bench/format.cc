// Size and speed of the native format on a synthetic operator trace (trace_generator.h): bytes per
// span on disk, packing and unpacking per span, and the whole way into a log file.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bench/harness.h"
#include "bench/trace_generator.h"
#include "src/base/file.h"
#include "src/format/log_writer.h"
#include "src/format/pack.h"

namespace crosscut::bench {
namespace {

constexpr int kRounds = 21;

[[noreturn]] void Fail(const char* what, const Status& status) {
  std::fprintf(stderr, "bench_format: %s: %s\n", what, std::string(status.message()).c_str());
  std::exit(1);
}

// A thread's trace in batches as the drain packs them.
class Workload {
 public:
  Workload(bool repeating, std::string log_path) : log_path_(std::move(log_path)) {
    GeneratorOptions options;
    options.repeating = repeating;
    words_ = TraceGenerator(options).Make();
    for (size_t at = 0; at < words_.size(); at += format::kLogBatchWords) {
      const size_t n = std::min(format::kLogBatchWords, words_.size() - at);
      batches_.push_back({0, 0, words_[at] >> format::kCodeBits, {words_.data() + at, n}});
    }
    columns_.resize(batches_.size());
    restored_.resize(format::kLogBatchWords);
  }

  double Pack() {
    const int64_t begin = CpuNs();
    for (size_t i = 0; i < batches_.size(); ++i) {
      columns_[i].Clear();
      uint64_t last = 0;
      const Status status = packer_->Pack({&batches_[i], 1}, &columns_[i], &last);
      if (!status.ok()) Fail("pack", status);
    }
    return PerSpan(CpuNs() - begin);
  }

  double Unpack() {
    const int64_t begin = CpuNs();
    for (size_t i = 0; i < batches_.size(); ++i) {
      const format::Piece& batch = batches_[i];
      const format::PieceOrigin origin = {0, 0, static_cast<uint32_t>(batch.words.size()),
                                          batch.base_tick};
      const std::span<const uint8_t> columns(columns_[i].data(), columns_[i].size());
      const Status status = unpacker_->Unpack(columns, batch.words.size(), {&origin, 1},
                                              {restored_.data(), batch.words.size()});
      if (!status.ok()) Fail("unpack", status);
    }
    const double ns = PerSpan(CpuNs() - begin);
    const auto& last = batches_.back().words;
    if (!std::equal(last.begin(), last.end(), restored_.begin())) Fail("unpack differs", {});
    return ns;
  }

  // Pack, frame, check-sum and write.
  double Write() {
    unlink(log_path_.c_str());
    auto file = base::OpenFile(log_path_, base::OpenMode::kCreateNew);
    if (!file.ok()) Fail("create", file.status());
    format::LogIdentity identity;
    identity.nonce = 1;
    auto log = format::LogWriter::Create(std::move(*file), identity);
    if (!log.ok()) Fail("create", log.status());
    const uint64_t head = (*log)->bytes();
    const int64_t begin = CpuNs();
    for (const format::Piece& batch : batches_) {
      const Status status = (*log)->AppendEvents(1, {&batch, 1});
      if (!status.ok()) Fail("append", status);
    }
    const double ns = PerSpan(CpuNs() - begin);
    bytes_ = (*log)->bytes() - head;
    return ns;
  }

  double bytes_per_span() const { return PerSpan(static_cast<int64_t>(bytes_)); }

 private:
  double PerSpan(int64_t value) const {
    return static_cast<double>(value) * 2 / static_cast<double>(words_.size());
  }

  std::string log_path_;
  std::vector<uint64_t> words_, restored_;
  std::vector<format::Piece> batches_;
  std::vector<base::PodVector<uint8_t>> columns_;
  std::unique_ptr<format::Packer> packer_ = format::Packer::Create();
  std::unique_ptr<format::Unpacker> unpacker_ = format::Unpacker::Create();
  uint64_t bytes_ = 0;
};

void Run(const std::string& dir) {
  Workload repeating(true, dir + "/repeating"), random(false, dir + "/random");
  const std::vector<Variant> variants = {
      {"repeating, ns per span", [&] { return repeating.Pack(); }},
      {"random, ns per span", [&] { return random.Pack(); }},
      {"repeating, into a log file, ns per span", [&] { return repeating.Write(); }},
      {"random, into a log file, ns per span", [&] { return random.Write(); }},
      {"repeating, unpacking, ns per span", [&] { return repeating.Unpack(); }},
      {"random, unpacking, ns per span", [&] { return random.Unpack(); }},
  };
  const Rounds rounds = RunRounds(variants, kRounds);
  Print("pack", "repeating, bytes per span", repeating.bytes_per_span(), "B");
  Print("pack", "random, bytes per span", random.bytes_per_span(), "B");
  for (size_t i = 0; i < variants.size(); ++i) {
    Print("pack", variants[i].name.c_str(), rounds[i], "ns");
  }
}

}  // namespace
}  // namespace crosscut::bench

int main() {
  char dir[] = "/tmp/crosscut-bench-XXXXXX";
  if (mkdtemp(dir) == nullptr) return 1;
  crosscut::bench::Run(dir);
  return std::system((std::string("rm -rf ") + dir).c_str()) == 0 ? 0 : 1;
}
