#include "src/trace/found.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/trace/namesakes.h"

namespace crosscut::trace {
namespace {

class Found {
 public:
  explicit Found(Trace* trace) : trace_(trace), names_(trace->names.size()) {}

  void Place() {
    if (std::none_of(trace_->names.begin(), trace_->names.end(), IsFound)) return;
    std::vector<Texts> declared(trace_->processes.size());
    for (const Track& track : trace_->tracks) AddDeclared(track, &declared[track.process.value]);
    for (Track& track : trace_->tracks) Rename(declared[track.process.value], &track.spans);
  }

 private:
  using Texts = std::unordered_set<uint32_t>;
  // What a found operation's name becomes: inside a declared one, elsewhere, and elsewhere in a
  // process that declares one of that name.
  enum As : uint8_t { kPart, kOperation, kClash };

  static bool IsFound(const Name& name) { return name.found && name.scope(); }
  static bool Declared(const Name& name) { return name.kind == Kind::kOperation && !name.found; }

  // Of the declared operations that are used: names are introduced where a program could use them.
  void AddDeclared(const Track& track, Texts* texts) const {
    for (const NameId id : track.spans.name) {
      const Name& name = trace_->name(id);
      if (Declared(name)) texts->insert(name.text.value);
    }
  }

  NameId NameAs(NameId id, As as) {
    NameId& known = names_[id.value][as];
    if (known.valid()) return known;
    Name name = trace_->name(id);
    const Kind kind = as == kPart ? Kind::kPart : Kind::kOperation;
    if (name.kind == kind && as != kClash) return known = id;
    name.kind = kind;
    if (as == kClash) {
      name.text = trace_->strings.Intern(std::string(trace_->text(name.text)) + " (found)");
    }
    trace_->names.push_back(name);
    return known = NameId{static_cast<uint32_t>(trace_->names.size() - 1)};
  }

  void Rename(const Texts& declared, Spans* spans) {
    constexpr uint32_t kKey = 0;  // of what the program declares
    Namesakes open(*spans);
    for (SpanIndex i = 0; i < spans->size(); ++i) {
      const NameId id = spans->name[i];
      const Name& name = trace_->name(id);
      open.Enter(i, Declared(name) ? kKey : Namesakes::kNoKey);
      if (!IsFound(name)) continue;
      const bool inside = open.Innermost(kKey) != kNoSpan;
      const bool clashes = declared.contains(name.text.value);
      spans->name[i] = NameAs(id, inside ? kPart : clashes ? kClash : kOperation);
    }
  }

  Trace* trace_;
  std::vector<std::array<NameId, 3>> names_;  // by NameId, of the names that were there before
};

}  // namespace

void PlaceFound(Trace* trace) { Found(trace).Place(); }

}  // namespace crosscut::trace
