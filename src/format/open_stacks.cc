#include "src/format/open_stacks.h"

#include <algorithm>
#include <new>

#include "src/format/ring.h"

namespace crosscut::format {

OpenStacks::~OpenStacks() {
  for (Stack* stack : buckets_) {
    while (stack != nullptr) {
      Stack* next = stack->next;
      delete stack;
      stack = next;
    }
  }
}

OpenStacks::Stack* OpenStacks::Find(uint32_t track) {
  Stack** bucket = &buckets_[track % kBuckets];
  for (Stack* stack = *bucket; stack != nullptr; stack = stack->next) {
    if (stack->track == track) return stack;
  }
  Stack* stack = new (std::nothrow) Stack;
  if (stack == nullptr) {
    nowhere_.names.Clear();
    return &nowhere_;
  }
  bytes_ += sizeof(Stack);
  stack->track = track;
  stack->next = *bucket;
  *bucket = stack;
  return stack;
}

void OpenStacks::Erase(uint32_t track) {
  for (Stack** at = &buckets_[track % kBuckets]; *at != nullptr; at = &(*at)->next) {
    if ((*at)->track != track) continue;
    Stack* gone = *at;
    *at = gone->next;
    bytes_ -= sizeof(Stack) + gone->names.bytes();
    delete gone;
    return;
  }
}

bool OpenStacks::Nests(uint32_t name) const {
  if (name <= kLastNameCode) return (flat_[name / 64] >> name % 64 & 1) == 0;
  return std::find(flat_wide_.begin(), flat_wide_.end(), name) == flat_wide_.end();
}

void OpenStacks::LearnNames(std::span<const uint64_t> words) {
  for (size_t at = 0; at < words.size();) {
    const size_t length = EventLength(words, at);
    if (length == 0) return;
    if ((words[at] & kCodeMask) == kName) {
      const uint32_t name = static_cast<uint32_t>(words[at + 1]);
      const Kind kind = NameAttributes::Unpack(words[at + 2]).kind;
      if ((kind == kKindStep || kind == kKindPhase) && Nests(name)) {
        if (name <= kLastNameCode) {
          flat_[name / 64] |= uint64_t{1} << name % 64;
        } else if (!flat_wide_.Push(name)) {
          return;
        }
      }
    }
    at += length;
  }
}

void OpenStacks::Begin(Stack* stack, uint32_t name) {
  if (!Nests(name)) return;
  const size_t before = stack->names.bytes();
  if (stack->names.size() >= kMaxOpenNames || !stack->names.Push(name)) ++stack->beyond;
  if (stack != &nowhere_) bytes_ += stack->names.bytes() - before;
}

void OpenStacks::End(Stack* stack) {
  if (stack->beyond > 0) {
    --stack->beyond;
  } else if (!stack->names.empty()) {
    stack->names.Pop();
  }
}

void OpenStacks::EndNamed(Stack* stack, uint32_t name) {
  for (size_t i = stack->names.size(); i > 0; --i) {
    if (stack->names[i - 1] != name) continue;
    stack->names.Shrink(i - 1);
    stack->beyond = 0;
    return;
  }
}

OpenStacks::Stack* OpenStacks::FollowOther(Stack* stack, const uint64_t* event, uint32_t* track) {
  switch (event[0] & kCodeMask) {
    case kBeginWide: Begin(stack, static_cast<uint32_t>(event[1])); return stack;
    case kEndNamed: EndNamed(stack, static_cast<uint32_t>(event[1])); return stack;
    case kThreadEnd: Erase(*track); return Find(*track);
    case kThread:
      *track = static_cast<uint32_t>(event[1]);
      stack = Find(*track);
      if ((event[3] & kThreadContinues) == 0) {
        stack->names.Clear();
        stack->beyond = 0;
      }
      return stack;
    default: return stack;
  }
}

void OpenStacks::Follow(uint32_t* track, std::span<const uint64_t> words) {
  Stack* stack = Find(*track);
  for (size_t at = 0; at < words.size();) {
    const uint16_t code = static_cast<uint16_t>(words[at] & kCodeMask);
    if (code >= kFirstNameCode) {
      Begin(stack, code);
      ++at;
    } else if (code == kEnd) {
      End(stack);
      ++at;
    } else {
      const size_t length = EventLength(words, at);
      if (length == 0) return;
      stack = FollowOther(stack, words.data() + at, track);
      at += length;
    }
  }
}

std::span<const uint32_t> OpenStacks::Open(uint32_t track) { return Find(track)->names; }

}  // namespace crosscut::format
