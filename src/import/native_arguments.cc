#include "src/import/native_arguments.h"

#include <simdjson.h>

#include <string>

namespace crosscut::import {

void NativeArguments::Add(uint64_t key, uint64_t value, trace::TrackBuilder* track) {
  const trace::StringId name = session_->name(key).text;
  const std::vector<Member>* members = nullptr;
  if (builder_->trace().text(name) == "{}") members = &MembersOf(value);
  if (members == nullptr || members->empty()) {
    return track->ArgText(name, session_->name(value).text);
  }
  for (const Member& member : *members) {
    if (member.is_text) {
      track->ArgText(member.key, {static_cast<uint32_t>(member.value)});
    } else {
      track->Arg(member.key, member.value);
    }
  }
}

const std::vector<NativeArguments::Member>& NativeArguments::MembersOf(uint64_t value) {
  const auto [found, added] = members_.try_emplace(value);
  std::vector<Member>& members = found->second;
  if (!added) return members;
  simdjson::ondemand::parser parser;
  const simdjson::padded_string text(builder_->trace().text(session_->name(value).text));
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser.iterate(text).get(document) || document.get_object().get(object)) return members;
  const auto give_up = [&]() -> const std::vector<Member>& {
    members.clear();
    return members;
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
    } else if (!member.get_string().get(string) || !simdjson::to_json_string(member).get(string)) {
      members.push_back({name, true, builder_->Text(string).value});
    } else {
      return give_up();
    }
  }
  return members;
}

}  // namespace crosscut::import
