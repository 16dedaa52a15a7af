#include "src/analyze/timeline/timeline_texts.h"

#include <algorithm>
#include <utility>

namespace crosscut::analyze {
namespace {

constexpr size_t kBytesOfField = 14;  // two indices, as the page has them
constexpr size_t kBytesOfText = 300;  // views cut longer ones

}  // namespace

uint32_t TimelineTexts::Add(std::string text) {
  const size_t bytes = std::min(text.size(), kBytesOfText) + 3;
  bytes_left_ -= std::min(bytes, bytes_left_);
  timeline_.texts.push_back(std::move(text));
  return static_cast<uint32_t>(timeline_.texts.size() - 1);
}

uint32_t TimelineTexts::OfString(trace::StringId text) {
  const auto [it, fresh] = of_string_.try_emplace(text.value, 0);
  if (fresh) it->second = Add(std::string(trace_.text(text)));
  return it->second;
}

uint32_t TimelineTexts::OfNumber(int64_t number) {
  std::string text = std::to_string(number);
  const auto [it, fresh] = of_number_.try_emplace(text, 0);
  if (fresh) it->second = Add(std::move(text));
  return it->second;
}

uint32_t TimelineTexts::OfName(uint32_t name) {
  if (name == kNoText) return kNoText;
  uint32_t& index = of_name_[name];
  if (index == kNoText) {
    const size_t left = bytes_left_;
    index = OfString(trace_.names[name].text);
    bytes_left_ = left;  // the budget is that of arguments
  }
  return index;
}

uint32_t TimelineTexts::ArgsOf(const trace::Track& track, trace::SpanIndex span) {
  const auto range = track.args.of(span);
  if (range.begin() == range.end()) return kNoText;
  if (bytes_left_ == 0) return kArgsLeftOut;
  std::vector<uint32_t> fields;
  for (auto at = range.begin(); !(at == range.end()); ++at) {
    const trace::Arg arg = *at;
    if (arg.beside || range.StandsLater(at)) continue;
    fields.push_back(OfString(arg.key));
    fields.push_back(arg.is_text ? OfString(arg.text()) : OfNumber(arg.value));
  }
  if (fields.empty()) return kNoText;
  const auto [it, fresh] = of_args_.try_emplace(std::move(fields), 0);
  if (fresh) {
    bytes_left_ -= std::min(bytes_left_, kBytesOfField * it->first.size() / 2);
    it->second = static_cast<uint32_t>(timeline_.args.size());
    timeline_.args.push_back(it->first);
  }
  return it->second;
}

}  // namespace crosscut::analyze
