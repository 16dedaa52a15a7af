#include "src/import/native/native_samples.h"

#include <algorithm>

namespace crosscut::import {

NativeSamples::NativeSamples(trace::Builder* builder, const NativeSession* session)
    : builder_(builder), session_(session) {
  const trace::Trace& trace = builder->trace();
  for (uint64_t id = 0; id < session->names.size(); ++id) {
    const NativeName& name = session->names[id];
    if (!name.name.valid() || trace.text(name.text) != "[sample]") continue;
    if (trace.text(trace.name(name.name).probe) == "sample") sample_ = id;
  }
  if (sample_ == 0) return;
  trace::Name silent;
  silent.text = session->name(sample_).text;
  silent_ = builder->AddName(silent);
  const std::pair<const char*, Field> kFields[] = {
      {"thread", Field::kThread},      {"ago_ns", Field::kAgo},
      {"covers_ns", Field::kCovers},   {"frame", Field::kFrame},
      {"own_line", Field::kOwnLine},   {"library", Field::kLibrary},
      {"offset", Field::kOffset},      {"waits", Field::kWaits},
      {"run_delay_ns", Field::kDelay}, {"stack_after_ns", Field::kStackAfter},
      {"part", Field::kPart},          {"holds_gil", Field::kHoldsGil}};
  for (uint64_t id = 0; id < session->names.size(); ++id) {
    const NativeName& name = session->names[id];
    if (name.kind != trace::Kind::kText) continue;
    for (const auto& [text, field] : kFields) {
      if (trace.text(name.text) == text) fields_[id] = field;
    }
  }
}

void NativeSamples::Begin(trace::TrackBuilder* teller, int64_t at) {
  Close();
  teller->track().ours = true;
  samples_.emplace_back().teller = teller;
  samples_.back().at = at;
}

void NativeSamples::Take(uint64_t key, uint64_t value, bool is_name) {
  const auto field = fields_.find(key);
  if (samples_.empty() || field == fields_.end()) return;
  Sample& sample = samples_.back();
  const auto number = static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
  switch (field->second) {
    case Field::kThread: sample.thread = number; break;
    case Field::kAgo: sample.at -= std::min(number, sample.at); break;
    case Field::kCovers: sample.covers = number; break;
    case Field::kDelay: sample.run_delay = number; break;
    case Field::kStackAfter: sample.stack_after = number; break;
    case Field::kOffset: sample.offset = number; break;
    case Field::kPart:
      deeper_ += number == 1 ? 1 : 0;
      changed_stacks_ += number == 2 ? 1 : 0;
      sample.cut = number != 0;
      break;
    case Field::kFrame:
      if (is_name) frames_.push_back(value);
      break;
    case Field::kOwnLine: sample.own_line = is_name ? value : 0; break;
    case Field::kLibrary: sample.library = is_name ? value : 0; break;
    case Field::kWaits: sample.waits = is_name ? value : 0; break;
    case Field::kHoldsGil: sample.holds_gil = number != 0 ? 1 : 0; break;
    case Field::kNone: break;
  }
}

// The frames of the last sample are known.
void NativeSamples::Close() {
  if (samples_.empty() || frames_.empty()) return;
  const auto [stack, added] = stacks_.try_emplace(frames_);
  if (added) {
    std::string text;
    for (const uint64_t frame : frames_) {
      if (!text.empty()) text += ';';
      const size_t begin = text.size();
      text += builder_->trace().text(session_->name(frame).text);
      std::replace(text.begin() + static_cast<ptrdiff_t>(begin), text.end(), ';', '_');
    }
    stack->second = builder_->Text(text);
  }
  samples_.back().stack = stack->second;
  frames_.clear();
}

trace::StringId NativeSamples::FunctionAt(uint64_t library, int64_t offset) {
  const auto [function, added] = functions_.try_emplace({library, offset});
  if (!added) return function->second;
  const auto [symbols, fresh] = symbols_.try_emplace(library);
  if (fresh) {
    const std::string_view name = builder_->trace().text(session_->name(library).text);
    const size_t tab = std::min(name.rfind('\t'), name.size());  // a path may have one, too
    Result<ElfSymbols> opened = ElfSymbols::Open(std::string(name.substr(0, tab)));
    // Logs of before have no identity.
    const bool same =
        opened.ok() && (tab == name.size() || name.substr(tab + 1) == opened->identity());
    if (same) symbols->second = std::make_unique<ElfSymbols>(std::move(*opened));
    if (opened.ok() && !same) changed_.insert(library);
  }
  if (symbols->second == nullptr) return {};
  const std::string name = symbols->second->Find(static_cast<uint64_t>(offset));
  if (!name.empty()) function->second = builder_->Text(name);
  return function->second;
}

void NativeSamples::Tell(const Sample& sample, trace::TrackBuilder* track, bool found) {
  track->Instant(sample.at, sample.library != 0 ? session_->name(sample_).name : silent_);
  track->Arg(builder_->Text("covers_ns"), sample.covers);
  if (sample.run_delay >= 0) track->Arg(builder_->Text("run_delay_ns"), sample.run_delay);
  if (sample.stack_after > 0) track->Arg(builder_->Text("stack_after_ns"), sample.stack_after);
  if (!found) track->Arg(builder_->Text("Thread"), sample.thread);
  if (sample.stack.valid()) track->ArgText(builder_->Text("Python stack"), sample.stack);
  if (sample.cut) track->Arg(builder_->Text("Frames missing"), 1);
  if (sample.own_line != 0) {
    track->ArgText(builder_->Text("Own line"), session_->name(sample.own_line).text);
  }
  if (sample.waits != 0) {
    track->ArgText(builder_->Text("Waits for"), session_->name(sample.waits).text);
  }
  if (sample.holds_gil >= 0) track->Arg(builder_->Text("Holds the GIL"), sample.holds_gil);
  if (sample.library == 0) return;
  std::string_view path = builder_->trace().text(session_->name(sample.library).text);
  const bool has_build = path.find('\t') != std::string_view::npos;
  path = path.substr(0, path.rfind('\t'));
  track->ArgText(builder_->Text("Library"), builder_->Text(path.substr(path.rfind('/') + 1)));
  const trace::StringId function = FunctionAt(sample.library, sample.offset);
  if (function.valid()) track->ArgText(builder_->Text("Function"), function);
  in_changed_ += changed_.contains(sample.library) ? 1 : 0;
  unsure_ += function.valid() && !has_build ? 1 : 0;
}

void NativeSamples::Finish(const FindTrack& find) {
  Close();
  std::stable_sort(samples_.begin(), samples_.end(),
                   [](const Sample& a, const Sample& b) { return a.at < b.at; });
  for (const Sample& sample : samples_) {
    trace::TrackBuilder* track = find(sample.thread, sample.at);
    Tell(sample, track != nullptr ? track : sample.teller, track != nullptr);
  }
  samples_ = {};
}

}  // namespace crosscut::import
