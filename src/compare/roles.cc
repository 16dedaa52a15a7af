#include "src/compare/roles.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace crosscut::compare {
namespace {

// What tells one process's role, by process of one run: a text that another run has, too, where a
// process has the same role in it.
struct Keys {
  std::vector<std::string> key, label;
  std::vector<uint32_t> order;  // parents first, siblings by their start
};

std::string ProgramOf(const trace::Trace& trace, const trace::Process& process) {
  const std::string_view name = trace.text(process.name);
  return std::string(name.empty() ? trace.text(process.key) : name);
}

class KeyMaker {
 public:
  explicit KeyMaker(const trace::Trace& trace) : trace_(trace) {
    const size_t n = trace.processes.size();
    keys_.key.resize(n);
    keys_.label.resize(n);
    by_start_.resize(n);
    std::iota(by_start_.begin(), by_start_.end(), 0);
    std::stable_sort(by_start_.begin(), by_start_.end(), [&](uint32_t x, uint32_t y) {
      return trace.processes[x].start_ns < trace.processes[y].start_ns;
    });
    const auto root = std::find_if(by_start_.begin(), by_start_.end(),
                                   [&](uint32_t p) { return !trace.processes[p].parent.valid(); });
    if (root != by_start_.end()) Add(*root, "", "");
    for (const uint32_t p : by_start_) {  // a circle of parents is no tree: taken as it comes
      if (keys_.key[p].empty() && !trace.processes[p].parent.valid()) Add(p, "", "");
    }
    for (const uint32_t p : by_start_) {
      if (keys_.key[p].empty()) Add(p, "", "");
    }
  }

  Keys Take() { return std::move(keys_); }

 private:
  void Add(uint32_t p, const std::string& parent, const std::string& parents_program) {
    const trace::Process& process = trace_.processes[p];
    const std::string program = ProgramOf(trace_, process);
    const bool first = keys_.order.empty();
    const bool child = !parents_program.empty();
    const bool same = child && program == parents_program;
    const std::string kind = parent + "/" + (first ? "" : same ? "=" : program);
    const int number = ++numbers_[kind];
    keys_.key[p] = kind + "#" + std::to_string(number);
    const std::string label = same ? program + ", child" : program;
    const int namesakes = ++labels_[label];
    keys_.label[p] = same || namesakes > 1 ? label + " " + std::to_string(namesakes) : label;
    keys_.order.push_back(p);
    for (const uint32_t c : by_start_) {
      const bool mine = trace_.processes[c].parent.valid() && trace_.processes[c].parent.value == p;
      if (mine && keys_.key[c].empty()) Add(c, keys_.key[p], program);
    }
  }

  const trace::Trace& trace_;
  Keys keys_;
  std::vector<uint32_t> by_start_;
  std::map<std::string, int> numbers_, labels_;
};

}  // namespace

bool Role::Has(const std::vector<trace::ProcessId>& side) const {
  return std::any_of(side.begin(), side.end(), [](trace::ProcessId p) { return p.valid(); });
}

std::vector<Role> MatchRoles(const Sides& sides) {
  std::vector<Role> roles;
  std::map<std::string, size_t> index;
  std::map<std::string, int> labels;
  const auto add = [&](std::span<const Run> runs, bool is_a) {
    for (size_t r = 0; r < runs.size(); ++r) {
      const Keys keys = KeyMaker(*runs[r].trace).Take();
      for (const uint32_t p : keys.order) {
        const auto [at, fresh] = index.try_emplace(keys.key[p], roles.size());
        if (fresh) {
          const int namesakes = ++labels[keys.label[p]];
          std::string label = keys.label[p];
          if (namesakes > 1) label += " (" + std::to_string(namesakes) + ")";
          roles.push_back({label, {}});
          roles.back().processes.a.resize(sides.a.size());
          roles.back().processes.b.resize(sides.b.size());
        }
        Role& role = roles[at->second];
        (is_a ? role.processes.a : role.processes.b)[r] = trace::ProcessId{p};
      }
    }
  };
  add(sides.a, true);
  add(sides.b, false);
  return roles;
}

}  // namespace crosscut::compare
