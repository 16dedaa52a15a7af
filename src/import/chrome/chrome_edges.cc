#include "src/import/chrome/chrome_edges.h"

#include <algorithm>

#include "src/base/sort_runs.h"
#include "src/import/chrome/chrome_ids.h"

namespace crosscut::import {
namespace {

constexpr uint32_t kNoArgs = UINT32_MAX;

}  // namespace

ChromeEdges::Thread& ChromeEdges::ThreadOf(const JsonEvent& event) {
  if (last_ == nullptr || last_pid_ != event.pid.text || last_tid_ != event.tid.text) {
    id_.assign(IdText(event.pid.text)).append(1, '\n').append(IdText(event.tid.text));
    last_ = &threads_[id_];
    last_pid_ = event.pid.text;
    last_tid_ = event.tid.text;
  }
  return *last_;
}

void ChromeEdges::Begin(const JsonEvent& event, ChromeRow* row, trace::StringId text,
                        const ChromeSpan& span, uint32_t aside) {
  Thread& thread = ThreadOf(event);
  thread.last_row = row;
  thread.edges.push_back({span.begin_ns, text, row, true, span.name, span.owner, kOpen, aside});
}

void ChromeEdges::End(const JsonEvent& event, trace::StringId text, uint32_t owner) {
  Thread& thread = ThreadOf(event);
  thread.edges.push_back({event.ts_ns, text, thread.last_row, false, {}, owner});
}

ChromeRow* ChromeEdges::RowOf(const JsonEvent& event) { return ThreadOf(event).last_row; }

void ChromeEdges::Pair() {
  for (auto& [id, thread] : threads_) PairThread(&thread.edges);
  threads_.clear();
  last_ = nullptr;
}

uint64_t ChromeEdges::PutEndless(const ChromeTimes& times, int64_t last_ns) {
  const uint64_t far =
      std::erase_if(endless_, [&](const Edge& begin) { return !times.Has(begin.at_ns); });
  for (const Edge& begin : endless_) {
    Put(begin, {std::max(last_ns, begin.at_ns), {}, nullptr, false, {}, kNoArgs});
  }
  return far;
}

void ChromeEdges::PairThread(std::vector<Edge>* edges) {
  base::SortRuns(edges, [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  Open open;
  std::vector<size_t> early;
  for (size_t i = 0; i < edges->size(); ++i) {
    const Edge& edge = (*edges)[i];
    if (edge.begins) {
      open.begins.push_back(i);
      open.of_name[edge.text.value].push_back(i);
    } else if (!Close(i, edges, &open)) {
      early.push_back(i);  // its begin may stand behind it, at the same time
    }
    const bool last = i + 1 == edges->size() || (*edges)[i + 1].at_ns > edge.at_ns;
    if (!last) continue;
    for (const size_t end : early) lone_ends_ += Close(end, edges, &open) ? 0 : 1;
    early.clear();
  }
  // In the order of their begins: of spans of equal times the first is around the others.
  for (const Edge& edge : *edges) {
    if (edge.end != kOpen) Put(edge, (*edges)[edge.end]);
  }
  for (const size_t begin : open.begins) {
    if ((*edges)[begin].end == kOpen) endless_.push_back((*edges)[begin]);
  }
}

bool ChromeEdges::Close(size_t end, std::vector<Edge>* edges, Open* open) {
  const trace::StringId text = (*edges)[end].text;
  if (open->begins.empty()) return false;
  const size_t last = open->begins.back();
  const auto of_name = open->of_name.find(text.valid() ? text.value : (*edges)[last].text.value);
  if (of_name == open->of_name.end() || of_name->second.empty()) return false;
  const size_t begin = of_name->second.back();
  of_name->second.pop_back();
  (*edges)[begin].end = end;
  while (!open->begins.empty() && (*edges)[open->begins.back()].end != kOpen) {
    open->begins.pop_back();
  }
  return true;
}

// The owner of the arguments of both.
uint32_t ChromeEdges::Joined(const Edge& begin, const Edge& end) {
  trace::Args& args = begin.row->args;
  const uint32_t owner = begin.row->owners++;
  std::vector<trace::Arg> all;
  for (const uint32_t one : {begin.owner, end.owner}) {
    for (const trace::Arg& arg : args.of(one)) all.push_back(arg);
  }
  for (const trace::Arg& arg : all) args.Add(owner, arg);
  return owner;
}

void ChromeEdges::Put(const Edge& begin, const Edge& end) {
  if (begin.aside != kSpan) {
    lost_args_ += end.owner != kNoArgs ? 1 : 0;
    asides_.push_back({begin.aside, end.at_ns, begin.end != kOpen});
    return;
  }
  uint32_t owner = begin.owner;
  if (end.owner != kNoArgs && end.row != begin.row) {
    ++lost_args_;
  } else if (end.owner != kNoArgs) {
    owner = begin.owner == kNoArgs ? end.owner : Joined(begin, end);
  }
  begin.row->spans.push_back({begin.at_ns, end.at_ns, begin.name, owner});
}

}  // namespace crosscut::import
