#include "src/import/chrome/chrome_told.h"

#include <algorithm>

namespace crosscut::import {
namespace {

constexpr size_t kMostCounted = 1000, kMostNamed = 4;

}  // namespace

std::vector<std::string> ChromeTold::Sentences() const {
  std::vector<std::string> sentences;
  const auto say = [&](uint64_t count, const char* what) {
    if (count > 0) sentences.push_back(std::to_string(count) + what);
  };
  say(timeless,
      " events of the file state no time, or none that a clock shows: they are left out.");
  say(far,
      " events of the file state times far from all others (0, or years away): they are "
      "left out.");
  say(negative, " spans of the file state a negative duration: they count as 0.");
  say(endless,
      " begins of spans in the file have no end: those spans last to the end of the trace.");
  say(lone_ends, " ends of spans in the file have no begin: they are left out.");
  say(lost_args,
      " ends of spans have arguments on another row than their begins: those arguments "
      "are left out.");
  say(outlive,
      " spans of the file end later than the span that they began in: they are cut in two there, "
      "and each half counts where it ran.");
  say(beside,
      " spans of threads overlap too many others: they stand on further tracks, and self times "
      "count them beside the others.");
  say(cut_off, " spans of the file overlap more others than there is room for: they are cut off.");
  say(end_rounded,
      " spans of the file end up to 2 us later than the span around them, as rounded times do: "
      "they end with it.");
  say(cut_steps, " steps in the file are not over where the next begins: they end there.");
  say(no_numbers, " values of counters in the file are not numbers that fit: they are left out.");
  say(rounded, " values of counters in the file have decimals: they are rounded to whole numbers.");
  say(dangling, " ends of arrows in the file have no other half: they are left out.");
  say(unsure,
      " pieces of device work fit launches of several processes: they are given to the one whose "
      "launches fit most of that device's work, or that stands before it in the file.");
  say(same_launch,
      " launches share the correlation of another launch of their process: work is given to the "
      "latest before it.");
  if (!strange.empty()) {
    sentences.push_back("Spans of categories that are not known, " + strange +
                        ", count as native work of the host, whatever they were.");
  }
  say(others,
      " events of the file are of kinds that are not read (asynchronous, objects, "
      "samples): they are left out.");
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
