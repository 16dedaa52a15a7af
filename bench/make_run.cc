// make_run DIR SPANS [repeating|random] [THREADS] [PROCESSES]: a run directory as recorded
// processes leave it, for measuring the reading half. SPANS in all, THREADS in each process.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/trace_generator.h"
#include "src/format/log_writer.h"
#include "src/format/ring.h"

namespace crosscut {
namespace {

using format::Piece;
uint64_t Word(uint64_t tick, uint64_t code) { return tick << format::kCodeBits | code; }

constexpr uint64_t kStart = 1'000'000'000'000;
constexpr double kTicksPerNs = 2.1;

void AddName(uint32_t id, const std::string& text, format::NameAttributes attributes,
             std::vector<uint64_t>* out) {
  out->insert(out->end(), {Word(kStart, format::kName), id, attributes.Pack(), text.size()});
  std::vector<uint64_t> tail((text.size() + 7) / 8);
  std::memcpy(tail.data(), text.data(), text.size());
  out->insert(out->end(), tail.begin(), tail.end());
}

bool IsOperation(uint64_t name) { return (name - format::kFirstNameCode) % 30 == 0; }

// The generator ends every span by kEnd, which ends no operation.
std::vector<uint64_t> EndOperations(const std::vector<uint64_t>& words) {
  std::vector<uint64_t> out, open;
  for (const uint64_t word : words) {
    const uint64_t code = word & format::kCodeMask;
    if (code != format::kEnd) {
      open.push_back(code);
      out.push_back(word);
      continue;
    }
    if (IsOperation(open.back())) {
      out.insert(out.end(), {word - format::kEnd + format::kEndNamed, open.back()});
    } else {
      out.push_back(word);
    }
    open.pop_back();
  }
  return out;
}

void AddAnchor(uint64_t tick, int64_t ns, std::vector<uint64_t>* out) {
  out->insert(out->end(), {Word(tick, format::kAnchor), format::kClockMonotonic, tick,
                           static_cast<uint64_t>(ns), 50});
}

// `*base`: the tick that the first word follows; becomes the last one's.
Status AppendBatches(uint32_t track, const std::vector<uint64_t>& words, uint64_t* base,
                     format::LogWriter* log) {
  for (size_t at = 0; at < words.size();) {
    const uint64_t first_tick = *base;
    format::TickReader ticks(first_tick);
    size_t n = 0;  // of whole events
    while (at + n < words.size() && n + 2 <= format::kLogBatchWords) {
      *base = ticks.Next(words[at + n]);
      n += (words[at + n] & format::kCodeMask) == format::kEndNamed ? 2 : 1;
    }
    Piece piece{0, 0, first_tick, {words.data() + at, n}};
    if (Status s = log->AppendEvents(track, {&piece, 1}); !s.ok()) return s;
    at += n;
  }
  return {};
}

struct Shape {
  size_t spans;  // in all
  bool repeating;
  uint32_t threads, processes;
};

Status MakeProcess(const std::string& dir, uint32_t number, const Shape& shape) {
  // One process works throughout; several stand still between their steps.
  const uint64_t outside = shape.processes == 1 ? format::kLayerPython : format::kLayerIdle;
  auto file = base::OpenFile(dir + "/p" + std::to_string(number) + "-1.crosscut",
                             base::OpenMode::kCreateNew);
  if (!file.ok()) return file.status();
  format::LogIdentity identity;
  identity.nonce = number;
  identity.pid = number;
  identity.start_tick = kStart;
  auto log = format::LogWriter::Create(std::move(*file), identity);
  if (!log.ok()) return log.status();

  std::vector<uint64_t> session{Word(kStart, format::kStart), kStart};
  AddAnchor(kStart, 1'000'000'000, &session);
  for (uint32_t i = 0; i < 300; ++i) {
    format::NameAttributes attributes;
    const bool operation = IsOperation(format::kFirstNameCode + i);
    attributes.kind = operation ? format::kKindOperation : format::kKindSpan;
    attributes.layer = operation ? format::kLayerNone : format::kLayerFramework;
    AddName(format::kFirstNameCode + i, "aten::op_" + std::to_string(i), attributes, &session);
  }
  if (Status s = (*log)->AppendSession({0, 0, kStart, session}); !s.ok()) return s;

  uint64_t last = kStart;
  for (uint32_t track = 1; track <= shape.threads; ++track) {
    bench::GeneratorOptions options;
    options.spans = shape.spans / shape.processes / shape.threads;
    options.repeating = shape.repeating;
    if (shape.processes > 1) options.rest_ns = 3e6;
    options.seed = 1000 * (number - 1) + track;
    const std::vector<uint64_t> words = EndOperations(bench::TraceGenerator(options).Make());
    std::vector<uint64_t> head{Word(kStart, format::kThread), track, 100 + track,
                               outside | (track == 1 ? format::kThreadIsMain : 0), kStart};
    uint64_t base = kStart;
    Piece first{0, 0, base, head};
    if (Status s = (*log)->AppendEvents(track, {&first, 1}); !s.ok()) return s;
    if (Status s = AppendBatches(track, words, &base, log->get()); !s.ok()) return s;
    last = std::max(last, base);
  }
  std::vector<uint64_t> end;
  AddAnchor(last,
            1'000'000'000 + static_cast<int64_t>(static_cast<double>(last - kStart) / kTicksPerNs),
            &end);
  end.insert(end.end(), {Word(last, format::kStop), format::kStopExit});
  if (Status s = (*log)->AppendSession({0, 0, last, end}); !s.ok()) return s;
  return (*log)->Finish();
}

Status Make(const std::string& dir, const Shape& shape) {
  mkdir(dir.c_str(), 0755);
  std::FILE* json = std::fopen((dir + "/run.json").c_str(), "w");
  if (json == nullptr) return Status::Io(dir + ": run.json cannot be written");
  std::fputs("{\"format\": 1, \"seed\": 1, \"command\": [\"make_run\"]}\n", json);
  std::fclose(json);
  for (uint32_t number = 1; number <= shape.processes; ++number) {
    const Status status = MakeProcess(dir, number, shape);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace
}  // namespace crosscut

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = [&](int i) {
    return argc <= i ? 1u : static_cast<uint32_t>(std::atoi(argv[i]));
  };
  const bool repeating = argc < 4 || std::strcmp(argv[3], "random") != 0;
  const crosscut::Status status = crosscut::Make(
      argv[1], {static_cast<size_t>(std::atoll(argv[2])), repeating, number(4), number(5)});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}
