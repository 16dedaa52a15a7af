#include "src/import/chrome/chrome_events.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "src/import/chrome/chrome_ids.h"
#include "src/import/xla_layers.h"

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;
using trace::StringId;

constexpr std::string_view kGapsKey = "crosscutGaps";
constexpr int64_t kLatestBase = 4'000'000'000'000'000'000;
constexpr double kMostCounted = 9.2e18;  // of a counter
constexpr uint32_t kNoArgs = UINT32_MAX;

const JsonArg* Find(const JsonEvent& event, std::string_view key) {
  for (const JsonArg& arg : event.args) {
    if (arg.key == key) return &arg;
  }
  return nullptr;
}

// Of all bytes of a short text and of every other of a long one.
uint64_t QuickHash(std::string_view text) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const size_t step = std::max<size_t>(8, text.size() / 8);
  uint64_t hash = text.size();
  for (size_t at = 0; at < text.size(); at += step) {
    uint64_t bytes = 0;
    memcpy(&bytes, text.data() + at, std::min<size_t>(text.size() - at, 8));
    hash = (hash ^ bytes) * kOdd;
    hash ^= hash >> 32;
  }
  return hash * kOdd;
}

bool IsStep(std::string_view name, int64_t* number) {
  if (!name.starts_with(kChromeStep)) return false;
  name.remove_prefix(kChromeStep.size());
  return std::from_chars(name.data(), name.data() + name.size(), *number).ec == std::errc();
}

// In Crosscut's exports, of a span that has the name of a step.
bool IsNoStep(const JsonArg& field) {
  return field.key == "crosscutStep" && field.value.text == "false";
}

// What Kineto marks in the trace as a whole.
bool IsOfTheTrace(const JsonEvent& event) {
  if (!event.cat.empty() || event.pid.kind != JsonValue::Kind::kText) return false;
  return event.name == "Record Window End" || event.name.starts_with("Iteration Start: ");
}

// Of instants: nearly all belong to their thread.
bool IsUsualScope(const JsonArg& field) { return field.key == "s" && field.value.text == "t"; }

// As it is written in the file.
std::string AsJson(const JsonValue& value) {
  const bool text = value.kind == JsonValue::Kind::kText;
  return text ? "\"" + std::string(value.text) + "\"" : std::string(value.text);
}

// What communicates, by the names of PyTorch's process groups.
bool IsCollective(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("gloo:") || name.starts_with("c10d::") ||
         name.starts_with("mpi:") || name == "record_param_comms";
}

}  // namespace

// ---- taking events ------------------------------------------------------------------------------

void ChromeEvents::OnEvent(const JsonEvent& event) {
  switch (event.ph) {
    case 'X': return TakeSpan(event);
    case 'B': return TakeBegin(event);
    case 'E': return TakeEnd(event);
    case 'i':
    case 'I':
    case 'R': return TakeInstant(event);
    case 'C': return TakeCounter(event);
    case 'M': return TakeMetadata(event);
    case 's':
    case 't':
    case 'f': return TakeFlow(event);
    default: ++told_.others; Keep(event);
  }
}

void ChromeEvents::OnFact(std::string_view key, const JsonValue& value) {
  if (key == kGapsKey) return TakeGaps(value.text);
  TakeBase(key, value.text);
  std::string space;
  const bool text = value.kind == JsonValue::Kind::kText;
  facts_.emplace_back(key, text ? WithoutEscapes(value.text, &space) : value.text);
  if (keep_) builder_.trace().kept.facts.emplace_back(key, AsJson(value));
}

// When the file's times begin. VizTracer says it among facts of its own.
void ChromeEvents::TakeBase(std::string_view key, std::string_view value) {
  int64_t base = key == "baseTimeNanoseconds" ? NumberOf(value, 0) : 0;
  simdjson::dom::parser parser;
  simdjson::dom::element facts;
  if (key == "viztracer_metadata" && !parser.parse(value).get(facts)) {
    if (facts["baseTimeNanoseconds"].get(base)) base = 0;
  }
  if (base > 0) base_ns_ = std::min(base, kLatestBase);
}

// What Crosscut said of the trace that it wrote into this file.
void ChromeEvents::TakeGaps(std::string_view array) {
  simdjson::dom::parser parser;
  simdjson::dom::array gaps;
  if (parser.parse(array).get(gaps)) return;
  for (const simdjson::dom::element gap : gaps) {
    std::string_view text;
    if (!gap.get(text)) builder_.trace().gaps.emplace_back(text);
  }
}

uint32_t ChromeEvents::PidOf(const JsonEvent& event) {
  const std::string text(IdText(event.pid.text));
  const auto [at, fresh] = pid_index_.try_emplace(text, static_cast<uint32_t>(pids_.size()));
  if (!fresh) return at->second;
  pids_.push_back(MakeChromePid(text));
  const JsonArg* rank = Find(event, "rank");
  if (rank != nullptr) pids_.back().rank = NumberOf(rank->value.text, -1);
  return at->second;
}

ChromeRow* ChromeEvents::RowOf(const JsonEvent& event, Place place) {
  JsonValue stream, device;
  if (place != Place::kThread && place != Place::kArrows) {
    for (const JsonArg& arg : event.args) {
      if (arg.key == "stream") stream = arg.value;
      if (arg.key == "device") device = arg.value;
    }
  }
  LastRow& last = last_rows_[static_cast<size_t>(place)];
  if (last.row != nullptr && last.pid == event.pid.text && last.tid == event.tid.text &&
      last.pid_kind == event.pid.kind && last.tid_kind == event.tid.kind &&
      last.stream == stream.text && last.device == device.text) {
    other_ids_ = last.other_ids;
    return last.row;
  }
  last.pid = event.pid.text;
  last.tid = event.tid.text;
  last.pid_kind = event.pid.kind;
  last.tid_kind = event.tid.kind;
  last.stream = stream.text;
  last.device = device.text;
  const JsonValue tid = IsId(stream.text) ? stream : event.tid;
  if (!IsId(device.text)) device = {};
  row_id_.assign(1, static_cast<char>('0' + static_cast<int>(place)));
  row_id_.append(IdText(event.pid.text)).append(1, '\n').append(IdText(tid.text));
  row_id_.append(1, '\n').append(IdText(device.text));
  row_id_.append(1, '\n').append(IdText(event.tid.text));
  ChromeRow*& row = rows_by_id_[row_id_];
  if (row == nullptr) {
    row = &rows_.emplace_back();
    row->place = place;
    row->file_row = static_cast<uint32_t>(rows_.size());
    MakeRow(event, tid, device, row);
  }
  last.row = row;
  other_ids_ = last.other_ids =
      keep_ && (JsonOf(event.pid) != row->file_pid || JsonOf(event.tid) != row->file_tid);
  return row;
}

void ChromeEvents::MakeRow(const JsonEvent& event, const JsonValue& tid, const JsonValue& device,
                           ChromeRow* row) {
  row->pid = PidOf(event);
  row->tid = IdText(tid.text);
  row->event_tid = IdText(event.tid.text);
  row->file_pid = JsonOf(event.pid);
  row->file_tid = JsonOf(event.tid);
  ChromePid& pid = pids_[row->pid];
  const bool thread = row->place == Place::kThread;
  row->os_id =
      NumberOf(row->tid, thread ? 0 : std::max<int64_t>(MakeChromePid(row->tid).number, 0));
  row->device = NumberOf(device.text, std::max<int64_t>(pid.number, 0));
  if (!IsId(row->tid)) row->name = TextOf(tid.text);
  row->left_out = thread && RepeatsOthers(*row);
  row->of_host = thread && pid.name.valid() && IsHostPlane(builder_.trace().text(pid.name));
  if (thread) pid.host = true;
  if (!thread && row->place != Place::kArrows) pid.device = true;
}

ChromeEvents::KnownCategory* ChromeEvents::KnownOf(std::string_view category) {
  const bool stated = category.data() != nullptr;
  if (last_known_ != nullptr && last_known_->text == category && last_known_->stated == stated) {
    return last_known_;
  }
  KnownCategory* known = nullptr;
  for (size_t i = 0; known == nullptr && i < std::min(categories_.size(), kMostKnown); ++i) {
    const bool same = categories_[i].text == category && categories_[i].stated == stated;
    if (same) known = &categories_[i];
  }
  if (known == nullptr) {
    KnownCategory*& slot = categories_by_text_[(stated ? "=" : "") + std::string(category)];
    if (slot == nullptr) {
      const Category* found = FindCategory(category);
      const size_t number = categories_.size();
      slot = &categories_.emplace_back();
      *slot = {
          std::string(category), StringId(), stated, found != nullptr, Category(), number, {}, {}};
      if (stated) slot->name = TextOf(category);
      if (found != nullptr) slot->category = *found;
    }
    known = slot;
  }
  return last_known_ = known;
}

trace::NameId ChromeEvents::NameOf(KnownCategory* category, std::string_view text) {
  const StringId id = TextOf(text);
  trace::NameId uncached;
  trace::NameId& name = CachedName(category, id, &uncached);
  if (!name.valid()) {
    Layer layer = category->category.layer;
    Kind kind = category->category.kind;
    const bool host = category->category.place == Place::kThread;
    if (host && IsCollective(text)) layer = Layer::kComm, kind = Kind::kSpan;
    trace::Name made = {id, kind, layer, /*waits=*/false, {}};
    made.category = category->name;
    made.found = category->category.found;
    name = builder_.AddName(made);
  }
  return name;
}

// A file may have any number of categories: those beyond the first have no list.
trace::NameId& ChromeEvents::CachedName(KnownCategory* category, StringId text,
                                        trace::NameId* uncached) {
  if (category->number >= kMostKnown) return *uncached;
  if (text.value >= category->names.size()) category->names.resize(text.value + 1);
  return category->names[text.value];
}

StringId ChromeEvents::TextOf(std::string_view text, bool escapes) {
  KnownText& known = known_texts_[QuickHash(text) >> (64 - kKnownTextBits)];
  if (known.text == text && known.id.valid()) return known.id;
  if (!text.empty() && memchr(text.data(), '\\', text.size()) != nullptr) {
    return builder_.Text(escapes ? WithoutEscapes(text, &space_, &told_.halves) : text);
  }
  const StringId id = builder_.Text(text);
  known = {builder_.trace().text(id), id};
  return id;
}

StringId ChromeEvents::JsonOf(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::kNothing) return {};
  return TextOf(AsJson(value), /*escapes=*/false);
}

// False: there is none, which is counted.
bool ChromeEvents::TakeTime(const JsonEvent& event) {
  if (event.ts_ns != JsonEvent::kNoTime) return true;
  ++told_.timeless;
  Keep(event);
  return false;
}

void ChromeEvents::CountSpan(const JsonEvent& event, const KnownCategory& known,
                             const ChromeRow* row) {
  if (!known.known) strange_.Add(event.cat);
  const Category& category = known.category;
  if (category.place != Place::kThread) return;
  ChromePid& pid = pids_[row->pid];
  ++pid.spans;
  pid.python += category.layer == Layer::kPython ? 1 : 0;
  pid.operators += category.layer == Layer::kFramework ? 1 : 0;
  pid.launches += category.launches ? 1 : 0;
}

void ChromeEvents::KeepPlace(trace::NameId name, bool instant, ChromeRow* row) {
  if (!keep_) return;
  trace::Kept& kept = builder_.trace().kept;
  const StringId category = builder_.trace().name(name).category;
  for (const ChromeRow::Series& series : row->series) {
    const bool same = series.category == category && series.instants == instant;
    if (same) return kept.events.AddNextOf(series.number);
  }
  const auto number = static_cast<uint32_t>(kept.series.size());
  kept.series.push_back({row->file_row, category, instant});
  row->series.push_back({category, instant, number});
  kept.events.AddNextOf(number);
}

StringId ChromeEvents::KeyOf(size_t place, std::string_view key) {
  if (last_known_ == nullptr || last_known_->number >= kMostKnown || place >= kMostKeys) {
    return TextOf(key);
  }
  std::vector<KnownText>& keys = last_known_->keys;
  if (place >= keys.size()) keys.resize(place + 1);
  if (keys[place].text == key && keys[place].id.valid()) return keys[place].id;
  const StringId id = TextOf(key);
  const std::string_view text = builder_.trace().text(id);
  if (text == key) keys[place] = {text, id};  // it has no escapes
  return id;
}

template <class Put>
void ChromeEvents::ForEachArg(const JsonEvent& event, Put put) {
  for (size_t i = 0; i < event.args.size(); ++i) {
    PutArg({KeyOf(i, event.args[i].key)}, event.args[i].value, put);
  }
  if (!keep_) return;
  const auto put_beside = [&](std::string_view key, const JsonValue& value) {
    trace::Arg arg = {TextOf(key)};
    arg.beside = true;
    PutArg(arg, value, put);
  };
  for (const JsonArg& other : event.others) {
    if (!IsUsualScope(other) && !IsNoStep(other)) put_beside(other.key, other.value);
  }
  if (event.ph == 'I' || event.ph == 'R') {  // older words for i
    put_beside("ph", {JsonValue::Kind::kText, {&event.ph, 1}});
  }
  if (!other_ids_) return;
  const StringId nothing = TextOf("");
  for (const auto& [key, value] :
       {std::pair("pid", JsonOf(event.pid)), {"tid", JsonOf(event.tid)}}) {
    const StringId text = value.valid() ? value : nothing;
    put({TextOf(key), true, text.value, /*is_json=*/true, /*beside=*/true});
  }
}

template <class Put>
void ChromeEvents::PutArg(trace::Arg arg, const JsonValue& value, Put put) {
  const bool text = value.kind == JsonValue::Kind::kText;
  arg.is_text = value.kind != JsonValue::Kind::kNumber || !Integer(value.text, &arg.value);
  if (!arg.is_text) return put(arg);
  const bool id = arg.key == correlation_ || arg.key == stream_ || arg.key == device_ ||
                  arg.key == correlation_of_plane_ || arg.key == step_of_plane_;
  if (id && !arg.beside && Integer(IdText(value.text), &arg.value)) {
    arg.is_text = false;
    put(arg);  // and then as it is written, which counts for who writes it again
    arg.is_text = true;
  }
  arg.is_json = !text;
  arg.value = TextOf(value.text, text).value;
  put(arg);
}

uint32_t ChromeEvents::TakeArgs(const JsonEvent& event, ChromeRow* row) {
  const uint32_t owner = row->owners;
  bool any = false;
  ForEachArg(event, [&](const trace::Arg& arg) {
    any = true;
    row->args.Add(owner, arg);
  });
  if (!any) return kNoArgs;
  ++row->owners;
  return owner;
}

// Steps that Crosscut exported have their kind and level.
void ChromeEvents::TellStep(const JsonEvent& event, FileStep* step) {
  StringId kind = builder_.Text("step");
  for (const JsonArg& arg : event.args) {
    if (arg.key == "kind" && arg.value.kind == JsonValue::Kind::kText)
      kind = TextOf(arg.value.text);
    if (arg.key == "after_switch") step->after_switch = arg.value.text == "1";
    if (arg.key == "open") step->open = arg.value.text == "1";
    for (uint8_t level = 0; arg.key == "level" && level < trace::kDetails; ++level) {
      if (arg.value.text == trace::StepLevelName(level)) step->level = level;
    }
  }
  step->name = builder_.AddName({kind, trace::Kind::kStep, trace::Layer::kNone, false, {}});
}

// Crosscut writes them into a row of their own, and beside them whose they are.
ChromeRow* ChromeEvents::RowOfStep(const JsonEvent& event) {
  const JsonArg* thread = Find(event, "thread");
  if (thread == nullptr || !IsId(thread->value.text)) return RowOf(event, Place::kThread);
  JsonEvent of_thread;
  of_thread.pid = event.pid;
  of_thread.tid = thread->value;
  return RowOf(of_thread, Place::kThread);
}

ChromeEvents::Aside ChromeEvents::AsideOf(const JsonEvent& event, const KnownCategory& known) {
  Aside out;
  out.step.begin_ns = out.step.end_ns = event.ts_ns;
  if (known.category.place == Place::kNowhere) {
    out.kind = Aside::kWindow;
    return out;
  }
  const bool step = known.category.place == Place::kThread &&
                    IsStep(event.name, &out.step.number) &&
                    std::none_of(event.others.begin(), event.others.end(), IsNoStep);
  out.row = step ? RowOfStep(event) : RowOf(event, known.category.place);
  if (out.row->left_out || (out.row->of_host && IsBookkeeping(event.name))) {
    out.kind = Aside::kLeftOut;
  } else if (step) {
    out.kind = Aside::kStep;
    TellStep(event, &out.step);
  }
  if (out.kind != Aside::kLeftOut) CountSpan(event, known, out.row);
  return out;
}

void ChromeEvents::TakeAside(const Aside& aside) {
  if (aside.kind == Aside::kStep) steps_.push_back({aside.step, aside.row});
  if (aside.kind == Aside::kWindow) windows_.push_back({aside.step.begin_ns, aside.step.end_ns});
}

void ChromeEvents::TakeSpan(const JsonEvent& event) {
  KnownCategory* known = KnownOf(event.cat);
  if (event.ts_ns == JsonEvent::kNoTime || event.dur_ns == JsonEvent::kNoTime) {
    told_.timeless += known->category.place == Place::kNowhere ? 0 : 1;
    return Keep(event);
  }
  Aside aside = AsideOf(event, *known);
  const int64_t end = event.ts_ns + std::max<int64_t>(event.dur_ns, 0);
  aside.step.end_ns = end;
  if (aside.kind != Aside::kNone) {
    Keep(event);
    TakeAside(aside);
  } else {
    const ChromeSpan taken = {event.ts_ns, end, NameOf(known, event.name),
                              TakeArgs(event, aside.row)};
    aside.row->spans.push_back(taken);
    KeepPlace(taken.name, /*instant=*/false, aside.row);
  }
  if (aside.kind == Aside::kLeftOut || aside.kind == Aside::kWindow) return;
  told_.negative += event.dur_ns < 0 ? 1 : 0;
}

void ChromeEvents::TakeBegin(const JsonEvent& event) {
  if (!TakeTime(event)) return;
  KnownCategory* known = KnownOf(event.cat);
  const Aside aside = AsideOf(event, *known);
  const StringId text = TextOf(event.name);
  if (aside.kind != Aside::kNone) {
    edges_.BeginAside(event, aside.row, text, static_cast<uint32_t>(begun_asides_.size()));
    begun_asides_.push_back({aside, ""});
    if (!keep_) return;
    Keep(event);
    std::string& end = begun_asides_.back().end_text;
    end = "{\"ph\": \"E\", \"name\": \"" + std::string(event.name) + "\"";
    for (const auto& [key, id] : {std::pair("pid", event.pid), {"tid", event.tid}}) {
      if (id.kind == JsonValue::Kind::kNothing) continue;
      end.append(", \"").append(key).append("\": ").append(AsJson(id));
    }
    return;
  }
  const ChromeSpan span = {event.ts_ns, event.ts_ns, NameOf(known, event.name),
                           TakeArgs(event, aside.row)};
  edges_.Begin(event, aside.row, text, span);
  KeepPlace(span.name, /*instant=*/false, aside.row);
}

void ChromeEvents::TakeEnd(const JsonEvent& event) {
  if (!TakeTime(event)) return;
  ChromeRow* row = edges_.RowOf(event);
  other_ids_ = false;
  const StringId text = event.name.empty() ? StringId::None() : TextOf(event.name);
  edges_.End(event, text, row == nullptr ? kNoArgs : TakeArgs(event, row));
}

void ChromeEvents::TakeAsides() {
  for (const ChromeEdges::Aside& ended : edges_.TakeAsides()) {
    auto& [aside, end_text] = begun_asides_[ended.number];
    aside.step.end_ns = ended.end_ns;
    aside.step.open = !ended.stated;
    TakeAside(aside);
    if (!end_text.empty() && ended.stated) {
      char at[40];
      snprintf(at, sizeof at, ", \"ts\": %s%lld.%03lld}", ended.end_ns < 0 ? "-" : "",
               std::llabs(ended.end_ns / 1000), std::llabs(ended.end_ns % 1000));
      builder_.trace().kept.events.AddText(end_text + at);
    }
  }
}

void ChromeEvents::TakeInstant(const JsonEvent& event) {
  if (IsOfTheTrace(event)) return Keep(event);
  if (!TakeTime(event)) return;
  const ChromeSpan instant = {event.ts_ns, event.ts_ns, NameOf(KnownOf(event.cat), event.name),
                              kNoArgs};
  if (event.tid.kind == JsonValue::Kind::kNothing) {
    std::vector<trace::Arg> args;
    other_ids_ = keep_;  // than the row where it will stand
    ForEachArg(event, [&](const trace::Arg& arg) { args.push_back(arg); });
    loose_.push_back({PidOf(event), instant, std::move(args)});
    return;
  }
  ChromeRow* row = RowOf(event, Place::kThread);
  row->instants.push_back(instant);
  row->instants.back().owner = TakeArgs(event, row);
  KeepPlace(instant.name, /*instant=*/true, row);
}

void ChromeEvents::TakeCounter(const JsonEvent& event) {
  if (!TakeTime(event)) return;
  Keep(event);
  for (const JsonArg& arg : event.args) {
    int64_t count = 0;
    double value = 0;
    const std::string_view text = arg.value.text;
    if (!Integer(text, &count)) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() ||
          !(std::fabs(value) < kMostCounted)) {
        ++told_.no_numbers;
        continue;
      }
      told_.rounded += value != std::nearbyint(value) ? 1 : 0;
      count = std::llround(value);
    }
    std::string name(event.name);
    if (event.id.kind != JsonValue::Kind::kNothing) name += " " + std::string(event.id.text);
    if (!arg.key.empty() && event.args.size() > 1) name += "." + std::string(arg.key);
    const StringId id = TextOf(name);
    counts_.push_back({PidOf(event), builder_.AddName({id, Kind::kSpan, Layer::kNone, false, {}}),
                       event.ts_ns, count});
  }
}

void ChromeEvents::TakeMetadata(const JsonEvent& event) {
  Keep(event);
  if (event.name == "process_labels") {
    const JsonArg* labels = Find(event, "labels");
    if (labels == nullptr) return;
    std::string& kind = pids_[PidOf(event)].kind;
    const bool other = !kind.empty() && kind != labels->value.text;
    kind = other ? "CPU" : labels->value.text;
    return;
  }
  const JsonArg* name = Find(event, "name");
  if (name == nullptr) return;
  std::string_view text = name->value.text;
  while (text.ends_with(' ')) text.remove_suffix(1);  // "stream 7 "
  if (event.name == "process_name") {
    ChromePid& pid = pids_[PidOf(event)];
    const StringId named = TextOf(text);
    pid.two_names = pid.two_names || (pid.name.valid() && pid.name != named);
    pid.name = named;
  }
  if (event.name == "thread_name") {
    if (IsStream(text)) pids_[PidOf(event)].streams = true;
    thread_names_[std::string(IdText(event.pid.text)) + "\n" +
                  std::string(IdText(event.tid.text))] = TextOf(text);
  }
}

void ChromeEvents::TakeFlow(const JsonEvent& event) {
  // Kineto's arrows from launches to their work: their correlations say the same, and these have
  // ends without a begin for every call that launches nothing.
  if (event.cat == "ac2g") return Keep(event);
  if (!TakeTime(event)) return;
  Keep(event);
  const std::hash<std::string_view> hash;
  const uint64_t id = hash(IdText(event.id.text)) * 31 + hash(event.cat) * 7 + hash(event.name);
  RowOf(event, Place::kArrows)
      ->flows.push_back({event.ts_ns, (id & ~kFlowBits) | kOuterFlows, event.ph == 's'});
}

}  // namespace crosscut::import
