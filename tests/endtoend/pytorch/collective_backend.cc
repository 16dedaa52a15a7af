// Stands for a process group's backend in test_torch_export.py: tells of a collective as PyTorch's
// NCCL backend does.
#include <cstdint>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <tuple>
#include <vector>

extern "C" void backend_collective_of(int64_t sequence, const char* group) {
  const std::vector<int64_t> in = {3, 7}, out = {};
  RECORD_PARAM_COMMS(std::make_tuple(sequence, false), std::make_tuple("0", group), 1, "allreduce",
                     10, 20, at::kHalf, in, out, 0, 1, 2)
}

extern "C" void backend_collective(int64_t sequence) {
  backend_collective_of(sequence, "default_pg");
}
