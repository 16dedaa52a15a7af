#include "src/import/native/native_session.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace crosscut::import {
namespace {

constexpr uint32_t kMostNames = 1u << 26;  // a hostile id must not make us allocate gigabytes

// What a name ends with that was too long for the recorder.
constexpr std::string_view kCutMark = "...[cut]";
constexpr size_t kCutBytes = format::kMaxTextBytes / 2;

struct RawName {
  uint32_t id;
  format::NameAttributes attributes;
  trace::StringId text;
  int32_t called_at;
  trace::StringId overload;
};

// The line behind "NAME@41", which loses it; 0 where there is none.
int32_t TakeLine(std::string_view* text) {
  const size_t at = text->rfind('@');
  if (at == std::string_view::npos) return 0;
  const char* const end = text->data() + text->size();
  int32_t line = 0;
  const auto parsed = std::from_chars(text->data() + at + 1, end, line);
  if (parsed.ec != std::errc() || parsed.ptr != end || line <= 0) return 0;
  *text = text->substr(0, at);
  return line;
}

// What is behind the first "." of "aten::add.Tensor", which loses it; "" where there is none.
std::string_view TakeOverload(std::string_view* text) {
  const size_t dot = text->find('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const std::string_view overload = text->substr(dot + 1);
  *text = text->substr(0, dot);
  return overload;
}

class SessionWalk {
 public:
  SessionWalk(trace::Builder* builder, NativeSession* session)
      : builder_(builder), session_(session) {}

  Status Take(const format::WordBatch& batch) {
    format::TickReader ticks(batch.base_tick);
    session_->damaged_words += batch.words.size();
    for (const auto event : format::EventsOf(batch.words)) {
      session_->damaged_words -= event.size();
      const uint64_t tick = ticks.Next(event[0]);
      if (session_->first_tick == 0) session_->first_tick = tick;
      session_->last_tick = std::max(session_->last_tick, tick);
      TakeEvent(static_cast<uint16_t>(event[0] & format::kCodeMask), tick, event.subspan(1));
    }
    return {};
  }

  // Names refer to their probe by id, which may be published after them.
  void EnterNames() {
    std::vector<NativeName>& names = session_->names;
    for (RawName& raw : raw_) {
      if (!session_->cells.empty()) NameCell(&raw);
      if (names.size() <= raw.id) names.resize(raw.id + 1);
      names[raw.id] = {trace::NameId::None(),
                       raw.text,
                       static_cast<trace::Kind>(std::min<int>(raw.attributes.kind, 4)),
                       (raw.attributes.flags & format::kFlagAsync) != 0,
                       (raw.attributes.flags & format::kFlagGoesOn) != 0,
                       builder_->trace().text(raw.text) == "(unnamed)"};
    }
    for (const RawName& raw : raw_) {
      trace::Name name;
      name.text = raw.text;
      name.called_at = raw.called_at;
      name.overload = raw.overload;
      name.kind = names[raw.id].kind;
      if (raw.attributes.layer < trace::kLayerCount && name.kind == trace::Kind::kSpan &&
          (raw.attributes.flags & format::kFlagNoLayer) == 0) {
        name.layer = static_cast<trace::Layer>(raw.attributes.layer);
      }
      const bool span = name.kind == trace::Kind::kSpan;
      name.found = !span && (raw.attributes.flags & format::kFlagFound) != 0;
      name.waits = (raw.attributes.flags & format::kFlagWaits) != 0;
      name.crosses = (raw.attributes.flags & format::kFlagCrosses) != 0;
      if (raw.attributes.probe != 0) name.probe = session_->name(raw.attributes.probe).text;
      names[raw.id].name = builder_->AddName(name);
      if (span && (raw.attributes.flags & format::kFlagFrame) != 0) {
        session_->frame_names.insert(names[raw.id].name.value);
      }
    }
  }

 private:
  using Words = std::span<const uint64_t>;
  static std::string_view Bytes(Words words, size_t from, uint64_t bytes) {
    return {reinterpret_cast<const char*>(words.data() + from), static_cast<size_t>(bytes)};
  }

  void NameCell(RawName* raw) {
    const std::string text = WithCell(session_->cells, builder_->trace().text(raw->text));
    if (!text.empty()) raw->text = builder_->Text(text);
  }

  void TakeName(Words payload) {
    if (payload[0] >= kMostNames) {
      ++session_->lost_names;
      return;
    }
    const auto attributes = format::NameAttributes::Unpack(payload[1]);
    std::string_view text = Bytes(payload, 3, payload[2]);
    if (text.size() > kCutBytes && text.ends_with(kCutMark)) ++session_->cut_names;
    const bool called_at = (attributes.flags & format::kFlagCalledAt) != 0;
    const int32_t line = called_at ? TakeLine(&text) : 0;
    const bool overloaded = (attributes.flags & format::kFlagOverloaded) != 0;
    const std::string_view overload = overloaded ? TakeOverload(&text) : std::string_view();
    raw_.push_back({static_cast<uint32_t>(payload[0]), attributes, builder_->Text(text), line,
                    overload.empty() ? trace::StringId::None() : builder_->Text(overload)});
  }

  void TakeEvent(uint16_t code, uint64_t tick, Words payload) {
    switch (code) {
      case format::kName: TakeName(payload); break;
      case format::kMeta: {
        const size_t key_words = (payload[0] + 7) / 8;
        TakeMeta(tick, Bytes(payload, 3, payload[0]), Bytes(payload, 3 + key_words, payload[1]));
        break;
      }
      case format::kAnchor: {
        const Anchor anchor{payload[1], static_cast<int64_t>(payload[2]),
                            static_cast<int64_t>(payload[3])};
        if (payload[0] == format::kClockMonotonic) session_->monotonic.push_back(anchor);
        if (payload[0] == format::kClockRealtime) session_->realtime.push_back(anchor);
        if (payload[0] >= format::kFirstPluginClock) {
          session_->plugin_clocks[payload[0]].push_back(anchor);
        }
        break;
      }
      case format::kProbeCost:
        session_->costs.push_back(
            {static_cast<uint32_t>(payload[0]), static_cast<int64_t>(payload[1]),
             static_cast<int64_t>(payload[2]), static_cast<int64_t>(payload[3]),
             static_cast<int64_t>(payload[4]), static_cast<int64_t>(payload[5])});
        break;
      case format::kTrack:
        session_->device_tracks.push_back({payload[0], static_cast<int64_t>(payload[1]), payload[2],
                                           payload[3], payload[4], payload[5]});
        break;
      case format::kStart: Start(payload[0]); break;
      case format::kFrames: session_->frames.push_back({tick, payload[0] != 0}); break;
      case format::kStop: session_->edges.push_back({tick, code, payload[0], 0}); break;
      case format::kPause:
      case format::kResume: session_->edges.push_back({tick, code, 0, 0}); break;
      default: break;
    }
  }

  // The word of the end before may have been lost: then that session ended here at the latest.
  void Start(uint64_t tick) {
    std::vector<NativeSession::Edge>& edges = session_->edges;
    for (auto edge = edges.rbegin(); edge != edges.rend(); ++edge) {
      if (edge->code == format::kStop) break;
      if (edge->code != format::kStart) continue;
      edges.push_back({tick, format::kStop, kNoReason, 0});
      break;
    }
    edges.push_back({tick, format::kStart, 0, 0});
  }
  static constexpr uint64_t kNoReason = UINT64_MAX;

  void TakeMeta(uint64_t tick, std::string_view key, std::string_view value) {
    constexpr std::string_view kThread = "thread:";
    if (TakeCell(key, value, &session_->cells)) return;
    if (!key.starts_with(kThread) && key != "window") {
      if (key == "source:allocations:state" && value == "off") {
        session_->memory_ends.push_back(tick);
      }
      session_->meta.emplace_back(key, value);
      return;
    }
    if (key == "window") {
      if (session_->edges.empty()) return;
      std::from_chars(value.data(), value.data() + value.size(), session_->edges.back().window);
      return;
    }
    int64_t os_id = 0;
    std::from_chars(key.data() + kThread.size(), key.data() + key.size(), os_id);
    session_->thread_names.push_back({tick, os_id, std::string(value)});
  }

  trace::Builder* builder_;
  NativeSession* session_;
  std::vector<RawName> raw_;
};

}  // namespace

std::string_view NativeSession::Meta(std::string_view key) const {
  for (auto at = meta.rbegin(); at != meta.rend(); ++at) {
    if (at->first == key) return at->second;
  }
  return {};
}

Status ReadSession(format::ProcessReader* reader, trace::Builder* builder, NativeSession* session) {
  SessionWalk walk(builder, session);
  const Status status =
      reader->ForEachSession([&](const format::WordBatch& batch) { return walk.Take(batch); });
  walk.EnterNames();
  return status;
}

}  // namespace crosscut::import
