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

// "Process-1" of "Process-1 (work)": with a name that multiprocessing gives, what runs in it stands
// behind it. Others stay.
std::string_view WithoutFunction(std::string_view program) {
  std::string_view rest = program;
  for (const std::string_view prefix : {"ForkServer", "Fork", "Spawn"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    break;
  }
  for (const std::string_view kind : {"Process-", "PoolWorker-"}) {
    if (!rest.starts_with(kind)) continue;
    const size_t end = rest.find_first_not_of("0123456789:", kind.size());
    if (end == rest.npos || end == kind.size() || !rest.substr(end).starts_with(" (")) continue;
    return program.substr(0, program.size() - rest.size() + end);
  }
  return program;
}

// Children of one parent, by their start, in the order in which it made them: their pids', where
// these are known and do not begin anew.
void SortSiblings(const trace::Trace& trace, std::vector<uint32_t>* siblings) {
  constexpr int64_t kLate = 10'000'000'000;  // to begin to record
  std::vector<uint32_t> sorted = *siblings;
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t x, uint32_t y) {
    return trace.processes[x].pid < trace.processes[y].pid;
  });
  int64_t latest = INT64_MIN;
  for (const uint32_t p : sorted) {
    const trace::Process& process = trace.processes[p];
    if (process.pid <= 0 || latest > process.start_ns + kLate) return;
    latest = std::max(latest, process.start_ns);
  }
  *siblings = std::move(sorted);
}

// The processes of a trace, parents first, siblings in the order in which they were made.
class Family {
 public:
  explicit Family(const trace::Trace& trace)
      : children_(trace.processes.size()), seen_(trace.processes.size()) {
    std::vector<uint32_t> by_start(trace.processes.size());
    std::iota(by_start.begin(), by_start.end(), 0);
    std::stable_sort(by_start.begin(), by_start.end(), [&](uint32_t x, uint32_t y) {
      return trace.processes[x].start_ns < trace.processes[y].start_ns;
    });
    for (const uint32_t p : by_start) {
      const trace::ProcessId parent = trace.processes[p].parent;
      (parent.valid() ? children_[parent.value] : roots_).push_back(p);
    }
    for (std::vector<uint32_t>& siblings : children_) SortSiblings(trace, &siblings);
    for (const uint32_t p : roots_) Add(p);
    for (const uint32_t p : by_start) Add(p);  // a circle of parents is no tree: taken as it comes
  }

  struct Member {
    uint32_t process;
    size_t parent;  // its place; kNone: none that stands before it
  };
  const std::vector<Member>& members() const { return members_; }
  const std::vector<uint32_t>& roots() const { return roots_; }  // by their start

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
  std::vector<uint32_t> roots_;
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
    const bool has_first = std::any_of(
        family.roots().begin(), family.roots().end(),
        [&](uint32_t p) { return !roles_.empty() && ProgramOf(trace, p) == roles_.front().label; });
    bool had_first = false;
    for (const auto& [process, parent] : family.members()) {
      const std::string program = ProgramOf(trace, process);
      const bool same =
          parent != kNone && program == ProgramOf(trace, family.members()[parent].process);
      const bool first = parent == kNone && !had_first &&
                         (has_first ? program == roles_.front().label : roles.empty());
      had_first |= first;
      const Kind kind = {parent == kNone ? kNone : roles[parent],
                         first  ? How::kFirst
                         : same ? How::kAsParent
                                : How::kProgram,
                         first || same ? std::string() : std::string(WithoutFunction(program))};
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

std::vector<Role> MatchRoles(const Sides& sides) {
  Matcher matcher(sides);
  for (size_t r = 0; r < sides.a.size(); ++r) matcher.Add(*sides.a[r].trace, true, r);
  for (size_t r = 0; r < sides.b.size(); ++r) matcher.Add(*sides.b[r].trace, false, r);
  return matcher.Take();
}

}  // namespace crosscut::compare
