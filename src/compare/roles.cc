#include "src/compare/roles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace crosscut::compare {
namespace {

constexpr size_t kNone = SIZE_MAX;

std::string ProgramOf(const trace::Trace& trace, uint32_t process) {
  const trace::Process& of = trace.processes[process];
  const std::string_view name = trace.text(of.name);
  return std::string(name.empty() ? trace.text(of.key) : name);
}

// The processes of a trace, parents first, siblings by their start.
class Family {
 public:
  explicit Family(const trace::Trace& trace)
      : children_(trace.processes.size()), seen_(trace.processes.size()) {
    std::vector<uint32_t> by_start(trace.processes.size());
    std::iota(by_start.begin(), by_start.end(), 0);
    std::stable_sort(by_start.begin(), by_start.end(), [&](uint32_t x, uint32_t y) {
      return trace.processes[x].start_ns < trace.processes[y].start_ns;
    });
    std::vector<uint32_t> roots;
    for (const uint32_t p : by_start) {
      const trace::ProcessId parent = trace.processes[p].parent;
      (parent.valid() ? children_[parent.value] : roots).push_back(p);
    }
    for (const uint32_t p : roots) Add(p);
    for (const uint32_t p : by_start) Add(p);  // a circle of parents is no tree: taken as it comes
  }

  struct Member {
    uint32_t process;
    size_t parent;  // its place; kNone: none that stands before it
  };
  const std::vector<Member>& members() const { return members_; }

 private:
  void Add(uint32_t root) {
    std::vector<Member> next{{root, kNone}};
    while (!next.empty()) {
      const Member member = next.back();
      next.pop_back();
      if (seen_[member.process]) continue;
      seen_[member.process] = true;
      const std::vector<uint32_t>& children = children_[member.process];
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        next.push_back({*child, members_.size()});
      }
      members_.push_back(member);
    }
  }

  std::vector<std::vector<uint32_t>> children_;
  std::vector<bool> seen_;
  std::vector<Member> members_;
};

// Gives each process of a run after the other its role.
class Matcher {
 public:
  explicit Matcher(const Sides& sides) : sides_(sides) {}

  void Add(const trace::Trace& trace, bool is_a, size_t run) {
    std::map<Kind, int> numbers;
    std::map<std::string, int> labels;
    std::vector<size_t> roles;  // by place in the family
    const Family family(trace);
    for (const auto& [process, parent] : family.members()) {
      const std::string program = ProgramOf(trace, process);
      const bool same =
          parent != kNone && program == ProgramOf(trace, family.members()[parent].process);
      const Kind kind = {parent == kNone ? kNone : roles[parent],
                         roles.empty() ? How::kFirst
                         : same        ? How::kAsParent
                                       : How::kProgram,
                         roles.empty() || same ? "" : program};
      const auto [at, fresh] = index_.try_emplace({kind, ++numbers[kind]}, roles_.size());
      const std::string label = same ? program + ", child" : program;
      const int namesakes = ++labels[label];
      if (fresh) {
        AddRole(same || namesakes > 1 ? label + " " + std::to_string(namesakes) : label);
      }
      Role& role = roles_[at->second];
      (is_a ? role.processes.a : role.processes.b)[run] = trace::ProcessId{process};
      roles.push_back(at->second);
    }
  }
  std::vector<Role> Take() { return std::move(roles_); }

 private:
  enum class How { kFirst, kAsParent, kProgram };
  using Kind = std::tuple<size_t, How, std::string>;  // the parent's role

  void AddRole(std::string label) {
    const int namesakes = ++labels_[label];
    if (namesakes > 1) label += " (" + std::to_string(namesakes) + ")";
    roles_.push_back({label, {}});
    roles_.back().processes.a.resize(sides_.a.size());
    roles_.back().processes.b.resize(sides_.b.size());
  }

  const Sides& sides_;
  std::vector<Role> roles_;
  std::map<std::pair<Kind, int>, size_t> index_;
  std::map<std::string, int> labels_;
};

}  // namespace

bool Role::Has(const std::vector<trace::ProcessId>& side) const {
  return std::any_of(side.begin(), side.end(), [](trace::ProcessId p) { return p.valid(); });
}

std::vector<Role> MatchRoles(const Sides& sides) {
  Matcher matcher(sides);
  for (size_t r = 0; r < sides.a.size(); ++r) matcher.Add(*sides.a[r].trace, true, r);
  for (size_t r = 0; r < sides.b.size(); ++r) matcher.Add(*sides.b[r].trace, false, r);
  return matcher.Take();
}

}  // namespace crosscut::compare
