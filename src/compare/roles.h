// Which processes of the runs do the same: they are matched by what they are, not by their pid.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/compare/run.h"

namespace crosscut::compare {

struct Role {
  std::string label;  // "train.py", "train.py, child 2"; unique
  // By run of the side; an invalid id where that run has no such process.
  Both<std::vector<trace::ProcessId>> processes;
};

// By label; null where there is none.
class RolesByLabel {
 public:
  explicit RolesByLabel(const std::vector<Role>& roles) {
    for (const Role& role : roles) roles_.emplace(role.label, &role);
  }
  const Role* Find(const std::string& label) const {
    const auto at = roles_.find(label);
    return at == roles_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<std::string_view, const Role*> roles_;
};

// A process is what it is by its parent's role, by its program (or that it is its parent's), and by
// its order among those that are alike: of one parent, that of their pids, as each records when it
// is ready to. The first process of each run is the same role, whatever its program is called,
// unless another one without a parent is called as the first one of all, as ranks are that begin in
// any order. What runs in a process of multiprocessing that the program gave no name ("Process-1
// (work)") is no part of its name. Roles stand in the order of A's first run; those that only
// others have follow. A process of a run has one role.
std::vector<Role> MatchRoles(const Sides& sides);

}  // namespace crosscut::compare
