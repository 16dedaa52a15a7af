#include "src/import/native/native_found.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/trace/namesakes.h"

namespace crosscut::import {
namespace {

using trace::NameId;

class Found {
 public:
  explicit Found(trace::Trace* trace) : trace_(trace), both_(trace->names.size()) {}

  void TellApart() {
    if (!Collide() || !Used()) return;
    MakeNames();
    for (trace::Track& track : trace_->tracks) Rename(&track.spans);
  }

 private:
  // What an adapter's name becomes.
  struct Names {
    NameId operation, span;
  };

  // Marks the names of operations whose text both sides use; false where there is none.
  bool Collide() {
    std::unordered_set<uint32_t> found, declared;
    for (const trace::Name& name : trace_->names) {
      if (name.kind != trace::Kind::kOperation) continue;
      (name.found ? found : declared).insert(name.text.value);
    }
    bool any = false;
    for (size_t i = 0; i < both_.size(); ++i) {
      const trace::Name& name = trace_->names[i];
      both_[i] = name.kind == trace::Kind::kOperation && found.contains(name.text.value) &&
                 declared.contains(name.text.value);
      any = any || both_[i];
    }
    return any;
  }

  // Names are introduced where a program could use them; leaves those of texts that it did use.
  bool Used() {
    std::unordered_set<uint32_t> used;
    for (const trace::Track& track : trace_->tracks) {
      for (size_t i = 0; i < track.spans.size(); ++i) {
        const NameId id = track.spans.name[i];
        if (both_[id.value] && !trace_->name(id).found) used.insert(trace_->name(id).text.value);
      }
    }
    for (size_t i = 0; i < both_.size(); ++i) {
      both_[i] = both_[i] && used.contains(trace_->names[i].text.value);
    }
    return !used.empty();
  }

  void MakeNames() {
    for (uint32_t i = 0; i < both_.size(); ++i) {
      if (both_[i]) texts_.try_emplace(trace_->names[i].text.value, texts_.size());
      if (!both_[i] || !trace_->names[i].found) continue;
      trace::Name name = trace_->names[i];
      name.text = trace_->strings.Intern(std::string(trace_->text(name.text)) + " (found)");
      const NameId operation = Add(name);
      name.kind = trace::Kind::kSpan;
      names_[i] = {operation, Add(name)};
    }
  }

  NameId Add(const trace::Name& name) {
    trace_->names.push_back(name);
    return NameId{static_cast<uint32_t>(trace_->names.size() - 1)};
  }

  // A found operation inside a declared one of its text is a span.
  void Rename(trace::Spans* spans) {
    trace::Namesakes declared(*spans);
    for (trace::SpanIndex i = 0; i < spans->size(); ++i) {
      const NameId id = spans->name[i];
      const bool both = id.value < both_.size() && both_[id.value];
      const auto renamed = both ? names_.find(id.value) : names_.end();
      const bool found = renamed != names_.end();
      const uint32_t text = both ? texts_.at(trace_->name(id).text.value) : 0;
      declared.Enter(i, both && !found ? text : trace::Namesakes::kNoKey);
      if (!found) continue;
      const bool inside = declared.Innermost(text) != trace::kNoSpan;
      spans->name[i] = inside ? renamed->second.span : renamed->second.operation;
    }
  }

  trace::Trace* trace_;
  std::vector<char> both_;  // by NameId, of the names that were there before
  std::unordered_map<uint32_t, Names> names_;
  std::unordered_map<uint32_t, uint32_t> texts_;  // of those: numbers from 0
};

}  // namespace

void TellFoundApart(trace::Trace* trace) { Found(trace).TellApart(); }

}  // namespace crosscut::import
