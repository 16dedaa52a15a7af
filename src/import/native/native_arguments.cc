#include "src/import/native/native_arguments.h"

#include <simdjson.h>

#include <string>

namespace crosscut::import {

void NativeArguments::Add(uint64_t key, uint64_t value, trace::TrackBuilder* track) {
  const trace::StringId name = session_->name(key).text;
  Object* object = nullptr;
  if (builder_->trace().text(name) == "{}") object = &ObjectOf(value);
  if (object == nullptr || object->members.empty()) {
    return track->ArgText(name, session_->name(value).text);
  }
  const trace::SpanIndex span = track->LastWithoutArgs();
  if (span == trace::kNoSpan) return AddMembers(*object, track);
  if (object->track == track->id()) return track->ShareArgs(span, object->shared);
  AddMembers(*object, track);
  object->track = track->id();
  object->shared = track->SharedArgs(span);
}

void NativeArguments::AddMembers(const Object& object, trace::TrackBuilder* track) {
  for (const trace::Arg& member : object.members) {
    track->Add(member);
  }
}

NativeArguments::Object& NativeArguments::ObjectOf(uint64_t value) {
  const auto [found, added] = objects_.try_emplace(value);
  Object& made = found->second;
  std::vector<trace::Arg>& members = made.members;
  if (!added) return made;
  simdjson::ondemand::parser parser;
  const simdjson::padded_string text(builder_->trace().text(session_->name(value).text));
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(text).get(document) || document.get_object().get(object)) return made;
  const auto give_up = [&]() -> Object& {
    members.clear();
    return made;
  };
  for (auto field : object) {
    std::string_view key, string;
    simdjson::ondemand::value member;
    if (field.unescaped_key().get(key)) return give_up();
    const trace::StringId name = builder_->Text(key);
    if (field.value().get(member)) return give_up();
    int64_t number;
    if (!member.get_int64().get(number)) {
      members.push_back({name, false, number});
    } else if (!member.get_string().get(string)) {
      members.push_back({name, true, builder_->Text(string).value});
    } else if (!simdjson::to_json_string(member).get(string)) {
      members.push_back({name, true, builder_->Text(string).value, /*is_json=*/true});
    } else {
      return give_up();
    }
  }
  return made;
}

}  // namespace crosscut::import
