#include "src/import/chrome/chrome_told.h"

#include <algorithm>

namespace crosscut::import {
namespace {

constexpr size_t kMostCounted = 1000, kMostNamed = 4;

constexpr struct {
  uint64_t ChromeTold::*count;
  const char* words;
} kSentences[] = {
    {&ChromeTold::timeless,
     "{event|events} of the file {states|state} no time, or none that a clock shows: {it is|they "
     "are} left out."},
    {&ChromeTold::far,
     "{event|events} of the file {states a time|state times} far from all others (0, or years "
     "away): {it is|they are} left out."},
    {&ChromeTold::negative,
     "{span|spans} of the file {states|state} a negative duration: {it counts|they count} as 0."},
    {&ChromeTold::endless,
     "{begin of a span|begins of spans} in the file {has|have} no end: {that span lasts|those "
     "spans last} to the end of the trace, a step to that of its work."},
    {&ChromeTold::lone_ends,
     "{end of a span|ends of spans} in the file {has|have} no begin: {it is|they are} left out."},
    {&ChromeTold::lost_args,
     "{end of a span has|ends of spans have} arguments where {its begin|their begins} can have "
     "none: those arguments are left out."},
    {&ChromeTold::outlive,
     "{span|spans} of the file {ends|end} later than the span that {it|they} began in: {it is|they "
     "are} cut in two there, and each half counts where it ran."},
    {&ChromeTold::beside,
     "{span of a thread overlaps|spans of threads overlap} too many others: {it stands|they stand} "
     "on further tracks, and self times count {it|them} beside the others."},
    {&ChromeTold::cut_off,
     "{span|spans} of the file {overlaps|overlap} more others than there is room for: {it is|they "
     "are} cut off."},
    {&ChromeTold::end_rounded,
     "{span|spans} of the file {ends|end} up to 2 us later than the span around {it|them}, as "
     "rounded times do: {it ends with that one|they end with it}."},
    {&ChromeTold::cut_steps,
     "{step|steps} in the file {is|are} not over where the next begins: {it ends|they end} there."},
    {&ChromeTold::no_numbers,
     "{value of a counter|values of counters} in the file {is no number that fits|are not numbers "
     "that fit}: {it is|they are} left out."},
    {&ChromeTold::halves,
     "{escape|escapes} in texts of the file {is|are} half a character (a surrogate alone): U+FFFD "
     "stands for {it|them}."},
    {&ChromeTold::rounded,
     "{value of a counter|values of counters} in the file {has decimals: it is rounded to a whole "
     "number|have decimals: they are rounded to whole numbers}."},
    {&ChromeTold::dangling,
     "{end of an arrow|ends of arrows} in the file {has|have} no other half: {it is|they are} left "
     "out."},
    {&ChromeTold::unsure,
     "{piece|pieces} of device work {fits|fit} launches of several processes: {it is|they are} "
     "given to the one whose launches fit most of that device's work, or that stands before it in "
     "the file."},
    {&ChromeTold::same_launch,
     "{launch shares|launches share} the correlation of another launch of {its|their} process: "
     "work is given to the latest before it."},
    {&ChromeTold::no_work,
     "{span|spans} of the file {repeats another of its device, or is|repeat others of their "
     "device, "
     "or are} no work: {it is|they are} left out."},
    {&ChromeTold::others,
     "{event|events} of the file {is of a kind that is|are of kinds that are} not read "
     "(asynchronous, objects, samples): {it is|they are} left out."},
};

}  // namespace

std::vector<ChromeTold::Sentence> ChromeTold::Sentences() const {
  std::vector<Sentence> sentences;
  for (const auto& [count, words] : kSentences) {
    if (this->*count > 0) sentences.push_back({this->*count, words});
  }
  if (!strange.empty()) {
    sentences.push_back({0, "Spans of categories that are not known, " + strange +
                                ", count as native work of the host, whatever they were."});
  }
  return sentences;
}

void StrangeCategories::Add(std::string_view category) {
  if (category.empty()) {
    ++bare_;
    return;
  }
  const auto at = counts_.find(category);
  if (at != counts_.end()) {
    ++at->second;
  } else if (counts_.size() < kMostCounted) {
    counts_.emplace(category, 1);
  } else {
    ++more_;
  }
}

std::string StrangeCategories::Text(bool bare) const {
  std::vector<std::pair<uint64_t, std::string>> order;
  uint64_t all = more_;
  for (const auto& [category, count] : counts_) {
    order.emplace_back(count, category);
    all += count;
  }
  if (bare && bare_ > 0) {
    order.emplace_back(bare_, "none");
    all += bare_;
  }
  if (all == 0) return "";
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string names;
  for (size_t i = 0; i < std::min(order.size(), kMostNamed); ++i) {
    names += (i > 0 ? ", " : "") + order[i].second + " " + std::to_string(order[i].first);
  }
  const bool others = more_ > 0 || order.size() > kMostNamed;
  return std::to_string(all) + " (" + names + (others ? ", others" : "") + ")";
}

}  // namespace crosscut::import
