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
                        const ChromeSpan& span) {
  Thread& thread = ThreadOf(event);
  thread.last_row = row;
  thread.edges.push_back({span.begin_ns, text, row, true, span.name, span.owner, kOpen});
}

void ChromeEdges::End(const JsonEvent& event, trace::StringId text, uint32_t owner) {
  Thread& thread = ThreadOf(event);
  thread.edges.push_back({event.ts_ns, text, thread.last_row, false, {}, owner, kOpen});
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
    Put(begin, {std::max(last_ns, begin.at_ns), {}, nullptr, false, {}, kNoArgs, kOpen});
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
      if (edge.text.value >= open.names.size()) open.names.resize(edge.text.value + 1);
      ++open.names[edge.text.value];
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
  for (const size_t begin : open.begins) endless_.push_back((*edges)[begin]);
}

bool ChromeEdges::Close(size_t end, std::vector<Edge>* edges, Open* open) {
  const trace::StringId text = (*edges)[end].text;
  const bool none = text.value >= open->names.size() || open->names[text.value] == 0;
  if (text.valid() && none) return false;
  for (size_t i = open->begins.size(); i-- > 0;) {
    Edge& begin = (*edges)[open->begins[i]];
    if (text.valid() && begin.text != text) continue;
    begin.end = end;
    --open->names[begin.text.value];
    open->begins.erase(open->begins.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  return false;
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
  uint32_t owner = begin.owner;
  if (end.owner != kNoArgs && end.row != begin.row) {
    ++lost_args_;
  } else if (end.owner != kNoArgs) {
    owner = begin.owner == kNoArgs ? end.owner : Joined(begin, end);
  }
  begin.row->spans.push_back({begin.at_ns, end.at_ns, begin.name, owner});
}

}  // namespace crosscut::import
