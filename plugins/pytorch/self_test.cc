// Whether this library fits the PyTorch that it was loaded beside: it may have been built
// elsewhere, and what it reads of PyTorch's classes lies where its headers said.

#include <ATen/core/TensorBody.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/is_same_size.h>
#include <crosscut/calibrate.h>

#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include "inputs.h"
#include "names.h"
#include "operators.h"

namespace crosscut::pytorch {
namespace {

constexpr uint64_t kTimes = 100;
constexpr const char* kOperator = "aten::is_same_size";
constexpr const char* kInputs =
    "{\"Input Dims\": [[2, 3], [2, 3]], \"Input type\": [\"float\", \"float\"], "
    "\"Input Strides\": [[3, 1], [3, 1]], \"Concrete Inputs\": [\"\", \"\"]}";

uint32_t Code(uint64_t word) { return static_cast<uint32_t>(word & 0xffff); }

std::string Seen(uint64_t seen, uint64_t expected, const char* what) {
  return "it saw " + std::to_string(seen) + " of " + std::to_string(expected) + " " + what;
}

// Events of `words` words each, of which the first is `name` and the last an end.
uint64_t Count(const PrivateChunk& chunk, size_t words, uint32_t name) {
  uint64_t count = 0;
  for (const uint64_t* at = chunk.begin(); at + words <= chunk.end(); at += words) {
    count += Code(at[0]) == name && Code(at[words - 1]) == 1;
  }
  return count;
}

// Runs kTimes operators under the callbacks, and as many without them; what is wrong, or "".
std::string TestOperators(PrivateChunk& chunk, const at::Tensor& tensor, bool with_inputs) {
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(Callbacks(with_inputs ? Inputs::kShapes : Inputs::kNone));
  chunk.Record(true);
  for (uint64_t i = 0; i < kTimes; ++i) at::is_same_size(tensor, tensor);
  at::removeCallback(handle);
  const uint64_t* const end = chunk.end();
  for (uint64_t i = 0; i < kTimes; ++i) at::is_same_size(tensor, tensor);

  const size_t words = with_inputs ? 5 : 2;
  const uint32_t name = Intern(kOperator, strlen(kOperator), Scope::kFunction);
  if (name - 0x100u > 0xfeffu) return "";  // one of very many names: no word has room for it
  const uint64_t count = Count(chunk, words, name);
  if (count != kTimes) return Seen(count, kTimes, with_inputs ? "calls" : "operators");
  if (chunk.end() != end || end != chunk.begin() + kTimes * words) {
    return "it saw operators that nobody called, or could not be withdrawn";
  }
  if (!with_inputs) return "";
  const uint32_t text =
      crosscut_intern(kInputs, SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  uint64_t told = 0;
  for (const uint64_t* at = chunk.begin(); at < end; at += words) {
    told += at[2] == InputsKey() && at[3] == text;
  }
  return told == kTimes ? "" : Seen(told, kTimes, "operators' inputs");
}

std::string Test() {
  at::RecordFunctionGuard enable(true);
  at::NoGradGuard no_grad;
  const at::Tensor tensor = at::empty({2, 3});
  PrivateChunk chunk;
  if (!chunk.ok()) return "there was no memory to test it";
  SetRecording(true);
  std::string problem = TestOperators(chunk, tensor, /*with_inputs=*/false);
  if (problem.empty()) problem = TestOperators(chunk, tensor, /*with_inputs=*/true);
  SetRecording(false);
  return problem;
}

}  // namespace
}  // namespace crosscut::pytorch

// Records operators into memory of its own, counts and compares them, and withdraws. Returns what
// is wrong in words that stay, or "". To be called before crosscut_pytorch_add(); takes about 1 ms.
extern "C" CROSSCUT_API const char* crosscut_pytorch_test(void) {
  static auto* const problem = new std::string;
  try {
    crosscut::pytorch::PrepareNames();
    // A thread of its own has none of the modes that the program's may be in.
    std::thread([] {
      try {
        *problem = crosscut::pytorch::Test();
      } catch (const std::exception& error) {
        *problem = error.what();
      }
    }).join();
  } catch (const std::exception& error) {
    *problem = error.what();
  }
  return problem->c_str();
}
