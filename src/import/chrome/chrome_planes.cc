// What XProf writes: no event has a category, and its pids and tids are planes and lines of an
// XSpace.
#include <map>
#include <string>

#include "src/import/chrome/chrome_events.h"
#include "src/import/chrome/chrome_ids.h"
#include "src/import/xla_layers.h"

namespace crosscut::import {

using trace::NameId;
using trace::StringId;

StringId ChromeEvents::NameOfRow(const ChromeRow& row) const {
  StringId name = row.name;
  for (const std::string& tid : {row.event_tid, row.tid}) {
    const auto named = thread_names_.find(pids_[row.pid].text + "\n" + tid);
    if (named != thread_names_.end()) name = named->second;
  }
  return name;
}

// As far as the file has named planes and lines.
bool ChromeEvents::RepeatsOthers(const ChromeRow& row) {
  const trace::Trace& trace = builder_.trace();
  const ChromePid& pid = pids_[row.pid];
  const StringId name = NameOfRow(row);
  return pid.name.valid() && name.valid() && IsDevicePlane(trace.text(pid.name)) &&
         IsDerivedLine(row.os_id, trace.text(name), pid.streams);
}

void ChromeEvents::TakePlanes() {
  for (ChromeRow& row : rows_) {
    const ChromePid& pid = pids_[row.pid];
    if (row.place != Place::kThread || !pid.name.valid()) continue;
    const std::string plane(builder_.trace().text(pid.name));
    if (IsDevicePlane(plane) || IsHostPlane(plane)) TakePlane(plane, &row);
  }
  std::erase_if(steps_, [](const auto& step) { return step.second->left_out; });
}

void ChromeEvents::TakePlane(std::string_view plane, ChromeRow* row) {
  const bool device = IsDevicePlane(plane);
  row->of_plane = true;
  row->left_out = row->left_out || RepeatsOthers(*row);
  decltype(row->spans) kept;
  for (size_t i = 0; i < row->spans.size(); ++i) {
    ChromeSpan span = row->spans[i];
    row->spans.Forget(i);
    const std::string_view text = builder_.trace().text(builder_.trace().name(span.name).text);
    const bool no_work = row->left_out || (!device && IsBookkeeping(text));
    told_.no_work += no_work ? 1 : 0;
    if (no_work) continue;
    span.name = NameInPlane(span.name, device);
    if (!device) TakePlanesStep(span, row);
    kept.push_back(span);
  }
  row->spans = std::move(kept);
  if (!device) return;
  row->place = Place::kDevice;
  row->device = OrdinalOf(plane).value_or(0);
  pids_[row->pid].host = false;
  pids_[row->pid].device = true;
}

// The span as a step, too, where it is one.
void ChromeEvents::TakePlanesStep(const ChromeSpan& span, ChromeRow* row) {
  const trace::Arg number = row->args.Find(span.owner, step_of_plane_);
  const trace::Arg root = row->args.Find(span.owner, root_of_plane_);
  if (!number.key.valid() || number.is_text || number.value < 0) return;
  if (root.key.valid() && !root.is_text && root.value < 1) return;
  const StringId text = builder_.trace().name(span.name).text;
  const NameId name = builder_.AddName({text, trace::Kind::kStep, trace::Layer::kNone, false, {}});
  steps_.push_back({{span.begin_ns, span.end_ns, number.value, {}, name}, row});
}

// With the layer that the name has there, where the file states no category.
NameId ChromeEvents::NameInPlane(NameId id, bool device) {
  std::vector<NameId>& known = names_in_plane_[device ? 1 : 0];
  if (id.value >= known.size()) known.resize(builder_.trace().names.size());
  if (known[id.value].valid()) return known[id.value];
  trace::Name name = builder_.trace().name(id);
  if (!builder_.trace().text(name.category).empty()) return known[id.value] = id;
  name.kind = trace::Kind::kSpan;
  name.layer = device ? trace::Layer::kDevice : HostLayer(builder_.trace().text(name.text));
  return known[id.value] = builder_.AddName(name);
}

}  // namespace crosscut::import
