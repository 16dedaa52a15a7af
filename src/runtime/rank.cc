#include "src/runtime/rank.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/launcher.h"
#include "src/collect/recorder.h"

namespace crosscut::record {
namespace {

// A whole number from 0 on; -1: none.
long NumberIn(const char* variable) {
  const char* const text = secure_getenv(variable);
  if (text == nullptr || *text < '0' || *text > '9') return -1;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *end == '\0' ? value : -1;
}

// What torchrun and Slurm say beside: the node, the role, and how often the job was restarted.
void WriteMore() {
  constexpr struct {
    const char *fact, *variables[2];
    bool number;
  } kFacts[] = {
      {"node_rank", {"GROUP_RANK", "SLURM_NODEID"}, true},
      {"restart", {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}, true},
      {"role", {"ROLE_NAME", nullptr}, false},
      {"job", {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"}, false},
  };
  SessionStream& stream = Recorder::Get().stream();
  for (const auto& fact : kFacts) {
    for (const char* const variable : fact.variables) {
      const char* const text = variable == nullptr ? nullptr : secure_getenv(variable);
      const bool told = text != nullptr && *text != '\0' && strcmp(text, "none") != 0;
      if (!told || (fact.number && NumberIn(variable) < 0)) continue;
      stream.WriteMeta(fact.fact, text);
      break;
    }
  }
}

}  // namespace

void WriteRank() {
  for (const base::RankVariables& from : base::kRankVariables) {
    const long rank = NumberIn(from.rank), size = NumberIn(from.size);
    if (rank < 0 || rank >= size) continue;
    SessionStream& stream = Recorder::Get().stream();
    stream.WriteMeta("rank", secure_getenv(from.rank));
    stream.WriteMeta("world_size", secure_getenv(from.size));
    if (NumberIn(from.local) >= 0) stream.WriteMeta("local_rank", secure_getenv(from.local));
    stream.WriteMeta("rank_from", from.rank);
    WriteMore();
    return;
  }
}

}  // namespace crosscut::record
